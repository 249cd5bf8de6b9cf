"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, number, number_agrees, same_dtype, tensor, tensor_like
from autograder.suite.forbidden import avoids, avoids_itself, avoids_running, keeps_operators
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


READY_ATTENTION = frozenset(
    {
        "MultiheadAttention",
        "Transformer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "_native_multi_head_attention",
        "_scaled_dot_product_attention",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_transformer_encoder_layer_fwd",
        "flex_attention",
        "multi_head_attention_forward",
        "onnx",
        "scaled_dot_product_attention",
    }
)
READY_LOSS = frozenset(
    {
        "BCELoss",
        "BCEWithLogitsLoss",
        "CrossEntropyLoss",
        "HuberLoss",
        "KLDivLoss",
        "L1Loss",
        "MSELoss",
        "NLLLoss",
        "SmoothL1Loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "cross_entropy",
        "huber_loss",
        "kl_div",
        "l1_loss",
        "linear_cross_entropy",
        "mse_loss",
        "nll_loss",
        "nll_loss_nd",
        "smooth_l1_loss",
    }
)
READY_OPTIMIZER = frozenset(
    {
        "Adadelta",
        "Adagrad",
        "Adam",
        "AdamW",
        "LBFGS",
        "NAdam",
        "RAdam",
        "RMSprop",
        "SGD",
        "optim",
    }
)
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
B, T, V, D, CONTEXT = 3, 5, 7, 6, 9
LAYERS = (
    "tok_emb.weight",
    "pos_emb.weight",
    "W_query.weight",
    "W_key.weight",
    "W_value.weight",
    "out_head.weight",
)
MODEL = ("0.weight", "1.weight", "1.bias")  # of an embedding and a linear layer in a row
RATE = 0.3
EFFECT = 0.01  # far above float32 noise; the changes that the laws make have larger effects
BY_HAND = "Write the exponentials, their sum and the logarithm yourself."
OWN_LOSS = "In this stage the loss is your own cross_entropy."
OWN_STEP = "Change the parameters yourself: one line for each of them."
OWN_HEAD = "Compute scores, weights and context vectors yourself, as in stage 04."
AT_ONCE = "Use one operation for all tokens at once."
SWAPPED = torch.tensor([0, 1, 3, 2, 4])


def draw_ids(probe, *shape, vocabulary=V):
    """Draw token ids."""
    return (probe.uniform(*shape) * vocabulary).long()


def two_classes(documented):
    """Return two logits for each documented probability: for the target, and for other tokens."""
    probabilities = documented["ch05.target_probas"].tensor
    return torch.stack((probabilities.log(), (1 - probabilities).log()), dim=-1)  # (6, 2)


def bigram_logits(ids):
    """Return the logits of the documented bigram model, a table that is drawn with seed 1337."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(1337)
        return nn.Embedding(65, 65)(ids)


def draw_weights(probe, vocab_size=V, d_model=D, context_length=CONTEXT):
    """Draw large weights of a Reader."""
    weights = probe.weights(
        tok_emb__weight=(vocab_size, d_model),
        pos_emb__weight=(context_length, d_model),
        W_query__weight=(d_model, d_model),
        W_key__weight=(d_model, d_model),
        W_value__weight=(d_model, d_model),
        out_head__weight=(vocab_size, d_model),
    )
    for name in ("tok_emb.weight", "pos_emb.weight"):
        weights[name] *= 0.5  # scores then spread by 3: every mistake shows
    return weights


def both_readers(student, reference, probe, *sizes):
    """Build the student's Reader and the reference, and load the same large weights."""
    weights = draw_weights(probe, *sizes)
    sizes = sizes or (V, D, CONTEXT)
    yours = student.new("Reader", *sizes).load(weights)
    return yours, reference.new("Reader", *sizes).load(weights)


def own_reader(student, probe):
    """Build the student's Reader for laws, and return it with its weights."""
    weights = draw_weights(probe)
    weights["W_query.weight"] *= 0.3  # every token keeps a weight that shows
    return student.new("Reader", V, D, CONTEXT).load(weights), weights


def both_models(student, reference, probe, vocabulary=V, features=D):
    """Build a model of torch's own layers, an embedding and a linear layer, twice."""
    weights = probe.weights(
        **{
            "0__weight": (vocabulary, features),
            "1__weight": (vocabulary, features),
            "1__bias": (vocabulary,),
        }
    )
    return (
        side.new(
            "nn.Sequential",
            side.new("nn.Embedding", vocabulary, features),
            side.new("nn.Linear", features, vocabulary),
        ).load(weights)
        for side in (student, reference)
    )


def draw_batch(probe, items=B, tokens=T):
    """Draw ids and targets."""
    return draw_ids(probe, items, tokens), draw_ids(probe, items, tokens)


def same_parameters(yours, ours, when="After the step", other=""):
    """Compare the parameters of two models."""
    found = yours.parameters()
    for name, parameter in ours.parameters().items():
        expect(name in found, f"{when}, the model has no parameter {name}.")
        agrees(found[name].value, parameter.value, f"{when}, the parameter {name}", other)


def same_gradients(yours, ours):
    """Compare the gradients of the parameters, and of the first input if it has one."""
    arrivals = yours.parameters | {"the logits": yours.inputs[0]}
    for name, gradient in (ours.parameters | {"the logits": ours.inputs[0]}).items():
        if gradient is not None:
            arrived = arrivals.get(name)
            expect(arrived is not None, f"No gradient reaches {name}: is the result in the graph?")
            agrees(arrived, gradient, f"The gradient of {name}")


def numbers_in(answer, count, what="train"):
    """Return the losses in *answer*, or fail the check."""
    expect(isinstance(answer, list | tuple), f"{what} does not return a list.", Status.WRONG_TYPE)
    sentence = f"{what} does not return one loss for each batch."
    expect(len(answer) == count, sentence, Status.WRONG_SHAPE)
    return [number(loss, "A loss") for loss in answer]


