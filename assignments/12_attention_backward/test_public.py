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
from autograder.suite.compare import agrees, same_dtype, tensor, tensor_like
from autograder.suite.forbidden import (
    avoids,
    avoids_itself,
    avoids_running,
    keeps_operators,
    keeps_results_below,
)
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
EFFECT = 0.01  # far above float32 noise; the changes that the laws make have larger effects
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


def same_gradients(answer, wanted, names=THREE, other="", when=""):
    """Compare gradients one by one; *when* is the condition."""
    for name, found, right in zip(names, named(answer, names), wanted, strict=True):
        agrees(found, right, f"The gradient of {name}{when}", other)


def differs(one, other):
    """Return whether two results of the same shape differ much more than float32 noise."""
    apart = (one.to(torch.complex128) - other.to(torch.complex128)).abs()  # of any dtype
    return bool(apart.numel()) and not bool(apart.max() <= EFFECT)


def real(answer, shape, what="The result"):
    """Return a tensor of real numbers, with which a law can compute, or fail the check."""
    found = tensor_like(answer, shape, what)
    expect(found.is_floating_point(), f"{what} has the wrong dtype.", Status.WRONG_TYPE)
    return found


def have_shapes(answer, tensors, names):
    """Fail the check unless each gradient has the shape of its tensor; return the gradients."""
    return [
        real(found, tuple(one.shape), f"The gradient of {name}")
        for name, found, one in zip(names, named(answer, names), tensors, strict=True)
    ]


def is_not_zero(gradient, what="The gradient"):
    """Fail the check if *gradient* is zero everywhere."""
    expect(differs(gradient, torch.zeros_like(gradient)), f"{what} is nearly zero everywhere.")


def call(student, exercise, *given):
    """Call an exercise whose one result has the shape of its first argument."""
    return real(student.call(exercise, *given), tuple(given[0].shape), "The gradient")


def attention_gradients(student, *given, scale=SCALE, hidden=None):
    """Return the gradients of queries, keys and values."""
    answer = student.call("attention_backward", *given, scale, hidden)
    return have_shapes(answer, given[:3], THREE)


def own_gradients(student, *given, scale=SCALE):
    """Return the gradients of x and the three matrices."""
    answer = student.call("self_attention_backward", *given, scale)
    return have_shapes(answer, given[:4], FOUR)


def needs_back(student, exercise, *given):
    """Fail the check if the result does not depend on the last argument.

    The rules of dtypes and unchanged arguments are not kept by results that are always the same.
    """
    one, other = (student.call(exercise, *given[:-1], back) for back in (given[-1], 2 * given[-1]))
    what = "the result"
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        one, other, what = one[-1], other[-1], "the last gradient"
    shape = tuple(other.shape) if isinstance(other, torch.Tensor) else ()
    moved = differs(*(tensor_like(each, shape, what.capitalize()) for each in (one, other)))
    expect(moved, f"Twice the given gradient does not visibly change {what}.")


def needs_logits(student, logits, targets):
    """Fail the check if the gradient of the loss does not depend on the logits."""
    one, other = (
        call(student, "cross_entropy_backward", each, targets) for each in (logits, logits.flip(1))
    )
    expect(differs(one, other), "Reordered logits do not visibly change the gradient.")


def needs_weights(student, weights):
    """Fail the check if the Jacobian does not depend on the weights."""
    one, other = (jacobian_of(student, each) for each in (weights, weights.flip(0)))
    expect(differs(one, other), "Reordered weights do not visibly change the Jacobian.")


# cross_entropy_backward


@check("cross_entropy_backward", points=0.05, layer="shapes")
def test_loss_gradient_has_the_shape_of_the_logits(student):
    """Four predictions of three logits have a gradient of shape (4, 3)."""
    found = student.call("cross_entropy_backward", torch.zeros(4, 3), torch.tensor([0, 2, 1, 1]))

    tensor_like(found, (4, 3), "The gradient")


@check("cross_entropy_backward", points=0.35, layer="probe")
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


@check("cross_entropy_backward", points=0.35, layer="probe")
def test_loss_gradient_is_that_of_autograd(student, probe):
    """The gradient equals that of autograd for torch's own loss in float64."""
    logits, targets = probe.normal(5, V, scale=2), draw_ids(probe, 5, V)
    one = torch.ones((), dtype=torch.float64)

    (wanted,) = by_autograd(lambda given: F.cross_entropy(given, targets), [logits], one)
    agrees(student.call("cross_entropy_backward", logits, targets), wanted, "The gradient")


@check("cross_entropy_backward", points=0.15, layer="laws")
def test_loss_gradient_of_a_prediction_sums_to_zero(student, probe):
    """Each row of the gradient sums to 0, and only the entry of the target is negative."""
    logits, targets = probe.normal(N, V, scale=2), draw_ids(probe, N, V)
    found = call(student, "cross_entropy_backward", logits, targets)

    agrees(found.sum(dim=-1), torch.zeros(N), "The vector of row sums")
    negative = torch.zeros(N, V).scatter(1, targets[:, None], 1.0)
    agrees((found < 0).float(), negative, "The matrix of the places of negative entries")


