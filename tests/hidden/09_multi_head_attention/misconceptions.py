"""The wrong answers that the suite of stage 09 must tell from the right one."""

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
            "Keys stand in the rows and queries in the columns: each token is asked in place of "
            "asking."
        ),
        question=(
            "Row i of the scores belongs to token i as the one who asks. Whose rows are yours?"
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
        question="Who is asked here, and where do their keys and values come from?",
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
        question="Whose weights must sum to one: those of one query, or those of one key?",
    ),
    Misconception(
        id="ignores_the_mask",
        exercise="Attention",
        swaps=(("if mask is not None:", "if False:"),),
        explanation="The mask is taken and never applied.",
        question="Where between scores and softmax does the mask have its say?",
        ties=("throws_the_masked_scores_away",),
        why_tied="A result that is thrown away leaves the scores as if it had never been computed.",
    ),
    Misconception(
        id="asks_a_tensor_whether_it_is_true",
        exercise="Attention",
        swaps=(("if mask is not None:", "if mask:"),),
        explanation=(
            "A mask with more than one entry is neither true nor false, and torch refuses to say."
        ),
        question="How do you ask whether an argument was given at all?",
    ),
    Misconception(
        id="turns_the_mask_around",
        exercise="Attention",
        swaps=(("mask == 0", "mask == 1"),),
        explanation="What should be visible is hidden: in this mask a 1 says keep.",
        question="Which of the two numbers says hide, here and in torch.tril?",
    ),
    Misconception(
        id="hides_with_zero",
        exercise="Attention",
        swaps=(('float("-inf")', "0.0"),),
        explanation=(
            "Hidden scores are set to 0, whose exponential is 1: what is hidden still gets weight."
        ),
        question="What must a score be for its weight after softmax to be exactly zero?",
    ),
    Misconception(
        id="throws_the_masked_scores_away",
        exercise="Attention",
        swaps=(("scaled = scaled.masked_fill", "scaled.masked_fill"),),
        explanation=(
            "masked_fill returns a new tensor, which is not kept: the scores stay unmasked."
        ),
        question="What does masked_fill give back, and what does it leave as it was?",
        ties=("ignores_the_mask",),
        why_tied="A result that is thrown away leaves the scores as if it had never been computed.",
    ),
    Misconception(
        id="knows_no_batch",
        exercise="Attention",
        swaps=(
            ("k.transpose(self.row_dim, self.col_dim)", "k.transpose(0, 1)"),
            (SCALED, "scores / k.shape[-1] ** 0.5"),
            ("dim=self.col_dim", "dim=1"),
        ),
        explanation=(
            "The axes 0 and 1 are written into forward, so that a batch has its items mixed up."
        ),
        question="Which axes count tokens and features when a batch axis stands in front?",
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
        explanation="nn.Linear has a bias unless told otherwise.",
        question="What does nn.Linear add if nobody mentions bias?",
    ),
    Misconception(
        id="makes_the_key_layer_first",
        exercise="Attention",
        swaps=(
            ("self.W_q = nn.Linear", "self.W_first = nn.Linear"),
            ("self.W_k = nn.Linear", "self.W_q = nn.Linear"),
            ("self.W_first = nn.Linear", "self.W_k = nn.Linear"),
        ),
        explanation="W_k is made before W_q and so gets its draws.",
        question=(
            "In which order does the assignment name the layers, and why does it matter under a "
            "seed?"
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
        explanation="Nothing hides the future: every token listens to all.",
        question="What may token 0 listen to?",
    ),
    Misconception(
        id="hides_the_token_itself",
        exercise="CausalAttention",
        swaps=(("triu(diagonal=1)", "triu(diagonal=0)"),),
        explanation=(
            "The diagonal is hidden as well: the first token sees nothing, which gives NaN."
        ),
        question="May a token listen to itself?",
    ),
    Misconception(
        id="uses_the_whole_mask",
        exercise="CausalAttention",
        swaps=(("scores.masked_fill(self.mask[:T, :T]", "scores.masked_fill(self.mask"),),
        explanation="The mask for context_length tokens does not fit fewer tokens.",
        question="Which part of the mask belongs to the first T tokens?",
    ),
    Misconception(
        id="normalises_over_causal_queries",
        exercise="CausalAttention",
        swaps=((SCALED_WEIGHTS, "torch.softmax(masked / keys.shape[-1] ** 0.5, dim=1)"),),
        explanation=(
            "On a batch, dim=1 is the axis of queries: the columns sum to one, the rows do not."
        ),
        question="Which axis holds the keys when a batch axis stands in front?",
    ),
    Misconception(
        id="masks_after_softmax",
        exercise="CausalAttention",
        swaps=(
            (MASKED, "masked = scores"),
            (SCALED_WEIGHTS, SCALED_WEIGHTS + ".masked_fill(self.mask[:T, :T], 0.0)"),
        ),
        explanation=(
            "The future is removed after softmax, so that what is left of a row no longer sums to "
            "one."
        ),
        question="After hiding, what do the weights of the first token sum to?",
    ),
    Misconception(
        id="drops_scores",
        exercise="CausalAttention",
        swaps=(
            ("weights = self.dropout(weights)", "weights = weights * 1"),
            (SCALED_WEIGHTS, "torch.softmax(self.dropout(masked) / keys.shape[-1] ** 0.5, dim=-1)"),
        ),
        explanation="Dropout acts on the scores, where 0 does not mean no attention.",
        question="Which zeros remain zeros: those before softmax, or those after it?",
    ),
    Misconception(
        id="drops_the_context",
        exercise="CausalAttention",
        swaps=(
            ("weights = self.dropout(weights)", "weights = weights * 1"),
            ("return weights @ values", "return self.dropout(weights @ values)"),
        ),
        explanation="Dropout acts on the context vectors, not on the attention weights.",
        question="Does dropout here hide tokens from each other, or features of a finished vector?",
    ),
    Misconception(
        id="drops_in_eval_mode_too",
        exercise="CausalAttention",
        swaps=(("self.dropout(weights)", "nn.functional.dropout(weights, self.dropout.p)"),),
        explanation="F.dropout drops in eval mode too unless it is told the mode.",
        question=(
            "How does nn.Dropout know whether the module is in training, and how does F.dropout?"
        ),
    ),
    Misconception(
        id="forgets_dropout",
        exercise="CausalAttention",
        swaps=(("weights = self.dropout(weights)", "weights = weights * 1"),),
        explanation="dropout is taken and never applied.",
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
        explanation="qkv_bias is taken and never passed on.",
        question="What happens to qkv_bias between the signature and the layers?",
    ),
    Misconception(
        id="keeps_the_mask_as_a_plain_attribute",
        exercise="CausalAttention",
        swaps=(('self.register_buffer("mask", future == 1)', "self.mask = future == 1"),),
        explanation=(
            "The mask is an attribute that the module does not know of: it stays behind when the "
            "module moves to a GPU."
        ),
        question="How does a module learn which tensors belong to it, besides its parameters?",
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
        explanation="Tokens beyond context_length vanish without a word.",
        question="How would the caller notice that tokens are missing?",
    ),
    # MultiHeadAttention
    Misconception(
        id="keeps_heads_in_a_plain_list",
        exercise="MultiHeadAttention",
        swaps=(("nn.ModuleList(\n            " + MAKE_HEADS + ",\n        )", MAKE_HEADS),),
        explanation=(
            "The heads stand in a plain Python list, where PyTorch does not look: the module has "
            "no parameters, and an optimizer would train nothing."
        ),
        question="What would an optimizer find that is given the parameters of this module?",
    ),
    Misconception(
        id="repeats_one_head",
        exercise="MultiHeadAttention",
        swaps=((MAKE_HEADS, f"[{ONE_HEAD}] * num_heads"),),
        explanation="One head is made and listed num_heads times, so that all blocks are the same.",
        question="How many times does the constructor of Attention run in your code?",
    ),
    Misconception(
        id="seeds_every_head",
        exercise="MultiHeadAttention",
        swaps=((ONE_HEAD, f"torch.manual_seed(42) and {ONE_HEAD}"),),
        explanation=(
            "The seed is set before every head, so that all heads start with the same weights and "
            "stay alike."
        ),
        question="Who should decide about the seed, and how often?",
    ),
    Misconception(
        id="makes_one_head_only",
        exercise="MultiHeadAttention",
        swaps=((MAKE_HEADS, f"[{ONE_HEAD}]"),),
        explanation="num_heads is taken and never used: there is one head.",
        question="What happens to num_heads between the signature and the heads?",
    ),
    Misconception(
        id="makes_the_heads_narrower",
        exercise="MultiHeadAttention",
        swaps=((ONE_HEAD, "Attention(max(1, d_model // num_heads), row_dim, col_dim)"),),
        explanation=(
            "The heads share d_model; here each of them takes and gives all d_model features."
        ),
        question="What does a head receive here: whole encodings, or a part of each?",
    ),
    Misconception(
        id="forgets_the_axes",
        exercise="MultiHeadAttention",
        swaps=((ONE_HEAD, "Attention(d_model)"),),
        explanation=(
            "row_dim and col_dim are not handed on to the heads, which take the axes of a single "
            "text."
        ),
        question="How does a head learn that there is a batch?",
    ),
    Misconception(
        id="forgets_the_mask",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, CALL_HEAD.replace(", mask)", ")")),),
        explanation="The mask is not handed on to the heads.",
        question="What happens to mask between your forward and that of a head?",
    ),
    Misconception(
        id="masks_the_first_head_only",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, CALL_HEAD.replace("mask", "mask if head is self.heads[0] else None")),),
        explanation="Only head 0 gets the mask; the others see what it hides.",
        question="May any head look where the mask forbids it?",
    ),
    Misconception(
        id="asks_a_mask_whether_it_is_true",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, CALL_HEAD.replace("mask", "mask if mask else None")),),
        explanation=(
            "A mask with more than one entry is neither true nor false, and torch refuses to say."
        ),
        question="How do you ask whether an argument was given at all?",
    ),
    Misconception(
        id="turns_cross_into_self_attention",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, "head(encodings_for_q, encodings_for_q, encodings_for_q, mask)"),),
        explanation=(
            "The heads get the encodings of the queries three times; those for keys and values "
            "are never used."
        ),
        question="Who is asked here, and where do their keys and values come from?",
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
        explanation="Encodings for keys and values are handed on in the wrong order.",
        question="In which order does a head take its three encodings?",
    ),
    Misconception(
        id="swaps_queries_and_keys_encodings",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, "head(encodings_for_k, encodings_for_q, encodings_for_v, mask)"),),
        explanation=(
            "Encodings for queries and keys are handed on in the wrong order: those who are asked "
            "ask."
        ),
        question="In which order does a head take its three encodings?",
    ),
    Misconception(
        id="chains_the_heads",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, f"(encodings_for_q := {CALL_HEAD})"),),
        explanation=(
            "Each head asks with what the one before it found; all heads should look at the same "
            "encodings."
        ),
        question="Do heads stand one behind the other, or side by side?",
    ),
    Misconception(
        id="stacks_the_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.stack(contexts)"),),
        explanation=(
            "The heads are stacked along a new axis; they belong side by side on the axis of "
            "features."
        ),
        question="How many axes did one head's result have, and how many should yours have?",
    ),
    Misconception(
        id="adds_the_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "sum(contexts)"),),
        explanation="The heads are added up, which throws away what sets them apart.",
        question="How wide is the result if nothing that a head found is to be lost?",
    ),
    Misconception(
        id="averages_the_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.stack(contexts).mean(dim=0)"),),
        explanation="The heads are averaged, which throws away what sets them apart.",
        question="How wide is the result if nothing that a head found is to be lost?",
    ),
    Misconception(
        id="joins_the_heads_along_the_tokens",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts, dim=self.col_dim - 1)"),),
        explanation=(
            "The heads' context vectors stand one below the other, as if they were more tokens."
        ),
        question="Which axis grows when each token gets more features?",
    ),
    Misconception(
        id="joins_on_a_fixed_axis",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts, dim=1)"),),
        explanation=(
            "The heads are joined on axis 1, which holds the tokens as soon as there is a batch."
        ),
        question="Which axes count tokens and features when a batch axis stands in front?",
    ),
    Misconception(
        id="joins_the_heads_from_last_to_first",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts[::-1], dim=self.col_dim)"),),
        explanation="The blocks stand in reverse order: the last head comes first.",
        question="Whose features should come first?",
    ),
    Misconception(
        id="interleaves_the_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.stack(contexts, dim=-1).flatten(-2)"),),
        explanation=(
            "The features of the heads alternate, one of each head after the other, in place of "
            "standing block by block."
        ),
        question="Where do the features of head 1 begin?",
    ),
    Misconception(
        id="returns_a_list",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "contexts"),),
        explanation="The heads' results are returned as a list; the answer is one tensor.",
        question="Which function joins tensors along an axis that they have already?",
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
            "A layer mixes the heads at the end; that comes in the next stage, and not here."
        ),
        question=(
            "What should stand in the first features of a token: head 0's findings, or a mixture?"
        ),
    ),
    Misconception(
        id="divides_by_the_number_of_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts, dim=self.col_dim) / len(self.heads)"),),
        explanation=(
            "The joined context vectors are divided by the number of heads, as one would for an "
            "average."
        ),
        question="What should one head give: the same as Attention, or a part of it?",
    ),
    Misconception(
        id="cuts_the_graph",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts, dim=self.col_dim).detach()"),),
        explanation="The result is cut off from the graph, so that no head can be trained.",
        question="What does a loss need to find its way back to the weights?",
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
        explanation="torch's ready-made attention does the work that the heads are there for.",
        question="Which steps does scaled_dot_product_attention take for you?",
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
        question="Along which axis could all tokens be joined in one go?",
    ),
    # MultiHeadAttentionWrapper
    Misconception(
        id="keeps_causal_heads_in_a_plain_list",
        exercise="MultiHeadAttentionWrapper",
        swaps=(("nn.ModuleList(\n            [", "list(\n            ["),),
        explanation=(
            "The heads stand in a plain Python list, where PyTorch does not look: the module has "
            "no parameters, and neither training nor moving it reaches the heads."
        ),
        question="What would an optimizer find that is given the parameters of this module?",
    ),
    Misconception(
        id="repeats_one_causal_head",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (ONE_CAUSAL, f"one := {ONE_CAUSAL}"),
            ("for _ in range(num_heads)", ""),
            ("            ],\n", "            ] * num_heads,\n"),
        ),
        explanation="One head is made and listed num_heads times, so that all blocks are the same.",
        question="How many times does the constructor of CausalAttention run in your code?",
    ),
    Misconception(
        id="seeds_every_causal_head",
        exercise="MultiHeadAttentionWrapper",
        swaps=((ONE_CAUSAL, f"torch.manual_seed(123) and {ONE_CAUSAL}"),),
        explanation=(
            "The seed is set before every head, so that all heads start with the same weights and "
            "stay alike."
        ),
        question="Who should decide about the seed, and how often?",
    ),
    Misconception(
        id="makes_one_causal_head_only",
        exercise="MultiHeadAttentionWrapper",
        swaps=(("range(num_heads)", "range(1)"),),
        explanation="num_heads is taken and never used: there is one head.",
        question="What happens to num_heads between the signature and the heads?",
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
            "The heads share d_out; here d_out is the size of each head, and the result is "
            "num_heads times as wide."
        ),
        question="Two heads of size 2: how wide is what they give together?",
    ),
    Misconception(
        id="hands_no_bias_on",
        exercise="MultiHeadAttentionWrapper",
        swaps=((ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length, dropout)"),),
        explanation="qkv_bias is not handed on to the heads.",
        question="What happens to qkv_bias between your constructor and that of a head?",
    ),
    Misconception(
        id="always_has_biases",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=True)"),
        ),
        explanation="The heads have biases although qkv_bias is false unless given.",
        question="What happens to qkv_bias between your constructor and that of a head?",
    ),
    Misconception(
        id="hands_no_dropout_on",
        exercise="MultiHeadAttentionWrapper",
        swaps=((ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias)"),),
        explanation="dropout is not handed on to the heads.",
        question="What happens to dropout between your constructor and that of a head?",
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
            "Dropout acts on the joined context vectors, not on the attention weights of the heads."
        ),
        question="Does dropout here hide tokens from each other, or features of a finished vector?",
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
            "The heads drop weights already; the joined context vectors are dropped from once more."
        ),
        question="How often does a number face the risk of vanishing in your code?",
    ),
    Misconception(
        id="chains_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((CALL_CAUSAL, "[(x := head(x)) for head in self.heads]"),),
        explanation=(
            "Each head gets what the one before it found; all heads should look at the same x."
        ),
        question="Do heads stand one behind the other, or side by side?",
    ),
    Misconception(
        id="stacks_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.stack(contexts, dim=1)"),),
        explanation=(
            "The heads get an axis of their own; here they belong side by side on the axis of "
            "features."
        ),
        question="How many axes did one head's result have, and how many should yours have?",
    ),
    Misconception(
        id="adds_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "sum(contexts)"),),
        explanation="The heads are added up, which throws away what sets them apart.",
        question="How wide is the result if nothing that a head found is to be lost?",
    ),
    Misconception(
        id="averages_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.stack(contexts).mean(dim=0)"),),
        explanation="The heads are averaged, which throws away what sets them apart.",
        question="How wide is the result if nothing that a head found is to be lost?",
    ),
    Misconception(
        id="joins_causal_heads_along_the_tokens",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.cat(contexts, dim=1)"),),
        explanation="On a batch, dim=1 is the axis of tokens: the heads stand one below the other.",
        question="Which axis grows when each token gets more features?",
    ),
    Misconception(
        id="joins_causal_heads_along_the_batch",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.cat(contexts)"),),
        explanation=(
            "torch.cat joins along axis 0 unless told otherwise, as if the heads were more items."
        ),
        question="Along which axis does torch.cat join if dim is not given?",
    ),
    Misconception(
        id="joins_causal_heads_from_last_to_first",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.cat(contexts[::-1], dim=-1)"),),
        explanation="The blocks stand in reverse order: the last head comes first.",
        question="Whose features should come first?",
    ),
    Misconception(
        id="interleaves_the_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.stack(contexts, dim=-1).flatten(-2)"),),
        explanation=(
            "The features of the heads alternate, one of each head after the other, in place of "
            "standing block by block."
        ),
        question="Where do the features of head 1 begin?",
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
            "A layer mixes the heads at the end; that comes in the next stage, and not here."
        ),
        question=(
            "What should stand in the first features of a token: head 0's findings, or a mixture?"
        ),
    ),
    Misconception(
        id="cuts_texts_to_the_context",
        exercise="MultiHeadAttentionWrapper",
        swaps=((CALL_CAUSAL, "[head(x[:, : head.mask.shape[0]]) for head in self.heads]"),),
        explanation="Tokens beyond context_length vanish without a word.",
        question="How would the caller notice that tokens are missing?",
    ),
    Misconception(
        id="makes_room_for_one_token_less",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length - 1, dropout, qkv_bias)"),
        ),
        explanation="The heads have room for one token less than context_length.",
        question="How many tokens should the longest text have that is still served?",
    ),
    Misconception(
        id="cuts_the_causal_graph",
        exercise="MultiHeadAttentionWrapper",
        swaps=((JOIN_CAUSAL, "torch.cat(contexts, dim=-1).detach()"),),
        explanation="The result is cut off from the graph, so that no head can be trained.",
        question="What does a loss need to find its way back to the weights?",
    ),
    Misconception(
        id="draws_the_same_weights_to_drop_in_each_head",
        exercise="MultiHeadAttentionWrapper",
        swaps=((CALL_CAUSAL, "[torch.manual_seed(0) and head(x) for head in self.heads]"),),
        explanation=(
            "The seed is set before every head is called, so that all heads drop the same "
            "weights, in every call."
        ),
        question="What else in a training run draws from torch's generator?",
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
        explanation="torch's ready-made attention does the work that the heads are there for.",
        question="Which steps does scaled_dot_product_attention take for you?",
    ),
)
