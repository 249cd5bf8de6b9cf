"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import WrongAnswer, check, expect
from autograder.suite.compare import agrees, number, number_agrees, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators
from autograder.suite.student_proxy import RemoteModule, Student


@pytest.fixture
def inputs(documented: DocumentedTensors) -> Tensor:
    """Return "Your journey starts with one step", one embedding per row: (6, 3)."""
    return documented["000.inputs"].tensor.clone()


@pytest.fixture
def keeps_dtype(student: Student) -> Callable[..., None]:
    """Return a check that a function, or a module, answers in the dtype of its tensors."""

    def compare(asked: str | RemoteModule, *args: object) -> None:
        for dtype, name in ((torch.float64, "float64"), (torch.float32, "float32")):
            given = [arg.to(dtype) if isinstance(arg, Tensor) else arg for arg in args]
            if isinstance(asked, RemoteModule):
                asked.move(name)
                answer = asked(*given)
            else:
                answer = student.call(asked, *given)
            same_dtype(tensor(answer), dtype, f"The result for {name} inputs")

    return compare


READY_SOFTMAX = frozenset(
    {
        "AdaptiveLogSoftmaxWithLoss",
        "LogSoftmax",
        "Softmax",
        "Softmax2d",
        "Softmin",
        "_log_softmax",
        "_safe_softmax",
        "_softmax",
        "gumbel_softmax",
        "log_softmax",
        "logsumexp",
        "softmax",
        "softmin",
    }
)
T, D = 5, 7  # different sizes, so that no wrong axis fits by chance
BY_HAND = frozenset({"softmax", *READY_SOFTMAX} - {"logsumexp"})  # logsumexp alone is not a softmax
WRITE_IT_OUT = "Write softmax out here: exponentials and a sum."
ELEMENT_BY_ELEMENT = "Multiply element by element, in plain Python."
PRODUCTS = frozenset(
    {"dot", "vdot", "inner", "matmul", "einsum", "tensordot", "multiply", "vecdot"}
)
ARITHMETIC = frozenset(  # torch's operators on whole vectors
    {"add", "addcmul", "addmm", "addmv", "baddbmm", "bmm", "convolution", "cumsum", "div", "dot"}
    | {"linalg_vecdot", "mean", "mm", "mul", "mul_", "mv", "nansum", "pow", "prod", "sub", "sum"}
    | {"vdot"}
)


@pytest.fixture
def scores_2(documented):
    """Return the scores of the query "journey", before rounding: (6,)."""
    return documented["000.inputs"].tensor @ documented["003.query"].tensor


@pytest.fixture
def same_gradients(student, reference, probe):
    """Return a function that compares the gradients of the inputs with the reference's."""

    def compare(name, *args):
        cotangent = probe.normal(*reference.call(name, *args).shape)
        tensor_like(student.call(name, *args), tuple(cotangent.shape))
        yours = student.gradients(name, *args, cotangent=cotangent).inputs
        ours = reference.gradients(name, *args, cotangent=cotangent).inputs
        for gradient, wanted in zip(yours, ours, strict=True):
            if wanted is not None:
                expect(gradient is not None, f"No gradient reaches the inputs of {name}.")
                agrees(gradient, wanted, "The gradient that reaches an input")

    return compare


# dot_product


@check("dot_product", points=0.2, layer="documented")
def test_dot_product_gives_the_documented_scores(student, documented, inputs):
    """The dot products of "journey" with the tokens are the documented scores."""
    query = documented["003.query"].tensor
    found = [number(student.call("dot_product", token, query), "A dot product") for token in inputs]

    documented["002.simple.score_12"].matches(found[0], 'The dot product of "Your" and "journey"')
    documented["002.simple.scores_2"].matches(torch.tensor(found), "The list of dot products")


@check("dot_product", points=0.2, layer="documented")
def test_dot_product_takes_lists(student, documented, inputs):
    """Plain lists of numbers work too."""
    found = student.call("dot_product", inputs[0].tolist(), inputs[1].tolist())

    documented["002.simple.score_12"].matches(found, "The dot product of two lists")
    number_agrees(student.call("dot_product", [3, -4, 5, 2], [2, 6, -1, 7]), -9)


@check("dot_product", points=0.3, layer="probe")
def test_dot_product_of_unseen_vectors(student, probe):
    """The result is right for vectors of any length and for negative elements."""
    for length in (D, 1, 2):
        a, b = probe.normal(length, scale=1.5), probe.normal(length, scale=1.5)

        number_agrees(student.call("dot_product", a, b), float(a @ b))


