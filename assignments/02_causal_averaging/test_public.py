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
PRODUCTS = frozenset(
    {"addbmm", "addmm", "baddbmm", "bmm", "convolution", "dot", "einsum", "linear", "matmul", "mm"}
    | {"mv", "tensordot", "vdot"}
)
EXPONENTIALS = READY_SOFTMAX | {"__rpow__", "exp", "exp2", "exp_"}
BY_A_PRODUCT = "Multiply the weights and the tokens in one matrix product, not in a loop."
BY_SOFTMAX = "Take the softmax of scores that are 0 or minus infinity."
SIZES = ((3, 5, 4), (2, 9, 7))  # B, T, C all different; one T below and one above the documents' 8
# No other check uses these lengths: code that keeps its weights for later calls computes them here.
FIRST_OF_MEANS, FIRST_OF_SOFTMAX = 31, 32


def other_lengths(probe):
    """Return a short and a longer sequence length."""
    return 2 + probe.number % 6, 9 + probe.number % 7


def first_of_weights(probe):
    """Return a sequence length that no other check uses, for code that keeps its weights."""
    return 33 + probe.number % 7


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


def means_of(student, name, batch):
    """Return the means of *batch*, which must have its shape."""
    return tensor_like(student.call(name, batch), tuple(batch.shape), "The batch of means")


def has_past(student, name, batch):
    """Expect that the first token of each sequence has an effect on its last mean."""
    other = batch.clone()
    other[:, 0] += 1
    before, after = means_of(student, name, batch), means_of(student, name, other)
    same = alike(after[:, -1], before[:, -1])
    expect(not same, "A changed first token does not change the last mean.")


def single_tokens(student, probe, name):
    """Expect that the mean of a single token is the token."""
    single = probe.normal(3, 1, 4)
    agrees(student.call(name, single), single, "The mean of sequences of one token")


def hides_the_future(student, probe, name):
    """Expect that the future has no effect on the means, and that the past has one."""
    batch = probe.normal(3, 7, 4)
    before = means_of(student, name, batch)
    for start in (1, 4, 6):
        changed = batch.clone()
        changed[:, start:] += 1e4
        means = means_of(student, name, changed)
        agrees(means[:, :start], before[:, :start], "The means before the changed tokens")
    has_past(student, name, batch)


def moves_with_its_tokens(student, probe, name):
    """Expect that a vector that is added to all tokens is added to all means."""
    batch, step = probe.normal(3, 7, 4), probe.normal(4)
    means = means_of(student, name, batch)

    agrees(student.call(name, batch + step), means + step, "The means of moved tokens")
    has_past(student, name, batch)


def knows_no_order_of_the_past(student, probe, name):
    """Expect that the order of the first four tokens has no effect from the fourth mean on."""
    batch = probe.normal(3, 7, 4)
    other = torch.cat([batch[:, [2, 0, 3, 1]], batch[:, 4:]], dim=1)
    before, after = means_of(student, name, batch), means_of(student, name, other)

    agrees(after[:, 3:], before[:, 3:], "The means from the fourth token on")
    same = alike(after[:, :3], before[:, :3])
    expect(not same, "Another order of the first tokens does not change their means.")


def doubles_with_its_tokens(student, probe, name):
    """Expect twice the means for tokens that are twice as large."""
    batch = probe.normal(5, 5, 4)
    means = means_of(student, name, batch)

    agrees(student.call(name, 2 * batch), 2 * means, "The means of tokens that are twice as large")
    has_past(student, name, batch)


def keeps_sequences_apart(student, probe, name):
    """Expect that each sequence of a batch gets the means that it gets alone."""
    batch = probe.normal(3, 8, 4)
    means = means_of(student, name, batch)
    for b in range(3):
        alone = student.call(name, batch[b : b + 1])
        agrees(alone, means[b : b + 1], "The means of a sequence alone", "those in the batch")
    has_past(student, name, batch)


def keeps_its_batch(student, probe, name):
    """Expect that the call does not change the batch, and that it averages."""
    batch = probe.normal(3, 7, 4)
    expect(student.keeps_inputs(name, batch), f"{name} changes the batch that you pass to it.")
    has_past(student, name, batch)


def weights_of(student, name, T):
    """Return the weights of *T* tokens: (T, T)."""
    return tensor_like(student.call(name, T), (T, T), "The matrix of weights")


