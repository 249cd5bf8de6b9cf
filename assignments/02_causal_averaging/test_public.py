"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import pytest
import torch

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, tensor, tensor_like

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
PRODUCTS = frozenset(
    {"addbmm", "addmm", "baddbmm", "bmm", "convolution", "dot", "einsum", "linear", "matmul", "mm"}
    | {"mv", "tensordot", "vdot"}
)
EXPONENTIALS = READY_SOFTMAX | {"__rpow__", "exp", "exp2", "exp_"}
BY_A_PRODUCT = "Multiply the weights and the tokens in one matrix product, not in a loop."
BY_SOFTMAX = "Take the softmax of scores that are 0 or minus infinity."
SIZES = ((3, 5, 4), (2, 9, 7))  # B, T, C all different; one T below and one above the documents' 8
# No other check uses these lengths: code that keeps its weights for later calls computes them here.
FIRST_OF_WEIGHTS, FIRST_OF_MEANS = 6, 10


@pytest.fixture
def x(documented):
    """Return the documented batch: (4, 8, 2)."""
    return documented["004.x"].tensor.clone()


@pytest.fixture
def same_means(student, reference, probe):
    """Return a function that compares the means of hidden batches with the reference's."""

    def compare(name):
        for sizes in SIZES:
            batch = probe.normal(*sizes, scale=1.5)
            agrees(student.call(name, batch), reference.call(name, batch), "The batch of means")
        single = probe.normal(3, 1, 4)
        agrees(student.call(name, single), single, "The mean of sequences of one token")

    return compare


@pytest.fixture
def hides_the_future(student, reference, probe):
    """Return a function that fails if later tokens affect earlier means or the batch changes."""

    def compare(name):
        batch = probe.normal(3, 7, 4)
        before = reference.call(name, batch)
        for start in (1, 4, 6):
            changed = batch.clone()
            changed[:, start:] += 1e4
            means = tensor_like(student.call(name, changed), (3, 7, 4), "The batch of means")
            agrees(means[:, :start], before[:, :start], "The part before the changed tokens")
        expect(student.keeps_inputs(name, batch), f"{name} changes the batch that you pass to it.")

    return compare


@pytest.fixture
def same_gradients(student, reference, probe):
    """Return a function that compares the gradient of the batch with the reference's."""

    def compare(name):
        batch, cotangent = probe.normal(3, 5, 4), probe.normal(3, 5, 4)
        tensor_like(student.call(name, batch), (3, 5, 4), "The batch of means")
        (gradient,) = student.gradients(name, batch, cotangent=cotangent).inputs
        (wanted,) = reference.gradients(name, batch, cotangent=cotangent).inputs
        expect(gradient is not None, f"No gradient reaches the input of {name}.")
        agrees(gradient, wanted, "The gradient that reaches the batch")

    return compare


@pytest.fixture
def multiplies(student, reference, probe):
    """Return a function that expects a matrix product, and returns the operations that ran."""

    def compare(name):
        B, T, C = 3, FIRST_OF_MEANS, 4
        batch = probe.normal(B, T, C)
        ran = student.operators(name, batch)
        agrees(student.call(name, batch), reference.call(name, batch), "The batch of means")
        summed = any(
            name.startswith("aten.sum.") and size == B * T * T * C for name, size in ran.operators
        )
        product = names_of(ran) & PRODUCTS or summed  # or the sum of all its terms
        expect(product, f"Your code runs no matrix product. {BY_A_PRODUCT}", Status.FORBIDDEN)
        return ran

    return compare


@pytest.fixture
def are_causal_shares(student, reference):
    """Return a function that fails unless the weights are causal and each row adds up to 1."""

    def compare(name):
        few, many = (tensor_like(student.call(name, T), (T, T)) for T in (5, 7))
        expect(
            (few.triu(diagonal=1) == 0).all(), "A later token gets a weight that is not exactly 0."
        )
        whole = alike(many.sum(dim=1), torch.ones(7))
        expect(whole, "The weights in a row do not add up to 1.")
        agrees(many[:5, :5], reference.call(name, 5), "The block of the first tokens")
        agrees(few, many[:5, :5], "The weights of fewer tokens")

    return compare


