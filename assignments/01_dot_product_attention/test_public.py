"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import WrongAnswer, check, expect
from autograder.suite.compare import (
    agrees,
    alike,
    number,
    number_agrees,
    same_dtype,
    tensor,
    tensor_like,
)
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
        "_masked_softmax",
        "_safe_softmax",
        "_softmax",
        "gumbel_softmax",
        "log_softmax",
        "logcumsumexp",
        "logsumexp",
        "softmax",
        "softmin",
    }
)
T, D = 5, 7  # different sizes, so that no wrong axis fits by chance
SMALL = 0.7  # with larger tokens, each token would attend only to itself
ORDER = (3, 0, 4, 1, 2)
DOUBLE = math.log(2)  # a score that is larger by this much gets twice the weight
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
                expect(gradient is not None, f"An input of {name} gets no gradient.")
                agrees(gradient, wanted, "The gradient that reaches an input")

    return compare


def has_effect(student, name, first, *others):
    """Expect that the order of the rows or numbers of *first* has an effect on the result."""
    before = tensor(student.call(name, first, *others))
    after = tensor(student.call(name, first.flip(0), *others))
    same = before.shape == after.shape and alike(after, before)
    expect(not same, f"{name} gives the same result if its first argument is reversed.")


def keeps_arguments(student, name, *args):
    """Expect that the call changes none of its arguments, and that they have an effect."""
    has_effect(student, name, *args)
    expect(student.keeps_inputs(name, *args), f"{name} changes one of its arguments.")


def varies(answer):
    """Expect that the numbers in *answer* are not all equal."""
    expect(
        not alike(answer, answer.flatten()[0].expand(answer.shape)),
        "All numbers of the result are equal.",
    )


def same_number(answer, other, what, name):
    """Compare a number with another result of the student's, which *name* describes."""
    agrees(number(answer, what), other, what, name)


def by_hand(student, exercise, ran, names, why):
    """Fail if the source uses one of *names*, or if one of them ran without appearing in it."""
    avoids(student, exercise, names, why)
    avoids_running(ran, names, why)


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


@check("dot_product", points=0.2, layer="probe")
def test_dot_product_of_unseen_vectors(student, probe):
    """The result is right for vectors of any length and for negative elements."""
    for length in (D, 1, 2):
        a, b = probe.normal(length, scale=1.5), probe.normal(length, scale=1.5)

        number_agrees(student.call("dot_product", a, b), float(a @ b))


@check("dot_product", points=0.1, layer="laws")
def test_dot_product_doubles_with_a_vector(student, probe):
    """Twice one of the vectors gives twice the result."""
    a, b = probe.uniform(D) + 0.5, probe.uniform(D) + 0.5
    once = number(student.call("dot_product", a, b))

    expect(abs(once) > 0.1, "The result is nearly zero or NaN, but all elements are positive.")
    twice = student.call("dot_product", 2 * a, b)
    same_number(twice, 2 * once, "The result for twice a", "twice the result")
    twice = student.call("dot_product", a, 2 * b)
    same_number(twice, 2 * once, "The result for twice b", "twice the result")


@check("dot_product", points=0.1, layer="laws")
def test_dot_product_adds_up_its_parts(student, probe):
    """The results for the two halves of the vectors add up to the result for the whole vectors."""
    a, b = probe.uniform(D) + 0.5, probe.uniform(D) + 0.5
    whole = number(student.call("dot_product", a, b))
    first = number(student.call("dot_product", a[:3], b[:3]))

    expect(abs(first) > 0.1, "The result is nearly zero or NaN, but all elements are positive.")
    second = student.call("dot_product", a[3:], b[3:])
    name = "the difference of the results for the whole vectors and the first half"
    same_number(second, whole - first, "The result for the second half", name)


@check("dot_product", points=0.1, layer="laws")
def test_dot_product_treats_both_vectors_alike(student, probe):
    """The order of the two vectors does not matter, and both have an effect on the result."""
    a, b = probe.uniform(D) + 0.5, probe.uniform(D) + 0.5
    once = number(student.call("dot_product", a, b))
    swapped = student.call("dot_product", b, a)
    same_number(swapped, once, "The result for b and a", "that for a and b")

    longer = torch.eye(D)[0]  # added to a vector, it makes the leading element larger
    for pair in ((a + longer, b), (a, b + longer)):
        other = number(student.call("dot_product", *pair))
        expect(abs(other - once) > 0.1, "A different vector does not clearly change the result.")


@check("dot_product", points=0.05, layer="laws", rules=("inputs_unchanged",))
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


