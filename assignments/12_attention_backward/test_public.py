"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators, keeps_results_below
from autograder.suite.student_proxy import RemoteModule, Student


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


READY_BACKWARD = frozenset(
    {
        "_log_softmax_backward_data",
        "_scaled_dot_product_flash_attention_backward",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "_softmax_backward_data",
        "autograd",
        "backward",
        "gelu_backward",
        "grad_and_value",
        "jacfwd",
        "jacobian",
        "jacrev",
        "jvp",
        "native_layer_norm_backward",
        "softmax_backward",
        "vjp",
    }
)
B, H, TQ, TK, D, DV, DIN = 3, 2, 4, 6, 5, 7, 8
N, V, T = 6, 9, 7
SPREAD = 1.5  # of queries and keys: the weights are neither equal nor one-hot
SCALE = 0.7  # not the usual one
BACK = 3.0  # the incoming gradients are not small
STEP = 1e-6
THREE = ("queries", "keys", "values")
FOUR = ("x", "W_query", "W_key", "W_value")
BACKWARD = READY_BACKWARD | {
    "func",
    "requires_grad_",
    "enable_grad",
    "set_grad_enabled",
    "nll_loss_backward",
    "_scaled_dot_product_efficient_attention_backward",
}
BY_HAND = "In this stage you compute every gradient yourself."
AT_ONCE = "Use one operation for all rows at once."
NO_MATRIX = "A row of gradients needs no matrix of T · T numbers: one sum over the row is enough."


def draw_ids(probe, count, vocabulary):
    """Draw the ids of the right tokens."""
    return (probe.uniform(count) * vocabulary).long()


def draw_softmax(probe, *shape):
    """Draw weights, each row of which is the softmax of large scores."""
    return torch.softmax(probe.normal(*shape, scale=SPREAD), dim=-1)


def draw_attention(probe, *leading, Tq=TQ, Tk=TK, d=D, d_v=DV):
    """Draw queries, keys, values and the gradient of the context vectors."""
    return (
        probe.normal(*leading, Tq, d, scale=SPREAD),
        probe.normal(*leading, Tk, d, scale=SPREAD),
        probe.normal(*leading, Tk, d_v),
        probe.normal(*leading, Tq, d_v, scale=BACK),
    )


def draw_projections(probe, *leading, T=T, d_in=DIN, d=D):
    """Draw tokens, three matrices and the gradient of the context vectors."""
    matrices = [probe.normal(d_in, d, scale=0.5) for _ in FOUR[1:]]
    return (probe.normal(*leading, T, d_in), *matrices, probe.normal(*leading, T, d, scale=BACK))


def attend(queries, keys, values, scale=None, hidden=None):
    """Compute attention forward."""
    factor = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = factor * torch.einsum("...qd,...kd->...qk", queries, keys)
    seen = scores if hidden is None else torch.where(hidden, -torch.inf, scores)
    return torch.einsum("...qk,...kv->...qv", seen.softmax(-1), values)


def attend_to_itself(x, W_query, W_key, W_value, scale=None):
    """Compute self-attention forward."""
    return attend(*(torch.einsum("...i,io->...o", x, W) for W in (W_query, W_key, W_value)), scale)


def by_autograd(forward, tensors, back):
    """Let autograd compute the gradients of *forward* in float64."""
    with torch.enable_grad():
        given = [one.double().requires_grad_() for one in tensors]
        found = torch.autograd.grad(forward(*given), given, back.double())
    return [one.float() for one in found]


def by_differences(loss, tensor):
    """Move each number of *tensor* by a small step, and measure how much *loss* changes."""
    wide = tensor.double()
    steps = STEP * torch.eye(wide.numel(), dtype=torch.float64).view(-1, *wide.shape)
    slopes = [(loss(wide + step) - loss(wide - step)) / (2 * STEP) for step in steps]
    return torch.stack(slopes).view(*wide.shape, *slopes[0].shape).float()


def named(answer, names):
    """Return the gradients in *answer*, or fail the check if it is not a tuple of them."""
    sentence = f"The result is not a tuple of {len(names)} gradients ({', '.join(names)})."
    right = isinstance(answer, tuple | list) and len(answer) == len(names)
    expect(right, sentence, Status.WRONG_TYPE)
    return answer