@check("dot_product", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_dot_product_leaves_its_vectors_alone(student, probe):
    """The vectors are unchanged, and an earlier call does not affect the result."""
    a, b = probe.normal(D), probe.normal(D)
    student.call("dot_product", b, b)

    number_agrees(student.call("dot_product", a, b), float(a @ b), "A second dot product")
    expect(student.keeps_inputs("dot_product", a, b), "dot_product changes one of its arguments.")


@check("dot_product", points=0.1, layer="laws", rules=("refuses",))
def test_dot_product_refuses_unequal_lengths(student, probe):
    """Sequences of different lengths raise an error, no matter which one is longer."""
    long, short = probe.normal(4), probe.normal(3)
    number_agrees(student.call("dot_product", long, long), float(long @ long))

    for a, b in ((long, short), (short, long), (long.tolist(), short.tolist())):
        expect(
            student.refuses("dot_product", a, b),
            "Unequal lengths give a result; they should raise a ValueError.",
        )


@check("dot_product", points=0.35, layer="forbidden", rules=("plain_python",))
def test_dot_product_is_plain_python(student, probe):
    """The elements are multiplied one by one, without a torch function."""
    a, b = probe.normal(D), probe.normal(D)
    number_agrees(student.call("dot_product", a, b), float(a @ b))
    with_lists = student.operators("dot_product", a.tolist(), b.tolist())
    ran = student.operators("dot_product", a, b)

    expect_by_hand(student, "dot_product", ran, PRODUCTS, ELEMENT_BY_ELEMENT)
    whole = sorted({name.split(".")[1] for name, size in ran.operators if size > 1} & ARITHMETIC)
    for name in whole:
        sentence = f"Your code runs {name} on whole vectors. {ELEMENT_BY_ELEMENT}"
        raise WrongAnswer(Status.FORBIDDEN, sentence)
    expect(
        not with_lists.functions and not with_lists.total,
        "Given two lists, your code still calls torch; lists of numbers do not need it.",
        Status.FORBIDDEN,
    )


# scores_for_query


@check("scores_for_query", points=0.05, layer="shapes")
def test_scores_for_query_gives_one_score_per_token(student, documented, inputs):
    """Six tokens and one query give six scores: (6, 3) and (3,) -> (6,)."""
    tokens = documented["003.inputs.length"].value

    tensor_like(student.call("scores_for_query", inputs, inputs[1]), (tokens,))


@check("scores_for_query", points=0.25, layer="documented")
def test_scores_for_query_gives_the_documented_scores(student, documented, inputs):
    """The query "journey" gets the documented scores."""
    scores = student.call("scores_for_query", inputs, documented["003.query"].tensor)

    documented["002.simple.scores_2"].matches(scores)


@check("scores_for_query", points=0.4, layer="probe", rules=("float32",))
def test_scores_for_query_compares_any_query(student, reference, probe):
    """A query that is not a token of the sequence is also compared with every token."""
    for tokens in (T, 9):
        x, query = probe.normal(tokens, D, scale=1.5), probe.normal(D, scale=1.5)
        ours = reference.call("scores_for_query", x, query)

        agrees(student.call("scores_for_query", x, query), ours)


@check("scores_for_query", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_scores_for_query_serves_a_single_token(student, probe):
    """One token gives one score, and the inputs are unchanged."""
    x, query = probe.normal(1, D), probe.normal(D)

    agrees(student.call("scores_for_query", x, query), (x * query).sum(dim=1))
    unchanged = student.keeps_inputs("scores_for_query", x, query)
    expect(unchanged, "scores_for_query changes one of its arguments.")


@check("scores_for_query", points=0.2, layer="gradients", rules=("gradients",))
def test_scores_for_query_stays_in_the_graph(probe, same_gradients):
    """Gradients flow from the scores back to the tokens and the query."""
    same_gradients("scores_for_query", probe.normal(T, D), probe.normal(D))


# normalize_by_sum


@check("normalize_by_sum", points=0.25, layer="documented")
def test_normalize_by_sum_gives_the_documented_shares(student, documented, scores_2):
    """The documented scores become the documented weights, which add up to 1."""
    shares = student.call("normalize_by_sum", scores_2)

    documented["002.simple.weights_2.by_sum"].matches(shares)
    total = tensor(shares).sum()
    documented["002.simple.weights_2.by_sum.sum"].matches(total, "The sum of the result")


@check("normalize_by_sum", points=0.15, layer="probe")
def test_normalize_by_sum_keeps_signs(student, reference, probe):
    """Negative scores stay negative: the function only divides."""
    scores = torch.cat([probe.uniform(T) + 1, -probe.uniform(2) - 0.2])

    ours = reference.call("normalize_by_sum", scores)
    agrees(student.call("normalize_by_sum", scores), ours)


@check("normalize_by_sum", points=0.1, layer="laws", rules=("dtype",))
def test_normalize_by_sum_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("normalize_by_sum", probe.uniform(T) + 0.5)


@check("normalize_by_sum", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_normalize_by_sum_leaves_the_scores_alone(student, reference, probe):
    """Scores that are ten times as large give the same weights, and the input is unchanged."""
    scores = probe.uniform(T) + 0.1

    ours = reference.call("normalize_by_sum", scores)
    agrees(student.call("normalize_by_sum", 10 * scores), ours)
    unchanged = student.keeps_inputs("normalize_by_sum", scores)
    expect(unchanged, "normalize_by_sum changes the scores it was given.")


@check("normalize_by_sum", points=0.15, layer="gradients", rules=("gradients",))
def test_normalize_by_sum_stays_in_the_graph(probe, same_gradients):
    """Gradients flow back through the numerator and the denominator."""
    same_gradients("normalize_by_sum", probe.uniform(T) + 0.5)


# softmax_naive


@check("softmax_naive", points=0.25, layer="documented")
def test_softmax_naive_gives_the_documented_weights(student, documented, scores_2):
    """The documented scores become the documented weights, which add up to 1."""
    weights = student.call("softmax_naive", scores_2)

    documented["002.simple.weights_2.softmax"].matches(weights)
    total = tensor(weights).sum()
    documented["002.simple.weights_2.softmax.sum"].matches(total, "The sum of the weights")


@check("softmax_naive", points=0.2, layer="probe")
def test_softmax_naive_of_unseen_scores(student, reference, probe):
    """The weights are right for any number of scores, positive and negative."""
    for tokens in (D, 2, 1):
        scores = probe.normal(tokens, scale=2.0)
        ours = reference.call("softmax_naive", scores)

        agrees(student.call("softmax_naive", scores), ours)


@check("softmax_naive", points=0.1, layer="laws", rules=("dtype",))
def test_softmax_naive_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("softmax_naive", probe.normal(T))


@check("softmax_naive", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_softmax_naive_sees_differences_only(student, reference, probe):
    """Adding one number to all scores does not change the weights, and the input is unchanged."""
    scores = probe.normal(T)

    ours = reference.call("softmax_naive", scores)
    agrees(
        student.call("softmax_naive", scores + 3),
        ours,
        "The softmax after adding the same amount to all scores",
    )
    unchanged = student.keeps_inputs("softmax_naive", scores)
    expect(unchanged, "softmax_naive changes the scores it was given.")


@check("softmax_naive", points=0.15, layer="gradients", rules=("gradients",))
def test_softmax_naive_stays_in_the_graph(probe, same_gradients):
    """Gradients flow from the weights back to the scores."""
    same_gradients("softmax_naive", probe.normal(T))


@check("softmax_naive", points=0.2, layer="forbidden", rules=("no_ready_softmax",))
def test_softmax_naive_is_written_out(student, reference, probe):
    """The softmax is written out with exponentials, without torch's own softmax."""
    scores = probe.normal(T)
    agrees(student.call("softmax_naive", scores), reference.call("softmax_naive", scores))

    ran = student.operators("softmax_naive", scores)
    expect_by_hand(student, "softmax_naive", ran, BY_HAND, WRITE_IT_OUT)


# softmax_stable


@check("softmax_stable", points=0.2, layer="documented")
def test_softmax_stable_gives_the_documented_weights(student, documented, inputs, scores_2):
    """The weights of one query and of all queries, row by row, are the documented ones."""
    of_one = student.call("softmax_stable", scores_2, 0)
    of_all = student.call("softmax_stable", inputs @ inputs.T, 1)

    documented["002.simple.weights_2.softmax"].matches(
        of_one, "With dim=0 the softmax of one query"
    )
    documented["003.simple.weights"].matches(of_all, "With dim=1 the softmax of all queries")


@check("softmax_stable", points=0.35, layer="probe")
def test_softmax_stable_along_every_axis(student, reference, probe):
    """Scores with one to four axes are normalized along dim, which may be negative."""
    for shape in ((T,), (3, T), (2, 3, T), (2, 3, T, 4)):
        scores = probe.normal(*shape, scale=2.0)
        for dim in range(-len(shape), len(shape)):
            ours = reference.call("softmax_stable", scores, dim)
            yours = student.call("softmax_stable", scores, dim)

            agrees(yours, ours, f"With {len(shape)} axes and dim={dim} the result")


@check("softmax_stable", points=0.1, layer="laws", rules=("dtype",))
def test_softmax_stable_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("softmax_stable", probe.normal(3, T), 1)


@check("softmax_stable", points=0.3, layer="laws")
def test_softmax_stable_survives_a_thousand(student, reference, probe):
    """Scores around 1000 and around -1000 give the right weights, even within one slice."""
    scores = (probe.normal(3, T) * 8).round() / 8  # multiples of 1/8 stay exact near 1000
    ours = reference.call("softmax_stable", scores, 1)

    for shift in (1000.0, -1000.0):
        agrees(
            student.call("softmax_stable", scores + shift, 1), ours, "The softmax of shifted scores"
        )
    apart = scores + torch.tensor([0.0, 1000.0, -1000.0, 1000.0, -1000.0])
    agrees(student.call("softmax_stable", apart, 1), reference.call("softmax_stable", apart, 1))


@check("softmax_stable", points=0.2, layer="laws")
def test_softmax_stable_treats_each_slice_alone(student, reference, probe):
    """Large scores in one slice do not change the weights of other slices."""
    scores = probe.normal(3, T) + torch.tensor([[1000.0], [0.0], [-1000.0]])

    agrees(student.call("softmax_stable", scores, 1), reference.call("softmax_stable", scores, 1))
    agrees(
        student.call("softmax_stable", scores.T, 0), reference.call("softmax_stable", scores.T, 0)
    )


@check("softmax_stable", points=0.15, layer="laws", rules=("inputs_unchanged", "minus_infinity"))
def test_softmax_stable_gives_nothing_to_minus_infinity(student, reference, probe):
    """A score of minus infinity gets the weight 0, and the input is unchanged."""
    scores = probe.normal(3, T)
    scores[0, 1] = scores[2, 4] = scores[2, 0] = -torch.inf

    agrees(student.call("softmax_stable", scores, 1), reference.call("softmax_stable", scores, 1))
    unchanged = student.keeps_inputs("softmax_stable", scores, 1)
    expect(unchanged, "softmax_stable changes the scores it was given.")


@check("softmax_stable", points=0.2, layer="gradients", rules=("gradients",))
def test_softmax_stable_stays_in_the_graph(probe, same_gradients):
    """Gradients flow from the weights back to the scores, along any axis."""
    same_gradients("softmax_stable", probe.normal(2, 3, T), 1)
    same_gradients("softmax_stable", probe.normal(3, T), -1)


@check("softmax_stable", points=0.25, layer="forbidden", rules=("no_ready_softmax",))
def test_softmax_stable_is_written_out(student, reference, probe):
    """The softmax is written out with exponentials, without torch's own softmax."""
    scores = probe.normal(3, T)
    agrees(student.call("softmax_stable", scores, 1), reference.call("softmax_stable", scores, 1))

    for args in ((scores, 1), (scores, 0), (scores[0], 0), (scores + 1000, -1)):
        ran = student.operators("softmax_stable", *args)
        expect_by_hand(student, "softmax_stable", ran, BY_HAND, WRITE_IT_OUT)


# context_vector


@check("context_vector", points=0.05, layer="shapes")
def test_context_vector_has_the_size_of_a_token(student, inputs):
    """Six weights and six tokens of three features give one vector of three features."""
    tensor_like(student.call("context_vector", torch.full((6,), 1 / 6), inputs), (3,))


@check("context_vector", points=0.25, layer="documented")
def test_context_vector_gives_the_documented_mixture(student, documented, inputs, scores_2):
    """The documented weights of "journey" give its documented context vector."""
    weights = torch.softmax(scores_2, dim=0)

    documented["002.simple.context_2"].matches(student.call("context_vector", weights, inputs))


@check("context_vector", points=0.35, layer="probe", rules=("float32",))
def test_context_vector_takes_weights_as_they_are(student, reference, probe):
    """The mixture is right for any weights, with any signs and any sum."""
    for tokens in (T, 9):
        weights, x = probe.normal(tokens), probe.normal(tokens, D, scale=1.5)
        ours = reference.call("context_vector", weights, x)

        agrees(student.call("context_vector", weights, x), ours)


@check("context_vector", points=0.15, layer="laws", rules=("inputs_unchanged",))
def test_context_vector_picks_the_token_with_all_the_weight(student, probe):
    """With all weight on one token, the result is that token; weights and tokens are unchanged."""
    x = probe.normal(T, D)
    for index in (T - 1, 0, 2):
        weights = torch.zeros(T)
        weights[index] = 1.0

        agrees(student.call("context_vector", weights, x), x[index])
    unchanged = student.keeps_inputs("context_vector", weights, x)
    expect(unchanged, "context_vector changes one of its arguments.")


@check("context_vector", points=0.2, layer="gradients", rules=("gradients",))
def test_context_vector_stays_in_the_graph(probe, same_gradients):
    """Gradients flow from the context vector back to the weights and the tokens."""
    same_gradients("context_vector", probe.uniform(T), probe.normal(T, D))


# attention_scores


@check("attention_scores", points=0.05, layer="shapes")
def test_attention_scores_compare_every_pair(student, inputs):
    """Six tokens give a (6, 6) matrix of scores."""
    tensor_like(student.call("attention_scores", inputs), (6, 6))


@check("attention_scores", points=0.2, layer="documented")
def test_attention_scores_are_the_documented_ones(student, documented, inputs):
    """The scores of all pairs are the documented ones."""
    documented["002.simple.scores"].matches(student.call("attention_scores", inputs))


@check("attention_scores", points=0.15, layer="probe")
def test_attention_scores_of_unseen_tokens(student, reference, probe):
    """The scores are right for any number of tokens, even for T = 1 and T = d."""
    for tokens in (T, D, 1):
        x = probe.normal(tokens, D, scale=1.5)

        agrees(student.call("attention_scores", x), reference.call("attention_scores", x))


@check("attention_scores", points=0.1, layer="laws", rules=("dtype",))
def test_attention_scores_keep_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("attention_scores", probe.normal(T, D))


@check("attention_scores", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_attention_scores_hold_squared_lengths_on_the_diagonal(student, probe):
    """The score of a token with itself is its squared length, and the tokens are unchanged."""
    x = probe.normal(T, D, scale=1.5)

    scores = tensor_like(student.call("attention_scores", x), (T, T))
    agrees(scores.diagonal(), x.square().sum(dim=1), "The diagonal of the scores")
    unchanged = student.keeps_inputs("attention_scores", x)
    expect(unchanged, "attention_scores changes the inputs it was given.")


@check("attention_scores", points=0.2, layer="gradients", rules=("gradients",))
def test_attention_scores_stay_in_the_graph(probe, same_gradients):
    """Gradients flow from the scores back to the tokens, as queries and as keys."""
    same_gradients("attention_scores", probe.normal(T, D))


@check("attention_scores", points=0.2, layer="forbidden", rules=("no_loops",))
def test_attention_scores_need_no_loop(student, reference, probe):
    """A long sequence takes no more tensor operations than a short one."""
    few, many = probe.normal(3, D), probe.normal(11, D)
    agrees(student.call("attention_scores", many), reference.call("attention_scores", many))

    short = student.operators("attention_scores", few)
    long = student.operators("attention_scores", many)
    keeps_operators(short, long, "One matrix product compares all pairs at once.")


# attention_weights


@check("attention_weights", points=0.05, layer="shapes")
def test_attention_weights_are_as_many_as_scores(student, inputs):
    """Every score becomes a weight: (6, 6) -> (6, 6)."""
    tensor_like(student.call("attention_weights", inputs @ inputs.T), (6, 6))


@check("attention_weights", points=0.25, layer="documented")
def test_attention_weights_are_the_documented_ones(student, documented, inputs):
    """The weights of all queries are the documented ones, and each row adds up to 1."""
    answer = student.call("attention_weights", inputs @ inputs.T)

    documented["003.simple.weights"].matches(answer)
    sums = tensor(answer).sum(dim=-1)
    documented["003.simple.row_sums"].matches(sums, "The vector of row sums")
    documented["003.simple.row_2_sum"].matches(sums[1], 'The sum of the weights of "journey"')


@check("attention_weights", points=0.25, layer="probe")
def test_attention_weights_run_along_the_rows(student, reference, probe):
    """Softmax runs over the rows of the scores, not over the columns."""
    scores = probe.normal(T, T, scale=2.0)

    agrees(student.call("attention_weights", scores), reference.call("attention_weights", scores))


@check("attention_weights", points=0.1, layer="laws", rules=("dtype",))
def test_attention_weights_keep_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("attention_weights", probe.normal(T, T))


@check("attention_weights", points=0.15, layer="laws", rules=("inputs_unchanged",))
def test_attention_weights_of_each_query_add_up_to_one(student, probe):
    """The weights of each query are positive and add up to 1, even for a single token."""
    scores = probe.normal(T, T, scale=2.0)

    weights = tensor_like(student.call("attention_weights", scores), (T, T))
    expect((weights > 0).all(), "Some weights are not positive.")
    agrees(weights.sum(dim=1), torch.ones(T), "The vector of row sums")
    agrees(student.call("attention_weights", scores[:1, :1]), torch.ones(1, 1), "A single weight")
    unchanged = student.keeps_inputs("attention_weights", scores)
    expect(unchanged, "attention_weights changes the scores it was given.")


@check("attention_weights", points=0.2, layer="gradients", rules=("gradients",))
def test_attention_weights_stay_in_the_graph(probe, same_gradients):
    """Gradients flow from the weights back to the scores."""
    same_gradients("attention_weights", probe.normal(T, T))


# simple_self_attention


@check("simple_self_attention", points=0.05, layer="shapes")
def test_simple_self_attention_gives_each_token_a_context_vector(student, inputs):
    """Every token gets one context vector with as many features as the token: (6, 3) -> (6, 3)."""
    tensor_like(student.call("simple_self_attention", inputs), (6, 3))


@check("simple_self_attention", points=0.3, layer="documented")
def test_simple_self_attention_gives_the_documented_context(student, documented, inputs):
    """The context vectors of all tokens are the documented ones."""
    context = student.call("simple_self_attention", inputs)

    documented["003.simple.context"].matches(context)
    journey = tensor(context)[1]
    documented["002.simple.context_2"].matches(journey, 'The context vector of "journey"')


@check("simple_self_attention", points=0.3, layer="probe")
def test_simple_self_attention_of_unseen_tokens(student, reference, probe):
    """The context vectors are right for any number of tokens, even for T = d."""
    for tokens in (T, D):
        x = probe.normal(tokens, D, scale=0.7)  # larger tokens would attend only to themselves
        ours = reference.call("simple_self_attention", x)

        agrees(student.call("simple_self_attention", x), ours)


@check("simple_self_attention", points=0.1, layer="laws", rules=("dtype",))
def test_simple_self_attention_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("simple_self_attention", probe.normal(T, D))


@check("simple_self_attention", points=0.15, layer="laws")
def test_simple_self_attention_knows_no_order(student, reference, probe):
    """The same tokens in a different order get the same context vectors in that order."""
    x = probe.normal(T, D, scale=0.7)
    order = torch.tensor([3, 0, 4, 1, 2])

    ours = reference.call("simple_self_attention", x)
    student.call("simple_self_attention", x)
    agrees(student.call("simple_self_attention", x[order]), ours[order])


@check("simple_self_attention", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_simple_self_attention_of_one_token_is_that_token(student, probe):
    """A single token is its own context vector, and the inputs are unchanged."""
    x = probe.normal(1, D)

    agrees(student.call("simple_self_attention", x), x)
    unchanged = student.keeps_inputs("simple_self_attention", x)
    expect(unchanged, "simple_self_attention changes the inputs it was given.")


@check("simple_self_attention", points=0.25, layer="gradients", rules=("gradients",))
def test_simple_self_attention_stays_in_the_graph(probe, same_gradients):
    """Gradients flow back to the tokens as queries, as keys and as values."""
    same_gradients("simple_self_attention", probe.normal(T, D, scale=0.7))


def expect_by_hand(student, exercise, ran, names, why):
    """Fail if the source uses one of *names*, or if one of them ran without appearing in it."""
    avoids(student, exercise, names, why)
    avoids_running(ran, names, why)