def falls(losses):
    """Return whether each loss is lower than the one before it."""
    return all(later < earlier for earlier, later in pairwise(losses))


def differs(one, other):
    """Return whether two results of the same shape differ much more than float32 noise."""
    apart = (one.to(torch.complex128) - other.to(torch.complex128)).abs()  # of any dtype
    return bool(apart.numel()) and not bool(apart.max() <= EFFECT)


def real(answer, shape, what="The result"):
    """Return a tensor of real numbers, with which a law can compute, or fail the check."""
    found = tensor_like(answer, shape, what)
    expect(found.is_floating_point(), f"{what} has the wrong dtype.", Status.WRONG_TYPE)
    return found


def loss_of(student, logits, targets):
    """Return the student's loss as a scalar tensor."""
    return real(student.call("cross_entropy", logits, targets), (), "The loss")


def log_softmax_of(student, logits):
    """Return the student's logarithms."""
    return real(student.call("log_softmax", logits), tuple(logits.shape))


def logits_of(reader, ids):
    """Return the logits of a Reader."""
    return real(reader(ids), (*ids.shape, V))


def load_part(reader, weights, **changes):
    """Load *weights* with changes into *reader*."""
    return reader.load(weights | {name.replace("__", "."): new for name, new in changes.items()})


def values_of(model):
    """Return the values of the parameters of a model of torch's own layers."""
    return {name: parameter.value for name, parameter in model.named(*MODEL).items()}


def moves_of(before, after):
    """Return how far each parameter has moved."""
    return {name: after[name] - value for name, value in before.items()}


def have_moved(moves):
    """Fail the check unless each parameter has moved."""
    for name, move in moves.items():
        expect(differs(move, torch.zeros_like(move)), f"The parameter {name} has hardly moved.")


def needs_targets(student, logits):
    """Fail the check if the loss does not depend on the targets: constants keep every dtype."""
    easy, hard = (loss_of(student, logits, best(-1)) for best in (logits.argmax, logits.argmin))
    expect(differs(easy, hard), "Different targets have nearly the same loss.")


# log_softmax


@check("log_softmax", points=0.05, layer="shapes")
def test_log_softmax_keeps_the_shape(student):
    """Logits of shape (2, 4, 5) give logarithms of the same shape."""
    tensor_like(student.call("log_softmax", torch.zeros(2, 4, 5)), (2, 4, 5), "The result")


@check("log_softmax", points=0.15, layer="documented")
def test_log_softmax_gives_the_documented_logarithms(student, documented):
    """Logits computed from six documented probabilities give the documented logarithms."""
    found = student.call("log_softmax", two_classes(documented))

    first = tensor_like(found, (6, 2))[:, 0]
    documented["ch05.log_probas"].matches(first, "The first column of the result")


@check("log_softmax", points=0.2, layer="probe")
def test_log_softmax_of_rows(student, reference, probe):
    """For one row of logits, and for several rows, the result is right."""
    for shape in ((V,), (5, 3), (1, 4)):
        logits = probe.normal(*shape, scale=3)

        agrees(student.call("log_softmax", logits), reference.call("log_softmax", logits))


@check("log_softmax", points=0.2, layer="probe")
def test_log_softmax_of_batches(student, reference, probe):
    """For logits with three axes, each row of the result is right."""
    for shape in ((B, T, V), (1, 4, 6)):
        logits = probe.normal(*shape, scale=3)

        agrees(student.call("log_softmax", logits), reference.call("log_softmax", logits))


@check("log_softmax", points=0.1, layer="laws")
def test_log_softmax_gives_probabilities_that_sum_to_one(student, probe):
    """The exponentials of each row sum to one."""
    found = log_softmax_of(student, probe.normal(T, V, scale=2))

    agrees(found.exp().sum(dim=-1), torch.ones(T), "The vector of sums of probabilities")


@check("log_softmax", points=0.1, layer="laws")
def test_log_softmax_depends_on_differences_only(student, probe):
    """Adding a number to all logits of a row changes nothing; raising one logit changes the row."""
    logits = probe.normal(T, V, scale=2)
    found = log_softmax_of(student, logits)
    one = torch.zeros(V)
    one[2] = 3.0

    moved = log_softmax_of(student, logits + probe.normal(T, 1, scale=5))
    agrees(moved, found, "With shifted logits, the result", "that before")
    for row in (found - log_softmax_of(student, logits + one)).unbind():
        expect(differs(row, torch.zeros(V)), "A larger logit does not visibly change its row.")


@check("log_softmax", points=0.1, layer="laws")
def test_log_softmax_keeps_the_differences_of_logits(student, probe):
    """Two entries of a row differ as much as their logits, and V logits of 0 give -log V."""
    logits = probe.normal(T, V, scale=2)
    found = log_softmax_of(student, logits)

    agrees(found - found[:, :1], logits - logits[:, :1], "The matrix of differences in a row")
    even = log_softmax_of(student, torch.zeros(T, V))
    agrees(even, -torch.full((T, V), float(V)).log(), "For logits of 0, the result")


@check("log_softmax", points=0.1, layer="laws")
def test_log_softmax_takes_logits_of_any_size(student, probe):
    """For logits of 1000, 0 and -1000, the result is finite and right."""
    order = probe.uniform(3).argsort()
    far = torch.tensor([[1000.0, -1000, -1000], [-1000, 0, -1000], [0, 500, 200]])[:, order]
    right = torch.tensor([[0.0, -2000, -2000], [-1000, 0, -1000], [-500, 0, -300]])[:, order]

    found = log_softmax_of(student, far)
    expect(found.isfinite().all(), "For large logits, the result is not finite.")
    agrees(found, right, "For large logits, the result")


