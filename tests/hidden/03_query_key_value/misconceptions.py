"""Wrong answers that the suite of stage 03 must detect, with their explanations and questions."""

from autograder.diagnosis.misconceptions import Misconception

KEY = "W_key = nn.Parameter(draw(d_in, d_out), requires_grad=False)"
VALUE = "W_value = nn.Parameter(draw(d_in, d_out), requires_grad=False)"
CHOICE = 'draw = torch.randn if distribution == "randn" else torch.rand'
WEIGHTS = "torch.softmax(scores / d_k**0.5, dim=-1)"

DRAWING = (
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
        id="swaps_the_matrices_for_query_and_key",
        exercise="draw_weights",
        swaps=(("return W_query, W_key, W_value", "return W_key, W_query, W_value"),),
        explanation=(
            "The matrices for query and key are swapped: they must be drawn and returned in the "
            "order query, key, value."
        ),
        question="Which matrix is drawn first in your code, and which one is returned first?",
    ),
    Misconception(
        id="swaps_the_matrices_for_query_and_value",
        exercise="draw_weights",
        swaps=(("return W_query, W_key, W_value", "return W_value, W_key, W_query"),),
        explanation=(
            "The matrices for query and value are swapped: they must be drawn and returned in the "
            "order query, key, value."
        ),
        question="Which matrix is drawn first in your code, and which one is returned first?",
    ),
    Misconception(
        id="draws_trainable_matrices",
        exercise="draw_weights",
        swaps=(
            (
                "W_query = nn.Parameter(draw(d_in, d_out), requires_grad=False)",
                "W_query = nn.Parameter(draw(d_in, d_out))",
            ),
            (
                "W_key = nn.Parameter(draw(d_in, d_out), requires_grad=False)",
                "W_key = nn.Parameter(draw(d_in, d_out))",
            ),
            (
                "W_value = nn.Parameter(draw(d_in, d_out), requires_grad=False)",
                "W_value = nn.Parameter(draw(d_in, d_out))",
            ),
        ),
        explanation="The parameters are trainable, but they must be frozen.",
        question="Should a gradient be computed for these matrices?",
        when=(
            "calls Parameter",
            "no passes requires_grad",
            "no calls requires_grad_",
        ),
    ),
    Misconception(
        id="draws_in_float64",
        exercise="draw_weights",
        swaps=(
            (CHOICE, f"{CHOICE}\n    draw = lambda a, b, f=draw: f(a, b, dtype=torch.float64)"),
        ),
        explanation=(
            "The matrices are drawn in double precision, which also gives different numbers."
        ),
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
        explanation="The numbers are scaled after the draw; they must stay as drawn.",
        question="What should happen to the drawn numbers before they are returned?",
        when=("multiplies | divides",),
    ),
    Misconception(
        id="divides_by_the_root_of_d_in",
        exercise="draw_weights",
        swaps=((CHOICE, f"{CHOICE}\n    draw = lambda a, b, f=draw: f(a, b) / a**0.5"),),
        explanation="The drawn numbers are divided by the root of d_in; they must stay as drawn.",
        question="What should happen to the drawn numbers before they are returned?",
        when=("multiplies | divides",),
    ),
)

