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
from autograder.suite.compare import (
    agrees,
    alike,
    number,
    number_agrees,
    same_dtype,
    tensor,
    tensor_like,
)
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators
from autograder.suite.student_proxy import RemoteModule, Student

# The arguments of each class; its first check grades their order.
CONSTRUCTORS = {
    "Reader": ("vocab_size", "d_model", "context_length"),
}


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
        "_safe_softmax",
        "_softmax",
        "gumbel_softmax",
        "log_softmax",
        "logsumexp",
        "softmax",
        "softmin",
    }
)
B, T, V, D, CONTEXT = 3, 5, 7, 6, 9
LAYERS = ("W_query", "W_key", "W_value", "out_head")
RATE = 0.3
BY_HAND = "Write the exponentials, their sum and the logarithm yourself."
OWN_LOSS = "In this stage the loss is your own cross_entropy."
OWN_STEP = "Change the parameters yourself: one line for each of them."
OWN_HEAD = "Compute scores, weights and context vectors yourself, as in stage 04."
AT_ONCE = "Use one operation for all tokens at once."


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


def both_readers(student, reference, probe, vocab_size=V, d_model=D, context_length=CONTEXT):
    """Build the student's Reader and the reference, and load the same large weights."""
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
    sizes = (vocab_size, d_model, context_length)
    yours = student.new("Reader", *sizes).load(weights)
    return yours, reference.new("Reader", *sizes).load(weights)


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


def same_parameters(yours, ours, when="After the step"):
    """Compare the parameters of two models."""
    found = yours.parameters()
    for name, parameter in ours.parameters().items():
        expect(name in found, f"{when}, the model has no parameter {name}.")
        agrees(found[name].value, parameter.value, f"{when}, the parameter {name}")


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


def uses_any(student, exercise, names):
    """Return whether the source of *exercise* uses something ready-made.

    If so, only the check of *exercise* takes points, and the exercises that call it keep theirs.
    """
    return any(names.intersection(use.name.split(".")[1:]) for use in student.uses(exercise))


def falls(losses):
    """Return whether each loss is lower than the one before it."""
    return all(later < earlier for earlier, later in pairwise(losses))


# log_softmax


@check("log_softmax", points=0.1, layer="shapes")
def test_log_softmax_keeps_the_shape(student):
    """Logits of shape (2, 4, 5) give logarithms of the same shape."""
    tensor_like(student.call("log_softmax", torch.zeros(2, 4, 5)), (2, 4, 5), "The result")


@check("log_softmax", points=0.2, layer="documented")
def test_log_softmax_gives_the_documented_logarithms(student, documented):
    """Logits computed from six documented probabilities give the documented logarithms."""
    found = student.call("log_softmax", two_classes(documented))

    first = tensor_like(found, (6, 2))[:, 0]
    documented["ch05.log_probas"].matches(first, "The first column of the result")


@check("log_softmax", points=0.3, layer="probe")
def test_log_softmax_of_any_logits(student, reference, probe):
    """For logits with one, two and three axes, each row of the result is right."""
    for shape in ((V,), (5, 3), (B, T, V), (1, 4, 6)):
        logits = probe.normal(*shape, scale=3)

        agrees(student.call("log_softmax", logits), reference.call("log_softmax", logits))


