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
from autograder.suite.compare import agrees, same_dtype, tensor, tensor_like
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


# draw_weights


@check("draw_weights", points=0.1, layer="shapes")
def test_draws_three_matrices(student):
    """Three matrices of shape (d_in, d_out) are returned, in float32 and frozen."""
    answer = student.call("draw_weights", D_IN, D_K)

    for role, matrix in zip(ROLES, three_matrices(answer, (D_IN, D_K)), strict=True):
        same_dtype(matrix, torch.float32, role)
    frozen = not any(matrix.requires_grad for matrix in answer)
    expect(frozen, "The matrices should be frozen: requires_grad=False.")


@check("draw_weights", points=0.4, layer="parameters")
def test_draws_the_documented_matrices(student, documented):
    """With seed 1, "randn" draws the documented W_q, W_k and W_v, in this order."""
    weights = three_matrices(student.call("draw_weights", 3, 2, "randn", seed=1), (3, 2))

    for role, name, weight in zip(ROLES, ("w_q", "w_k", "w_v"), weights, strict=True):
        documented[f"000.{name}"].matches(weight, role)


@check("draw_weights", points=0.4, layer="documented")
def test_draws_uniformly_unless_told_otherwise(student, documented, inputs):
    """With seed 123 and "rand", the default, "journey" gets its documented query, key and value."""
    W_query, W_key, W_value = three_matrices(student.call("draw_weights", 3, 2, seed=123), (3, 2))

    documented["002.trainable.query_2"].matches(inputs[1] @ W_query, "inputs[1] @ W_query")
    documented["003.trainable.key_2"].matches(inputs[1] @ W_key, "inputs[1] @ W_key")
    documented["003.trainable.value_2"].matches(inputs[1] @ W_value, "inputs[1] @ W_value")


@check("draw_weights", points=0.35, layer="probe")
def test_draws_each_matrix_on_its_own(student, reference, probe):
    """For any size and seed, each matrix is drawn with its own call, W_query first."""
    for distribution in ("rand", "randn"):
        yours = student.call("draw_weights", D_IN, D_K, distribution, seed=probe.seed)
        ours = reference.call("draw_weights", D_IN, D_K, distribution, seed=probe.seed)

        mine = three_matrices(yours, (D_IN, D_K))
        for role, weight, wanted in zip(ROLES, mine, ours, strict=True):
            agrees(weight, wanted, f"{role} of {distribution!r}")


@check("draw_weights", points=0.15, layer="laws", rules=("no_seeding",))
def test_leaves_the_seed_to_the_caller(student, reference):
    """Only the three draws use torch's generator, and nothing seeds it."""
    student.call("draw_weights", D_IN, D_K, "randn", seed=5)
    yours = student.draws_next()
    reference.call("draw_weights", D_IN, D_K, "randn", seed=5)

    agrees(yours, reference.draws_next(), "The next number that torch draws")


@check("draw_weights", points=0.1, layer="laws", rules=("refuses",))
def test_refuses_another_distribution(student):
    """An unknown distribution raises an error; "rand" and "randn" do not."""
    for distribution in ("rand", "randn"):
        three_matrices(student.call("draw_weights", D_IN, D_K, distribution), (D_IN, D_K))
    for distribution in ("uniform", "xavier"):
        expect(
            student.refuses("draw_weights", D_IN, D_K, distribution),
            "An unknown distribution raises no error; it should raise a ValueError.",
        )


# project


@check("project", points=0.1, layer="shapes")
def test_projects_into_the_new_size(student, probe):
    """(T, d_in) becomes (T, d_out), and one vector (d_in,) becomes (d_out,)."""
    x, W = probe.normal(T, D_IN), probe.normal(D_IN, D_K)

    tensor_like(student.call("project", x, W), (T, D_K), "project(inputs, weight)")
    tensor_like(student.call("project", x[0], W), (D_K,), "project(one vector, weight)")