@check("dot_product", points=0.15, layer="forbidden", rules=("plain_python",))
def test_dot_product_is_plain_python(student, probe):
    """The elements are multiplied one by one, without a torch function."""
    a, b = probe.normal(D), probe.normal(D)
    with_lists = student.operators("dot_product", a.tolist(), b.tolist())
    ran = student.operators("dot_product", a, b)

    by_hand(student, "dot_product", ran, PRODUCTS, ELEMENT_BY_ELEMENT)
    whole = sorted({name.split(".")[1] for name, size in ran.operators if size > 1} & ARITHMETIC)
    for name in whole:
        sentence = f"Your code runs {name} on whole vectors. {ELEMENT_BY_ELEMENT}"
        raise WrongAnswer(Status.FORBIDDEN, sentence)
    expect(
        not with_lists.functions and not with_lists.total,
        "Given two lists, your code still calls torch; lists of numbers do not need it.",
        Status.FORBIDDEN,
    )
    one, other = (number(student.call("dot_product", a, vector)) for vector in (a, -a))
    expect(abs(one - other) > 0.1, "Different vectors do not give clearly different results.")


# scores_for_query


@check("scores_for_query", points=0.04, layer="shapes")
def test_scores_for_query_gives_one_score_per_token(student, documented, inputs):
    """Six tokens and one query give six scores: (6, 3) and (3,) -> (6,)."""
    tokens = documented["003.inputs.length"].value

    tensor_like(student.call("scores_for_query", inputs, inputs[1]), (tokens,))


@check("scores_for_query", points=0.2, layer="documented")
def test_scores_for_query_gives_the_documented_scores(student, documented, inputs):
    """The query "journey" gets the documented scores."""
    scores = student.call("scores_for_query", inputs, documented["003.query"].tensor)

    documented["002.simple.scores_2"].matches(scores)


@check("scores_for_query", points=0.28, layer="probe", rules=("float32",))
def test_scores_for_query_compares_any_query(student, reference, probe):
    """A query that is not a token of the sequence is also compared with every token."""
    for tokens in (T, 9, 1):
        x, query = probe.normal(tokens, D, scale=1.5), probe.normal(D, scale=1.5)
        ours = reference.call("scores_for_query", x, query)

        agrees(student.call("scores_for_query", x, query), ours)


@check("scores_for_query", points=0.1, layer="laws")
def test_scores_for_query_double_with_the_query(student, probe):
    """Twice the query gives twice the scores."""
    x, query = probe.normal(T, D, scale=1.5), probe.normal(D, scale=1.5)
    scores = tensor_like(student.call("scores_for_query", x, query), (T,))

    varies(scores)
    agrees(
        student.call("scores_for_query", x, 2 * query), 2 * scores, "The scores of twice a query"
    )


@check("scores_for_query", points=0.1, layer="laws")
def test_scores_for_query_compare_each_token_alone(student, probe):
    """A token that is three times as long gets three times its score; other scores stay."""
    x, query = probe.normal(T, D, scale=1.5), probe.normal(D, scale=1.5)
    x[0] = query  # so that the score of token 0 is not zero
    scores = tensor_like(student.call("scores_for_query", x, query), (T,))
    longer = torch.cat([3 * x[:1], x[1:]])

    varies(scores)
    wanted = torch.cat([3 * scores[:1], scores[1:]])
    agrees(
        student.call("scores_for_query", longer, query), wanted, "The scores with a longer token"
    )


@check("scores_for_query", points=0.1, layer="laws")
def test_scores_for_query_follow_the_tokens(student, probe):
    """Tokens in a different order give the same scores in that order."""
    x, query = probe.normal(T, D, scale=1.5), probe.normal(D, scale=1.5)
    scores = tensor_like(student.call("scores_for_query", x, query), (T,))
    order = torch.tensor(ORDER)

    varies(scores)
    answer = student.call("scores_for_query", x[order], query)
    agrees(answer, scores[order], "The scores of tokens in a different order")


