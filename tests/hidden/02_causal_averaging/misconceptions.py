"""Wrong answers that the suite of stage 02 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

# All scores are zero in this stage, so equal weights only show that the mask is missing.


MISCONCEPTIONS = (
    # causal_mean_loop
    Misconception(
        id="divides_by_all_tokens",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "past.sum(dim=0) / T"),),
        explanation="The sum is always divided by T, even if it adds up fewer tokens.",
        question="What number must the sum of the first two tokens be divided by?",
        when=("divides",),
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
        question="What weight does the first token have in the third mean of your loop?",
        when=("divides | multiplies",),
    ),
    Misconception(
        id="writes_into_the_batch",
        exercise="causal_mean_loop",
        swaps=(("means = torch.zeros_like(x)", "means = x"),),
        explanation=(
            "The means overwrite the tokens that they are computed from, so the batch changes and "
            "later means use earlier means."
        ),
        question="Which tensor do you read from, and which one do you write to?",
        when=("changes tensors in place",),
    ),
    Misconception(
        id="adds_to_ones",
        exercise="causal_mean_loop",
        swaps=(
            ("torch.zeros_like(x)", "torch.ones_like(x)"),
            ("means[b, t] = ", "means[b, t] += "),
        ),
        explanation="Each mean is too large by 1, as if it were added to ones instead of zeros.",
        question="What must the first mean be, and what is it in your result?",
    ),
    Misconception(
        id="averages_over_the_batch",
        exercise="causal_mean_loop",
        code="""
            def causal_mean_loop(x):
                means = torch.zeros_like(x)
                for t in range(x.shape[1]):
                    means[:, t] = x[:, : t + 1].mean(dim=0)
                return means
        """,
        explanation=(
            "The mean runs over the first axis, which counts the sequences of the batch; it must "
            "run over the tokens."
        ),
        question="Which axis of (B, T, C) counts what you average?",
        when=(
            "loops",
            "takes a mean | divides",
        ),
    ),
    Misconception(
        id="keeps_the_sum_of_earlier_sequences",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "past.mean(dim=0) + x[:b].sum(dim=(0, 1)) / (t + 1)"),),
        explanation=(
            "The sum is not set to zero for each sequence, so the tokens of one sequence count in "
            "the next one."
        ),
        question="Which number does the sum hold when the second sequence begins?",
        when=(
            "loops",
            "adds",
        ),
    ),
    Misconception(
        id="counts_only_the_tokens_before",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "past.sum(dim=0) / max(t, 1)"),),
        explanation="The sum of row t is divided by t (row 0: by 1), but it adds up t + 1 tokens.",
        question="How many tokens does the mean in row 1 contain?",
        when=("writes a quotient",),
    ),
    Misconception(
        id="averages_the_future",
        exercise="causal_mean_loop",
        swaps=(("x[b, : t + 1]", "x[b, t:]"),),
        explanation="Row t is the mean of its token and the later ones, not of the earlier ones.",
        question="Which tokens may the first mean contain?",
    ),
    Misconception(
        id="averages_the_whole_batch",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "x[:, : t + 1].mean(dim=(0, 1))"),),
        explanation=(
            "The mean runs over the sequences of the batch as well; each sequence must have its "
            "own means."
        ),
        question="Which axes of (B, T, C) does your mean run over?",
    ),
    Misconception(
        id="leaves_the_token_out_of_the_loop",
        exercise="causal_mean_loop",
        swaps=(("x[b, : t + 1]", "x[b, : max(t, 1)]"),),
        explanation="From row 1 on, the token itself is left out of its mean.",
        question="Which tokens does a part that ends at t hold?",
    ),
    Misconception(
        id="divides_the_mean_again",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "past.mean(dim=0) / (t + 1)"),),
        explanation="Each mean is divided by the number of its tokens once more.",
        question="By how much is the mean of two equal tokens smaller than each of them?",
        when=("divides | multiplies",),
    ),
    # averaging_weights
    Misconception(
        id="divides_by_the_row_number",
        exercise="averaging_weights",
        swaps=(
            (
                "visible / visible.sum(dim=1, keepdim=True)",
                "visible / torch.arange(T).clamp(min=1).view(T, 1)",
            ),
        ),
        explanation="Row t is divided by t (row 0: by 1), but it has weights for t + 1 tokens.",
        question="How many weights above zero does row 1 have?",
        when=("writes a quotient",),
    ),
    Misconception(
        id="averages_the_tokens_before_it",
        exercise="averaging_weights",
        swaps=(
            ("torch.tril(torch.ones(T, T))", "torch.tril(torch.ones(T, T), diagonal=-1)"),
            ("keepdim=True)", "keepdim=True).clamp(min=1)"),
        ),
        explanation="Row t is the mean of the tokens before t, and row 0 holds zeros only.",
        question="Does the mean of row t contain token t?",
    ),
    Misconception(
        id="softens_the_triangle",
        exercise="averaging_weights",
        swaps=(
            ("return visible / visible.sum(dim=1, keepdim=True)", "return visible.softmax(dim=1)"),
        ),
        explanation=(
            "The softmax gives hidden tokens a weight too: their entries are only 1 below those of "
            "visible tokens, like the zeros and ones of the triangle."
        ),
        question="Which number has an exponential of exactly 0?",
        when=("takes a softmax",),
    ),
    Misconception(
        id="counts_along_the_columns",
        exercise="averaging_weights",
        swaps=(("visible / visible.sum(dim=1, keepdim=True)", "visible / torch.arange(1, T + 1)"),),
        explanation=(
            "The counts 1 to T divide the columns: entry j of a row is divided by j + 1, but row t "
            "must be divided by t + 1."
        ),
        question="What is the shape of your counts, and with which axis does torch align them?",
        when=("divides", "no loses an axis"),
    ),
    Misconception(
        id="leaves_the_token_out_of_its_mean",
        exercise="averaging_weights",
        swaps=(
            ("torch.tril(torch.ones(T, T))", "torch.tril(torch.ones(T, T), diagonal=-1)"),
            (
                "visible / visible.sum(dim=1, keepdim=True)",
                "visible / torch.arange(1, T + 1).view(T, 1)",
            ),
        ),
        explanation=(
            "The token itself is left out: a row has weights for the tokens before it only."
        ),
        question="Which tokens does the mean of the first token contain?",
        when=(
            "divides",
            "no takes a softmax",
        ),
    ),
    Misconception(
        id="leaves_nothing_for_the_first_token",
        exercise="averaging_weights",
        swaps=(("torch.tril(torch.ones(T, T))", "torch.tril(torch.ones(T, T), diagonal=-1)"),),
        explanation="The token itself is left out, so the first row adds up nothing.",
        question="Which tokens does the mean of the first token contain?",
        when=(
            "divides",
            "no takes a softmax",
        ),
    ),
    # causal_mean_matmul
    Misconception(
        id="transposes_the_averages",
        exercise="causal_mean_matmul",
        swaps=(("return weights @ x", "return weights.T @ x"),),
        explanation=(
            "The weights are transposed in the product, so row t holds the weights that token t "
            "has in the means of all tokens."
        ),
        question="Which weights belong to the mean of token t: row t or column t?",
        when=("swaps axes",),
    ),
    Misconception(
        id="divides_the_columns_by_the_counts",
        exercise="causal_mean_matmul",
        swaps=(("visible.sum(dim=1, keepdim=True)", "torch.arange(1, T + 1)"),),
        explanation=(
            "Column j of the weights holds 1 / (j + 1), but row t must hold 1 / (t + 1), for all "
            "tokens up to t."
        ),
        question="What is the shape of your counts, and with which axis does torch align them?",
        when=("divides | multiplies",),
    ),
    Misconception(
        id="multiplies_from_the_right",
        exercise="causal_mean_matmul",
        swaps=(("return weights @ x", "return x @ weights"),),
        title="The weights are the right factor of the product",
        explanation=(
            "The weights are the right factor of the product, so they would average features; the "
            "product fails unless C and T are equal."
        ),
        question="Which two sizes are the inner sizes of (B, T, C) @ (T, T)?",
    ),
    Misconception(
        id="counts_sequences_for_tokens",
        exercise="causal_mean_matmul",
        swaps=(("x.shape[1]", "x.shape[0]"),),
        explanation=(
            "The size of the weight matrix is the number of sequences; it must be the number of "
            "tokens."
        ),
        question="Which axis of (B, T, C) is the axis of the tokens?",
    ),
    Misconception(
        id="serves_eight_tokens_only",
        exercise="causal_mean_matmul",
        swaps=(("x.shape[1]", "8"),),
        explanation="The length is fixed at 8, but a batch may have any number of tokens.",
        question="What happens to your function if there are five tokens?",
    ),
    Misconception(
        id="calls_the_loop",
        exercise="causal_mean_matmul",
        swaps=(
            ("return weights @ x  # (T, T) @ (B, T, C) -> (B, T, C)", "return causal_mean_loop(x)"),
        ),
        explanation="The means must come from a product with the weights, and they do not.",
        question="Which matrix turns x into its means, and on which side of x is it?",
        when=("calls causal_mean_loop | loops | calls cumsum",),
    ),
    Misconception(
        id="divides_by_the_counts_again",
        exercise="causal_mean_matmul",
        swaps=(("return weights @ x", "return weights @ x / torch.arange(1, T + 1)[:, None]"),),
        explanation=(
            "The number of visible tokens divides the result once more; the rows of the weights "
            "already add up to 1."
        ),
        question="What is the mean of two equal tokens, and what does your code give?",
        when=("divides | multiplies",),
    ),
    Misconception(
        id="divides_by_the_length_again",
        exercise="causal_mean_matmul",
        swaps=(("return weights @ x", "return weights @ x / T"),),
        explanation="The means are divided by the number of tokens once more.",
        question="What is the mean of two equal tokens, and what does your code give?",
        when=("divides | multiplies",),
    ),
    # masked_softmax_weights
    Misconception(
        id="divides_by_counts_again",
        exercise="masked_softmax_weights",
        swaps=(("return torch.softmax(scores, dim=-1)", "return averaging_weights(T)"),),
        explanation="The weights must come from a softmax, and they do not.",
        question="Which scores does softmax turn into equal weights, and which into 0?",
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
        explanation=("Visible scores become NaN, because zero times infinity is NaN."),
        question="What is 0 times infinity, and how could you select values without a product?",
        when=("uses infinity", "multiplies"),
    ),
    Misconception(
        id="takes_the_triangle_for_scores",
        exercise="masked_softmax_weights",
        swaps=(('scores.masked_fill(visible == 0, float("-inf"))', "visible"),),
        explanation=(
            "Hidden tokens still get a weight: their scores are only 1 below those of visible "
            "tokens, like the zeros and ones of the triangle."
        ),
        question="Which score has an exponential of exactly 0?",
        when=(
            "takes a softmax",
            "no uses infinity",
        ),
    ),
    Misconception(
        id="makes_room_for_eight",
        exercise="masked_softmax_weights",
        swaps=(("torch.ones(T, T)", "torch.ones(8, 8)"),),
        explanation="The mask is made for eight tokens, but T may be any number.",
        question="What happens to your function if there are five tokens?",
    ),
    Misconception(
        id="divides_the_softmax_by_counts",
        exercise="masked_softmax_weights",
        swaps=(
            (
                "torch.softmax(scores, dim=-1)",
                "torch.softmax(scores, dim=-1) / visible.sum(dim=1, keepdim=True)",
            ),
        ),
        explanation=(
            "The number of visible tokens divides the result once more; softmax already makes each "
            "row add up to 1."
        ),
        question="What does a row of the softmax add up to before your division?",
        when=("divides | multiplies",),
    ),
    # causal_mean_softmax
    Misconception(
        id="transposes_the_softmax_weights",
        exercise="causal_mean_softmax",
        swaps=(("return weights @ x", "return weights.T @ x"),),
        explanation=(
            "The weights are transposed in the product, so row t holds the weights that token t "
            "has in the means of all tokens."
        ),
        question="Which weights belong to the mean of token t: row t or column t?",
        when=(
            "swaps axes",
            "no runs along another axis",
        ),
    ),
    Misconception(
        id="multiplies_by_averages",
        exercise="causal_mean_softmax",
        swaps=(("weights = torch.softmax(scores, dim=-1)", "weights = averaging_weights(T)"),),
        explanation="The weights must come from a softmax, and they do not.",
        question="Which step turns masked scores into weights?",
    ),
    Misconception(
        id="calls_the_loop_again",
        exercise="causal_mean_softmax",
        swaps=(("return weights @ x  # (B, T, C)", "return causal_mean_loop(x)"),),
        explanation="The means must come from a product with the weights, and they do not.",
        question="What do you do with the weights after softmax has computed them?",
        when=("calls causal_mean_loop | loops | calls cumsum",),
    ),
    Misconception(
        id="leaves_a_trace_of_the_future",
        exercise="causal_mean_softmax",
        swaps=(('float("-inf")', "-15.0"),),
        explanation=(
            "Hidden scores are low but not low enough: later tokens keep a very small weight."
        ),
        question="Which score has an exponential of exactly 0?",
        when=("takes a softmax",),
    ),
    Misconception(
        id="lets_the_tokens_decide_already",
        exercise="causal_mean_softmax",
        swaps=(("scores = torch.zeros(T, T)", "scores = x @ x.mT"),),
        explanation=(
            "The scores are computed from the tokens; in this stage all scores must be zero, which "
            "gives a plain mean."
        ),
        question="Which scores does softmax need to give equal weights?",
    ),
    Misconception(
        id="masks_by_the_batch",
        exercise="causal_mean_softmax",
        swaps=(("x.shape[1]", "x.shape[0]"),),
        explanation=(
            "The size of the mask is the number of sequences; it must be the number of tokens."
        ),
        question="Which axis of (B, T, C) is the axis of the tokens?",
    ),
    Misconception(
        id="expects_eight_tokens",
        exercise="causal_mean_softmax",
        swaps=(("x.shape[1]", "8"),),
        explanation="The length is fixed at 8, but a batch may have any number of tokens.",
        question="What happens to your function if there are five tokens?",
    ),
    Misconception(
        id="divides_by_the_counts_after_softmax",
        exercise="causal_mean_softmax",
        swaps=(("return weights @ x", "return weights @ x / torch.arange(1, T + 1)[:, None]"),),
        explanation=(
            "The number of visible tokens divides the result once more; softmax already makes each "
            "row add up to 1."
        ),
        question="What does a row of the softmax add up to before your division?",
        when=("divides | multiplies",),
    ),
    Misconception(
        id="divides_by_the_length_after_softmax",
        exercise="causal_mean_softmax",
        swaps=(("return weights @ x", "return weights @ x / T"),),
        explanation="The means are divided by the number of tokens once more.",
        question="What is the mean of two equal tokens, and what does your code give?",
        when=("divides | multiplies",),
    ),
)