@check("cross_entropy_backward", points=0.1, layer="laws")
def test_loss_gradient_depends_on_differences_only(student, probe):
    """Adding a number to all logits of a row changes nothing; one larger logit changes its row."""
    logits, targets = probe.normal(N, V, scale=2), draw_ids(probe, N, V)
    found = call(student, "cross_entropy_backward", logits, targets)
    larger = logits.clone()
    larger[2, logits[2].argmin()] = logits[2].max() + 1

    shifted = logits + probe.normal(N, 1, scale=5)
    answer = student.call("cross_entropy_backward", shifted, targets)
    agrees(answer, found, "With shifted logits, the gradient", "that before")
    moved = call(student, "cross_entropy_backward", larger, targets)
    expect(differs(moved[2], found[2]), "A larger logit does not visibly change its row.")
    agrees(moved[3:], found[3:], "With a larger logit in another row, the gradient", "that before")


@check("cross_entropy_backward", points=0.15, layer="laws")
def test_loss_gradient_is_that_of_a_mean(student, probe):
    """If all predictions occur twice, each one has half of the gradient."""
    logits, targets = probe.normal(N, V, scale=2), draw_ids(probe, N, V)
    found = call(student, "cross_entropy_backward", logits, targets)

    is_not_zero(found)
    twice = call(student, "cross_entropy_backward", logits.repeat(2, 1), targets.repeat(2))
    agrees(
        2 * twice,
        found.repeat(2, 1),
        "With all predictions twice, twice the gradient",
        "that before",
    )


@check("cross_entropy_backward", points=0.1, layer="laws")
def test_loss_gradient_of_large_logits_is_finite(student):
    """With logits of 1000 and -1000 the gradient is finite, and 0 for a right prediction."""
    logits = torch.tensor([[1000.0, -1000.0, -1000.0], [-1000.0, -1000.0, 1000.0]])
    wanted = torch.tensor([[0.0, 0.0, 0.0], [-0.5, 0.0, 0.5]])

    found = student.call("cross_entropy_backward", logits, torch.tensor([0, 0]))
    agrees(found, wanted, "The gradient of large logits")


@check("cross_entropy_backward", points=0.05, layer="laws", rules=("dtype",))
def test_loss_gradient_keeps_the_dtype(student, probe):
    """For float64 logits the gradient is float64, and for float32 logits it is float32."""
    logits, targets = probe.normal(N, V), draw_ids(probe, N, V)
    needs_logits(student, logits, targets)

    for dtype in (torch.float64, torch.float32):
        found = student.call("cross_entropy_backward", logits.to(dtype), targets)
        same_dtype(tensor_like(found, (N, V), "The gradient"), dtype, "The gradient")


