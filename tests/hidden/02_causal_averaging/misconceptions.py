"""Wrong answers that the suite of stage 02 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    # causal_mean_loop
    Misconception(
        id="averages_what_is_to_come",
        exercise="causal_mean_loop",
        swaps=(("x[b, : t + 1]", "x[b, t:]"),),
        explanation=(
            "The mean runs from token t to the end: over the later tokens, not over the earlier "
            "ones."
        ),
        question="Which mean should leave its token unchanged, the first or the last?",
    ),
    Misconception(
        id="averages_the_whole_sequence",
        exercise="causal_mean_loop",
        swaps=(("x[b, : t + 1]", "x[b]"),),
        explanation=(
            "All tokens are averaged each time, so all rows are equal and include later tokens."
        ),
        question="Where in your slice does t have an effect?",
    ),
    Misconception(
        id="averages_the_last_two_only",
        exercise="causal_mean_loop",
        swaps=(("x[b, : t + 1]", "x[b, max(t - 1, 0) : t + 1]"),),
        explanation=(
            "Only the token and the one before it are averaged, but all tokens before it should "
            "be included."
        ),
        question="How many tokens does the mean of the fifth token include?",
    ),
    Misconception(
        id="copies_each_token",
        exercise="causal_mean_loop",
        swaps=(("x[b, : t + 1]", "x[b, t : t + 1]"),),
        explanation="The slice holds token t alone, so nothing is averaged and the result is x.",
        question="How many rows does your slice have for the third token?",
    ),
    Misconception(
        id="divides_by_all_tokens",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "past.sum(dim=0) / T"),),
        explanation="The sum is always divided by T, even if it adds up fewer tokens.",
        question="Which number must the sum of the first two tokens be divided by?",
    ),
    Misconception(
        id="divides_by_one_too_few",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "past.sum(dim=0) / t"),),
        explanation=(
            "The sum is divided by t, but from 0 to t there are t + 1 tokens: the first row is "
            "divided by zero."
        ),
        question="How many tokens are there from token 0 to token t?",
    ),
    Misconception(
        id="averages_means",
        exercise="causal_mean_loop",
        swaps=(
            (
                "means[b, t] = past.mean(dim=0)",
                "means[b, t] = past[t] if t == 0 else (means[b, t - 1].clone() + past[t]) / 2",
            ),
        ),
        explanation=(
            "Each mean is halfway between the previous mean and the token, which gives late "
            "tokens too much weight."
        ),
        question="Which weight does the first token have in the third mean of your loop?",
    ),
    Misconception(
        id="writes_into_the_batch",
        exercise="causal_mean_loop",
        swaps=(("means = torch.zeros_like(x)", "means = x"),),
        explanation=(
            "The means overwrite the tokens that they are computed from: the batch is changed, "
            "and later means use earlier means."
        ),
        question="Which tensor do you read from, and which one do you write to?",
    ),
    Misconception(
        id="adds_to_ones",
        exercise="causal_mean_loop",
        swaps=(
            ("torch.zeros_like(x)", "torch.ones_like(x)"),
            ("means[b, t] = ", "means[b, t] += "),
        ),
        explanation="The means are added to a tensor that does not start at zero.",
        question="What does your result hold before the loop begins?",
    ),
    # averaging_weights
    Misconception(
        id="turns_the_matrix_round",
        exercise="averaging_weights",
        swaps=(("keepdim=True)", "keepdim=True)).T"), ("return visible", "return (visible")),
        explanation=(
            "The matrix is transposed: the weights of a token are in its column, but they belong "
            "in its row."
        ),
        question="What does the first row of your matrix say about the first token?",
    ),
    Misconception(
        id="is_made_for_eight_tokens",
        exercise="averaging_weights",
        swaps=(("torch.ones(T, T)", "torch.ones(8, 8)"),),
        explanation="The size is fixed at 8, which fits the documented batch only.",
        question="What happens to your function if there are five tokens?",
    ),
    Misconception(
        id="softens_the_triangle",
        exercise="averaging_weights",
        swaps=(
            ("return visible / visible.sum(dim=1, keepdim=True)", "return visible.softmax(dim=1)"),
        ),
        explanation=(
            "Softmax of ones and zeros gives the zeros a weight as well, since exp(0) is 1."
        ),
        question="Which weight does a score of 0 get?",
    ),
    Misconception(
        id="rounds_the_weights",
        exercise="averaging_weights",
        swaps=(
            (
                "return visible / visible.sum(dim=1, keepdim=True)",
                "return torch.round(visible / visible.sum(dim=1, keepdim=True), decimals=4)",
            ),
        ),
        explanation=(
            "The weights are rounded to the printed digits, so some rows no longer add up to 1."
        ),
        question="What is three times 0.3333?",
    ),
    # causal_mean_matmul
    Misconception(
        id="multiplies_from_the_right",
        exercise="causal_mean_matmul",
        swaps=(("return weights @ x", "return x @ weights"),),
        title="The weights are the right factor of the product",
        explanation=(
            "The weights are on the right, where they would mix features: the sizes C and T do "
            "not fit."
        ),
        question="Which two sizes are the inner sizes of (B, T, C) @ (T, T)?",
    ),
    Misconception(
        id="counts_sequences_for_tokens",
        exercise="causal_mean_matmul",
        swaps=(("x.shape[1]", "x.shape[0]"),),
        explanation=(
            "The size of the triangle is the number of sequences, but it should be the number of "
            "tokens."
        ),
        question="Which axis of (B, T, C) is the axis of the tokens?",
    ),
    Misconception(
        id="serves_eight_tokens_only",
        exercise="causal_mean_matmul",
        swaps=(("x.shape[1]", "8"),),
        explanation="The length is fixed at 8, which fits the documented batch only.",
        question="What happens to your function if there are five tokens?",
    ),
    Misconception(
        id="serves_the_first_sequence_only",
        exercise="causal_mean_matmul",
        swaps=(("weights @ x", "weights @ x[0]"),),
        explanation="Only the first sequence is averaged and the batch axis is lost.",
        question="Which shape does your result have?",
    ),
    # masked_softmax_weights
    Misconception(
        id="hides_with_minus_one",
        exercise="masked_softmax_weights",
        swaps=(('float("-inf")', "-1.0"),),
        explanation="Hidden scores are set to -1, which makes their weights smaller, but not 0.",
        question="Which score has an exponential of exactly 0?",
        ties=("starts_from_the_triangle",),
        why_tied=(
            "Softmax depends on differences only, and the differences are the same for 0 and -1 "
            "as for 1 and 0."
        ),
    ),
    Misconception(
        id="hides_with_minus_twenty",
        exercise="masked_softmax_weights",
        swaps=(('float("-inf")', "-20.0"),),
        explanation=(
            "Hidden scores are low but not low enough: later tokens keep a very small weight."
        ),
        question="Which score has an exponential of exactly 0?",
    ),
    Misconception(
        id="multiplies_zero_by_infinity",
        exercise="masked_softmax_weights",
        swaps=(
            (
                'scores.masked_fill(visible == 0, float("-inf"))',
                'scores + (1 - visible) * float("-inf")',
            ),
        ),
        explanation="Zero times infinity is NaN: the product makes visible scores NaN as well.",
        question="What is 0 times infinity, and how could you select values without a product?",
    ),
    Misconception(
        id="starts_from_the_triangle",
        exercise="masked_softmax_weights",
        swaps=(('scores.masked_fill(visible == 0, float("-inf"))', "visible"),),
        explanation=(
            "The triangle of ones and zeros goes into softmax, which gives the zeros a weight too."
        ),
        question="Which weight does a score of 0 get?",
        ties=("hides_with_minus_one",),
        why_tied=(
            "Softmax depends on differences only, and the differences are the same for 0 and -1 "
            "as for 1 and 0."
        ),
    ),
    Misconception(
        id="makes_room_for_eight",
        exercise="masked_softmax_weights",
        swaps=(("torch.ones(T, T)", "torch.ones(8, 8)"),),
        explanation="The mask is made for eight tokens, which fits the documented batch only.",
        question="What happens to your function if there are five tokens?",
    ),
    # causal_mean_softmax
    Misconception(
        id="leaves_a_trace_of_the_future",
        exercise="causal_mean_softmax",
        swaps=(('float("-inf")', "-15.0"),),
        explanation=(
            "Hidden scores are low but not low enough: later tokens keep a very small weight in "
            "each mean."
        ),
        question="Which score has an exponential of exactly 0?",
    ),
    Misconception(
        id="lets_the_tokens_decide_already",
        exercise="causal_mean_softmax",
        swaps=(("scores = torch.zeros(T, T)", "scores = x @ x.mT"),),
        explanation=(
            "The scores are computed from the tokens; here all scores are zero, which gives a "
            "plain mean."
        ),
        question="Which scores does softmax need to give equal weights?",
    ),
    Misconception(
        id="masks_by_the_batch",
        exercise="causal_mean_softmax",
        swaps=(("x.shape[1]", "x.shape[0]"),),
        explanation=(
            "The size of the mask is the number of sequences, but it should be the number of "
            "tokens."
        ),
        question="Which axis of (B, T, C) is the axis of the tokens?",
    ),
    Misconception(
        id="expects_eight_tokens",
        exercise="causal_mean_softmax",
        swaps=(("x.shape[1]", "8"),),
        explanation="The length is fixed at 8, which fits the documented batch only.",
        question="What happens to your function if there are five tokens?",
    ),
)
