"""Wrong answers that the suite of stage 01 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    # dot_product
    Misconception(
        id="adds_the_pairs",
        exercise="dot_product",
        swaps=(("total += x * y", "total += x + y"),),
        explanation="The two elements of each pair are added, but a dot product multiplies them.",
        question="What should a pair contribute if one of its two numbers is zero?",
    ),
    Misconception(
        id="multiplies_the_products",
        exercise="dot_product",
        swaps=(("total = 0.0", "total = 1.0"), ("total += x * y", "total *= x * y")),
        explanation="The products are multiplied with each other, but a dot product adds them up.",
        question="How does one pair with a zero in it change your result, and should it?",
    ),
    Misconception(
        id="takes_the_mean_of_the_products",
        exercise="dot_product",
        swaps=(("return total", "return total / len(a)"),),
        explanation=(
            "The sum of the products is divided by their number: this is a mean, not a dot product."
        ),
        question="Should the dot product become smaller if zeros are appended to both vectors?",
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
            "The products are returned without being added up; a dot product is one number, "
            "their sum."
        ),
        question=(
            "The multiplication is done; which second step turns many products into one number?"
        ),
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
            "The dot product is divided by both lengths: this is a cosine, which does not depend "
            "on how long the vectors are."
        ),
        question=(
            "What happens to a dot product if one vector is doubled, and what happens to your "
            "result?"
        ),
    ),
    Misconception(
        id="ignores_what_is_too_long",
        exercise="dot_product",
        swaps=(("    if len(a) != len(b):\n", "    if False:\n"), ("strict=True", "strict=False")),
        title="Sequences of unequal length give a number instead of an error",
        explanation=(
            "zip stops at the shorter sequence, so unequal lengths give a number, but they "
            "should raise an error."
        ),
        question=(
            "Which element of the shorter sequence is paired with the last element of the longer "
            "one?"
        ),
    ),
    Misconception(
        id="lets_torch_do_it",
        exercise="dot_product",
        swaps=(
            ("total = 0.0", "total = torch.dot(torch.as_tensor(a), torch.as_tensor(b)).item()"),
            ("        total += x * y", "        pass"),
        ),
        title="The product is left to torch.dot",
        explanation="torch.dot does the work that you should write out here.",
        question="Which two things does torch.dot do with the elements of its vectors?",
        ties=("multiplies_whole_vectors",),
        why_tied=(
            "Both give the right answers; they differ only in what runs inside, not in the result."
        ),
    ),
    Misconception(
        id="multiplies_whole_vectors",
        exercise="dot_product",
        swaps=(
            ("total = 0.0", "total = sum(torch.as_tensor(a) * torch.as_tensor(b)).item()"),
            ("        total += x * y", "        pass"),
        ),
        title="Whole vectors are multiplied at once",
        explanation=(
            "torch multiplies the whole vectors at once; the exercise asks for one pair after "
            "the other."
        ),
        question="How would you multiply if a and b were plain lists and torch were not installed?",
        ties=("lets_torch_do_it",),
        why_tied=(
            "Both give the right answers; they differ only in what runs inside, not in the result."
        ),
    ),
    # scores_for_query
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
        explanation="The query argument is ignored; the second token is always used as the query.",
        question="What does your function return if another token is the query?",
    ),
    Misconception(
        id="counts_the_query_from_one",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "inputs @ inputs[2]"),),
        explanation=(
            "The row with index 2 is used as the query: indices count from 0, and the query is "
            "already an argument."
        ),
        question="Which word is in the row with index 2, and which vector is the query?",
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
            "The last token is never compared with the query, and its score keeps its initial "
            "value."
        ),
        question="Which indices does your loop visit, and which entries does it write?",
    ),
    Misconception(
        id="compares_by_cosine",
        exercise="scores_for_query",
        swaps=(
            ("inputs @ query", "torch.nn.functional.cosine_similarity(inputs, query[None], dim=1)"),
        ),
        explanation=(
            "The scores are cosines; in a plain dot product the lengths of the vectors count too."
        ),
        question="Should a token that is twice as long get the same score?",
    ),
    Misconception(
        id="softens_the_scores_already",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "torch.softmax(inputs @ query, dim=0)"),),
        title="The scores went through softmax",
        explanation="These are weights; scores are the dot products before any softmax.",
        question=(
            "Which step of attention comes after the scores, and does it belong to this function?"
        ),
    ),
    # normalize_by_sum
    Misconception(
        id="exponentiates_first",
        exercise="normalize_by_sum",
        swaps=(("scores / scores.sum()", "torch.exp(scores) / torch.exp(scores).sum()"),),
        title="The exponentials are normalised, not the scores themselves",
        explanation="This is softmax; here the scores themselves are divided by their sum.",
        question="Should the shares keep the ratios of the scores, and do yours?",
    ),
    Misconception(
        id="divides_by_the_largest",
        exercise="normalize_by_sum",
        swaps=(("scores.sum()", "scores.max()"),),
        explanation="Dividing by the largest score gives a maximum of 1, not a sum of 1.",
        question="What do your shares add up to?",
    ),
    Misconception(
        id="divides_by_the_sum_of_sizes",
        exercise="normalize_by_sum",
        swaps=(("scores.sum()", "scores.abs().sum()"),),
        explanation=(
            "The absolute values are added up, so with a negative score the shares do not add up "
            "to 1."
        ),
        question="What do your shares add up to if one score is negative?",
    ),
    Misconception(
        id="rounds_the_shares",
        exercise="normalize_by_sum",
        swaps=(("scores / scores.sum()", "torch.round(scores / scores.sum(), decimals=4)"),),
        explanation=(
            "The shares are rounded; four digits are only for printing, and rounding stops the "
            "gradient."
        ),
        question="What is the derivative of a step function?",
    ),
    # softmax_naive
    Misconception(
        id="divides_by_the_plain_sum",
        exercise="softmax_naive",
        swaps=(("exponentials = torch.exp(scores)", "exponentials = scores"),),
        explanation=(
            "The scores are divided by their own sum; softmax takes their exponentials first."
        ),
        question="What happens to a negative score, and may a weight be negative?",
    ),
    Misconception(
        id="sums_the_scores_below",
        exercise="softmax_naive",
        swaps=(("exponentials.sum()", "scores.sum()"),),
        explanation=(
            "The denominator is the sum of the plain scores, but the numerator holds exponentials."
        ),
        question="Which total must the exponentials be divided by to add up to 1?",
    ),
    Misconception(
        id="keeps_the_scores_above",
        exercise="softmax_naive",
        swaps=(("exponentials / ", "scores / "),),
        explanation=(
            "The numerator holds the plain scores, but the denominator is the sum of the "
            "exponentials."
        ),
        question="Which numbers have to be divided by the total, the scores or their exponentials?",
    ),
    Misconception(
        id="divides_by_the_largest_exponential",
        exercise="softmax_naive",
        swaps=(("exponentials.sum()", "exponentials.max()"),),
        explanation="Dividing by the largest exponential gives a maximum of 1, not a sum of 1.",
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
            "The sign of the scores is reversed, so the least similar token gets the largest "
            "weight."
        ),
        question="Which of your weights is the largest, and which score is the largest?",
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
            "A sigmoid treats each score separately; in softmax each weight depends on all "
            "scores, so that the weights add up to 1."
        ),
        question=(
            "What do your weights add up to, and does one of them become smaller if another grows?"
        ),
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
        explanation=(
            "The largest score gets all the weight; softmax gives some weight to every token."
        ),
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
            "The weights are rounded; four digits are only for printing, and rounding stops the "
            "gradient."
        ),
        question="What is the derivative of a step function?",
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
            "The exponentials are overwritten, but autograd needs their old values for the "
            "gradient of exp."
        ),
        question=(
            "Which tensors does autograd keep for the backward pass, and may you overwrite them?"
        ),
    ),
    Misconception(
        id="takes_the_ready_softmax",
        exercise="softmax_naive",
        swaps=(
            ("return exponentials / exponentials.sum()", "return torch.softmax(scores, dim=0)"),
        ),
        explanation="The result comes from torch.softmax, which you should write out here.",
        question="Which three steps does torch.softmax do for you?",
    ),
    # softmax_stable
    Misconception(
        id="leaves_out_the_maximum",
        exercise="softmax_stable",
        swaps=(("scores - scores.amax(dim=dim, keepdim=True)", "scores"),),
        title="The maximum is not subtracted before the exponential",
        explanation=(
            "Nothing is subtracted before the exponential, so large scores overflow, and very "
            "low scores all become 0."
        ),
        question="What is exp(1000) in float32, and what is infinity divided by infinity?",
    ),
    Misconception(
        id="subtracts_one_maximum_for_all",
        exercise="softmax_stable",
        swaps=(("scores.amax(dim=dim, keepdim=True)", "scores.max()"),),
        explanation=(
            "One maximum is subtracted from all slices, so in a slice far below it all "
            "exponentials are 0, and the result is 0 divided by 0."
        ),
        question="What happens to a slice whose scores are all 1000 below those of another slice?",
    ),
    Misconception(
        id="subtracts_the_mean",
        exercise="softmax_stable",
        swaps=(("scores.amax(dim=dim, keepdim=True)", "scores.mean(dim=dim, keepdim=True)"),),
        explanation=(
            "The mean is subtracted instead of the maximum, so a score far above the mean still "
            "overflows."
        ),
        question="How large can the largest shifted score still be in your code?",
    ),
    Misconception(
        id="subtracts_the_minimum",
        exercise="softmax_stable",
        swaps=(("scores.amax(", "scores.amin("),),
        explanation="The minimum is subtracted, so all exponents are positive and can overflow.",
        question="Which exponents are safe for exp, the positive or the negative ones?",
    ),
    Misconception(
        id="clamps_the_scores",
        exercise="softmax_stable",
        swaps=(("scores - scores.amax(dim=dim, keepdim=True)", "scores.clamp(-80, 80)"),),
        explanation="Scores beyond a limit are cut off, so different scores become equal.",
        question="What are the weights of 1000 and 1001, and what does your code give?",
    ),
    Misconception(
        id="knows_the_last_axis_only",
        exercise="softmax_stable",
        swaps=(
            ("amax(dim=dim, keepdim=True)", "amax(dim=-1, keepdim=True)"),
            ("sum(dim=dim, keepdim=True)", "sum(dim=-1, keepdim=True)"),
        ),
        explanation="The weights add up to 1 along the last axis, but they should along dim.",
        question="Along which axis does each step run, and which of them should dim decide?",
    ),
    Misconception(
        id="knows_the_first_axis_only",
        exercise="softmax_stable",
        swaps=(
            ("amax(dim=dim, keepdim=True)", "amax(dim=0, keepdim=True)"),
            ("sum(dim=dim, keepdim=True)", "sum(dim=0, keepdim=True)"),
        ),
        explanation=(
            "The weights add up to 1 along the first axis, but they should along dim; for a "
            "single query both are the same."
        ),
        question="Along which axis does each step run, and which of them should dim decide?",
    ),
    Misconception(
        id="drops_the_axis_of_the_sum",
        exercise="softmax_stable",
        swaps=(("exponentials.sum(dim=dim, keepdim=True)", "exponentials.sum(dim=dim)"),),
        explanation=(
            "The sums lose their axis, so broadcasting aligns them with the wrong axis, or the "
            "shapes do not fit."
        ),
        question=(
            "Which shape do the sums have, and how does torch align it with the shape of the "
            "exponentials?"
        ),
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
        explanation="The result comes from torch's own softmax, which you should write out here.",
        question="Which three steps does torch's softmax do for you?",
    ),
    # context_vector
    Misconception(
        id="ignores_the_weights",
        exercise="context_vector",
        swaps=(("weights @ inputs", "inputs.mean(dim=0)"),),
        explanation=(
            "All tokens get the same weight: this is the mean of the tokens, not their weighted "
            "sum."
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
        question="How many vectors should the function return for one query?",
    ),
    Misconception(
        id="adds_up_over_the_features",
        exercise="context_vector",
        swaps=(("weights @ inputs", "(weights[:, None] * inputs).sum(dim=1)"),),
        explanation="The features of each token are added up, but the tokens should be.",
        question="Which axis has to disappear, that of the tokens or that of the features?",
    ),
    Misconception(
        id="takes_the_best_token",
        exercise="context_vector",
        swaps=(("weights @ inputs", "inputs[weights.argmax()]"),),
        explanation=(
            "Only the token with the largest weight is returned; all tokens should contribute by "
            "their weights."
        ),
        question="What effect do the other weights have in your function?",
    ),
    Misconception(
        id="softens_the_weights_again",
        exercise="context_vector",
        swaps=(("weights @ inputs", "torch.softmax(weights, dim=0) @ inputs"),),
        explanation="The weights go through softmax a second time, which makes them almost equal.",
        question="Which function has already turned these numbers into weights?",
    ),
    Misconception(
        id="normalises_the_weights_again",
        exercise="context_vector",
        swaps=(("weights @ inputs", "weights / weights.sum() @ inputs"),),
        explanation=(
            "The weights are divided by their sum once more; they should be used unchanged."
        ),
        question="What should come out if all weights are doubled?",
    ),
    Misconception(
        id="cuts_the_graph_of_the_context",
        exercise="context_vector",
        swaps=(("weights @ inputs", "weights.detach() @ inputs"),),
        explanation="The weights are detached from the graph, so no gradient flows back to them.",
        question="Which call in your function turns a tensor into plain numbers?",
    ),
    # attention_scores
    Misconception(
        id="forgets_the_transpose",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs @ inputs"),),
        title="The transpose is missing",
        explanation=(
            "Without a transpose the inner sizes are T and d; where they are equal by chance, "
            "features are multiplied with tokens."
        ),
        question="Which two sizes are the inner sizes of (T, d) @ (T, d)?",
    ),
    Misconception(
        id="compares_features",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs.T @ inputs"),),
        explanation="The transpose is on the left, so features are compared with features: (d, d).",
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
            "Each token is multiplied with itself element by element; no token is compared with "
            "another."
        ),
        question="Where does your function compare token 1 with token 2?",
    ),
    Misconception(
        id="scores_one_query_only",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs @ inputs[1]"),),
        explanation=(
            "Only the second token is a query; here every token is a query, with one row each."
        ),
        question="How many queries are there if every token is a query?",
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
            "The scores are cosines, all 1 on the diagonal; in a plain dot product the lengths "
            "count too."
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
            "A loop compares one pair after the other, T times T of them; one matrix product "
            "does it at once."
        ),
        question="Which product has as its entry (i, j) the dot product of row i and row j?",
    ),
    # attention_weights
    Misconception(
        id="drops_the_axis_of_the_row_sums",
        exercise="attention_weights",
        swaps=(
            ("torch.softmax(scores, dim=-1)", "torch.exp(scores) / torch.exp(scores).sum(dim=-1)"),
        ),
        explanation=(
            "The sums of the rows lose their axis, and broadcasting aligns them with the columns."
        ),
        question="Which shape do the sums have, and which entries does each of them divide?",
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
            "The weights are rounded; four digits are only for printing, and rounding stops the "
            "gradient."
        ),
        question="What is the derivative of a step function?",
    ),
    # simple_self_attention
    Misconception(
        id="averages_all_tokens",
        exercise="simple_self_attention",
        swaps=(("torch.softmax(scores, dim=-1)", "torch.softmax(0 * scores, dim=-1)"),),
        explanation=(
            "Every token gets the mean of all tokens: the scores have no effect on the weights."
        ),
        question="Why are all your context vectors equal?",
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
        title="The tokens are compared by cosine",
        explanation=(
            "The tokens are scaled to length 1 before they are compared; in a plain dot product "
            "their lengths count."
        ),
        question="Should a token that is twice as long get the same scores?",
    ),
    Misconception(
        id="forgets_the_transpose_in_attention",
        exercise="simple_self_attention",
        swaps=(("inputs @ inputs.T", "inputs @ inputs"),),
        title="The transpose is missing",
        explanation=(
            "Without a transpose the inner sizes are T and d, and the tokens are not compared "
            "with each other."
        ),
        question="Which two sizes are the inner sizes of (T, d) @ (T, d)?",
    ),
    Misconception(
        id="adds_the_token_itself",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs", "inputs + weights @ inputs"),),
        explanation=(
            "The token itself is added to its context vector; its own weight already includes it."
        ),
        question="How often is a token counted in its own context vector?",
    ),
)