# causal_mean_loop


@check("causal_mean_loop", points=0.05, layer="shapes")
def test_loop_keeps_the_shape(student, documented, x):
    """The means have the shape of the batch: (4, 8, 2) -> (4, 8, 2)."""
    tensor_like(student.call("causal_mean_loop", x), tuple(documented["004.x.shape"].value))


@check("causal_mean_loop", points=0.6, layer="documented")
def test_loop_gives_the_documented_means(student, documented, x):
    """The means of the documented batch are the documented ones."""
    documented["004.xbow"].matches(student.call("causal_mean_loop", x))


@check("causal_mean_loop", points=0.8, layer="probe", rules=("float32",))
def test_loop_averages_unseen_batches(same_means):
    """The means are right for batches of any size; a single token is its own mean."""
    same_means("causal_mean_loop")


@check("causal_mean_loop", points=0.5, layer="laws", rules=("inputs_unchanged",))
def test_loop_never_looks_ahead(hides_the_future):
    """Changing later tokens does not change earlier means; the call does not change the batch."""
    hides_the_future("causal_mean_loop")


@check("causal_mean_loop", points=0.55, layer="gradients", rules=("gradients",))
def test_loop_stays_in_the_graph(same_gradients):
    """Gradients flow from each mean back to the tokens that it averages."""
    same_gradients("causal_mean_loop")


# averaging_weights


@check("averaging_weights", points=0.05, layer="shapes")
def test_weights_are_square(student):
    """Eight tokens give an (8, 8) matrix of weights."""
    tensor_like(student.call("averaging_weights", 8), (8, 8))


@check("averaging_weights", points=0.7, layer="documented")
def test_weights_are_the_documented_ones(student, documented):
    """The weights of eight tokens are the documented ones and form the documented triangle."""
    weights = student.call("averaging_weights", 8)

    documented["004.averaging_weights"].matches(weights)
    seen = (tensor(weights) != 0).float()
    documented["004.mask"].matches(seen, "The triangle of weights that are not 0")


@check("averaging_weights", points=0.45, layer="probe")
def test_weights_of_other_lengths(student, reference):
    """The weights are right for other numbers of tokens, including a single token."""
    for T in (5, 11, 1):
        ours = reference.call("averaging_weights", T)

        agrees(student.call("averaging_weights", T), ours, "The matrix of weights")


@check("averaging_weights", points=0.5, layer="laws")
def test_weights_share_one_out_among_the_past(are_causal_shares):
    """Rows add up to 1, later tokens get exactly 0, and more tokens do not change earlier rows."""
    are_causal_shares("averaging_weights")


# causal_mean_matmul


@check("causal_mean_matmul", points=0.05, layer="shapes")
def test_matmul_keeps_the_shape(student, documented, x):
    """The means have the shape of the batch: (4, 8, 2) -> (4, 8, 2)."""
    tensor_like(student.call("causal_mean_matmul", x), tuple(documented["004.x.shape"].value))


@check("causal_mean_matmul", points=0.4, layer="documented")
def test_matmul_gives_the_documented_means(student, documented, x):
    """The means of the documented batch are the documented ones."""
    documented["004.xbow"].matches(student.call("causal_mean_matmul", x))


@check("causal_mean_matmul", points=0.55, layer="probe", rules=("float32",))
def test_matmul_averages_unseen_batches(same_means):
    """The means are right for batches of any size; a single token is its own mean."""
    same_means("causal_mean_matmul")


@check("causal_mean_matmul", points=0.3, layer="laws", rules=("inputs_unchanged",))
def test_matmul_never_looks_ahead(hides_the_future):
    """Changing later tokens does not change earlier means; the call does not change the batch."""
    hides_the_future("causal_mean_matmul")


@check("causal_mean_matmul", points=0.4, layer="gradients", rules=("gradients",))
def test_matmul_stays_in_the_graph(same_gradients):
    """Gradients flow from each mean back to the tokens that it averages."""
    same_gradients("causal_mean_matmul")


@check("causal_mean_matmul", points=0.3, layer="forbidden", rules=("matrix_product",))
def test_matmul_is_a_matrix_product(multiplies):
    """A matrix product of weights and tokens computes the means."""
    multiplies("causal_mean_matmul")


