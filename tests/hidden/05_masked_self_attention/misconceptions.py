"""Wrong answers that the suite of stage 05 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

SCALED = "scores / k.shape[self.col_dim] ** 0.5"
SCORES = "q @ k.transpose(self.row_dim, self.col_dim)"
FILLED = "scaled.masked_fill(mask == 0, -torch.inf)"
WEIGHTS = "torch.softmax(visible, dim=self.col_dim)"

# Mistakes that are possible with and without a mask:
# id, text in the class, the wrong text, explanation, question.
IN_BOTH = (
    (
        "forgets_to_scale",
        SCALED,
        "scores",
        "The scores are not scaled before softmax.",
        "How does the standard deviation of a dot product grow with the size of its vectors?",
    ),
    (
        "divides_by_d_k",
        SCALED,
        "scores / k.shape[self.col_dim]",
        "The scores are divided by the key size itself, not by its square root.",
        (
            "By which factor does the standard deviation of a dot product grow when the vectors "
            "get four times as long?"
        ),
    ),
    (
        "multiplies_by_the_root",
        SCALED,
        "scores * k.shape[self.col_dim] ** 0.5",
        "The scores are multiplied by the root of the key size, which makes softmax sharper.",
        "Should a larger key size make the scores larger?",
    ),
    (
        "scales_by_sequence_length",
        SCALED,
        "scores / k.shape[self.row_dim] ** 0.5",
        "The scores are divided by the root of the number of tokens instead of features.",
        "How many products does one score add up?",
    ),
    (
        "hard_codes_the_key_size",
        SCALED,
        "scores / 2**0.5",
        "The key size is fixed at 2; for any other d_model the scaling is wrong.",
        "Which of your tensors has the size of a key in its shape?",
    ),
    (
        "swaps_query_and_key",
        SCORES,
        "k @ q.transpose(self.row_dim, self.col_dim)",
        "The scores are transposed: row i holds the scores of key i with every query.",
        "Which query does row i of the scores belong to?",
    ),
    (
        "forgets_the_batch_in_the_transpose",
        SCORES,
        "q @ k.transpose(0, 1)",
        "The axes 0 and 1 of the keys are swapped, but in a batch these are items and tokens.",
        "Which two numbers name the axes of tokens and features in a batch?",
    ),
    (
        "mixes_keys",
        "return weights @ v",
        "return weights @ k",
        "The weights mix the keys, but keys are only for the comparison with queries.",
        "Which of the three projections holds the information that a token contributes?",
    ),
    (
        "mixes_raw_encodings",
        "return weights @ v",
        "return weights @ token_encodings",
        ("The weights mix the token encodings themselves; the shape fits, but W_v is not used."),
        "Which of the three layers has no effect on your result?",
    ),
    (
        "multiplies_by_the_stored_weight",
        "v = self.W_v(token_encodings)",
        "v = token_encodings @ self.W_v.weight",
        (
            "The encodings are multiplied by the weight as nn.Linear stores it, but the product "
            "needs its transpose; a square weight raises no error."
        ),
        "What does nn.Linear do with its weight before it multiplies?",
    ),
    (
        "makes_keys_first",
        "self.W_q = nn.Linear(d_model, d_model, bias=False)\n        self.W_k = nn.Linear",
        "self.W_k = nn.Linear(d_model, d_model, bias=False)\n        self.W_q = nn.Linear",
        (
            "The key layer is created before the query layer, so each holds the initial weights "
            "of the other."
        ),
        "Which layer should draw its weight first after the seed?",
    ),
    (
        "leaves_a_bias_on",
        "self.W_v = nn.Linear(d_model, d_model, bias=False)",
        "self.W_v = nn.Linear(d_model, d_model)",
        "The bias that nn.Linear adds by default is not switched off.",
        "Which parameters does nn.Linear(2, 2) have?",
    ),
    (
        "cuts_the_graph",
        "return weights @ v",
        "return weights.detach() @ v",
        (
            "The weights are detached from the graph, so queries and keys get no gradient and "
            "never learn."
        ),
        "Through which steps should a gradient flow from the result back to W_q?",
    ),
)


def in_both(exercise: str, suffix: str) -> tuple[Misconception, ...]:
    """Return these mistakes as mistakes of *exercise*."""
    return tuple(
        Misconception(
            id=f"{name}{suffix}",
            exercise=exercise,
            swaps=((right, wrong),),
            explanation=explanation,
            question=question,
        )
        for name, right, wrong, explanation, question in IN_BOTH
    )


MISCONCEPTIONS = (
    # SelfAttention
    *in_both("SelfAttention", ""),
    Misconception(
        id="normalises_over_queries",
        exercise="SelfAttention",
        swaps=(
            ("torch.softmax(scaled, dim=self.col_dim)", "torch.softmax(scaled, dim=self.row_dim)"),
        ),
        explanation=(
            "Softmax runs along row_dim: the weights of one key sum to one, but those of one "
            "query should."
        ),
        question=(
            "Row i belongs to query i; which axis holds the scores of one query with all keys?"
        ),
    ),
    Misconception(
        id="forgets_the_batch_in_softmax",
        exercise="SelfAttention",
        swaps=(("torch.softmax(scaled, dim=self.col_dim)", "torch.softmax(scaled, dim=1)"),),
        explanation="Softmax runs along axis 1, but in a batch this axis counts queries, not keys.",
        question="Which axis of (B, T, T) holds the keys of one query?",
    ),
    Misconception(
        id="forgets_the_batch_in_the_key_size",
        exercise="SelfAttention",
        swaps=((SCALED, "scores / k.shape[1] ** 0.5"),),
        explanation="The key size is read from axis 1, but in a batch this axis counts tokens.",
        question="Which axis of (B, T, d) is as long as a key?",
    ),
    Misconception(
        id="swaps_the_two_axes",
        exercise="SelfAttention",
        swaps=(
            ("self.row_dim = row_dim", "self.row_dim = col_dim"),
            ("self.col_dim = col_dim", "self.col_dim = row_dim"),
        ),
        explanation=(
            "The axes row_dim and col_dim are exchanged when they are stored, so key size and "
            "softmax use the axis of the tokens."
        ),
        question="Which of the two axes counts features?",
    ),
    Misconception(
        id="reshapes_instead_of_transposing",
        exercise="SelfAttention",
        swaps=((SCORES, "q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])"),),
        title="The keys are reshaped instead of transposed",
        explanation=(
            "reshape makes the sizes fit but keeps the numbers in their order: rows do not become "
            "columns."
        ),
        question=(
            "Where does the second number of the first row go in a transpose, and where in a "
            "reshape?"
        ),
    ),
    Misconception(
        id="averages_over_the_batch",
        exercise="SelfAttention",
        swaps=(
            (
                SCORES,
                (
                    f"{SCORES}\n"
                    "        if scores.ndim == 3:\n"
                    "            scores = scores.mean(0, keepdim=True)"
                ),
            ),
        ),
        explanation=(
            "The scores are averaged over the batch, so the weights of each item depend on the "
            "other items."
        ),
        question="Should the result for one item change when another item is added to the batch?",
    ),
    Misconception(
        id="flattens_the_batch",
        exercise="SelfAttention",
        swaps=(
            (
                "q = self.W_q(token_encodings)",
                (
                    "shape = token_encodings.shape\n"
                    "        token_encodings = token_encodings.reshape(-1, shape[-1])\n"
                    "        q = self.W_q(token_encodings)"
                ),
            ),
            (SCORES, "q @ k.T"),
            ("k.shape[self.col_dim]", "k.shape[1]"),
            ("dim=self.col_dim", "dim=1"),
            ("return weights @ v", "return (weights @ v).reshape(shape)"),
        ),
        explanation=(
            "The batch is treated as one long sequence, so tokens attend to tokens of other items."
        ),
        question="Which tokens may a token of one item attend to?",
    ),
    Misconception(
        id="skips_softmax",
        exercise="SelfAttention",
        swaps=(("torch.softmax(scaled, dim=self.col_dim)", "scaled"),),
        explanation=(
            "The scaled scores mix the values directly; without softmax they are not weights."
        ),
        question="Can a weight be negative, and what should a token's weights sum to?",
    ),
    Misconception(
        id="divides_by_the_plain_sum",
        exercise="SelfAttention",
        swaps=(
            (
                "torch.softmax(scaled, dim=self.col_dim)",
                "scaled / scaled.sum(dim=-1, keepdim=True)",
            ),
        ),
        explanation=(
            "The scores are divided by their sum; scores of both signs do not give valid weights "
            "this way."
        ),
        question="What happens to a row whose scores sum to nearly zero?",
    ),
    Misconception(
        id="uses_sigmoid",
        exercise="SelfAttention",
        swaps=(("torch.softmax(scaled, dim=self.col_dim)", "torch.sigmoid(scaled)"),),
        explanation=(
            "A sigmoid treats each score separately, so the weights of a row do not depend on "
            "each other and do not sum to one."
        ),
        question="If one score rises, what should happen to the other weights of its row?",
    ),
    Misconception(
        id="scales_after_softmax",
        exercise="SelfAttention",
        swaps=(
            (SCALED, "scores"),
            ("return weights @ v", "return weights / k.shape[self.col_dim] ** 0.5 @ v"),
        ),
        explanation=(
            "The scaling comes after softmax, so the weights of a token no longer sum to one."
        ),
        question="What do the rows of your weights sum to?",
    ),
    Misconception(
        id="transposes_the_weights",
        exercise="SelfAttention",
        swaps=(("return weights @ v", "return weights.transpose(self.row_dim, self.col_dim) @ v"),),
        explanation=(
            "The weights are transposed before they mix the values: row i then holds the weights "
            "that token i gets from the others."
        ),
        question="Which row of the weights sums to one and belongs to the first token?",
    ),
    Misconception(
        id="compares_raw_encodings",
        exercise="SelfAttention",
        swaps=(
            (SCORES, "token_encodings @ token_encodings.transpose(self.row_dim, self.col_dim)"),
        ),
        explanation=(
            "The scores compare the token encodings themselves; queries and keys are never used."
        ),
        question=(
            "What would change in your result if W_q held other numbers, and what should change?"
        ),
    ),
    Misconception(
        id="uses_one_layer_for_all",
        exercise="SelfAttention",
        swaps=(("k = self.W_k(", "k = self.W_q("),),
        explanation="The keys come from the query layer, so every token's key equals its query.",
        question="Which of the three layers has no effect on your result?",
    ),
    Misconception(
        id="returns_the_weights",
        exercise="SelfAttention",
        swaps=(("return weights @ v", "return weights"),),
        explanation=(
            "The attention weights are returned, one number per pair of tokens, instead of the "
            "context vectors."
        ),
        question=(
            "Which step is left once you know how much each token attends to each other token?"
        ),
    ),
    Misconception(
        id="ignores_d_model",
        exercise="SelfAttention",
        swaps=(
            (
                "self.W_v = nn.Linear(d_model, d_model, bias=False)",
                "self.W_v = nn.Linear(2, 2, bias=False)",
            ),
        ),
        explanation="The value layer always has size 2, for every d_model.",
        question="Where does d_model appear in your constructor?",
    ),
    Misconception(
        id="seeds_in_the_constructor",
        exercise="SelfAttention",
        swaps=(("super().__init__()", "super().__init__()\n        torch.manual_seed(42)"),),
        explanation=(
            "The class sets the seed itself, so every module made from it has the same weights."
        ),
        question="Should two attention layers in one model start with equal weights?",
    ),
    Misconception(
        id="hides_the_future_unasked",
        exercise="SelfAttention",
        swaps=(
            (
                SCALED,
                (
                    f"{SCALED}\n"
                    "        future = torch.ones(scaled.shape[-2:]).triu(1) == 1\n"
                    "        scaled = scaled.masked_fill(future, -torch.inf)"
                ),
            ),
        ),
        explanation="The future is hidden here too, although this class takes no mask.",
        question="Which of the two classes takes a mask?",
    ),
    Misconception(
        id="calls_ready_attention",
        exercise="SelfAttention",
        swaps=(
            ("return weights @ v", "return nn.functional.scaled_dot_product_attention(q, k, v)"),
        ),
        explanation="Torch's ready attention does the work that you should write in this exercise.",
        question="Which three lines does that function replace?",
    ),
    # causal_mask
    Misconception(
        id="keeps_the_upper_triangle",
        exercise="causal_mask",
        swaps=(("torch.tril(", "torch.triu("),),
        explanation=(
            "The upper triangle is kept: each token may attend to the future and not to the past."
        ),
        question="Which entries of row 0 may be 1?",
    ),
    Misconception(
        id="hides_the_token_itself",
        exercise="causal_mask",
        swaps=(("torch.ones(size, size)", "torch.ones(size, size), diagonal=-1"),),
        explanation=(
            "The diagonal is hidden: no token may attend to itself, and for the first one all "
            "tokens are hidden."
        ),
        question="Which tokens may the first token attend to?",
    ),
    Misconception(
        id="shows_one_token_of_the_future",
        exercise="causal_mask",
        swaps=(("torch.ones(size, size)", "torch.ones(size, size), diagonal=1"),),
        explanation="The triangle is one diagonal too wide: each token may attend to the next one.",
        question="How many ones should row 0 have?",
    ),
    Misconception(
        id="marks_what_to_hide",
        exercise="causal_mask",
        swaps=(
            (
                "torch.tril(torch.ones(size, size))",
                "torch.triu(torch.ones(size, size), diagonal=1)",
            ),
        ),
        explanation="The ones mark hidden tokens, as in some libraries; here a 1 keeps.",
        question="What does a 1 in the mask mean in this stage?",
    ),
    Misconception(
        id="hides_nothing",
        exercise="causal_mask",
        swaps=(("torch.tril(torch.ones(size, size))", "torch.ones(size, size)"),),
        explanation="The mask is full of ones and hides nothing.",
        question="Which part of the square belongs to later tokens?",
    ),
    Misconception(
        id="sees_only_itself",
        exercise="causal_mask",
        swaps=(("torch.tril(torch.ones(size, size))", "torch.eye(size)"),),
        explanation=(
            "Only the diagonal is kept: each token may attend only to itself, and not to earlier "
            "tokens."
        ),
        question="How many tokens may the last token attend to?",
    ),
    Misconception(
        id="fills_the_mask_with_minus_infinity",
        exercise="causal_mask",
        swaps=(
            ("torch.tril(torch.ones(size, size))", "torch.full((size, size), -torch.inf).triu(1)"),
        ),
        title="The mask holds zeros and -inf instead of ones and zeros",
        explanation=(
            "This mask of zeros and -inf is for adding to scores; here a mask of ones and zeros "
            "is required."
        ),
        question="Which two numbers may a mask of this stage contain?",
    ),
    Misconception(
        id="divides_each_row_by_its_length",
        exercise="causal_mask",
        swaps=(
            (
                "torch.tril(torch.ones(size, size))",
                "torch.tril(torch.ones(size, size)) / torch.arange(1, size + 1)[:, None]",
            ),
        ),
        title="The rows of the mask are divided by their length",
        explanation=(
            "These are weights for an average, whose rows sum to one; a mask holds only 0 and 1."
        ),
        question="What is the largest number in a mask, and what is the smallest?",
    ),
    Misconception(
        id="hard_codes_the_size",
        exercise="causal_mask",
        swaps=(("torch.ones(size, size)", "torch.ones(3, 3)"),),
        explanation="The mask is always 3 by 3, for every size.",
        question="Where does size appear in your function?",
    ),
    Misconception(
        id="adds_an_axis_for_the_batch",
        exercise="causal_mask",
        swaps=(("torch.ones(size, size)", "torch.ones(1, size, size)"),),
        explanation="The mask has a third axis, but it should have rows and columns only.",
        question="Which shape does the description name?",
    ),
    # MaskedSelfAttention
    *in_both("MaskedSelfAttention", "_under_a_mask"),
    Misconception(
        id="normalises_over_queries_under_a_mask",
        exercise="MaskedSelfAttention",
        swaps=((WEIGHTS, "torch.softmax(visible, dim=self.row_dim)"),),
        explanation=(
            "Softmax runs along row_dim: the weights of one key sum to one, but those of one "
            "query should."
        ),
        question=(
            "Row i belongs to query i; which axis holds the scores of one query with all keys?"
        ),
    ),
    Misconception(
        id="forgets_the_batch_in_softmax_under_a_mask",
        exercise="MaskedSelfAttention",
        swaps=((WEIGHTS, "torch.softmax(visible, dim=1)"),),
        explanation="Softmax runs along axis 1, but in a batch this axis counts queries, not keys.",
        question="Which axis of (B, T, T) holds the keys of one query?",
    ),
    Misconception(
        id="ignores_the_mask",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled"),),
        explanation="The mask is never applied: every token attends to all tokens.",
        question="Which line of yours uses the mask?",
        ties=("discards_the_masked_scores",),
        why_tied="If the masked tensor is not used, the result is the same as without a mask.",
    ),
    Misconception(
        id="discards_the_masked_scores",
        exercise="MaskedSelfAttention",
        swaps=(
            (f"visible = {FILLED}", f"{FILLED}\n        visible = scaled  # as if filled in place"),
        ),
        explanation="The result of masked_fill, a new tensor, is not used.",
        question="What is the difference between masked_fill and masked_fill_?",
        ties=("ignores_the_mask",),
        why_tied="If the masked tensor is not used, the result is the same as without a mask.",
    ),
    Misconception(
        id="fills_with_zero",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled.masked_fill(mask == 0, 0.0)"),),
        explanation=(
            "Hidden scores are set to 0, and softmax gives a positive weight to a score of 0."
        ),
        question="What is the exponential of 0, and which number has the exponential 0?",
        ties=("multiplies_scores_by_the_mask",),
        why_tied="Multiplying by 0 and filling with 0 give the same scores.",
    ),
    Misconception(
        id="fills_with_minus_one",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled.masked_fill(mask == 0, -1.0)"),),
        explanation=(
            "Hidden scores are set to -1, which makes their weights smaller but does not remove "
            "them."
        ),
        question="How small must a score be so that its exponential is 0?",
    ),
    Misconception(
        id="fills_with_plus_infinity",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled.masked_fill(mask == 0, torch.inf)"),),
        explanation="Hidden scores are set to plus infinity, and softmax gives NaN.",
        question="Which score gets the smallest weight from softmax?",
    ),
    Misconception(
        id="multiplies_zero_by_infinity",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled * mask + (1 - mask) * -torch.inf"),),
        explanation=(
            "Where the mask is 1, zero is multiplied by infinity, which gives NaN for the "
            "visible scores."
        ),
        question="What is 0 times infinity, and can you avoid this product?",
    ),
    Misconception(
        id="multiplies_scores_by_the_mask",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled * mask"),),
        explanation=(
            "The product makes hidden scores 0, and softmax gives a positive weight to a score "
            "of 0."
        ),
        question="What is the exponential of 0?",
        ties=("fills_with_zero",),
        why_tied="Multiplying by 0 and filling with 0 give the same scores.",
    ),
    Misconception(
        id="adds_the_mask",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled + mask"),),
        explanation=(
            "The mask of ones and zeros is added to the scores, which makes the visible scores "
            "only a little larger."
        ),
        question="Which number must be added to a score so that its weight becomes 0?",
    ),
    Misconception(
        id="masks_after_softmax",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled"), ("return weights @ v", "return weights * mask @ v")),
        explanation=(
            "The mask is applied to the weights after softmax, so the remaining weights no "
            "longer sum to one."
        ),
        question="What do the rows of your weights sum to after the mask?",
    ),
    Misconception(
        id="fills_weights_with_minus_infinity",
        exercise="MaskedSelfAttention",
        swaps=(
            (FILLED, "scaled"),
            ("return weights @ v", "return weights.masked_fill(mask == 0, -torch.inf) @ v"),
        ),
        explanation=(
            "Minus infinity is written into the weights after softmax, so nothing turns it into 0."
        ),
        question="Which step turns -inf into 0, and does it come before or after your masking?",
    ),
    Misconception(
        id="reads_the_mask_the_wrong_way",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "mask == 1"),),
        explanation=(
            "The mask is used with the opposite meaning: in this course 1 marks a visible token, "
            "and 0 a hidden one."
        ),
        question="What does a 1 in the mask mean in this stage?",
    ),
    Misconception(
        id="transposes_the_mask",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "mask.T == 0"),),
        explanation=(
            "The mask is transposed: its columns are used as rows, and the past is hidden "
            "instead of the future."
        ),
        question="Which query does row i of the mask belong to?",
    ),
    Misconception(
        id="makes_a_mask_of_its_own",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "torch.ones(scaled.shape[-2:]).triu(1) == 1"),),
        explanation="The future is hidden, whatever mask the caller passes.",
        question="What should happen with a mask that hides nothing?",
    ),
    Misconception(
        id="makes_a_mask_that_shows_one_more",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "torch.ones(scaled.shape[-2:]).triu(2) == 1"),),
        title="The class makes its own mask, one diagonal too wide",
        explanation=(
            "The class makes its own mask, which is one diagonal too wide: each token attends to "
            "the next one."
        ),
        question="Who decides what is hidden, the class or the caller?",
    ),
    Misconception(
        id="hides_the_diagonal_as_well",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "mask.tril(-1) == 0"),),
        explanation=(
            "No token may attend to itself, so for the first one all tokens are hidden and its "
            "row is NaN."
        ),
        question="Which entry of row 0 has to stay visible?",
    ),
    Misconception(
        id="masks_the_encodings",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled"), ("return weights @ v", "return weights @ (mask @ v)")),
        explanation=(
            "The mask is multiplied with the values, which adds them up and hides no token."
        ),
        question=(
            "A mask has one entry for each pair of tokens; which of your tensors has the same "
            "shape?"
        ),
    ),
    Misconception(
        id="writes_into_the_mask",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled + mask.sub_(1).mul_(1e9)"),),
        explanation=(
            "The mask is changed in place, so the next call with it no longer hides the right "
            "tokens."
        ),
        question="Who else may use the mask that your function gets?",
    ),
    Misconception(
        id="seeds_in_forward",
        exercise="MaskedSelfAttention",
        swaps=(("q = self.W_q", "torch.manual_seed(0)\n        q = self.W_q"),),
        explanation=(
            "Every call sets the seed, so the random numbers drawn after a call are always the "
            "same."
        ),
        question="What would dropout do in a model if one layer sets the seed at every call?",
    ),
    Misconception(
        id="calls_ready_attention_under_a_mask",
        exercise="MaskedSelfAttention",
        swaps=(
            (
                "return weights @ v",
                "return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask == 1)",
            ),
        ),
        explanation="Torch's ready attention does the work that you should write in this exercise.",
        question="Which four lines does that function replace?",
    ),
)
