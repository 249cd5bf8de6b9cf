"""Wrong answers that the suite of stage 09 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

SCALED = "scores / k.shape[self.col_dim] ** 0.5"
SCALED_WEIGHTS = "torch.softmax(masked / keys.shape[-1] ** 0.5, dim=-1)"
MASKED = 'masked = scores.masked_fill(self.mask[:T, :T], float("-inf"))'
ONE_HEAD = "Attention(d_model, row_dim, col_dim)"
MAKE_HEADS = f"[{ONE_HEAD} for _ in range(num_heads)]"
CALL_HEAD = "head(encodings_for_q, encodings_for_k, encodings_for_v, mask)"
JOIN = "torch.cat(contexts, dim=self.col_dim)"
ONE_CAUSAL = "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)"
CALL_CAUSAL = "[head(x) for head in self.heads]"
JOIN_CAUSAL = "torch.cat(contexts, dim=-1)"

MISCONCEPTIONS = (
    # Attention
    Misconception(
        id="forgets_to_scale",
        exercise="Attention",
        swaps=((SCALED, "scores"),),
        explanation="The scores are not divided by the root of a key's size.",
        question="How does the variance of a dot product grow with the size of its vectors?",
    ),
    Misconception(
        id="divides_by_the_size_itself",
        exercise="Attention",
        swaps=((SCALED, "scores / k.shape[self.col_dim]"),),
        explanation="The scores are divided by the size of a key, not by its root.",
        question=(
            "The variance of a dot product grows like d; how does its standard deviation grow?"
        ),
    ),
    Misconception(
        id="scales_by_the_number_of_keys",
        exercise="Attention",
        swaps=((SCALED, "scores / k.shape[self.row_dim] ** 0.5"),),
        explanation="The scale comes from the number of keys, not from the size of a key.",
        question="Over which axis does the dot product add, and how long is that axis?",
    ),
    Misconception(
        id="swaps_queries_and_keys",
        exercise="Attention",
        swaps=(
            (
                "q @ k.transpose(self.row_dim, self.col_dim)",
                "k @ q.transpose(self.row_dim, self.col_dim)",
            ),
        ),
        explanation=(
            "The rows belong to keys and the columns to queries: the scores are transposed."
        ),
        question=(
            "Row i of the scores should belong to query i. To which token do your rows belong?"
        ),
    ),
    Misconception(
        id="takes_everything_from_the_queries",
        exercise="Attention",
        swaps=(
            ("self.W_k(encodings_for_k)", "self.W_k(encodings_for_q)"),
            ("self.W_v(encodings_for_v)", "self.W_v(encodings_for_q)"),
        ),
        explanation=(
            "Keys and values come from the encodings of the queries: this is self-attention, and "
            "the other two arguments are never used."
        ),
        question="Which encodings should give the keys, and which the values?",
    ),
    Misconception(
        id="takes_values_from_the_keys_encodings",
        exercise="Attention",
        swaps=(("self.W_v(encodings_for_v)", "self.W_v(encodings_for_k)"),),
        explanation=(
            "The values come from the encodings of the keys; encodings_for_v is never used."
        ),
        question="What is each of the three arguments for?",
    ),
    Misconception(
        id="normalises_over_queries",
        exercise="Attention",
        swaps=(("dim=self.col_dim", "dim=self.row_dim"),),
        explanation="Softmax runs over the queries: the columns sum to one, the rows do not.",
        question="Which weights must sum to one: those of one query, or those of one key?",
    ),
    Misconception(
        id="ignores_the_mask",
        exercise="Attention",
        swaps=(("if mask is not None:", "if False:"),),
        explanation="The function takes the mask but never applies it.",
        question="Where between scores and softmax does the mask have an effect?",
        ties=("throws_the_masked_scores_away",),
        why_tied="If the masked scores are not used, the result is the same as without a mask.",
    ),
    Misconception(
        id="asks_a_tensor_whether_it_is_true",
        exercise="Attention",
        swaps=(("if mask is not None:", "if mask:"),),
        title="The whole mask is used as one truth value",
        explanation=(
            "A mask with more than one entry is neither true nor false, and torch raises an error."
        ),
        question="How do you test whether the caller passed an argument?",
    ),
    Misconception(
        id="turns_the_mask_around",
        exercise="Attention",
        swaps=(("mask == 0", "mask == 1"),),
        explanation="Visible keys are hidden: in this mask a 1 means keep.",
        question="Which of the two numbers means hide, here and in torch.tril?",
    ),
    Misconception(
        id="hides_with_zero",
        exercise="Attention",
        swaps=(('float("-inf")', "0.0"),),
        explanation=(
            "Hidden scores are set to 0, whose exponential is 1: hidden keys still get weight."
        ),
        question="Which score gets a weight of exactly zero from softmax?",
    ),
    Misconception(
        id="throws_the_masked_scores_away",
        exercise="Attention",
        swaps=(("scaled = scaled.masked_fill", "scaled.masked_fill"),),
        explanation=(
            "The result of masked_fill, a new tensor, is not used: the scores stay unmasked."
        ),
        question="What does masked_fill return, and which tensor does it leave unchanged?",
        ties=("ignores_the_mask",),
        why_tied="If the masked scores are not used, the result is the same as without a mask.",
    ),
    Misconception(
        id="knows_no_batch",
        exercise="Attention",
        swaps=(
            ("k.transpose(self.row_dim, self.col_dim)", "k.transpose(0, 1)"),
            (SCALED, "scores / k.shape[-1] ** 0.5"),
            ("dim=self.col_dim", "dim=1"),
        ),
        explanation="The axes 0 and 1 are fixed in forward, so in a batch the items are mixed up.",
        question="Which axes count tokens and features in a batch?",
    ),
    Misconception(
        id="leaves_the_biases_in",
        exercise="Attention",
        swaps=(
            (
                "self.W_q = nn.Linear(d_model, d_model, bias=False)",
                "self.W_q = nn.Linear(d_model, d_model)",
            ),
            (
                "self.W_k = nn.Linear(d_model, d_model, bias=False)",
                "self.W_k = nn.Linear(d_model, d_model)",
            ),
            (
                "self.W_v = nn.Linear(d_model, d_model, bias=False)",
                "self.W_v = nn.Linear(d_model, d_model)",
            ),
        ),
        explanation="The bias that nn.Linear adds by default is not switched off.",
        question="What does nn.Linear add by default?",
    ),
    Misconception(
        id="makes_the_key_layer_first",
        exercise="Attention",
        swaps=(
            ("self.W_q = nn.Linear", "self.W_first = nn.Linear"),
            ("self.W_k = nn.Linear", "self.W_q = nn.Linear"),
            ("self.W_first = nn.Linear", "self.W_k = nn.Linear"),
        ),
        explanation="W_k is created before W_q and so gets its random numbers.",
        question=(
            "In which order does the assignment name the layers, and why does the order matter "
            "with a seed?"
        ),
    ),
    # CausalAttention
    Misconception(
        id="forgets_to_scale_causal_scores",
        exercise="CausalAttention",
        swaps=((SCALED_WEIGHTS, "torch.softmax(masked, dim=-1)"),),
        explanation="The scores are not divided by the root of a key's size.",
        question="How does the variance of a dot product grow with the size of its vectors?",
    ),
    Misconception(
        id="forgets_the_causal_mask",
        exercise="CausalAttention",
        swaps=((MASKED, "masked = scores"),),
        explanation="Nothing hides the future: every token attends to all tokens.",
        question="Which tokens may token 0 attend to?",
    ),
    Misconception(
        id="hides_the_token_itself",
        exercise="CausalAttention",
        swaps=(("triu(diagonal=1)", "triu(diagonal=0)"),),
        explanation=(
            "The diagonal is hidden as well: for the first token all tokens are hidden, which "
            "gives NaN."
        ),
        question="May a token attend to itself?",
    ),
    Misconception(
        id="uses_the_whole_mask",
        exercise="CausalAttention",
        swaps=(("scores.masked_fill(self.mask[:T, :T]", "scores.masked_fill(self.mask"),),
        title="The mask does not fit fewer tokens than context_length",
        explanation=(
            "The mask always has context_length rows and columns and does not fit fewer tokens."
        ),
        question="Which part of the mask belongs to the first T tokens?",
    ),
    Misconception(
        id="normalises_over_causal_queries",
        exercise="CausalAttention",
        swaps=((SCALED_WEIGHTS, "torch.softmax(masked / keys.shape[-1] ** 0.5, dim=1)"),),
        title="Softmax runs over the queries where there is a batch",
        explanation=(
            "In a batch, dim=1 is the axis of the queries: the columns sum to one, the rows do not."
        ),
        question="Which axis holds the keys in a batch?",
    ),
    Misconception(
        id="masks_after_softmax",
        exercise="CausalAttention",
        swaps=(
            (MASKED, "masked = scores"),
            (SCALED_WEIGHTS, SCALED_WEIGHTS + ".masked_fill(self.mask[:T, :T], 0.0)"),
        ),
        explanation=(
            "The future is removed after softmax, so the remaining weights of a row no longer "
            "sum to one."
        ),
        question="What do the weights of the first token sum to after the mask?",
    ),
    Misconception(
        id="drops_scores",
        exercise="CausalAttention",
        swaps=(
            ("weights = self.dropout(weights)", "weights = weights * 1"),
            (SCALED_WEIGHTS, "torch.softmax(self.dropout(masked) / keys.shape[-1] ** 0.5, dim=-1)"),
        ),
        explanation="Dropout is applied to the scores, where 0 does not mean no attention.",
        question="Which zeros remain zeros: those before softmax, or those after it?",
    ),
    Misconception(
        id="drops_the_context",
        exercise="CausalAttention",
        swaps=(
            ("weights = self.dropout(weights)", "weights = weights * 1"),
            ("return weights @ values", "return self.dropout(weights @ values)"),
        ),
        explanation="Dropout is applied to the context vectors, not to the attention weights.",
        question=(
            "Should dropout remove connections between tokens, or features of a context vector?"
        ),
    ),
    Misconception(
        id="drops_in_eval_mode_too",
        exercise="CausalAttention",
        swaps=(("self.dropout(weights)", "nn.functional.dropout(weights, self.dropout.p)"),),
        explanation="F.dropout also drops in eval mode, unless you pass it the mode.",
        question=(
            "How does nn.Dropout know whether the module is in training, and how does F.dropout?"
        ),
    ),
    Misconception(
        id="forgets_dropout",
        exercise="CausalAttention",
        swaps=(("weights = self.dropout(weights)", "weights = weights * 1"),),
        explanation="Dropout has no effect: training uses every weight in every call.",
        question=(
            "What happens to the attention weights between softmax and the values in training?"
        ),
    ),
    Misconception(
        id="ignores_qkv_bias",
        exercise="CausalAttention",
        swaps=(
            (
                "self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_query = nn.Linear(d_in, d_out, bias=False)",
            ),
            (
                "self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_key = nn.Linear(d_in, d_out, bias=False)",
            ),
            (
                "self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)",
                "self.W_value = nn.Linear(d_in, d_out, bias=False)",
            ),
        ),
        explanation="There is no bias, even with qkv_bias=True.",
        question="Which layers should qkv_bias be passed to?",
    ),
    Misconception(
        id="keeps_the_mask_as_a_plain_attribute",
        exercise="CausalAttention",
        swaps=(('self.register_buffer("mask", future == 1)', "self.mask = future == 1"),),
        explanation=(
            "There is no buffer mask; an ordinary attribute would not move with the module to a "
            "GPU."
        ),
        question="How does a module register tensors that are not parameters?",
    ),
    Misconception(
        id="cuts_long_texts_off",
        exercise="CausalAttention",
        swaps=(
            (
                "        T = x.shape[1]\n        context_length = self.mask.shape[0]",
                (
                    "        context_length = self.mask.shape[0]\n"
                    "        x = x[:, :context_length]\n        T = x.shape[1]"
                ),
            ),
        ),
        explanation="Tokens beyond context_length are dropped without an error.",
        question="How would the caller notice that tokens are missing?",
    ),
    # MultiHeadAttention
    Misconception(
        id="keeps_heads_in_a_plain_list",
        exercise="MultiHeadAttention",
        swaps=(("nn.ModuleList(\n            " + MAKE_HEADS + ",\n        )", MAKE_HEADS),),
        explanation=(
            "PyTorch finds no parameters in the module, and an optimizer would train nothing: "
            "modules in a plain Python list, for instance, are not registered."
        ),
        question="Which parameters of this module does an optimizer get?",
    ),
    Misconception(
        id="repeats_one_head",
        exercise="MultiHeadAttention",
        swaps=((MAKE_HEADS, f"[{ONE_HEAD}] * num_heads"),),
        explanation="One head is created and listed num_heads times, so all blocks are equal.",
        question="How many times does the constructor of Attention run in your code?",
    ),
    Misconception(
        id="seeds_every_head",
        exercise="MultiHeadAttention",
        swaps=((ONE_HEAD, f"torch.manual_seed(42) and {ONE_HEAD}"),),
        explanation=(
            "All heads start with the same weights, as copies do or after the same seed, and stay "
            "equal."
        ),
        question="Does each head draw weights of its own, and who sets the seed?",
    ),
    Misconception(
        id="makes_one_head_only",
        exercise="MultiHeadAttention",
        swaps=((MAKE_HEADS, f"[{ONE_HEAD}]"),),
        explanation="The constructor takes num_heads but never uses it: there is one head.",
        question="Where does your constructor use num_heads?",
    ),
    Misconception(
        id="makes_the_heads_narrower",
        exercise="MultiHeadAttention",
        swaps=((ONE_HEAD, "Attention(max(1, d_model // num_heads), row_dim, col_dim)"),),
        explanation=(
            "The heads split d_model between them; here the input and output of each head have "
            "all d_model features."
        ),
        question="What does a head get here: whole encodings, or a part of each?",
    ),
    Misconception(
        id="forgets_the_axes",
        exercise="MultiHeadAttention",
        swaps=((ONE_HEAD, "Attention(d_model)"),),
        explanation=(
            "The axes row_dim and col_dim are not passed to the heads, which use the axes of a "
            "single text."
        ),
        question="How does a head know that there is a batch?",
    ),
    Misconception(
        id="forgets_the_mask",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, CALL_HEAD.replace(", mask)", ")")),),
        explanation="The mask is not passed to the heads.",
        question="Which arguments does your forward pass to a head?",
    ),
    Misconception(
        id="masks_the_first_head_only",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, CALL_HEAD.replace("mask", "mask if head is self.heads[0] else None")),),
        explanation="Only head 0 gets the mask; the others attend to hidden keys.",
        question="May any head attend to a key that the mask hides?",
    ),
    Misconception(
        id="asks_a_mask_whether_it_is_true",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, CALL_HEAD.replace("mask", "mask if mask else None")),),
        title="The whole mask is used as one truth value",
        explanation=(
            "A mask with more than one entry is neither true nor false, and torch raises an error."
        ),
        question="How do you test whether the caller passed an argument?",
    ),
    Misconception(
        id="turns_cross_into_self_attention",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, "head(encodings_for_q, encodings_for_q, encodings_for_q, mask)"),),
        explanation=(
            "The heads get the encodings of the queries three times; those for keys and values "
            "are never used."
        ),
        question="Which encodings should give the keys, and which the values?",
    ),
    Misconception(
        id="takes_values_from_keys",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, "head(encodings_for_q, encodings_for_k, encodings_for_k, mask)"),),
        explanation=(
            "The heads get the encodings of the keys for their values too; encodings_for_v is "
            "never used."
        ),
        question="What is each of the three arguments for?",
    ),
    Misconception(
        id="swaps_keys_and_values",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, "head(encodings_for_q, encodings_for_v, encodings_for_k, mask)"),),
        explanation="Encodings for keys and values are passed to the heads in the wrong order.",
        question="In which order does a head take its three encodings?",
    ),
    Misconception(
        id="swaps_queries_and_keys_encodings",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, "head(encodings_for_k, encodings_for_q, encodings_for_v, mask)"),),
        explanation="Encodings for queries and keys are passed to the heads in the wrong order.",
        question="In which order does a head take its three encodings?",
    ),
    Misconception(
        id="chains_the_heads",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, f"(encodings_for_q := {CALL_HEAD})"),),
        explanation=(
            "Each head gets the result of the previous head as its queries; all heads should get "
            "the same encodings."
        ),
        question="Should the input of a head depend on the other heads?",
    ),
    Misconception(
        id="stacks_the_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.stack(contexts)"),),
        explanation=(
            "The heads are stacked along a new axis, but they belong side by side on the axis of "
            "features."
        ),
        question=(
            "How many axes did the result of one head have, and how many should your result have?"
        ),
    ),
    Misconception(
        id="adds_the_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "sum(contexts)"),),
        explanation="The heads are added up, so their results can no longer be separated.",
        question="How many features must the result have to hold the results of all heads?",
    ),
    Misconception(
        id="averages_the_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.stack(contexts).mean(dim=0)"),),
        explanation="The heads are averaged, so their results can no longer be separated.",
        question="How many features must the result have to hold the results of all heads?",
    ),
    Misconception(
        id="joins_the_heads_along_the_tokens",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts, dim=self.col_dim - 1)"),),
        explanation=(
            "The context vectors of the heads are joined along the tokens, as if they were more "
            "tokens."
        ),
        question="Which axis becomes longer when each token gets more features?",
    ),
    Misconception(
        id="joins_on_a_fixed_axis",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts, dim=1)"),),
        explanation="The heads are always joined on axis 1, which holds the tokens in a batch.",
        question="Which axes count tokens and features in a batch?",
    ),
    Misconception(
        id="joins_the_heads_from_last_to_first",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts[::-1], dim=self.col_dim)"),),
        explanation="The blocks are in reverse order: the last head comes first.",
        question="Which head's features should come first?",
    ),
    Misconception(
        id="interleaves_the_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.stack(contexts, dim=-1).flatten(-2)"),),
        explanation=(
            "The features of the heads alternate, one of each head after the other, but they "
            "belong in blocks."
        ),
        question="At which feature does head 1 begin?",
    ),
    Misconception(
        id="returns_a_list",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "contexts"),),
        explanation=(
            "The heads' results are returned as a list, but the result should be one tensor."
        ),
        question="Which function joins tensors along an existing axis?",
    ),
    Misconception(
        id="adds_an_output_layer",
        exercise="MultiHeadAttention",
        swaps=(
            (
                "        self.col_dim = col_dim",
                (
                    "        self.col_dim = col_dim\n"
                    "        self.out_proj = nn.Linear(num_heads * d_model, num_heads * d_model)"
                ),
            ),
            (JOIN, "self.out_proj(torch.cat(contexts, dim=self.col_dim))"),
        ),
        explanation=(
            "A layer mixes the heads at the end; this comes in the next stage, and not here."
        ),
        question=(
            "What should the first features of a token hold: the result of head 0, or a mixture?"
        ),
    ),
    Misconception(
        id="divides_by_the_number_of_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts, dim=self.col_dim) / len(self.heads)"),),
        explanation=(
            "The joined context vectors are divided by the number of heads, as for an average."
        ),
        question=(
            "What should the block of one head hold: the same as Attention gives, or a part of it?"
        ),
    ),
    Misconception(
        id="cuts_the_graph",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts, dim=self.col_dim).detach()"),),
        explanation="The result is detached from the graph, so no head can be trained.",
        question="What does training need from this result?",
    ),
    Misconception(
        id="calls_ready_made_attention",
        exercise="MultiHeadAttention",
        swaps=(
            (
                CALL_HEAD,
                (
                    "nn.functional.scaled_dot_product_attention(\n"
                    "                head.W_q(encodings_for_q),\n"
                    "                head.W_k(encodings_for_k),\n"
                    "                head.W_v(encodings_for_v),\n"
                    "                attn_mask=None if mask is None else mask == 1,\n"
                    "            )"
                ),
            ),
        ),
        explanation=(
            "Torch's ready-made attention does the work that you should write in the heads."
        ),
        question="Which steps does scaled_dot_product_attention do for you?",
    ),
    Misconception(
        id="joins_token_by_token",
        exercise="MultiHeadAttention",
        swaps=(
            (
                JOIN,
                (
                    "torch.stack(\n            [torch.cat(token, -1) for token in "
                    "zip(*(c.unbind(-2) for c in contexts), strict=True)], -2\n        )"
                ),
            ),
        ),
        explanation=(
            "The heads are joined token by token, so the number of tensor operations grows with "
            "the length of the text."
        ),
        question="Along which axis could you join all tokens with one call?",
    ),
    # MultiHeadAttentionWrapper
    Misconception(
        id="keeps_causal_heads_in_a_plain_list",
        exercise="MultiHeadAttentionWrapper",
        swaps=(("nn.ModuleList(\n            [", "list(\n            ["),),
        explanation=(
            "PyTorch finds no parameters in the module, so the heads are neither trained nor "
            "moved with it: modules in a plain Python list, for instance, are not registered."
        ),
        question="Which parameters of this module does an optimizer get?",
    ),
    Misconception(
        id="repeats_one_causal_head",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (ONE_CAUSAL, f"one := {ONE_CAUSAL}"),
            ("for _ in range(num_heads)", ""),
            ("            ],\n", "            ] * num_heads,\n"),
        ),
        explanation="One head is created and listed num_heads times, so all blocks are equal.",
        question="How many times does the constructor of CausalAttention run in your code?",
    ),
    Misconception(
        id="seeds_every_causal_head",
        exercise="MultiHeadAttentionWrapper",
        swaps=((ONE_CAUSAL, f"torch.manual_seed(123) and {ONE_CAUSAL}"),),
        explanation=(
            "All heads start with the same weights, as copies do or after the same seed, and stay "
            "equal."
        ),
        question="Does each head draw weights of its own, and who sets the seed?",
    ),
    Misconception(
        id="makes_one_causal_head_only",
        exercise="MultiHeadAttentionWrapper",
        swaps=(("range(num_heads)", "range(1)"),),
        explanation="The constructor takes num_heads but never uses it: there is one head.",
        question="Where does your constructor use num_heads?",
    ),
    Misconception(
        id="shares_d_out_among_the_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (
                ONE_CAUSAL,
                "CausalAttention(d_in, d_out // num_heads, context_length, dropout, qkv_bias)",
            ),
        ),
        explanation=(
            "The heads split d_out between them; here d_out is the size of each head, and the "
            "result is num_heads times as wide."
        ),
        question="If two heads have size 2, how wide is their joined result?",
    ),
    Misconception(
        id="hands_no_bias_on",
        exercise="MultiHeadAttentionWrapper",
        swaps=((ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length, dropout)"),),
        explanation="The argument qkv_bias is not passed to the heads.",
        question="Which arguments does your constructor pass to a head?",
    ),
    Misconception(
        id="always_has_biases",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=True)"),
        ),
        explanation="The heads have biases although qkv_bias is false by default.",
        question="Which arguments does your constructor pass to a head?",
    ),
    Misconception(
        id="hands_no_dropout_on",
        exercise="MultiHeadAttentionWrapper",
        swaps=((ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias)"),),
        explanation="The argument dropout is not passed to the heads.",
        question="Which arguments does your constructor pass to a head?",
    ),
    Misconception(
        id="drops_the_joined_context",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias)"),
            (
                "        super().__init__()",
                "        super().__init__()\n        self.dropout = nn.Dropout(dropout)",
            ),
            (JOIN_CAUSAL, "self.dropout(torch.cat(contexts, dim=-1))"),
        ),
        explanation=(
            "Dropout is applied to the joined context vectors, not to the attention weights of "
            "the heads."
        ),
        question=(
            "Should dropout remove connections between tokens, or features of a context vector?"
        ),
    ),
    Misconception(
        id="drops_twice",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (
                "        super().__init__()",
                "        super().__init__()\n        self.dropout = nn.Dropout(dropout)",
            ),
            (JOIN_CAUSAL, "self.dropout(torch.cat(contexts, dim=-1))"),
        ),
        explanation=(
            "Dropout is applied twice: the heads already drop weights, and here the joined "
            "context vectors are dropped as well."
        ),
        question="How often is dropout applied on the way to one number of your result?",
    ),
    Misconception(
        id="chains_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((CALL_CAUSAL, "[(x := head(x)) for head in self.heads]"),),
        explanation=(
            "Each head gets the result of the previous head; all heads should get the same x."
        ),
        question="Should the input of a head depend on the other heads?",
    ),
    Misconception(
        id="stacks_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.stack(contexts, dim=1)"),),
        explanation=(
            "The heads get a new axis, but they belong side by side on the axis of features."
        ),
        question=(
            "How many axes did the result of one head have, and how many should your result have?"
        ),
    ),
    Misconception(
        id="adds_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "sum(contexts)"),),
        explanation="The heads are added up, so their results can no longer be separated.",
        question="How many features must the result have to hold the results of all heads?",
    ),
    Misconception(
        id="averages_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.stack(contexts).mean(dim=0)"),),
        explanation="The heads are averaged, so their results can no longer be separated.",
        question="How many features must the result have to hold the results of all heads?",
    ),
    Misconception(
        id="joins_causal_heads_along_the_tokens",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.cat(contexts, dim=1)"),),
        title="The heads are joined along the tokens",
        explanation=(
            "In a batch, dim=1 is the axis of the tokens: the heads are joined as if they were "
            "more tokens."
        ),
        question="Which axis becomes longer when each token gets more features?",
    ),
    Misconception(
        id="joins_causal_heads_along_the_batch",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.cat(contexts)"),),
        title="The heads are joined along the batch",
        explanation="torch.cat joins along axis 0 by default, as if the heads were more items.",
        question="Along which axis does torch.cat join by default?",
    ),
    Misconception(
        id="joins_causal_heads_from_last_to_first",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.cat(contexts[::-1], dim=-1)"),),
        explanation="The blocks are in reverse order: the last head comes first.",
        question="Which head's features should come first?",
    ),
    Misconception(
        id="interleaves_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.stack(contexts, dim=-1).flatten(-2)"),),
        explanation=(
            "The features of the heads alternate, one of each head after the other, but they "
            "belong in blocks."
        ),
        question="At which feature does head 1 begin?",
    ),
    Misconception(
        id="makes_wrapper_with_an_output_layer",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (
                "    def forward(self, x: Tensor) -> Tensor:",
                (
                    "        self.out_proj = nn.Linear(num_heads * d_out, num_heads * d_out)\n\n"
                    "    def forward(self, x: Tensor) -> Tensor:"
                ),
            ),
            (JOIN_CAUSAL, "self.out_proj(torch.cat(contexts, dim=-1))"),
        ),
        explanation=(
            "A layer mixes the heads at the end; this comes in the next stage, and not here."
        ),
        question=(
            "What should the first features of a token hold: the result of head 0, or a mixture?"
        ),
    ),
    Misconception(
        id="cuts_texts_to_the_context",
        exercise="MultiHeadAttentionWrapper",
        swaps=((CALL_CAUSAL, "[head(x[:, : head.mask.shape[0]]) for head in self.heads]"),),
        explanation="Tokens beyond context_length are dropped without an error.",
        question="How would the caller notice that tokens are missing?",
    ),
    Misconception(
        id="makes_room_for_one_token_less",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length - 1, dropout, qkv_bias)"),
        ),
        explanation="The heads accept one token less than context_length.",
        question="How many tokens may the longest accepted text have?",
    ),
    Misconception(
        id="cuts_the_causal_graph",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.cat(contexts, dim=-1).detach()"),),
        explanation="The result is detached from the graph, so no head can be trained.",
        question="What does training need from this result?",
    ),
    Misconception(
        id="draws_the_same_weights_to_drop_in_each_head",
        exercise="MultiHeadAttentionWrapper",
        swaps=((CALL_CAUSAL, "[torch.manual_seed(0) and head(x) for head in self.heads]"),),
        explanation=(
            "The seed is set before every call of a head, so all heads drop the same weights, in "
            "every call."
        ),
        question="Which other code in a training run uses torch's generator?",
    ),
    Misconception(
        id="calls_ready_made_causal_attention",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (
                "head(x)",
                (
                    "nn.functional.scaled_dot_product_attention(\n"
                    "            head.W_query(x), head.W_key(x), head.W_value(x), is_causal=True,\n"
                    "            dropout_p=head.dropout.p if self.training else 0.0)"
                ),
            ),
        ),
        explanation=(
            "Torch's ready-made attention does the work that you should write in the heads."
        ),
        question="Which steps does scaled_dot_product_attention do for you?",
    ),
)