@check("project", points=0.4, layer="documented")
def test_projects_all_tokens_as_documented(student, reference, documented, inputs):
    """The queries, keys and values of all six tokens are the documented ones."""
    weights = drawn(reference, 1, "randn")
    for name, weight in zip(("queries", "keys", "values"), weights, strict=True):
        documented[f"000.{name}"].matches(student.call("project", inputs, weight), name)

    _, W_key, W_value = drawn(reference, 123)
    for name, weight in (("keys", W_key), ("values", W_value)):
        answer = tensor_like(student.call("project", inputs, weight), (6, 2), name)
        documented[f"002.trainable.{name}.shape"].matches(torch.tensor(answer.shape), name)


@check("project", points=0.35, layer="documented")
def test_projects_one_token_as_documented(student, reference, documented, inputs):
    """The query, key and value of "journey" alone are the documented ones."""
    for seed, distribution, names in (
        (1, "randn", ("000.query_2", "000.key_2", "000.value_2")),
        (123, "rand", ("002.trainable.query_2", "003.trainable.key_2", "003.trainable.value_2")),
    ):
        for name, weight in zip(names, drawn(reference, seed, distribution), strict=True):
            answer = student.call("project", inputs[1], weight)
            documented[name].matches(answer, name.rpartition(".")[2])


@check("project", points=0.3, layer="probe")
def test_projects_at_any_size(student, reference, probe):
    """The projection is right for other sizes, even with a square weight matrix."""
    x = probe.normal(T, D_IN, scale=1.5)
    for given in (x, x[:1], x[2]):
        for weight in (probe.normal(D_IN, D_K), probe.normal(D_IN, D_IN)):
            yours = student.call("project", given, weight)

            agrees(yours, reference.call("project", given, weight), "project(inputs, weight)")


@check("project", points=0.1, layer="laws", rules=("dtype",))
def test_project_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("project", probe.normal(T, D_IN), probe.normal(D_IN, D_K))


