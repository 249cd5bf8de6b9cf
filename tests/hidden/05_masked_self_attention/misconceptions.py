"""Wrong answers that the suite of stage 05 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

SCORES = "q @ k.transpose(self.row_dim, self.col_dim)"
FILLED = "scaled.masked_fill(mask == 0, -torch.inf)"

MISCONCEPTIONS = (
    # SelfAttention
    Misconception(
        id="forgets_the_batch_in_the_transpose",
        exercise="SelfAttention",
        swaps=((SCORES, "q @ k.transpose(0, 1)"),),
        explanation=(
            "Axes 0 and 1 of the keys are swapped, but in a batch these count items and tokens."
        ),
        question="Which axes of a batch count tokens and features?",
    ),
    Misconception(
        id="reverses_all_axes",
        exercise="SelfAttention",
        swaps=((SCORES, "q @ k.T"),),
        explanation=(
            "All axes are reversed by `T`, so in a batch the items become the last axis; only "
            "tokens and features must be swapped."
        ),
        question="What is the shape of a (2, 5, 3) tensor after `T`, and which one do you need?",
        when=("calls T",),
    ),
    Misconception(
        id="swaps_the_two_axes",
        exercise="SelfAttention",
        swaps=(
            ("self.row_dim = row_dim", "self.row_dim = col_dim"),
            ("self.col_dim = col_dim", "self.col_dim = row_dim"),
        ),
        explanation=(
            "The axes row_dim and col_dim are swapped when they are stored, so the key size and "
            "the softmax use the wrong axis."
        ),
        question="Which of the two axes counts features?",
        when=("computes row_dim from col_dim",),
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
        when=("reshapes",),
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
        explanation="The value layer always has size 2, regardless of d_model.",
        question="Where does d_model appear in your constructor?",
    ),
    Misconception(
        id="calls_ready_attention",
        exercise="SelfAttention",
        swaps=(
            ("return weights @ v", "return nn.functional.scaled_dot_product_attention(q, k, v)"),
        ),
        explanation="Torch's ready-made attention does the work that you must do yourself.",
        question="Which three lines does that function replace?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
    ),
    Misconception(
        id="softmaxes_along_axis_one",
        exercise="SelfAttention",
        swaps=(
            (
                "torch.softmax(scaled, dim=self.col_dim)",
                "torch.softmax(scaled - scaled.amax(dim=self.col_dim, keepdim=True), dim=1)",
            ),
        ),
        explanation=(
            "The softmax runs along axis 1, which counts the queries of a batch; it must run along "
            "col_dim. (The maximum is subtracted along col_dim.)"
        ),
        question="What does axis 1 count in scores of shape (B, T, T)?",
        when=("takes a softmax", "takes a maximum"),
    ),
    # causal_mask
    Misconception(
        id="makes_a_vector_of_ones",
        exercise="causal_mask",
        when=("calls ones",),
        swaps=(("torch.ones(size, size)", "torch.ones(size)"),),
        explanation=(
            "The mask has one axis, because `size` is passed once as a size; it must be passed "
            "twice."
        ),
        question="How many axes does the mask have?",
    ),
    Misconception(
        id="returns_numbers_to_add",
        exercise="causal_mask",
        swaps=(
            (
                "torch.tril(torch.ones(size, size))",
                "torch.full((size, size), -torch.inf).triu(diagonal=1)",
            ),
        ),
        explanation=(
            "The mask holds minus infinity, to be added to scores; it must hold 1 where a token is "
            "visible, and 0 elsewhere."
        ),
        question="Which two numbers does the docstring allow in a mask?",
        when=("uses infinity",),
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
        title="The rows of the mask are divided by their sums",
        explanation=(
            "The rows of the mask are divided by their sums, so they sum to one; a mask must hold "
            "only 0 and 1."
        ),
        question="What is the largest number in a mask, and what is the smallest?",
        when=("divides",),
    ),
    Misconception(
        id="shows_only_the_first_token_itself",
        exercise="causal_mask",
        swaps=(
            (
                "return torch.tril(torch.ones(size, size))",
                "return torch.eye(size, 1).T * torch.eye(size) + torch.ones(size, size).tril(-1)",
            ),
        ),
        explanation="Each token but the first one is hidden from itself.",
        question="Which numbers must be on the diagonal of the mask?",
    ),
    # MaskedSelfAttention
    Misconception(
        id="forgets_the_batch_in_the_transpose_under_a_mask",
        exercise="MaskedSelfAttention",
        swaps=((SCORES, "q @ k.transpose(0, 1)"),),
        explanation=(
            "Axes 0 and 1 of the keys are swapped, but in a batch these count items and tokens."
        ),
        question="Which axes of a batch count tokens and features?",
    ),
    Misconception(
        id="reverses_all_axes_under_a_mask",
        exercise="MaskedSelfAttention",
        swaps=((SCORES, "q @ k.T"),),
        explanation=(
            "All axes are reversed by `T`, so in a batch the items become the last axis; only "
            "tokens and features must be swapped."
        ),
        question="What is the shape of a (2, 5, 3) tensor after `T`, and which one do you need?",
        when=("calls T",),
    ),
    Misconception(
        id="multiplies_zero_by_infinity",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled * mask + (1 - mask) * -torch.inf"),),
        explanation=(
            "Where the mask is 1, zero is multiplied by infinity, which gives NaN for visible "
            "scores."
        ),
        question="What is 0 times infinity, and can you avoid this product?",
        when=("uses infinity", "multiplies"),
    ),
    Misconception(
        id="makes_hidden_scores_zero",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled * mask"),),
        explanation=(
            "Hidden scores become 0, for example by a product with the mask; softmax gives a "
            "positive weight to a score of 0."
        ),
        question="What is the exponential of 0?",
        when=("multiplies | fills | calls tril | calls triu",),
    ),
    Misconception(
        id="masks_after_softmax",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled"), ("return weights @ v", "return weights * mask @ v")),
        explanation=(
            "Hidden weights still count in the divisor of the softmax, so the others do not sum to "
            "one."
        ),
        question="What do the rows of your weights sum to after the mask?",
        when=("takes a softmax",),
    ),
    Misconception(
        id="makes_its_own_mask",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "torch.ones(scaled.shape[-2:]).triu(1) == 1"),),
        explanation="The class makes its own causal mask, so the mask of the caller has no effect.",
        question="Which of the two decides what is hidden, the class or the caller?",
        when=("calls tril | calls triu | calls causal_mask",),
    ),
    Misconception(
        id="makes_a_mask_that_shows_one_more",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "torch.ones(scaled.shape[-2:]).triu(2) == 1"),),
        title="The class makes its own mask, one diagonal too wide",
        explanation=(
            "The class makes its own mask, one diagonal too wide, so each token also attends to "
            "the next one."
        ),
        question="Which of the two decides what is hidden, the class or the caller?",
        when=("calls tril | calls triu | calls causal_mask",),
    ),
    Misconception(
        id="hides_the_diagonal_as_well",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "mask.tril(-1) == 0"),),
        explanation=(
            "No token can attend to itself, so the first token sees nothing and its row is NaN."
        ),
        question="Which entry of row 0 has to stay visible?",
    ),
    Misconception(
        id="masks_the_encodings",
        exercise="MaskedSelfAttention",
        swaps=((FILLED, "scaled"), ("return weights @ v", "return weights @ (mask @ v)")),
        explanation=(
            "The mask is multiplied by the values, which only adds up values and does not hide "
            "tokens from the softmax."
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
        question="Which other code may use the mask that your function gets?",
        when=("changes tensors in place",),
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
        explanation="Torch's ready-made attention does the work that you must do yourself.",
        question="Which four lines does that function replace?",
        when=("calls scaled_dot_product_attention | calls MultiheadAttention",),
    ),
    Misconception(
        id="hides_the_same_tokens_from_all",
        exercise="MaskedSelfAttention",
        swaps=(("mask == 0", "mask[-1] == 0"),),
        explanation="The last row of the mask is used for every token; each needs its own row.",
        question="Which row of the mask belongs to the first token?",
    ),
)
