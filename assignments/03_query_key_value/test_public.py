"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
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


T, D_IN, D_K, D_V = 5, 7, 6, 3
MODERATE = 0.5  # with larger inputs softmax saturates, and a wrong scale no longer shows
SMALL = 0.2  # weights that are nearly equal, so that each token has an effect on each result
# A score of 100 divided by the root of d_k gives all weight to one token, in any right formula.
MATCH = 10.0
ORDER = (3, 0, 4, 1, 2)
ROLES = ("W_query", "W_key", "W_value")


def three_matrices(answer, shape):
    """Return the result of draw_weights as three tensors of *shape*, or fail the check."""
    expect(
        isinstance(answer, tuple | list) and len(answer) == 3,
        "draw_weights should return three matrices: return W_query, W_key, W_value.",
        Status.WRONG_TYPE,
    )
    return [tensor_like(matrix, shape, role) for role, matrix in zip(ROLES, answer, strict=True)]


def same_gradients(yours, ours, *names):
    """Compare the gradients of all tensor arguments with the reference's."""
    for name, mine in zip(names, yours.inputs, strict=False):
        expect(
            mine is not None,
            f"No gradient reaches {name}: in torch's graph, the result does not depend on it.",
        )
    for name, mine, wanted in zip(names, yours.inputs, ours.inputs, strict=False):
        agrees(mine, wanted, f"The gradient of {name}")


def drawn(reference, seed, distribution="rand"):
    """Return the three documented (3, 2) matrices."""
    return reference.call("draw_weights", 3, 2, distribution, seed=seed)


def projected(reference, inputs, seed, distribution="rand"):
    """Return the documented queries, keys and values: (6, 2) each."""
    return [
        reference.call("project", inputs, weight) for weight in drawn(reference, seed, distribution)
    ]


def has_effect(student, name, first, *others):
    """Expect that the order of the rows or numbers of *first* has an effect on the result."""
    before = tensor(student.call(name, first, *others))
    after = tensor(student.call(name, first.flip(0), *others))
    same = before.shape == after.shape and alike(after, before)
    expect(not same, f"{name} gives the same result if its first argument is reversed.")


def keeps_arguments(student, name, *args):
    """Expect that the call changes none of its arguments, and that they have an effect."""
    has_effect(student, name, *args)
    expect(student.keeps_inputs(name, *args), f"{name} changes one of its arguments in place.")


def varies(answer):
    """Expect that the numbers in *answer* are not all equal."""
    expect(
        not alike(answer, answer.flatten()[0].expand(answer.shape)),
        "All numbers of a returned tensor are equal.",
    )


def serves_one_row(student, name, rows, *others):
    """Expect that each row alone gets the result that it gets among all rows."""
    together = tensor(student.call(name, rows, *others))
    is_matrix = together.ndim == 2 and len(together) == len(rows)
    expect(is_matrix, "The result is not a matrix with a row for each row of the first argument.")
    varies(together)
    for row, wanted in zip(rows, together, strict=True):
        alone = student.call(name, row, *others)
        agrees(alone, wanted, "The result for a row alone", "that among others")


# draw_weights


@check("draw_weights", points=0.08, layer="signature")
def test_draws_uniformly_unless_told_otherwise(student, probe):
    """The default distribution is "rand"."""
    shape = (D_IN, D_K)
    default = three_matrices(student.call("draw_weights", *shape, seed=probe.seed), shape)
    given = three_matrices(student.call("draw_weights", *shape, "rand", seed=probe.seed), shape)

    agrees(default, given, "The list of matrices without a distribution", "that for 'rand'")
    varies(default[0])


@check("draw_weights", points=0.06, layer="shapes")
def test_draws_three_matrices(student):
    """Three matrices of shape (d_in, d_out) are returned."""
    three_matrices(student.call("draw_weights", D_IN, D_K, "rand"), (D_IN, D_K))


@check("draw_weights", points=0.06, layer="parameters")
def test_draws_float32(student):
    """The matrices are float32."""
    answer = student.call("draw_weights", D_IN, D_K, "rand")

    for role, matrix in zip(ROLES, three_matrices(answer, (D_IN, D_K)), strict=True):
        same_dtype(matrix, torch.float32, role)
        varies(matrix)


@check("draw_weights", points=0.1, layer="parameters")
def test_draws_frozen_matrices(student):
    """The matrices are frozen: they have requires_grad=False."""
    answer = student.call("draw_weights", D_IN, D_K, "rand")

    for matrix in three_matrices(answer, (D_IN, D_K)):
        varies(matrix)
    frozen = not any(matrix.requires_grad for matrix in answer)
    expect(frozen, "The matrices should be frozen: requires_grad=False.")