PROJECTION = (
    Misconception(
        id="raises_to_a_power",
        exercise="project",
        swaps=(("inputs @ weight", "inputs ** weight"),),
        explanation="The elementwise power ** is used; the matrix product is @ in Python.",
        question="Which operator multiplies matrices?",
        when=("takes roots",),
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
        question=(
            "What is the shape of the weight matrices, and which shape must W have in inputs @ W?"
        ),
    ),
    Misconception(
        id="transposes_the_weight",
        exercise="project",
        swaps=(("inputs @ weight", "inputs @ weight.T"),),
        explanation=(
            "The weight is transposed in the product, but its shape (d_in, d_out) fits as it is."
        ),
        question="Which two sizes are the inner sizes of your product?",
        when=("swaps axes",),
    ),
    Misconception(
        id="takes_the_weight_for_one_of_linear",
        exercise="project",
        swaps=(("inputs @ weight", "torch.nn.functional.linear(inputs, weight)"),),
        title="The weight matrices are used as if they were those of nn.Linear",
        explanation=(
            "The weight matrices are used as if they were those of nn.Linear: F.linear expects a "
            "weight of shape (d_out, d_in) and transposes it, but here the shape is (d_in, d_out)."
        ),
        question="Which shape does F.linear expect for its weight?",
        when=("calls linear | calls Linear",),
    ),
    Misconception(
        id="puts_the_weight_on_the_left",
        exercise="project",
        swaps=(("inputs @ weight", "weight @ inputs"),),
        explanation=(
            "The weight is the left factor of the product, so the product adds up over tokens; it "
            "must add up over features."
        ),
        question="Which of the two factors has a row for each token?",
    ),
    Misconception(
        id="names_an_axis_of_tokens",
        exercise="project",
        swaps=(("inputs @ weight", 'torch.einsum("td,de->te", inputs, weight)'),),
        explanation=(
            "A single input vector raises an error, because the product names an axis for the "
            "tokens."
        ),
        question="Which axes does a single input vector have?",
        when=("calls einsum",),
    ),
    Misconception(
        id="serves_no_single_vector",
        exercise="project",
        swaps=(("inputs @ weight", "torch.mm(inputs, weight)"),),
        explanation="A single input vector raises an error, because torch.mm takes matrices only.",
        question="What does your function do with inputs of shape (d_in,)?",
        when=("calls mm",),
    ),
)

SCORING = (
    Misconception(
        id="forgets_to_transpose_the_keys",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "queries @ keys"),),
        explanation="The keys are not transposed, so the product pairs features with tokens.",
        question=(
            "Which two sizes must be equal in queries @ keys, and must they count tokens or "
            "features?"
        ),
    ),
    Misconception(
        id="scales_the_scores_already",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "queries @ keys.T / keys.shape[-1] ** 0.5"),),
        explanation=(
            "The scores are scaled here already, but scaling is the task of `attention_weights`."
        ),
        question="Which function of this stage takes d_k, and why?",
        when=("divides | multiplies",),
    ),
    Misconception(
        id="multiplies_without_adding",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "queries * keys"),),
        explanation=(
            "Queries and keys are multiplied element by element, but the products are not added up."
        ),
        question="How many scores should one query and one key give?",
        when=("multiplies",),
    ),
    Misconception(
        id="serves_no_single_query",
        exercise="attention_scores",
        swaps=(("queries @ keys.T", "torch.mm(queries, keys.T)"),),
        explanation="A single query raises an error, because torch.mm takes matrices only.",
        question="What does your function do with a query of shape (d,)?",
        when=("calls mm",),
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
        when=("loops | calls diag | multiplies",),
    ),
)

