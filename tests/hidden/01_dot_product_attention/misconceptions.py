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
        id="counts_the_first_product_twice",
        exercise="dot_product",
        swaps=(("total = 0.0", "total = a[0] * b[0]"),),
        explanation="The first product is counted twice: the sum starts with it and adds it again.",
        question="What must the sum be before the loop adds the first product?",
    ),
    Misconception(
        id="divides_by_the_sum_of_absolute_values",
        exercise="normalize_by_sum",
        swaps=(("scores.sum()", "scores.abs().sum()"),),
        explanation=(
            "The divisor is the sum of the absolute values; it must be the sum of the scores "
            "themselves."
        ),
        question="What do the results of the scores 3 and -1 sum to?",
    ),
    Misconception(
        id="multiplies_the_products",
        exercise="dot_product",
        swaps=(("total = 0.0", "total = 1.0"), ("total += x * y", "total *= x * y")),
        explanation="The products are multiplied by each other, but a dot product adds them up.",
        question="How does one pair with a zero in it change your result, and should it?",
        when=("multiplies",),
    ),
    Misconception(
        id="skips_the_last_element",
        exercise="dot_product",
        swaps=(("zip(a, b, strict=True)", "zip(a[:-1], b[:-1], strict=True)"),),
        explanation="The loop ends one element early, so the last pair is left out.",
        question="What does your code return for two vectors of length 1?",
        when=("loops",),
    ),
    Misconception(
        id="skips_the_first_element",
        exercise="dot_product",
        swaps=(("zip(a, b, strict=True)", "zip(a[1:], b[1:], strict=True)"),),
        explanation="The first product is left out; the result must be the sum of all products.",
        question="What does your code return for two vectors of length 1?",
    ),
    Misconception(
        id="leaves_the_products_unsummed",
        exercise="dot_product",
        swaps=(("    return total", "    return [x * y for x, y in zip(a, b, strict=True)]"),),
        explanation=(
            "The products are returned without being added up; a dot product is one number, "
            "their sum."
        ),
        question="Which step turns many products into one number?",
    ),
    Misconception(
        id="ignores_what_is_too_long",
        exercise="dot_product",
        swaps=(
            ("    if len(a) != len(b):\n", ""),
            (
                (
                    '        raise ValueError(f"a has {len(a)} elements and b has {len(b)}; '
                    'the lengths must be equal")\n'
                ),
                "",
            ),
            (", strict=True", ""),
        ),
        explanation="Sequences of unequal length raise no ValueError.",
        question=(
            "Which element of the shorter sequence is paired with the last element of the longer "
            "one?"
        ),
        seen=("no reads ValueError", "loops", "no raises", "no passes strict"),
    ),
    Misconception(
        id="refuses_only_a_long_first_sequence",
        exercise="dot_product",
        swaps=(
            ("if len(a) != len(b):", "if len(a) > len(b):"),
            ("strict=True", "strict=False"),
        ),
        explanation="A second sequence that is longer than the first one raises no error.",
        question="What happens in your code if b has one element more than a?",
    ),
    Misconception(
        id="lets_torch_do_it",
        exercise="dot_product",
        swaps=(
            ("total = 0.0", "total = torch.dot(torch.as_tensor(a), torch.as_tensor(b)).item()"),
            ("        total += x * y", "        pass"),
        ),
        title="A ready-made function computes the whole product",
        explanation=(
            "A ready-made function computes the whole product, but you must write it out here."
        ),
        question="Which two things does such a function do with the elements of its vectors?",
        when=("calls dot | calls inner | calls vdot | calls matmul | multiplies matrices",),
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
            "Whole vectors are multiplied at once; you must multiply one pair after the other."
        ),
        question="How would you multiply if a and b were plain lists and torch were not installed?",
        when=("multiplies", "no calls dot"),
    ),
    # scores_for_query
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
            "The row with index 2 is used as the query; indices start at 0, and the query is an "
            "argument."
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
        explanation="The last token is not compared with the query, so its score is 0.",
        question="Which scores does your code compute, and is there one for each token?",
    ),
    Misconception(
        id="keeps_the_total_of_earlier_tokens",
        exercise="scores_for_query",
        swaps=(
            (
                "inputs @ query",
                "torch.stack([(inputs[: t + 1] @ query).sum() for t in range(len(inputs))])",
            ),
        ),
        explanation=(
            "The total is not set to zero for each token, so a score also contains the scores of "
            "the tokens before it."
        ),
        question="Which number does the total hold when the second token begins?",
        when=(
            "loops",
            "adds",
        ),
    ),
    Misconception(
        id="compares_directions",
        exercise="scores_for_query",
        swaps=(("inputs @ query", "torch.cosine_similarity(inputs, query[None], dim=1)"),),
        explanation="The products are divided by lengths, so only the directions count.",
        question="Which score does a query get that is twice as long?",
        when=("takes lengths | divides",),
    ),
    # softmax_naive
    Misconception(
        id="takes_the_exponential_of_the_sum",
        exercise="softmax_naive",
        swaps=(("exponentials / exponentials.sum()", "exponentials / torch.exp(scores.sum())"),),
        explanation=(
            "The divisor is the exponential of the sum of the scores; it must be the sum of their "
            "exponentials."
        ),
        question="Which comes first in the divisor: the exponential or the sum?",
        when=(
            "takes exponentials",
            "divides",
        ),
    ),
    Misconception(
        id="drops_the_signs",
        exercise="softmax_naive",
        swaps=(("torch.exp(scores)", "torch.exp(scores.abs())"),),
        explanation="The exponentials are those of the absolute scores; the signs must count.",
        question="Which of the scores 2 and -2 should get the larger weight?",
    ),
    Misconception(
        id="negates_the_scores",
        exercise="softmax_naive",
        swaps=(("torch.exp(scores)", "torch.exp(-scores)"),),
        explanation="The scores have the wrong sign, so low scores get large weights.",
        question="Which of the scores 2 and -2 should get the larger weight?",
    ),
    Misconception(
        id="takes_powers_of_two",
        exercise="softmax_naive",
        swaps=(("torch.exp(scores)", "2**scores"),),
        explanation="The scores are exponents of 2; they must be exponents of e.",
        question="Of which number does exp take the power?",
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
            "The result holds the logarithms of the weights: they are negative and do not add up "
            "to 1."
        ),
        question="Can the share of a token in a mixture be negative?",
        when=("calls log | calls log_softmax | calls logsumexp",),
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
            "What do your weights add up to, and does one weight become smaller if another grows?"
        ),
        when=("calls sigmoid | takes exponentials",),
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
        when=("takes a maximum | compares",),
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
        when=("changes tensors in place",),
    ),
    Misconception(
        id="takes_the_ready_softmax",
        exercise="softmax_naive",
        swaps=(
            ("return exponentials / exponentials.sum()", "return torch.softmax(scores, dim=0)"),
        ),
        explanation=(
            "The result comes from torch's own softmax, but you must write softmax out here."
        ),
        question="Which three steps does torch's softmax do for you?",
        when=("calls softmax | calls Softmax",),
    ),
    # softmax_stable
    Misconception(
        id="leaves_out_the_maximum",
        exercise="softmax_stable",
        swaps=(("scores - scores.amax(dim=dim, keepdim=True)", "scores"),),
        title="The maximum is not subtracted before the exponential",
        explanation=(
            "The maximum is not subtracted before the exponential, so exp overflows for large "
            "scores and gives 0 for very low scores."
        ),
        question="What is exp(1000) in float32, and what is infinity divided by infinity?",
        when=("takes exponentials", "no takes a maximum"),
    ),
    Misconception(
        id="subtracts_one_maximum_for_all",
        exercise="softmax_stable",
        swaps=(("scores.amax(dim=dim, keepdim=True)", "scores.max()"),),
        explanation=(
            "One maximum is subtracted from all slices; each slice needs its own maximum. In a "
            "slice far below that maximum, all exponentials are 0."
        ),
        question="What happens to a slice whose scores are all 1000 below those of another slice?",
    ),
    Misconception(
        id="subtracts_the_largest_absolute_value",
        exercise="softmax_stable",
        swaps=(("scores.amax(", "scores.abs().amax("),),
        explanation=(
            "In a slice of very negative scores, all exponentials are 0, for example because the "
            "largest absolute value is subtracted; it must be the largest score."
        ),
        question="What is the largest exponential of a slice with the scores -1000 and -1001?",
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
        when=("takes a mean",),
    ),
    Misconception(
        id="subtracts_the_minimum",
        exercise="softmax_stable",
        swaps=(("scores.amax(", "scores.amin("),),
        explanation="The minimum is subtracted, so no exponent is negative and exp can overflow.",
        question="Which exponents are safe for exp: positive or negative ones?",
        when=("calls min | calls amin",),
    ),
    Misconception(
        id="clamps_the_scores",
        exercise="softmax_stable",
        swaps=(("scores - scores.amax(dim=dim, keepdim=True)", "scores.clamp(-80, 80)"),),
        explanation="Scores beyond a limit are cut off, so different scores become equal.",
        question="What are the weights of 1000 and 1001, and what does your code give?",
        when=("calls clamp | calls clip | calls clamp_ | calls minimum",),
    ),
    Misconception(
        id="drops_the_axis_of_the_sum",
        exercise="softmax_stable",
        swaps=(("exponentials.sum(dim=dim, keepdim=True)", "exponentials.sum(dim=dim)"),),
        explanation=(
            "The sums lose their axis, so broadcasting aligns them with the wrong axis unless "
            "`dim` is the first one, or the shapes do not fit."
        ),
        question=(
            "What is the shape of the sums, and how does torch align it with the shape of the "
            "exponentials?"
        ),
        when=("takes exponentials", "divides", "loses an axis"),
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
        explanation=(
            "The result comes from torch's own softmax, but you must write softmax out here."
        ),
        question="Which three steps does torch's softmax do for you?",
        when=("calls softmax | calls Softmax",),
    ),
    Misconception(
        id="knows_the_last_axis_only",
        exercise="softmax_stable",
        swaps=(
            ("amax(dim=dim, keepdim=True)", "amax(dim=-1, keepdim=True)"),
            ("sum(dim=dim, keepdim=True)", "sum(dim=-1, keepdim=True)"),
        ),
        explanation=("The divisor adds up along the last axis; it must add up along `dim`."),
        question=(
            "Along which axis does each step run, and in which steps should dim choose the axis?"
        ),
    ),
    Misconception(
        id="knows_the_first_axis_only",
        exercise="softmax_stable",
        swaps=(
            ("amax(dim=dim, keepdim=True)", "amax(dim=0, keepdim=True)"),
            ("sum(dim=dim, keepdim=True)", "sum(dim=0, keepdim=True)"),
        ),
        explanation=(
            "The divisor adds up along the first axis; it must add up along "
            "`dim`. (For a single query, the two axes are the same.)"
        ),
        question=(
            "Along which axis does each step run, and in which steps should dim choose the axis?"
        ),
    ),
    Misconception(
        id="shifts_only_what_is_divided",
        exercise="softmax_stable",
        swaps=(
            (
                "exponentials.sum(dim=dim, keepdim=True)",
                "torch.exp(scores).sum(dim=dim, keepdim=True)",
            ),
        ),
        explanation=(
            "The maximum is subtracted in the numerator but not in the divisor; both need the same "
            "shift."
        ),
        question="Which exponentials do you add up, and which do you divide?",
    ),
    # context_vector
    Misconception(
        id="cuts_the_graph_of_the_context",
        exercise="context_vector",
        swaps=(("weights @ inputs", "weights.detach() @ inputs"),),
        explanation="The weights are detached from the graph, so no gradient flows back to them.",
        question="Which call in your function separates the weights from the graph?",
        when=("detaches",),
    ),
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
        id="softens_the_weights",
        exercise="context_vector",
        swaps=(("weights @ inputs", "torch.softmax(weights, dim=-1) @ inputs"),),
        explanation="A softmax changes the weights first; they must be used unchanged.",
        question="By which number is the first token multiplied if its weight is 1?",
        when=("takes a softmax | calls softmax_stable | calls softmax_naive",),
    ),
    Misconception(
        id="divides_the_weights_by_their_sum",
        exercise="context_vector",
        swaps=(("weights @ inputs", "weights / weights.sum() @ inputs"),),
        explanation="The weights are divided by their sum first; they must be used unchanged.",
        question="What should happen to the result if all weights are doubled?",
    ),
    # attention_scores
    Misconception(
        id="forgets_the_transpose",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs @ inputs"),),
        title="The transpose is missing",
        explanation=(
            "The transpose is missing: the inner sizes are d and T, and if they happen to be "
            "equal, the product pairs features with tokens."
        ),
        question="Which two sizes are the inner sizes of (T, d) @ (T, d)?",
    ),
    Misconception(
        id="takes_a_power_for_a_product",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs ** inputs.T"),),
        explanation="The elementwise power ** is used instead of the matrix product @.",
        question="Which Python operator multiplies matrices?",
        when=("takes roots",),
    ),
    Misconception(
        id="multiplies_element_by_element",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs * inputs"),),
        explanation=(
            "Each token is multiplied by itself element by element; no token is compared with "
            "another."
        ),
        question="Where does your function compare token 1 with token 2?",
    ),
    Misconception(
        id="scores_one_query_only",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "inputs @ inputs[1]"),),
        explanation=(
            "Only the second token is used as a query; every token must be a query with its own "
            "row."
        ),
        question="How many queries are there if every token is a query?",
    ),
    Misconception(
        id="scores_by_distance",
        exercise="attention_scores",
        swaps=(("inputs @ inputs.T", "torch.cdist(inputs, inputs)"),),
        explanation=(
            "The scores are distances, which are small for similar tokens; a dot product is large "
            "for similar tokens."
        ),
        question="What is the score of a token with itself, and should it be zero?",
        when=("calls cdist | subtracts",),
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
            "A loop compares one query or one pair at a time; one matrix product must compare "
            "all pairs at once."
        ),
        question="In which matrix product is entry (i, j) the dot product of row i and row j?",
        when=("loops",),
    ),
    # attention_weights
    Misconception(
        id="drops_the_axis_of_the_row_sums",
        exercise="attention_weights",
        swaps=(
            ("torch.softmax(scores, dim=-1)", "torch.exp(scores) / torch.exp(scores).sum(dim=-1)"),
        ),
        explanation=(
            "The sums of the rows lose their axis, so broadcasting aligns them with the columns."
        ),
        question="What is the shape of the sums, and which entries does each of them divide?",
        when=("takes exponentials", "divides", "loses an axis"),
    ),
    Misconception(
        id="divides_exponentials_by_sums_of_scores",
        exercise="attention_weights",
        swaps=(
            (
                "torch.softmax(scores, dim=-1)",
                "torch.exp(scores) / scores.sum(dim=-1, keepdim=True)",
            ),
        ),
        explanation=(
            "The exponentials are divided by the sum of the scores themselves; they must be "
            "divided by the sum of the exponentials."
        ),
        question="What must you divide positive numbers by so that they add up to 1?",
        when=(
            "takes exponentials",
            "divides",
        ),
    ),
    Misconception(
        id="runs_down_the_columns",
        exercise="attention_weights",
        swaps=(("dim=-1", "dim=0"),),
        explanation="The softmax runs down the columns; it must run along the rows.",
        question="Which entries of the scores belong to one query, a row or a column?",
        when=("takes a softmax | calls softmax_stable",),
    ),
    # simple_self_attention
    Misconception(
        id="forgets_the_transpose_in_attention",
        exercise="simple_self_attention",
        swaps=(("inputs @ inputs.T", "inputs @ inputs"),),
        title="The transpose is missing",
        explanation=(
            "The transpose is missing: the inner sizes are d and T, so the tokens are not compared "
            "with each other."
        ),
        question="Which two sizes are the inner sizes of (T, d) @ (T, d)?",
    ),
    Misconception(
        id="compares_features_in_attention",
        exercise="simple_self_attention",
        swaps=(("inputs @ inputs.T", "inputs.T @ inputs"),),
        explanation=(
            "The first factor of the scores is transposed, so features are compared with features; "
            "tokens must be compared with tokens."
        ),
        question=(
            "What is the shape of your scores, and which shape do T queries and T tokens give?"
        ),
        when=("swaps axes",),
    ),
    Misconception(
        id="transposes_the_weights",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs", "weights.T @ inputs"),),
        explanation=(
            "The weights are transposed in the last product, so each token gets the weights of a "
            "column."
        ),
        question="Which weights belong to query i: row i or column i?",
        when=("swaps axes", "no runs along another axis"),
    ),
    Misconception(
        id="compares_directions_in_attention",
        exercise="simple_self_attention",
        swaps=(
            (
                "inputs @ inputs.T",
                "torch.cosine_similarity(inputs[:, None], inputs[None], dim=-1)",
            ),
        ),
        explanation=(
            "The scores are divided by the lengths of the tokens, so only the directions count."
        ),
        question="Which score does a pair of tokens get if one of them is twice as long?",
    ),
    Misconception(
        id="mixes_directions",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs", "weights @ torch.nn.functional.normalize(inputs, dim=-1)"),),
        explanation=(
            "The tokens that are mixed are divided by their lengths; the inputs must be mixed as "
            "they are."
        ),
        question="What is the context vector of a text with a single token?",
    ),
    Misconception(
        id="multiplies_each_token_by_its_own_row",
        exercise="simple_self_attention",
        swaps=(("weights @ inputs", "weights.sum(dim=1, keepdim=True) * inputs"),),
        title="Weight (i, j) is multiplied by token i; it must be multiplied by token j",
        explanation=(
            "Weight (i, j) is multiplied by token i; it must be multiplied by token j, so that row "
            "i mixes the tokens."
        ),
        question="Which token does column j of the weights belong to?",
        when=("multiplies",),
    ),
)
