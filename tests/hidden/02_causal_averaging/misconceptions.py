"""Wrong answers that the suite of stage 02 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

UNIFORM = (
    "Hidden scores of 0 are not hidden: either way every score is 0 and all weights are equal."
)

MISCONCEPTIONS = (
    # causal_mean_loop
    Misconception(
        id="leaves_the_token_itself_out",
        exercise="causal_mean_loop",
        swaps=(("x[b, : t + 1]", "x[b, :t]"),),
        explanation=(
            "The slice ends before token t, so a token is not part of its own mean, and the "
            "first mean is that of no tokens: NaN."
        ),
        question="Which rows does x[b, :t] hold for t = 0?",
    ),
    Misconception(
        id="looks_one_token_ahead",
        exercise="causal_mean_loop",
        swaps=(("x[b, : t + 1]", "x[b, : t + 2]"),),
        explanation="The slice ends one token too late, so every mean includes the next token.",
        question="How many rows should the slice have for the first token?",
    ),
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
        id="sums_without_dividing",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "past.sum(dim=0)"),),
        explanation="The tokens are added up but not divided by their number.",
        question="What should the mean of two equal tokens be?",
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
        id="averages_the_features",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "past.mean()"),),
        explanation=(
            "The mean runs over the features as well, so all features of a token become equal."
        ),
        question="Which axis of the slice is the axis of the tokens?",
    ),
    Misconception(
        id="reads_the_first_sequence_only",
        exercise="causal_mean_loop",
        swaps=(("x[b, : t + 1]", "x[0, : t + 1]"),),
        explanation="Every sequence of the batch gets the means of the first one.",
        question="Where in your slice does b have an effect?",
    ),
    Misconception(
        id="averages_over_the_batch",
        exercise="causal_mean_loop",
        swaps=(
            ("x[b, : t + 1]", "x[:, : t + 1]"),
            ("past.mean(dim=0)", "past.mean(dim=(0, 1))"),
        ),
        explanation=(
            "The mean runs over the sequences of the batch as well, so all sequences become equal."
        ),
        question="Should the result of one sequence depend on the others in its batch?",
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
        id="stops_one_token_early",
        exercise="causal_mean_loop",
        swaps=(("range(T)", "range(T - 1)"),),
        explanation="The loop never reaches the last token, and its row keeps its initial value.",
        question="Which is the last t that your loop visits?",
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
    Misconception(
        id="cuts_the_graph",
        exercise="causal_mean_loop",
        swaps=(("past.mean(dim=0)", "past.mean(dim=0).detach()"),),
        explanation=(
            "The means are detached from the graph, so no gradient flows back, although the "
            "numbers are right."
        ),
        question="Which call in your function turns a tensor into plain numbers?",
    ),
    # averaging_weights
    Misconception(
        id="forgets_to_normalise",
        exercise="averaging_weights",
        swaps=(("visible / visible.sum(dim=1, keepdim=True)", "visible"),),
        explanation=(
            "The triangle of ones is not divided by its row sums, so the rows add up to more "
            "than 1."
        ),
        question="What does the third row add up to?",
    ),
    Misconception(
        id="divides_all_rows_alike",
        exercise="averaging_weights",
        swaps=(("visible.sum(dim=1, keepdim=True)", "T"),),
        explanation="Every row is divided by T, but only the last row holds T ones.",
        question="How many ones does the second row hold?",
    ),
    Misconception(
        id="drops_the_axis_of_the_sums",
        exercise="averaging_weights",
        swaps=(("sum(dim=1, keepdim=True)", "sum(dim=1)"),),
        explanation=(
            "The row sums lose their axis and broadcasting aligns them with the columns, so the "
            "rows do not add up to 1."
        ),
        question="Which shape do the sums have, and which entries does each of them divide?",
    ),
    Misconception(
        id="normalises_the_columns",
        exercise="averaging_weights",
        swaps=(("sum(dim=1, keepdim=True)", "sum(dim=0, keepdim=True)"),),
        explanation="The columns add up to 1, but the weights of a token are a row.",
        question="Is it a row or a column that holds the weights of one token?",
    ),
    Misconception(
        id="keeps_the_future",
        exercise="averaging_weights",
        swaps=(("torch.tril(", "torch.triu("),),
        explanation="The upper triangle is kept, so each mean includes the tokens after it.",
        question="How many tokens may the first token use?",
    ),
    Misconception(
        id="forgets_the_triangle",
        exercise="averaging_weights",
        swaps=(("torch.tril(torch.ones(T, T))", "torch.ones(T, T)"),),
        explanation=(
            "There is no triangle: every token becomes the mean of all tokens, the later ones "
            "included."
        ),
        question="Which entries of your matrix are 0?",
    ),
    Misconception(
        id="hides_the_token_from_itself",
        exercise="averaging_weights",
        swaps=(("torch.ones(T, T))", "torch.ones(T, T), diagonal=-1)"),),
        explanation=(
            "The diagonal is hidden, so a token is not part of its own mean, and the first row "
            "is 0 divided by 0."
        ),
        question="Which tokens does the mean of the first token include?",
    ),
    Misconception(
        id="shows_one_token_too_many",
        exercise="averaging_weights",
        swaps=(("torch.ones(T, T))", "torch.ones(T, T), diagonal=1)"),),
        explanation=(
            "The diagonal above the main one is kept, so every mean includes the next token."
        ),
        question="How many tokens may the first token use?",
    ),
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
        id="mixes_without_normalising",
        exercise="causal_mean_matmul",
        swaps=(("weights @ x", "visible @ x"),),
        explanation=(
            "The triangle of ones is used as the weights, so tokens are added up and not averaged."
        ),
        question="What do the weights of the third token add up to?",
    ),
    Misconception(
        id="mixes_by_the_columns",
        exercise="causal_mean_matmul",
        swaps=(("weights @ x", "weights.T @ x"),),
        explanation="Each mean uses a column of the weights, so it includes the tokens after it.",
        question="Which tokens does the first row of your product use?",
    ),
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
        id="multiplies_by_upper_triangle",
        exercise="causal_mean_matmul",
        swaps=(("torch.tril(", "torch.triu("),),
        explanation="The upper triangle is kept, so each mean includes the tokens after it.",
        question="How many tokens may the first token use?",
    ),
    Misconception(
        id="multiplies_by_a_full_matrix",
        exercise="causal_mean_matmul",
        swaps=(("torch.tril(torch.ones(T, T))", "torch.ones(T, T)"),),
        explanation=(
            "There is no triangle: every token becomes the mean of all tokens, the later ones "
            "included."
        ),
        question="Why are all rows of your result equal?",
    ),
    Misconception(
        id="multiplies_without_the_diagonal",
        exercise="causal_mean_matmul",
        swaps=(("torch.ones(T, T))", "torch.ones(T, T), diagonal=-1)"),),
        explanation=(
            "The diagonal is hidden, so a token is not part of its own mean, and the first row "
            "is 0 divided by 0."
        ),
        question="Which tokens does the mean of the first token include?",
    ),
    Misconception(
        id="multiplies_one_token_ahead",
        exercise="causal_mean_matmul",
        swaps=(("torch.ones(T, T))", "torch.ones(T, T), diagonal=1)"),),
        explanation=(
            "The diagonal above the main one is kept, so every mean includes the next token."
        ),
        question="How many tokens may the first token use?",
    ),
    Misconception(
        id="loses_the_axis_of_the_row_sums",
        exercise="causal_mean_matmul",
        swaps=(("sum(dim=1, keepdim=True)", "sum(dim=1)"),),
        explanation=(
            "The row sums lose their axis and broadcasting aligns them with the columns, so the "
            "rows do not add up to 1."
        ),
        question="Which shape do the sums have, and which entries does each of them divide?",
    ),
    Misconception(
        id="divides_by_column_sums",
        exercise="causal_mean_matmul",
        swaps=(("sum(dim=1, keepdim=True)", "sum(dim=0, keepdim=True)"),),
        explanation="The columns of the weights add up to 1, but the weights of a token are a row.",
        question="Is it a row or a column that holds the weights of one token?",
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
    Misconception(
        id="mixes_the_batch_into_one",
        exercise="causal_mean_matmul",
        swaps=(("weights @ x", "weights @ x.mean(dim=0).expand(x.shape)"),),
        explanation="The sequences of the batch are averaged with each other before the product.",
        question="Should the result of one sequence depend on the others in its batch?",
    ),
    Misconception(
        id="returns_the_weights",
        exercise="causal_mean_matmul",
        swaps=(
            (
                "return weights @ x  # (T, T) @ (B, T, C) -> (B, T, C)",
                "return weights",
            ),
        ),
        explanation="The weights are returned; the product with the tokens is missing.",
        question="What are the weights for?",
    ),
    # masked_softmax_weights
    Misconception(
        id="loses_the_masked_scores",
        exercise="masked_softmax_weights",
        swaps=(("scores = scores.masked_fill(", "scores.masked_fill("),),
        explanation=(
            "Nothing is hidden: masked_fill, if it is called, returns a new tensor that has to be "
            "used."
        ),
        question="What does masked_fill without an underscore do to the tensor it is called on?",
        ties=("hides_with_zero", "multiplies_scores_by_the_triangle"),
        why_tied=UNIFORM,
    ),
    Misconception(
        id="hides_with_zero",
        exercise="masked_softmax_weights",
        swaps=(('float("-inf")', "0.0"),),
        title="Hidden scores are set to 0, not to minus infinity",
        explanation=(
            "Hidden scores are set to 0, but exp(0) is 1: hidden tokens keep their full weight."
        ),
        question="Which weight does a score of 0 get?",
        ties=("loses_the_masked_scores", "multiplies_scores_by_the_triangle"),
        why_tied=UNIFORM,
    ),
    Misconception(
        id="multiplies_scores_by_the_triangle",
        exercise="masked_softmax_weights",
        swaps=(('scores.masked_fill(visible == 0, float("-inf"))', "scores * visible"),),
        explanation="Scores times 0 are 0, and a score of 0 does not hide a token: exp(0) is 1.",
        question="Which weight does a score of 0 get?",
        ties=("loses_the_masked_scores", "hides_with_zero"),
        why_tied=UNIFORM,
    ),
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
        id="hides_with_plus_infinity",
        exercise="masked_softmax_weights",
        swaps=(('float("-inf")', '-float("-inf")'),),
        explanation="Two minus signs make plus infinity, and infinity divided by infinity is NaN.",
        question="How many minus signs does the number have?",
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
        id="hides_the_past",
        exercise="masked_softmax_weights",
        swaps=(("visible == 0", "visible == 1"),),
        explanation=(
            "The mask is inverted: the tokens that should be visible are hidden, and in the last "
            "row all tokens are hidden."
        ),
        question="Which tokens are visible in the last row of your matrix?",
    ),
    Misconception(
        id="keeps_the_upper_triangle",
        exercise="masked_softmax_weights",
        swaps=(("torch.tril(", "torch.triu("),),
        explanation="The upper triangle is visible, so each row uses the tokens after it.",
        question="How many tokens may the first token use?",
    ),
    Misconception(
        id="hides_the_diagonal",
        exercise="masked_softmax_weights",
        swaps=(("torch.ones(T, T))", "torch.ones(T, T), diagonal=-1)"),),
        explanation=(
            "The diagonal is hidden as well, so in the first row all tokens are hidden and the "
            "row is NaN."
        ),
        question="Which tokens are visible to the first token?",
    ),
    Misconception(
        id="shows_the_next_token",
        exercise="masked_softmax_weights",
        swaps=(("torch.ones(T, T))", "torch.ones(T, T), diagonal=1)"),),
        explanation=(
            "The diagonal above the main one is visible, so every row includes the next token."
        ),
        question="How many tokens may the first token use?",
    ),
    Misconception(
        id="softens_the_columns",
        exercise="masked_softmax_weights",
        swaps=(("dim=-1", "dim=0"),),
        explanation="Softmax runs along the columns, so the rows do not add up to 1.",
        question="What does the last row add up to?",
    ),
    Misconception(
        id="masks_after_softmax",
        exercise="masked_softmax_weights",
        swaps=(
            ('scores = scores.masked_fill(visible == 0, float("-inf"))\n', "\n"),
            ("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-1) * visible"),
        ),
        explanation=(
            "The weights are hidden after the softmax, so the rest of a row no longer adds up to 1."
        ),
        question="What does the first row add up to?",
    ),
    Misconception(
        id="puts_infinity_among_the_weights",
        exercise="masked_softmax_weights",
        swaps=(
            ('scores = scores.masked_fill(visible == 0, float("-inf"))\n', "\n"),
            (
                "torch.softmax(scores, dim=-1)",
                'torch.softmax(scores, dim=-1).masked_fill(visible == 0, float("-inf"))',
            ),
        ),
        explanation=(
            "Minus infinity is written into the weights after the softmax, so nothing turns it "
            "into 0."
        ),
        question="Which of the two comes first, hiding or softmax?",
    ),
    Misconception(
        id="leaves_out_the_softmax",
        exercise="masked_softmax_weights",
        swaps=(("torch.softmax(scores, dim=-1)", "scores"),),
        explanation=(
            "The masked scores are returned; softmax, which turns them into weights, is missing."
        ),
        question="What do zeros and minus infinities become under exp?",
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
        id="forgets_to_assign_the_mask",
        exercise="causal_mean_softmax",
        swaps=(("scores = scores.masked_fill(", "scores.masked_fill("),),
        explanation=(
            "Nothing is hidden, and every token becomes the mean of all: masked_fill, if it is "
            "called, returns a new tensor that has to be used."
        ),
        question="What does masked_fill without an underscore do to the tensor it is called on?",
        ties=("fills_with_zero",),
        why_tied=UNIFORM,
    ),
    Misconception(
        id="fills_with_zero",
        exercise="causal_mean_softmax",
        swaps=(('float("-inf")', "0.0"),),
        explanation=(
            "Hidden scores are set to 0, but exp(0) is 1: every token becomes the mean of all."
        ),
        question="Which weight does a score of 0 get?",
        ties=("forgets_to_assign_the_mask",),
        why_tied=UNIFORM,
    ),
    Misconception(
        id="fills_with_minus_one",
        exercise="causal_mean_softmax",
        swaps=(('float("-inf")', "-1.0"),),
        explanation="Hidden scores are set to -1, which makes their weights smaller, but not 0.",
        question="Which score has an exponential of exactly 0?",
    ),
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
        id="inverts_the_mask",
        exercise="causal_mean_softmax",
        swaps=(("visible == 0", "visible == 1"),),
        explanation=(
            "The mask is inverted: earlier tokens are hidden, and for the last token all tokens "
            "are hidden."
        ),
        question="Which tokens does the mean of the last token include in your function?",
    ),
    Misconception(
        id="averages_by_the_upper_triangle",
        exercise="causal_mean_softmax",
        swaps=(("torch.tril(", "torch.triu("),),
        explanation="The upper triangle is visible, so each mean includes the tokens after it.",
        question="How many tokens may the first token use?",
    ),
    Misconception(
        id="leaves_itself_out",
        exercise="causal_mean_softmax",
        swaps=(("torch.ones(T, T))", "torch.ones(T, T), diagonal=-1)"),),
        explanation=(
            "The diagonal is hidden as well, so all tokens are hidden from the first one, and "
            "its mean is NaN."
        ),
        question="Which tokens does the mean of the first token include?",
    ),
    Misconception(
        id="sees_its_successor",
        exercise="causal_mean_softmax",
        swaps=(("torch.ones(T, T))", "torch.ones(T, T), diagonal=1)"),),
        explanation=(
            "The diagonal above the main one is visible, so every mean includes the next token."
        ),
        question="How many tokens may the first token use?",
    ),
    Misconception(
        id="softens_over_the_queries",
        exercise="causal_mean_softmax",
        swaps=(("dim=-1", "dim=0"),),
        explanation="Softmax runs along the columns, so the weights of a token do not add up to 1.",
        question="What does the last row of the weights add up to?",
    ),
    Misconception(
        id="hides_after_softmax",
        exercise="causal_mean_softmax",
        swaps=(
            ('scores = scores.masked_fill(visible == 0, float("-inf"))\n', "\n"),
            ("torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-1) * visible"),
        ),
        explanation=(
            "The weights are hidden after the softmax, so the remaining weights do not add up to 1."
        ),
        question="What do the weights of the first token add up to?",
    ),
    Misconception(
        id="averages_by_the_columns",
        exercise="causal_mean_softmax",
        swaps=(("weights @ x", "weights.T @ x"),),
        explanation="Each mean uses a column of the weights, so it includes the tokens after it.",
        question="Which tokens does the first row of your product use?",
    ),
    Misconception(
        id="mixes_by_masked_scores",
        exercise="causal_mean_softmax",
        swaps=(("weights @ x", "scores @ x"),),
        explanation=(
            "The tokens are mixed by the masked scores; the scores have not been turned into "
            "weights."
        ),
        question="Which of your tensors has rows that add up to 1?",
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