WEIGHING = (
    Misconception(
        id="roots_d_k_as_a_tensor",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores / torch.sqrt(d_k), dim=-1)"),),
        explanation="The plain number d_k is passed to torch.sqrt, which takes only tensors.",
        question="How do you write a square root in plain Python?",
        when=("calls sqrt",),
    ),
    Misconception(
        id="softmaxes_along_axis_one",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores / d_k**0.5, dim=1)"),),
        explanation="The softmax runs along axis 1, but the scores of one query have no such axis.",
        question="Which number of an axis means the last axis of any tensor?",
        when=(
            "takes a softmax",
            "runs along another axis",
        ),
    ),
    Misconception(
        id="attends_to_all_alike",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores * 0 / d_k**0.5, dim=-1)"),),
        explanation="All weights of a query are equal; they must depend on its scores.",
        question="Where in your function do the scores make a difference?",
    ),
    Misconception(
        id="changes_the_scores",
        exercise="attention_weights",
        swaps=(
            (f"return {WEIGHTS}", "scores /= d_k**0.5\n    return torch.softmax(scores, dim=-1)"),
        ),
        explanation="The caller's scores are overwritten and stay scaled after the call.",
        question="What happens if someone calls your function twice with the same scores?",
        when=("changes tensors in place",),
    ),
    Misconception(
        id="divides_the_weights_by_d_k",
        exercise="attention_weights",
        swaps=((WEIGHTS, "torch.softmax(scores, dim=-1) / d_k"),),
        title="The weights are divided by d_k",
        explanation=(
            "The weights are divided by d_k; instead, the scores must be divided by its square "
            "root before the softmax."
        ),
        question="What do the rows of your weights add up to?",
        when=("divides | multiplies",),
    ),
    Misconception(
        id="cancels_the_scale",
        exercise="attention_weights",
        swaps=(
            (
                WEIGHTS,
                (
                    "(lambda e: e / e.sum(dim=-1, keepdim=True))"
                    "(torch.exp(scores - scores.amax(dim=-1, keepdim=True)) / d_k**0.5)"
                ),
            ),
        ),
        title="The scale cancels out",
        explanation=(
            "The scale cancels out: the exponentials and their sum contain the same factor; the "
            "scores must be divided before the exponential."
        ),
        question="Which numbers do you divide by the root of d_k, scores or exponentials?",
        when=("takes exponentials", "takes roots", "divides"),
    ),
    Misconception(
        id="shifts_only_what_is_divided",
        exercise="attention_weights",
        swaps=(
            (
                WEIGHTS,
                (
                    "torch.softmax(scores / d_k**0.5, dim=-1)"
                    " / (scores / d_k**0.5).amax(dim=-1, keepdim=True).exp()"
                ),
            ),
        ),
        explanation=(
            "The maximum is subtracted in the numerator but not in the divisor; both need the same "
            "shift."
        ),
        question="Which exponentials do you add up, and which do you divide?",
        when=("takes exponentials", "takes a maximum"),
    ),
)

MIXING = (
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
        id="transposes_the_weights",
        exercise="context_vectors",
        swaps=(("weights @ values", "(weights.T if weights.ndim > 1 else weights) @ values"),),
        explanation=(
            "The weights are transposed in the product, so each query gets the weights of a column."
        ),
        question="Which weights belong to query i: row i or column i?",
        when=("swaps axes",),
    ),
    Misconception(
        id="adds_up_the_queries",
        exercise="context_vectors",
        swaps=(("weights @ values", "(weights.unsqueeze(-1) * values).sum(dim=0)"),),
        explanation="The products are added up over the queries; they must be over the keys.",
        question="Which axis of (T, T, d_v) counts the tokens that are mixed?",
    ),
    Misconception(
        id="puts_the_values_on_the_left",
        exercise="context_vectors",
        swaps=(("weights @ values", "values @ weights"),),
        explanation=(
            "The values are the left factor of the product, so the product adds up over features; "
            "it must add up over tokens."
        ),
        question="Which of the two factors has a row for each query?",
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
        when=("calls mm",),
    ),
    Misconception(
        id="cuts_the_graph_in_context",
        exercise="context_vectors",
        swaps=(("weights @ values", "weights.detach() @ values"),),
        explanation="The weights are detached, so no gradient reaches the queries and keys.",
        question="Through which of the two factors do queries and keys influence the result?",
        when=("detaches",),
    ),
    Misconception(
        id="softens_the_weights_again",
        exercise="context_vectors",
        swaps=(("weights @ values", "torch.softmax(weights, dim=-1) @ values"),),
        explanation="A softmax changes the weights; they must be used as they are.",
        question="Which function of this stage has already taken the softmax?",
        when=("takes a softmax",),
    ),
)

WHOLE = (
    Misconception(
        id="mixes_the_inputs",
        exercise="self_attention",
        swaps=(("return weights @ values", "return weights @ inputs"),),
        explanation="The inputs are averaged instead of the values.",
        question="What is the third projection for?",
    ),
    Misconception(
        id="draws_weights_of_its_own",
        exercise="self_attention",
        swaps=(
            (
                "queries = inputs @ W_query",
                (
                    "W_query, W_key, W_value = draw_weights(*W_value.shape)\n    "
                    "queries = inputs @ W_query"
                ),
            ),
        ),
        explanation=(
            "New random matrices are drawn; the matrices that the caller passes must be used."
        ),
        question="What do you get if you call your function twice with the same arguments?",
    ),
)

MISCONCEPTIONS = (*DRAWING, *PROJECTION, *SCORING, *WEIGHING, *MIXING, *WHOLE)