def same_gradients(answer, wanted, names=THREE):
    """Compare gradients one by one."""
    for name, found, right in zip(names, named(answer, names), wanted, strict=True):
        agrees(found, right, f"The gradient of {name}")


def have_shapes(answer, tensors, names):
    """Fail the check unless each gradient has the shape of its tensor; return the gradients."""
    return [
        tensor_like(found, tuple(one.shape), f"The gradient of {name}")
        for name, found, one in zip(names, named(answer, names), tensors, strict=True)
    ]


def ready_below(student, exercise):
    """Return the names that a caller of *exercise* must not use; none if *exercise* uses one.

    In that case only the check of *exercise* takes points, and its callers keep theirs.
    """
    uses = student.uses(exercise)
    return (
        set() if any(BACKWARD.intersection(use.name.split(".")[1:]) for use in uses) else BACKWARD
    )


# cross_entropy_backward


@check("cross_entropy_backward", points=0.1, layer="shapes")
def test_loss_gradient_has_the_shape_of_the_logits(student):
    """Four predictions of three logits have a gradient of shape (4, 3)."""
    found = student.call("cross_entropy_backward", torch.zeros(4, 3), torch.tensor([0, 2, 1, 1]))

    tensor_like(found, (4, 3), "The gradient")


@check("cross_entropy_backward", points=0.4, layer="probe")
def test_loss_gradient_of_any_logits(student, reference, probe):
    """For several logits, targets and numbers of predictions, the gradient is right."""
    for guesses, vocabulary in ((N, V), (8, 3), (2, 11), (1, 4)):
        logits = probe.normal(guesses, vocabulary, scale=2)
        targets = draw_ids(probe, guesses, vocabulary)

        agrees(
            student.call("cross_entropy_backward", logits, targets),
            reference.call("cross_entropy_backward", logits, targets),
            "The gradient",
        )


@check("cross_entropy_backward", points=0.3, layer="probe")
def test_loss_gradient_is_that_of_autograd(student, probe):
    """The gradient equals that of autograd for torch's own loss in float64."""
    logits, targets = probe.normal(5, V, scale=2), draw_ids(probe, 5, V)
    one = torch.ones((), dtype=torch.float64)

    (wanted,) = by_autograd(lambda given: F.cross_entropy(given, targets), [logits], one)
    agrees(student.call("cross_entropy_backward", logits, targets), wanted, "The gradient")


@check("cross_entropy_backward", points=0.1, layer="laws")
def test_loss_gradient_depends_on_differences_only(student, reference, probe):
    """Adding a number to all logits of a prediction changes nothing, and each row sums to 0."""
    logits, targets = probe.normal(N, V, scale=2), draw_ids(probe, N, V)
    wanted = reference.call("cross_entropy_backward", logits, targets)

    found = student.call("cross_entropy_backward", logits + probe.normal(N, 1, scale=5), targets)
    agrees(found, wanted, "With shifted logits, the gradient")
    sums = tensor_like(found, (N, V), "The gradient").sum(dim=-1)
    expect(alike(sums, torch.zeros(N)), "A row of the gradient does not sum to 0.")


@check("cross_entropy_backward", points=0.2, layer="laws")
def test_loss_gradient_of_large_logits_is_finite(student):
    """With logits of 1000 and -1000 the gradient is finite, and 0 for a right prediction."""
    logits = torch.tensor([[1000.0, -1000.0, -1000.0], [-1000.0, -1000.0, 1000.0]])
    wanted = torch.tensor([[0.0, 0.0, 0.0], [-0.5, 0.0, 0.5]])

    found = student.call("cross_entropy_backward", logits, torch.tensor([0, 0]))
    agrees(found, wanted, "The gradient of large logits")


@check("cross_entropy_backward", points=0.1, layer="laws", rules=("dtype",))
def test_loss_gradient_keeps_the_dtype(student, probe):
    """For float64 logits the gradient is float64, and for float32 logits it is float32."""
    logits, targets = probe.normal(N, V), draw_ids(probe, N, V)

    for dtype in (torch.float64, torch.float32):
        found = student.call("cross_entropy_backward", logits.to(dtype), targets)
        same_dtype(tensor_like(found, (N, V), "The gradient"), dtype, "The gradient")