@check("scores_for_query", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_scores_for_query_leaves_its_arguments_alone(student, probe):
    """The tokens and the query are unchanged."""
    keeps_arguments(student, "scores_for_query", probe.normal(T, D), probe.normal(D))


@check("scores_for_query", points=0.03, layer="gradients", rules=("gradients",))
def test_scores_for_query_stays_in_the_graph(probe, same_gradients):
    """Gradients flow from the scores back to the tokens and the query."""
    same_gradients("scores_for_query", probe.normal(T, D), probe.normal(D))


# normalize_by_sum


@check("normalize_by_sum", points=0.17, layer="documented")
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


@check("normalize_by_sum", points=0.06, layer="laws")
def test_normalize_by_sum_gives_shares_of_one(student, probe):
    """The weights add up to 1."""
    shares = tensor_like(student.call("normalize_by_sum", probe.uniform(T) + 1.5), (T,))

    agrees(shares.sum(), torch.ones(()), "The sum of the weights")


@check("normalize_by_sum", points=0.06, layer="laws")
def test_normalize_by_sum_sees_proportions_only(student, probe):
    """Scores that are ten times as large give the same weights."""
    scores = probe.uniform(T) + 0.1
    shares = tensor_like(student.call("normalize_by_sum", scores), (T,))

    agrees(student.call("normalize_by_sum", 10 * scores), shares, "The weights of larger scores")
    has_effect(student, "normalize_by_sum", scores)


@check("normalize_by_sum", points=0.06, layer="laws")
def test_normalize_by_sum_keeps_proportions(student, probe):
    """A score that is twice as large as another gets twice its weight, and no weight is above 1."""
    scores = probe.uniform(T) + 1.5
    scores[3] = 2 * scores[1]
    shares = tensor_like(student.call("normalize_by_sum", scores), (T,))

    inside = (shares > 0).all() and (shares < 1).all()
    expect(inside, "The scores are positive, but some weight is 0 or less, 1 or more, or NaN.")
    agrees(shares[3], 2 * shares[1], "The weight of a score that is twice as large")


@check("normalize_by_sum", points=0.04, layer="laws", rules=("dtype",))
def test_normalize_by_sum_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    scores = probe.uniform(T) + 0.5

    keeps_dtype("normalize_by_sum", scores)
    has_effect(student, "normalize_by_sum", scores)


@check("normalize_by_sum", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_normalize_by_sum_leaves_the_scores_alone(student, probe):
    """The scores are unchanged."""
    keeps_arguments(student, "normalize_by_sum", probe.uniform(T) + 0.1)


@check("normalize_by_sum", points=0.03, layer="gradients", rules=("gradients",))
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


@check("softmax_naive", points=0.29, layer="probe")
def test_softmax_naive_of_unseen_scores(student, reference, probe):
    """The weights are right for any number of scores, positive and negative."""
    for tokens in (D, 2, 1):
        scores = probe.normal(tokens, scale=2.0)
        ours = reference.call("softmax_naive", scores)

        agrees(student.call("softmax_naive", scores), ours)


@check("softmax_naive", points=0.1, layer="laws")
def test_softmax_naive_gives_shares_of_one(student, probe):
    """The weights add up to 1."""
    weights = tensor_like(student.call("softmax_naive", probe.uniform(T) + 1), (T,))

    agrees(weights.sum(), torch.ones(()), "The sum of the weights")


@check("softmax_naive", points=0.1, layer="laws")
def test_softmax_naive_sees_differences_only(student, probe):
    """Adding one number to all scores does not change the weights."""
    scores = probe.normal(T)
    weights = tensor_like(student.call("softmax_naive", scores), (T,))

    shifted = student.call("softmax_naive", scores + 3)
    agrees(shifted, weights, "The softmax after adding the same amount to all scores")
    has_effect(student, "softmax_naive", scores)


@check("softmax_naive", points=0.1, layer="laws")
def test_softmax_naive_doubles_a_weight(student, probe):
    """A score that is larger by log 2 than another gets twice its weight."""
    scores = probe.normal(T)
    scores[3] = scores[1] + DOUBLE
    weights = tensor_like(student.call("softmax_naive", scores), (T,))

    expect((weights[1] > 0).all(), "A weight is not positive.")
    agrees(weights[3], 2 * weights[1], "The weight of a score that is larger by log 2")


@check("softmax_naive", points=0.1, layer="laws")
def test_softmax_naive_gives_each_score_a_weight(student, probe):
    """Every weight is between 0 and 1, and a larger score gets a larger weight."""
    scores = torch.tensor([2.0, -1.0, 0.5, 3.5, -2.5]) + 0.2 * probe.uniform(T)
    weights = tensor_like(student.call("softmax_naive", scores), (T,))

    expect((weights > 0).all() and (weights < 1).all(), "Some weight is not between 0 and 1.")
    rising = weights[scores.argsort()].diff()
    expect((rising > 0).all(), "A larger score does not get a larger weight.")


@check("softmax_naive", points=0.06, layer="laws", rules=("dtype",))
def test_softmax_naive_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    scores = probe.normal(T)

    keeps_dtype("softmax_naive", scores)
    has_effect(student, "softmax_naive", scores)


@check("softmax_naive", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_softmax_naive_leaves_the_scores_alone(student, probe):
    """The scores are unchanged."""
    keeps_arguments(student, "softmax_naive", probe.normal(T))


@check("softmax_naive", points=0.19, layer="gradients", rules=("gradients",))
def test_softmax_naive_stays_in_the_graph(probe, same_gradients):
    """Gradients flow from the weights back to the scores."""
    same_gradients("softmax_naive", probe.normal(T))


@check("softmax_naive", points=0.16, layer="forbidden", rules=("no_ready_softmax",))
def test_softmax_naive_is_written_out(student, probe):
    """The softmax is written out with exponentials, without torch's own softmax."""
    scores = probe.normal(T)
    ran = student.operators("softmax_naive", scores)

    by_hand(student, "softmax_naive", ran, BY_HAND, WRITE_IT_OUT)
    has_effect(student, "softmax_naive", scores)


# softmax_stable


@check("softmax_stable", points=0.15, layer="documented")
def test_softmax_stable_gives_the_documented_weights_of_one_query(student, documented, scores_2):
    """The weights of one query, with dim=0, are the documented ones."""
    weights = student.call("softmax_stable", scores_2, 0)

    documented["002.simple.weights_2.softmax"].matches(weights, "The softmax of one query")


@check("softmax_stable", points=0.15, layer="documented")
def test_softmax_stable_gives_the_documented_weights(student, documented, inputs):
    """The weights of all queries, row by row with dim=1, are the documented ones."""
    weights = student.call("softmax_stable", inputs @ inputs.T, 1)

    documented["003.simple.weights"].matches(weights, "With dim=1 the result")


@check("softmax_stable", points=0.25, layer="probe")
def test_softmax_stable_along_every_axis(student, reference, probe):
    """Scores with one to four axes are normalized along dim."""
    for shape in ((T,), (3, T), (2, 3, T), (2, 3, T, 4)):
        scores = probe.normal(*shape, scale=2.0)
        for dim in range(len(shape)):
            ours = reference.call("softmax_stable", scores, dim)
            yours = student.call("softmax_stable", scores, dim)

            agrees(yours, ours, f"With {len(shape)} axes and dim={dim} the result")


@check("softmax_stable", points=0.15, layer="probe")
def test_softmax_stable_counts_axes_from_the_end(student, reference, probe):
    """A negative dim counts the axes from the end."""
    scores = probe.normal(2, 3, T, scale=2.0)
    for dim in (-1, -2, -3):
        ours = reference.call("softmax_stable", scores, dim)

        agrees(student.call("softmax_stable", scores, dim), ours, f"With dim={dim} the result")


@check("softmax_stable", points=0.22, layer="probe")
def test_softmax_stable_survives_a_thousand(student, reference, probe):
    """Scores around 1000 and around -1000 within one slice give the right weights."""
    apart = torch.tensor([0.0, 1000.0, -1000.0, 1000.0, -1000.0])
    scores = (probe.normal(3, T) * 8).round() / 8 + apart  # multiples of 1/8 stay exact near 1000

    agrees(student.call("softmax_stable", scores, 1), reference.call("softmax_stable", scores, 1))


@check("softmax_stable", points=0.1, layer="probe")
def test_softmax_stable_keeps_large_slices_apart(student, reference, probe):
    """Large scores in one slice do not change the weights of other slices."""
    scores = probe.normal(T, 3) + torch.tensor([1000.0, 0.0, -1000.0])

    agrees(student.call("softmax_stable", scores, 0), reference.call("softmax_stable", scores, 0))


@check("softmax_stable", points=0.1, layer="laws")
def test_softmax_stable_gives_shares_of_one(student, probe):
    """The weights of each slice along dim add up to 1, for any dim."""
    scores = probe.normal(2, 3, T)
    for dim in range(3):
        weights = tensor_like(student.call("softmax_stable", scores, dim), (2, 3, T))
        wanted = torch.ones(weights.sum(dim).shape)

        agrees(weights.sum(dim), wanted, f"With dim={dim} the sums of the weights")


@check("softmax_stable", points=0.1, layer="laws")
def test_softmax_stable_sees_differences_only(student, probe):
    """Adding one number to all scores does not change the weights."""
    scores = probe.normal(3, T)
    weights = tensor_like(student.call("softmax_stable", scores, 1), (3, T))

    shifted = student.call("softmax_stable", scores + 2.5, 1)
    agrees(shifted, weights, "The softmax after adding the same amount to all scores")
    has_effect(student, "softmax_stable", scores, 1)


@check("softmax_stable", points=0.1, layer="laws")
def test_softmax_stable_doubles_a_weight(student, probe):
    """A score that is larger by log 2 than another of its slice gets twice its weight."""
    scores = probe.normal(3, T)
    scores[:, 3] = scores[:, 1] + DOUBLE
    weights = tensor_like(student.call("softmax_stable", scores, 1), (3, T))

    expect((weights > 0).all(), "Some weight is not positive.")
    agrees(weights[:, 3], 2 * weights[:, 1], "The weights of scores that are larger by log 2")


@check("softmax_stable", points=0.1, layer="laws")
def test_softmax_stable_shares_within_a_slice(student, probe):
    """A larger score takes weight from the other scores of its slice, and from no other slice."""
    scores = probe.normal(T, 3)
    larger = scores.clone()
    larger[2, 1] += 1
    before = tensor_like(student.call("softmax_stable", scores, 0), (T, 3))
    after = tensor_like(student.call("softmax_stable", larger, 0), (T, 3))

    agrees(after[:, ::2], before[:, ::2], "The weights of the other slices")
    fell = torch.cat([after[:2, 1] < before[:2, 1], after[3:, 1] < before[3:, 1]])
    expect(fell.all(), "A larger score does not make all other weights of its slice smaller.")


@check("softmax_stable", points=0.1, layer="laws")
def test_softmax_stable_treats_each_slice_alone(student, probe):
    """Adding 1000 to one slice and -1000 to another one does not change the weights."""
    scores = (probe.normal(3, T) * 8).round() / 8  # multiples of 1/8 stay exact near 1000
    weights = tensor_like(student.call("softmax_stable", scores, 1), (3, T))
    apart = scores + torch.tensor([[1000.0], [0.0], [-1000.0]])

    agrees(student.call("softmax_stable", apart, 1), weights, "The softmax of shifted slices")
    has_effect(student, "softmax_stable", scores, 1)


@check("softmax_stable", points=0.1, layer="laws")
def test_softmax_stable_gives_all_weight_to_a_much_larger_score(student, probe):
    """A score that is larger by 1000 than all others gets all the weight."""
    for index in (3, 0):
        winner = torch.eye(T)[index]
        answer = student.call("softmax_stable", probe.normal(T) + 1000 * winner, 0)

        agrees(answer, winner, "The softmax with a score that is much larger")


@check("softmax_stable", points=0.04, layer="laws", rules=("dtype",))
def test_softmax_stable_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    scores = probe.normal(3, T)

    keeps_dtype("softmax_stable", scores, 1)
    has_effect(student, "softmax_stable", scores, 1)


@check("softmax_stable", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_softmax_stable_leaves_the_scores_alone(student, probe):
    """The scores are unchanged."""
    keeps_arguments(student, "softmax_stable", probe.normal(3, T), 1)


@check("softmax_stable", points=0.1, layer="laws", rules=("minus_infinity",))
def test_softmax_stable_gives_nothing_to_minus_infinity(student, reference, probe):
    """A score of minus infinity gets the weight 0."""
    scores = probe.normal(3, T)
    scores[0, 1] = scores[2, 4] = scores[2, 0] = -torch.inf

    agrees(student.call("softmax_stable", scores, 1), reference.call("softmax_stable", scores, 1))


@check("softmax_stable", points=0.03, layer="gradients", rules=("gradients",))
def test_softmax_stable_stays_in_the_graph(probe, same_gradients):
    """Gradients flow from the weights back to the scores, along any axis."""
    same_gradients("softmax_stable", probe.normal(2, 3, T), 1)
    same_gradients("softmax_stable", probe.normal(3, T), -1)


@check("softmax_stable", points=0.17, layer="forbidden", rules=("no_ready_softmax",))
def test_softmax_stable_is_written_out(student, probe):
    """The softmax is written out with exponentials, without torch's own softmax."""
    scores = probe.normal(3, T)

    for args in ((scores, 1), (scores, 0), (scores[0], 0), (scores + 1000, -1)):
        ran = student.operators("softmax_stable", *args)
        by_hand(student, "softmax_stable", ran, BY_HAND, WRITE_IT_OUT)
    has_effect(student, "softmax_stable", scores, 1)


# context_vector


@check("context_vector", points=0.04, layer="shapes")
def test_context_vector_has_the_size_of_a_token(student, inputs):
    """Six weights and six tokens of three features give one vector of three features."""
    tensor_like(student.call("context_vector", torch.full((6,), 1 / 6), inputs), (3,))


@check("context_vector", points=0.2, layer="documented")
def test_context_vector_gives_the_documented_mixture(student, documented, inputs, scores_2):
    """The documented weights of "journey" give its documented context vector."""
    weights = torch.softmax(scores_2, dim=0)

    documented["002.simple.context_2"].matches(student.call("context_vector", weights, inputs))


@check("context_vector", points=0.2, layer="probe", rules=("float32",))
def test_context_vector_takes_weights_as_they_are(student, reference, probe):
    """The mixture is right for any weights, with any signs and any sum."""
    for tokens in (T, 9):
        weights, x = probe.normal(tokens), probe.normal(tokens, D, scale=1.5)
        ours = reference.call("context_vector", weights, x)

        agrees(student.call("context_vector", weights, x), ours)


@check("context_vector", points=0.1, layer="laws")
def test_context_vector_picks_the_token_with_all_the_weight(student, probe):
    """With all weight on one token, the result is that token."""
    x = probe.normal(T, D)
    for index in (T - 1, 0, 2):
        picked = student.call("context_vector", torch.eye(T)[index], x)

        agrees(picked, x[index], "With all weight on one token, the result")


@check("context_vector", points=0.1, layer="laws")
def test_context_vector_doubles_with_the_weights(student, probe):
    """Twice the weights give twice the context vector."""
    weights, x = probe.uniform(T), probe.normal(T, D, scale=1.5)
    context = tensor_like(student.call("context_vector", weights, x), (D,))

    varies(context)
    answer = student.call("context_vector", 2 * weights, x)
    agrees(answer, 2 * context, "The result for twice the weights")


@check("context_vector", points=0.1, layer="laws")
def test_context_vector_moves_with_the_tokens(student, probe):
    """If the weights add up to 1, adding a vector to all tokens adds it to the context vector."""
    weights, x, step = torch.softmax(probe.normal(T), dim=0), probe.normal(T, D), probe.normal(D)
    context = tensor_like(student.call("context_vector", weights, x), (D,))

    answer = student.call("context_vector", weights, x + step)
    agrees(answer, context + step, "The result for moved tokens")


@check("context_vector", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_context_vector_leaves_its_arguments_alone(student, probe):
    """The weights and the tokens are unchanged."""
    keeps_arguments(student, "context_vector", probe.uniform(T), probe.normal(T, D))


@check("context_vector", points=0.13, layer="gradients", rules=("gradients",))
def test_context_vector_stays_in_the_graph(probe, same_gradients):
    """Gradients flow from the context vector back to the weights and the tokens."""
    same_gradients("context_vector", probe.uniform(T), probe.normal(T, D))


# attention_scores


@check("attention_scores", points=0.04, layer="shapes")
def test_attention_scores_compare_every_pair(student, inputs):
    """Six tokens give a (6, 6) matrix of scores."""
    tensor_like(student.call("attention_scores", inputs), (6, 6))


@check("attention_scores", points=0.2, layer="documented")
def test_attention_scores_are_the_documented_ones(student, documented, inputs):
    """The scores of all pairs are the documented ones."""
    documented["002.simple.scores"].matches(student.call("attention_scores", inputs))


@check("attention_scores", points=0.25, layer="probe")
def test_attention_scores_of_unseen_tokens(student, reference, probe):
    """The scores are right for any number of tokens, even for T = 1 and T = d."""
    for tokens in (T, D, 1):
        x = probe.normal(tokens, D, scale=1.5)

        agrees(student.call("attention_scores", x), reference.call("attention_scores", x))


@check("attention_scores", points=0.08, layer="laws")
def test_attention_scores_hold_squared_lengths_on_the_diagonal(student, probe):
    """The score of a token with itself is its squared length."""
    x = probe.normal(T, D, scale=1.5)

    scores = tensor_like(student.call("attention_scores", x), (T, T))
    agrees(scores.diagonal(), x.square().sum(dim=1), "The diagonal of the scores")


@check("attention_scores", points=0.08, layer="laws")
def test_attention_scores_are_mutual(student, probe):
    """A token compared with another one gives the same score as the other one with it."""
    scores = tensor_like(student.call("attention_scores", probe.normal(T, D, scale=1.5)), (T, T))

    agrees(scores.T, scores, "The transposed matrix of scores")
    varies(scores)


@check("attention_scores", points=0.08, layer="laws")
def test_attention_scores_grow_with_both_tokens(student, probe):
    """If all tokens are twice as long, all scores are four times as large."""
    x = probe.normal(D, D, scale=1.5)
    scores = tensor_like(student.call("attention_scores", x), (D, D))

    varies(scores)
    agrees(student.call("attention_scores", 2 * x), 4 * scores, "The scores of longer tokens")


@check("attention_scores", points=0.08, layer="laws")
def test_attention_scores_follow_the_tokens(student, probe):
    """Tokens in a different order give the same scores with rows and columns in that order."""
    x, order = probe.normal(T, D, scale=1.5), torch.tensor(ORDER)
    scores = tensor_like(student.call("attention_scores", x), (T, T))

    varies(scores)
    answer = student.call("attention_scores", x[order])
    agrees(answer, scores[order][:, order], "The scores of tokens in a different order")


@check("attention_scores", points=0.04, layer="laws", rules=("dtype",))
def test_attention_scores_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    x = probe.normal(T, D)

    keeps_dtype("attention_scores", x)
    has_effect(student, "attention_scores", x)


@check("attention_scores", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_attention_scores_leave_the_tokens_alone(student, probe):
    """The tokens are unchanged."""
    keeps_arguments(student, "attention_scores", probe.normal(T, D))


@check("attention_scores", points=0.03, layer="gradients", rules=("gradients",))
def test_attention_scores_stay_in_the_graph(probe, same_gradients):
    """Gradients flow from the scores back to the tokens, as queries and as keys."""
    same_gradients("attention_scores", probe.normal(T, D))


@check("attention_scores", points=0.08, layer="forbidden", rules=("no_loops",))
def test_attention_scores_need_no_loop(student, probe):
    """A long sequence takes no more tensor operations than a short one."""
    few, many = probe.normal(3, D), probe.normal(11, D)

    short = student.operators("attention_scores", few)
    long = student.operators("attention_scores", many)
    keeps_operators(short, long, "One matrix product compares all pairs at once.")
    has_effect(student, "attention_scores", many)


# attention_weights


@check("attention_weights", points=0.03, layer="shapes")
def test_attention_weights_are_as_many_as_scores(student, inputs):
    """Every score becomes a weight: (6, 6) -> (6, 6)."""
    tensor_like(student.call("attention_weights", inputs @ inputs.T), (6, 6))


@check("attention_weights", points=0.2, layer="documented")
def test_attention_weights_are_the_documented_ones(student, documented, inputs):
    """The weights of all queries are the documented ones, and each row adds up to 1."""
    answer = student.call("attention_weights", inputs @ inputs.T)

    documented["003.simple.weights"].matches(answer)
    sums = tensor(answer).sum(dim=-1)
    documented["003.simple.row_sums"].matches(sums, "The vector of row sums")
    documented["003.simple.row_2_sum"].matches(sums[1], 'The sum of the weights of "journey"')


@check("attention_weights", points=0.2, layer="probe")
def test_attention_weights_run_along_the_rows(student, reference, probe):
    """Softmax runs over the rows of the scores, not over the columns."""
    for tokens in (T, 1):
        scores = probe.normal(tokens, tokens, scale=2.0)
        ours = reference.call("attention_weights", scores)

        agrees(student.call("attention_weights", scores), ours)


@check("attention_weights", points=0.05, layer="laws")
def test_attention_weights_of_each_query_add_up_to_one(student, probe):
    """The weights of each query add up to 1."""
    scores = probe.normal(T, T, scale=2.0)
    weights = tensor_like(student.call("attention_weights", scores), (T, T))

    agrees(weights.sum(dim=1), torch.ones(T), "The vector of row sums")


@check("attention_weights", points=0.05, layer="laws")
def test_attention_weights_see_differences_only(student, probe):
    """Adding one number to all scores does not change the weights."""
    scores = probe.normal(T, T)
    weights = tensor_like(student.call("attention_weights", scores), (T, T))

    shifted = student.call("attention_weights", scores + 3)
    agrees(shifted, weights, "The weights after adding the same amount to all scores")
    has_effect(student, "attention_weights", scores)


@check("attention_weights", points=0.05, layer="laws")
def test_attention_weights_double(student, probe):
    """A score that is larger by log 2 than another score of its query gets twice its weight."""
    scores = probe.normal(T, T)
    scores[:, 3] = scores[:, 1] + DOUBLE
    weights = tensor_like(student.call("attention_weights", scores), (T, T))

    expect((weights > 0).all(), "Some weight is not positive.")
    agrees(weights[:, 3], 2 * weights[:, 1], "The weights of scores that are larger by log 2")


@check("attention_weights", points=0.05, layer="laws")
def test_attention_weights_follow_the_tokens(student, probe):
    """Tokens in a different order give the same weights in that order, and all are positive."""
    scores, order = probe.normal(T, T), torch.tensor(ORDER)
    weights = tensor_like(student.call("attention_weights", scores), (T, T))
    answer = student.call("attention_weights", scores[order][:, order])

    expect((weights > 0).all(), "Some weight is not positive.")
    varies(weights)
    agrees(answer, weights[order][:, order], "The weights for tokens in a different order")


@check("attention_weights", points=0.02, layer="laws", rules=("dtype",))
def test_attention_weights_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    scores = probe.normal(T, T)

    keeps_dtype("attention_weights", scores)
    has_effect(student, "attention_weights", scores)


@check("attention_weights", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_attention_weights_leave_the_scores_alone(student, probe):
    """The scores are unchanged."""
    keeps_arguments(student, "attention_weights", probe.normal(T, T))


@check("attention_weights", points=0.03, layer="gradients", rules=("gradients",))
def test_attention_weights_stay_in_the_graph(probe, same_gradients):
    """Gradients flow from the weights back to the scores."""
    same_gradients("attention_weights", probe.normal(T, T))


def mixes_tokens(student, x):
    """Expect that a change of the first token changes the result of the last one."""
    other = x.clone()
    other[0] += 1
    shape = tuple(x.shape)
    before = tensor_like(student.call("simple_self_attention", x), shape)
    after = tensor_like(student.call("simple_self_attention", other), shape)
    expect(
        not alike(after[-1], before[-1]), "A changed first token does not change the last result."
    )


# simple_self_attention


@check("simple_self_attention", points=0.04, layer="shapes")
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


@check("simple_self_attention", points=0.4, layer="probe")
def test_simple_self_attention_of_unseen_tokens(student, reference, probe):
    """The context vectors are right for any number of tokens, even for T = d."""
    for tokens in (T, D, 1):
        x = probe.normal(tokens, D, scale=SMALL)
        ours = reference.call("simple_self_attention", x)

        agrees(student.call("simple_self_attention", x), ours)


@check("simple_self_attention", points=0.11, layer="laws")
def test_simple_self_attention_knows_no_order(student, probe):
    """The same tokens in a different order get the same context vectors in that order."""
    x, order = probe.normal(T, D, scale=0.5), torch.tensor(ORDER)
    context = tensor_like(student.call("simple_self_attention", x), (T, D))

    answer = student.call("simple_self_attention", x[order])
    agrees(answer, context[order], "The result for tokens in a different order")
    mixes_tokens(student, x)


@check("simple_self_attention", points=0.11, layer="laws")
def test_simple_self_attention_of_one_token_is_that_token(student, probe):
    """A single token is its own context vector, and of several tokens each has an effect."""
    x = probe.normal(1, D, scale=0.5)

    agrees(student.call("simple_self_attention", x.clone()), x, "The result for a single token")
    mixes_tokens(student, probe.normal(T, D, scale=0.5))


@check("simple_self_attention", points=0.11, layer="laws")
def test_simple_self_attention_keeps_what_all_tokens_share(student, probe):
    """A feature that is 1 in every token stays 1, because the weights of each query add up to 1."""
    x = torch.cat([probe.normal(D - 1, D - 1, scale=0.5), torch.ones(D - 1, 1)], dim=1)
    context = tensor_like(student.call("simple_self_attention", x), (D - 1, D))

    agrees(context[:, -1], torch.ones(D - 1), "The result for the feature that is 1")
    mixes_tokens(student, x)


@check("simple_self_attention", points=0.11, layer="laws")
def test_simple_self_attention_turns_with_its_tokens(student, probe):
    """If all tokens change their signs, the context vectors change theirs."""
    x = probe.normal(D, D, scale=0.5)
    context = tensor_like(student.call("simple_self_attention", x), (D, D))

    agrees(student.call("simple_self_attention", -x), -context, "The result for other signs")
    mixes_tokens(student, x)


@check("simple_self_attention", points=0.05, layer="laws", rules=("dtype",))
def test_simple_self_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    x = probe.normal(T, D, scale=0.5)

    keeps_dtype("simple_self_attention", x)
    mixes_tokens(student, x)


@check("simple_self_attention", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_simple_self_attention_leaves_the_tokens_alone(student, probe):
    """The tokens are unchanged."""
    x = probe.normal(T, D, scale=0.5)

    unchanged = student.keeps_inputs("simple_self_attention", x)
    expect(unchanged, "simple_self_attention changes the inputs it was given.")
    mixes_tokens(student, x)


@check("simple_self_attention", points=0.03, layer="gradients", rules=("gradients",))
def test_simple_self_attention_stays_in_the_graph(probe, same_gradients):
    """Gradients flow back to the tokens as queries, as keys and as values."""
    same_gradients("simple_self_attention", probe.normal(T, D, scale=SMALL))