@check("draw_weights", points=0.25, layer="documented")
def test_draws_the_documented_matrices(student, documented):
    """With seed 1, "randn" draws the documented W_q, W_k and W_v, in this order."""
    weights = three_matrices(student.call("draw_weights", 3, 2, "randn", seed=1), (3, 2))

    for role, name, weight in zip(ROLES, ("w_q", "w_k", "w_v"), weights, strict=True):
        documented[f"000.{name}"].matches(weight, role)


@check("draw_weights", points=0.2, layer="documented")
def test_draws_the_documented_uniform_matrices(student, documented, inputs):
    """With seed 123 and "rand", "journey" gets its documented query, key and value."""
    answer = student.call("draw_weights", 3, 2, "rand", seed=123)
    W_query, W_key, W_value = three_matrices(answer, (3, 2))

    documented["002.trainable.query_2"].matches(inputs[1] @ W_query, "inputs[1] @ W_query")
    documented["003.trainable.key_2"].matches(inputs[1] @ W_key, "inputs[1] @ W_key")
    documented["003.trainable.value_2"].matches(inputs[1] @ W_value, "inputs[1] @ W_value")


def draws_as_torch(student, reference, probe, distribution):
    """Compare the matrices with the reference's, for hidden sizes and a hidden seed."""
    yours = student.call("draw_weights", D_IN, D_K, distribution, seed=probe.seed)
    ours = reference.call("draw_weights", D_IN, D_K, distribution, seed=probe.seed)

    mine = three_matrices(yours, (D_IN, D_K))
    for role, weight, wanted in zip(ROLES, mine, ours, strict=True):
        agrees(weight, wanted, f"{role} of {distribution!r}")


@check("draw_weights", points=0.13, layer="probe")
def test_draws_each_uniform_matrix_on_its_own(student, reference, probe):
    """For any size and seed, "rand" draws each matrix with its own call, W_query first."""
    draws_as_torch(student, reference, probe, "rand")


@check("draw_weights", points=0.12, layer="probe")
def test_draws_each_normal_matrix_on_its_own(student, reference, probe):
    """For any size and seed, "randn" draws each matrix with its own call, W_query first."""
    draws_as_torch(student, reference, probe, "randn")


@check("draw_weights", points=0.11, layer="laws")
def test_draws_anew_under_another_seed(student, probe):
    """The same seed gives the same matrices, and another seed gives others."""
    drawn = [
        student.call("draw_weights", D_IN, D_K, "rand", seed=probe.seed + step)
        for step in (0, 0, 1)
    ]
    first, again, other = (three_matrices(answer, (D_IN, D_K)) for answer in drawn)

    agrees(again, first, "The list of matrices under the same seed")
    expect(not alike(other[0], first[0]), "Two seeds give the same matrix.")


@check("draw_weights", points=0.11, layer="laws")
def test_draws_three_different_matrices(student, probe):
    """The three matrices differ from each other."""
    answer = student.call("draw_weights", D_IN, D_K, "randn", seed=probe.seed)
    query, key, value = three_matrices(answer, (D_IN, D_K))

    same = alike(query, key) or alike(key, value) or alike(query, value)
    expect(not same, "Two of the three matrices are equal.")


@check("draw_weights", points=0.11, layer="laws")
def test_draws_from_each_distribution(student, probe):
    """The numbers of "rand" fill the range from 0 to 1; those of "randn" have both signs."""
    uniform, normal = (
        torch.stack(
            three_matrices(
                student.call("draw_weights", D_IN, D_K, name, seed=probe.seed), (D_IN, D_K)
            )
        )
        for name in ("rand", "randn")
    )
    inside = uniform.min() >= 0 and 0.5 < uniform.max() < 1
    expect(inside, 'The numbers of "rand" do not have the range from 0 to 1.')
    both = normal.min() < -0.5 and normal.max() > 0.5
    expect(both, 'The numbers of "randn" do not have the range of a normal distribution.')


@check("draw_weights", points=0.08, layer="laws", rules=("no_seeding",))
def test_leaves_the_seed_to_the_caller(student, reference):
    """Only the three draws use torch's generator, and nothing seeds it."""
    student.call("draw_weights", D_IN, D_K, "randn", seed=5)
    yours = student.draws_next()
    reference.call("draw_weights", D_IN, D_K, "randn", seed=5)

    agrees(yours, reference.draws_next(), "The next number that torch draws")


@check("draw_weights", points=0.09, layer="laws", rules=("refuses",))
def test_refuses_another_distribution(student):
    """An unknown distribution raises an error; "rand" and "randn" do not."""
    for distribution in ("rand", "randn"):
        answer = student.call("draw_weights", D_IN, D_K, distribution)
        varies(three_matrices(answer, (D_IN, D_K))[0])
    for distribution in ("uniform", "xavier"):
        expect(
            student.refuses("draw_weights", D_IN, D_K, distribution),
            "An unknown distribution raises no error; it should raise a ValueError.",
        )