@check("log_softmax", points=0.05, layer="laws", rules=("dtype",))
def test_log_softmax_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    logits = probe.normal(T, V)

    keeps_dtype("log_softmax", logits)
    different = differs(log_softmax_of(student, logits), log_softmax_of(student, 2 * logits))
    expect(different, "Twice the logits give nearly the same result.")


@check("log_softmax", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_log_softmax_leaves_its_logits_alone(student, probe):
    """The caller's logits stay as they are."""
    logits = probe.normal(T, V)

    kept = student.keeps_inputs("log_softmax", logits)
    expect(kept, "log_softmax changes the logits that you pass to it.")
    different = differs(log_softmax_of(student, logits), log_softmax_of(student, 2 * logits))
    expect(different, "Twice the logits give nearly the same result.")


@check("log_softmax", points=0.05, layer="gradients", rules=("gradients",))
def test_log_softmax_passes_gradients_back(student, reference, probe):
    """The gradients of the logits are right."""
    logits, back = probe.normal(B, T, V, scale=2), probe.normal(B, T, V)

    same_gradients(
        student.gradients("log_softmax", logits, cotangent=back),
        reference.gradients("log_softmax", logits, cotangent=back),
    )


@check("log_softmax", points=0.05, layer="forbidden", rules=("no_ready_softmax",))
def test_log_softmax_is_written_out(student, probe):
    """The result comes from exponentials, not from torch's own softmax or logsumexp."""
    avoids(student, "log_softmax", READY_SOFTMAX, BY_HAND)
    avoids_running(student.operators("log_softmax", probe.normal(T, V)), READY_SOFTMAX, BY_HAND)


# cross_entropy


@check("cross_entropy", points=0.1, layer="shapes")
def test_loss_is_one_number(student):
    """Logits of shape (5, 3) give a scalar loss, and so does a (2, 4, 3) batch of logits."""
    one_row = student.call("cross_entropy", torch.zeros(5, 3), torch.zeros(5).long())
    batch = student.call("cross_entropy", torch.zeros(2, 4, 3), torch.zeros(2, 4).long())

    tensor_like(one_row, (), "The loss of (5, 3) logits")
    tensor_like(batch, (), "The loss of (2, 4, 3) logits")


@check("cross_entropy", points=0.15, layer="documented")
def test_loss_of_the_documented_probabilities(student, documented):
    """Six documented probabilities of the right tokens give the documented loss, 10.7940."""
    loss = student.call("cross_entropy", two_classes(documented), torch.zeros(6).long())

    documented["ch05.loss"].matches(loss, "The loss")


@check("cross_entropy", points=0.2, layer="documented")
def test_loss_of_the_documented_bigram_model(student, documented):
    """The logits of a bigram model drawn with seed 1337 give the documented loss, 4.8786."""
    ids, targets = (documented[f"gptdev.{name}"].tensor for name in ("ids", "targets"))

    loss = student.call("cross_entropy", bigram_logits(ids), targets)
    documented["gptdev.bigram.loss"].matches(loss, "The loss of (4, 8, 65) logits")


@check("cross_entropy", points=0.1, layer="documented")
def test_loss_of_a_guess_that_knows_nothing(student, documented):
    """Rows of 65 equal logits give a loss of log 65 for any targets."""
    targets = documented["gptdev.targets"].tensor

    loss = student.call("cross_entropy", torch.full((4, 8, 65), 0.7), targets)
    documented["gptdev.uniform_loss"].matches(loss, "The loss of equal logits")


@check("cross_entropy", points=0.35, layer="probe")
def test_loss_of_one_row_of_guesses(student, reference, probe):
    """For several numbers of predictions and tokens, the loss is right."""
    for guesses, vocabulary in ((5, V), (8, 3), (1, 4), (2, 11)):
        logits = probe.normal(guesses, vocabulary, scale=3)
        targets = draw_ids(probe, guesses, vocabulary=vocabulary)

        agrees(
            student.call("cross_entropy", logits, targets),
            reference.call("cross_entropy", logits, targets),
            "The loss",
        )


@check("cross_entropy", points=0.35, layer="probe")
def test_loss_of_a_batch_of_guesses(student, reference, probe):
    """For batches of several sizes, the loss is the mean over all items and positions."""
    for items, tokens, vocabulary in ((B, T, V), (5, 3, 4), (4, 6, 2), (1, 2, 9), (2, 1, 3)):
        logits = probe.normal(items, tokens, vocabulary, scale=3)
        targets = draw_ids(probe, items, tokens, vocabulary=vocabulary)

        agrees(
            student.call("cross_entropy", logits, targets),
            reference.call("cross_entropy", logits, targets),
            "The loss",
        )


@check("cross_entropy", points=0.15, layer="laws")
def test_loss_depends_on_differences_of_logits_only(student, probe):
    """Adding a number to all logits of a row changes nothing; a larger logit changes the loss."""
    logits, targets = probe.normal(8, V, scale=2), draw_ids(probe, 8)
    loss = loss_of(student, logits, targets)
    raised = logits.scatter_add(1, targets[:, None], torch.full((8, 1), 3.0))

    shifted = logits + probe.normal(8, 1, scale=5)
    agrees(loss_of(student, shifted, targets), loss, "With shifted logits, the loss", "that before")
    sentence = "Larger logits of the targets do not visibly change the loss."
    expect(differs(loss_of(student, raised, targets), loss), sentence)


@check("cross_entropy", points=0.15, layer="laws")
def test_loss_is_a_mean(student, probe):
    """The loss of several predictions is the mean of the losses of each one alone."""
    logits, targets = probe.normal(8, V, scale=2), draw_ids(probe, 8)
    alone = torch.stack([loss_of(student, logits[n : n + 1], targets[n : n + 1]) for n in range(8)])

    expect(differs(alone, alone[0].expand(8)), "All predictions have nearly the same loss.")
    agrees(
        loss_of(student, logits, targets),
        alone.mean(),
        "The loss of several predictions",
        "the mean of their losses",
    )


@check("cross_entropy", points=0.15, layer="laws")
def test_loss_of_a_batch_is_that_of_its_predictions(student, probe):
    """A batch has the loss of its predictions in one list; other targets give another loss."""
    logits = probe.normal(B, T, V, scale=2)
    targets, others = logits.argmin(dim=-1), logits.argmax(dim=-1)
    loss = loss_of(student, logits, targets)

    agrees(
        loss,
        loss_of(student, logits.flatten(0, 1), targets.flatten()),
        "The loss of a batch",
        "that of its predictions",
    )
    other = loss_of(student, logits, others)
    expect(differs(loss, other), "Other targets do not visibly change the loss.")


@check("cross_entropy", points=0.1, layer="laws")
def test_loss_of_large_logits_is_finite(student):
    """With logits of 1000 and -1000, right predictions have loss 0, and wrong ones 2000."""
    logits = torch.tensor([[1000.0, -1000.0, -1000.0], [-1000.0, -1000.0, 1000.0]])

    for targets, wanted in (([0, 2], 0.0), ([1, 2], 1000.0), ([1, 0], 2000.0)):
        loss = student.call("cross_entropy", logits, torch.tensor(targets))
        agrees(loss, torch.tensor(wanted), "The loss of large logits")


@check("cross_entropy", points=0.1, layer="laws", rules=("refuses",))
def test_loss_refuses_targets_of_another_shape(student, probe):
    """Targets whose shape does not match the logits raise an error; matching targets do not."""
    logits = probe.normal(4, 6, V)
    needs_targets(student, logits)

    for shape in ((4, 5), (3, 6), (6, 4), (24,), (4,), (4, 6, 1), (1, 6)):
        refused = student.refuses("cross_entropy", logits, draw_ids(probe, *shape))
        sentence = "Targets of the wrong shape give a loss; they should raise a ValueError."
        expect(refused, sentence, Status.NOT_REFUSED)


@check("cross_entropy", points=0.05, layer="laws", rules=("dtype",))
def test_loss_keeps_the_dtype(student, probe):
    """For float64 logits the loss is float64, and for float32 logits it is float32."""
    logits, targets = probe.normal(5, V), draw_ids(probe, 5)
    needs_targets(student, logits)

    for dtype in (torch.float64, torch.float32):
        loss = student.call("cross_entropy", logits.to(dtype), targets)
        same_dtype(tensor_like(loss, (), "The loss"), dtype, "The loss")


@check("cross_entropy", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_loss_leaves_its_arguments_alone(student, probe):
    """The caller's logits and targets are unchanged."""
    logits, targets = probe.normal(B, T, V), draw_ids(probe, B, T)
    needs_targets(student, logits)

    kept = student.keeps_inputs("cross_entropy", logits, targets)
    expect(kept, "cross_entropy changes the logits or the targets that you pass to it.")


@check("cross_entropy", points=0.1, layer="gradients", rules=("gradients",))
def test_loss_passes_gradients_back(student, reference, probe):
    """The gradients of the logits are right for (N, V) logits and for (B, T, V) logits."""
    for shape in ((8, V), (B, T, V)):
        logits, targets = probe.normal(*shape, scale=2), draw_ids(probe, *shape[:-1])
        back = (
            10 * probe.uniform(1)[0] + 10
        )  # a mean divides each gradient by the number of predictions

        same_gradients(
            student.gradients("cross_entropy", logits, targets, cotangent=back),
            reference.gradients("cross_entropy", logits, targets, cotangent=back),
        )


@check(
    "cross_entropy",
    points=0.1,
    layer="forbidden",
    rules=("no_ready_softmax", "no_ready_loss"),
)
def test_loss_is_written_out(student, probe):
    """The loss comes from your own steps, not from torch's own loss or softmax."""
    logits, targets = probe.normal(B, T, V), draw_ids(probe, B, T)
    names = READY_LOSS | READY_SOFTMAX
    below = {"log_softmax": student.operators("log_softmax", logits)}

    ran = student.operators("cross_entropy", logits, targets)
    avoids_itself(student, "cross_entropy", names, BY_HAND, ran, below)


# Reader


@check("Reader", points=0.05, layer="signature")
def test_reader_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes vocab_size, d_model and context_length."""
    reader = student.new("Reader", vocab_size=5, d_model=3, context_length=4)

    tensor_like(reader(torch.zeros(2, 4).long()), (2, 4, 5), "The result for (2, 4) ids")


@check("Reader", points=0.1, layer="shapes")
def test_reader_guesses_at_each_position(student):
    """A (2, 6) batch of ids gives (2, 6, 10) logits."""
    logits = student.new("Reader", 10, 3, 8)(torch.arange(12).view(2, 6) % 10)

    tensor_like(logits, (2, 6, 10), "Reader(10, 3, 8)(ids)")


@check("Reader", points=0.05, layer="parameters")
def test_reader_names_its_layers(student):
    """The layers have the names of the docstring."""
    found = student.new("Reader", V, D, CONTEXT).parameters()

    for name in LAYERS:
        expect(name in found, f"Reader has no parameter {name}.", Status.MISSING)


@check("Reader", points=0.15, layer="parameters")
def test_reader_draws_its_layers_in_order(student, reference, probe):
    """For several sizes, the six layers are created in the order of the docstring."""
    for sizes in ((V, D, CONTEXT), (11, 5, 3)):
        found = student.new("Reader", *sizes, seed=probe.seed).named(*LAYERS)
        drawn = reference.new("Reader", *sizes, seed=probe.seed).parameters()

        for name in LAYERS:
            agrees(found[name].value, drawn[name].value, f"{name} right after construction")


@check("Reader", points=0.05, layer="parameters")
def test_reader_has_no_bias(student):
    """Each of the four linear layers has a weight and no bias."""
    shapes = student.new("Reader", V, D, CONTEXT).shapes()

    expect(shapes, "Reader has no parameters.")
    for name, shape in shapes.items():
        expect(
            len(shape) > 1, f"{name} has fewer than two axes, as a bias has; there should be none."
        )


@check("Reader", points=0.05, layer="parameters")
def test_reader_trains_all_its_parameters(student):
    """All six parameters are trained, and there are no others."""
    found = student.new("Reader", V, D, CONTEXT).parameters()

    for name, parameter in found.items():
        expect(parameter.requires_grad, f"{name} is not trained: requires_grad is False.")
    expect(len(found) == 6, "Reader does not have six parameters.")


@check("Reader", points=0.1, layer="documented")
def test_reader_draws_the_documented_embedding(student, documented):
    """With seed 123, tok_emb of Reader(6, 3, 4) is the documented embedding layer."""
    found = student.new("Reader", 6, 3, 4, seed=123).named(*LAYERS)

    documented["ch02.embedding.weight"].matches(found["tok_emb.weight"].value, "tok_emb.weight")


@check("Reader", points=0.2, layer="documented")
def test_reader_looks_up_the_documented_vectors(student, documented):
    """The tokens 2, 3, 5 and 1, each alone in its text, give the documented vectors.

    In this check, tok_emb is the documented layer, and all others return their inputs unchanged.
    """
    eye, table = torch.eye(3), documented["ch02.embedding.weight"].tensor
    loaded = (table, torch.zeros(4, 3), eye, eye, eye, torch.eye(6, 3))
    reader = student.new("Reader", 6, 3, 4).load(dict(zip(LAYERS, loaded, strict=True)))
    logits = tensor_like(reader(torch.tensor([[2], [3], [5], [1]])), (4, 1, 6), "The result")

    vectors = logits[:, 0, :3]
    documented["ch02.embedding.of_ids"].matches(vectors, "The result for the four tokens")


@check("Reader", points=0.7, layer="probe")
def test_reader_reads_with_any_weights(student, reference, probe):
    """For several weights, sizes and batches, the logits are right."""
    for sizes, items, tokens in (
        ((5, 3, 8), 2, 6),
        ((V, D, CONTEXT), B, T),
        ((4, 7, 10), 5, 3),
    ):
        yours, ours = both_readers(student, reference, probe, *sizes)
        ids = draw_ids(probe, items, tokens, vocabulary=sizes[0])

        agrees(yours(ids), ours(ids), "The logits")


@check("Reader", points=0.3, layer="probe")
def test_reader_serves_every_length_in_turn(student, reference, probe):
    """One module reads long texts, short texts and single tokens one after the other."""
    yours, ours = both_readers(student, reference, probe)
    ids = draw_ids(probe, 4, CONTEXT)

    for tokens, items in ((CONTEXT, 4), (1, 2), (T, 3), (1, 1), (CONTEXT, 2), (2, 4)):
        part = ids[:items, :tokens].contiguous()
        agrees(yours(part), ours(part), "The logits")


@check("Reader", points=0.15, layer="laws")
def test_reader_without_positions_knows_no_order(student, probe):
    """If all position vectors are equal, reordered tokens give the same logits, reordered."""
    reader, weights = own_reader(student, probe)
    load_part(reader, weights, pos_emb__weight=torch.zeros(CONTEXT, D))
    ids, order = torch.arange(T).unsqueeze(0), torch.tensor([3, 0, 4, 1, 2])
    found, moved = logits_of(reader, ids), logits_of(reader, ids[:, order])

    expect(differs(found[:, order], found), "Different tokens have nearly the same logits.")
    agrees(moved, found[:, order], "The result for reordered tokens", "that before in this order")


@check("Reader", points=0.15, layer="laws")
def test_reader_knows_the_order_by_its_positions(student, probe):
    """If the position vectors differ, swapping two tokens changes the logits of a third one."""
    reader, _ = own_reader(student, probe)
    ids = torch.arange(T).unsqueeze(0)
    found, moved = (logits_of(reader, ids[:, order]) for order in (torch.arange(T), SWAPPED))

    sentence = "A swap of two tokens does not visibly change the logits of a third one."
    expect(differs(found[:, 0], moved[:, 0]), sentence)


@check("Reader", points=0.15, layer="laws")
def test_reader_sees_all_tokens(student, probe):
    """Another first token changes the last logits, and another last token changes the first."""
    reader, _ = own_reader(student, probe)
    ids = draw_ids(probe, B, T)
    found = logits_of(reader, ids)

    for place, other, which in ((0, -1, "last"), (-1, 0, "first")):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 2) % V
        moved = logits_of(reader, changed)[:, other]
        expect(
            differs(moved, found[:, other]),
            f"Another token does not visibly change the {which} logits.",
        )


@check("Reader", points=0.15, layer="laws")
def test_reader_reads_each_item_alone(student, probe):
    """Items have different logits, and each has the same logits alone and in a batch."""
    reader, _ = own_reader(student, probe)
    ids = torch.stack([(torch.arange(T) * step + step) % V for step in (1, 2, 3)])
    together = logits_of(reader, ids)

    expect(differs(together[0], together[1]), "Different items have nearly the same logits.")
    for item in range(B):
        agrees(
            logits_of(reader, ids[item : item + 1]),
            together[item : item + 1],
            "The result of an item alone",
            "that in the batch",
        )


@check("Reader", points=0.15, layer="laws")
def test_reader_turns_contexts_into_logits_linearly(student, probe):
    """With twice the weights in out_head, or in W_value, all logits are twice as large."""
    reader, weights = own_reader(student, probe)
    ids = draw_ids(probe, B, T)
    found = logits_of(reader, ids)

    expect(differs(found, 2 * found), "All logits are nearly 0.")
    for name in ("out_head.weight", "W_value.weight"):
        reader.load(weights | {name: 2 * weights[name]})
        agrees(
            logits_of(reader, ids),
            2 * found,
            f"With doubled {name}, the result",
            "twice the result",
        )


@check("Reader", points=0.15, layer="laws")
def test_reader_with_equal_scores_takes_means(student, probe):
    """If W_query is 0, all scores are equal, and so are the logits at all positions of a text."""
    reader, weights = own_reader(student, probe)
    ids = torch.stack([(torch.arange(T) * step + step) % V for step in (1, 2, 3)])
    load_part(reader, weights, W_query__weight=torch.zeros(D, D))
    found = logits_of(reader, ids)

    agrees(found, found[:, :1].expand(B, T, V), "The result at a position", "that at the first")
    expect(differs(found[0], found[1]), "Different texts have nearly the same logits.")


@check("Reader", points=0.05, layer="laws", rules=("dtype",))
def test_reader_keeps_the_dtype(student, probe):
    """A float64 module gives float64 logits, and a float32 module gives float32 logits."""
    reader, _ = own_reader(student, probe)
    ids = draw_ids(probe, B, T)

    for dtype in ("float64", "float32"):
        reader.move(dtype)
        logits = tensor_like(reader(ids), (B, T, V), "The result")
        same_dtype(logits, getattr(torch, dtype), f"The result of a module in {dtype}")


@check("Reader", points=0.1, layer="laws", rules=("refuses",))
def test_reader_refuses_a_text_that_is_too_long(student, probe):
    """A text longer than context_length raises an error; one of context_length tokens does not."""
    reader = student.new("Reader", V, D, 6)
    tensor_like(reader(draw_ids(probe, 2, 6)), (2, 6, V), "The result for 6 ids")

    for tokens in (7, 9):
        refused = reader.refuses(draw_ids(probe, 2, tokens))
        sentence = "More tokens than context_length give logits; they should raise a ValueError."
        expect(refused, sentence, Status.NOT_REFUSED)


@check("Reader", points=0.05, layer="laws", rules=("no_seeding",))
def test_reader_sets_no_seed(student, probe):
    """The constructor and a call do not seed torch's random generator."""
    drawn, ids = [], draw_ids(probe, B, T)
    for seed in (5, 6):
        reader = student.new("Reader", V, D, CONTEXT, seed=seed)
        built = student.draws_next()
        tensor_like(reader(ids, seed=seed), (B, T, V), "The result")
        drawn.append((built, student.draws_next()))

    sentence = "the random numbers no longer depend on the seed."
    expect(not torch.equal(drawn[0][0], drawn[1][0]), f"After construction, {sentence}")
    expect(not torch.equal(drawn[0][1], drawn[1][1]), f"After a call, {sentence}")


@check("Reader", points=0.2, layer="gradients", rules=("gradients",))
def test_reader_can_be_trained(student, reference, probe):
    """The gradients of the weights of all six layers are right."""
    yours, ours = both_readers(student, reference, probe)
    ids, back = draw_ids(probe, B, T), probe.normal(B, T, V)

    same_gradients(yours.gradients(ids, cotangent=back), ours.gradients(ids, cotangent=back))


@check("Reader", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_reader_attends_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    avoids(student, "Reader", READY_ATTENTION, OWN_HEAD)
    ran = student.new("Reader", V, D, CONTEXT).operators(draw_ids(probe, B, T))
    avoids_running(ran, READY_ATTENTION, OWN_HEAD)


@check("Reader", points=0.05, layer="forbidden", rules=("no_loops",))
def test_reader_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    reader = student.new("Reader", V, D, CONTEXT)
    few, many = draw_ids(probe, B, 4), draw_ids(probe, B, CONTEXT)

    keeps_operators(reader.operators(few), reader.operators(many), AT_ONCE)


# train_step


@check("train_step", points=0.15, layer="shapes")
def test_step_returns_a_plain_number(student, probe):
    """The loss is returned as a Python float, and the parameters keep their shapes."""
    model = student.new("nn.Embedding", 5, 5)
    ids = draw_ids(probe, 2, 9, vocabulary=5)
    loss = student.call("train_step", model, ids, ids.flip(1), 0.1)

    number(loss, "The loss")
    expect(isinstance(loss, float), "The loss is not a Python float.", Status.WRONG_TYPE)
    expect(model.shapes() == {"weight": (5, 5)}, "The step changes the shape of a parameter.")


@check("train_step", points=0.5, layer="probe")
def test_step_moves_each_parameter_against_its_gradient(student, reference, probe):
    """For several models, batches and rates, each parameter becomes p - rate · gradient."""
    for vocabulary, features, rate in ((V, D, RATE), (4, 3, 1.7)):
        yours, ours = both_models(student, reference, probe, vocabulary, features)
        ids, targets = (draw_ids(probe, B, T, vocabulary=vocabulary) for _ in range(2))

        student.call("train_step", yours, ids, targets, rate)
        reference.call("train_step", ours, ids, targets, rate)
        same_parameters(yours, ours)


@check("train_step", points=0.3, layer="probe")
def test_step_returns_the_loss_before_it(student, reference, probe):
    """The returned loss is the one before the step."""
    yours, ours = both_models(student, reference, probe)
    batch = draw_batch(probe)

    number_agrees(
        student.call("train_step", yours, *batch, RATE),
        reference.call("train_step", ours, *batch, RATE),
        "The returned loss",
    )


@check("train_step", points=0.3, layer="probe")
def test_step_forgets_the_gradients_of_the_last_one(student, reference, probe):
    """After steps with several batches and rates, the parameters are right; a frozen one stays."""
    yours, ours = both_models(student, reference, probe)

    for rate, items in ((RATE, B), (0.5, 4), (0.1, 2)):
        batch = draw_batch(probe, items)
        student.call("train_step", yours, *batch, rate)
        reference.call("train_step", ours, *batch, rate)
    same_parameters(yours, ours, "After three steps")

    embedding = student.new("nn.Embedding", V, D)
    model = student.new("nn.Sequential", embedding, student.new("nn.Linear", D, V, bias=False))
    model.load({"0.weight": probe.normal(V, D), "1.weight": probe.normal(V, D)})
    student.call("train_step", model, *draw_batch(probe), 1.0)
    embedding.call("requires_grad_", requires_grad=False)
    before = embedding.parameters()["weight"].value
    student.call("train_step", model, *draw_batch(probe), 1.0)

    found = embedding.parameters()["weight"].value
    what = "A parameter that was frozen after the first step"
    agrees(found, before, what, "its value before the second one")


@check("train_step", points=0.15, layer="laws")
def test_step_leaves_alone_what_is_not_trained(student, probe):
    """A frozen parameter, and one that the loss does not depend on, stay; a trained one moves."""
    table, spare, weight = probe.normal(V, D), probe.normal(3), probe.normal(V, D)
    frozen = student.new("nn.Embedding.from_pretrained", table)
    model = student.new("nn.Sequential", frozen, student.new("nn.Linear", D, V, bias=False))
    model.load({"1.weight": weight}).replace({"spare": spare})
    student.call("train_step", model, *draw_batch(probe), 1.0)

    found = model.parameters()
    agrees(found["0.weight"].value, table, "After the step, the frozen parameter")
    agrees(found["spare"].value, spare, "After the step, a parameter without a gradient")
    expect(differs(found["1.weight"].value, weight), "The trained parameter has hardly moved.")
    still = not found["0.weight"].requires_grad
    expect(still, "The step makes a frozen parameter trainable.")


@check("train_step", points=0.1, layer="laws")
def test_step_at_rate_zero_changes_nothing(student, reference, probe):
    """At rate 0 no parameter moves, and at a larger rate every parameter does."""
    model, _ = both_models(student, reference, probe)
    batch, before = draw_batch(probe), values_of(model)

    student.call("train_step", model, *batch, 0.0)
    still = values_of(model)
    for name, value in before.items():
        agrees(still[name], value, f"After a step at rate 0, the parameter {name}")
    student.call("train_step", model, *batch, 1.0)
    have_moved(moves_of(before, values_of(model)))


@check("train_step", points=0.15, layer="laws")
def test_step_at_twice_the_rate_goes_twice_as_far(student, probe):
    """At twice the rate, every parameter moves twice as far in the same direction."""
    models = both_models(student, student, probe)
    batch, moves = draw_batch(probe), []
    for model, rate in zip(models, (0.5, 1.0), strict=True):
        before = values_of(model)
        student.call("train_step", model, *batch, rate)
        moves.append(moves_of(before, values_of(model)))

    have_moved(moves[0])
    for name, move in moves[0].items():
        agrees(
            moves[1][name],
            2 * move,
            f"At twice the rate, the move of the parameter {name}",
            "twice the move",
        )


@check("train_step", points=0.1, layer="laws")
def test_steps_lower_the_loss_of_a_repeated_batch(student, reference, probe):
    """When one batch is repeated, the loss falls with each step."""
    model, _ = both_models(student, reference, probe)
    batch = draw_batch(probe)
    losses = [number(student.call("train_step", model, *batch, 0.05)) for _ in range(6)]

    expect(falls(losses), "The loss of a repeated batch does not fall in each step.")


@check("train_step", points=0.15, layer="laws")
def test_step_does_not_remember_other_batches(student, probe):
    """After a step at rate 0 with another batch, a step moves the parameters as it does alone."""
    one, other = both_models(student, student, probe)
    batch, before = draw_batch(probe), values_of(one)

    student.call("train_step", other, *draw_batch(probe, 4), 0.0)
    for model in (one, other):
        student.call("train_step", model, *batch, 1.0)
    have_moved(moves_of(before, values_of(one)))
    same_parameters(
        other, one, "After a step at rate 0 and this step", "that after this step alone"
    )


@check("train_step", points=0.1, layer="laws")
def test_loss_of_a_step_does_not_depend_on_its_rate(student, probe):
    """The returned loss does not depend on the rate; less likely targets make it larger."""
    slow, fast = both_models(student, student, probe)
    ids, _ = draw_batch(probe)
    logits = tensor(slow(ids))
    easy, hard = logits.argmax(dim=-1), logits.argmin(dim=-1)
    losses = [
        number(student.call("train_step", model, ids, targets, rate), "The loss")
        for model, targets, rate in ((slow, easy, 0.0), (slow, hard, 0.0), (fast, hard, 2.0))
    ]

    agrees(losses[2], losses[1], "The loss of a step at a larger rate", "that at rate 0")
    expect(losses[1] - losses[0] > EFFECT, "Less likely targets do not have a clearly larger loss.")


@check("train_step", points=0.15, layer="laws", rules=("dtype",))
def test_step_keeps_the_dtype(student, reference, probe):
    """The parameters of a float64 model stay float64, and those of a float32 model float32."""
    for dtype in ("float64", "float32"):
        model, _ = both_models(student, reference, probe)
        before = values_of(model)
        model.move(dtype)

        student.call("train_step", model, *draw_batch(probe), 1.0)
        after = values_of(model)
        for name in before:
            what = f"The parameter {name} of a {dtype} model"
            same_dtype(after[name], getattr(torch, dtype), what)
        have_moved(moves_of(before, after))


@check("train_step", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_step_leaves_its_batch_alone(student, reference, probe):
    """The parameters move, and ids and targets are unchanged."""
    model, _ = both_models(student, reference, probe)
    before = values_of(model)

    kept = student.keeps_inputs("train_step", model, *draw_batch(probe), 1.0)
    have_moved(moves_of(before, values_of(model)))
    expect(kept, "train_step changes the ids or the targets that you pass to it.")


@check("train_step", points=0.1, layer="forbidden", rules=("no_ready_optimizer",))
def test_step_needs_no_optimizer(student, reference, probe):
    """The parameters are changed by your own code, not by torch.optim."""
    model, _ = both_models(student, reference, probe)

    avoids(student, "train_step", READY_OPTIMIZER, OWN_STEP, below=("cross_entropy",))
    student.call("train_step", model, *draw_batch(probe), RATE)


@check("train_step", points=0.1, layer="forbidden", rules=("no_ready_loss",))
def test_step_uses_your_own_loss(student, reference, probe):
    """The loss comes from your own steps, not from torch's own loss functions."""
    model, _ = both_models(student, reference, probe)
    ids, targets = draw_batch(probe)
    given = probe.normal(B, T, V), targets
    below = {"cross_entropy": student.operators("cross_entropy", *given)}

    ran = student.operators("train_step", model, ids, targets, RATE)
    avoids_itself(student, "train_step", READY_LOSS, OWN_LOSS, ran, below)


# train


@check("train", points=0.05, layer="shapes")
def test_training_returns_a_list_of_plain_numbers(student):
    """Each of two batches gives one Python float in the list."""
    model = student.new("nn.Embedding", 5, 5)
    ids = torch.tensor([[0, 1, 2], [3, 4, 0]])
    losses = student.call("train", model, [(ids, ids.flip(1))] * 2, 0.1)

    numbers_in(losses, 2)
    plain = all(isinstance(loss, float) for loss in losses)
    expect(plain, "A loss in the list is not a Python float.", Status.WRONG_TYPE)


@check("train", points=0.25, layer="probe")
def test_training_returns_the_losses_in_order(student, reference, probe):
    """Batches of different sizes give one loss each, in order."""
    yours, ours = both_models(student, reference, probe)
    batches = [draw_batch(probe, items, tokens) for items, tokens in ((B, T), (4, 2), (2, 6))]

    losses = numbers_in(student.call("train", yours, batches, RATE), 3)
    for loss, wanted in zip(losses, reference.call("train", ours, batches, RATE), strict=True):
        number_agrees(loss, wanted, "The loss of a batch")


@check("train", points=0.2, layer="probe")
def test_training_takes_a_step_for_each_batch(student, reference, probe):
    """After batches of different sizes, the parameters are right."""
    yours, ours = both_models(student, reference, probe, 4, 3)
    batches = [
        [draw_ids(probe, items, tokens, vocabulary=4) for _ in range(2)]
        for items, tokens in ((2, 6), (B, T), (5, 1), (1, 3))
    ]

    student.call("train", yours, batches, 0.5)
    reference.call("train", ours, batches, 0.5)
    same_parameters(yours, ours, "After four batches")


@check("train", points=0.05, layer="laws")
def test_training_without_batches_changes_nothing(student, reference, probe):
    """Without batches the list is empty and the model unchanged; one batch changes it."""
    model, _ = both_models(student, reference, probe)
    before = values_of(model)

    numbers_in(student.call("train", model, [], 1.0), 0)
    still = values_of(model)
    for name, value in before.items():
        agrees(still[name], value, f"Without batches, the parameter {name}")
    numbers_in(student.call("train", model, [draw_batch(probe)], 1.0), 1)
    have_moved(moves_of(before, values_of(model)))


@check("train", points=0.1, layer="laws", needs=("train_step",))
def test_training_goes_on_where_it_ended(student, probe):
    """Training on all batches moves a model as a train_step and training on two lists do."""
    once, twice = both_models(student, student, probe)
    batches, before = [draw_batch(probe, items) for items in (B, 2, 4)], values_of(once)

    student.call("train", once, batches, 1.0)
    student.call("train_step", twice, *batches[0], 1.0)  # may leave gradients
    for part in (batches[1:2], batches[2:]):
        student.call("train", twice, part, 1.0)
    have_moved(moves_of(before, values_of(once)))
    same_parameters(twice, once, "After a train_step and two lists", "that of all at once")


@check("train", points=0.1, layer="laws")
def test_later_losses_depend_on_earlier_batches(student, probe):
    """Another first batch changes the loss of the second batch."""
    models = both_models(student, student, probe)
    ids, targets = second = draw_batch(probe)
    first, other = second, (ids, (targets + 1) % V)
    losses = [
        numbers_in(student.call("train", model, [batch, second], RATE), 2)
        for model, batch in zip(models, (first, other), strict=True)
    ]

    changed = abs(losses[0][1] - losses[1][1]) > EFFECT
    expect(changed, "Another first batch does not visibly change the loss of the second one.")


@check("train", points=0.1, layer="laws")
def test_training_on_one_batch_lowers_its_loss(student, reference, probe):
    """Twenty steps on one batch lower its loss with each step."""
    model, _ = both_models(student, reference, probe)
    losses = numbers_in(student.call("train", model, [draw_batch(probe)] * 20, 0.05), 20)

    expect(falls(losses), "The loss of a repeated batch does not fall in each step.")


@check("train", points=0.1, layer="forbidden", rules=("no_ready_optimizer",))
def test_training_needs_no_optimizer(student, reference, probe):
    """The steps are your own, not those of torch.optim."""
    model, _ = both_models(student, reference, probe)

    below = "cross_entropy", "train_step"
    avoids(student, "train", READY_OPTIMIZER, OWN_STEP, below=below)
    student.call("train", model, [draw_batch(probe)], RATE)


@check("train", points=0.05, layer="forbidden", rules=("no_ready_loss",))
def test_training_uses_your_own_loss(student, reference, probe):
    """The losses come from your own steps, not from torch's own loss functions."""
    model, _ = both_models(student, reference, probe)
    batch = draw_batch(probe)
    below = {
        "cross_entropy": student.operators("cross_entropy", probe.normal(B, T, V), batch[1]),
        "train_step": student.operators("train_step", model, *batch, RATE),
    }

    ran = student.operators("train", model, [batch], RATE)
    avoids_itself(student, "train", READY_LOSS, OWN_LOSS, ran, below)