def same_weights(student, reference, name, lengths):
    """Compare the weights of sequences of these *lengths* with the reference's."""
    for T in lengths:
        ours = reference.call(name, T)
        agrees(student.call(name, T), ours, "The matrix of weights")


def share_one_out(student, probe, name):
    """Expect that the weights of each token add up to 1."""
    for T in (3 + probe.number % 5, 9 + probe.number % 4):
        sums = weights_of(student, name, T).sum(dim=1)
        agrees(sums, torch.ones(T), "The vector of row sums")


def see_exactly_the_past(student, probe, name):
    """Expect a weight for the token itself and earlier tokens, and exactly 0 for later ones."""
    T = 5 + probe.number % 17
    weights = weights_of(student, name, T)
    expect((weights.triu(1) == 0).all(), "A later token gets a weight that is not exactly 0.")
    seen = torch.ones(T, T).tril() > 0
    expect((weights[seen] > 0).all(), "The token itself or an earlier one gets no positive weight.")


def keep_rows_of_fewer_tokens(student, probe, name):
    """Expect that more tokens do not change the rows of the first ones."""
    T = 4 + probe.number % 17
    few, many = weights_of(student, name, T), weights_of(student, name, T + 2)
    agrees(few, many[:T, :T], "The weights of fewer tokens", "those of more tokens")
    expect(not alike(few[0], few[-1]), "The first token and a later one get the same weights.")


def weigh_all_alike(student, probe, name):
    """Expect that all tokens that a token sees get the same weight, which is smaller later on."""
    T = 5 + probe.number % 17
    weights = weights_of(student, name, T)
    first = weights[:, :1]
    agrees(weights.tril(), first.expand(T, T).tril(), "The weights of the tokens in the past")
    falls = (first > 0).all() and (first.diff(dim=0) < 0).all()
    expect(
        falls,
        "In some row, the first weight is not positive, or not smaller than in the row before.",
    )


def multiplies(student, probe, name):
    """Expect a matrix product, or the sum of all its terms."""
    B, T, C = 3, FIRST_OF_MEANS, 4
    batch = probe.normal(B, T, C)
    ran = student.operators(name, batch)
    summed = any(
        operator.startswith("aten.sum.") and size == B * T * T * C
        for operator, size in ran.operators
    )
    product = names_of(ran) & PRODUCTS or summed
    expect(product, f"Your code runs no matrix product. {BY_A_PRODUCT}", Status.FORBIDDEN)
    has_past(student, name, batch)


def takes_exponentials(student, name, ran):
    """Expect that a softmax or an exponential ran, on numbers or on tensors."""
    of_numbers = any(use.name.endswith(".exp") for use in student.uses(name))
    softmax = of_numbers or names_of(ran) & EXPONENTIALS
    expect(softmax, f"Your code runs no softmax. {BY_SOFTMAX}", Status.FORBIDDEN)


def names_of(ran):
    """Return the names of torch's functions and operators that ran."""
    return {*ran.functions, *(name.split(".")[1] for name, _ in ran.operators if "." in name)}


# causal_mean_loop


@check("causal_mean_loop", points=0.08, layer="shapes")
def test_loop_keeps_the_shape(student, documented, x):
    """The means have the shape of the batch: (4, 8, 2) -> (4, 8, 2)."""
    tensor_like(student.call("causal_mean_loop", x), tuple(documented["004.x.shape"].value))


@check("causal_mean_loop", points=0.4, layer="documented")
def test_loop_gives_the_documented_means(student, documented, x):
    """The means of the documented batch are the documented ones."""
    documented["004.xbow"].matches(student.call("causal_mean_loop", x))


@check("causal_mean_loop", points=0.55, layer="probe", rules=("float32",))
def test_loop_averages_unseen_batches(same_means):
    """The means are right for batches of any size."""
    same_means("causal_mean_loop")


@check("causal_mean_loop", points=0.2, layer="probe", rules=("float32",))
def test_loop_leaves_a_single_token(student, probe):
    """A single token is its own mean."""
    single_tokens(student, probe, "causal_mean_loop")


@check("causal_mean_loop", points=0.2, layer="laws")
def test_loop_never_looks_ahead(student, probe):
    """Later tokens have no effect on earlier means, and earlier tokens have one on later means."""
    hides_the_future(student, probe, "causal_mean_loop")


@check("causal_mean_loop", points=0.2, layer="laws")
def test_loop_moves_with_its_tokens(student, probe):
    """Adding a vector to all tokens adds it to all means: the weights of each mean sum to one."""
    moves_with_its_tokens(student, probe, "causal_mean_loop")