# project


@check("project", points=0.04, layer="shapes")
def test_projects_into_the_new_size(student, probe):
    """(T, d_in) becomes (T, d_out)."""
    x, W = probe.normal(T, D_IN), probe.normal(D_IN, D_K)

    tensor_like(student.call("project", x, W), (T, D_K), "project(inputs, weight)")


@check("project", points=0.04, layer="shapes")
def test_projects_one_vector_into_the_new_size(student, probe):
    """One vector (d_in,) becomes (d_out,)."""
    x, W = probe.normal(D_IN), probe.normal(D_IN, D_K)

    tensor_like(student.call("project", x, W), (D_K,), "project(one vector, weight)")


@check("project", points=0.16, layer="documented")
def test_projects_all_tokens_as_documented(student, reference, documented, inputs):
    """The queries, keys and values of all six tokens are the documented ones."""
    weights = drawn(reference, 1, "randn")
    for name, weight in zip(("queries", "keys", "values"), weights, strict=True):
        documented[f"000.{name}"].matches(student.call("project", inputs, weight), name)

    _, W_key, W_value = drawn(reference, 123)
    for name, weight in (("keys", W_key), ("values", W_value)):
        answer = tensor_like(student.call("project", inputs, weight), (6, 2), name)
        documented[f"002.trainable.{name}.shape"].matches(torch.tensor(answer.shape), name)


@check("project", points=0.1, layer="documented")
def test_projects_one_token_as_documented(student, reference, documented, inputs):
    """The query, key and value of "journey" alone are the documented ones."""
    for seed, distribution, names in (
        (1, "randn", ("000.query_2", "000.key_2", "000.value_2")),
        (123, "rand", ("002.trainable.query_2", "003.trainable.key_2", "003.trainable.value_2")),
    ):
        for name, weight in zip(names, drawn(reference, seed, distribution), strict=True):
            answer = student.call("project", inputs[1], weight)
            documented[name].matches(answer, name.rpartition(".")[2])


@check("project", points=0.1, layer="probe")
def test_projects_at_any_size(student, reference, probe):
    """The projection is right for other sizes."""
    weight = probe.normal(D_IN, D_K)
    for tokens in (T, 1):
        x = probe.normal(tokens, D_IN, scale=1.5)
        ours = reference.call("project", x, weight)

        agrees(student.call("project", x, weight), ours, "project(inputs, weight)")


@check("project", points=0.06, layer="probe")
def test_projects_with_a_square_weight(student, reference, probe):
    """The projection is right if the weight matrix is square."""
    x, weight = probe.normal(T, D_IN, scale=1.5), probe.normal(D_IN, D_IN)

    ours = reference.call("project", x, weight)
    agrees(student.call("project", x, weight), ours, "project(inputs, weight)")


@check("project", points=0.07, layer="laws")
def test_project_adds_up_weights(student, probe):
    """The results for two weight matrices add up to the result for their sum."""
    x, first, second = (probe.normal(T, T) for _ in range(3))
    one = tensor_like(student.call("project", x, first), (T, T))
    other = tensor_like(student.call("project", x, second), (T, T))

    varies(one)
    summed = student.call("project", x, first + second)
    agrees(summed, one + other, "The result for a sum of weights")


@check("project", points=0.07, layer="laws")
def test_project_doubles_with_its_inputs(student, probe):
    """Inputs that are twice as large give twice the result."""
    x, weight = probe.normal(T, D_IN), probe.normal(D_IN, D_K)
    once = tensor_like(student.call("project", x, weight), (T, D_K))

    varies(once)
    answer = student.call("project", 2 * x, weight)
    agrees(answer, 2 * once, "The result for inputs that are twice as large")


@check("project", points=0.07, layer="laws")
def test_project_reads_off_a_row_of_the_weight(student, probe):
    """An input with a single 1 gets the matching row of the weight matrix."""
    weight, order = probe.normal(D_IN, D_IN), torch.tensor(ORDER)
    answer = student.call("project", torch.eye(D_IN)[order], weight)

    agrees(answer, weight[order], "The result for inputs with a single 1")


@check("project", points=0.07, layer="laws")
def test_project_serves_a_vector_alone(student, probe):
    """A single vector gets the result that it gets among others."""
    serves_one_row(student, "project", probe.normal(T, D_IN), probe.normal(D_IN, D_K))


@check("project", points=0.04, layer="laws", rules=("dtype",))
def test_project_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    x, weight = probe.normal(T, D_IN), probe.normal(D_IN, D_K)

    keeps_dtype("project", x, weight)
    has_effect(student, "project", x, weight)


