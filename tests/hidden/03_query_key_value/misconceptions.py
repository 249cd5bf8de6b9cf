"""Wrong answers that the suite of stage 03 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

QUERY = "W_query = nn.Parameter(draw(d_in, d_out), requires_grad=False)"
KEY = "W_key = nn.Parameter(draw(d_in, d_out), requires_grad=False)"
VALUE = "W_value = nn.Parameter(draw(d_in, d_out), requires_grad=False)"
CHOICE = 'draw = torch.randn if distribution == "randn" else torch.rand'
WEIGHTS = "torch.softmax(scores / d_k**0.5, dim=-1)"
DRAWN_ANEW = "W_query, W_key, W_value = draw_weights(*W_value.shape)"
LATER = "later = torch.ones(len(inputs), len(inputs)).triu(diagonal=1) == 1"
SELF_WEIGHTS = "torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)"

DRAWING = (
    Misconception(
        id="draws_the_key_first",
        exercise="draw_weights",
        swaps=((f"{QUERY}\n    {KEY}", f"{KEY}\n    {QUERY}"),),
        explanation=(
            "W_key is drawn before W_query, so each of the two holds the numbers that belong to "
            "the other."
        ),
        question="Which matrix should get the first numbers from the generator?",
    ),
    Misconception(
        id="draws_the_value_first",
        exercise="draw_weights",
        swaps=(
            (
                f"{QUERY}\n    {KEY}\n    {VALUE}",
                f"{VALUE}\n    {QUERY}\n    {KEY}",
            ),
        ),
        explanation=(
            "W_value is drawn before the other two, so all three hold the numbers of another "
            "matrix."
        ),
        question=(
            "In which order are the three matrices drawn, and in which order are they returned?"
        ),
    ),
    Misconception(
        id="returns_the_value_before_the_key",
        exercise="draw_weights",
        swaps=(("return W_query, W_key, W_value", "return W_query, W_value, W_key"),),
        explanation="The matrices are returned as query, value, key.",
        question="In which order does the caller of draw_weights unpack the result?",
    ),
    Misconception(
        id="seeds_before_each_matrix",
        exercise="draw_weights",
        swaps=(
            (QUERY, f"torch.manual_seed(123)\n    {QUERY}"),
            (KEY, f"torch.manual_seed(123)\n    {KEY}"),
            (VALUE, f"torch.manual_seed(123)\n    {VALUE}"),
        ),
        explanation=(
            "All three matrices hold the same numbers, as if the seed were set before each draw."
        ),
        question="How many draws are there, and what does a seed before each of them do?",
    ),
    Misconception(
        id="seeds_in_the_function",
        exercise="draw_weights",
        swaps=((CHOICE, f"torch.manual_seed(123)\n    {CHOICE}"),),
        explanation="The function sets its own seed, so the seed of the caller has no effect.",
        question="If the caller sets another seed and then calls draw_weights, what should change?",
    ),
    Misconception(
        id="draws_one_matrix_for_all_three",
        exercise="draw_weights",
        swaps=((KEY, "W_key = W_query"), (VALUE, "W_value = W_query")),
        explanation="One matrix is drawn and used for query, key and value.",
        question=(
            "If a token's query equals its key, can it attend to a token that is different from "
            "itself?"
        ),
    ),
    Misconception(
        id="swaps_rand_and_randn",
        exercise="draw_weights",
        swaps=((CHOICE, 'draw = torch.rand if distribution == "randn" else torch.randn'),),
        explanation="The functions torch.rand and torch.randn are exchanged.",
        question=(
            "Which of the two draws from a normal distribution and can therefore give negative "
            "numbers?"
        ),
    ),
    Misconception(
        id="always_draws_uniformly",
        exercise="draw_weights",
        swaps=((CHOICE, "draw = torch.rand"),),
        title="The normal distribution is never used",
        explanation=(
            "The numbers come from torch.rand even if the caller asks for the normal distribution."
        ),
        question="Where in your function does the name of the distribution make a difference?",
    ),
    Misconception(
        id="always_draws_normally",
        exercise="draw_weights",
        swaps=((CHOICE, "draw = torch.randn"),),
        title="The uniform distribution is never used",
        explanation=(
            "The numbers come from torch.randn even if the caller asks for the uniform "
            "distribution."
        ),
        question="Can a number drawn uniformly from 0 to 1 be negative?",
    ),
    Misconception(
        id="draws_randn_by_default",
        exercise="draw_weights",
        swaps=(('distribution: str = "rand"', 'distribution: str = "randn"'),),
        title="The default distribution is the normal one",
        explanation=(
            "Without a distribution the function draws normal numbers; the default should be the "
            "uniform one."
        ),
        question="Which default does the signature of draw_weights give to the distribution?",
    ),
    Misconception(
        id="draws_once_and_splits",
        exercise="draw_weights",
        swaps=(
            (
                QUERY,
                "all_three = draw(3, d_in, d_out)\n    W_query = nn.Parameter(all_three[0], False)",
            ),
            (KEY, "W_key = nn.Parameter(all_three[1], False)"),
            (VALUE, "W_value = nn.Parameter(all_three[2], False)"),
        ),
        explanation=(
            "All numbers come from one large draw, and torch.randn fills one large tensor in "
            "another order than three small ones."
        ),
        question="How many draws should the function make?",
    ),
    Misconception(
        id="draws_turned_matrices",
        exercise="draw_weights",
        swaps=((CHOICE, f"{CHOICE}\n    draw = lambda a, b, f=draw: f(b, a).T"),),
        explanation=(
            "Each matrix is drawn as (d_out, d_in) and then transposed, so the numbers are in "
            "other places."
        ),
        question="Which shape do the documents use in the draw?",
    ),
    Misconception(
        id="draws_the_shape_of_linear",
        exercise="draw_weights",
        swaps=((CHOICE, f"{CHOICE}\n    draw = lambda a, b, f=draw: f(b, a)"),),
        explanation="The matrices have shape (d_out, d_in), as in nn.Linear.",
        question="Which size of W has to equal d_in, so that inputs @ W is possible?",
    ),
    Misconception(
        id="draws_in_float64",
        exercise="draw_weights",
        swaps=(
            (CHOICE, f"{CHOICE}\n    draw = lambda a, b, f=draw: f(a, b, dtype=torch.float64)"),
        ),
        explanation="The matrices are drawn in double precision, which also gives other numbers.",
        question="Which dtype does torch.rand use by default?",
    ),
    Misconception(
        id="draws_from_another_generator",
        exercise="draw_weights",
        swaps=(
            (
                CHOICE,
                "own = torch.Generator()\n    draw = lambda a, b: torch.rand(a, b, generator=own)",
            ),
        ),
        explanation=(
            "The numbers come from a separate generator, and torch.manual_seed has no effect on it."
        ),
        question="Which generator does the caller's seed set?",
    ),
    Misconception(
        id="makes_the_weights_small",
        exercise="draw_weights",
        swaps=((CHOICE, f"{CHOICE}\n    draw = lambda a, b, f=draw: 0.02 * f(a, b)"),),
        explanation=(
            "The numbers are scaled after drawing; such an initialisation is not part of this "
            "stage."
        ),
        question="What should happen to the drawn numbers before they are returned?",
    ),
    Misconception(
        id="leaves_the_weights_trainable",
        exercise="draw_weights",
        swaps=(
            (QUERY, "W_query = nn.Parameter(draw(d_in, d_out))"),
            (KEY, "W_key = nn.Parameter(draw(d_in, d_out))"),
            (VALUE, "W_value = nn.Parameter(draw(d_in, d_out))"),
        ),
        explanation="The matrices keep requires_grad=True, the default of nn.Parameter.",
        question="Should these matrices be trained in this stage?",
    ),
    Misconception(
        id="accepts_any_distribution",
        exercise="draw_weights",
        swaps=(('not in {"rand", "randn"}', "is None"),),
        title="An unknown distribution raises no error",
        explanation=(
            "For an unknown distribution the function draws uniform numbers and reports no error."
        ),
        question="How should a caller notice a misspelled distribution?",
    ),
)

PROJECTION = (
    Misconception(
        id="raises_to_a_power",
        exercise="project",
        swaps=(("inputs @ weight", "inputs ** weight"),),
        explanation="The elementwise power ** is used for the matrix product, which is written @.",
        question="Which operator multiplies matrices?",
    ),
    Misconception(
        id="turns_the_weight",
        exercise="project",
        swaps=(
            (
                "inputs @ weight",
                "inputs @ (weight.T if weight.shape[0] == weight.shape[1] else weight)",
            ),
        ),
        explanation="A square weight matrix is transposed before the product.",
        question="Which shape do these matrices have, and which shape does inputs @ W need?",
    ),
    Misconception(
        id="takes_the_weight_for_one_of_linear",
        exercise="project",
        swaps=(("inputs @ weight", "torch.nn.functional.linear(inputs, weight)"),),
        title="The weight matrices are used as if they were those of nn.Linear",
        explanation=(
            "F.linear expects its weight as (d_out, d_in) and transposes it; these matrices are "
            "(d_in, d_out)."
        ),
        question="Which shape does F.linear expect for its weight?",
    ),
    Misconception(
        id="puts_the_weight_on_the_left",
        exercise="project",
        swaps=(("inputs @ weight", "weight @ inputs"),),
        explanation="The weight is the left factor, so its columns would have to be tokens.",
        question="Which of the two factors has a row for each token?",
    ),
    Misconception(
        id="serves_no_single_vector",
        exercise="project",
        swaps=(("inputs @ weight", "torch.mm(inputs, weight)"),),
        explanation="A single input vector raises an error, because torch.mm takes matrices only.",
        question="What does your function do with inputs of shape (d_in,)?",
    ),
    Misconception(
        id="keeps_a_row_axis_for_one_vector",
        exercise="project",
        swaps=(("inputs @ weight", "torch.atleast_2d(inputs) @ weight"),),
        explanation="For a single vector the result is a matrix of one row.",
        question="Which shape should the query of one token have?",
    ),
    Misconception(
        id="cuts_the_graph_in_project",
        exercise="project",
        swaps=(("inputs @ weight", "(inputs @ weight).detach()"),),
        explanation="The result is detached, so no gradient reaches inputs or weight.",
        question="What does training need from this step?",
    ),
    Misconception(
        id="adds_a_softmax_to_project",
        exercise="project",
        swaps=(("inputs @ weight", "torch.softmax(inputs @ weight, dim=-1)"),),
        explanation="Softmax is applied to the projected features; only attention scores need it.",
        question="Which numbers in this stage have to sum to 1, and which are features?",
    ),
    Misconception(
        id="makes_unit_vectors_in_project",
        exercise="project",
        swaps=(("inputs @ weight", "torch.nn.functional.normalize(inputs @ weight, dim=-1)"),),
        explanation="Each projected vector is scaled to length 1.",
        question="Does a projection need another step after the matrix product?",
    ),
)

SCORING = (
    Misconception(
        id="forgets_to_transpose_the_keys",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "queries @ keys"),),
        explanation=(
            "The keys are not transposed: the product pairs features with tokens, and the shapes "
            "fit only by chance."
        ),
        question=(
            "Which two sizes have to be equal in queries @ keys, and should those be tokens or "
            "features?"
        ),
    ),
    Misconception(
        id="lets_keys_ask",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "(keys @ queries.T)"),),
        explanation=(
            "Keys and queries are exchanged: row i holds the scores of key i, not of query i."
        ),
        question="Which query does row 2 of your scores belong to?",
    ),
    Misconception(
        id="compares_features",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "queries.mT @ keys if queries.ndim == 2 else keys @ queries"),),
        explanation="The product adds up over the tokens, so it compares features with features.",
        question="Should the scores have a row for each token or for each feature?",
    ),
    Misconception(
        id="reshapes_instead_of_transposing",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "queries @ keys.reshape(keys.shape[1], keys.shape[0])"),),
        title="The keys are reshaped instead of transposed",
        explanation=(
            "reshape keeps the numbers in their order in memory, so features of different tokens "
            "get mixed."
        ),
        question=(
            "Where does the second feature of the first key end up after your reshape, and where "
            "after a transpose?"
        ),
    ),
    Misconception(
        id="scales_the_scores_already",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "queries @ keys.T / keys.shape[-1] ** 0.5"),),
        explanation="The scores are scaled here, and attention_weights will scale them again.",
        question="Which function of this stage takes d_k, and why that one?",
    ),
    Misconception(
        id="multiplies_without_adding",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "queries * keys"),),
        explanation="The numbers are multiplied one by one but never added up.",
        question="How many scores should one query and one key give?",
    ),
    Misconception(
        id="measures_angles_only",
        exercise="attention_scores",
        swaps=(
            (
                "queries @ keys.T",
                "torch.cosine_similarity(queries.unsqueeze(-2), keys, dim=-1)",
            ),
        ),
        explanation=(
            "All vectors are scaled to length 1 first; that is cosine similarity, and in a plain "
            "dot product lengths count too."
        ),
        question="What should happen to a score when a query becomes twice as long?",
    ),
    Misconception(
        id="compares_queries_with_queries",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "queries @ (queries if queries.ndim == 2 else keys).T"),),
        explanation="Queries are compared with queries; the keys have no effect.",
        question="Which vector of a token should a query be compared with?",
    ),
    Misconception(
        id="compares_keys_with_keys",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "(keys if queries.ndim == 2 else queries) @ keys.T"),),
        explanation="Keys are compared with keys; the queries have no effect.",
        question="Which vector of a token should the keys be compared with?",
    ),
    Misconception(
        id="keeps_a_row_axis_for_one_query",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "torch.atleast_2d(queries) @ keys.T"),),
        explanation="For a single query the scores are a matrix of one row.",
        question="How many scores does one query get, and how many axes do they need?",
    ),
    Misconception(
        id="serves_no_single_query",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "torch.mm(queries, keys.T)"),),
        explanation="A single query raises an error, because torch.mm takes matrices only.",
        question="What does your function do with a query of shape (d,)?",
    ),
    Misconception(
        id="fills_only_the_diagonal",
        exercise="attention_scores",
        swaps=(
            (
                "queries @ keys.T",
                "torch.diag((queries * keys).sum(-1)) if queries.ndim > 1 else keys @ queries",
            ),
        ),
        explanation=(
            "Each query is compared only with the key of its own token; all other scores stay zero."
        ),
        question="How many keys should each query be compared with?",
    ),
    Misconception(
        id="normalises_the_scores_already",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "torch.softmax(queries @ keys.T, dim=-1)"),),
        explanation="The scores went through softmax, so they are already weights.",
        question="May a score be negative, and may a weight be negative?",
    ),
    Misconception(
        id="cuts_the_graph_in_scores",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "(queries @ keys.T).detach()"),),
        explanation="The scores are detached, so queries and keys can't be trained.",
        question="What does training need from this step?",
    ),
    Misconception(
        id="rounds_the_scores",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "torch.round(queries @ keys.T, decimals=4)"),),
        explanation=(
            "The scores are rounded to the printed digits, and rounding stops the gradient."
        ),
        question="Does printing a number with four digits change the number?",
    ),
)

WEIGHING = (
    Misconception(
        id="forgets_to_scale",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores, dim=-1)"),),
        explanation="The scores are not scaled at all before softmax.",
        question="Where in your function does d_k make a difference?",
    ),
    Misconception(
        id="divides_by_d_k",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores / d_k, dim=-1)"),),
        explanation="The scores are divided by d_k itself instead of its square root.",
        question="If a sum of d_k products has variance d_k, what is its standard deviation?",
    ),
    Misconception(
        id="multiplies_by_the_root",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores * d_k**0.5, dim=-1)"),),
        explanation=(
            "The scores are multiplied by the square root of d_k, which makes them even larger."
        ),
        question="Should scaling make the scores of long vectors larger or smaller?",
        ties=("divides_by_the_inverse_root",),
        why_tied="Dividing by an inverse is the same as multiplying.",
    ),
    Misconception(
        id="divides_by_the_inverse_root",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores / d_k**-0.5, dim=-1)"),),
        explanation=(
            "The scores are divided by d_k ** -0.5, the inverse of the root, which multiplies them."
        ),
        question="What is 1 / (1 / x)?",
        ties=("multiplies_by_the_root",),
        why_tied="Dividing by an inverse is the same as multiplying.",
    ),
    Misconception(
        id="scales_after_softmax",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores, dim=-1) / d_k**0.5"),),
        explanation="The weights are divided after softmax, so they no longer sum to 1.",
        question="What do your weights sum to, and which step comes last in your function?",
    ),
    Misconception(
        id="takes_the_root_of_everything",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax((scores / d_k) ** 0.5, dim=-1)"),),
        explanation=(
            "The root of the scores is taken too, which gives NaN where a score is negative."
        ),
        question="Which number is the root taken of: the quotient, or d_k alone?",
    ),
    Misconception(
        id="divides_without_remainder",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores // d_k**0.5, dim=-1)"),),
        explanation="Every quotient is rounded down to a whole number by //.",
        question="What is 1 // 1.41 in Python?",
    ),
    Misconception(
        id="expects_keys_of_size_two",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores / 2**0.5, dim=-1)"),),
        explanation="The scale is always the square root of 2, for every size of a key.",
        question="For which d_k is your function right?",
    ),
    Misconception(
        id="scales_by_the_number_of_tokens",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores / scores.shape[-1] ** 0.5, dim=-1)"),),
        explanation=(
            "The scores are scaled by the number of tokens, but dot products grow with the size "
            "of a key."
        ),
        question="How many products are added up in one score?",
    ),
    Misconception(
        id="roots_d_k_as_a_tensor",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores / torch.sqrt(d_k), dim=-1)"),),
        explanation="The plain number d_k is passed to torch.sqrt, which takes tensors.",
        question="How do you write a square root in plain Python?",
    ),
    Misconception(
        id="lets_queries_compete",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores / d_k**0.5, dim=0)"),),
        explanation=(
            "Softmax runs along the columns, over the queries, so the weights of each key sum to "
            "1 instead of those of each query."
        ),
        question="Which of your sums are 1: those of the rows or those of the columns?",
    ),
    Misconception(
        id="normalises_over_the_whole_matrix",
        exercise="attention_weights",
        swaps=(
            (WEIGHTS, "torch.softmax((scores / d_k**0.5).flatten(), dim=0).reshape(scores.shape)"),
        ),
        explanation="All weights together sum to 1, but the weights of each query should.",
        question="What should the weights of one query sum to?",
    ),
    Misconception(
        id="divides_by_the_sum_of_scores",
        exercise="attention_weights",
        swaps=((WEIGHTS, "scores / d_k**0.5 / (scores / d_k**0.5).sum(dim=-1, keepdim=True)"),),
        explanation=(
            "The scores are divided by their sum without the exponential, so negative scores "
            "stay negative."
        ),
        question="What does softmax do to a number before it divides?",
    ),
    Misconception(
        id="forgets_to_divide_by_the_sum",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.exp(scores / d_k**0.5)"),),
        explanation="The exponentials of the scores are not divided by their sum.",
        question="What do your weights sum to?",
    ),
    Misconception(
        id="forgets_softmax",
        exercise="attention_weights",
        swaps=((WEIGHTS, "scores / d_k**0.5"),),
        explanation="The scores are scaled but not normalised, so they are not weights yet.",
        question="Can an attention weight be negative?",
    ),
    Misconception(
        id="uses_sigmoid",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.sigmoid(scores / d_k**0.5)"),),
        explanation=(
            "A sigmoid treats each score separately; in softmax each weight depends on all scores "
            "of its query."
        ),
        question="If one score grows, what should happen to the other weights of its row?",
    ),
    Misconception(
        id="picks_the_best_only",
        exercise="attention_weights",
        swaps=(
            (WEIGHTS, "nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1]).float()"),
        ),
        explanation=(
            "All attention goes to the largest score; softmax gives every token some weight."
        ),
        question=(
            "How much should a token contribute if its score is only a little below the largest?"
        ),
    ),
    Misconception(
        id="gives_log_weights",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.log_softmax(scores / d_k**0.5, dim=-1)"),),
        explanation="The weights are logarithms, as log_softmax gives them, and negative.",
        question="Can an attention weight be negative?",
    ),
    Misconception(
        id="attends_to_all_alike",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores * 0 / d_k**0.5, dim=-1)"),),
        explanation="All weights of a query are equal, whatever its scores are.",
        question="Where in your function do the scores make a difference?",
    ),
    Misconception(
        id="changes_the_scores",
        exercise="attention_weights",
        swaps=(
            (f"return {WEIGHTS}", "scores /= d_k**0.5\n    return torch.softmax(scores, dim=-1)"),
        ),
        explanation="The caller's scores are overwritten by /= and stay scaled after the call.",
        question="What happens if someone calls your function twice with the same scores?",
    ),
    Misconception(
        id="rounds_the_weights",
        exercise="attention_weights",
        swaps=((WEIGHTS, f"torch.round({WEIGHTS}, decimals=4)"),),
        explanation=(
            "The weights are rounded to the printed digits, and rounding stops the gradient."
        ),
        question="Does printing a number with four digits change the number?",
    ),
    Misconception(
        id="gives_weights_in_float64",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores.double() / d_k**0.5, dim=-1)"),),
        explanation=(
            "The weights are returned in double precision, and can't be multiplied with float32 "
            "values."
        ),
        question="Which dtype do the scores have, and which dtype do your weights have?",
    ),
    Misconception(
        id="cuts_the_graph_in_weights",
        exercise="attention_weights",
        swaps=((WEIGHTS, f"{WEIGHTS}.detach()"),),
        explanation="The weights are detached, so no gradient reaches the scores.",
        question="What does training need from this step?",
    ),
)

MIXING = (
    Misconception(
        id="turns_the_weights",
        exercise="context_vectors",
        swaps=(
            ("weights @ values", "weights.T @ values if weights.ndim == 2 else weights @ values"),
        ),
        explanation=(
            "The weights are transposed, so each context vector uses a column of weights instead "
            "of a row."
        ),
        question="Which row or column of the weights belongs to query i?",
    ),
    Misconception(
        id="puts_the_values_on_the_left",
        exercise="context_vectors",
        swaps=(("weights @ values", "values @ weights"),),
        explanation=(
            "The values are the left factor of the product, so their features are paired with "
            "the tokens' weights."
        ),
        question="Which of the two factors has a row for each query?",
    ),
    Misconception(
        id="ignores_the_weights",
        exercise="context_vectors",
        swaps=(("weights @ values", "values.mean(dim=0).expand(*weights.shape[:-1], -1)"),),
        explanation=(
            "Every context vector is the plain mean of the values; the attention weights have no "
            "effect."
        ),
        question="Where in your function do the weights make a difference?",
    ),
    Misconception(
        id="weighs_without_adding",
        exercise="context_vectors",
        swaps=(("weights @ values", "weights.unsqueeze(-1) * values"),),
        explanation=(
            "The weighted values are never added up: each value is only multiplied by its weight."
        ),
        question="How many vectors should the function return for one query?",
    ),
    Misconception(
        id="adds_up_the_features",
        exercise="context_vectors",
        swaps=(("weights @ values", "(weights.unsqueeze(-1) * values).sum(dim=-1)"),),
        explanation="The sum runs over the features instead of over the tokens.",
        question="What is mixed here, the tokens or the features of one token?",
    ),
    Misconception(
        id="starts_the_sum_at_one",
        exercise="context_vectors",
        swaps=(("weights @ values", "torch.ones(values.shape[-1]) + weights @ values"),),
        explanation="The weighted sum starts at one instead of zero.",
        question="What should come out where all values are zero?",
    ),
    Misconception(
        id="averages_the_weighted_values",
        exercise="context_vectors",
        swaps=(("weights @ values", "weights @ values / values.shape[0]"),),
        explanation=(
            "The weighted sum is also divided by the number of tokens, but the weights already "
            "sum to 1."
        ),
        question="If all values are equal, which context vector should come out?",
    ),
    Misconception(
        id="normalises_again",
        exercise="context_vectors",
        swaps=(("weights @ values", "torch.softmax(weights, dim=-1) @ values"),),
        explanation=(
            "Softmax is applied to the weights a second time, which makes them nearly equal."
        ),
        question="What do the weights sum to before your function changes them?",
    ),
    Misconception(
        id="gives_only_the_first_query",
        exercise="context_vectors",
        swaps=(("weights @ values", "weights.reshape(-1, values.shape[0])[0] @ values"),),
        explanation="Only the first query gets a context vector.",
        question="How many rows do the weights have?",
    ),
    Misconception(
        id="serves_no_single_row_of_weights",
        exercise="context_vectors",
        swaps=(("weights @ values", "torch.mm(weights, values)"),),
        explanation=(
            "The weights of a single query raise an error, because torch.mm takes matrices only."
        ),
        question="What does your function do with weights of shape (T,)?",
    ),
    Misconception(
        id="cuts_the_graph_in_context",
        exercise="context_vectors",
        swaps=(("weights @ values", "weights.detach() @ values"),),
        explanation="The weights are detached, so queries and keys cannot be trained.",
        question="Through which of the two factors do queries and keys influence the result?",
    ),
)

WHOLE = (
    Misconception(
        id="lets_keys_ask_in_self_attention",
        exercise="self_attention",
        swaps=(("queries @ keys.T", "keys @ queries.T"),),
        explanation="Keys and queries are exchanged: the rows of the scores belong to the keys.",
        question="What should row i of the scores belong to, query i or key i?",
    ),
    Misconception(
        id="mixes_the_inputs",
        exercise="self_attention",
        swaps=(("return weights @ values", "return weights @ inputs"),),
        explanation="The raw inputs are mixed instead of the values.",
        question="What is the third projection for?",
    ),
    Misconception(
        id="mixes_the_keys",
        exercise="self_attention",
        swaps=(("values = inputs @ W_value", "values = keys"),),
        explanation=(
            "The keys are mixed instead of the values: keys are only for the comparison with "
            "queries."
        ),
        question="Which matrix is not used in your function?",
    ),
    Misconception(
        id="mixes_the_queries",
        exercise="self_attention",
        swaps=(("return weights @ values", "return weights @ queries"),),
        explanation="The queries are mixed instead of the values.",
        question="Which vector does a token contribute to the context vectors?",
    ),
    Misconception(
        id="compares_the_inputs",
        exercise="self_attention",
        swaps=(("scores = queries @ keys.T", "scores = inputs @ inputs.T"),),
        explanation="The raw inputs are compared; queries and keys have no part in the scores.",
        question="What are queries and keys for?",
    ),
    Misconception(
        id="compares_queries_with_themselves",
        exercise="self_attention",
        swaps=(("queries @ keys.T", "queries @ queries.T"),),
        explanation=(
            "Queries are compared with queries, so the scores of two tokens are the same in both "
            "directions."
        ),
        question="Which vector of a token should a query be compared with?",
    ),
    Misconception(
        id="forgets_to_scale_in_self_attention",
        exercise="self_attention",
        swaps=((SELF_WEIGHTS, "torch.softmax(scores, dim=-1)"),),
        explanation="The scores are not scaled by the square root of the key size before softmax.",
        question="Which of the earlier steps needs to know the size of a key?",
    ),
    Misconception(
        id="divides_by_d_k_in_self_attention",
        exercise="self_attention",
        swaps=((SELF_WEIGHTS, "torch.softmax(scores / keys.shape[-1], dim=-1)"),),
        explanation="The scores are divided by the key size itself instead of its square root.",
        question="If a sum of d_k products has variance d_k, what is its standard deviation?",
    ),
    Misconception(
        id="multiplies_by_the_root_in_self_attention",
        exercise="self_attention",
        swaps=((SELF_WEIGHTS, "torch.softmax(scores * keys.shape[-1] ** 0.5, dim=-1)"),),
        explanation="The scores are multiplied by the square root of the key size.",
        question="Should scaling make the scores of long vectors larger or smaller?",
    ),
    Misconception(
        id="scales_by_the_input_size",
        exercise="self_attention",
        swaps=((SELF_WEIGHTS, "torch.softmax(scores / inputs.shape[-1] ** 0.5, dim=-1)"),),
        explanation=(
            "The scale is the root of d_in, the size of an input; it should be the root of the "
            "key size."
        ),
        question="How many products are added up in one score?",
    ),
    Misconception(
        id="scales_by_the_value_size",
        exercise="self_attention",
        swaps=((SELF_WEIGHTS, "torch.softmax(scores / values.shape[-1] ** 0.5, dim=-1)"),),
        explanation=(
            "The scale is the root of d_v, the size of a value; it should be the root of the key "
            "size."
        ),
        question="Which vectors are multiplied in a score?",
    ),
    Misconception(
        id="scales_by_the_number_of_tokens_in_self_attention",
        exercise="self_attention",
        swaps=((SELF_WEIGHTS, "torch.softmax(scores / keys.shape[0] ** 0.5, dim=-1)"),),
        explanation=(
            "The scale is the root of T, the number of tokens; it should be the root of the key "
            "size."
        ),
        question="Which axis of the keys counts their features?",
    ),
    Misconception(
        id="scales_after_softmax_in_self_attention",
        exercise="self_attention",
        swaps=((SELF_WEIGHTS, "torch.softmax(scores, dim=-1) / keys.shape[-1] ** 0.5"),),
        explanation="The weights are divided after softmax, so they no longer sum to 1.",
        question="What does your function return for a single token, and what should it return?",
    ),
    Misconception(
        id="lets_queries_compete_in_self_attention",
        exercise="self_attention",
        swaps=((SELF_WEIGHTS, "torch.softmax(scores / keys.shape[-1] ** 0.5, dim=0)"),),
        explanation="Softmax runs along the columns, over the queries.",
        question="Which weights should sum to 1, those of each query or those of each key?",
    ),
    Misconception(
        id="forgets_softmax_in_self_attention",
        exercise="self_attention",
        swaps=((SELF_WEIGHTS, "scores / keys.shape[-1] ** 0.5"),),
        explanation="The scaled scores are used as weights without softmax.",
        question="Which step turns scores into weights?",
    ),
    Misconception(
        id="turns_the_weights_in_self_attention",
        exercise="self_attention",
        swaps=(("return weights @ values", "return weights.T @ values"),),
        explanation="The weights are transposed before they mix the values.",
        question="Which row or column of the weights belongs to query i?",
    ),
    Misconception(
        id="returns_the_weights",
        exercise="self_attention",
        swaps=(("return weights @ values", "return weights"),),
        explanation="The attention weights are returned; the values have not been mixed yet.",
        question="Which step comes after the weights?",
    ),
    Misconception(
        id="returns_context_and_weights",
        exercise="self_attention",
        swaps=(("return weights @ values", "return weights @ values, weights"),),
        explanation="Context vectors and weights are returned together, as a tuple.",
        question="Can the caller use your result directly as a tensor?",
    ),
    Misconception(
        id="draws_weights_of_its_own",
        exercise="self_attention",
        swaps=(
            (
                "queries = inputs @ W_query",
                f"{DRAWN_ANEW}\n    queries = inputs @ W_query",
            ),
        ),
        explanation=(
            "New random matrices are drawn, and the matrices that the caller passes are not used."
        ),
        question="What do you get if you call your function twice with the same arguments?",
    ),
    Misconception(
        id="hides_the_future",
        exercise="self_attention",
        swaps=(
            (
                "scores = queries @ keys.T",
                f"{LATER}\n    scores = (queries @ keys.T).masked_fill(later, -torch.inf)",
            ),
        ),
        explanation="Later tokens are masked; in this stage every token may attend to every other.",
        question="May the first token attend to the last one here?",
    ),
    Misconception(
        id="attends_without_a_graph",
        exercise="self_attention",
        swaps=(("return weights @ values", "return (weights @ values).detach()"),),
        explanation=(
            "The result is detached from the graph, so none of the matrices can be trained."
        ),
        question="What does training need from this function?",
    ),
    Misconception(
        id="trains_the_values_only",
        exercise="self_attention",
        swaps=(("return weights @ values", "return weights.detach() @ values"),),
        explanation="The weights are detached, so W_query and W_key never get a gradient.",
        question=(
            "Through which factor of the last product do W_query and W_key influence the result?"
        ),
    ),
)

MISCONCEPTIONS = (*DRAWING, *PROJECTION, *SCORING, *WEIGHING, *MIXING, *WHOLE)