@check("causal_mean_loop", points=0.2, layer="laws")
def test_loop_knows_no_order_of_the_past(student, probe):
    """The order of the first four tokens has no effect on the means from the fourth token on."""
    knows_no_order_of_the_past(student, probe, "causal_mean_loop")


@check("causal_mean_loop", points=0.2, layer="laws")
def test_loop_doubles_with_its_tokens(student, probe):
    """Tokens that are twice as large give means that are twice as large."""
    doubles_with_its_tokens(student, probe, "causal_mean_loop")


@check("causal_mean_loop", points=0.2, layer="laws")
def test_loop_keeps_sequences_apart(student, probe):
    """Each sequence of a batch gets the same means as it would alone."""
    keeps_sequences_apart(student, probe, "causal_mean_loop")


@check("causal_mean_loop", points=0.12, layer="laws", rules=("inputs_unchanged",))
def test_loop_leaves_its_batch_alone(student, probe):
    """The call does not change the batch."""
    keeps_its_batch(student, probe, "causal_mean_loop")


@check("causal_mean_loop", points=0.25, layer="gradients", rules=("gradients",))
def test_loop_stays_in_the_graph(same_gradients):
    """Gradients flow from each mean back to the tokens that it averages."""
    same_gradients("causal_mean_loop")


# averaging_weights


@check("averaging_weights", points=0.08, layer="shapes")
def test_weights_are_square(student):
    """Eight tokens give an (8, 8) matrix of weights."""
    tensor_like(student.call("averaging_weights", 8), (8, 8))


@check("averaging_weights", points=0.57, layer="documented")
def test_weights_are_the_documented_ones(student, documented):
    """The weights of eight tokens are the documented ones and form the documented triangle."""
    weights = student.call("averaging_weights", 8)

    documented["004.averaging_weights"].matches(weights)
    seen = (tensor(weights) != 0).float()
    documented["004.mask"].matches(seen, "The triangle of weights that are not 0")


@check("averaging_weights", points=0.35, layer="probe")
def test_weights_of_other_lengths(student, reference, probe):
    """The weights are right for other numbers of tokens."""
    same_weights(student, reference, "averaging_weights", other_lengths(probe))


@check("averaging_weights", points=0.1, layer="probe")
def test_weights_of_a_single_token(student):
    """A single token gets all the weight."""
    agrees(
        student.call("averaging_weights", 1),
        torch.ones(1, 1),
        "The matrix of weights for one token",
    )


@check("averaging_weights", points=0.2, layer="laws")
def test_weights_share_one_out(student, probe):
    """The weights of each token add up to 1."""
    share_one_out(student, probe, "averaging_weights")


@check("averaging_weights", points=0.16, layer="laws")
def test_weights_see_exactly_the_past(student, probe):
    """Later tokens get exactly 0, and the token itself and earlier ones get more than 0."""
    see_exactly_the_past(student, probe, "averaging_weights")


@check("averaging_weights", points=0.28, layer="laws")
def test_weights_keep_the_rows_of_fewer_tokens(student, probe):
    """More tokens do not change the rows of the first ones, and these rows differ."""
    keep_rows_of_fewer_tokens(student, probe, "averaging_weights")


@check("averaging_weights", points=0.16, layer="laws")
def test_weights_are_alike_in_the_past(student, probe):
    """All tokens in the past get the same weight, and it is smaller the more of them there are."""
    weigh_all_alike(student, probe, "averaging_weights")


# causal_mean_matmul


@check("causal_mean_matmul", points=0.05, layer="shapes")
def test_matmul_keeps_the_shape(student, documented, x):
    """The means have the shape of the batch: (4, 8, 2) -> (4, 8, 2)."""
    tensor_like(student.call("causal_mean_matmul", x), tuple(documented["004.x.shape"].value))


@check("causal_mean_matmul", points=0.25, layer="documented")
def test_matmul_gives_the_documented_means(student, documented, x):
    """The means of the documented batch are the documented ones."""
    documented["004.xbow"].matches(student.call("causal_mean_matmul", x))


@check("causal_mean_matmul", points=0.3, layer="probe", rules=("float32",))
def test_matmul_averages_unseen_batches(same_means):
    """The means are right for batches of any size."""
    same_means("causal_mean_matmul")