@check("cross_entropy_backward", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_loss_gradient_leaves_its_arguments_alone(student, probe):
    """The caller's logits and targets are unchanged."""
    logits, targets = probe.normal(N, V), draw_ids(probe, N, V)
    needs_logits(student, logits, targets)

    kept = student.keeps_inputs("cross_entropy_backward", logits, targets)
    expect(kept, "cross_entropy_backward changes the logits or targets that you pass to it.")


@check("cross_entropy_backward", points=0.1, layer="forbidden", rules=("no_ready_backward",))
def test_loss_gradient_is_computed_by_hand(student, probe):
    """The gradient comes from your own formula, not from autograd."""
    logits, targets = probe.normal(N, V), draw_ids(probe, N, V)

    avoids(student, "cross_entropy_backward", BACKWARD, BY_HAND)
    ran = student.operators("cross_entropy_backward", logits, targets)
    avoids_running(ran, BACKWARD, BY_HAND)


def jacobian_of(student, weights):
    """Return the Jacobian of weights."""
    size = len(weights)
    return real(student.call("softmax_jacobian", weights), (size, size), "The Jacobian")


# softmax_jacobian


@check("softmax_jacobian", points=0.05, layer="shapes")
def test_jacobian_is_a_square_matrix(student):
    """Four weights have a Jacobian of shape (4, 4)."""
    tensor_like(student.call("softmax_jacobian", torch.full((4,), 0.25)), (4, 4), "The Jacobian")


@check("softmax_jacobian", points=0.2, layer="documented")
def test_jacobian_is_the_documented_one(student, documented):
    """The softmax of the scores 1, 2 and 3 has the documented Jacobian."""
    weights = torch.softmax(torch.tensor([1.0, 2.0, 3.0]), dim=-1)
    documented["dsplog.softmax"].matches(weights, "The softmax of the check")

    documented["dsplog.jacobian"].matches(student.call("softmax_jacobian", weights), "The Jacobian")


@check("softmax_jacobian", points=0.25, layer="probe")
def test_jacobian_of_any_weights(student, reference, probe):
    """For several numbers of weights, each derivative is right."""
    for size in (V, 2, 5, 1):
        weights = draw_softmax(probe, size)

        agrees(
            student.call("softmax_jacobian", weights),
            reference.call("softmax_jacobian", weights),
            "The Jacobian",
        )


@check("softmax_jacobian", points=0.15, layer="probe")
def test_jacobian_is_measured_by_small_steps(student, probe):
    """A small step in one score changes all weights as the Jacobian predicts."""
    scores = probe.normal(N, scale=SPREAD)

    found = student.call("softmax_jacobian", torch.softmax(scores, dim=-1))
    measured = by_differences(lambda moved: torch.softmax(moved, dim=-1), scores)
    agrees(found, measured.T.contiguous(), "The Jacobian")


@check("softmax_jacobian", points=0.1, layer="laws")
def test_jacobian_keeps_the_sum_of_the_weights(student, probe):
    """Each row and each column sums to 0, because all weights always sum to one."""
    found = jacobian_of(student, draw_softmax(probe, N))

    is_not_zero(found, "The Jacobian")
    for axis, name in enumerate(("column", "row")):
        agrees(found.sum(dim=axis), torch.zeros(N), f"The vector of {name} sums")


@check("softmax_jacobian", points=0.1, layer="laws")
def test_jacobian_has_the_signs_of_a_competition(student, probe):
    """A larger score raises its own weight and lowers all others."""
    found = jacobian_of(student, torch.softmax(probe.normal(N), dim=-1))

    agrees(found.sign(), 2 * torch.eye(N) - 1, "The sign of the Jacobian")


@check("softmax_jacobian", points=0.1, layer="laws")
def test_jacobian_of_reordered_weights_is_reordered(student, probe):
    """If the weights are reordered, rows and columns are reordered; the diagonal is not even."""
    weights = draw_softmax(probe, N)
    order = torch.tensor([3, 0, 5, 1, 2, 4])
    found, moved = jacobian_of(student, weights), jacobian_of(student, weights[order])

    expect(
        differs(found.diag(), found.diag().roll(1)), "All entries on the diagonal are nearly equal."
    )
    agrees(
        moved,
        found[order][:, order],
        "The Jacobian of reordered weights",
        "that before in this order",
    )


@check("softmax_jacobian", points=0.1, layer="laws")
def test_jacobian_is_proportional_to_the_other_weight(student, probe):
    """Entry [0, j], divided by weight j, is the same number for all j above 0, and not 0."""
    weights = torch.softmax(probe.normal(N, scale=0.5), dim=-1)
    shares = jacobian_of(student, weights)[0, 1:] / weights[1:]

    expect(
        bool((shares.abs() > EFFECT).all()),
        "An entry off the diagonal, divided by its weight, is nearly 0 or NaN.",
    )
    agrees(shares / shares[0], torch.ones(N - 1), "The entry per weight, relative to the first,")


@check("softmax_jacobian", points=0.05, layer="laws", rules=("dtype",))
def test_jacobian_keeps_the_dtype(student, probe):
    """For float64 weights the Jacobian is float64, and for float32 weights it is float32."""
    weights = draw_softmax(probe, V)
    needs_weights(student, weights)

    for dtype in (torch.float64, torch.float32):
        found = student.call("softmax_jacobian", weights.to(dtype))
        same_dtype(tensor_like(found, (V, V), "The Jacobian"), dtype, "The Jacobian")


@check("softmax_jacobian", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_jacobian_leaves_its_argument_alone(student, probe):
    """The caller's weights are unchanged."""
    weights = draw_softmax(probe, V)
    needs_weights(student, weights)

    kept = student.keeps_inputs("softmax_jacobian", weights)
    expect(kept, "softmax_jacobian changes the weights that you pass to it.")


@check("softmax_jacobian", points=0.05, layer="forbidden", rules=("no_ready_backward",))
def test_jacobian_is_computed_by_hand(student, probe):
    """The Jacobian comes from your own formula, not from autograd."""
    avoids(student, "softmax_jacobian", BACKWARD, BY_HAND)
    ran = student.operators("softmax_jacobian", draw_softmax(probe, V))
    avoids_running(ran, BACKWARD, BY_HAND)


# softmax_backward


@check("softmax_backward", points=0.05, layer="shapes")
def test_softmax_gradient_keeps_the_shape(student):
    """Weights and gradients of shape (2, 3, 4) give gradients of shape (2, 3, 4)."""
    found = student.call("softmax_backward", torch.full((2, 3, 4), 0.25), torch.ones(2, 3, 4))

    tensor_like(found, (2, 3, 4), "The gradient of the scores")


@check("softmax_backward", points=0.4, layer="probe")
def test_softmax_gradient_of_rows(student, reference, probe):
    """For one row of weights, and for several rows, the gradient of the scores is right."""
    for shape in ((V,), (5, 3), (4, 4)):
        weights, back = draw_softmax(probe, *shape), probe.normal(*shape, scale=BACK)

        agrees(
            student.call("softmax_backward", weights, back),
            reference.call("softmax_backward", weights, back),
            "The gradient of the scores",
        )


@check("softmax_backward", points=0.3, layer="probe")
def test_softmax_gradient_of_batches(student, reference, probe):
    """With three and four axes, the gradient of the scores is right."""
    for shape in ((B, TQ, TK), (B, H, TQ, T)):
        weights, back = draw_softmax(probe, *shape), probe.normal(*shape, scale=BACK)

        agrees(
            student.call("softmax_backward", weights, back),
            reference.call("softmax_backward", weights, back),
            "The gradient of the scores",
        )


@check("softmax_backward", points=0.35, layer="probe")
def test_softmax_gradient_is_that_of_autograd(student, probe):
    """The gradient equals that of autograd for torch's own softmax in float64."""
    scores = probe.normal(B, TQ, TK, scale=SPREAD)
    back = probe.normal(B, TQ, TK, scale=BACK)

    (wanted,) = by_autograd(lambda given: torch.softmax(given, dim=-1), [scores], back)
    found = student.call("softmax_backward", torch.softmax(scores, dim=-1), back)
    agrees(found, wanted, "The gradient of the scores")


@check("softmax_backward", points=0.15, layer="laws")
def test_softmax_gradient_of_a_row_sums_to_zero(student, probe):
    """The gradients of the scores of each row sum to 0, and they are not all 0."""
    found = call(
        student, "softmax_backward", draw_softmax(probe, B, T), probe.normal(B, T, scale=BACK)
    )

    is_not_zero(found)
    agrees(found.sum(dim=-1), torch.zeros(B), "The vector of row sums")


@check("softmax_backward", points=0.15, layer="laws")
def test_softmax_gradient_depends_on_differences_only(student, probe):
    """Adding a number to all gradients of a row changes nothing; adding other numbers does."""
    weights, back = draw_softmax(probe, B, T), probe.normal(B, T, scale=BACK)
    found = call(student, "softmax_backward", weights, back)

    shifted = call(student, "softmax_backward", weights, back + probe.normal(B, 1, scale=4))
    agrees(shifted, found, "With shifted gradients, the gradient of the scores", "that before")
    moved = call(student, "softmax_backward", weights, back + probe.normal(B, T, scale=5))
    for row in range(B):
        changed = differs(moved[row], found[row])
        expect(changed, "Other gradients of the weights do not visibly change their row.")


@check("softmax_backward", points=0.15, layer="laws")
def test_softmax_gradient_of_a_hidden_score_is_zero(student, probe):
    """Where a weight is 0, the gradient of its score is exactly 0; others are not 0."""
    hidden = torch.eye(TQ, TK) == 1
    scores = probe.normal(TQ, TK, scale=SPREAD).masked_fill(hidden, -torch.inf)
    weights, back = torch.softmax(scores, dim=-1), probe.normal(TQ, TK, scale=BACK)

    found = call(student, "softmax_backward", weights, back)
    is_not_zero(found)
    expect((found[hidden] == 0).all(), "The gradient of a hidden score is not exactly 0.")


@check("softmax_backward", points=0.15, layer="laws")
def test_softmax_gradient_is_linear(student, probe):
    """The gradients of a sum of two gradients are the sum of their gradients, and not 0."""
    weights = draw_softmax(probe, B, T)
    back, more = probe.normal(B, T, scale=BACK), probe.normal(B, T, scale=BACK)
    one, other, both = (
        call(student, "softmax_backward", weights, each) for each in (back, more, 2 * back + more)
    )

    is_not_zero(one)
    agrees(both, 2 * one + other, "The gradient for a sum of gradients", "the sum of theirs")


@check("softmax_backward", points=0.15, layer="laws")
def test_softmax_gradient_keeps_the_rows_apart(student, probe):
    """Other gradients in the first row change the result of this row only."""
    weights, back = draw_softmax(probe, B, T), probe.normal(B, T, scale=BACK)
    others = torch.cat((probe.normal(1, T, scale=BACK), back[1:]))
    found, moved = (call(student, "softmax_backward", weights, one) for one in (back, others))

    expect(
        differs(moved[0], found[0]),
        "Other gradients do not visibly change the result of their row.",
    )
    agrees(
        moved[1:],
        found[1:],
        "With other gradients in the first row, the result in the other rows",
        "that before",
    )


@check("softmax_backward", points=0.05, layer="laws", rules=("dtype",))
def test_softmax_gradient_keeps_the_dtype(keeps_dtype, student, probe):
    """The gradient is float64 for float64 arguments, and float32 for float32 ones."""
    weights, back = draw_softmax(probe, B, T), probe.normal(B, T)
    needs_back(student, "softmax_backward", weights, back)

    keeps_dtype("softmax_backward", weights, back)


@check("softmax_backward", points=0.15, layer="laws", rules=("inputs_unchanged",))
def test_softmax_gradient_leaves_its_arguments_alone(student, probe):
    """The given weights and gradients are unchanged."""
    weights, back = draw_softmax(probe, B, T), probe.normal(B, T)

    kept = student.keeps_inputs("softmax_backward", weights, back)
    expect(kept, "softmax_backward changes the weights or gradients that you pass to it.")
    needs_back(student, "softmax_backward", weights, back)


@check("softmax_backward", points=0.1, layer="forbidden", rules=("no_ready_backward",))
def test_softmax_gradient_is_computed_by_hand(student, probe):
    """The gradient comes from your own formula, not from autograd or torch's backward functions."""
    weights, back = draw_softmax(probe, B, T), probe.normal(B, T)

    avoids(student, "softmax_backward", BACKWARD, BY_HAND)
    avoids_running(student.operators("softmax_backward", weights, back), BACKWARD, BY_HAND)


@check("softmax_backward", points=0.1, layer="forbidden", rules=("no_row_matrices",))
def test_softmax_gradient_builds_no_matrix(student, probe):
    """For rows of 40 numbers, every tensor operation returns fewer than 40 · 40 numbers."""
    ran = student.operators("softmax_backward", draw_softmax(probe, 3, 40), probe.normal(3, 40))

    keeps_results_below(ran, 40 * 40, NO_MATRIX)


@check("softmax_backward", points=0.05, layer="forbidden", rules=("no_loops",))
def test_softmax_gradient_takes_all_rows_at_once(student, probe):
    """The number of tensor operations does not grow with the number or length of the rows."""
    few, many = (
        student.operators("softmax_backward", draw_softmax(probe, *shape), probe.normal(*shape))
        for shape in ((2, 3), (5, 11))
    )

    keeps_operators(few, many, AT_ONCE)


def same_gradient_of(student, reference, probe, place):
    """Compare the gradient of queries, keys or values for several sizes and leading axes."""
    for leading, scale, sizes in (
        ((), SCALE, {}),
        ((B,), 0.3, {"Tq": 3, "Tk": 8}),
        ((B, H), 1.2, {"d": 6, "d_v": 3}),
        ((H,), 0.5, {"Tq": 5, "Tk": 5, "d": 3, "d_v": 3}),
        ((), 0.6, {"Tq": 1, "Tk": 4}),
    ):
        given = (*draw_attention(probe, *leading, **sizes), scale)
        found = named(student.call("attention_backward", *given), THREE)[place]
        wanted = reference.call("attention_backward", *given)[place]

        agrees(found, wanted, f"The gradient of {THREE[place]}")


# attention_backward


@check("attention_backward", points=0.2, layer="signature")
def test_attention_gradients_have_a_usual_scale(student, probe):
    """Without a scale, the three gradients are those with the scale 1/√d."""
    for leading, sizes in (((), {}), ((B,), {"d": 6, "d_v": 3})):
        given = draw_attention(probe, *leading, **sizes)
        needs_back(student, "attention_backward", *given)

        usual = attention_gradients(student, *given, scale=given[0].shape[-1] ** -0.5)
        same_gradients(student.call("attention_backward", *given), usual)


@check("attention_backward", points=0.1, layer="shapes")
def test_attention_gradients_have_the_shapes_of_their_tensors(student, probe):
    """The result is a tuple of three gradients with the shapes of queries, keys and values."""
    *given, back = draw_attention(probe, 2)

    have_shapes(student.call("attention_backward", *given, back), given, THREE)


@check("attention_backward", points=0.25, layer="probe")
def test_attention_gradient_of_queries(student, reference, probe):
    """For several sizes, scales and leading axes, the gradient of the queries is right."""
    same_gradient_of(student, reference, probe, 0)


@check("attention_backward", points=0.25, layer="probe")
def test_attention_gradient_of_keys(student, reference, probe):
    """For several sizes, scales and leading axes, the gradient of the keys is right."""
    same_gradient_of(student, reference, probe, 1)


@check("attention_backward", points=0.2, layer="probe")
def test_attention_gradient_of_values(student, reference, probe):
    """For several sizes, scales and leading axes, the gradient of the values is right."""
    same_gradient_of(student, reference, probe, 2)


@check("attention_backward", points=0.3, layer="probe")
def test_attention_gradients_with_hidden_pairs(student, reference, probe):
    """With the same or different pairs hidden in each item, the three gradients are right."""
    first = torch.zeros(TK).bool()
    first[0] = True  # seen by all queries
    for leading, shape in (((), (TQ, TK)), ((B, H), (B, 1, TQ, TK)), ((B,), (B, 1, TK))):
        given = draw_attention(probe, *leading)
        hidden = (probe.uniform(*shape) < 0.4) & ~first

        same_gradients(
            student.call("attention_backward", *given, scale=SCALE, hidden=hidden),
            reference.call("attention_backward", *given, scale=SCALE, hidden=hidden),
            when=" with hidden pairs",
        )


@check("attention_backward", points=0.2, layer="probe")
def test_attention_gradients_are_those_of_autograd(student, probe):
    """With a scale, the gradients equal those of autograd in float64."""
    *given, back = draw_attention(probe, B, Tq=5, Tk=5)

    wanted = by_autograd(lambda *one: attend(*one, SCALE), given, back)
    same_gradients(student.call("attention_backward", *given, back, SCALE), wanted)


@check("attention_backward", points=0.15, layer="laws")
def test_attention_gradients_of_a_hidden_key_are_zero(student, probe):
    """A key that no query sees, and its value, have gradients of exactly 0; others have not."""
    *given, back = draw_attention(probe, B)
    found = attention_gradients(student, *given, back, hidden=torch.arange(TK) == 2)

    for name, gradient in zip(THREE[1:], found[1:], strict=True):
        is_not_zero(gradient, f"The gradient of {name}")
        expect(
            (gradient[:, 2] == 0).all(),
            f"The gradient of the hidden {name} is not exactly 0.",
        )


@check("attention_backward", points=0.1, layer="laws")
def test_attention_gradients_depend_on_differences_of_values(student, probe):
    """Adding one vector to all values changes no gradient; adding it to one value does."""
    queries, keys, values, back = draw_attention(probe, B)
    found = attention_gradients(student, queries, keys, values, back)
    vector, one = probe.normal(DV, scale=3), (torch.arange(TK) == 1)[:, None]

    answer = attention_gradients(student, queries, keys, values + vector, back)
    same_gradients(answer, found, other="that before", when=" with moved values")
    moved = attention_gradients(student, queries, keys, values + one * vector, back)
    expect(
        differs(moved[0], found[0]),
        "Another value does not visibly change the gradient of queries.",
    )


@check("attention_backward", points=0.1, layer="laws")
def test_attention_gradients_depend_on_differences_of_keys(student, probe):
    """Adding one vector to all keys changes no gradient; adding it to one key does."""
    queries, keys, values, back = draw_attention(probe, B)
    found = attention_gradients(student, queries, keys, values, back)
    vector, one = probe.normal(D), (torch.arange(TK) == 1)[:, None]

    answer = attention_gradients(student, queries, keys + vector, values, back)
    same_gradients(answer, found, other="that before", when=" with moved keys")
    moved = attention_gradients(student, queries, keys + one * vector, values, back)
    expect(
        differs(moved[2], found[2]), "Another key does not visibly change the gradient of values."
    )


@check("attention_backward", points=0.1, layer="laws")
def test_attention_gradients_are_linear(student, probe):
    """The gradients for a sum of gradients of the context are sums of gradients, and not 0."""
    queries, keys, values, back = draw_attention(probe, B)
    more = probe.normal(B, TQ, DV, scale=BACK)
    one, other, both = (
        attention_gradients(student, queries, keys, values, each)
        for each in (back, more, 2 * back + more)
    )

    for gradient in one:
        is_not_zero(gradient, "A gradient")
    sums = [2 * left + right for left, right in zip(one, other, strict=True)]
    same_gradients(both, sums, other="the sum of those before", when=" for a sum of gradients")


@check("attention_backward", points=0.2, layer="laws")
def test_attention_gradients_at_scale_zero(student, probe):
    """With scale 0, queries and keys have gradients of 0, and all values have the same, not 0."""
    of_queries, of_keys, of_values = attention_gradients(
        student, *draw_attention(probe, B), scale=0.0
    )

    agrees(of_queries, torch.zeros(B, TQ, D), "The gradient of queries with scale 0")
    agrees(of_keys, torch.zeros(B, TK, D), "The gradient of keys with scale 0")
    is_not_zero(of_values, "The gradient of values with scale 0")
    agrees(
        of_values,
        of_values[:, :1].expand(B, TK, DV),
        "The gradient of a value with scale 0",
        "that of the first",
    )


@check("attention_backward", points=0.1, layer="laws")
def test_attention_gradients_of_one_item(student, probe):
    """Items that differ in the gradient of the context have the gradients that each has alone."""
    *same, back = draw_attention(probe, B)
    given = *(one[:1].repeat(B, 1, 1) for one in same), back
    found = attention_gradients(student, *given)

    for gradient in found:
        expect(differs(gradient[0], gradient[1]), "Different items have nearly the same gradients.")
    for item in range(B):
        alone = attention_gradients(student, *(one[item] for one in given))
        wanted = [gradient[item] for gradient in found]
        same_gradients(alone, wanted, other="that in the batch", when=" for an item alone")


@check("attention_backward", points=0.15, layer="laws")
def test_attention_gradients_of_queries_and_keys_belong_together(student, probe):
    """Twice the queries and half the keys give the same scores: sums of gradients are equal.

    The sum of all queries times their gradients equals the sum of all keys times theirs, because
    both measure the effect of larger scores.
    """
    queries, keys, values, back = draw_attention(probe, B)
    # The sums may be small, so the noise of their terms must be small, too.
    of_queries, of_keys, _ = attention_gradients(student, queries, keys, values, back / 10)
    one = (queries * of_queries).sum((-2, -1))
    other = (keys * of_keys).sum((-2, -1))

    is_not_zero(of_queries, "The gradient of queries")
    agrees(other, one, "The sum of the keys times their gradients", "that of the queries")


@check("attention_backward", points=0.15, layer="laws")
def test_attention_gradients_of_values_share_those_of_the_context(student, probe):
    """The gradients of all values sum to those of all context vectors: weights sum to one."""
    *given, back = draw_attention(probe, B)
    hidden = torch.ones(TQ, TK).triu(1).bool()

    found = attention_gradients(student, *given, back, hidden=hidden)[2]
    agrees(found.sum(dim=-2), back.sum(dim=-2), "The sum of the gradients of all values")


@check("attention_backward", points=0.2, layer="laws", rules=("dtype",))
def test_attention_gradients_keep_the_dtype(student, probe):
    """For float64 arguments all gradients are float64, and for float32 arguments float32."""
    *given, back = draw_attention(probe, B)
    future = torch.ones(TQ, TK).triu(1).bool()
    needs_back(student, "attention_backward", *given, back)

    for dtype in (torch.float64, torch.float32):
        wide = [one.to(dtype) for one in (*given, back)]
        answer = student.call("attention_backward", *wide, hidden=future)
        for name, gradient in zip(THREE, have_shapes(answer, given, THREE), strict=True):
            same_dtype(gradient, dtype, f"The gradient of {name}")


@check("attention_backward", points=0.2, layer="laws", rules=("inputs_unchanged",))
def test_attention_gradients_leave_their_arguments_alone(student, probe):
    """No argument is changed."""
    given = draw_attention(probe, B)
    hidden = torch.ones(TQ, TK).triu(1).bool()

    kept = student.keeps_inputs("attention_backward", *given, SCALE, hidden)
    expect(kept, "attention_backward changes a tensor that you pass to it.")
    needs_back(student, "attention_backward", *given)


@check("attention_backward", points=0.15, layer="forbidden", rules=("no_ready_backward",))
def test_attention_gradients_are_computed_by_hand(student, probe):
    """The gradients come from your own steps, not from autograd or torch's backward functions."""
    given = draw_attention(probe, B)
    rows = draw_softmax(probe, B, TQ, TK), probe.normal(B, TQ, TK)
    below = {"softmax_backward": student.operators("softmax_backward", *rows)}

    ran = student.operators("attention_backward", *given)
    avoids_itself(student, "attention_backward", BACKWARD, BY_HAND, ran, below)


@check("attention_backward", points=0.1, layer="forbidden", rules=("no_loops",))
def test_attention_gradients_take_all_tokens_at_once(student, probe):
    """The number of tensor operations does not grow with the number of queries or keys."""
    few = draw_attention(probe, Tq=3, Tk=4)
    many = draw_attention(probe, Tq=9, Tk=11)

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


def same_own_gradients(student, reference, probe, places):
    """Compare some of the four gradients for several sizes, with and without a batch axis."""
    for leading, scale, sizes in (
        ((), SCALE, {}),
        ((B,), 0.4, {"T": 4, "d_in": 6}),
        ((2,), SCALE, {"T": 5, "d_in": 3, "d": 7}),
        ((1,), 0.5, {"T": 1}),
    ):
        given = (*draw_projections(probe, *leading, **sizes), scale)
        found = named(student.call("self_attention_backward", *given), FOUR)
        wanted = reference.call("self_attention_backward", *given)

        for place in places:
            agrees(found[place], wanted[place], f"The gradient of {FOUR[place]}")


# self_attention_backward


@check("self_attention_backward", points=0.1, layer="signature")
def test_self_attention_has_a_usual_scale(student, probe):
    """Without a scale, the gradients are those with the scale 1/√d."""
    given = draw_projections(probe, B)

    usual = own_gradients(student, *given, scale=D**-0.5)
    same_gradients(student.call("self_attention_backward", *given), usual, FOUR)


@check("self_attention_backward", points=0.05, layer="shapes")
def test_self_attention_gradients_have_the_shapes_of_their_tensors(student, probe):
    """The result is a tuple of four gradients, with and without a batch axis."""
    for leading in ((2,), ()):
        *given, back = draw_projections(probe, *leading)

        have_shapes(student.call("self_attention_backward", *given, back), given, FOUR)


@check("self_attention_backward", points=0.1, layer="documented")
def test_self_attention_gives_the_documented_gradient_of_queries(student, documented):
    """With scale 1 and the documented loss, W_query has the documented gradient."""
    gradients = documented_gradients(student, documented)

    documented["povinelli.grad_w_q"].matches(gradients[1], "The gradient of W_query")


@check("self_attention_backward", points=0.1, layer="documented")
def test_self_attention_gives_the_documented_gradient_of_keys(student, documented):
    """With scale 1 and the documented loss, W_key has the documented gradient."""
    gradients = documented_gradients(student, documented)

    documented["povinelli.grad_w_k"].matches(gradients[2], "The gradient of W_key")


@check("self_attention_backward", points=0.1, layer="documented")
def test_self_attention_gives_the_documented_gradient_of_values(student, documented):
    """With scale 1 and the documented loss, W_value has the documented gradient."""
    gradients = documented_gradients(student, documented)

    documented["povinelli.grad_w_v"].matches(gradients[3], "The gradient of W_value")


@check("self_attention_backward", points=0.15, layer="probe")
def test_self_attention_gradient_of_the_tokens(student, reference, probe):
    """The gradient of x is right, with and without a batch axis."""
    same_own_gradients(student, reference, probe, (0,))


@check("self_attention_backward", points=0.1, layer="probe")
def test_self_attention_gradients_of_queries_and_keys(student, reference, probe):
    """The gradients of W_query and W_key are right, with and without a batch axis."""
    same_own_gradients(student, reference, probe, (1, 2))


@check("self_attention_backward", points=0.1, layer="probe")
def test_self_attention_gradient_of_values(student, reference, probe):
    """The gradient of W_value is right, with and without a batch axis."""
    same_own_gradients(student, reference, probe, (3,))


@check("self_attention_backward", points=0.1, layer="probe")
def test_self_attention_gradients_are_those_of_autograd(student, probe):
    """With a scale, the gradients equal those of autograd in float64."""
    *given, back = draw_projections(probe, B)

    wanted = by_autograd(lambda *one: attend_to_itself(*one, SCALE), given, back)
    same_gradients(student.call("self_attention_backward", *given, back, SCALE), wanted, FOUR)


@check("self_attention_backward", points=0.15, layer="laws")
def test_self_attention_gradients_add_up_over_the_batch(student, probe):
    """For a batch, the gradient of a matrix is the sum of its gradients for the items."""
    x, *matrices, back = draw_projections(probe, B)
    alone = [own_gradients(student, x[item], *matrices, back[item]) for item in range(B)]
    wanted = [sum(one[place] for one in alone) for place in (1, 2, 3)]

    found = own_gradients(student, x, *matrices, back)
    is_not_zero(found[3], "The gradient of W_value")
    expect(differs(alone[0][3], alone[1][3]), "Different items have nearly the same gradients.")
    same_gradients(found[1:], wanted, FOUR[1:], "the sum of those of the items", " for a batch")


@check("self_attention_backward", points=0.1, layer="laws")
def test_self_attention_gradients_are_linear(student, probe):
    """The gradients for a sum of gradients of the context are sums of gradients, and not 0."""
    *given, back = draw_projections(probe, B)
    more = probe.normal(*back.shape, scale=BACK)
    one, other, both = (own_gradients(student, *given, each) for each in (back, more, back - more))

    for gradient in one:
        is_not_zero(gradient, "A gradient")
    apart = [left - right for left, right in zip(one, other, strict=True)]
    when = " for a difference of gradients"
    same_gradients(both, apart, FOUR, "the difference of those before", when)


@check("self_attention_backward", points=0.1, layer="laws")
def test_self_attention_gradients_of_reordered_tokens(student, probe):
    """Reordered tokens get their gradients, reordered; those of the matrices are the same."""
    x, *matrices, back = draw_projections(probe, B)
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    found = own_gradients(student, x, *matrices, back)
    moved = own_gradients(student, x[:, order], *matrices, back[:, order])

    other = own_gradients(student, x, *matrices, back[:, order])
    sentence = "The order of the gradients of the context has no visible effect on that of x."
    expect(differs(found[0], other[0]), sentence)
    wanted = [found[0][:, order], *found[1:]]
    same_gradients(moved, wanted, FOUR, "that before", " for reordered tokens")


@check("self_attention_backward", points=0.15, layer="laws")
def test_self_attention_gradients_of_tokens_and_matrices_belong_together(student, probe):
    """The sum of x times its gradient, which is not 0, is the sum of the matrices times theirs."""
    *given, back = draw_projections(probe, B)
    # The sums may be small, so the noise of their terms must be small, too.
    found = own_gradients(student, *given, back / 30)
    of_x, *of_matrices = ((one * other).sum() for one, other in zip(given, found, strict=True))

    is_not_zero(found[0], "The gradient of x")
    agrees(sum(of_matrices), of_x, "The sum of the matrices times their gradients", "that of x")


@check("self_attention_backward", points=0.1, layer="laws")
def test_self_attention_gradients_without_values(student, probe):
    """If W_value is 0, x, W_query and W_key have gradients of 0, and W_value has not."""
    x, W_query, W_key, W_value, back = draw_projections(probe, B)
    found = own_gradients(student, x, W_query, W_key, torch.zeros_like(W_value), back)

    for name, gradient in zip(FOUR[:3], found[:3], strict=True):
        agrees(gradient, torch.zeros_like(gradient), f"With W_value = 0, the gradient of {name}")
    is_not_zero(found[3], "With W_value = 0, the gradient of W_value")


@check("self_attention_backward", points=0.1, layer="laws", rules=("dtype",))
def test_self_attention_gradients_keep_the_dtype(student, probe):
    """The gradients have the dtype of the arguments."""
    *given, back = draw_projections(probe, B)
    needs_back(student, "self_attention_backward", *given, back)

    for dtype in (torch.float64, torch.float32):
        wide = [one.to(dtype) for one in (*given, back)]
        answer = student.call("self_attention_backward", *wide)
        for name, gradient in zip(FOUR, have_shapes(answer, given, FOUR), strict=True):
            same_dtype(gradient, dtype, f"The gradient of {name}")


@check("self_attention_backward", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_self_attention_gradients_leave_their_arguments_alone(student, probe):
    """No argument is changed."""
    given = draw_projections(probe, B)

    kept = student.keeps_inputs("self_attention_backward", *given)
    expect(kept, "self_attention_backward changes a tensor that you pass to it.")
    needs_back(student, "self_attention_backward", *given)


@check("self_attention_backward", points=0.1, layer="forbidden", rules=("no_ready_backward",))
def test_self_attention_gradients_are_computed_by_hand(student, probe):
    """The gradients come from your own steps, not from autograd or torch's backward functions."""
    given = draw_projections(probe, B)
    inner = draw_attention(probe, B, Tq=T, Tk=T, d_v=D)
    below = {"attention_backward": student.operators("attention_backward", *inner)}

    ran = student.operators("self_attention_backward", *given)
    avoids_itself(student, "self_attention_backward", BACKWARD, BY_HAND, ran, below)


@check("self_attention_backward", points=0.05, layer="forbidden", rules=("no_loops",))
def test_self_attention_gradients_take_all_tokens_at_once(student, probe):
    """The number of tensor operations does not grow with the number of tokens."""
    few, many = (draw_projections(probe, T=size) for size in (3, 9))

    counts = (student.operators("self_attention_backward", *given) for given in (few, many))
    keeps_operators(*counts, AT_ONCE)