@check("cross_entropy_backward", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_loss_gradient_leaves_its_arguments_alone(student, reference, probe):
    """The gradient is right, and logits and targets are unchanged."""
    logits, targets = probe.normal(N, V), draw_ids(probe, N, V)

    agrees(
        student.call("cross_entropy_backward", logits, targets),
        reference.call("cross_entropy_backward", logits, targets),
        "The gradient",
    )
    kept = student.keeps_inputs("cross_entropy_backward", logits, targets)
    expect(kept, "cross_entropy_backward changes the logits or targets that you pass to it.")


@check("cross_entropy_backward", points=0.2, layer="forbidden", rules=("no_ready_backward",))
def test_loss_gradient_is_computed_by_hand(student, reference, probe):
    """The gradient comes from your own formula, not from autograd."""
    logits, targets = probe.normal(N, V), draw_ids(probe, N, V)

    agrees(
        student.call("cross_entropy_backward", logits, targets),
        reference.call("cross_entropy_backward", logits, targets),
        "The gradient",
    )
    avoids(student, "cross_entropy_backward", BACKWARD, BY_HAND)
    ran = student.operators("cross_entropy_backward", logits, targets)
    avoids_running(ran, BACKWARD, BY_HAND)


# softmax_jacobian


@check("softmax_jacobian", points=0.1, layer="shapes")
def test_jacobian_is_a_square_matrix(student):
    """Four weights have a Jacobian of shape (4, 4)."""
    tensor_like(student.call("softmax_jacobian", torch.full((4,), 0.25)), (4, 4), "The Jacobian")


@check("softmax_jacobian", points=0.8, layer="documented")
def test_jacobian_is_the_documented_one(student, documented):
    """The softmax of the scores 1, 2 and 3 has the documented Jacobian."""
    weights = torch.softmax(torch.tensor([1.0, 2.0, 3.0]), dim=-1)
    documented["dsplog.softmax"].matches(weights, "The softmax of the check")

    documented["dsplog.jacobian"].matches(student.call("softmax_jacobian", weights), "The Jacobian")


@check("softmax_jacobian", points=0.3, layer="probe")
def test_jacobian_of_any_weights(student, reference, probe):
    """For several numbers of weights, each derivative is right."""
    for size in (V, 2, 5, 1):
        weights = draw_softmax(probe, size)

        agrees(
            student.call("softmax_jacobian", weights),
            reference.call("softmax_jacobian", weights),
            "The Jacobian",
        )


@check("softmax_jacobian", points=0.1, layer="laws")
def test_jacobian_is_measured_by_small_steps(student, probe):
    """A small step in one score changes all weights as the Jacobian predicts."""
    scores = probe.normal(N, scale=SPREAD)

    found = student.call("softmax_jacobian", torch.softmax(scores, dim=-1))
    measured = by_differences(lambda moved: torch.softmax(moved, dim=-1), scores)
    agrees(found, measured.T.contiguous(), "The Jacobian")


@check("softmax_jacobian", points=0.1, layer="laws", rules=("dtype",))
def test_jacobian_keeps_the_dtype(student, probe):
    """For float64 weights the Jacobian is float64, and for float32 weights it is float32."""
    weights = draw_softmax(probe, V)

    for dtype in (torch.float64, torch.float32):
        found = student.call("softmax_jacobian", weights.to(dtype))
        same_dtype(tensor_like(found, (V, V), "The Jacobian"), dtype, "The Jacobian")


@check("softmax_jacobian", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_jacobian_leaves_its_argument_alone(student, reference, probe):
    """The Jacobian is right, and the weights are unchanged."""
    weights = draw_softmax(probe, V)

    agrees(
        student.call("softmax_jacobian", weights),
        reference.call("softmax_jacobian", weights),
        "The Jacobian",
    )
    kept = student.keeps_inputs("softmax_jacobian", weights)
    expect(kept, "softmax_jacobian changes the weights that you pass to it.")


# softmax_backward


@check("softmax_backward", points=0.1, layer="shapes")
def test_softmax_gradient_keeps_the_shape(student):
    """Weights and gradients of shape (2, 3, 4) give gradients of shape (2, 3, 4)."""
    found = student.call("softmax_backward", torch.full((2, 3, 4), 0.25), torch.ones(2, 3, 4))

    tensor_like(found, (2, 3, 4), "The gradient of the scores")


@check("softmax_backward", points=0.5, layer="probe")
def test_softmax_gradient_of_any_weights(student, reference, probe):
    """With one, two, three and four axes, the gradient of the scores is right."""
    for shape in ((V,), (5, 3), (B, TQ, TK), (B, H, TQ, T), (4, 4)):
        weights, back = draw_softmax(probe, *shape), probe.normal(*shape, scale=BACK)

        agrees(
            student.call("softmax_backward", weights, back),
            reference.call("softmax_backward", weights, back),
            "The gradient of the scores",
        )


@check("softmax_backward", points=0.4, layer="probe")
def test_softmax_gradient_is_that_of_autograd(student, probe):
    """The gradient equals that of autograd for torch's own softmax in float64."""
    scores = probe.normal(B, TQ, TK, scale=SPREAD)
    back = probe.normal(B, TQ, TK, scale=BACK)

    (wanted,) = by_autograd(lambda given: torch.softmax(given, dim=-1), [scores], back)
    found = student.call("softmax_backward", torch.softmax(scores, dim=-1), back)
    agrees(found, wanted, "The gradient of the scores")


@check("softmax_backward", points=0.2, layer="laws")
def test_softmax_gradient_is_the_jacobian_times_a_vector(student, reference, probe):
    """For each row of weights, the result is the row's Jacobian times the row's gradient."""
    weights, back = draw_softmax(probe, 3, N), probe.normal(3, N, scale=BACK)
    jacobians = [reference.call("softmax_jacobian", row) for row in weights]

    found = tensor_like(student.call("softmax_backward", weights, back), (3, N))
    for row, (jacobian, vector) in enumerate(zip(jacobians, back, strict=True)):
        agrees(found[row], jacobian @ vector, "The gradient of one row")


@check("softmax_backward", points=0.2, layer="laws")
def test_softmax_gradient_of_a_row_sums_to_zero(student, reference, probe):
    """Adding a number to all gradients of a row changes nothing, and each result sums to 0."""
    weights, back = draw_softmax(probe, B, T), probe.normal(B, T, scale=BACK)
    wanted = reference.call("softmax_backward", weights, back)

    found = student.call("softmax_backward", weights, back + probe.normal(B, 1, scale=4))
    agrees(found, wanted, "With shifted gradients, the gradient of the scores")
    sums = tensor_like(found, (B, T)).sum(dim=-1)
    expect(alike(sums, torch.zeros(B)), "The gradients of the scores of a row do not sum to 0.")


@check("softmax_backward", points=0.1, layer="laws")
def test_softmax_gradient_of_a_hidden_score_is_zero(student, reference, probe):
    """Where a weight is 0, the gradient of its score is exactly 0."""
    scores = probe.normal(TQ, TK, scale=SPREAD).masked_fill(torch.eye(TQ, TK) == 1, -torch.inf)
    weights, back = torch.softmax(scores, dim=-1), probe.normal(TQ, TK, scale=BACK)

    found = student.call("softmax_backward", weights, back)
    agrees(found, reference.call("softmax_backward", weights, back), "The gradient of the scores")
    expect((found[weights == 0] == 0).all(), "The gradient of a hidden score is not exactly 0.")


@check("softmax_backward", points=0.1, layer="laws", rules=("dtype",))
def test_softmax_gradient_keeps_the_dtype(keeps_dtype, student, reference, probe):
    """The gradient is right: float64 for float64 arguments, and float32 for float32 ones."""
    weights, back = draw_softmax(probe, B, T), probe.normal(B, T)

    keeps_dtype("softmax_backward", weights, back)
    agrees(
        student.call("softmax_backward", weights, back),
        reference.call("softmax_backward", weights, back),
        "The gradient of the scores",
    )


@check("softmax_backward", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_softmax_gradient_leaves_its_arguments_alone(student, reference, probe):
    """The gradient is right, and the given weights and gradients are unchanged."""
    weights, back = draw_softmax(probe, B, T), probe.normal(B, T)

    agrees(
        student.call("softmax_backward", weights, back),
        reference.call("softmax_backward", weights, back),
        "The gradient of the scores",
    )
    kept = student.keeps_inputs("softmax_backward", weights, back)
    expect(kept, "softmax_backward changes the weights or gradients that you pass to it.")


@check("softmax_backward", points=0.1, layer="forbidden", rules=("no_ready_backward",))
def test_softmax_gradient_is_computed_by_hand(student, reference, probe):
    """The gradient comes from your own formula, not from autograd or torch's backward functions."""
    weights, back = draw_softmax(probe, B, T), probe.normal(B, T)

    agrees(
        student.call("softmax_backward", weights, back),
        reference.call("softmax_backward", weights, back),
        "The gradient of the scores",
    )
    avoids(student, "softmax_backward", BACKWARD, BY_HAND)
    avoids_running(student.operators("softmax_backward", weights, back), BACKWARD, BY_HAND)


@check("softmax_backward", points=0.1, layer="forbidden", rules=("no_row_matrices",))
def test_softmax_gradient_builds_no_matrix(student, reference, probe):
    """For rows of 40 numbers, every tensor operation returns fewer than 40 · 40 numbers."""
    weights, back = draw_softmax(probe, 3, 40), probe.normal(3, 40)

    agrees(
        student.call("softmax_backward", weights, back),
        reference.call("softmax_backward", weights, back),
        "The gradient of the scores",
    )
    ran = student.operators("softmax_backward", weights, back)
    keeps_results_below(ran, 40 * 40, NO_MATRIX)


@check("softmax_backward", points=0.1, layer="forbidden", rules=("no_loops",))
def test_softmax_gradient_takes_all_rows_at_once(student, reference, probe):
    """The number of tensor operations does not grow with the number or length of the rows."""
    small, large = (2, 3), (5, 11)
    weights = {shape: draw_softmax(probe, *shape) for shape in (small, large)}

    agrees(
        student.call("softmax_backward", weights[large], weights[large] ** 3),
        reference.call("softmax_backward", weights[large], weights[large] ** 3),
        "The gradient of the scores",
    )
    few, many = (
        student.operators("softmax_backward", weights[shape], weights[shape] ** 3)
        for shape in (small, large)
    )
    keeps_operators(few, many, AT_ONCE)


# attention_backward


@check("attention_backward", points=0.2, layer="shapes")
def test_attention_gradients_have_the_shapes_of_their_tensors(student, probe):
    """The result is a tuple of three gradients with the shapes of queries, keys and values."""
    *given, back = draw_attention(probe, 2)

    have_shapes(student.call("attention_backward", *given, back), given, THREE)


@check("attention_backward", points=0.5, layer="probe")
def test_attention_gradients_with_the_usual_scale(student, reference, probe):
    """For several sizes and leading axes, the three gradients are right."""
    for leading, sizes in (
        ((), {}),
        ((B,), {"Tq": 3, "Tk": 8}),
        ((B, H), {"d": 6, "d_v": 3}),
        ((H,), {"Tq": 5, "Tk": 5, "d": 3, "d_v": 3}),
        ((), {"Tq": 1, "Tk": 4}),
    ):
        given = draw_attention(probe, *leading, **sizes)

        same_gradients(
            student.call("attention_backward", *given),
            reference.call("attention_backward", *given),
        )


@check("attention_backward", points=0.4, layer="probe")
def test_attention_gradients_with_another_scale(student, reference, probe):
    """With a scale that the caller passes, the three gradients are right."""
    for leading, scale in (((), SCALE), ((B,), 0.3), ((B, H), 1.2)):
        given = draw_attention(probe, *leading)

        same_gradients(
            student.call("attention_backward", *given, scale=scale),
            reference.call("attention_backward", *given, scale=scale),
        )


@check("attention_backward", points=0.4, layer="probe")
def test_attention_gradients_with_hidden_pairs(student, reference, probe):
    """With the same or different pairs hidden in each item, the three gradients are right."""
    first = torch.zeros(TK).bool()
    first[0] = True  # seen by all queries
    for leading, shape in (((), (TQ, TK)), ((B, H), (B, 1, TQ, TK)), ((B,), (B, 1, TK))):
        given = draw_attention(probe, *leading)
        hidden = (probe.uniform(*shape) < 0.4) & ~first

        same_gradients(
            student.call("attention_backward", *given, hidden=hidden),
            reference.call("attention_backward", *given, hidden=hidden),
        )


@check("attention_backward", points=0.3, layer="probe")
def test_attention_gradients_are_those_of_autograd(student, probe):
    """The gradients equal those of autograd in float64, with and without a causal mask."""
    *given, back = draw_attention(probe, B, Tq=5, Tk=5)
    future = torch.ones(5, 5).triu(1).bool()

    for scale, hidden in ((None, None), (SCALE, future)):
        wanted = by_autograd(lambda *one: attend(*one, scale, hidden), given, back)  # noqa: B023  # called at once
        same_gradients(student.call("attention_backward", *given, back, scale, hidden), wanted)


@check("attention_backward", points=0.1, layer="laws")
def test_attention_gradients_are_measured_by_small_steps(student, probe):
    """A small step in one number changes the loss as the gradient predicts."""
    *given, back = draw_attention(probe, Tq=2, Tk=3, d=2, d_v=4)
    found = have_shapes(student.call("attention_backward", *given, back), given, THREE)

    for place, (name, gradient) in enumerate(zip(THREE, found, strict=True)):
        others = [one.double() for one in given]

        def loss(moved, place=place, others=others):
            context = attend(*others[:place], moved, *others[place + 1 :])
            return (context * back.double()).sum()

        agrees(gradient, by_differences(loss, given[place]), f"The gradient of {name}")


@check("attention_backward", points=0.1, layer="laws")
def test_attention_gradients_of_a_hidden_key_are_zero(student, reference, probe):
    """A key that no query sees, and its value, have gradients of exactly 0."""
    queries, keys, values, back = draw_attention(probe, B)
    hidden = torch.arange(TK) == 2
    wanted = reference.call("attention_backward", queries, keys, values, back, hidden=hidden)
    moved = torch.where(hidden[:, None], probe.normal(TK, D, scale=2), 0)

    answer = student.call("attention_backward", queries, keys + moved, values, back, hidden=hidden)
    same_gradients(answer, wanted)
    for name, gradient in zip(THREE[1:], answer[1:], strict=True):
        expect((gradient[:, 2] == 0).all(), f"The gradient of the hidden {name} is not exactly 0.")


@check("attention_backward", points=0.1, layer="laws")
def test_attention_gradients_depend_on_differences_of_values(student, reference, probe):
    """Adding one vector to all values changes no gradient."""
    queries, keys, values, back = draw_attention(probe, B)
    wanted = reference.call("attention_backward", queries, keys, values, back)

    moved = values + probe.normal(DV, scale=3)
    same_gradients(student.call("attention_backward", queries, keys, moved, back), wanted)


@check("attention_backward", points=0.1, layer="laws")
def test_attention_gradients_are_linear(student, reference, probe):
    """The three gradients are linear in the gradient of the context vectors."""
    queries, keys, values, back = draw_attention(probe, B)
    more = probe.normal(B, TQ, DV, scale=BACK)
    one, other = (
        reference.call("attention_backward", queries, keys, values, each) for each in (back, more)
    )

    wanted = [2 * left - right for left, right in zip(one, other, strict=True)]
    answer = student.call("attention_backward", queries, keys, values, 2 * back - more)
    same_gradients(answer, wanted)


@check("attention_backward", points=0.2, layer="laws")
def test_attention_gradients_at_scale_zero(student, reference, probe):
    """With scale 0 all weights are equal, and queries and keys have gradients of 0."""
    given = draw_attention(probe, B)
    wanted = reference.call("attention_backward", *given, scale=0.0)

    same_gradients(student.call("attention_backward", *given, scale=0.0), wanted)


@check("attention_backward", points=0.1, layer="laws")
def test_attention_gradients_of_one_item(student, reference, probe):
    """The gradients of an item are the same alone and in a batch."""
    given = draw_attention(probe, B)
    wanted = reference.call("attention_backward", *given)

    for item in range(B):
        alone = student.call("attention_backward", *(one[item] for one in given))
        same_gradients(alone, [gradient[item] for gradient in wanted])


@check("attention_backward", points=0.1, layer="laws", rules=("dtype",))
def test_attention_gradients_keep_the_dtype(student, probe):
    """For float64 arguments all gradients are float64, and for float32 arguments float32."""
    *given, back = draw_attention(probe, B)
    future = torch.ones(TQ, TK).triu(1).bool()

    for dtype in (torch.float64, torch.float32):
        wide = [one.to(dtype) for one in (*given, back)]
        answer = student.call("attention_backward", *wide, hidden=future)
        for name, gradient in zip(THREE, have_shapes(answer, given, THREE), strict=True):
            same_dtype(gradient, dtype, f"The gradient of {name}")


@check("attention_backward", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_attention_gradients_leave_their_arguments_alone(student, reference, probe):
    """The gradients are right, and no argument is changed."""
    given = (*draw_attention(probe, B), SCALE, torch.ones(TQ, TK).triu(1).bool())

    same_gradients(
        student.call("attention_backward", *given), reference.call("attention_backward", *given)
    )
    kept = student.keeps_inputs("attention_backward", *given)
    expect(kept, "attention_backward changes tensors that you pass to it.")


@check("attention_backward", points=0.2, layer="forbidden", rules=("no_ready_backward",))
def test_attention_gradients_are_computed_by_hand(student, reference, probe):
    """The gradients come from your own steps, not from autograd or torch's backward functions."""
    given = draw_attention(probe, B)

    same_gradients(
        student.call("attention_backward", *given), reference.call("attention_backward", *given)
    )
    names = ready_below(student, "softmax_backward")
    avoids(student, "attention_backward", names, BY_HAND)
    avoids_running(student.operators("attention_backward", *given), names, BY_HAND)


@check("attention_backward", points=0.1, layer="forbidden", rules=("no_loops",))
def test_attention_gradients_take_all_tokens_at_once(student, reference, probe):
    """The number of tensor operations does not grow with the number of queries or keys."""
    few = draw_attention(probe, Tq=3, Tk=4)
    many = draw_attention(probe, Tq=9, Tk=11)

    same_gradients(
        student.call("attention_backward", *many), reference.call("attention_backward", *many)
    )
    counts = (student.operators("attention_backward", *given) for given in (few, many))
    keeps_operators(*counts, AT_ONCE)


def documented_gradients(student, documented):
    """Check the loss of the documented self-attention, and return its gradients."""
    given = [documented[f"povinelli.{name}"].tensor for name in ("x", "w_q", "w_k", "w_v")]
    context = attend_to_itself(*given, scale=1.0)
    documented["povinelli.context"].matches(context, "The context of the check")
    back = context - documented["povinelli.target"].tensor
    documented["povinelli.loss"].matches((back**2).sum() / 2, "The loss of the check")
    return have_shapes(student.call("self_attention_backward", *given, back, 1.0), given, FOUR)


# self_attention_backward


@check("self_attention_backward", points=0.1, layer="shapes")
def test_self_attention_gradients_have_the_shapes_of_their_tensors(student, probe):
    """The result is a tuple of four gradients, with and without a batch axis."""
    for leading in ((2,), ()):
        *given, back = draw_projections(probe, *leading)

        have_shapes(student.call("self_attention_backward", *given, back), given, FOUR)


@check("self_attention_backward", points=0.4, layer="documented")
def test_self_attention_gives_the_documented_gradient_of_queries(student, documented):
    """With scale 1 and the documented loss, W_query has the documented gradient."""
    gradients = documented_gradients(student, documented)

    documented["povinelli.grad_w_q"].matches(gradients[1], "The gradient of W_query")


@check("self_attention_backward", points=0.3, layer="documented")
def test_self_attention_gives_the_documented_gradient_of_keys(student, documented):
    """With scale 1 and the documented loss, W_key has the documented gradient."""
    gradients = documented_gradients(student, documented)

    documented["povinelli.grad_w_k"].matches(gradients[2], "The gradient of W_key")


@check("self_attention_backward", points=0.3, layer="documented")
def test_self_attention_gives_the_documented_gradient_of_values(student, documented):
    """With scale 1 and the documented loss, W_value has the documented gradient."""
    gradients = documented_gradients(student, documented)

    documented["povinelli.grad_w_v"].matches(gradients[3], "The gradient of W_value")


@check("self_attention_backward", points=0.3, layer="probe")
def test_self_attention_gradients_of_any_tokens(student, reference, probe):
    """The gradients are right with and without a batch axis, and for different scales."""
    for leading, scale, sizes in (
        ((), None, {}),
        ((B,), None, {"T": 4, "d_in": 6}),
        ((2,), SCALE, {"T": 5, "d_in": 3, "d": 7}),
        ((1,), None, {"T": 1}),
    ):
        given = (*draw_projections(probe, *leading, **sizes), scale)

        same_gradients(
            student.call("self_attention_backward", *given),
            reference.call("self_attention_backward", *given),
            FOUR,
        )


@check("self_attention_backward", points=0.2, layer="probe")
def test_self_attention_gradients_are_those_of_autograd(student, probe):
    """The gradients equal those of autograd in float64."""
    *given, back = draw_projections(probe, B)

    wanted = by_autograd(attend_to_itself, given, back)
    same_gradients(student.call("self_attention_backward", *given, back), wanted, FOUR)


@check("self_attention_backward", points=0.1, layer="laws")
def test_self_attention_gradients_add_up_over_the_batch(student, reference, probe):
    """For a batch, the gradient of a matrix is the sum of its gradients for the items."""
    x, *matrices, back = draw_projections(probe, B)
    alone = [
        reference.call("self_attention_backward", x[item], *matrices, back[item])
        for item in range(B)
    ]
    wanted = [torch.stack([one[0] for one in alone])]
    wanted += [sum(one[place] for one in alone) for place in (1, 2, 3)]

    same_gradients(student.call("self_attention_backward", x, *matrices, back), wanted, FOUR)


@check("self_attention_backward", points=0.1, layer="laws", rules=("dtype", "inputs_unchanged"))
def test_self_attention_gradients_keep_dtype_and_arguments(student, reference, probe):
    """The gradients are right and have the dtype of the arguments, which are unchanged."""
    *given, back = draw_projections(probe, B)
    wanted = reference.call("self_attention_backward", *given, back)

    for dtype in (torch.float64, torch.float32):
        wide = [one.to(dtype) for one in (*given, back)]
        answer = student.call("self_attention_backward", *wide)
        for name, gradient in zip(FOUR, have_shapes(answer, given, FOUR), strict=True):
            same_dtype(gradient, dtype, f"The gradient of {name}")
    same_gradients(student.call("self_attention_backward", *given, back), wanted, FOUR)
    kept = student.keeps_inputs("self_attention_backward", *given, back)
    expect(kept, "self_attention_backward changes tensors that you pass to it.")


@check("self_attention_backward", points=0.1, layer="forbidden", rules=("no_ready_backward",))
def test_self_attention_gradients_are_computed_by_hand(student, reference, probe):
    """The gradients come from your own steps, not from autograd or torch's backward functions."""
    given = draw_projections(probe, B)

    same_gradients(
        student.call("self_attention_backward", *given),
        reference.call("self_attention_backward", *given),
        FOUR,
    )
    names = ready_below(student, "attention_backward")
    avoids(student, "self_attention_backward", names, BY_HAND)
    avoids_running(student.operators("self_attention_backward", *given), names, BY_HAND)


@check("self_attention_backward", points=0.1, layer="forbidden", rules=("no_loops",))
def test_self_attention_gradients_take_all_tokens_at_once(student, reference, probe):
    """The number of tensor operations does not grow with the number of tokens."""
    few, many = (draw_projections(probe, T=size) for size in (3, 9))

    same_gradients(
        student.call("self_attention_backward", *many),
        reference.call("self_attention_backward", *many),
        FOUR,
    )
    counts = (student.operators("self_attention_backward", *given) for given in (few, many))
    keeps_operators(*counts, AT_ONCE)