@check("causal_mean_matmul", points=0.1, layer="probe", rules=("float32",))
def test_matmul_leaves_a_single_token(student, probe):
    """A single token is its own mean."""
    single_tokens(student, probe, "causal_mean_matmul")


@check("causal_mean_matmul", points=0.1, layer="laws")
def test_matmul_never_looks_ahead(student, probe):
    """Later tokens have no effect on earlier means, and earlier tokens have one on later means."""
    hides_the_future(student, probe, "causal_mean_matmul")


@check("causal_mean_matmul", points=0.1, layer="laws")
def test_matmul_moves_with_its_tokens(student, probe):
    """Adding a vector to all tokens adds it to all means: the weights of each mean sum to one."""
    moves_with_its_tokens(student, probe, "causal_mean_matmul")


@check("causal_mean_matmul", points=0.1, layer="laws")
def test_matmul_knows_no_order_of_the_past(student, probe):
    """The order of the first four tokens has no effect on the means from the fourth token on."""
    knows_no_order_of_the_past(student, probe, "causal_mean_matmul")


@check("causal_mean_matmul", points=0.1, layer="laws")
def test_matmul_doubles_with_its_tokens(student, probe):
    """Tokens that are twice as large give means that are twice as large."""
    doubles_with_its_tokens(student, probe, "causal_mean_matmul")


@check("causal_mean_matmul", points=0.1, layer="laws")
def test_matmul_keeps_sequences_apart(student, probe):
    """Each sequence of a batch gets the same means as it would alone."""
    keeps_sequences_apart(student, probe, "causal_mean_matmul")


@check("causal_mean_matmul", points=0.06, layer="laws", rules=("inputs_unchanged",))
def test_matmul_leaves_its_batch_alone(student, probe):
    """The call does not change the batch."""
    keeps_its_batch(student, probe, "causal_mean_matmul")


@check("causal_mean_matmul", points=0.12, layer="gradients", rules=("gradients",))
def test_matmul_stays_in_the_graph(same_gradients):
    """Gradients flow from each mean back to the tokens that it averages."""
    same_gradients("causal_mean_matmul")


@check("causal_mean_matmul", points=0.12, layer="forbidden", rules=("matrix_product",))
def test_matmul_is_a_matrix_product(student, probe):
    """A matrix product of weights and tokens computes the means."""
    multiplies(student, probe, "causal_mean_matmul")


# masked_softmax_weights


@check("masked_softmax_weights", points=0.08, layer="shapes")
def test_softmax_weights_are_square(student):
    """Eight tokens give an (8, 8) matrix of weights."""
    tensor_like(student.call("masked_softmax_weights", 8), (8, 8))


@check("masked_softmax_weights", points=0.52, layer="documented")
def test_softmax_weights_are_the_documented_ones(student, documented):
    """The softmax of the documented masked scores gives the documented weights."""
    weights = student.call("masked_softmax_weights", 8)

    documented["004.averaging_weights"].matches(weights)
    agrees(weights, torch.softmax(documented["004.masked_scores"].tensor, dim=-1))


@check("masked_softmax_weights", points=0.35, layer="probe")
def test_softmax_weights_of_other_lengths(student, reference, probe):
    """The weights are right for other numbers of tokens."""
    same_weights(student, reference, "masked_softmax_weights", other_lengths(probe))


@check("masked_softmax_weights", points=0.1, layer="probe")
def test_softmax_weights_of_a_single_token(student):
    """A single token gets all the weight."""
    agrees(
        student.call("masked_softmax_weights", 1),
        torch.ones(1, 1),
        "The matrix of weights for one token",
    )


@check("masked_softmax_weights", points=0.18, layer="laws")
def test_softmax_weights_share_one_out(student, probe):
    """The weights of each token add up to 1."""
    share_one_out(student, probe, "masked_softmax_weights")


@check("masked_softmax_weights", points=0.18, layer="laws")
def test_softmax_weights_see_exactly_the_past(student, probe):
    """Later tokens get exactly 0, and the token itself and earlier ones get more than 0."""
    see_exactly_the_past(student, probe, "masked_softmax_weights")


@check("masked_softmax_weights", points=0.18, layer="laws")
def test_softmax_weights_keep_the_rows_of_fewer_tokens(student, probe):
    """More tokens do not change the rows of the first ones, and these rows differ."""
    keep_rows_of_fewer_tokens(student, probe, "masked_softmax_weights")


