"""Wrong answers that the suite of stage 09 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

ONE_HEAD = "Attention(d_model, row_dim, col_dim)"
CALL_HEAD = "head(encodings_for_q, encodings_for_k, encodings_for_v, mask)"
JOIN = "torch.cat(contexts, dim=self.col_dim)"
ONE_CAUSAL = "CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)"
CALL_CAUSAL = "[head(x) for head in self.heads]"
JOIN_CAUSAL = "torch.cat(contexts, dim=-1)"
OUT = "nn.Linear(num_heads * {0}, num_heads * {0}, bias=False)"


def written_out(root: str, context: str) -> str:
    """Return code of the wrapper's heads that divides by the *root* and appends the *context*."""
    return (
        "[]\n"
        "        for head in self.heads:\n"
        "            if len(head.mask) < (T := x.shape[1]):\n"
        "                raise ValueError\n"
        "            keys, values = head.W_key(x), head.W_value(x)\n"
        f"            scores = head.W_query(x) @ keys.mT / {root}\n"
        "            scores = scores.masked_fill(head.mask[:T, :T], -torch.inf)\n"
        f"            contexts.append({context})"
    )


MISCONCEPTIONS = (
    # Attention
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
            "The scores are transposed: the rows belong to keys and the columns to queries."
        ),
        question=(
            "Row i of the scores must belong to query i. Do your rows belong to queries or to keys?"
        ),
    ),
    Misconception(
        id="asks_a_tensor_whether_it_is_true",
        exercise="Attention",
        swaps=(("if mask is not None:", "if mask:"),),
        title="The whole mask is used as one truth value",
        explanation=(
            "The whole mask is used as one truth value, but a tensor with more than one entry has "
            "no single truth value."
        ),
        question="How do you test whether the caller passed an argument?",
    ),
    Misconception(
        id="knows_no_batch",
        exercise="Attention",
        swaps=(
            ("k.transpose(self.row_dim, self.col_dim)", "k.transpose(0, 1)"),
            ("k.shape[self.col_dim]", "k.shape[-1]"),
            ("dim=self.col_dim", "dim=1"),
        ),
        explanation="The axes 0 and 1 are fixed in forward, so in a batch the items are mixed up.",
        question="Which axes count tokens and features in a batch?",
    ),
    # CausalAttention
    Misconception(
        id="uses_the_whole_mask",
        exercise="CausalAttention",
        swaps=(("scores.masked_fill(self.mask[:T, :T]", "scores.masked_fill(self.mask"),),
        title="The mask does not fit fewer tokens than context_length",
        explanation=(
            "The mask does not fit fewer tokens than context_length, because it always has "
            "context_length rows and columns."
        ),
        question="Which part of the mask belongs to the first T tokens?",
        when=("fills", "no slices"),
    ),
    # MultiHeadAttention
    Misconception(
        id="seeds_every_head",
        exercise="MultiHeadAttention",
        swaps=((ONE_HEAD, f"torch.manual_seed(42) and {ONE_HEAD}"),),
        explanation=(
            "All heads start with the same weights, as copies or from the same seed, so they give "
            "the same result."
        ),
        question="Does each head draw its own weights, and who sets the seed?",
    ),
    Misconception(
        id="makes_the_heads_narrower",
        exercise="MultiHeadAttention",
        swaps=((ONE_HEAD, "Attention(max(1, d_model // num_heads), row_dim, col_dim)"),),
        explanation=(
            "The heads split d_model between them; the input and output of each head must have all "
            "d_model features."
        ),
        question="What does a head get here: whole encodings, or a part of each encoding?",
    ),
    Misconception(
        id="forgets_the_axes",
        exercise="MultiHeadAttention",
        swaps=((ONE_HEAD, "Attention(d_model)"),),
        explanation=(
            "The axes row_dim and col_dim are not passed to the heads, so the heads use the axes "
            "of a single text."
        ),
        question="What tells a head which axes a batch has?",
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
            "The whole mask is used as one truth value, but a tensor with more than one entry has "
            "no single truth value."
        ),
        question="How do you test whether the caller passed an argument?",
    ),
    Misconception(
        id="swaps_queries_and_keys_encodings",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, "head(encodings_for_k, encodings_for_q, encodings_for_v, mask)"),),
        explanation=(
            "The encodings for queries and keys are passed to the heads in the wrong order."
        ),
        question="In which order does a head take its three encodings?",
    ),
    Misconception(
        id="passes_the_encodings_for_values_as_keys",
        exercise="MultiHeadAttention",
        swaps=((CALL_HEAD, "head(encodings_for_q, encodings_for_v, encodings_for_v, mask)"),),
        explanation=(
            "The keys of the heads are computed from encodings_for_v; they must be computed from "
            "encodings_for_k."
        ),
        question="Which of the three encodings have an effect on your result?",
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
        id="returns_a_list",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "contexts"),),
        explanation="The heads' results are returned as a list; the result must be one tensor.",
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
                    f"        self.out_proj = {OUT.format('d_model')}"
                ),
            ),
            (JOIN, "self.out_proj(torch.cat(contexts, dim=self.col_dim))"),
        ),
        explanation="A layer mixes the heads at the end; there must be no layer after the heads.",
        question=(
            "What should the first features of a token hold: the result of head 0, or a mixture of "
            "all heads?"
        ),
        seen=("calls Attention", "calls Linear"),
    ),
    Misconception(
        id="divides_by_the_number_of_heads",
        exercise="MultiHeadAttention",
        swaps=((JOIN, "torch.cat(contexts, dim=self.col_dim) / len(self.heads)"),),
        explanation=(
            "The concatenated context vectors are divided by the number of heads, as in an average."
        ),
        question=(
            "What must the block of one head hold: the result of Attention, or that result divided "
            "by a number?"
        ),
        when=("divides | multiplies",),
    ),
    Misconception(
        id="scales_by_the_size_of_all_heads",
        exercise="MultiHeadAttention",
        swaps=(
            (
                CALL_HEAD,
                CALL_HEAD.replace("for_q", "for_q / len(self.heads) ** 0.5"),
            ),
        ),
        explanation=(
            "The scores are divided by the root of the size of all heads together; a key of one "
            "head has only d_model features."
        ),
        question="How many products does one score of one head add up?",
        when=("takes roots",),
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
            "Torch's ready-made attention is called; in this stage you must write attention "
            "yourself."
        ),
        question="Which steps does scaled_dot_product_attention do for you?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
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
            "The tokens are processed one after the other, so the number of tensor operations "
            "grows with the length of the text."
        ),
        question="Which of your steps could work on all tokens at once?",
        when=("loops",),
    ),
    # MultiHeadAttentionWrapper
    Misconception(
        id="scales_by_the_size_of_all_causal_heads",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (
                CALL_CAUSAL,
                written_out(
                    "(len(self.heads) * keys.shape[-1]) ** 0.5",
                    "head.dropout(scores.softmax(-1)) @ values",
                ),
            ),
        ),
        explanation=(
            "The scores are divided by the root of the size of all heads together; a key of one "
            "head has only d_out features."
        ),
        question="How many products does one score of one head add up?",
        when=("takes roots",),
    ),
    Misconception(
        id="seeds_every_causal_head",
        exercise="MultiHeadAttentionWrapper",
        swaps=((ONE_CAUSAL, f"torch.manual_seed(123) and {ONE_CAUSAL}"),),
        explanation=(
            "All heads start with the same weights, as copies or from the same seed, so they give "
            "the same result."
        ),
        question="Does each head draw its own weights, and who sets the seed?",
    ),
    Misconception(
        id="makes_one_causal_head_only",
        exercise="MultiHeadAttentionWrapper",
        swaps=(("range(num_heads)", "range(1)"),),
        explanation="The constructor takes num_heads but never uses it: there is one head.",
        question="Where does your constructor use num_heads?",
        when=("no reads num_heads",),
    ),
    Misconception(
        id="never_passes_the_bias",
        exercise="MultiHeadAttentionWrapper",
        swaps=((ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length, dropout)"),),
        explanation=(
            "The argument qkv_bias is not passed to the heads, so their layers never have a bias."
        ),
        question="Which arguments of the wrapper does a head need, too?",
        when=("no reads qkv_bias",),
    ),
    Misconception(
        id="passes_dropout_for_the_context_length",
        exercise="MultiHeadAttentionWrapper",
        swaps=((ONE_CAUSAL, "CausalAttention(d_in, d_out, dropout, context_length, qkv_bias)"),),
        explanation="Two arguments of the heads are swapped: context_length and dropout.",
        question="In which order does a head take its arguments?",
        when=("calls CausalAttention",),
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
            "The heads split d_out between them; d_out must be the size of each head, so that the "
            "result is num_heads times as wide."
        ),
        question="If two heads have size 2, how many features does their concatenated result have?",
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
            "Dropout is applied to the concatenated context vectors; it must be applied to the "
            "attention weights of the heads."
        ),
        question=(
            "Should dropout remove connections between tokens, or features of a context vector?"
        ),
        when=("calls Dropout | calls dropout",),
    ),
    Misconception(
        id="drops_the_context_of_each_head",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (
                CALL_CAUSAL,
                written_out("keys.shape[-1] ** 0.5", "head.dropout(scores.softmax(-1) @ values)"),
            ),
        ),
        explanation=(
            "Dropout is applied to the context vectors of the heads; it must be applied to their "
            "attention weights."
        ),
        question=(
            "Should dropout remove connections between tokens, or features of a context vector?"
        ),
        when=("calls Dropout | calls dropout",),
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
            "Dropout is applied twice: to the weights in the heads, and again to the concatenated "
            "context vectors."
        ),
        question="How many times is dropout applied on the way to one number of your result?",
        when=("calls Dropout | calls dropout",),
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
        id="makes_wrapper_with_an_output_layer",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (
                "    def forward(self, x: Tensor) -> Tensor:",
                (
                    f"        self.out_proj = {OUT.format('d_out')}\n\n"
                    "    def forward(self, x: Tensor) -> Tensor:"
                ),
            ),
            (JOIN_CAUSAL, "self.out_proj(torch.cat(contexts, dim=-1))"),
        ),
        explanation="A layer mixes the heads at the end; there must be no layer after the heads.",
        question=(
            "What should the first features of a token hold: the result of head 0, or a mixture of "
            "all heads?"
        ),
        seen=("calls CausalAttention", "calls Linear"),
    ),
    Misconception(
        id="makes_room_for_one_token_less",
        exercise="MultiHeadAttentionWrapper",
        swaps=(
            (ONE_CAUSAL, "CausalAttention(d_in, d_out, context_length - 1, dropout, qkv_bias)"),
        ),
        explanation="The heads accept one token fewer than context_length allows.",
        question="How many tokens may the longest accepted text have?",
    ),
    Misconception(
        id="draws_the_same_weights_to_drop_in_each_head",
        exercise="MultiHeadAttentionWrapper",
        swaps=((CALL_CAUSAL, "[torch.manual_seed(0) and head(x) for head in self.heads]"),),
        explanation=(
            "The seed is set before every call of a head, so all heads drop the same weights in "
            "every call."
        ),
        question="Which other code in a training run uses torch's generator?",
        when=("seeds",),
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
            "Torch's ready-made attention is called; in this stage you must write attention "
            "yourself."
        ),
        question="Which steps does scaled_dot_product_attention do for you?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
    ),
)