# masked_softmax_weights


@check("masked_softmax_weights", points=0.05, layer="shapes")
def test_softmax_weights_are_square(student):
    """Eight tokens give an (8, 8) matrix of weights."""
    tensor_like(student.call("masked_softmax_weights", 8), (8, 8))


@check("masked_softmax_weights", points=0.5, layer="documented")
def test_softmax_weights_are_the_documented_ones(student, documented):
    """The softmax of the documented masked scores gives the documented weights."""
    weights = student.call("masked_softmax_weights", 8)

    documented["004.averaging_weights"].matches(weights)
    agrees(weights, torch.softmax(documented["004.masked_scores"].tensor, dim=-1))


@check("masked_softmax_weights", points=0.45, layer="probe")
def test_softmax_weights_of_other_lengths(student, reference):
    """The weights are right for other numbers of tokens, including a single token."""
    for T in (5, 11, 1):
        ours = reference.call("masked_softmax_weights", T)

        agrees(student.call("masked_softmax_weights", T), ours, "The matrix of weights")


@check("masked_softmax_weights", points=0.4, layer="laws")
def test_softmax_weights_share_one_out_among_the_past(are_causal_shares):
    """Rows add up to 1, later tokens get exactly 0, and more tokens do not change earlier rows."""
    are_causal_shares("masked_softmax_weights")


@check("masked_softmax_weights", points=0.3, layer="forbidden", rules=("softmax_weights",))
def test_softmax_weights_come_from_softmax(student, reference):
    """The weights come from a softmax, not from a division by counts."""
    name, T = "masked_softmax_weights", FIRST_OF_WEIGHTS
    ran = student.operators(name, T)
    agrees(student.call(name, T), reference.call(name, T))

    takes_exponentials(student, name, ran)


# causal_mean_softmax


@check("causal_mean_softmax", points=0.05, layer="shapes")
def test_softmax_mean_keeps_the_shape(student, documented, x):
    """The means have the shape of the batch: (4, 8, 2) -> (4, 8, 2)."""
    tensor_like(student.call("causal_mean_softmax", x), tuple(documented["004.x.shape"].value))


@check("causal_mean_softmax", points=0.3, layer="documented")
def test_softmax_mean_gives_the_documented_means(student, documented, x):
    """The means of the documented batch are the documented ones."""
    documented["004.xbow"].matches(student.call("causal_mean_softmax", x))


@check("causal_mean_softmax", points=0.4, layer="probe", rules=("float32",))
def test_softmax_mean_averages_unseen_batches(same_means):
    """The means are right for batches of any size; a single token is its own mean."""
    same_means("causal_mean_softmax")


@check("causal_mean_softmax", points=0.25, layer="laws", rules=("inputs_unchanged",))
def test_softmax_mean_never_looks_ahead(hides_the_future):
    """Changing later tokens does not change earlier means; the call does not change the batch."""
    hides_the_future("causal_mean_softmax")


@check("causal_mean_softmax", points=0.2, layer="gradients", rules=("gradients",))
def test_softmax_mean_stays_in_the_graph(same_gradients):
    """Gradients flow from each mean back to the tokens that it averages."""
    same_gradients("causal_mean_softmax")


@check(
    "causal_mean_softmax",
    points=0.3,
    layer="forbidden",
    rules=("matrix_product", "softmax_weights"),
)
def test_softmax_mean_multiplies_weights_from_softmax(student, multiplies):
    """A softmax computes the weights, and a matrix product computes the means."""
    takes_exponentials(student, "causal_mean_softmax", multiplies("causal_mean_softmax"))


def takes_exponentials(student, name, ran):
    """Fail unless a softmax or an exponential ran, on numbers or on tensors."""
    of_numbers = any(use.name.endswith(".exp") for use in student.uses(name))
    softmax = of_numbers or names_of(ran) & EXPONENTIALS
    expect(softmax, f"Your code runs no softmax. {BY_SOFTMAX}", Status.FORBIDDEN)


def names_of(ran):
    """Return the names of torch's functions and operators that ran."""
    return {*ran.functions, *(name.split(".")[1] for name, _ in ran.operators if "." in name)}