@check("project", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_project_leaves_its_arguments_alone(student, probe):
    """The function does not change its inputs or the weight."""
    keeps_arguments(student, "project", probe.normal(T, D_IN), probe.normal(D_IN, D_K))


@check("project", points=0.05, layer="gradients", rules=("gradients",))
def test_project_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the inputs and the weight."""
    sent = {"cotangent": probe.normal(T, D_K)}
    args = probe.normal(T, D_IN), probe.normal(D_IN, D_K)
    yours = student.gradients("project", *args, **sent)

    same_gradients(yours, reference.gradients("project", *args, **sent), "inputs", "weight")


# attention_scores


@check("attention_scores", points=0.05, layer="shapes")
def test_gives_one_score_per_pair(student, probe):
    """All queries give (T, T) scores."""
    queries, keys = probe.normal(T, D_K), probe.normal(T, D_K)

    tensor_like(
        student.call("attention_scores", queries, keys), (T, T), "The result for all queries"
    )


@check("attention_scores", points=0.04, layer="shapes")
def test_gives_one_query_a_score_per_key(student, probe):
    """One query alone gives (T,) scores."""
    query, keys = probe.normal(D_K), probe.normal(T, D_K)

    tensor_like(student.call("attention_scores", query, keys), (T,), "The result for one query")


@check("attention_scores", points=0.25, layer="documented")
def test_scores_all_queries_as_documented(student, reference, documented, inputs):
    """The 6 by 6 scores are the documented ones: a row for each query, a column for each key."""
    queries, keys, _ = projected(reference, inputs, 1, "randn")

    documented["000.scores"].matches(
        student.call("attention_scores", queries, keys), "attention_scores(queries, keys)"
    )


@check("attention_scores", points=0.2, layer="documented")
def test_scores_one_query_as_documented(student, reference, documented, inputs):
    """The six scores of "journey" alone are the documented ones, with seed 1 and with seed 123."""
    queries, keys, _ = projected(reference, inputs, 1, "randn")
    scores = student.call("attention_scores", queries[1], keys)
    documented["000.scores_2"].matches(scores, "attention_scores(queries[1], keys)")

    queries, keys, _ = projected(reference, inputs, 123)
    scores = tensor_like(student.call("attention_scores", queries[1], keys), (6,))
    documented["002.trainable.scores_2"].matches(scores, "attention_scores(queries[1], keys)")
    documented["002.trainable.score_22"].matches(scores[1], "The score of the query with its key")


@check("attention_scores", points=0.2, layer="probe")
def test_scores_at_any_size(student, reference, probe):
    """For other sizes, even with as many tokens as features, every score is a plain dot product."""
    for tokens, size in ((T, D_K), (4, 4), (3, 6), (1, 3)):
        queries = probe.normal(tokens, size, scale=1.5)
        keys = probe.normal(tokens, size, scale=1.5)
        ours = reference.call("attention_scores", queries, keys)

        agrees(
            student.call("attention_scores", queries, keys), ours, "The result of attention_scores"
        )


@check("attention_scores", points=0.12, layer="probe")
def test_scores_one_query_at_any_size(student, reference, probe):
    """The scores of a single query are right for other sizes."""
    for tokens, size in ((T, D_K), (4, 4), (1, 3)):
        query, keys = probe.normal(size, scale=1.5), probe.normal(tokens, size, scale=1.5)
        ours = reference.call("attention_scores", query, keys)

        agrees(
            student.call("attention_scores", query, keys), ours, "The result of attention_scores"
        )


@check("attention_scores", points=0.12, layer="laws")
def test_scores_read_off_what_a_query_asks_for(student, probe):
    """For a query with a single 1, the row of scores holds the matching feature of every key."""
    keys, order = probe.normal(T, T, scale=1.5), torch.tensor(ORDER)
    scores = student.call("attention_scores", torch.eye(T)[order], keys)

    agrees(scores, keys.T[order], "The scores of queries with a single 1")


@check("attention_scores", points=0.12, layer="laws")
def test_scores_grow_with_queries_and_keys(student, probe):
    """With queries and keys that are twice as long, all scores are four times as large."""
    queries, keys = probe.normal(T, T), probe.normal(T, T)
    scores = tensor_like(student.call("attention_scores", queries, keys), (T, T))

    varies(scores)
    larger = student.call("attention_scores", 2 * queries, 2 * keys)
    agrees(larger, 4 * scores, "The scores of longer queries and keys")


@check("attention_scores", points=0.12, layer="laws")
def test_scores_turn_around_with_queries_and_keys(student, probe):
    """If queries and keys change places, the matrix of scores is transposed."""
    queries, keys = probe.normal(T, D_K), probe.normal(T, D_K)
    scores = tensor_like(student.call("attention_scores", queries, keys), (T, T))

    varies(scores)
    turned = student.call("attention_scores", keys, queries)
    agrees(turned, scores.T, "The scores of keys with queries")


@check("attention_scores", points=0.12, layer="laws")
def test_scores_serve_a_query_alone(student, probe):
    """A single query gets the scores that it gets among others."""
    serves_one_row(student, "attention_scores", probe.normal(T, D_K), probe.normal(T, D_K))


@check("attention_scores", points=0.06, layer="laws", rules=("dtype",))
def test_attention_scores_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    queries, keys = probe.normal(T, D_K), probe.normal(T, D_K)

    keeps_dtype("attention_scores", queries, keys)
    has_effect(student, "attention_scores", queries, keys)


@check("attention_scores", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_attention_scores_leaves_its_arguments_alone(student, probe):
    """The function does not change the queries or the keys."""
    keeps_arguments(student, "attention_scores", probe.normal(T, D_K), probe.normal(T, D_K))


@check("attention_scores", points=0.15, layer="gradients", rules=("gradients",))
def test_attention_scores_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the queries and the keys."""
    sent = {"cotangent": probe.normal(T, T)}
    args = probe.normal(T, D_K), probe.normal(T, D_K)
    yours = student.gradients("attention_scores", *args, **sent)

    ours = reference.gradients("attention_scores", *args, **sent)
    same_gradients(yours, ours, "the queries", "the keys")


# attention_weights


@check("attention_weights", points=0.05, layer="shapes")
def test_keeps_the_shape_of_the_scores(student, probe):
    """Each score becomes one weight: (T, T) stays (T, T)."""
    scores = probe.normal(T, T)

    tensor_like(
        student.call("attention_weights", scores, D_K), (T, T), "The result for all queries"
    )


@check("attention_weights", points=0.05, layer="shapes")
def test_keeps_the_shape_of_the_scores_of_one_query(student, probe):
    """The scores of one query become as many weights: (T,) stays (T,)."""
    scores = probe.normal(T)

    tensor_like(student.call("attention_weights", scores, D_K), (T,), "The result for one query")


@check("attention_weights", points=0.3, layer="documented")
def test_weighs_all_tokens_as_documented(student, reference, documented, inputs):
    """The 6 by 6 attention weights are the documented ones, and so are the sums of their rows."""
    queries, keys, _ = projected(reference, inputs, 1, "randn")
    scores = reference.call("attention_scores", queries, keys)
    weights = tensor_like(student.call("attention_weights", scores, 2), (6, 6))

    documented["000.weights"].matches(weights, "attention_weights(scores, 2)")
    documented["000.row_sums"].matches(weights.sum(dim=-1), "The vector of row sums")


@check("attention_weights", points=0.2, layer="documented")
def test_weighs_for_one_query_as_documented(student, reference, documented, inputs):
    """The six attention weights of "journey" alone are the documented ones."""
    queries, keys, _ = projected(reference, inputs, 123)
    scores = reference.call("attention_scores", queries[1], keys)

    weights = student.call("attention_weights", scores, 2)
    documented["002.trainable.weights_2"].matches(weights, "attention_weights(scores_2, 2)")


@check("attention_weights", points=0.3, layer="probe")
def test_weighs_at_any_key_size(student, reference, probe):
    """The weights of all queries are right for any number of tokens and any key size."""
    for tokens, d_k in ((T, D_K), (4, 9), (6, 1), (1, 3)):
        scores = probe.normal(tokens, tokens, scale=3)
        ours = reference.call("attention_weights", scores, d_k)

        agrees(
            student.call("attention_weights", scores, d_k), ours, "The result of attention_weights"
        )


@check("attention_weights", points=0.15, layer="probe")
def test_weighs_for_one_query_at_any_key_size(student, reference, probe):
    """The weights of a single query are right for any number of tokens and any key size."""
    for tokens, d_k in ((T, D_K), (4, 9), (6, 1)):
        scores = probe.normal(tokens, scale=3)
        ours = reference.call("attention_weights", scores, d_k)

        agrees(
            student.call("attention_weights", scores, d_k), ours, "The result of attention_weights"
        )


@check("attention_weights", points=0.15, layer="laws")
def test_weights_are_shares_of_one(student, probe):
    """The weights of each query sum to 1."""
    weights = student.call("attention_weights", probe.normal(T, T, scale=2), D_K)

    sums = tensor_like(weights, (T, T)).sum(dim=-1)
    agrees(sums, torch.ones(T), "The vector of row sums")


@check("attention_weights", points=0.15, layer="laws")
def test_weights_grow_with_the_root_of_the_key_size(student, probe):
    """Three times the scores with nine times the key size give the same weights."""
    scores = probe.normal(T, T, scale=2)
    weights = tensor_like(student.call("attention_weights", scores, 2), (T, T))
    other = tensor_like(student.call("attention_weights", scores, 18), (T, T))

    expect(not alike(other, weights), "Two key sizes give the same weights.")
    same = student.call("attention_weights", 3 * scores, 18)
    agrees(same, weights, "The weights for three times the scores with nine times the key size")


@check("attention_weights", points=0.15, layer="laws")
def test_weights_see_differences_only(student, probe):
    """Adding one number to all scores does not change the weights; other scores do."""
    scores = probe.normal(T, T, scale=2)
    weights = tensor_like(student.call("attention_weights", scores, D_K), (T, T))

    shifted = student.call("attention_weights", scores + 3, D_K)
    agrees(shifted, weights, "The weights after adding the same amount to all scores")
    has_effect(student, "attention_weights", scores, D_K)


@check("attention_weights", points=0.15, layer="laws")
def test_weights_serve_a_query_alone(student, probe):
    """The scores of a single query get the weights that they get among others; all are positive."""
    scores = probe.normal(T, T, scale=2)
    weights = tensor_like(student.call("attention_weights", scores, D_K), (T, T))

    expect((weights > 0).all(), "An attention weight is not positive.")
    serves_one_row(student, "attention_weights", scores, D_K)


@check("attention_weights", points=0.07, layer="laws", rules=("dtype",))
def test_attention_weights_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    scores = probe.normal(T, T)

    keeps_dtype("attention_weights", scores, D_K)
    has_effect(student, "attention_weights", scores, D_K)


@check("attention_weights", points=0.12, layer="laws", rules=("inputs_unchanged",))
def test_attention_weights_leaves_the_scores_alone(student, probe):
    """The function does not change the scores; they may be needed again."""
    keeps_arguments(student, "attention_weights", probe.normal(T, T), D_K)


@check("attention_weights", points=0.16, layer="gradients", rules=("gradients",))
def test_attention_weights_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the scores."""
    sent = {"cotangent": probe.normal(T, T)}
    scores = probe.normal(T, T, scale=1.5)
    yours = student.gradients("attention_weights", scores, D_K, **sent)

    ours = reference.gradients("attention_weights", scores, D_K, **sent)
    same_gradients(yours, ours, "the scores")


# context_vectors


@check("context_vectors", points=0.04, layer="shapes")
def test_gives_one_context_vector_per_query(student, probe):
    """(T, T) weights give (T, d_v) context vectors."""
    weights, values = probe.uniform(T, T), probe.normal(T, D_V)

    tensor_like(
        student.call("context_vectors", weights, values), (T, D_V), "The result for all queries"
    )


@check("context_vectors", points=0.04, layer="shapes")
def test_gives_one_context_vector_for_one_query(student, probe):
    """(T,) weights of one query give one context vector of size d_v."""
    weights, values = probe.uniform(T), probe.normal(T, D_V)

    tensor_like(
        student.call("context_vectors", weights, values), (D_V,), "The result for one query"
    )


@check("context_vectors", points=0.19, layer="documented")
def test_mixes_for_all_queries_as_documented(student, reference, documented, inputs):
    """The six context vectors are the documented ones."""
    queries, keys, values = projected(reference, inputs, 1, "randn")
    scores = reference.call("attention_scores", queries, keys)
    weights = reference.call("attention_weights", scores, 2)

    context = student.call("context_vectors", weights, values)
    documented["000.context"].matches(context, "context_vectors(weights, values)")


@check("context_vectors", points=0.15, layer="documented")
def test_mixes_for_one_query_as_documented(student, reference, documented, inputs):
    """The context vector of "journey" alone is the documented one."""
    queries, keys, values = projected(reference, inputs, 123)
    scores = reference.call("attention_scores", queries[1], keys)
    weights = reference.call("attention_weights", scores, 2)

    context = student.call("context_vectors", weights, values)
    documented["002.trainable.context_2"].matches(context, "context_vectors(weights_2, values)")


@check("context_vectors", points=0.2, layer="probe")
def test_mixes_at_any_size(student, reference, probe):
    """For other sizes, even with as many tokens as features, each row of weights mixes the values
    of all tokens.
    """
    for tokens, size in ((T, D_V), (4, 4), (3, 6), (1, 2)):
        weights = torch.softmax(probe.normal(tokens, tokens, scale=1.5), dim=-1)
        values = probe.normal(tokens, size, scale=1.5)
        ours = reference.call("context_vectors", weights, values)

        agrees(
            student.call("context_vectors", weights, values), ours, "The result of context_vectors"
        )


@check("context_vectors", points=0.1, layer="probe")
def test_mixes_for_one_query_at_any_size(student, reference, probe):
    """The context vector of a single query is right for other sizes."""
    for tokens, size in ((T, D_V), (4, 4), (1, 2)):
        weights = torch.softmax(probe.normal(tokens, scale=1.5), dim=-1)
        values = probe.normal(tokens, size, scale=1.5)
        ours = reference.call("context_vectors", weights, values)

        agrees(
            student.call("context_vectors", weights, values), ours, "The result of context_vectors"
        )


@check("context_vectors", points=0.1, layer="laws")
def test_attention_to_one_token_gives_its_value(student, probe):
    """With all weight on one token, the result is the value of this token."""
    values, order = probe.normal(T, D_V, scale=1.5), torch.tensor(ORDER)
    picked = student.call("context_vectors", torch.eye(T)[order], values)

    agrees(picked, values[order], "With all weight on one token, the result")


@check("context_vectors", points=0.1, layer="laws")
def test_context_vectors_grow_with_the_weights(student, probe):
    """Three times the weights and twice the values give six times the context vectors."""
    weights, values = probe.uniform(T, T), probe.normal(T, T)
    context = tensor_like(student.call("context_vectors", weights, values), (T, T))

    varies(context)
    answer = student.call("context_vectors", 3 * weights, 2 * values)
    agrees(answer, 6 * context, "The result for larger weights and values")


@check("context_vectors", points=0.1, layer="laws")
def test_context_vectors_move_with_the_values(student, probe):
    """If the weights sum to 1, adding a vector to all values adds it to the context vectors."""
    weights = torch.softmax(probe.normal(T, T), dim=-1)
    values, step = probe.normal(T, D_V), probe.normal(D_V)
    context = tensor_like(student.call("context_vectors", weights, values), (T, D_V))

    answer = student.call("context_vectors", weights, values + step)
    agrees(answer, context + step, "The result for moved values")


@check("context_vectors", points=0.1, layer="laws")
def test_context_vectors_serve_a_query_alone(student, probe):
    """The weights of a single query give the context vector that they give among others."""
    weights = torch.softmax(probe.normal(T, T), dim=-1)

    serves_one_row(student, "context_vectors", weights, probe.normal(T, D_V))


@check("context_vectors", points=0.05, layer="laws", rules=("dtype",))
def test_context_vectors_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    weights, values = probe.normal(T, T), probe.normal(T, D_V)

    keeps_dtype("context_vectors", weights, values)
    has_effect(student, "context_vectors", weights, values)


@check("context_vectors", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_context_vectors_leaves_its_arguments_alone(student, probe):
    """The function does not change the weights or the values."""
    keeps_arguments(student, "context_vectors", probe.uniform(T, T), probe.normal(T, D_V))


@check("context_vectors", points=0.19, layer="gradients", rules=("gradients",))
def test_context_vectors_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the weights and the values."""
    sent = {"cotangent": probe.normal(T, D_V)}
    args = probe.uniform(T, T), probe.normal(T, D_V)
    yours = student.gradients("context_vectors", *args, **sent)

    ours = reference.gradients("context_vectors", *args, **sent)
    same_gradients(yours, ours, "the weights", "the values")


def tokens_and_weights(probe, d_v=D_V, scale=MODERATE):
    """Return inputs (T, d_in) and three matrices; values are narrower than queries and keys."""
    weights = probe.weights(W_query=(D_IN, D_K), W_key=(D_IN, D_K), W_value=(D_IN, d_v))
    return probe.normal(T, D_IN, scale=scale), *weights.values()


def attend(student, x, *weights):
    """Return the context vectors, which must have shape (T, d_v)."""
    shape = (len(x), weights[2].shape[1])
    return tensor_like(student.call("self_attention", x, *weights), shape, "The result")


def mixes_tokens(student, x, *weights):
    """Expect that a change of the first token changes the result of the last one."""
    other = x.clone()
    other[0] += 1
    before, after = attend(student, x, *weights), attend(student, other, *weights)
    expect(
        not alike(after[-1], before[-1]), "A changed first token does not change the last result."
    )


# self_attention


@check("self_attention", points=0.08, layer="shapes")
def test_gives_each_token_a_context_vector(student, probe):
    """Each token gets a context vector of size d_v: (T, d_v)."""
    context = student.call("self_attention", *tokens_and_weights(probe))

    tensor_like(context, (T, D_V), "self_attention(inputs, W_query, W_key, W_value)")


@check("self_attention", points=0.4, layer="documented")
def test_reproduces_the_documented_context(student, reference, documented, inputs):
    """With the matrices of seed 1, all six context vectors are the documented ones."""
    context = student.call("self_attention", inputs, *drawn(reference, 1, "randn"))

    documented["000.context"].matches(context, "self_attention(inputs, ...)")


@check("self_attention", points=0.3, layer="documented")
def test_reproduces_the_documented_context_of_journey(student, reference, documented, inputs):
    """With the matrices of seed 123, all six context vectors are the documented ones."""
    context = student.call("self_attention", inputs, *drawn(reference, 123))

    second = tensor_like(context, (6, 2))[1]
    documented["002.trainable.context_2"].matches(second, "The second context vector")
    documented["002.sa_v1.context"].matches(context, "self_attention(inputs, ...)")


@check("self_attention", points=0.58, layer="probe")
def test_attends_at_any_size(student, reference, probe):
    """The context vectors are right for other sizes and hidden inputs."""
    x, *weights = tokens_and_weights(probe)
    for given in (x, x[:3], x[:1]):
        yours = student.call("self_attention", given, *weights)

        ours = reference.call("self_attention", given, *weights)
        agrees(yours, ours, "The result of self_attention")


@check("self_attention", points=0.15, layer="laws")
def test_order_of_the_tokens_does_not_matter(student, probe):
    """Tokens in a different order give the same context vectors in that order."""
    x, *weights = tokens_and_weights(probe, D_IN, SMALL)
    order = torch.tensor(ORDER)
    context = attend(student, x, *weights)

    answer = student.call("self_attention", x[order], *weights)
    agrees(answer, context[order], "The result for a different order")
    mixes_tokens(student, x, *weights)


@check("self_attention", points=0.15, layer="laws")
def test_a_single_token_gets_its_value(student, probe):
    """A single token attends only to itself, so it gets its own value."""
    x, *weights = tokens_and_weights(probe)

    answer = student.call("self_attention", x[:1], *weights)
    agrees(answer, x[:1] @ weights[2], "The result for a single token")


@check("self_attention", points=0.15, layer="laws")
def test_weights_of_self_attention_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    x, W_query, W_key, W_value = tokens_and_weights(probe)
    x[:, 0] = 1
    W_value[1:] = 0  # the value of each token uses only its leading 1

    answer = student.call("self_attention", x, W_query, W_key, W_value)
    agrees(answer, W_value[0].expand(T, D_V), "The mixture of equal values")


@check("self_attention", points=0.15, layer="laws")
def test_self_attention_doubles_with_its_values(student, probe):
    """Twice the value matrix gives twice the context vectors."""
    x, W_query, W_key, W_value = tokens_and_weights(probe)
    context = attend(student, x, W_query, W_key, W_value)

    varies(context)
    doubled = student.call("self_attention", x, W_query, W_key, 2 * W_value)
    agrees(doubled, 2 * context, "The result for twice the values")


@check("self_attention", points=0.15, layer="laws")
def test_self_attention_finds_the_matching_key(student, probe):
    """A query that matches the key of one token gets the value of this token."""
    W_key, W_value = MATCH * torch.eye(D_IN), probe.normal(D_IN, D_V)
    W_query = W_key.roll(-1, dims=0)  # token i asks for the key of the next token

    answer = student.call("self_attention", torch.eye(D_IN), W_query, W_key, W_value)
    agrees(answer, W_value.roll(-1, dims=0), "The result for queries that match one key each")


@check("self_attention", points=0.15, layer="laws")
def test_self_attention_weighs_queries_against_keys(student, probe):
    """Queries twice as long with keys half as long change nothing; longer queries alone do."""
    x, W_query, W_key, W_value = tokens_and_weights(probe, D_IN)
    context = attend(student, x, W_query, W_key, W_value)

    longer = attend(student, x, 2 * W_query, W_key, W_value)
    expect(not alike(longer, context), "Longer queries do not change the result.")
    answer = student.call("self_attention", x, 2 * W_query, W_key / 2, W_value)
    agrees(answer, context, "The result for longer queries and shorter keys")


@check("self_attention", points=0.08, layer="laws", rules=("dtype",))
def test_self_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    args = tokens_and_weights(probe, scale=SMALL)

    keeps_dtype("self_attention", *args)
    mixes_tokens(student, *args)


@check("self_attention", points=0.06, layer="laws", rules=("inputs_unchanged",))
def test_self_attention_leaves_its_arguments_alone(student, probe):
    """The function does not change the inputs or the matrices."""
    args = tokens_and_weights(probe, scale=SMALL)

    kept = student.keeps_inputs("self_attention", *args)
    expect(kept, "self_attention changes one of its arguments in place.")
    mixes_tokens(student, *args)


@check("self_attention", points=0.2, layer="gradients", rules=("gradients",))
def test_self_attention_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the inputs and all three matrices."""
    sent = {"cotangent": probe.normal(T, D_V)}
    args = tokens_and_weights(probe)
    yours = student.gradients("self_attention", *args, **sent)

    ours = reference.gradients("self_attention", *args, **sent)
    same_gradients(yours, ours, "the inputs", *ROLES)
