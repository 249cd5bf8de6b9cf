"""Wrong answers that the suite of stage 01 must see, and what to say about them."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    # dot_product
    Misconception(
        id="adds_the_pairs",
        exercise="dot_product",
        swaps=(("total += x * y", "total += x + y"),),
        explanation="The two elements of each pair are added, where a dot product multiplies them.",
        question="What should a pair contribute if one of its two numbers is zero?",
    ),
    Misconception(
        id="keeps_the_last_product_only",
        exercise="dot_product",
        swaps=(("total += x * y", "total = x * y"),),
        explanation="Each product replaces the total, so only the last pair counts.",
        question="What does the total hold after the second pair, and what became of the first?",
    ),
    Misconception(
        id="multiplies_the_products",
        exercise="dot_product",
        swaps=(("total = 0.0", "total = 1.0"), ("total += x * y", "total *= x * y")),
        explanation=(
            "The products are multiplied with each other, where a dot product adds them up."
        ),
        question="How does one pair with a zero in it change your result, and should it?",
    ),
    Misconception(
        id="starts_the_total_at_one",
        exercise="dot_product",
        swaps=(("total = 0.0", "total = 1.0"),),
        explanation="The total begins at 1, so every dot product is too large by 1.",
        question="What should come out if all products are zero?",
    ),
    Misconception(
        id="takes_the_mean_of_the_products",
        exercise="dot_product",
        swaps=(("return total", "return total / len(a)"),),
        explanation="The sum of the products is divided by their number: a mean, no dot product.",
        question="Should the dot product shrink if both vectors are extended by zeros?",
    ),
    Misconception(
        id="skips_the_last_element",
        exercise="dot_product",
        swaps=(("zip(a, b, strict=True)", "zip(a[:-1], b[:-1], strict=True)"),),
        explanation="The loop ends one element early, and the last pair is left out.",
        question="What is the dot product of two vectors of length 1 by your code?",
    ),
    Misconception(
        id="leaves_the_products_unsummed",
        exercise="dot_product",
        swaps=(("    return total", "    return [x * y for x, y in zip(a, b, strict=True)]"),),
        explanation=(
            "The products are returned as they are; a dot product is one number, their sum."
        ),
        question="You have multiplied; which second step turns many products into one number?",
    ),
    Misconception(
        id="measures_the_cosine",
        exercise="dot_product",
        swaps=(
            (
                "return total",
                "return total / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5",
            ),
        ),
        explanation=(
            "The dot product is divided by both lengths: a cosine, which forgets how long the "
            "vectors are."
        ),
        question="What happens to a dot product if one vector is doubled, and to yours?",
    ),
    Misconception(
        id="ignores_what_is_too_long",
        exercise="dot_product",
        swaps=(
            ("    if len(a) != len(b):\n", "    if False:\n"),
            ("strict=True", "strict=False"),
        ),
        explanation=(
            "zip stops at the shorter sequence, so unequal lengths give a number where they "
            "should be refused."
        ),
        question="Which pair does the last element of the longer sequence belong to?",
    ),
    Misconception(
        id="lets_torch_do_it",
        exercise="dot_product",
        swaps=(
            ("total = 0.0", "total = torch.dot(torch.as_tensor(a), torch.as_tensor(b)).item()"),
            ("        total += x * y", "        pass"),
        ),
        explanation="torch.dot does the work that is to be written out here.",
        question="Which two things does torch.dot do with the elements of its vectors?",
        ties=("multiplies_whole_vectors",),
        why_tied="Both answer rightly; only what runs inside differs, and that is no answer.",
    ),
    Misconception(
        id="multiplies_whole_vectors",
        exercise="dot_product",
        swaps=(
            ("total = 0.0", "total = sum(torch.as_tensor(a) * torch.as_tensor(b)).item()"),
            ("        total += x * y", "        pass"),
        ),
        explanation=(
            "The product is taken of whole vectors by torch, not of one pair after the other."
        ),
        question="How would you multiply if a and b were plain lists, and torch not installed?",
        ties=("lets_torch_do_it",),
        why_tied="Both answer rightly; only what runs inside differs, and that is no answer.",
    ),
    # scores_for_query
    Misconception(
        id="leaves_the_scores_unsummed",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "inputs * query"),),
        explanation=(
            "Each token is multiplied with the query, but the products are not added up over "
            "the features."
        ),
        question="How many numbers should one token answer the query with?",
    ),
    Misconception(
        id="adds_up_over_the_tokens",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "(inputs * query).sum(dim=0)"),),
        explanation=(
            "The products are added up over the tokens, which leaves one number per feature."
        ),
        question="Which axis has to disappear, that of the tokens or that of the features?",
    ),
    Misconception(
        id="always_asks_with_journey",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "inputs @ inputs[1]"),),
        explanation="The query that was passed is ignored; the second token always asks.",
        question="What does your function answer if another token asks?",
    ),
    Misconception(
        id="counts_the_query_from_one",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "inputs @ inputs[2]"),),
        explanation=(
            "The row with index 2 asks: names count from 1, indices from 0, and the query is "
            "an argument already."
        ),
        question="Which word stands in the row with index 2, and which vector is the query?",
    ),
    Misconception(
        id="stops_one_token_early",
        exercise="scores_for_query",
        swaps=(
            (
                "return inputs @ query  # (T,)",
                "return torch.cat([inputs[:-1] @ query, torch.zeros(1)])",
            ),
        ),
        explanation=(
            "The last token is never compared with the query and keeps the value its slot "
            "began with."
        ),
        question="Which indices does your loop visit, and which slots does it write?",
    ),
    Misconception(
        id="compares_by_cosine",
        exercise="scores_for_query",
        swaps=(
            (
                "inputs @ query",
                "torch.nn.functional.cosine_similarity(inputs, query[None], dim=1)",
            ),
        ),
        explanation=(
            "The scores are cosines; a plain dot product counts the lengths of the vectors too."
        ),
        question="Should a token that is twice as long get the same score?",
    ),
    Misconception(
        id="softens_the_scores_already",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "torch.softmax(inputs @ query, dim=0)"),),
        explanation="These are weights; scores are the dot products before any softmax.",
        question="Which step of attention comes after the scores, and whose job is it here?",
    ),
    Misconception(
        id="scales_the_scores",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "inputs @ query / query.shape[0] ** 0.5"),),
        explanation="The scores are divided by the root of d, which simple attention does not do.",
        question="Does the text of this exercise ask for anything but dot products?",
    ),
    Misconception(
        id="cuts_the_graph_of_the_scores",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "(inputs @ query).detach()"),),
        explanation=(
            "The numbers are right, but they are cut from the graph, so no gradient gets back."
        ),
        question="Which call in your function turns a tensor into plain numbers?",
    ),
    # normalize_by_sum
    Misconception(
        id="exponentiates_first",
        exercise="normalize_by_sum",
        swaps=(("scores / scores.sum()", "torch.exp(scores) / torch.exp(scores).sum()"),),
        explanation="This is softmax; here the scores themselves are divided by their sum.",
        question="Which scores would keep their ratio to each other, and do yours?",
    ),
    Misconception(
        id="divides_by_the_largest",
        exercise="normalize_by_sum",
        swaps=(("scores.sum()", "scores.max()"),),
        explanation="Divided by the largest score the results have a maximum of 1, not a sum of 1.",
        question="What do your shares add up to?",
    ),
    Misconception(
        id="divides_by_the_number",
        exercise="normalize_by_sum",
        swaps=(("scores.sum()", "scores.shape[0]"),),
        explanation="The scores are divided by their number, which does not make them add up to 1.",
        question="What do your shares add up to?",
    ),
    Misconception(
        id="divides_by_the_length",
        exercise="normalize_by_sum",
        swaps=(("scores.sum()", "scores.norm()"),),
        explanation=(
            "Divided by its Euclidean norm a vector has length 1; its elements do not add up to 1."
        ),
        question="Is it the sum or the sum of squares that should be 1?",
    ),
    Misconception(
        id="divides_by_the_sum_of_sizes",
        exercise="normalize_by_sum",
        swaps=(("scores.sum()", "scores.abs().sum()"),),
        explanation=(
            "The sizes are added up without their signs, so with a negative score the sum is not 1."
        ),
        question="What do your shares add up to if one score is negative?",
    ),
    Misconception(
        id="divides_in_place",
        exercise="normalize_by_sum",
        swaps=(
            (
                "return scores / scores.sum()",
                "scores /= scores.sum()\n    return scores",
            ),
        ),
        explanation="The division writes into the caller's scores and overwrites them.",
        question="What do the scores hold after your function was called?",
    ),
    Misconception(
        id="rounds_the_shares",
        exercise="normalize_by_sum",
        swaps=(("scores / scores.sum()", "torch.round(scores / scores.sum(), decimals=4)"),),
        explanation=(
            "The shares are rounded; only what is printed has four digits, and rounding lets "
            "no gradient through."
        ),
        question="What is the derivative of a function that is made of steps?",
    ),
    # softmax_naive
    Misconception(
        id="divides_by_the_plain_sum",
        exercise="softmax_naive",
        swaps=(("exponentials = torch.exp(scores)", "exponentials = scores"),),
        explanation=(
            "The scores are divided by their own sum; softmax takes their exponentials first."
        ),
        question="What becomes of a negative score, and may a weight be negative?",
    ),
    Misconception(
        id="forgets_the_denominator",
        exercise="softmax_naive",
        swaps=(("exponentials / exponentials.sum()", "exponentials"),),
        explanation="The exponentials are not divided by their total, so they do not add up to 1.",
        question="What do your weights add up to?",
    ),
    Misconception(
        id="sums_the_scores_below",
        exercise="softmax_naive",
        swaps=(("exponentials.sum()", "scores.sum()"),),
        explanation="Exponentials stand above the line, but the sum of the plain scores below it.",
        question="Which total must the exponentials be divided by to add up to 1?",
    ),
    Misconception(
        id="keeps_the_scores_above",
        exercise="softmax_naive",
        swaps=(("exponentials / ", "scores / "),),
        explanation=(
            "The exponentials are added up below the line, but the plain scores stand above it."
        ),
        question="Which numbers have to be shared out, the scores or their exponentials?",
    ),
    Misconception(
        id="takes_the_mean_below",
        exercise="softmax_naive",
        swaps=(("exponentials.sum()", "exponentials.mean()"),),
        explanation="Divided by their mean, the exponentials add up to T, not to 1.",
        question="What do your weights add up to?",
    ),
    Misconception(
        id="divides_by_the_largest_exponential",
        exercise="softmax_naive",
        swaps=(("exponentials.sum()", "exponentials.max()"),),
        explanation=(
            "Divided by the largest exponential, the weights have a maximum of 1, not a sum of 1."
        ),
        question="What do your weights add up to?",
    ),
    Misconception(
        id="returns_logarithms",
        exercise="softmax_naive",
        swaps=(
            (
                "return exponentials / exponentials.sum()",
                "return scores - torch.log(exponentials.sum())",
            ),
        ),
        explanation=(
            "These are the logarithms of the weights: they are negative and do not add up to 1."
        ),
        question="Can a token take part in a mixture with a negative share?",
    ),
    Misconception(
        id="turns_the_order_round",
        exercise="softmax_naive",
        swaps=(("torch.exp(scores)", "torch.exp(-scores)"),),
        explanation=(
            "The sign of the scores is turned, so the least similar token gets the largest weight."
        ),
        question="Which of your weights is the largest, and which score is?",
    ),
    Misconception(
        id="takes_powers_of_two",
        exercise="softmax_naive",
        swaps=(("torch.exp(scores)", "2.0**scores"),),
        explanation="The scores are exponents of 2; softmax takes powers of e.",
        question="Which base does the exponential function have?",
    ),
    Misconception(
        id="squashes_with_a_sigmoid",
        exercise="softmax_naive",
        swaps=(("exponentials / exponentials.sum()", "torch.sigmoid(scores)"),),
        explanation=(
            "A sigmoid judges each score alone; softmax lets them compete, so that they add "
            "up to 1."
        ),
        question="What do your weights add up to, and does one of them shrink if another grows?",
    ),
    Misconception(
        id="lets_the_winner_take_all",
        exercise="softmax_naive",
        swaps=(
            (
                "return exponentials / exponentials.sum()",
                "return (scores == scores.max()).to(scores.dtype)",
            ),
        ),
        explanation="The largest score gets everything; softmax leaves a share to every token.",
        question="How much weight should the second largest score get?",
    ),
    Misconception(
        id="rounds_the_weights",
        exercise="softmax_naive",
        swaps=(
            (
                "return exponentials / exponentials.sum()",
                "return torch.round(exponentials / exponentials.sum(), decimals=4)",
            ),
        ),
        explanation=(
            "The weights are rounded; only what is printed has four digits, and rounding lets "
            "no gradient through."
        ),
        question="What is the derivative of a function that is made of steps?",
    ),
    Misconception(
        id="divides_the_exponentials_in_place",
        exercise="softmax_naive",
        swaps=(
            (
                "return exponentials / exponentials.sum()",
                "exponentials /= exponentials.sum()\n    return exponentials",
            ),
        ),
        explanation=(
            "The exponentials are overwritten, but the gradient of exp needs them as they were."
        ),
        question="Which tensors does autograd keep for the way back, and may you write into them?",
    ),
    Misconception(
        id="takes_the_ready_softmax",
        exercise="softmax_naive",
        swaps=(
            ("return exponentials / exponentials.sum()", "return torch.softmax(scores, dim=0)"),
        ),
        explanation="The result comes from torch.softmax, which is to be written out here.",
        question="Which three steps does torch.softmax take for you?",
    ),
    # softmax_stable
    Misconception(
        id="leaves_out_the_maximum",
        exercise="softmax_stable",
        swaps=(("scores - scores.amax(dim=dim, keepdim=True)", "scores"),),
        explanation=(
            "Nothing is taken away before the exponential, so large scores overflow and very "
            "low ones all vanish."
        ),
        question="What is exp(1000) in float32, and what is infinity over infinity?",
    ),
    Misconception(
        id="subtracts_one_maximum_for_all",
        exercise="softmax_stable",
        swaps=(("scores.amax(dim=dim, keepdim=True)", "scores.max()"),),
        explanation=(
            "One maximum is taken from all slices, so a slice far below it vanishes "
            "altogether: 0 over 0."
        ),
        question="What becomes of a slice whose scores all lie 1000 below those of another?",
    ),
    Misconception(
        id="subtracts_the_mean",
        exercise="softmax_stable",
        swaps=(("scores.amax(dim=dim, keepdim=True)", "scores.mean(dim=dim, keepdim=True)"),),
        explanation=(
            "The mean is taken away, not the maximum, so a score far above the mean still "
            "overflows."
        ),
        question="How large can the largest shifted score still be in your code?",
    ),
    Misconception(
        id="subtracts_the_minimum",
        exercise="softmax_stable",
        swaps=(("scores.amax(", "scores.amin("),),
        explanation="The minimum is taken away, so all exponents are positive and can overflow.",
        question="Which exponents are safe for exp, the positive or the negative ones?",
    ),
    Misconception(
        id="clamps_the_scores",
        exercise="softmax_stable",
        swaps=(("scores - scores.amax(dim=dim, keepdim=True)", "scores.clamp(-80, 80)"),),
        explanation="Scores beyond a limit are cut off, which makes different scores equal.",
        question="What are the weights of 1000 and 1001, and what does your code give?",
    ),
    Misconception(
        id="knows_the_last_axis_only",
        exercise="softmax_stable",
        swaps=(
            ("amax(dim=dim, keepdim=True)", "amax(dim=-1, keepdim=True)"),
            ("sum(dim=dim, keepdim=True)", "sum(dim=-1, keepdim=True)"),
        ),
        explanation="The last axis is always normalised, whatever dim says.",
        question="Where in your function does dim have an effect?",
    ),
    Misconception(
        id="knows_the_first_axis_only",
        exercise="softmax_stable",
        swaps=(
            ("amax(dim=dim, keepdim=True)", "amax(dim=0, keepdim=True)"),
            ("sum(dim=dim, keepdim=True)", "sum(dim=0, keepdim=True)"),
        ),
        explanation=(
            "The first axis is always normalised: right for a single query, wrong for a "
            "matrix of scores."
        ),
        question="Where in your function does dim have an effect?",
    ),
    Misconception(
        id="drops_the_axis_of_the_sum",
        exercise="softmax_stable",
        swaps=(("exponentials.sum(dim=dim, keepdim=True)", "exponentials.sum(dim=dim)"),),
        explanation=(
            "The sums lose their axis, so they are lined up with the wrong axis or do not fit."
        ),
        question=(
            "Which shape do the sums have, and how does it line up with that of the exponentials?"
        ),
    ),
    Misconception(
        id="normalises_everything_together",
        exercise="softmax_stable",
        swaps=(("exponentials.sum(dim=dim, keepdim=True)", "exponentials.sum()"),),
        explanation="All weights together add up to 1, where each slice along dim should.",
        question="What do the weights of a single query add up to?",
    ),
    Misconception(
        id="takes_the_ready_stable_softmax",
        exercise="softmax_stable",
        swaps=(
            (
                "return exponentials / exponentials.sum(dim=dim, keepdim=True)",
                "return shifted.softmax(dim)",
            ),
        ),
        explanation="The result comes from torch's own softmax, which is to be written out here.",
        question="Which three steps does torch's softmax take for you?",
    ),
    Misconception(
        id="shifts_in_place",
        exercise="softmax_stable",
        swaps=(
            (
                "shifted = scores - scores.amax(dim=dim, keepdim=True)",
                "shifted = scores.sub_(scores.amax(dim=dim, keepdim=True))",
            ),
        ),
        explanation=(
            "The maximum is taken away from the caller's own scores, which are overwritten."
        ),
        question="What do the scores hold after your function was called?",
    ),
    # context_vector
    Misconception(
        id="ignores_the_weights",
        exercise="context_vector",
        swaps=(("weights @ inputs", "inputs.mean(dim=0)"),),
        explanation=(
            "Every token counts the same: this is the mean of the tokens, not their mixture "
            "by weight."
        ),
        question="Where in your function do the weights have an effect?",
    ),
    Misconception(
        id="starts_the_sum_at_one",
        exercise="context_vector",
        swaps=(("weights @ inputs", "1.0 + weights @ inputs"),),
        explanation=(
            "The sum does not start at zero, so every feature is too large by the same amount."
        ),
        question="What does your accumulator hold before the first token is added?",
    ),
    Misconception(
        id="leaves_the_tokens_unmixed",
        exercise="context_vector",
        swaps=(("weights @ inputs", "weights[:, None] * inputs"),),
        explanation="Each token is multiplied by its weight, but the tokens are not added up.",
        question="How many vectors should one query get back?",
    ),
    Misconception(
        id="adds_up_over_the_features",
        exercise="context_vector",
        swaps=(("weights @ inputs", "(weights[:, None] * inputs).sum(dim=1)"),),
        explanation="The features of each token are added up, where the tokens should be.",
        question="Which axis has to disappear, that of the tokens or that of the features?",
    ),
    Misconception(
        id="takes_the_best_token",
        exercise="context_vector",
        swaps=(("weights @ inputs", "inputs[weights.argmax()]"),),
        explanation=(
            "The token with the largest weight is returned alone; all others should take part "
            "by their weights."
        ),
        question="What do the other weights do in your function?",
    ),
    Misconception(
        id="softens_the_weights_again",
        exercise="context_vector",
        swaps=(("weights @ inputs", "torch.softmax(weights, dim=0) @ inputs"),),
        explanation="The weights go through softmax a second time, which makes them almost equal.",
        question="In which function have these numbers already been turned into weights?",
    ),
    Misconception(
        id="normalises_the_weights_again",
        exercise="context_vector",
        swaps=(("weights @ inputs", "weights / weights.sum() @ inputs"),),
        explanation=(
            "The weights are divided by their sum once more, where they should be taken as "
            "they are."
        ),
        question="What should come out if all weights are doubled?",
    ),
    Misconception(
        id="takes_the_mean_of_the_weighted_tokens",
        exercise="context_vector",
        swaps=(("weights @ inputs", "(weights[:, None] * inputs).mean(dim=0)"),),
        explanation="The weighted tokens are averaged, which divides by T once too often.",
        question="What should come out if one weight is 1 and all others are 0?",
    ),
    Misconception(
        id="cuts_the_graph_of_the_context",
        exercise="context_vector",
        swaps=(("weights @ inputs", "weights.detach() @ inputs"),),
        explanation="The weights are cut from the graph, so no gradient gets back to them.",
        question="Which call in your function turns a tensor into plain numbers?",
    ),
    # attention_scores
    Misconception(
        id="forgets_the_transpose",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs @ inputs"),),
        explanation=(
            "Without a transpose the inner sizes are T and d; where they happen to be equal, "
            "features meet tokens."
        ),
        question="Which two sizes meet in the middle of (T, d) @ (T, d)?",
    ),
    Misconception(
        id="compares_features",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs.T @ inputs"),),
        explanation=(
            "The transpose stands on the left, so features are compared with features: (d, d)."
        ),
        question="How many rows should the scores have, one per token or one per feature?",
    ),
    Misconception(
        id="takes_a_power_for_a_product",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs ** inputs.T"),),
        explanation="In Python ** is the power; the matrix product is @.",
        question="Which operator of Python multiplies matrices?",
    ),
    Misconception(
        id="multiplies_element_by_element",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs * inputs"),),
        explanation=(
            "Each token is multiplied with itself element by element; no token meets another."
        ),
        question="Where does token 1 meet token 2 in your function?",
    ),
    Misconception(
        id="scores_one_query_only",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs @ inputs[1]"),),
        explanation="Only the second token asks; here every token does, one row each.",
        question="How many queries are there if every token asks?",
    ),
    Misconception(
        id="scores_by_cosine",
        exercise="attention_scores",
        swaps=(
            (
                "inputs @ inputs.T",
                "torch.nn.functional.normalize(inputs) @ torch.nn.functional.normalize(inputs).T",
            ),
        ),
        explanation=(
            "The scores are cosines, all 1 on the diagonal; a plain dot product counts the "
            "lengths too."
        ),
        question="What is the score of a long token with itself?",
    ),
    Misconception(
        id="scores_by_distance",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "torch.cdist(inputs, inputs)"),),
        explanation="These are distances: small for similar tokens, where a dot product is large.",
        question="What is the score of a token with itself, and should it be zero?",
    ),
    Misconception(
        id="scales_all_scores",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs @ inputs.T / inputs.shape[1] ** 0.5"),),
        explanation="The scores are divided by the root of d, which simple attention does not do.",
        question="Does the text of this exercise ask for anything but dot products?",
    ),
    Misconception(
        id="softens_all_scores_already",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "torch.softmax(inputs @ inputs.T, dim=-1)"),),
        explanation="These are weights; scores are the dot products before any softmax.",
        question="Which function of this stage turns scores into weights?",
    ),
    Misconception(
        id="loops_over_all_pairs",
        exercise="attention_scores",
        swaps=(
            (
                "inputs @ inputs.T  # (T, T)",
                "torch.stack([torch.stack([x @ y for y in inputs]) for x in inputs])",
            ),
        ),
        explanation=(
            "A loop compares pair after pair, T times T of them; one matrix product does it "
            "at once."
        ),
        question="Which product has as its entry (i, j) the dot product of row i and row j?",
    ),
    # attention_weights
    Misconception(
        id="normalises_over_the_queries",
        exercise="attention_weights",
        swaps=(("dim=-1", "dim=0"),),
        explanation=(
            "Softmax runs down the columns, so it is over the queries that weights add up to 1."
        ),
        question="What do the weights in one row add up to, and whose weights are they?",
    ),
    Misconception(
        id="divides_by_row_sums",
        exercise="attention_weights",
        swaps=(("torch.softmax(scores, dim=-1)", "scores / scores.sum(dim=-1, keepdim=True)"),),
        explanation="The scores are divided by their sums; softmax takes their exponentials first.",
        question="What becomes of a negative score, and may a weight be negative?",
    ),
    Misconception(
        id="drops_the_axis_of_the_row_sums",
        exercise="attention_weights",
        swaps=(
            (
                "torch.softmax(scores, dim=-1)",
                "torch.exp(scores) / torch.exp(scores).sum(dim=-1)",
            ),
        ),
        explanation="The sums of the rows lose their axis and are lined up with the columns.",
        question="Which shape do the sums have, and which entries does each of them divide?",
    ),
    Misconception(
        id="forgets_the_denominators",
        exercise="attention_weights",
        swaps=(("torch.softmax(scores, dim=-1)", "torch.exp(scores)"),),
        explanation=(
            "The exponentials are not divided by their sums, so the rows do not add up to 1."
        ),
        question="What do the weights in one row add up to?",
    ),
    Misconception(
        id="normalises_the_whole_matrix",
        exercise="attention_weights",
        swaps=(
            (
                "torch.softmax(scores, dim=-1)",
                "torch.softmax(scores.flatten(), dim=0).reshape(scores.shape)",
            ),
        ),
        explanation=(
            "All weights of the matrix together add up to 1, where those of each query should."
        ),
        question="What do the weights in one row add up to?",
    ),
    Misconception(
        id="leaves_the_scores_as_they_are",
        exercise="attention_weights",
        swaps=(("torch.softmax(scores, dim=-1)", "scores"),),
        explanation=(
            "The scores come back unchanged; weights are positive and add up to 1 for each query."
        ),
        question="What do the numbers in one row add up to?",
    ),
    Misconception(
        id="judges_each_score_alone",
        exercise="attention_weights",
        swaps=(("torch.softmax(scores, dim=-1)", "torch.sigmoid(scores)"),),
        explanation=(
            "A sigmoid judges each score alone; softmax lets the scores of a query compete."
        ),
        question="Does one of your weights shrink if another one of its row grows?",
    ),
    Misconception(
        id="looks_at_one_token_only",
        exercise="attention_weights",
        swaps=(
            (
                "torch.softmax(scores, dim=-1)",
                "torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)",
            ),
        ),
        explanation=(
            "Each query gives all its weight to one token; softmax leaves a share to every one."
        ),
        question="How much weight should the second largest score of a row get?",
    ),
    Misconception(
        id="returns_logarithms_of_weights",
        exercise="attention_weights",
        swaps=(("torch.softmax(", "torch.log_softmax("),),
        explanation=(
            "These are the logarithms of the weights: they are negative and do not add up to 1."
        ),
        question="Can a token take part in a mixture with a negative share?",
    ),
    Misconception(
        id="scales_before_softmax",
        exercise="attention_weights",
        swaps=(("scores, dim", "scores / scores.shape[-1] ** 0.5, dim"),),
        explanation=(
            "The scores are scaled down before softmax, which simple attention does not do."
        ),
        question="Does the text of this exercise ask for anything but softmax?",
    ),
    Misconception(
        id="rounds_all_weights",
        exercise="attention_weights",
        swaps=(
            (
                "torch.softmax(scores, dim=-1)",
                "torch.round(torch.softmax(scores, dim=-1), decimals=4)",
            ),
        ),
        explanation=(
            "The weights are rounded; only what is printed has four digits, and rounding lets "
            "no gradient through."
        ),
        question="What is the derivative of a function that is made of steps?",
    ),
    # simple_self_attention
    Misconception(
        id="mixes_by_the_columns",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs", "weights.T @ inputs"),),
        explanation="The columns of the weights do the mixing, where each query's row should.",
        question="Which entries of the weights belong to one query, and what do they add up to?",
        ties=("softens_along_the_columns",),
        why_tied=(
            "The scores are symmetric, so softmax along the columns is the transpose of the "
            "right weights."
        ),
    ),
    Misconception(
        id="softens_along_the_columns",
        exercise="simple_self_attention",
        swaps=(("dim=-1", "dim=0"),),
        explanation="Softmax runs down the columns, so the weights of a query do not add up to 1.",
        question="What do the weights in one row add up to, and whose weights are they?",
        ties=("mixes_by_the_columns",),
        why_tied=(
            "The scores are symmetric, so softmax along the columns is the transpose of the "
            "right weights."
        ),
    ),
    Misconception(
        id="mixes_by_raw_scores",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs", "scores @ inputs"),),
        explanation="The scores themselves do the mixing; they have not been turned into weights.",
        question="What do the numbers that mix the tokens add up to for one query?",
    ),
    Misconception(
        id="mixes_by_plain_shares",
        exercise="simple_self_attention",
        swaps=(("torch.softmax(scores, dim=-1)", "scores / scores.sum(dim=-1, keepdim=True)"),),
        explanation="The scores are divided by their sums where softmax should make the weights.",
        question="Which of the two ways to normalise does the text of this exercise ask for?",
    ),
    Misconception(
        id="averages_all_tokens",
        exercise="simple_self_attention",
        swaps=(("torch.softmax(scores, dim=-1)", "torch.softmax(0 * scores, dim=-1)"),),
        explanation=(
            "Every token gets the mean of all tokens: the scores have no effect on the weights."
        ),
        question="Why do all your context vectors come out equal?",
    ),
    Misconception(
        id="returns_the_weights",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs  # (T, d)", "weights"),),
        explanation=(
            "The weights are returned; the last step, which mixes the tokens by them, is missing."
        ),
        question="What are the weights for?",
    ),
    Misconception(
        id="returns_weights_as_well",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs  # (T, d)", "weights @ inputs, weights"),),
        explanation=(
            "A pair of context vectors and weights is returned; only the context vectors are "
            "asked for."
        ),
        question="What does the docstring say that goes out?",
    ),
    Misconception(
        id="scales_by_the_root",
        exercise="simple_self_attention",
        swaps=(("scores, dim", "scores / inputs.shape[1] ** 0.5, dim"),),
        explanation=(
            "The scores are divided by the root of d; simple attention comes without scaling."
        ),
        question="Which step in your function does the docstring rule out?",
    ),
    Misconception(
        id="compares_by_cosine_in_attention",
        exercise="simple_self_attention",
        swaps=(
            (
                "scores = inputs @ inputs.T",
                "x = torch.nn.functional.normalize(inputs)\n    scores = x @ x.T",
            ),
        ),
        explanation=(
            "The tokens are brought to length 1 before they are compared; a plain dot product "
            "counts their lengths."
        ),
        question="Should a token that is twice as long get the same scores?",
    ),
    Misconception(
        id="forgets_the_transpose_in_attention",
        exercise="simple_self_attention",
        swaps=(("inputs @ inputs.T", "inputs @ inputs"),),
        explanation="Without a transpose the inner sizes are T and d, and the tokens do not meet.",
        question="Which two sizes meet in the middle of (T, d) @ (T, d)?",
    ),
    Misconception(
        id="adds_the_token_itself",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs", "inputs + weights @ inputs"),),
        explanation=(
            "The token itself is added to its context vector; its own weight already lets it "
            "take part."
        ),
        question="How often does a token take part in its own context vector?",
    ),
    Misconception(
        id="attends_without_gradient",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs", "weights.detach() @ inputs"),),
        explanation=(
            "The weights are cut from the graph, so the tokens do not learn from being compared."
        ),
        question="Which call in your function turns a tensor into plain numbers?",
    ),
)