@check("log_softmax", points=0.1, layer="laws")
def test_log_softmax_takes_logits_of_any_size(student, probe):
    """Adding 1000 or -1000 to all logits of a row changes nothing, and the result stays finite."""
    logits = probe.normal(T, V, scale=2)
    logits = (logits * 256).round() / 256  # so that adding 1000 loses no digit
    wanted = tensor_like(student.call("log_softmax", logits), (T, V))
    expect(alike(wanted.exp().sum(dim=-1), torch.ones(T)), "The probabilities do not sum to one.")

    moved = logits + torch.tensor([1000.0, -1000.0, 0.0, 500.0, 90.0]).unsqueeze(-1)
    agrees(student.call("log_softmax", moved), wanted, "With large logits, the result")
    far = torch.tensor([[1000.0, -1000.0, 1000.0], [-1000.0, 0.0, -1000.0]])
    right = torch.tensor([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    found = tensor_like(student.call("log_softmax", far), (2, 3))
    expect(found.isfinite().all(), "For logits of 1000 and -1000 the result is not finite.")
    agrees(found.exp(), right, "For logits of 1000 and -1000, the exponential of the result")


@check("log_softmax", points=0.1, layer="laws", rules=("dtype", "inputs_unchanged"))
def test_log_softmax_keeps_dtype_and_logits(keeps_dtype, student, reference, probe):
    """In float64 the result is float64, and the caller's logits stay as they are."""
    logits = probe.normal(T, V)

    keeps_dtype("log_softmax", logits)
    agrees(student.call("log_softmax", logits), reference.call("log_softmax", logits))
    kept = student.keeps_inputs("log_softmax", logits)
    expect(kept, "log_softmax changes the logits that you pass to it.")


@check("log_softmax", points=0.1, layer="gradients", rules=("gradients",))
def test_log_softmax_passes_gradients_back(student, reference, probe):
    """The gradients of the logits are right."""
    logits, back = probe.normal(B, T, V, scale=2), probe.normal(B, T, V)

    same_gradients(
        student.gradients("log_softmax", logits, cotangent=back),
        reference.gradients("log_softmax", logits, cotangent=back),
    )


@check("log_softmax", points=0.1, layer="forbidden", rules=("no_ready_softmax",))
def test_log_softmax_is_written_out(student, reference, probe):
    """The result comes from exponentials, not from torch's own softmax or logsumexp."""
    logits = probe.normal(T, V)

    agrees(student.call("log_softmax", logits), reference.call("log_softmax", logits))
    avoids(student, "log_softmax", READY_SOFTMAX, BY_HAND)
    avoids_running(student.operators("log_softmax", logits), READY_SOFTMAX, BY_HAND)


# cross_entropy


@check("cross_entropy", points=0.1, layer="shapes")
def test_loss_is_one_number(student):
    """Logits of shape (5, 3) give a scalar loss, and so does a (2, 4, 3) batch of logits."""
    one_row = student.call("cross_entropy", torch.zeros(5, 3), torch.zeros(5).long())
    batch = student.call("cross_entropy", torch.zeros(2, 4, 3), torch.zeros(2, 4).long())

    tensor_like(one_row, (), "The loss of (5, 3) logits")
    tensor_like(batch, (), "The loss of (2, 4, 3) logits")


@check("cross_entropy", points=0.3, layer="documented")
def test_loss_of_the_documented_probabilities(student, documented):
    """Six documented probabilities of the right tokens give the documented loss, 10.7940."""
    loss = student.call("cross_entropy", two_classes(documented), torch.zeros(6).long())

    documented["ch05.loss"].matches(loss, "The loss")


@check("cross_entropy", points=0.4, layer="documented")
def test_loss_of_the_documented_bigram_model(student, documented):
    """The logits of a bigram model drawn with seed 1337 give the documented loss, 4.8786."""
    ids, targets = (documented[f"gptdev.{name}"].tensor for name in ("ids", "targets"))

    loss = student.call("cross_entropy", bigram_logits(ids), targets)
    documented["gptdev.bigram.loss"].matches(loss, "The loss of (4, 8, 65) logits")


@check("cross_entropy", points=0.2, layer="documented")
def test_loss_of_a_guess_that_knows_nothing(student, documented):
    """Rows of 65 equal logits give a loss of log 65 for any targets."""
    targets = documented["gptdev.targets"].tensor

    loss = student.call("cross_entropy", torch.full((4, 8, 65), 0.7), targets)
    documented["gptdev.uniform_loss"].matches(loss, "The loss of equal logits")


@check("cross_entropy", points=0.3, layer="probe")
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


@check("cross_entropy", points=0.3, layer="probe")
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


@check("cross_entropy", points=0.1, layer="laws")
def test_loss_depends_on_differences_of_logits_only(student, reference, probe):
    """Adding a number to all logits of a row, or reordering the rows, does not change the loss."""
    logits, targets = probe.normal(8, V, scale=2), draw_ids(probe, 8)
    wanted = reference.call("cross_entropy", logits, targets)
    order = probe.uniform(8).argsort()

    shifted = logits + probe.normal(8, 1, scale=5)
    agrees(student.call("cross_entropy", shifted, targets), wanted, "With shifted logits, the loss")
    loss = student.call("cross_entropy", logits[order], targets[order])
    agrees(loss, wanted, "With reordered rows, the loss")


@check("cross_entropy", points=0.1, layer="laws")
def test_loss_of_large_logits_is_finite(student):
    """With logits of 1000 and -1000, right predictions have loss 0, and wrong ones 2000."""
    logits = torch.tensor([[1000.0, -1000.0, -1000.0], [-1000.0, -1000.0, 1000.0]])

    for targets, wanted in (([0, 2], 0.0), ([1, 2], 1000.0), ([1, 0], 2000.0)):
        loss = student.call("cross_entropy", logits, torch.tensor(targets))
        agrees(loss, torch.tensor(wanted), "The loss of large logits")


@check("cross_entropy", points=0.1, layer="laws", rules=("refuses",))
def test_loss_refuses_targets_of_another_shape(student, reference, probe):
    """Targets whose shape does not match the logits raise an error; matching targets do not."""
    logits, targets = probe.normal(4, 6, V), draw_ids(probe, 4, 6)
    agrees(
        student.call("cross_entropy", logits, targets),
        reference.call("cross_entropy", logits, targets),
        "The loss",
    )

    for shape in ((4, 5), (3, 6), (6, 4), (24,), (4,), (4, 6, 1), (1, 6)):
        refused = student.refuses("cross_entropy", logits, draw_ids(probe, *shape))
        sentence = "Targets of the wrong shape give a loss; they should raise a ValueError."
        expect(refused, sentence, Status.NOT_REFUSED)


@check("cross_entropy", points=0.1, layer="laws", rules=("dtype",))
def test_loss_keeps_the_dtype(student, probe):
    """For float64 logits the loss is float64, and for float32 logits it is float32."""
    logits, targets = probe.normal(5, V), draw_ids(probe, 5)

    for dtype in (torch.float64, torch.float32):
        loss = student.call("cross_entropy", logits.to(dtype), targets)
        same_dtype(tensor_like(loss, (), "The loss"), dtype, "The loss")


@check("cross_entropy", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_loss_leaves_its_arguments_alone(student, reference, probe):
    """The loss is right, and logits and targets are unchanged."""
    logits, targets = probe.normal(B, T, V), draw_ids(probe, B, T)

    agrees(
        student.call("cross_entropy", logits, targets),
        reference.call("cross_entropy", logits, targets),
        "The loss",
    )
    kept = student.keeps_inputs("cross_entropy", logits, targets)
    expect(kept, "cross_entropy changes the logits or the targets that you pass to it.")


@check("cross_entropy", points=0.3, layer="gradients", rules=("gradients",))
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
def test_loss_is_written_out(student, reference, probe):
    """The loss comes from your own steps, not from torch's own loss or softmax."""
    logits, targets = probe.normal(B, T, V), draw_ids(probe, B, T)

    agrees(
        student.call("cross_entropy", logits, targets),
        reference.call("cross_entropy", logits, targets),
        "The loss",
    )
    below = uses_any(student, "log_softmax", READY_SOFTMAX)
    names = READY_LOSS if below else READY_LOSS | READY_SOFTMAX
    avoids(student, "cross_entropy", names, BY_HAND)
    avoids_running(student.operators("cross_entropy", logits, targets), names, BY_HAND)


# Reader


@check("Reader", points=0.1, layer="signature")
def test_reader_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes vocab_size, d_model and context_length."""
    reader = student.new("Reader", vocab_size=5, d_model=3, context_length=4)

    tensor_like(reader(torch.zeros(2, 4).long()), (2, 4, 5), "The result for (2, 4) ids")


@check("Reader", points=0.2, layer="shapes")
def test_reader_guesses_at_each_position(student):
    """A (2, 6) batch of ids gives (2, 6, 10) logits."""
    logits = student.new("Reader", 10, 3, 8)(torch.arange(12).view(2, 6) % 10)

    tensor_like(logits, (2, 6, 10), "Reader(10, 3, 8)(ids)")


@check("Reader", points=0.4, layer="parameters")
def test_reader_draws_its_layers_in_order(student, reference, probe):
    """For several sizes, the six layers are created in the order of the docstring."""
    for sizes in ((V, D, CONTEXT), (11, 5, 3)):
        found = student.new("Reader", *sizes, seed=probe.seed).parameters()
        drawn = reference.new("Reader", *sizes, seed=probe.seed).parameters()

        for name, parameter in drawn.items():
            expect(name in found, f"Reader has no parameter {name}.")
            agrees(found[name].value, parameter.value, name)


@check("Reader", points=0.1, layer="parameters")
def test_reader_has_no_bias(student):
    """Each of the four linear layers has a weight and no bias."""
    found = student.new("Reader", V, D, CONTEXT).parameters()

    for layer in LAYERS:
        expect(f"{layer}.weight" in found, f"Reader has no parameter {layer}.weight.")
        expect(f"{layer}.bias" not in found, f"{layer} has a bias; it should have none.")


@check("Reader", points=0.1, layer="parameters")
def test_reader_trains_all_its_parameters(student, reference):
    """All six parameters are trained, and there are no others."""
    found = student.new("Reader", V, D, CONTEXT).parameters()

    for name in reference.new("Reader", V, D, CONTEXT).parameters():
        expect(name in found, f"Reader has no parameter {name}.")
        expect(found[name].requires_grad, f"{name} is not trained: requires_grad is False.")
    expect(len(found) == 6, "Reader has more parameters than the six of the docstring.")


@check("Reader", points=0.3, layer="documented")
def test_reader_draws_the_documented_embedding(student, documented):
    """With seed 123, tok_emb of Reader(6, 3, 4) is the documented embedding layer."""
    found = student.new("Reader", 6, 3, 4, seed=123).parameters()

    expect("tok_emb.weight" in found, "Reader has no parameter tok_emb.weight.")
    documented["ch02.embedding.weight"].matches(found["tok_emb.weight"].value, "tok_emb.weight")


@check("Reader", points=0.2, layer="documented")
def test_reader_looks_up_the_documented_vectors(student, documented):
    """The tokens 2, 3, 5 and 1, each alone in its text, give the documented vectors.

    In this check, all other layers return their inputs unchanged.
    """
    reader = student.new("Reader", 6, 3, 4, seed=123).load(
        {
            "pos_emb.weight": torch.zeros(4, 3),
            "W_value.weight": torch.eye(3),
            "out_head.weight": torch.eye(6, 3),
        }
    )
    logits = tensor_like(reader(torch.tensor([[2], [3], [5], [1]])), (4, 1, 6), "The result")

    vectors = logits[:, 0, :3]
    documented["ch02.embedding.of_ids"].matches(vectors, "The result for the four tokens")


@check("Reader", points=0.7, layer="probe")
def test_reader_reads_with_any_weights(student, reference, probe):
    """For several weights, sizes and batches, the logits are right."""
    for sizes, items, tokens in (
        ((V, D, CONTEXT), B, T),
        ((5, 3, 8), 2, 6),
        ((4, 7, 10), 5, 3),
    ):
        yours, ours = both_readers(student, reference, probe, *sizes)
        ids = draw_ids(probe, items, tokens, vocabulary=sizes[0])

        agrees(yours(ids), ours(ids), "The logits")


@check("Reader", points=0.4, layer="probe")
def test_reader_serves_every_length_in_turn(student, reference, probe):
    """One module reads long texts, short texts and single tokens one after the other."""
    yours, ours = both_readers(student, reference, probe)
    ids = draw_ids(probe, 4, CONTEXT)

    for tokens, items in ((CONTEXT, 4), (1, 2), (T, 3), (1, 1), (CONTEXT, 2), (2, 4)):
        part = ids[:items, :tokens].contiguous()
        agrees(yours(part), ours(part), "The logits")


@check("Reader", points=0.1, layer="laws", rules=("dtype",))
def test_reader_keeps_the_dtype(student, probe):
    """A float64 module gives float64 logits, and a float32 module gives float32 logits."""
    reader, ids = student.new("Reader", V, D, CONTEXT), draw_ids(probe, B, T)

    for dtype in ("float64", "float32"):
        reader.move(dtype)
        logits = tensor_like(reader(ids), (B, T, V), "The result")
        same_dtype(logits, getattr(torch, dtype), f"The result of a module in {dtype}")


@check("Reader", points=0.1, layer="laws")
def test_reader_needs_positions_to_know_the_order(student, probe):
    """Reordered tokens give reordered logits with equal position vectors, but not otherwise."""
    reader = student.new("Reader", V, D, T).load(
        probe.weights(pos_emb__weight=(T, D), W_query__weight=(D, D), W_value__weight=(D, D))
    )
    ids, order = torch.arange(T).unsqueeze(0), torch.tensor([3, 0, 4, 1, 2])
    with_positions = [
        tensor_like(reader(one), (1, T, V), "The result") for one in (ids, ids[:, order])
    ]
    reader.load({"pos_emb.weight": torch.zeros(T, D)})
    without = [tensor_like(reader(one), (1, T, V), "The result") for one in (ids, ids[:, order])]

    expect(
        alike(without[0][:, order], without[1]),
        "With equal vectors for all positions, the order of the tokens still changes their logits.",
    )
    expect(
        not alike(with_positions[0][:, order], with_positions[1]),
        "With different vectors for the positions, the order of the tokens changes nothing.",
    )


@check("Reader", points=0.1, layer="laws")
def test_reader_reads_each_item_alone(student, reference, probe):
    """The logits of an item are the same alone and in a batch."""
    yours, ours = both_readers(student, reference, probe)
    ids = draw_ids(probe, B, T)
    together = tensor_like(yours(ids), (B, T, V), "The result")

    agrees(together, ours(ids), "The logits")
    for item in range(B):
        agrees(yours(ids[item : item + 1]), together[item : item + 1], "One item alone")


@check("Reader", points=0.1, layer="laws", rules=("refuses",))
def test_reader_refuses_a_text_that_is_too_long(student, probe):
    """A text longer than context_length raises an error; one of context_length tokens does not."""
    reader = student.new("Reader", V, D, 6)
    tensor_like(reader(draw_ids(probe, 2, 6)), (2, 6, V), "The result for 6 ids")

    for tokens in (7, 9):
        refused = reader.refuses(draw_ids(probe, 2, tokens))
        sentence = "More tokens than context_length give logits; they should raise a ValueError."
        expect(refused, sentence, Status.NOT_REFUSED)


@check("Reader", points=0.1, layer="laws", rules=("no_seeding",))
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


@check("Reader", points=0.3, layer="gradients", rules=("gradients",))
def test_reader_can_be_trained(student, reference, probe):
    """The gradients of the weights of all six layers are right."""
    yours, ours = both_readers(student, reference, probe)
    ids, back = draw_ids(probe, B, T), probe.normal(B, T, V)

    same_gradients(yours.gradients(ids, cotangent=back), ours.gradients(ids, cotangent=back))


@check("Reader", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_reader_attends_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = both_readers(student, reference, probe)
    ids = draw_ids(probe, B, T)

    agrees(yours(ids), ours(ids), "The logits")
    avoids(student, "Reader", READY_ATTENTION, OWN_HEAD)
    avoids_running(yours.operators(ids), READY_ATTENTION, OWN_HEAD)


@check("Reader", points=0.1, layer="forbidden", rules=("no_loops",))
def test_reader_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    yours, ours = both_readers(student, reference, probe)
    few, many = draw_ids(probe, B, 4), draw_ids(probe, B, CONTEXT)

    agrees(yours(many), ours(many), "The logits")
    keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)


# train_step


@check("train_step", points=0.1, layer="shapes")
def test_step_returns_a_plain_number(student):
    """The loss is returned as a Python float, and the parameters keep their shapes."""
    model = student.new("nn.Embedding", 5, 5)
    ids = torch.tensor([[0, 1, 2], [3, 4, 0]])
    loss = student.call("train_step", model, ids, ids.flip(1), 0.1)

    number(loss, "The loss")
    expect(isinstance(loss, float), "The loss is not a Python float.", Status.WRONG_TYPE)
    expect(model.shapes() == {"weight": (5, 5)}, "The step changes the shape of a parameter.")


@check("train_step", points=0.4, layer="probe")
def test_step_moves_each_parameter_against_its_gradient(student, reference, probe):
    """For several models, batches and rates, each parameter becomes p - rate · gradient."""
    for vocabulary, features, rate in ((V, D, RATE), (4, 3, 1.7)):
        yours, ours = both_models(student, reference, probe, vocabulary, features)
        ids, targets = (draw_ids(probe, B, T, vocabulary=vocabulary) for _ in range(2))

        student.call("train_step", yours, ids, targets, rate)
        reference.call("train_step", ours, ids, targets, rate)
        same_parameters(yours, ours)


@check("train_step", points=0.2, layer="probe")
def test_step_returns_the_loss_before_it(student, reference, probe):
    """The returned loss is the one before the step."""
    yours, ours = both_models(student, reference, probe)
    batch = draw_batch(probe)

    number_agrees(
        student.call("train_step", yours, *batch, RATE),
        reference.call("train_step", ours, *batch, RATE),
        "The loss before the step",
    )


@check("train_step", points=0.3, layer="probe")
def test_step_forgets_the_gradients_of_the_last_one(student, reference, probe):
    """After three steps with different batches and rates, the parameters are right."""
    yours, ours = both_models(student, reference, probe)

    for rate, items in ((RATE, B), (0.5, 4), (0.1, 2)):
        batch = draw_batch(probe, items)
        student.call("train_step", yours, *batch, rate)
        reference.call("train_step", ours, *batch, rate)
    same_parameters(yours, ours, "After three steps")


@check("train_step", points=0.2, layer="laws")
def test_step_leaves_alone_what_is_not_trained(student, reference, probe):
    """A frozen parameter does not change, nor does one that the loss does not depend on."""
    table, spare, weight = probe.normal(V, D), probe.normal(3), probe.normal(V, D)
    batch, models = draw_batch(probe), []
    for side in (student, reference):
        frozen = side.new("nn.Embedding.from_pretrained", table)
        model = side.new("nn.Sequential", frozen, side.new("nn.Linear", D, V, bias=False))
        model.load({"1.weight": weight}).replace({"spare": spare})
        side.call("train_step", model, *batch, RATE)
        models.append(model)

    yours, ours = models
    same_parameters(yours, ours)
    frozen = not yours.parameters()["0.weight"].requires_grad
    expect(frozen, "The step makes a frozen parameter trainable.")


@check("train_step", points=0.1, layer="laws")
def test_step_at_rate_zero_changes_nothing(student, reference, probe):
    """At rate 0 the parameters do not change, and the loss is still returned."""
    yours, ours = both_models(student, reference, probe)
    batch = draw_batch(probe)

    for _ in range(2):
        loss = student.call("train_step", yours, *batch, 0.0)
        number_agrees(loss, reference.call("train_step", ours, *batch, 0.0), "The loss")
    same_parameters(yours, ours, "After steps at rate 0")


@check("train_step", points=0.1, layer="laws")
def test_steps_lower_the_loss_of_a_repeated_batch(student, probe, reference):
    """When one batch is repeated, the loss falls with each step."""
    yours, _ = both_models(student, reference, probe)
    batch = draw_batch(probe)
    losses = [number(student.call("train_step", yours, *batch, 0.05)) for _ in range(6)]

    expect(falls(losses), "The loss of a repeated batch does not fall.")


@check("train_step", points=0.1, layer="laws")
def test_second_step_takes_its_own_gradient(student, reference, probe):
    """Two steps differ from one step at twice the rate, and two models do not affect each other."""
    (yours, ours), (other, _) = (both_models(student, reference, probe) for _ in range(2))
    batch, (ids, targets) = draw_batch(probe), draw_batch(probe, 4)

    for _ in range(2):
        student.call("train_step", yours, *batch, RATE)
        student.call("train_step", other, ids, targets, RATE)
        reference.call("train_step", ours, *batch, RATE)
    same_parameters(yours, ours, "After two steps")


@check("train_step", points=0.1, layer="laws", rules=("dtype",))
def test_step_keeps_the_dtype(student, reference, probe):
    """A float64 model stays in float64, a float32 model in float32, and the step is right."""
    for dtype in ("float64", "float32"):
        yours, ours = both_models(student, reference, probe)
        batch = draw_batch(probe)
        yours.move(dtype)

        student.call("train_step", yours, *batch, RATE)
        reference.call("train_step", ours, *batch, RATE)
        found = yours.parameters()
        for name, parameter in ours.parameters().items():
            expect(name in found, f"After the step, the model has no parameter {name}.")
            what = f"The parameter {name} of a {dtype} model"
            same_dtype(found[name].value, getattr(torch, dtype), what)
            agrees(found[name].value.float(), parameter.value, f"The parameter {name}")


@check("train_step", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_step_leaves_its_batch_alone(student, reference, probe):
    """The step is right, and ids and targets are unchanged."""
    yours, ours = both_models(student, reference, probe)
    batch = draw_batch(probe)

    kept = student.keeps_inputs("train_step", yours, *batch, RATE)
    reference.call("train_step", ours, *batch, RATE)
    same_parameters(yours, ours)
    expect(kept, "train_step changes the ids or the targets that you pass to it.")


@check("train_step", points=0.2, layer="forbidden", rules=("no_ready_optimizer",))
def test_step_needs_no_optimizer(student, reference, probe):
    """The parameters are changed by your own code, not by torch.optim."""
    yours, ours = both_models(student, reference, probe)
    batch = draw_batch(probe)

    student.call("train_step", yours, *batch, RATE)
    reference.call("train_step", ours, *batch, RATE)
    same_parameters(yours, ours)
    avoids(student, "train_step", READY_OPTIMIZER, OWN_STEP)


@check("train_step", points=0.1, layer="forbidden", rules=("no_ready_loss",))
def test_step_uses_your_own_loss(student, reference, probe):
    """The loss comes from your own steps, not from torch's own loss functions."""
    yours, ours = both_models(student, reference, probe)
    batch = draw_batch(probe)

    loss = student.call("train_step", yours, *batch, RATE)
    number_agrees(loss, reference.call("train_step", ours, *batch, RATE), "The loss")
    names = frozenset() if uses_any(student, "cross_entropy", READY_LOSS) else READY_LOSS
    avoids(student, "train_step", names, OWN_LOSS)
    avoids_running(student.operators("train_step", yours, *batch, RATE), names, OWN_LOSS)


# train


@check("train", points=0.3, layer="probe")
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


@check("train", points=0.1, layer="laws")
def test_training_without_batches_changes_nothing(student, reference, probe):
    """Without batches the list is empty and the model unchanged; one batch gives one loss."""
    yours, ours = both_models(student, reference, probe)

    numbers_in(student.call("train", yours, [], RATE), 0)
    same_parameters(yours, ours, "Without batches")
    numbers_in(student.call("train", yours, [draw_batch(probe)], RATE), 1)


@check("train", points=0.1, layer="laws")
def test_training_goes_on_where_it_ended(student, reference, probe):
    """Training on two lists of batches gives the same result as training on one joined list."""
    yours, ours = both_models(student, reference, probe)
    batches = [draw_batch(probe, items) for items in (B, 2, 4)]

    first = numbers_in(student.call("train", yours, batches[:1], RATE), 1)
    rest = numbers_in(student.call("train", yours, batches[1:], RATE), 2)
    wanted = reference.call("train", ours, batches, RATE)
    agrees(torch.tensor(first + rest), torch.tensor(wanted), "The losses of two lists")
    same_parameters(yours, ours, "After two lists")


@check("train", points=0.1, layer="laws")
def test_training_on_one_batch_lowers_its_loss(student, reference, probe):
    """Twenty steps on one batch lower its loss with each step."""
    yours, _ = both_models(student, reference, probe)
    losses = numbers_in(student.call("train", yours, [draw_batch(probe)] * 20, 0.05), 20)

    expect(falls(losses), "The loss of a repeated batch does not fall.")


@check("train", points=0.2, layer="laws", rules=("no_ready_optimizer",))
def test_training_needs_no_optimizer(student, reference, probe):
    """The steps are your own, not those of torch.optim."""
    yours, ours = both_models(student, reference, probe)
    batches = [draw_batch(probe), draw_batch(probe, 2)]

    student.call("train", yours, batches, RATE)
    reference.call("train", ours, batches, RATE)
    same_parameters(yours, ours, "After two batches")
    if not uses_any(student, "train_step", READY_OPTIMIZER):
        avoids(student, "train", READY_OPTIMIZER, OWN_STEP)