@check("project", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_project_leaves_its_arguments_alone(student, probe):
    """The function does not change its inputs or the weight."""
    kept = student.keeps_inputs("project", probe.normal(T, D_IN), probe.normal(D_IN, D_K))

    expect(kept, "project changes one of its arguments in place.")


@check("project", points=0.2, layer="gradients", rules=("gradients",))
def test_project_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the inputs and the weight."""
    sent = {"cotangent": probe.normal(T, D_K)}
    args = probe.normal(T, D_IN), probe.normal(D_IN, D_K)
    yours = student.gradients("project", *args, **sent)

    same_gradients(yours, reference.gradients("project", *args, **sent), "inputs", "weight")


# attention_scores


@check("attention_scores", points=0.1, layer="shapes")
def test_gives_one_score_per_pair(student, probe):
    """All queries give (T, T) scores, and one query alone gives (T,)."""
    queries, keys = probe.normal(T, D_K), probe.normal(T, D_K)

    tensor_like(student.call("attention_scores", queries, keys), (T, T), "scores of all queries")
    tensor_like(student.call("attention_scores", queries[0], keys), (T,), "scores of one query")


@check("attention_scores", points=0.4, layer="documented")
def test_scores_all_queries_as_documented(student, reference, documented, inputs):
    """The 6 by 6 scores are the documented ones: a row for each query, a column for each key."""
    queries, keys, _ = projected(reference, inputs, 1, "randn")

    documented["000.scores"].matches(
        student.call("attention_scores", queries, keys), "attention_scores(queries, keys)"
    )


@check("attention_scores", points=0.4, layer="documented")
def test_scores_one_query_as_documented(student, reference, documented, inputs):
    """The six scores of "journey" alone are the documented ones, with seed 1 and with seed 123."""
    queries, keys, _ = projected(reference, inputs, 1, "randn")
    scores = student.call("attention_scores", queries[1], keys)
    documented["000.scores_2"].matches(scores, "attention_scores(queries[1], keys)")

    queries, keys, _ = projected(reference, inputs, 123)
    scores = tensor_like(student.call("attention_scores", queries[1], keys), (6,))
    documented["002.trainable.scores_2"].matches(scores, "attention_scores(queries[1], keys)")
    documented["002.trainable.score_22"].matches(scores[1], "The score of the query with its key")


@check("attention_scores", points=0.4, layer="probe")
def test_scores_at_any_size(student, reference, probe):
    """For other sizes, even with as many tokens as features, every score is a plain dot product."""
    for tokens, size in ((T, D_K), (4, 4), (3, 6), (1, 3)):
        queries = probe.normal(tokens, size, scale=1.5)
        keys = probe.normal(tokens, size, scale=1.5)
        for asked in (queries, queries[-1]):
            yours = student.call("attention_scores", asked, keys)

            agrees(yours, reference.call("attention_scores", asked, keys), "attention_scores")


@check("attention_scores", points=0.1, layer="laws", rules=("dtype",))
def test_attention_scores_keep_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("attention_scores", probe.normal(T, D_K), probe.normal(T, D_K))


@check("attention_scores", points=0.3, layer="laws")
def test_scores_read_off_what_a_query_asks_for(student, probe):
    """For a one-hot query, the row of scores holds the matching feature of every key."""
    keys = probe.normal(T, T, scale=1.5)
    order = torch.tensor([3, 0, 4, 1, 2])
    scores = student.call("attention_scores", torch.eye(T)[order], keys)

    agrees(scores, keys.T[order], "The scores of queries with a single 1")


@check("attention_scores", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_attention_scores_leaves_its_arguments_alone(student, probe):
    """The function does not change the queries or the keys."""
    kept = student.keeps_inputs("attention_scores", probe.normal(T, D_K), probe.normal(T, D_K))

    expect(kept, "attention_scores changes one of its arguments in place.")


@check("attention_scores", points=0.25, layer="gradients", rules=("gradients",))
def test_attention_scores_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the queries and the keys."""
    sent = {"cotangent": probe.normal(T, T)}
    args = probe.normal(T, D_K), probe.normal(T, D_K)
    yours = student.gradients("attention_scores", *args, **sent)

    ours = reference.gradients("attention_scores", *args, **sent)
    same_gradients(yours, ours, "the queries", "the keys")


# attention_weights


@check("attention_weights", points=0.1, layer="shapes")
def test_keeps_the_shape_of_the_scores(student, probe):
    """Each score becomes one weight: (T, T) stays (T, T), and (T,) stays (T,)."""
    scores = probe.normal(T, T)

    tensor_like(student.call("attention_weights", scores, D_K), (T, T), "weights of all queries")
    tensor_like(student.call("attention_weights", scores[0], D_K), (T,), "weights of one query")


@check("attention_weights", points=0.4, layer="documented")
def test_weighs_all_tokens_as_documented(student, reference, documented, inputs):
    """The 6 by 6 attention weights are the documented ones, and so are the sums of their rows."""
    queries, keys, _ = projected(reference, inputs, 1, "randn")
    scores = reference.call("attention_scores", queries, keys)
    weights = tensor_like(student.call("attention_weights", scores, 2), (6, 6))

    documented["000.weights"].matches(weights, "attention_weights(scores, 2)")
    documented["000.row_sums"].matches(weights.sum(dim=-1), "The sum of each row")


@check("attention_weights", points=0.35, layer="documented")
def test_weighs_for_one_query_as_documented(student, reference, documented, inputs):
    """The six attention weights of "journey" alone are the documented ones."""
    queries, keys, _ = projected(reference, inputs, 123)
    scores = reference.call("attention_scores", queries[1], keys)

    weights = student.call("attention_weights", scores, 2)
    documented["002.trainable.weights_2"].matches(weights, "attention_weights(scores_2, 2)")


@check("attention_weights", points=0.4, layer="probe")
def test_weighs_at_any_key_size(student, reference, probe):
    """Each query's weights are right for any number of tokens and any key size."""
    for tokens, d_k in ((T, D_K), (4, 9), (6, 1), (1, 3)):
        scores = probe.normal(tokens, tokens, scale=3)
        for given in (scores, scores[-1]):
            yours = student.call("attention_weights", given, d_k)

            agrees(yours, reference.call("attention_weights", given, d_k), "attention_weights")


@check("attention_weights", points=0.1, layer="laws", rules=("dtype",))
def test_attention_weights_keep_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("attention_weights", probe.normal(T, T), D_K)


@check("attention_weights", points=0.3, layer="laws")
def test_weights_are_shares_of_one(student, probe):
    """Each query's weights are positive and sum to 1, and scores are divided by the root of d_k."""
    scores = probe.normal(T, T, scale=2)
    weights = tensor_like(student.call("attention_weights", scores, 2), (T, T))
    same = student.call("attention_weights", 3 * scores, 18)

    expect((weights > 0).all(), "Some attention weights are not positive.")
    agrees(weights.sum(dim=-1), torch.ones(T), "The sum of each query's weights")
    agrees(same, weights, "The weights for three times the scores with nine times the key size")


@check("attention_weights", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_attention_weights_leaves_the_scores_alone(student, probe):
    """The function does not change the scores."""
    kept = student.keeps_inputs("attention_weights", probe.normal(T, T), D_K)

    expect(kept, "attention_weights changes the scores in place; they may be needed again.")


@check("attention_weights", points=0.25, layer="gradients", rules=("gradients",))
def test_attention_weights_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the scores."""
    sent = {"cotangent": probe.normal(T, T)}
    scores = probe.normal(T, T, scale=1.5)
    yours = student.gradients("attention_weights", scores, D_K, **sent)

    ours = reference.gradients("attention_weights", scores, D_K, **sent)
    same_gradients(yours, ours, "the scores")


# context_vectors


@check("context_vectors", points=0.1, layer="shapes")
def test_gives_one_context_vector_per_query(student, probe):
    """(T, T) weights give (T, d_v) context vectors, and (T,) weights give one of size d_v."""
    weights, values = probe.uniform(T, T), probe.normal(T, D_V)

    tensor_like(student.call("context_vectors", weights, values), (T, D_V), "all context vectors")
    tensor_like(student.call("context_vectors", weights[0], values), (D_V,), "one context vector")


@check("context_vectors", points=0.3, layer="documented")
def test_mixes_for_all_queries_as_documented(student, reference, documented, inputs):
    """The six context vectors are the documented ones."""
    queries, keys, values = projected(reference, inputs, 1, "randn")
    scores = reference.call("attention_scores", queries, keys)
    weights = reference.call("attention_weights", scores, 2)

    context = student.call("context_vectors", weights, values)
    documented["000.context"].matches(context, "context_vectors(weights, values)")


@check("context_vectors", points=0.3, layer="documented")
def test_mixes_for_one_query_as_documented(student, reference, documented, inputs):
    """The context vector of "journey" alone is the documented one."""
    queries, keys, values = projected(reference, inputs, 123)
    scores = reference.call("attention_scores", queries[1], keys)
    weights = reference.call("attention_weights", scores, 2)

    context = student.call("context_vectors", weights, values)
    documented["002.trainable.context_2"].matches(context, "context_vectors(weights_2, values)")


@check("context_vectors", points=0.3, layer="probe")
def test_mixes_at_any_size(student, reference, probe):
    """For other sizes, even with as many tokens as features, each row of weights mixes the values
    of all tokens.
    """
    for tokens, size in ((T, D_V), (4, 4), (3, 6), (1, 2)):
        weights = torch.softmax(probe.normal(tokens, tokens, scale=1.5), dim=-1)
        values = probe.normal(tokens, size, scale=1.5)
        for given in (weights, weights[-1]):
            yours = student.call("context_vectors", given, values)

            agrees(yours, reference.call("context_vectors", given, values), "context_vectors")


@check("context_vectors", points=0.1, layer="laws", rules=("dtype",))
def test_context_vectors_keep_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("context_vectors", probe.normal(T, T), probe.normal(T, D_V))


@check("context_vectors", points=0.2, layer="laws")
def test_attention_to_one_token_gives_its_value(student, probe):
    """With all weight on one token, the result is its value; equal weights give the mean value."""
    values = probe.normal(T, D_V, scale=1.5)
    order = torch.tensor([2, 4, 0, 3, 1])
    picked = student.call("context_vectors", torch.eye(T)[order], values)
    mixed = student.call("context_vectors", torch.full((T,), 1 / T), values)

    agrees(picked, values[order], "The context vector of attention to a single token")
    agrees(mixed, values.mean(dim=0), "The context vector of equal attention to all tokens")


@check("context_vectors", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_context_vectors_leaves_its_arguments_alone(student, probe):
    """The function does not change the weights or the values."""
    kept = student.keeps_inputs("context_vectors", probe.uniform(T, T), probe.normal(T, D_V))

    expect(kept, "context_vectors changes one of its arguments in place.")


@check("context_vectors", points=0.15, layer="gradients", rules=("gradients",))
def test_context_vectors_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the weights and the values."""
    sent = {"cotangent": probe.normal(T, D_V)}
    args = probe.uniform(T, T), probe.normal(T, D_V)
    yours = student.gradients("context_vectors", *args, **sent)

    ours = reference.gradients("context_vectors", *args, **sent)
    same_gradients(yours, ours, "the weights", "the values")


def tokens_and_weights(probe):
    """Return inputs (T, d_in) and three matrices; values are narrower than queries and keys."""
    weights = probe.weights(W_query=(D_IN, D_K), W_key=(D_IN, D_K), W_value=(D_IN, D_V))
    return probe.normal(T, D_IN, scale=MODERATE), *weights.values()


# self_attention


@check("self_attention", points=0.1, layer="shapes")
def test_gives_each_token_a_context_vector(student, probe):
    """Each token gets a context vector of size d_v: (T, d_v)."""
    context = student.call("self_attention", *tokens_and_weights(probe))

    tensor_like(context, (T, D_V), "self_attention(inputs, W_query, W_key, W_value)")


@check("self_attention", points=0.35, layer="documented")
def test_reproduces_the_documented_context(student, reference, documented, inputs):
    """With the matrices of seed 1, all six context vectors are the documented ones."""
    context = student.call("self_attention", inputs, *drawn(reference, 1, "randn"))

    documented["000.context"].matches(context, "self_attention(inputs, ...)")


@check("self_attention", points=0.2, layer="documented")
def test_reproduces_the_documented_context_of_journey(student, reference, documented, inputs):
    """With the matrices of seed 123, all six context vectors are the documented ones."""
    context = student.call("self_attention", inputs, *drawn(reference, 123))

    second = tensor_like(context, (6, 2))[1]
    documented["002.trainable.context_2"].matches(second, "The second context vector")
    documented["002.sa_v1.context"].matches(context, "self_attention(inputs, ...)")


@check("self_attention", points=0.35, layer="probe")
def test_attends_at_any_size(student, reference, probe):
    """The context vectors are right for other sizes and hidden inputs."""
    x, *weights = tokens_and_weights(probe)
    for given in (x, x[:3], x[:1]):
        yours = student.call("self_attention", given, *weights)

        agrees(yours, reference.call("self_attention", given, *weights), "self_attention")


@check("self_attention", points=0.1, layer="laws", rules=("dtype",))
def test_self_attention_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    weights = [probe.normal(D_IN, size) for size in (D_K, D_K, D_V)]
    keeps_dtype("self_attention", probe.normal(T, D_IN), *weights)


@check("self_attention", points=0.15, layer="laws")
def test_order_of_the_tokens_does_not_matter(student, probe):
    """Reordering the tokens reorders the context vectors; a single token gets its value."""
    x, *weights = tokens_and_weights(probe)
    order = torch.tensor([3, 0, 4, 1, 2])
    context = tensor_like(student.call("self_attention", x, *weights), (T, D_V))

    agrees(
        student.call("self_attention", x[order], *weights),
        context[order],
        "The result for a different order",
    )
    agrees(
        student.call("self_attention", x[:1], *weights),
        x[:1] @ weights[2],
        "The result for a single token",
    )


@check("self_attention", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_self_attention_leaves_its_arguments_alone(student, probe):
    """The function does not change the inputs or the matrices."""
    kept = student.keeps_inputs("self_attention", *tokens_and_weights(probe))

    expect(kept, "self_attention changes one of its arguments in place.")


@check("self_attention", points=0.2, layer="gradients", rules=("gradients",))
def test_self_attention_passes_gradients_on(student, reference, probe):
    """Gradients flow back to the inputs and all three matrices."""
    sent = {"cotangent": probe.normal(T, D_V)}
    args = tokens_and_weights(probe)
    yours = student.gradients("self_attention", *args, **sent)

    ours = reference.gradients("self_attention", *args, **sent)
    same_gradients(yours, ours, "the inputs", *ROLES)
