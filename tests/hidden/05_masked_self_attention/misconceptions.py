"""Wrong answers that the suite of stage 05 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

SCORES = "q @ k.transpose(self.row_dim, self.col_dim)"
FILLED = "scaled.masked_fill(mask == 0, -torch.inf)"

# Mistakes that are possible with and without a mask:
# id, text in the class, the wrong text, explanation, question.
IN_BOTH = (
    (
        "forgets_the_batch_in_the_transpose",
        SCORES,
        "q @ k.transpose(0, 1)",
        "The axes 0 and 1 of the keys are swapped, but in a batch these are items and tokens.",
        "Which two numbers name the axes of tokens and features in a batch?",
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
        id="makes_hidden_scores_zero",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled * mask"),),
        explanation=(
            "Hidden scores become 0, by a product with the mask for example, and softmax gives a "
            "positive weight to a score of 0."
        ),
        question="What is the exponential of 0?",
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