@check("masked_softmax_weights", points=0.18, layer="laws")
def test_softmax_weights_are_alike_in_the_past(student, probe):
    """All tokens in the past get the same weight, and it is smaller the more of them there are."""
    weigh_all_alike(student, probe, "masked_softmax_weights")


@check("masked_softmax_weights", points=0.33, layer="forbidden", rules=("softmax_weights",))
def test_softmax_weights_come_from_softmax(student, probe):
    """The weights come from a softmax, not from a division by counts."""
    name, T = "masked_softmax_weights", first_of_weights(probe)
    ran = student.operators(name, T)

    takes_exponentials(student, name, ran)
    sums = weights_of(student, name, T).sum(dim=1)
    agrees(sums, torch.ones(T), "The vector of row sums")


# causal_mean_softmax


@check("causal_mean_softmax", points=0.04, layer="shapes")
def test_softmax_mean_keeps_the_shape(student, documented, x):
    """The means have the shape of the batch: (4, 8, 2) -> (4, 8, 2)."""
    tensor_like(student.call("causal_mean_softmax", x), tuple(documented["004.x.shape"].value))


@check("causal_mean_softmax", points=0.25, layer="documented")
def test_softmax_mean_gives_the_documented_means(student, documented, x):
    """The means of the documented batch are the documented ones."""
    documented["004.xbow"].matches(student.call("causal_mean_softmax", x))


@check("causal_mean_softmax", points=0.25, layer="probe", rules=("float32",))
def test_softmax_mean_averages_unseen_batches(same_means):
    """The means are right for batches of any size."""
    same_means("causal_mean_softmax")


@check("causal_mean_softmax", points=0.08, layer="probe", rules=("float32",))
def test_softmax_mean_leaves_a_single_token(student, probe):
    """A single token is its own mean."""
    single_tokens(student, probe, "causal_mean_softmax")


@check("causal_mean_softmax", points=0.12, layer="laws")
def test_softmax_mean_never_looks_ahead(student, probe):
    """Later tokens have no effect on earlier means, and earlier tokens have one on later means."""
    hides_the_future(student, probe, "causal_mean_softmax")


@check("causal_mean_softmax", points=0.07, layer="laws")
def test_softmax_mean_moves_with_its_tokens(student, probe):
    """Adding a vector to all tokens adds it to all means: the weights of each mean sum to one."""
    moves_with_its_tokens(student, probe, "causal_mean_softmax")


@check("causal_mean_softmax", points=0.07, layer="laws")
def test_softmax_mean_knows_no_order_of_the_past(student, probe):
    """The order of the first four tokens has no effect on the means from the fourth token on."""
    knows_no_order_of_the_past(student, probe, "causal_mean_softmax")


@check("causal_mean_softmax", points=0.07, layer="laws")
def test_softmax_mean_doubles_with_its_tokens(student, probe):
    """Tokens that are twice as large give means that are twice as large."""
    doubles_with_its_tokens(student, probe, "causal_mean_softmax")


@check("causal_mean_softmax", points=0.07, layer="laws")
def test_softmax_mean_keeps_sequences_apart(student, probe):
    """Each sequence of a batch gets the same means as it would alone."""
    keeps_sequences_apart(student, probe, "causal_mean_softmax")


@check("causal_mean_softmax", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_softmax_mean_leaves_its_batch_alone(student, probe):
    """The call does not change the batch."""
    keeps_its_batch(student, probe, "causal_mean_softmax")


@check("causal_mean_softmax", points=0.1, layer="gradients", rules=("gradients",))
def test_softmax_mean_stays_in_the_graph(same_gradients):
    """Gradients flow from each mean back to the tokens that it averages."""
    same_gradients("causal_mean_softmax")


@check("causal_mean_softmax", points=0.07, layer="forbidden", rules=("matrix_product",))
def test_softmax_mean_is_a_matrix_product(student, probe):
    """A matrix product of weights and tokens computes the means."""
    multiplies(student, probe, "causal_mean_softmax")


@check("causal_mean_softmax", points=0.07, layer="forbidden", rules=("softmax_weights",))
def test_softmax_mean_takes_weights_from_softmax(student, probe):
    """A softmax computes the weights of the means."""
    batch = probe.normal(3, FIRST_OF_SOFTMAX, 5)
    ran = student.operators("causal_mean_softmax", batch)

    takes_exponentials(student, "causal_mean_softmax", ran)
    has_past(student, "causal_mean_softmax", batch)
