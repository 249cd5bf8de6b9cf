"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, number, number_agrees, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids_itself, keeps_lookups


@pytest.fixture
def inputs(documented: DocumentedTensors) -> Tensor:
    """Return "Your journey starts with one step", one embedding per row: (6, 3)."""
    return documented["000.inputs"].tensor.clone()


@pytest.fixture
def encodings(documented: DocumentedTensors) -> Tensor:
    """Return the three token encodings of document 001: (3, 2)."""
    return documented["001.encodings"].tensor.clone()


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
HEADS = "MultiHeadCrossAttention"
ENCODER = "EncoderBlock"
DECODER = "DecoderBlock"
LOSS = "smoothed_cross_entropy"
GREEDY = "greedy_translate"
QKV = ("W_query", "W_key", "W_value")
LACKS = ("out_proj.bias", "att.out_proj.bias", "self_att.out_proj.bias", "cross_att.out_proj.bias")
PRE_NORM, POST_NORM = True, False
NO_BIAS = False
LAYER_EPS = 1e-5
EFFECT = 0.01  # far above float32 noise; the changes that the laws make have larger effects
CLEAR = 0.02  # the smallest distance of the two largest logits where an id is compared
NEVER = -40.0  # a logit of an id that is not chosen
CANDIDATES = 120  # items that are drawn to find three that end at different steps
WITHOUT_GRAPH = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
OWN_LOSS = "In this exercise you write the loss yourself, from log-probabilities."
ONCE = "Encode the source before the loop, and pass the memory to each step."


def differs(one, other):
    """Return whether two results of the same shape differ much more than float32 noise."""
    apart = (one.double() - other.double()).abs()
    return bool(apart.numel()) and not bool(apart.max() <= EFFECT)


def has_effect(before, after, what, on=""):
    """Fail the check if a change of *what* has left a result as it was."""
    expect(differs(before, after), f"A change of {what} has little or no effect{on}.")


def changes_all_rows(before, after, what):
    """Fail the check if *what* has left a token's result as it was."""
    rows = zip(before.flatten(0, -2), after.flatten(0, -2), strict=True)
    expect(all(differs(*pair) for pair in rows), f"{what} has little or no effect on some token.")


def result_of(module, x, *more):
    """Return the result of a module that keeps the shape of its first input."""
    found = tensor_like(module(x, *more), tuple(x.shape), "The result")
    expect(found.is_floating_point(), "The result has the wrong dtype.", Status.WRONG_TYPE)
    return found


def is_refused(refused, what):
    """Fail the check if a wrong argument is accepted."""
    sentence = f"{what} gives a result; it should raise a ValueError."
    expect(refused, sentence, Status.NOT_REFUSED)


def named(module, wanted, sentence, when=""):
    """Fail the check unless *module* has exactly the parameters *wanted*, with these shapes.

    *when* is the condition, if it matters.
    """
    found = module.shapes()
    for name, shape in wanted.items():
        expect(name in found, f"torch lists no parameter {name}{when}.")
        what = f"{name}{when} has shape {found[name]}; it should have {shape}."
        expect(found[name] == shape, f"{name}{when} has the wrong shape.", message=what)
    more = sorted(set(found) - set(wanted))
    expect(not more, sentence, message=f"{sentence} Found: {', '.join(more)}.")


def drawn_alike(yours, ours):
    """Compare the parameters of two modules that were built with the same seed."""
    wanted = ours.parameters()
    found = yours.named(*wanted)
    for name, parameter in wanted.items():
        agrees(found[name].value, parameter.value, f"{name} right after construction")
        expect(found[name].requires_grad, f"{name} is not trainable.")


def same_gradients(yours, ours, *sources, when=""):
    """Compare the gradients of the inputs, named by *sources*, and of the parameters."""
    mine = dict(zip(sources, yours.inputs, strict=False)) | yours.parameters
    wanted = dict(zip(sources, ours.inputs, strict=False)) | ours.parameters
    for name, gradient in wanted.items():
        found = mine.get(name)
        expect(found is not None, f"No gradient reaches {name}{when}.")
        agrees(found, gradient, f"The gradient of {name}{when}")


def keeps_precision(module, *given):
    """Fail the check unless the result has the dtype of the features; a mask stays bool."""
    for dtype, name in ((torch.float64, "float64"), (torch.float32, "float32")):
        module.move(name)
        moved = [one if one.dtype is torch.bool else one.to(dtype) for one in given]
        same_dtype(tensor(module(*moved)), dtype, f"The result for {name} inputs")


def leaves_the_seed(student, module, *given):
    """Fail the check if a call of *module* sets torch's seed."""
    drawn = []
    for seed in (5, 6):
        module(*given, seed=seed)
        drawn.append(student.draws_next())
    same = torch.equal(*drawn)
    expect(not same, "After a call, the random numbers no longer depend on the seed.")


def drawn_weights(probe, shapes):
    """Draw weights of these shapes, so that every layer gives results of variance 1."""
    weights = {}
    for name, shape in shapes.items():
        drawn = probe.normal(*shape)
        if name.endswith("scale"):
            drawn = drawn.sign() * (0.5 + probe.uniform(*shape))
        elif name.endswith("weight") and "emb" not in name and "pos" not in name:
            drawn = drawn * shape[-1] ** -0.5
        weights[name] = drawn
    return weights


def heads_shapes(d_model, prefix="", *, qkv_bias=False):
    """Return the shapes of the parameters of the attention at *prefix*."""
    shapes = {f"{prefix}{name}.weight": (d_model, d_model) for name in (*QKV, "out_proj")}
    biased = (*QKV, "out_proj") if qkv_bias else ("out_proj",)
    return shapes | {f"{prefix}{name}.bias": (d_model,) for name in biased}


def norm_shapes(d_model, prefix=""):
    """Return the shapes of the parameters of the LayerNorm at *prefix*."""
    return {f"{prefix}scale": (d_model,), f"{prefix}shift": (d_model,)}


def ff_shapes(d_model, hidden, prefix=""):
    """Return the shapes of the parameters of the FeedForward at *prefix*."""
    return {
        f"{prefix}linear1.weight": (hidden, d_model),
        f"{prefix}linear1.bias": (hidden,),
        f"{prefix}linear2.weight": (d_model, hidden),
        f"{prefix}linear2.bias": (d_model,),
    }


ATTENTIONS = {ENCODER: ("att",), DECODER: ("self_att", "cross_att")}
NORMS = {ENCODER: ("norm1", "norm2"), DECODER: ("norm1", "norm2", "norm3")}


def block_shapes(name, d_model, hidden, prefix="", *, qkv_bias=False):
    """Return the shapes of the parameters of the block *name* at *prefix*."""
    shapes = ff_shapes(d_model, hidden, f"{prefix}ff.")
    for part in ATTENTIONS[name]:
        shapes |= heads_shapes(d_model, f"{prefix}{part}.", qkv_bias=qkv_bias)
    for part in NORMS[name]:
        shapes |= norm_shapes(d_model, f"{prefix}{part}.")
    return shapes


def padding_mask(*lengths, longest=None):
    """Return a mask (B, T) that is true at the first tokens of each row, as many as its length."""
    return torch.arange(longest or max(lengths)) < torch.tensor(lengths)[:, None]


def draw_ids(probe, B, T, V, first=0):
    """Draw token ids from *first* to V - 1."""
    return first + (probe.uniform(B, T) * (V - first)).long()


def draw_lists(probe, lengths, V, first=1):
    """Draw lists of ids from *first* to V - 1, one for each of the *lengths*."""
    return [draw_ids(probe, 1, length, V, first)[0].tolist() for length in lengths]


def draw_lengths(probe, B=4, shortest=2):
    """Draw *B* different lengths; the longest one is not the first."""
    longest = shortest + B + probe.number % 5
    return [longest - 1 - probe.number % 2, *range(shortest, shortest + B - 2), longest]


def both(student, reference, probe, name, *sizes):
    """Build the student's module and the reference module, with the same drawn weights."""
    ours = reference.new(name, *sizes)
    weights = drawn_weights(probe, ours.shapes())
    return student.new(name, *sizes).load(weights), ours.load(weights)


def treats_tokens_apart(module, x):
    """Fail the check unless a token of a batch gets the result that it gets alone."""
    together = result_of(module, x)
    alone = result_of(module, x[1:2, 2:3].contiguous())
    agrees(alone, together[1:2, 2:3], "The result of a token alone")
    expect(differs(together[0, 0], together[1, 2]), "Two different tokens hardly differ.")
    expect(differs(together, x), "The result hardly differs from the input.")


# LayerNorm


@check("LayerNorm", points=0, layer="probe")
def test_layer_norm_still_normalizes(student, reference, probe):
    """The copied class gives the right results, even for small features or a different eps."""
    for shape, eps, size in (
        ((3, 5, 7), LAYER_EPS, 2.3),
        ((4, 6), 0.5, 1.2),
        ((2, 8), LAYER_EPS, 0.004),
    ):
        yours, ours = both(student, reference, probe, "LayerNorm", shape[-1], eps)
        x = size * probe.normal(*shape) + size

        agrees(yours(x), ours(x), "The result of LayerNorm")


@check("LayerNorm", points=0, layer="laws")
def test_layer_norm_still_gives_mean_0_and_variance_1(student, probe):
    """With a scale of 1 and a shift of 0, each token gets features with mean 0 and variance 1."""
    plain = {"scale": torch.ones(8), "shift": torch.zeros(8)}
    result = result_of(student.new("LayerNorm", 8).load(plain), 3.0 * probe.normal(3, 5, 8) + 2.0)

    agrees(result.mean(dim=-1), torch.zeros(3, 5), "The means of the tokens' features")
    agrees(result.square().mean(dim=-1), torch.ones(3, 5), "The variances of the tokens' features")


@check("LayerNorm", points=0, layer="laws")
def test_layer_norm_still_treats_each_token_alone(student, probe):
    """A token gets the same result alone and in a batch, and other tokens get other results."""
    norm = student.new("LayerNorm", 8).load(drawn_weights(probe, norm_shapes(8)))

    treats_tokens_apart(norm, 3.0 * probe.normal(3, 5, 8) + 2.0)


@check("LayerNorm", points=0, layer="laws")
def test_layer_norm_still_scales_and_then_shifts(student, probe):
    """The result is that of a scale of 1 and a shift of 0, times scale, plus shift."""
    weights, x = drawn_weights(probe, norm_shapes(8)), 3.0 * probe.normal(3, 5, 8) + 2.0
    plain = {"scale": torch.ones(8), "shift": torch.zeros(8)}

    normalized, result = (
        result_of(student.new("LayerNorm", 8).load(one), x) for one in (plain, weights)
    )
    agrees(result, normalized * weights["scale"] + weights["shift"], "The result")
    has_effect(normalized, result, "scale and shift")


# FeedForward


@check("FeedForward", points=0, layer="probe")
def test_feed_forward_still_transforms(student, reference, probe):
    """The copied class gives the right results with GELU and with ReLU."""
    for d_model, hidden, activation in ((4, 7, "gelu"), (5, 9, "relu"), (3, 8, "gelu")):
        yours, ours = both(student, reference, probe, "FeedForward", d_model, hidden, activation)
        x = 1.4 * probe.normal(3, 6, d_model)

        agrees(yours(x), ours(x), f"The result of FeedForward with {activation}")


@check("FeedForward", points=0, layer="laws")
def test_feed_forward_still_treats_each_token_alone(student, probe):
    """A token gets the same result alone and in a batch, and other tokens get other results."""
    network = student.new("FeedForward", 4, 7, "relu").load(drawn_weights(probe, ff_shapes(4, 7)))

    treats_tokens_apart(network, 1.4 * probe.normal(2, 5, 4))


@check("FeedForward", points=0, layer="laws")
def test_feed_forward_still_ends_with_its_second_layer(student, probe):
    """Twice the weight and bias of linear2 give twice the result."""
    weights, x = drawn_weights(probe, ff_shapes(4, 7)), 1.4 * probe.normal(2, 5, 4)
    twice = {name: 2 * one if "linear2" in name else one for name, one in weights.items()}

    before, after = (
        result_of(student.new("FeedForward", 4, 7, "gelu").load(one), x) for one in (weights, twice)
    )
    agrees(after, 2 * before, "The result of a doubled second layer")
    has_effect(before, after, "linear2")


@check("FeedForward", points=0, layer="laws")
def test_feed_forward_still_drops_negative_features(student, probe):
    """If all hidden features are far below 0, the result is the bias of linear2."""
    weights, x = drawn_weights(probe, ff_shapes(4, 7)), probe.normal(2, 5, 4, scale=0.5)
    weights["linear1.bias"] = -8.0 - probe.uniform(7)

    for activation in ("gelu", "relu"):
        result = student.new("FeedForward", 4, 7, activation).load(weights)(x)
        what = f"The result with {activation}"
        agrees(result, weights["linear2.bias"].expand(2, 5, 4), what)


def two_of(answer, names, shape):
    """Return the two tensors of an answer, both of *shape*."""
    what = f"The result is not a pair of tensors: {names[0]} and {names[1]}."
    expect(isinstance(answer, (tuple, list)) and len(answer) == 2, what, Status.WRONG_TYPE)
    return tuple(
        tensor_like(one, shape, f"The tensor of {name}")
        for one, name in zip(answer, names, strict=True)
    )


def padded(student, sequences, *options):
    """Return the ids and the mask that pad_batch gives for *sequences*."""
    shape = (len(sequences), max(map(len, sequences)))
    answer = student.call("pad_batch", sequences, *options)
    ids, mask = found = two_of(answer, ("ids", "mask"), shape)
    same_dtype(ids, torch.int64, "The tensor of ids")
    same_dtype(mask, torch.bool, "The mask")
    return found


# pad_batch


@check("pad_batch", points=0.05, layer="shapes")
def test_batch_is_ids_and_a_mask(student):
    """Lists of 2, 4 and 3 ids give int64 ids (3, 4) and a bool mask (3, 4)."""
    padded(student, [[5, 6], [1, 2, 3, 4], [7, 8, 9]])


@check("pad_batch", points=0.1, layer="documented")
def test_batch_has_the_documented_ids(student, documented):
    """Two lists of lists of ids give the documented ids, with zeros at the right."""
    raw = [[711, 632, 71], [73, 8, 3215, 55, 927], [83, 91, 1, 645, 1253, 927]]

    documented["tf.padded"].matches(padded(student, raw)[0], "The tensor of ids")
    few = [[1], [2, 3], [4, 5, 6]]
    documented["keras.padded"].matches(padded(student, few)[0], "The tensor of ids")


@check("pad_batch", points=0.1, layer="documented")
def test_batch_has_the_documented_mask(student, documented):
    """The mask of the documented batch is the documented one."""
    raw = [[711, 632, 71], [73, 8, 3215, 55, 927], [83, 91, 1, 645, 1253, 927]]

    documented["tf.padding_mask"].matches(padded(student, raw)[1].long(), "The mask")


@check("pad_batch", points=0.07, layer="probe")
def test_batch_of_any_lists_has_the_right_ids(student, reference, probe):
    """For lists of any lengths, the ids are right, with the padding 0 and with another one."""
    for options in ((), (5,)):
        sequences = draw_lists(probe, draw_lengths(probe), 90, first=6)
        ids, _ = reference.call("pad_batch", sequences, *options)

        agrees(padded(student, sequences, *options)[0], ids, "The tensor of ids")


@check("pad_batch", points=0.07, layer="probe")
def test_batch_of_any_lists_has_the_right_mask(student, reference, probe):
    """For lists of any lengths, the mask is true at the tokens."""
    for lengths in (draw_lengths(probe), [3 + probe.number % 4], [4 + probe.number % 3] * 3):
        sequences = draw_lists(probe, lengths, 90, first=6)
        _, mask = reference.call("pad_batch", sequences)

        agrees(padded(student, sequences)[1], mask, "The mask")


@check("pad_batch", points=0.06, layer="probe")
def test_batch_may_hold_the_id_of_the_padding(student, reference, probe):
    """The result is right if tokens have the same id as the padding."""
    sequences = draw_lists(probe, draw_lengths(probe), 3, first=0)
    for padding in (0, 2):
        wanted = reference.call("pad_batch", sequences, padding)

        found = padded(student, sequences, padding)
        agrees(found[1], wanted[1], "The mask")
        agrees(found[0], wanted[0], "The tensor of ids")


@check("pad_batch", points=0.09, layer="laws")
def test_where_the_mask_is_true_stand_the_sequences(student, probe):
    """The ids at which a row of the mask is true are the list, in its order."""
    sequences = draw_lists(probe, draw_lengths(probe), 90)

    ids, mask = padded(student, sequences)
    for row, visible, sequence in zip(ids, mask, sequences, strict=True):
        agrees(row[visible].tolist(), sequence, "The ids at which the mask is true")


@check("pad_batch", points=0.09, layer="laws")
def test_padding_fills_the_end_of_each_row(student, probe):
    """The last ids of a row are the padding, as many as its list is shorter than the longest."""
    sequences = draw_lists(probe, draw_lengths(probe), 70, first=3)
    longest = max(map(len, sequences))

    for padding in (0, 2, 77):
        ids, _ = padded(student, sequences, padding)
        for row, length in zip(ids.tolist(), map(len, sequences), strict=True):
            agrees(row[length:], [padding] * (longest - length), "The end of a row")
            clean = padding not in row[:length]
            expect(clean, "There is padding at a place of a token.")


@check("pad_batch", points=0.08, layer="laws")
def test_longer_neighbour_adds_only_padding(student, probe):
    """With one more list, longer than the others, the rows are the same with more padding."""
    few = draw_lists(probe, draw_lengths(probe), 90)
    T = max(map(len, few))
    more = [*few, *draw_lists(probe, [T + 3], 90)]

    (ids, mask), (wider, wider_mask) = padded(student, few), padded(student, more)
    agrees(wider[:-1, :T], ids, "The ids next to a longer list")
    agrees(wider_mask[:-1, :T], mask, "The mask next to a longer list")
    expect(not wider_mask[:-1, T:].any(), "The mask of a list is true after its end.")
    agrees(wider[-1].tolist(), more[-1], "The row of the longest list")


@check("pad_batch", points=0.07, layer="laws")
def test_mask_counts_tokens_with_the_id_of_the_padding(student, probe):
    """A list of only the padding's id has as many tokens as any other list of its length."""
    lengths, padding = draw_lengths(probe), 1 + probe.number % 7
    same = [[padding] * length for length in lengths]
    other = [[padding + 1] * length for length in lengths]

    for sequences in (same, other):
        _, mask = padded(student, sequences, padding)
        agrees(mask.sum(dim=1).tolist(), lengths, "The list of numbers of tokens")


@check("pad_batch", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_batch_leaves_the_lists_alone(student, probe):
    """The lists have the same ids after the call."""
    sequences = draw_lists(probe, draw_lengths(probe), 90)

    expect(student.keeps_inputs("pad_batch", sequences), "pad_batch changes its lists.")
    ids, _ = padded(student, sequences)
    agrees(ids[-1].tolist(), sequences[-1], "The row of the longest list")


def forced(student, sequences, start, end, *options):
    """Return inputs and targets, and a mask of the positions that have a target."""
    longest = max(map(len, sequences))
    answer = student.call("teacher_forcing", sequences, start, end, *options)
    shape = (len(sequences), longest + 1)
    inputs, targets = two_of(answer, ("inputs", "targets"), shape)
    for one, name in ((inputs, "inputs"), (targets, "targets")):
        same_dtype(one, torch.int64, f"The tensor of {name}")
    lengths = [len(sequence) + 1 for sequence in sequences]
    return inputs, targets, padding_mask(*lengths)


def at_tokens(ids, mask):
    """Return *ids* with -1 at the positions that are not graded."""
    return ids.masked_fill(~mask, -1)


# teacher_forcing


@check("teacher_forcing", points=0.1, layer="documented")
def test_decoder_reads_the_documented_inputs(student, documented):
    """The inputs are the documented ones: the start id and then the text."""
    text = documented["tf.decoder_input"].tensor[1:].tolist()
    inputs, _, _ = forced(student, [text], 2, 3)
    documented["tf.decoder_input"].matches(inputs[0], "The inputs")

    texts = [[71, 82, 18, 33], [68, 34, 26, 58, 30, 82]]
    inputs, _, _ = forced(student, texts, 2, 2, 1)
    documented["hf.shifted"].matches(inputs[:, 0], "The first inputs")


@check("teacher_forcing", points=0.1, layer="documented")
def test_decoder_predicts_the_documented_targets(student, documented):
    """The targets are the documented ones: the text, then the end id, then padding."""
    text = documented["tf.decoder_target"].tensor[:-1].tolist()
    _, targets, _ = forced(student, [text], 2, 3)
    documented["tf.decoder_target"].matches(targets[0], "The targets")

    texts = [[71, 82, 18, 33], [68, 34, 26, 58, 30, 82]]
    _, targets, _ = forced(student, texts, 2, 2, 1)
    documented["hf.labels"].matches(targets, "The targets")


@check("teacher_forcing", points=0.1, layer="probe")
def test_forcing_gives_the_right_inputs(student, reference, probe):
    """For lists of any lengths, the inputs are right where there is a target."""
    for start, end, options in ((1, 2, ()), (3, 4, (2,)), (5, 0, (1,))):
        sequences = draw_lists(probe, draw_lengths(probe), 90, first=6)
        wanted, _ = reference.call("teacher_forcing", sequences, start, end, *options)

        inputs, _, mask = forced(student, sequences, start, end, *options)
        agrees(at_tokens(inputs, mask), at_tokens(wanted, mask), "The inputs")


@check("teacher_forcing", points=0.1, layer="probe")
def test_forcing_gives_the_right_targets(student, reference, probe):
    """For lists of any lengths, the ids of the targets and their end are right."""
    for start, end in ((1, 2), (3, 4), (5, 1)):
        sequences = draw_lists(probe, draw_lengths(probe), 90, first=6)
        _, wanted = reference.call("teacher_forcing", sequences, start, end)

        _, targets, mask = forced(student, sequences, start, end)
        agrees(at_tokens(targets, mask), at_tokens(wanted, mask), "The targets")


@check("teacher_forcing", points=0.1, layer="probe")
def test_forcing_pads_the_targets(student, reference, probe):
    """After the end of a shorter list, the targets are the padding, 0 or another id."""
    for padding in (0, 7):
        options = () if padding == 0 else (padding,)
        sequences = draw_lists(probe, draw_lengths(probe), 90, first=8)
        _, wanted = reference.call("teacher_forcing", sequences, 1, 2, *options)

        _, targets, _ = forced(student, sequences, 1, 2, *options)
        agrees(targets, wanted, "The targets")


@check("teacher_forcing", points=0.1, layer="laws")
def test_each_target_is_the_next_input(student, probe):
    """Where there is a target, the input of the next position is this target."""
    sequences = draw_lists(probe, draw_lengths(probe), 90, first=4)

    inputs, targets, mask = forced(student, sequences, 1, 2)
    followed = mask[:, 1:]
    following, wanted = inputs[:, 1:][followed].tolist(), targets[:, :-1][followed].tolist()
    agrees(following, wanted, "The list of next inputs", "the list of targets")
    expect(not torch.equal(inputs[mask], targets[mask]), "The inputs are the targets.")
    expect(len(set(targets[mask].tolist())) > 2, "There are at most two different targets.")


@check("teacher_forcing", points=0.1, layer="laws")
def test_inputs_are_the_start_and_the_text(student, probe):
    """A row of the inputs begins with the start id, and the ids of its list follow."""
    start = 1 + probe.number % 3
    sequences = draw_lists(probe, draw_lengths(probe), 90, first=5)

    inputs, _, _ = forced(student, sequences, start, 4)
    for row, sequence in zip(inputs.tolist(), sequences, strict=True):
        agrees(row[: len(sequence) + 1], [start, *sequence], "A row of the inputs")


@check("teacher_forcing", points=0.09, layer="laws")
def test_last_target_is_the_end(student, probe):
    """The end id is the last target of each row, once, and the start id is never a target."""
    start, end = 2 + probe.number % 3, 1
    lengths = draw_lengths(probe)
    sequences = draw_lists(probe, lengths, 90, first=5)

    _, targets, mask = forced(student, sequences, start, end)
    ends = (targets == end).long()
    agrees(ends.sum(dim=1).tolist(), [1] * len(lengths), "The list of numbers of end ids")
    agrees(ends.argmax(dim=1).tolist(), lengths, "The list of positions of the end id")
    expect(not (targets[mask] == start).any(), "The start id is a target.")


@check("teacher_forcing", points=0.09, layer="laws")
def test_targets_begin_with_the_text(student, probe):
    """A row of the targets begins with the ids of its list, for any start and end."""
    sequences = draw_lists(probe, draw_lengths(probe), 90, first=5)

    for start, end in ((1, 2), (4, 3)):
        _, targets, _ = forced(student, sequences, start, end)
        for row, sequence in zip(targets.tolist(), sequences, strict=True):
            agrees(row[: len(sequence)], sequence, "The beginning of a row of the targets")


@check("teacher_forcing", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_forcing_leaves_the_lists_alone(student, probe):
    """The lists have the same ids after the call."""
    sequences = draw_lists(probe, draw_lengths(probe), 90, first=5)

    unchanged = student.keeps_inputs("teacher_forcing", sequences, 1, 2)
    expect(unchanged, "teacher_forcing changes its lists.")
    _, targets, _ = forced(student, sequences, 1, 2)
    agrees(targets[-1, :-1].tolist(), sequences[-1], "The targets of the longest list")


class Lengths(NamedTuple):
    """Sizes of a batch for attention: all different, so that no wrong axis fits by chance."""

    B: int
    T_q: int
    T_k: int
    H: int
    d: int

    @property
    def d_model(self):
        """Return the features of all heads side by side."""
        return self.H * self.d


TWO = Lengths(B=3, T_q=4, T_k=7, H=2, d=5)
THREE = Lengths(B=2, T_q=6, T_k=5, H=3, d=4)
FOUR = Lengths(B=5, T_q=3, T_k=4, H=4, d=2)
FEW = Lengths(B=2, T_q=3, T_k=5, H=2, d=2)  # for checks that get gradients of all parameters


def tokens(probe, s):
    """Draw the tokens of the queries and those of the memory."""
    x = 1.3 * probe.normal(s.B, s.T_q, s.d_model) + 0.4
    return x, 1.2 * probe.normal(s.B, s.T_k, s.d_model) - 0.3


def heads_of(student, weights, s, *, qkv_bias=False):
    """Build the class with these weights."""
    return student.new(HEADS, s.d_model, s.H, qkv_bias).load(weights, may_lack=LACKS)


def both_heads(student, reference, probe, s, *, qkv_bias=False):
    """Build the student's class and the reference with equal weights."""
    weights = drawn_weights(probe, heads_shapes(s.d_model, qkv_bias=qkv_bias))
    return tuple(heads_of(side, weights, s, qkv_bias=qkv_bias) for side in (student, reference))


def some_visible(probe, *shape):
    """Draw a mask of this shape in which each row shows at least two keys, and hides some."""
    drawn = probe.uniform(*shape)
    return drawn >= drawn.sort(dim=-1).values[..., -2 - probe.number % 2, None]


# MultiHeadCrossAttention


@check(HEADS, points=0.04, layer="signature")
def test_heads_are_built_by_the_names_of_their_arguments(student):
    """The constructor takes d_model, num_heads and qkv_bias, and forward x, memory and visible."""
    student.new(HEADS, d_model=6, num_heads=3, qkv_bias=True)
    heads, seen = student.new(HEADS, d_model=6, num_heads=2), torch.ones(3, 4) == 1
    given = {"x": torch.ones(1, 3, 6), "memory": torch.ones(1, 4, 6), "visible": seen}

    tensor_like(heads(**given), (1, 3, 6), "The result")


@check(HEADS, points=0.03, layer="signature")
def test_heads_have_no_bias_by_default(student):
    """Without qkv_bias, queries, keys and values have no bias."""
    default, without, biased = (
        len(student.new(HEADS, 6, 3, *options).shapes()) for options in ((), (False,), (True,))
    )

    expect(default == without, "The default of qkv_bias is wrong.")
    expect(biased > without, "With qkv_bias, there are no more parameters.")


@check(HEADS, points=0.03, layer="signature", rules=("refuses",))
def test_heads_refuse_an_uneven_split(student):
    """A d_model that num_heads does not divide raises an error."""
    student.new(HEADS, 6, 3)
    for d_model, num_heads in ((8, 3), (5, 2)):
        refused = student.refuses(HEADS, d_model, num_heads)
        if not refused:
            x = torch.ones(1, 2, d_model)
            refused = student.new(HEADS, d_model, num_heads).refuses(x, x)
        is_refused(refused, "A d_model that num_heads does not divide")


@check(HEADS, points=0.05, layer="shapes")
def test_heads_give_a_row_for_each_query(student):
    """For 3 queries and 5 tokens of memory, the result has 3 rows, and the other way round."""
    heads = student.new(HEADS, 6, 2)

    for T_q, T_k in ((3, 5), (5, 3)):
        result = heads(torch.ones(2, T_q, 6), torch.ones(2, T_k, 6))
        tensor_like(result, (2, T_q, 6), "The result of MultiHeadCrossAttention(6, 2)")


@check(HEADS, points=0.1, layer="parameters")
def test_heads_consist_of_four_layers(student):
    """The four layers have the right names and sizes, with and without qkv_bias."""
    for d_model, num_heads, qkv_bias in ((6, 3, False), (4, 2, True)):
        heads = student.new(HEADS, d_model, num_heads, qkv_bias)
        wanted = heads_shapes(d_model, qkv_bias=qkv_bias)
        more = "The class has more parameters than it must have."
        named(heads, wanted, more, f" with qkv_bias={qkv_bias}")


@check(HEADS, points=0.1, layer="parameters")
def test_heads_draw_their_layers_in_order(student, reference, probe):
    """The layers are created in the documented order, so a seed gives the expected weights."""
    yours, ours = (side.new(HEADS, 6, 3, seed=probe.seed) for side in (student, reference))

    drawn_alike(yours, ours)


def documented_heads(student, reference):
    """Build one head with the weights of seed 42, whose out_proj passes the context through."""
    drawn = reference.new(HEADS, 2, 1, seed=42).parameters()
    weights = {f"{name}.weight": drawn[f"{name}.weight"].value for name in QKV}
    weights |= {"out_proj.weight": torch.eye(2), "out_proj.bias": torch.zeros(2)}
    return student.new(HEADS, 2, 1, NO_BIAS).load(weights, may_lack=LACKS)


@check(HEADS, points=0.15, layer="documented")
def test_heads_reproduce_the_documented_context(student, reference, documented, encodings):
    """With the tokens as their own memory, the context is the documented one of self-attention."""
    heads, x = documented_heads(student, reference), encodings[None]

    context = tensor_like(heads(x, x), (1, 3, 2), "The context")
    documented["001.sa.context"].matches(context[0], "The context")


@check(HEADS, points=0.15, layer="documented")
def test_heads_reproduce_the_documented_masked_context(student, reference, documented, encodings):
    """With the causal mask as visible, the context is the documented masked one."""
    heads, x = documented_heads(student, reference), encodings[None]
    visible = torch.ones(3, 3).tril() == 1

    context = tensor_like(heads(x, x, visible), (1, 3, 2), "The masked context")
    documented["001.masked.context"].matches(context[0], "The masked context")


@check(HEADS, points=0.2, layer="probe")
def test_heads_read_a_memory_of_another_length(student, reference, probe):
    """Without a mask, the results are right for other sizes and for other lengths."""
    for s in (TWO, THREE, FOUR):
        yours, ours = both_heads(student, reference, probe, s)
        given = tokens(probe, s)

        agrees(yours(*given), ours(*given), "The result")


@check(HEADS, points=0.05, layer="probe")
def test_heads_read_a_memory_of_the_same_length(student, reference, probe):
    """For as many queries as keys, and for a single head, the results are right."""
    for s in (TWO._replace(T_k=4), FOUR._replace(H=1, d=6)):
        yours, ours = both_heads(student, reference, probe, s)
        given = tokens(probe, s)

        agrees(yours(*given), ours(*given), "The result")


@check(HEADS, points=0.08, layer="probe")
def test_heads_hide_keys_of_each_query(student, reference, probe):
    """With one mask (T_q, T_k) for all items, the results are right."""
    for s in (TWO, THREE):
        yours, ours = both_heads(student, reference, probe, s)
        given = (*tokens(probe, s), some_visible(probe, s.T_q, s.T_k))

        agrees(yours(*given), ours(*given), "The masked result")


@check(HEADS, points=0.08, layer="probe")
def test_heads_hide_the_padding_of_each_item(student, reference, probe):
    """With a mask (B, 1, T_k), each item hides its own keys from all its queries."""
    for s in (TWO, FOUR):
        yours, ours = both_heads(student, reference, probe, s)
        given = (*tokens(probe, s), some_visible(probe, s.B, 1, s.T_k))

        agrees(yours(*given), ours(*given), "The masked result")


@check(HEADS, points=0.05, layer="probe")
def test_heads_hide_keys_of_each_query_of_each_item(student, reference, probe):
    """With a mask (B, T_q, T_k) or (1, T_q, T_k), the results are right."""
    for s, B in ((TWO, TWO.B), (THREE, 1)):
        yours, ours = both_heads(student, reference, probe, s)
        given = (*tokens(probe, s), some_visible(probe, B, s.T_q, s.T_k))

        agrees(yours(*given), ours(*given), "The masked result")


@check(HEADS, points=0.04, layer="probe")
def test_heads_use_their_biases(student, reference, probe):
    """With qkv_bias, the results are right."""
    for s in (THREE, FOUR):
        yours, ours = both_heads(student, reference, probe, s, qkv_bias=True)
        given = tokens(probe, s)

        agrees(yours(*given), ours(*given), "The result with qkv_bias=True")


def drawn_heads(student, probe, s, change=None):
    """Build the class with drawn weights, which *change* may replace."""
    weights = drawn_weights(probe, heads_shapes(s.d_model))
    return heads_of(student, (change or dict)(weights), s)


@check(HEADS, points=0.1, layer="laws")
def test_hidden_keys_have_no_effect_and_visible_ones_do(student, probe):
    """A token of the memory that is hidden in one item has no effect there; a visible one has an
    effect on each query.
    """
    s = TWO
    heads, (x, memory) = drawn_heads(student, probe, s), tokens(probe, s)
    visible = torch.ones(s.B, 1, s.T_k) == 1
    items = torch.arange(s.B)
    visible[items, 0, items] = False  # in item 0 its token 0, in item 1 its token 1
    hidden, seen = memory.clone(), memory.clone()
    hidden[items, items] = 0.5 - memory[items, items]
    seen[:, 4] = 0.5 - memory[:, 4]

    before = result_of(heads, x, memory, visible)
    agrees(heads(x, hidden, visible), before, "After a change of hidden tokens, the result")
    changes_all_rows(before, result_of(heads, x, seen, visible), "A change of a visible token")


@check(HEADS, points=0.1, layer="laws")
def test_order_of_the_memory_does_not_matter(student, probe):
    """A memory in another order gives the same result; queries in another order give theirs."""
    s = THREE
    heads, (x, memory) = drawn_heads(student, probe, s), tokens(probe, s)

    before = result_of(heads, x, memory)
    agrees(heads(x, memory.flip(1)), before, "The result for a memory in another order")
    agrees(heads(x.flip(1), memory), before.flip(1), "The result for queries in another order")
    has_effect(before, before.flip(1), "the query")
    has_effect(before, result_of(heads, x, 0.5 - memory), "the memory")


@check(HEADS, points=0.1, layer="laws")
def test_equal_tokens_of_the_memory_give_their_value(student, probe):
    """If all tokens of the memory are equal, the result is out_proj of their value."""
    s = FOUR
    weights = drawn_weights(probe, heads_shapes(s.d_model))
    x, memory = tokens(probe, s)
    memory = memory[:, :1].repeat(1, s.T_k, 1)
    value = memory[:, 0] @ weights["W_value.weight"].T  # (B, d_model)
    wanted = value @ weights["out_proj.weight"].T + weights["out_proj.bias"]

    heads, visible = heads_of(student, weights, s), some_visible(probe, s.B, s.T_q, s.T_k)
    wanted = wanted[:, None].expand(-1, s.T_q, -1)
    agrees(heads(x, memory), wanted, "The result for equal tokens of the memory")
    agrees(heads(x, memory, visible), wanted, "The masked result for equal tokens of the memory")


@check(HEADS, points=0.1, layer="laws")
def test_each_head_has_its_own_queries(student, probe):
    """If out_proj reads only the first head, the queries of the second head have no effect, and
    those of the first one do.
    """
    s = TWO
    weights = drawn_weights(probe, heads_shapes(s.d_model))
    weights["out_proj.weight"][:, s.d :] = 0
    x, memory = tokens(probe, s)

    def changed(rows):
        other = weights["W_query.weight"].clone()
        other[rows] = -other[rows]
        return heads_of(student, weights | {"W_query.weight": other}, s)

    before = result_of(heads_of(student, weights, s), x, memory)
    second = changed(slice(s.d, None))(x, memory)
    agrees(second, before, "After a change of the queries of the second head, the result")
    first = result_of(changed(slice(s.d)), x, memory)
    has_effect(before, first, "the queries of the first head")


@check(HEADS, points=0.02, layer="laws", rules=("dtype",))
def test_heads_keep_the_dtype(student, probe):
    """In float64 the result is float64, and in float32 it is float32, also with a mask."""
    s = FOUR
    heads, given = drawn_heads(student, probe, s), tokens(probe, s)

    keeps_precision(heads, *given, torch.ones(s.T_q, s.T_k) == 1)
    has_effect(result_of(heads, *given), result_of(heads, given[0], -given[1]), "the memory")


@check(HEADS, points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_heads_leave_their_inputs_alone(student, probe):
    """The tokens, the memory and the mask are unchanged, but they have an effect."""
    s = FOUR
    heads, (x, memory) = drawn_heads(student, probe, s), tokens(probe, s)
    visible = some_visible(probe, s.B, 1, s.T_k)

    expect(heads.keeps_inputs(x, memory, visible), "The call changes one of its inputs.")
    before = result_of(heads, x, memory, visible)
    has_effect(before, result_of(heads, x, -memory, visible), "the memory")


@check(HEADS, points=0.01, layer="laws", rules=("no_seeding",))
def test_heads_leave_the_seed_to_the_caller(student, probe):
    """A call does not set torch's seed."""
    leaves_the_seed(student, drawn_heads(student, probe, FOUR), *tokens(probe, FOUR))


@check(HEADS, points=0.1, layer="gradients", rules=("gradients",))
def test_heads_can_be_trained(student, reference, probe):
    """With a mask, the gradients of the tokens, of the memory and of all parameters are right."""
    s = FEW
    yours, ours = both_heads(student, reference, probe, s, qkv_bias=True)
    given = (*tokens(probe, s), some_visible(probe, s.B, 1, s.T_k))
    back = probe.normal(s.B, s.T_q, s.d_model)

    mine, wanted = (side.gradients(*given, cotangent=back) for side in (yours, ours))
    same_gradients(mine, wanted, "the tokens", "the memory")


@check(HEADS, points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_heads_are_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    s = FOUR
    heads, (x, memory) = drawn_heads(student, probe, s), tokens(probe, s)
    visible = some_visible(probe, s.B, 1, s.T_k)

    avoids_itself(student, HEADS, READY_ATTENTION, BY_HAND, heads.operators(x, memory, visible), {})
    before = result_of(heads, x, memory, visible)
    has_effect(before, result_of(heads, x, -memory, visible), "the memory")


def new_block(side, name, s, *options, seed=None, qkv_bias=False, hidden=None):
    """Build a block with the side's own attention."""
    attentions = [side.new(HEADS, s.d_model, s.H, qkv_bias) for _ in ATTENTIONS[name]]
    return side.new(name, *attentions, s.d_model, hidden or 2 * s.d_model + 1, *options, seed=seed)


def loaded_block(side, name, s, weights, *options):
    """Build a block with these weights."""
    return new_block(side, name, s, *options).load(weights, may_lack=LACKS)


def block_weights(probe, name, s):
    """Draw weights for all parts of a block."""
    return drawn_weights(probe, block_shapes(name, s.d_model, 2 * s.d_model + 1))


def both_blocks(student, reference, probe, name, s, *options):
    """Build the student's block and the reference with equal weights."""
    weights = block_weights(probe, name, s)
    return tuple(loaded_block(side, name, s, weights, *options) for side in (student, reference))


def without(weights, *parts):
    """Return *weights* with which the last layers of *parts* return zeros."""
    last = tuple(f"{part}.{'linear2' if part == 'ff' else 'out_proj'}." for part in parts)
    return {name: 0 * one if name.startswith(last) else one for name, one in weights.items()}


def printed_block(student, name):
    """Build the post-norm block of the documented tests: all its parameters are cosines."""

    def cosines(*shape):  # cos(0), cos(1), ...
        return torch.arange(math.prod(shape), dtype=torch.float32).cos().view(shape)

    shapes = block_shapes(name, 4, 16)
    values = {one: cosines(*shape) for one, shape in shapes.items()}
    for part in ATTENTIONS[name]:
        weights, biases = cosines(12, 4).split(4), cosines(12).split(4)
        for layer, weight, bias in zip(QKV, weights, biases, strict=True):
            values |= {f"{part}.{layer}.weight": weight, f"{part}.{layer}.bias": bias}
    size = Lengths(B=0, T_q=0, T_k=0, H=2, d=2)
    block = new_block(student, name, size, POST_NORM, "relu", qkv_bias=True, hidden=16)
    return block.load(values, may_lack=LACKS)


def encoder_tokens(probe, s):
    """Draw the tokens of a text, and the lengths of its items."""
    x = 1.3 * probe.normal(s.B, s.T_k, s.d_model) + 0.4
    return x, [s.T_k - 2 * (item % 2) for item in range(s.B)]


def at_visible(result, mask):
    """Return the rows of *result* at tokens."""
    return result[mask]


# EncoderBlock


@check(ENCODER, points=0.02, layer="signature", needs=(HEADS,))
def test_encoder_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes attention, d_model, d_hidden, norm_first and activation."""
    sizes = {"attention": student.new(HEADS, 4, 2), "d_model": 4, "d_hidden": 6}

    student.new(ENCODER, **sizes)
    block = student.new(ENCODER, **sizes, norm_first=False, activation="relu")
    mask = torch.ones(1, 3) == 1
    tensor_like(block(x=torch.ones(1, 3, 4), mask=mask), (1, 3, 4), "The result")


def has_defaults(student, probe, name, s, *given):
    """Fail the check unless the block is pre-norm with GELU by default."""
    weights = block_weights(probe, name, s)
    default, *others = (
        result_of(loaded_block(student, name, s, weights, *options), *given)
        for options in ((), (PRE_NORM, "gelu"), (PRE_NORM, "relu"), (POST_NORM, "gelu"))
    )
    agrees(default, others[0], "The result without the last arguments")
    has_effect(others[0], others[1], "the activation")
    has_effect(others[0], others[2], "norm_first")


@check(ENCODER, points=0.03, layer="signature", needs=(HEADS,))
def test_encoder_has_pre_norm_and_gelu_by_default(student, probe):
    """Without the last two arguments, the block has pre-norm and GELU."""
    has_defaults(student, probe, ENCODER, THREE, encoder_tokens(probe, THREE)[0])


@check(ENCODER, points=0.07, layer="parameters", needs=(HEADS,))
def test_encoder_consists_of_four_parts(student):
    """The parts are att, norm1, ff and norm2, with their own parameters and no others."""
    block = student.new(ENCODER, student.new(HEADS, 4, 2), 4, 10)

    sentence = "The block has more parameters than it must have."
    named(block, block_shapes(ENCODER, 4, 10), sentence)


@check(ENCODER, points=0.03, layer="parameters", needs=(HEADS,))
def test_encoder_draws_only_its_feed_forward(student, reference, probe):
    """The given module keeps its weights, and only ff draws random numbers."""
    yours, ours = (
        side.new(ENCODER, side.new(HEADS, 4, 2, seed=probe.seed), 4, 10)
        for side in (student, reference)
    )

    drawn_alike(yours, ours)


@check(ENCODER, points=0.1, layer="documented", needs=(HEADS,))
def test_encoder_reproduces_the_documented_tokens(student, documented):
    """A post-norm block with ReLU gives the documented results for one and for two tokens."""
    block = printed_block(student, ENCODER)

    x = torch.tensor([[[20.0, 30.0, 40.0, 50.0]]])
    result = result_of(block, x)
    documented["pytorch.encoder.one_token"].matches(result[0, 0], "The result for one token")
    two = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]])
    result = result_of(block, two)
    documented["pytorch.encoder.two_tokens"].matches(result[0, 1], "The second of two tokens")


@check(ENCODER, points=0.14, layer="documented", needs=(HEADS,))
def test_encoder_reproduces_the_documented_padded_batch(student, documented):
    """With the documented mask, the results at the tokens are the documented ones."""
    block = printed_block(student, ENCODER)
    two = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]])
    x = documented["pytorch.five_tokens"].tensor
    mask = torch.tensor([[1, 0, 1, 1, 1], [1, 1, 1, 0, 0]]) == 1

    result = result_of(block, two, torch.tensor([[False, True]]))
    documented["pytorch.encoder.first_hidden"].matches(result[0, 1], "The second of two tokens")
    result = result_of(block, x, mask)
    documented["pytorch.encoder.padded"].matches(at_visible(result, mask), "The rows of tokens")


@check(ENCODER, points=0.1, layer="probe", needs=(HEADS,))
def test_encoder_normalizes_first(student, reference, probe):
    """With pre-norm, the results are right for other sizes and weights."""
    for s, activation in ((TWO, "gelu"), (FOUR, "relu")):
        yours, ours = both_blocks(student, reference, probe, ENCODER, s, PRE_NORM, activation)
        x, _ = encoder_tokens(probe, s)

        agrees(yours(x), ours(x), "The result of the block")


@check(ENCODER, points=0.1, layer="probe", needs=(HEADS,))
def test_encoder_normalizes_last(student, reference, probe):
    """With post-norm (norm_first=False), the results are right for other sizes and weights."""
    for s, activation in ((THREE, "gelu"), (FOUR, "relu")):
        yours, ours = both_blocks(student, reference, probe, ENCODER, s, POST_NORM, activation)
        x, _ = encoder_tokens(probe, s)

        agrees(yours(x), ours(x), "The result of the block")


@check(ENCODER, points=0.1, layer="probe", needs=(HEADS,))
def test_encoder_hides_padding(student, reference, probe):
    """With a mask, the results at the tokens are right, with pre-norm and with post-norm."""
    for s, norm_first in ((TWO, PRE_NORM), (THREE, POST_NORM)):
        yours, ours = both_blocks(student, reference, probe, ENCODER, s, norm_first, "relu")
        x, lengths = encoder_tokens(probe, s)
        mask = padding_mask(*lengths, longest=s.T_k)

        found, wanted = (result_of(side, x, mask) for side in (yours, ours))
        what = f"The rows of tokens with norm_first={norm_first}"
        agrees(at_visible(found, mask), at_visible(wanted, mask), what)


@check(ENCODER, points=0.09, layer="laws", needs=(HEADS,))
def test_padding_has_no_effect_and_the_last_token_has_one(student, probe):
    """A change of padding changes no token; a change of the last token changes the first one."""
    s = TWO
    block = loaded_block(student, ENCODER, s, block_weights(probe, ENCODER, s), PRE_NORM, "relu")
    (x, _), mask = encoder_tokens(probe, s), padding_mask(*[s.T_k - 2] * s.B)
    mask = torch.cat((mask, torch.zeros(s.B, 2) == 1), dim=1)
    padding, last = x.clone(), x.clone()
    padding[:, -2:] = 0.5 - x[:, -2:]
    last[:, -3] = 0.5 - x[:, -3]

    before = result_of(block, x, mask)
    after = result_of(block, padding, mask)
    agrees(at_visible(after, mask), at_visible(before, mask), "After a change of padding, the rows")
    has_effect(before[:, 0], result_of(block, last, mask)[:, 0], "the last token", " on the first")


@check(ENCODER, points=0.1, layer="laws", needs=(HEADS,))
def test_encoder_of_dead_parts_is_the_identity(student, probe):
    """If att and ff return zeros, a pre-norm block returns its input, and otherwise not."""
    s = THREE
    weights, (x, _) = block_weights(probe, ENCODER, s), encoder_tokens(probe, s)

    dead = loaded_block(student, ENCODER, s, without(weights, "att", "ff"), PRE_NORM, "relu")
    agrees(dead(x), x, "The result of a block whose parts return zeros")
    for part in ("att", "ff"):
        alive = loaded_block(student, ENCODER, s, without(weights, part), PRE_NORM, "relu")
        expect(differs(result_of(alive, x), x), "A part of the block has little or no effect.")


@check(ENCODER, points=0.09, layer="laws", needs=(HEADS,))
def test_encoder_knows_no_order(student, probe):
    """Tokens and mask in another order give the results in that order, and each token needs the
    others.
    """
    s = THREE
    block = loaded_block(student, ENCODER, s, block_weights(probe, ENCODER, s), PRE_NORM, "relu")
    x, lengths = encoder_tokens(probe, s)
    mask = padding_mask(*lengths, longest=s.T_k)

    before = result_of(block, x, mask)
    turned = result_of(block, x.flip(1), mask.flip(1)).flip(1)
    agrees(at_visible(turned, mask), at_visible(before, mask), "The rows in another order")
    alone = result_of(block, x[:, 1:2].contiguous())
    has_effect(before[:, 1:2], alone, "the other tokens")


@check(ENCODER, points=0.015, layer="laws", rules=("dtype",), needs=(HEADS,))
def test_encoder_keeps_the_dtype(student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    x, lengths = encoder_tokens(probe, THREE)
    block = new_block(student, ENCODER, THREE, PRE_NORM, "gelu")

    keeps_precision(block, x, padding_mask(*lengths, longest=THREE.T_k))
    has_effect(result_of(block, x), result_of(block, 0.5 - x), "the tokens")


@check(ENCODER, points=0.015, layer="laws", rules=("inputs_unchanged",), needs=(HEADS,))
def test_encoder_leaves_its_inputs_alone(student, probe):
    """The tokens and the mask are unchanged, but the tokens have an effect."""
    x, lengths = encoder_tokens(probe, THREE)
    block = new_block(student, ENCODER, THREE, PRE_NORM, "relu")

    unchanged = block.keeps_inputs(x, padding_mask(*lengths, longest=THREE.T_k))
    expect(unchanged, "The call changes one of its inputs.")
    has_effect(result_of(block, x), result_of(block, 0.5 - x), "the tokens")


@check(ENCODER, points=0.1, layer="gradients", rules=("gradients",), needs=(HEADS,))
def test_encoder_can_be_trained(student, reference, probe):
    """The gradients of the tokens and of all parameters are right, with pre- and post-norm."""
    s = FEW
    for norm_first in (PRE_NORM, POST_NORM):
        yours, ours = both_blocks(student, reference, probe, ENCODER, s, norm_first, "relu")
        (x, lengths), back = encoder_tokens(probe, s), probe.normal(s.B, s.T_k, s.d_model)
        mask = padding_mask(*lengths, longest=s.T_k)
        back = back * mask[..., None]  # results at padding are not graded

        mine, wanted = (side.gradients(x, mask, cotangent=back) for side in (yours, ours))
        same_gradients(mine, wanted, "the tokens", when=f" with norm_first={norm_first}")


def memory_mask(s):
    """Return a mask of the memory, in which every second item ends earlier."""
    return padding_mask(*(s.T_k - 2 * (item % 2) for item in range(s.B)), longest=s.T_k)


# DecoderBlock


@check(DECODER, points=0.02, layer="signature", needs=(HEADS,))
def test_decoder_is_built_by_the_names_of_its_arguments(student):
    """The constructor and forward take the documented names."""
    attentions = {name: student.new(HEADS, 4, 2) for name in ("self_attention", "cross_attention")}
    sizes = attentions | {"d_model": 4, "d_hidden": 6}

    student.new(DECODER, **sizes)
    block = student.new(DECODER, **sizes, norm_first=False, activation="relu")
    given = {"x": torch.ones(1, 3, 4), "memory": torch.ones(1, 5, 4)}
    result = block(**given, memory_mask=torch.ones(1, 5) == 1)
    tensor_like(result, (1, 3, 4), "The result")


@check(DECODER, points=0.03, layer="signature", needs=(HEADS,))
def test_decoder_has_pre_norm_and_gelu_by_default(student, probe):
    """Without the last two arguments, the block has pre-norm and GELU."""
    has_defaults(student, probe, DECODER, THREE, *tokens(probe, THREE))


@check(DECODER, points=0.07, layer="parameters", needs=(HEADS,))
def test_decoder_consists_of_six_parts(student):
    """The parts are self_att, norm1, cross_att, norm2, ff and norm3, and no others."""
    block = student.new(DECODER, student.new(HEADS, 4, 2), student.new(HEADS, 4, 2), 4, 10)

    sentence = "The block has more parameters than it must have."
    named(block, block_shapes(DECODER, 4, 10), sentence)


@check(DECODER, points=0.03, layer="parameters", needs=(HEADS,))
def test_decoder_draws_only_its_feed_forward(student, reference, probe):
    """The given modules keep their weights, and only ff draws random numbers."""
    yours, ours = (
        side.new(
            DECODER,
            side.new(HEADS, 4, 2, seed=probe.seed),
            side.new(HEADS, 4, 2),
            4,
            10,
        )
        for side in (student, reference)
    )

    drawn_alike(yours, ours)


@check(DECODER, points=0.2, layer="documented", needs=(HEADS,))
def test_decoder_reproduces_the_documented_tokens(student, documented):
    """In a post-norm block with ReLU, the last target token gets the documented results."""
    block = printed_block(student, DECODER)
    rows = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    late = [[9.0, 10.0, 11.0, 12.0], [11.0, 12.0, 13.0, 14.0]]

    for name, x, memory in (
        ("one_token", [[20.0, 30.0, 40.0, 50.0]], [[60.0, 70.0, 80.0, 90.0]]),
        ("two_tokens", late, rows[:1]),
        ("two_and_two", rows, late),
    ):
        result = result_of(block, torch.tensor([x]), torch.tensor([memory]))
        documented[f"pytorch.decoder.{name}"].matches(result[0, -1], "The last target token")


@check(DECODER, points=0.15, layer="documented", needs=(HEADS,))
def test_decoder_reproduces_the_documented_batch(student, documented):
    """With and without a mask of the memory, the last target tokens are the documented ones."""
    block = printed_block(student, DECODER)
    x = documented["pytorch.three_tokens"].tensor
    memory = documented["pytorch.five_tokens"].tensor
    mask = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]]) == 1

    result = result_of(block, x, memory)
    documented["pytorch.decoder.last_token"].matches(result[:, -1], "The last target tokens")
    result = result_of(block, x, memory, mask)
    documented["pytorch.decoder.padded"].matches(result[:, -1], "The last target tokens")


@check(DECODER, points=0.2, layer="probe", needs=(HEADS,))
def test_decoder_normalizes_first(student, reference, probe):
    """With pre-norm, the results are right for other sizes and weights."""
    for s, activation in ((TWO, "gelu"), (THREE, "relu")):
        yours, ours = both_blocks(student, reference, probe, DECODER, s, PRE_NORM, activation)
        given = tokens(probe, s)

        agrees(yours(*given), ours(*given), "The result of the block")


@check(DECODER, points=0.15, layer="probe", needs=(HEADS,))
def test_decoder_normalizes_last(student, reference, probe):
    """With post-norm (norm_first=False), the results are right for other sizes and weights."""
    for s, activation in ((THREE, "gelu"), (FOUR, "relu")):
        yours, ours = both_blocks(student, reference, probe, DECODER, s, POST_NORM, activation)
        given = tokens(probe, s)

        agrees(yours(*given), ours(*given), "The result of the block")


@check(DECODER, points=0.15, layer="probe", needs=(HEADS,))
def test_decoder_hides_the_padding_of_the_memory(student, reference, probe):
    """With a mask of the memory, the results are right, with pre-norm and with post-norm."""
    for s, norm_first in ((TWO, PRE_NORM), (THREE, POST_NORM), (FOUR, PRE_NORM)):
        yours, ours = both_blocks(student, reference, probe, DECODER, s, norm_first, "relu")
        given = (*tokens(probe, s), memory_mask(s))

        agrees(yours(*given), ours(*given), f"The result with norm_first={norm_first}")


def decoder_of(student, probe, s, *dead):
    """Build a pre-norm block with drawn weights, whose parts *dead* return zeros."""
    weights = without(block_weights(probe, DECODER, s), *dead)
    return loaded_block(student, DECODER, s, weights, PRE_NORM, "relu")


@check(DECODER, points=0.11, layer="laws", needs=(HEADS,))
def test_decoder_sees_the_past_and_not_the_future(student, probe):
    """A target changes the results of later targets, and none of earlier ones, also if the memory
    has padding.
    """
    s = THREE
    block, (x, memory) = decoder_of(student, probe, s), tokens(probe, s)
    mask = torch.ones(s.B, s.T_k) == 1
    mask[:, 3] = False
    others = x.clone()
    others[:, 3] = 0.5 - x[:, 3]

    before, after = (result_of(block, one, memory, mask) for one in (x, others))
    agrees(
        after[:, :3], before[:, :3], "After a change of a later target, the result of earlier ones"
    )
    has_effect(before[:, 4:], after[:, 4:], "a target", " on later ones")


@check(DECODER, points=0.11, layer="laws", needs=(HEADS,))
def test_every_target_reads_the_visible_memory(student, probe):
    """A hidden token of the memory has no effect; a visible one changes every target."""
    s = TWO
    block, (x, memory) = decoder_of(student, probe, s), tokens(probe, s)
    mask = padding_mask(*[s.T_k - 1] * s.B, longest=s.T_k)
    hidden, last = memory.clone(), memory.clone()
    hidden[:, -1], last[:, -2] = 0.5 - memory[:, -1], 0.5 - memory[:, -2]

    before = result_of(block, x, memory, mask)
    agrees(block(x, hidden, mask), before, "After a change of a hidden token, the result")
    after = result_of(block, x, last, mask)
    changes_all_rows(before, after, "A change of a visible token of the memory")


@check(DECODER, points=0.1, layer="laws", needs=(HEADS,))
def test_decoder_of_dead_parts_is_the_identity(student, probe):
    """If all three parts return zeros, a pre-norm block returns its input; each part alone changes
    it.
    """
    s, parts = FOUR, ("self_att", "cross_att", "ff")
    x, memory = tokens(probe, s)

    dead = decoder_of(student, probe, s, *parts)
    agrees(dead(x, memory), x, "The result of a block whose parts return zeros")
    for part in parts:
        alive = decoder_of(student, probe, s, *(one for one in parts if one != part))
        changes_all_rows(x, result_of(alive, x, memory), "A single part")


@check(DECODER, points=0.05, layer="laws", needs=(HEADS,))
def test_decoder_without_self_attention_treats_targets_apart(student, probe):
    """If the self-attention returns zeros, a target depends on itself and on the memory only."""
    s = THREE
    block, (x, memory) = decoder_of(student, probe, s, "self_att"), tokens(probe, s)
    others = x.clone()
    others[:, 2] = 0.5 - x[:, 2]

    before, after = (result_of(block, one, memory) for one in (x, others))
    apart = [0, 1, 3, 4, 5]
    agrees(after[:, apart], before[:, apart], "After a change of one target, the other results")
    has_effect(before[:, 2], after[:, 2], "a target")
    changes_all_rows(before, result_of(block, x, 0.5 - memory), "A change of the memory")


@check(DECODER, points=0.015, layer="laws", rules=("dtype",), needs=(HEADS,))
def test_decoder_keeps_the_dtype(student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    block, (x, memory) = decoder_of(student, probe, THREE), tokens(probe, THREE)

    keeps_precision(block, x, memory, memory_mask(THREE))
    has_effect(result_of(block, x, memory), result_of(block, x, -memory), "the memory")


@check(DECODER, points=0.015, layer="laws", rules=("inputs_unchanged",), needs=(HEADS,))
def test_decoder_leaves_its_inputs_alone(student, probe):
    """The targets, the memory and the mask are unchanged, but they have an effect."""
    block, (x, memory) = decoder_of(student, probe, THREE), tokens(probe, THREE)

    expect(block.keeps_inputs(x, memory, memory_mask(THREE)), "The call changes one of its inputs.")
    has_effect(result_of(block, x, memory), result_of(block, x, -memory), "the memory")


@check(DECODER, points=0.1, layer="gradients", rules=("gradients",), needs=(HEADS,))
def test_decoder_can_be_trained(student, reference, probe):
    """The gradients of targets, memory and all parameters are right, with pre- and post-norm."""
    s = FEW
    for norm_first in (PRE_NORM, POST_NORM):
        yours, ours = both_blocks(student, reference, probe, DECODER, s, norm_first, "relu")
        given, back = tokens(probe, s), probe.normal(s.B, s.T_q, s.d_model)
        given = (*given, memory_mask(s))

        mine, wanted = (side.gradients(*given, cotangent=back) for side in (yours, ours))
        when = f" with norm_first={norm_first}"
        same_gradients(mine, wanted, "the targets", "the memory", when=when)


class Sizes(NamedTuple):
    """The arguments of a Translator: all different, so that no wrong axis fits by chance."""

    source_vocab: int
    target_vocab: int
    max_source: int
    max_target: int
    d_model: int
    num_heads: int
    num_blocks: int


SMALL = Sizes(11, 7, 8, 6, 6, 2, 1)
LARGE = Sizes(9, 8, 7, 6, 12, 3, 2)
TINY = Sizes(3, 5, 2, 4, 4, 2, 1)  # for checks that get all its parameters


def translator_shapes(s):
    """Return the shapes of a Translator's parameters, by name."""
    d = s.d_model
    shapes = {
        "source_emb.weight": (s.source_vocab, d),
        "source_pos.weight": (s.max_source, d),
        "target_emb.weight": (s.target_vocab, d),
        "target_pos.weight": (s.max_target, d),
    }
    for part, name in (("encoder", ENCODER), ("decoder", DECODER)):
        for block in range(s.num_blocks):
            shapes |= block_shapes(name, d, 4 * d, f"{part}.{block}.")
        shapes |= norm_shapes(d, f"{part}_norm.")
    return shapes | {"out_head.weight": (s.target_vocab, d), "out_head.bias": (s.target_vocab,)}


def both_translators(student, reference, probe, s):
    """Build two translators with equal weights, the student's and the reference."""
    weights = drawn_weights(probe, translator_shapes(s))
    return tuple(side.new("Translator", *s).load(weights) for side in (student, reference))


def texts(probe, s, B=3):
    """Draw sources with their mask, and inputs of the decoder."""
    source = draw_ids(probe, B, s.max_source, s.source_vocab)
    lengths = [s.max_source - 3 * (item % 2) for item in range(B)]
    inputs = draw_ids(probe, B, s.max_target, s.target_vocab)
    return source, inputs, padding_mask(*lengths, longest=s.max_source)


def logits_of(model, s, source, inputs, *mask):
    """Return the logits of a Translator."""
    shape = (*inputs.shape, s.target_vocab)
    return tensor_like(model(source, inputs, *mask), shape, "The logits")


# Translator


@check("Translator", points=0.04, layer="signature", needs=(HEADS, ENCODER, DECODER))
def test_translator_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes the documented arguments, and num_blocks is 1 by default."""
    sizes = dict(zip(Sizes._fields[:-1], SMALL, strict=False))

    default, one = (
        student.new("Translator", **sizes, **more).shapes() for more in ({}, {"num_blocks": 1})
    )
    expect(len(default) == len(one), "The default of num_blocks is not 1.")
    more = student.new("Translator", **sizes, num_blocks=2).shapes()
    expect(len(more) > len(one), "With two blocks there are no more parameters than with one.")


@check(
    "Translator",
    points=0.06,
    layer="signature",
    rules=("refuses",),
    needs=(HEADS, ENCODER, DECODER),
)
def test_translator_refuses_texts_that_are_too_long(student):
    """As many tokens as positions give logits; one more, in source or target, raises an error."""
    s = SMALL
    model = student.new("Translator", *s)
    source, inputs = torch.ones(1, s.max_source).long(), torch.ones(1, s.max_target).long()

    logits_of(model, s, source, inputs)
    longer = torch.ones(1, s.max_source + 1).long(), torch.ones(1, s.max_target + 1).long()
    is_refused(model.refuses(longer[0], inputs), "A source of more than max_source tokens")
    is_refused(model.refuses(source, longer[1]), "A target of more than max_target tokens")


@check("Translator", points=0.05, layer="shapes", needs=(HEADS, ENCODER, DECODER))
def test_translator_gives_a_row_for_each_input(student):
    """Sources (2, 5) give a memory (2, 5, 6), and inputs (2, 3) give logits (2, 3, 7)."""
    model = student.new("Translator", *SMALL)
    source, inputs = torch.ones(2, 5).long(), torch.ones(2, 3).long()

    memory = tensor_like(model.call("encode", source), (2, 5, 6), "The memory")
    tensor_like(model.call("decode", inputs, memory), (2, 3, 7), "The logits of decode")
    tensor_like(model(source, inputs), (2, 3, 7), "The logits")


@check("Translator", points=0.12, layer="parameters", needs=(HEADS, ENCODER, DECODER))
def test_translator_consists_of_the_documented_layers(student):
    """The parameters are those of the documented layers, here for two blocks."""
    sentence = "The Translator has more parameters than it must have."
    named(student.new("Translator", *LARGE), translator_shapes(LARGE), sentence)


@check("Translator", points=0.08, layer="parameters", needs=(HEADS, ENCODER, DECODER))
def test_translator_draws_its_layers_in_order(student, reference, probe):
    """All layers are created in the documented order, so a seed gives the expected weights."""
    yours, ours = (side.new("Translator", *TINY, seed=probe.seed) for side in (student, reference))

    drawn_alike(yours, ours)


@check("Translator", points=0.08, layer="probe", needs=(HEADS, ENCODER, DECODER))
def test_translator_encodes_the_source(student, reference, probe):
    """The memory is right, with and without a mask of the source, at the source's tokens."""
    s = SMALL
    yours, ours = both_translators(student, reference, probe, s)
    source, _, mask = texts(probe, s)

    whole = ours.call("encode", source)
    agrees(yours.call("encode", source), whole, "The memory")
    wanted = ours.call("encode", source, mask)
    found = tensor_like(yours.call("encode", source, mask), tuple(wanted.shape), "The memory")
    agrees(at_visible(found, mask), at_visible(wanted, mask), "The memory at the tokens")


@check("Translator", points=0.08, layer="probe", needs=(HEADS, ENCODER, DECODER))
def test_translator_decodes_a_memory(student, reference, probe):
    """For any memory, the logits of decode are right, with and without a mask of the source."""
    s = SMALL
    yours, ours = both_translators(student, reference, probe, s)
    _, inputs, mask = texts(probe, s)
    memory = probe.normal(3, s.max_source, s.d_model)

    for given in ((inputs, memory), (inputs[:, :4], memory, mask)):
        found, wanted = (side.call("decode", *given) for side in (yours, ours))
        when = " with a mask" if given[2:] else ""
        agrees(found, wanted, f"The logits of decode{when}")


@check("Translator", points=0.16, layer="probe", needs=(HEADS, ENCODER, DECODER))
def test_translator_gives_the_right_logits(student, reference, probe):
    """For padded sources, and for a single short one, the logits are right."""
    for s in (SMALL, LARGE):
        yours, ours = both_translators(student, reference, probe, s)
        source, inputs, mask = texts(probe, s)

        agrees(yours(source, inputs, mask), ours(source, inputs, mask), "The logits")
        few = source[:1, :3], inputs[:1, :2]
        agrees(yours(*few), ours(*few), "The logits of a short text")


@check("Translator", points=0.03, layer="probe", rules=("dtype",), needs=(HEADS, ENCODER, DECODER))
def test_translator_keeps_the_precision(student, probe):
    """A Translator in float64 gives logits in float64."""
    model, (source, inputs, mask) = own_translator(student, SMALL, probe), texts(probe, SMALL)

    model.move("float64")
    logits = logits_of(model, SMALL, source, inputs, mask)
    same_dtype(logits, torch.float64, "The logits of a Translator in float64")
    has_effect(logits[0], logits[1], "the item")


@check(
    "Translator",
    points=0.02,
    layer="probe",
    rules=("inputs_unchanged",),
    needs=(HEADS, ENCODER, DECODER),
)
def test_translator_leaves_the_ids_alone(student, probe):
    """Source, inputs and mask are unchanged after a call."""
    model, given = own_translator(student, SMALL, probe), texts(probe, SMALL)

    expect(model.keeps_inputs(*given), "The call changes one of its inputs.")
    logits = logits_of(model, SMALL, *given)
    has_effect(logits[0], logits[1], "the item")


def own_translator(student, s, probe):
    """Build a Translator with the weights that the student's code draws."""
    return student.new("Translator", *s, seed=probe.seed)


@check("Translator", points=0.11, layer="laws", needs=(HEADS, ENCODER, DECODER))
def test_forward_is_decode_after_encode(student, probe):
    """The logits are those of decode for the memory of encode, and the source has an effect."""
    s = SMALL
    model, (source, inputs, mask) = own_translator(student, s, probe), texts(probe, s)

    memory = model.call("encode", source, mask)
    logits = logits_of(model, s, source, inputs, mask)
    wanted = model.call("decode", inputs, memory, mask)
    agrees(wanted, logits, "The logits of decode for the memory of encode")
    others = logits_of(model, s, source.roll(1, dims=0), inputs, mask)
    has_effect(logits, others, "the source")


@check("Translator", points=0.08, layer="laws", needs=(HEADS, ENCODER, DECODER))
def test_translator_reads_each_item_alone(student, probe):
    """An item alone, without its padding, gets the logits that it gets in a batch; items differ."""
    s = SMALL
    model, (source, inputs, mask) = own_translator(student, s, probe), texts(probe, s)

    together = logits_of(model, s, source, inputs, mask)
    for item in range(3):
        length = int(mask[item].sum())
        alone = model(source[item : item + 1, :length], inputs[item : item + 1])
        agrees(alone, together[item : item + 1], "The logits of an item alone")
    has_effect(together[0], together[1], "the item")


@check("Translator", points=0.08, layer="laws", needs=(HEADS, ENCODER, DECODER))
def test_translator_never_looks_ahead(student, probe):
    """A change of a later input changes no logits before it; that of an earlier one does."""
    s = LARGE
    model, (source, inputs, mask) = own_translator(student, s, probe), texts(probe, s)
    others = inputs.clone()
    others[:, 3] = (inputs[:, 3] + 1) % s.target_vocab

    before, after = (logits_of(model, s, source, one, mask) for one in (inputs, others))
    agrees(
        after[:, :3], before[:, :3], "After a change of a later input, the logits of earlier ones"
    )
    has_effect(before[:, 4:], after[:, 4:], "an input", " on later logits")


@check("Translator", points=0.11, layer="laws", needs=(HEADS, ENCODER, DECODER))
def test_positions_tell_orders_apart(student, probe):
    """With source_pos, a reversed source gives other logits, and without it the same ones. With
    target_pos, equal inputs give different logits, and without it the same ones.
    """
    s = SMALL
    model, (source, _, _) = own_translator(student, s, probe), texts(probe, s)
    source[:, 0] = (source[:, -1] + 1) % s.source_vocab
    inputs = torch.full((3, 4), 2)

    def logits(one):
        return logits_of(model, s, one, inputs)

    before = logits(source)
    has_effect(before, logits(source.flip(1)), "the order of the source")
    has_effect(before[:, 1:], before[:, :-1], "the position of an input")
    model.load({"source_pos.weight": torch.zeros(s.max_source, s.d_model)})
    agrees(logits(source.flip(1)), logits(source), "Without source_pos, the logits")
    model.load({"target_pos.weight": torch.zeros(s.max_target, s.d_model)})
    after = logits(source)
    agrees(after[:, 1:], after[:, :-1], "Without target_pos, the logits of equal inputs")


@check(
    "Translator",
    points=0.1,
    layer="gradients",
    rules=("gradients",),
    needs=(HEADS, ENCODER, DECODER),
)
def test_translator_can_be_trained(student, reference, probe):
    """The gradient of every parameter is right."""
    s = TINY
    yours, ours = both_translators(student, reference, probe, s)
    source = draw_ids(probe, 2, s.max_source, s.source_vocab)
    inputs = draw_ids(probe, 2, s.max_target, s.target_vocab)
    back = probe.normal(2, s.max_target, s.target_vocab)

    mine, wanted = (side.gradients(source, inputs, cotangent=back) for side in (yours, ours))
    same_gradients(mine, wanted)


def loss_of(student, logits, targets, *options):
    """Return the loss as a number; it must be a tensor without axes."""
    answer = student.call(LOSS, logits, targets, *options)
    return number(tensor_like(answer, (), "The loss"), "The loss")


def draw_targets(probe, V, *, B=3, T=5, padding=0):
    """Draw logits and targets whose items have different numbers of targets."""
    logits = 1.5 * probe.normal(B, T, V)
    targets = draw_ids(probe, B, T, V - 1)
    targets = targets + (targets >= padding)  # every id but the padding
    mask = padding_mask(*(T - 2 * (item % 2) for item in range(B)), longest=T)
    return logits, targets.masked_fill(~mask, padding)


# smoothed_cross_entropy


@check(LOSS, points=0.1, layer="documented")
def test_loss_is_the_documented_one(student, documented):
    """Certain logits with a smoothing of 0.1 give the documented loss, 400 · 0.1 / 3."""
    logits = torch.tensor([[[100.0, -100.0, -100.0]]])

    answer = student.call(LOSS, logits, torch.tensor([[0]]), 0.1, 2)
    documented["keras.smoothed"].matches(tensor_like(answer, (), "The loss"), "The loss")


@check(LOSS, points=0.15, layer="documented")
def test_loss_has_the_documented_labels(student, documented):
    """The losses of three logits show the documented smoothed targets."""
    shown = []
    for token in range(3):
        logits = -torch.eye(3)[token].view(1, 1, 3)
        shown.append(loss_of(student, logits, torch.tensor([[1]]), 0.1, 2))
    labels = torch.tensor(shown) - math.log(2 + math.exp(-1))

    documented["optax.smoothed_labels"].matches(labels, "The target that the losses show")


@check(LOSS, points=0.08, layer="probe")
def test_loss_without_smoothing_is_the_cross_entropy(student, reference, probe):
    """Without smoothing, for targets without padding, the loss is right."""
    for B, T, V in ((3, 5, 7), (1, 4, 9)):
        logits, targets = 1.5 * probe.normal(B, T, V), draw_ids(probe, B, T, V, first=1)

        agrees(
            student.call(LOSS, logits, targets), reference.call(LOSS, logits, targets), "The loss"
        )


@check(LOSS, points=0.08, layer="probe")
def test_loss_smooths_the_targets(student, reference, probe):
    """With smoothing, for targets without padding, the loss is right."""
    for V, smoothing in ((7, 0.3), (4, 0.1), (9, 0.8)):
        given = 1.5 * probe.normal(2, 5, V), draw_ids(probe, 2, 5, V, first=1), smoothing

        agrees(student.call(LOSS, *given), reference.call(LOSS, *given), "The loss")


@check(LOSS, points=0.07, layer="probe")
def test_loss_leaves_padding_out(student, reference, probe):
    """With padding, the loss is the mean over all targets that are not padding."""
    for V, smoothing in ((7, 0.0), (6, 0.2)):
        given = *draw_targets(probe, V), smoothing

        agrees(student.call(LOSS, *given), reference.call(LOSS, *given), "The loss")


@check(LOSS, points=0.04, layer="probe")
def test_loss_knows_other_paddings(student, reference, probe):
    """The padding may have another id; then targets of 0 count."""
    for padding in (3, 5):
        given = *draw_targets(probe, 6, padding=padding), 0.1, padding

        agrees(student.call(LOSS, *given), reference.call(LOSS, *given), "The loss")


@check(LOSS, points=0.06, layer="probe")
def test_loss_of_huge_logits_is_finite(student, reference, probe):
    """For logits of up to ±1000, the loss is right."""
    logits, targets = draw_targets(probe, 7)
    given = 1000.0 * logits.sign() + logits, targets, 0.1

    agrees(student.call(LOSS, *given), reference.call(LOSS, *given), "The loss")


@check(LOSS, points=0.01, layer="probe", rules=("dtype",))
def test_loss_keeps_the_dtype(student, probe):
    """Float64 logits give a float64 loss, and float32 logits a float32 loss."""
    logits, targets = draw_targets(probe, 7)

    for dtype in (torch.float64, torch.float32):
        answer = tensor_like(student.call(LOSS, logits.to(dtype), targets, 0.1), (), "The loss")
        same_dtype(answer, dtype, f"The loss of {dtype} logits")
        expect(answer > EFFECT, "The loss is not clearly above 0.")


@check(LOSS, points=0.01, layer="probe", rules=("inputs_unchanged",))
def test_loss_leaves_its_inputs_alone(student, probe):
    """Logits and targets are unchanged after the call."""
    logits, targets = draw_targets(probe, 7)

    expect(student.keeps_inputs(LOSS, logits, targets, 0.1), "The call changes one of its inputs.")
    expect(loss_of(student, logits, targets, 0.1) > EFFECT, "The loss is not clearly above 0.")


@check(LOSS, points=0.1, layer="laws")
def test_loss_is_linear_in_the_smoothing(student, probe):
    """A smoothing of 0.3 gives 0.7 times the loss of 0 plus 0.3 times that of 1; mostly right
    logits get dearer by smoothing.
    """
    _, targets = draw_targets(probe, 7)
    logits = probe.normal(3, 5, 7) + 6.0 * torch.nn.functional.one_hot(targets, 7)

    plain, mixed, even = (loss_of(student, logits, targets, one) for one in (0.0, 0.3, 1.0))
    sums = 0.7 * plain + 0.3 * even, "The loss with a smoothing of 0.3", "the sum of both shares"
    agrees(mixed, *sums)
    expect(even > plain + 0.5, "Smoothing hardly increases the loss of right logits, or not.")


@check(LOSS, points=0.1, layer="laws")
def test_loss_is_blind_to_padding(student, probe):
    """The logits at padding have no effect; a larger logit of a target lowers the loss."""
    logits, targets = draw_targets(probe, 7)
    hidden = (targets == 0)[..., None]
    better = logits + 2.0 * torch.nn.functional.one_hot(targets, 7) * ~hidden

    before = loss_of(student, logits, targets, 0.2)
    after = loss_of(student, torch.where(hidden, -2 * logits, logits), targets, 0.2)
    agrees(after, before, "The loss after a change of the logits at padding", "that before")
    lower = loss_of(student, better, targets, 0.2) < before - EFFECT
    expect(lower, "Larger logits of the targets hardly lower the loss, or not.")


@check(LOSS, points=0.1, layer="laws")
def test_equal_logits_cost_the_logarithm_of_their_number(student, probe):
    """If all logits are equal, the loss is ln V; a number added to all logits changes nothing."""
    for V, smoothing in ((7, 0.0), (5 + probe.number % 7, 0.4)):
        logits, targets = draw_targets(probe, V)

        equal = probe.normal(3, 5, 1).expand(3, 5, V).contiguous()
        found = loss_of(student, equal, targets, smoothing)
        number_agrees(found, math.log(V), "The loss of equal logits")
        before = loss_of(student, logits, targets, smoothing)
        moved = loss_of(student, logits + 8.0 * probe.normal(3, 5, 1), targets, smoothing)
        agrees(moved, before, "The loss of moved logits", "that of the logits")
        expect(abs(before - math.log(V)) > EFFECT, "Different logits cost about ln V.")


@check(LOSS, points=0.1, layer="laws")
def test_smoothed_target_itself_costs_least(student, probe):
    """The least loss is the entropy of the smoothed target; certainty costs more."""
    V, smoothing = 5 + probe.number % 4, 0.2
    _, targets = draw_targets(probe, V)
    one_hot = torch.nn.functional.one_hot(targets, V).float()
    q = (1 - smoothing) * one_hot + smoothing / V

    least = loss_of(student, q.log(), targets, smoothing)
    right, other = 1 - smoothing + smoothing / V, smoothing / V
    entropy = -right * math.log(right) - (V - 1) * other * math.log(other)
    number_agrees(least, entropy, "The loss of the smoothed target itself")
    certain = loss_of(student, 20.0 * one_hot, targets, smoothing)
    expect(certain > least + EFFECT, "Certainty costs little or no more than the smoothed target.")


@check(LOSS, points=0.1, layer="gradients", rules=("gradients",))
def test_loss_can_be_trained(student, reference, probe):
    """The gradient of the logits is right, with smoothing and padding."""
    for V, smoothing in ((7, 0.2), (5, 0.0)):
        given = *draw_targets(probe, V), smoothing

        back = torch.tensor(1.7)
        mine, wanted = (
            side.gradients(LOSS, *given, cotangent=back) for side in (student, reference)
        )
        same_gradients(mine, wanted, "the logits")


@check(LOSS, points=0.1, layer="forbidden", rules=("no_ready_loss",))
def test_loss_is_written_by_hand(student, probe):
    """The loss is computed step by step, not by torch's ready-made losses."""
    given = *draw_targets(probe, 7), 0.2

    avoids_itself(student, LOSS, READY_LOSS, OWN_LOSS, student.operators(LOSS, *given), {})
    expect(loss_of(student, *given) > EFFECT, "The loss is not clearly above 0.")


class Task(NamedTuple):
    """Three sources to translate, with a Translator's weights and the special ids."""

    weights: dict
    source: torch.Tensor
    mask: torch.Tensor
    start: int
    end: int
    padding: int

    def given(self, max_length):
        """Return the arguments after the model; those with defaults are left out."""
        options = (self.padding,) if self.padding else ()
        return self.source, self.mask, self.start, self.end, max_length, *options


TASKS = Sizes(13, 8, 8, 6, 12, 3, 1)  # large enough for translations that differ
SPECIAL = ((1, 2, 0), (3, 0, 5))  # start, end and padding


def draw_task(reference, probe, s, special=SPECIAL[0], *, ends=True):
    """Draw a Translator and three sources whose translations end at different steps.

    All ids are equally likely on average, except for the padding and the start. The two largest
    logits are never close. Without *ends*, the end is as impossible as the start.
    """
    start, end, padding = special
    never = [start, padding] if ends else [start, padding, end]
    for _ in range(20):
        weights = drawn_weights(probe, translator_shapes(s))
        for block in range(s.num_blocks):  # so that the source decides much
            weights[f"decoder.{block}.cross_att.out_proj.weight"] *= 5
        ours = reference.new("Translator", *s).load(weights)
        source = draw_ids(probe, CANDIDATES, s.max_source, s.source_vocab)
        lengths = [s.max_source - item % 4 for item in range(CANDIDATES)]
        mask = padding_mask(*lengths, longest=s.max_source)
        inputs = draw_ids(probe, 4, s.max_target, s.target_vocab)
        mean = ours(source[:4], inputs, mask[:4]).mean(dim=(0, 1))
        weights["out_head.bias"] = weights["out_head.bias"] - mean
        weights["out_head.bias"][never] = NEVER
        ours.load(weights)
        ids = reference.call(GREEDY, ours, source, mask, start, NEVER_ENDS, s.max_target, padding)
        items = representatives(ids.tolist(), end, 2 if ends else 6)
        rows = [(item, ids[item].tolist()) for item in items]
        if not three_of(rows, end, s.max_target, ends=ends):
            continue
        task = Task(weights, source[items], mask[items], start, end, padding)
        clear = are_clear(ours, task, ids[items])
        kept = [row for row, is_clear in zip(rows, clear, strict=True) if is_clear]
        chosen = three_of(kept, end, s.max_target, ends=ends)
        if chosen:
            return task._replace(source=source[chosen], mask=mask[chosen])
    msg = "no translator with clear translations was drawn"
    raise AssertionError(msg)


NEVER_ENDS = -1  # an end that no id is equal to


def length_of(row, end):
    """Return the length of a translation with its end; one more than its ids if it never ends."""
    return row.index(end) + 1 if end in row else len(row) + 1


def representatives(rows, end, most):
    """Return for each length at most so many items with different translations."""
    found = {}
    for item, row in enumerate(rows):
        if len(set(row)) > 1:
            found.setdefault(length_of(row, end), {}).setdefault(tuple(row), item)
    return [item for _, items in sorted(found.items()) for item in [*items.values()][:most]]


def are_clear(model, task, ids):
    """Return for each item whether its largest logit is clearly the largest one in each step."""
    inputs = torch.cat((torch.full((len(ids), 1), task.start), ids[:, :-1]), dim=1)
    top = model(task.source, inputs, task.mask).topk(2).values  # (B, T, 2)
    return (top[..., 0] - top[..., 1] > CLEAR).all(dim=1).tolist()


def three_of(items, end, T, *, ends):
    """Return three items of pairs (item, row): with *ends*, two end early, and one never."""
    never = [item for item, row in items if length_of(row, end) > T]
    early = [item for item, row in items if length_of(row, end) < T]
    if not ends:
        return never[:3] if len(never) > 2 else []
    lengths = {length_of(row, end) for _, row in items} - {T, T + 1}
    return [early[-1], never[0], early[0]] if never and len(lengths) > 1 else []


def translated(student, model, max_length, *given):
    """Return the ids that greedy_translate writes."""
    answer = tensor(student.call(GREEDY, model, *given), "The translation")
    same_dtype(answer, torch.int64, "The translation")
    fits = answer.ndim == 2 and len(answer) == len(given[0]) and answer.shape[1] <= max_length
    sentence = f"The translation has shape {tuple(answer.shape)}, not (B, T) with T ≤ max_length."
    expect(
        fits,
        "The translation is not (B, T) with T ≤ max_length.",
        Status.WRONG_SHAPE,
        message=sentence,
    )
    return answer


def model_of(student, s, task):
    """Build the student's Translator with the weights of the task."""
    return student.new("Translator", *s).load(task.weights, may_lack=LACKS)


def same_translation(student, reference, s, task, max_length):
    """Compare the translations of the student and of the reference."""
    yours, ours = (model_of(side, s, task) for side in (student, reference))
    wanted = reference.call(GREEDY, ours, *task.given(max_length))

    found = translated(student, yours, max_length, *task.given(max_length))
    agrees(found, wanted, "The translation")


# greedy_translate


@check(GREEDY, points=0.1, layer="shapes", needs=("Translator",))
def test_translation_is_a_batch_of_ids(student):
    """Two sources, max_length 4 and an end that is not reached give int64 ids (2, 4)."""
    s = SMALL
    model = student.new("Translator", *s)
    source, mask = torch.ones(2, 5).long(), torch.ones(2, 5) == 1

    found = translated(student, model, 4, source, mask, 1, s.target_vocab, 4)
    tensor_like(found, (2, 4), "The translation")


@check(GREEDY, points=0.21, layer="probe", needs=("Translator",))
def test_translation_is_right(student, reference, probe):
    """Three padded sources, of which two end early, get the most likely ids."""
    task = draw_task(reference, probe, TASKS)

    same_translation(student, reference, TASKS, task, TASKS.max_target)


@check(GREEDY, points=0.19, layer="probe", needs=("Translator",))
def test_translation_stops_when_all_have_ended(student, reference, probe):
    """If all items have ended before max_length, the translation is as long as the longest."""
    task = draw_task(reference, probe, TASKS)
    keep = [0, 2]  # both end early
    task = task._replace(source=task.source[keep], mask=task.mask[keep])

    same_translation(student, reference, TASKS, task, TASKS.max_target)


@check(GREEDY, points=0.15, layer="probe", needs=("Translator",))
def test_translation_uses_the_special_ids(student, reference, probe):
    """With another start, end and padding, and a larger model, the ids are right."""
    task = draw_task(reference, probe, LARGE, SPECIAL[1])

    same_translation(student, reference, LARGE, task, LARGE.max_target)


@check(GREEDY, points=0.1, layer="probe", needs=("Translator",))
def test_translation_may_be_of_a_single_source(student, reference, probe):
    """A single source without a mask gets the right ids, for every max_length."""
    task = draw_task(reference, probe, TASKS)
    length = int(task.mask[1].sum())
    one = task._replace(source=task.source[1:2, :length], mask=None)

    for max_length in (1, 3, TASKS.max_target):
        same_translation(student, reference, TASKS, one, max_length)


@check(GREEDY, points=0.1, layer="probe", needs=("Translator",))
def test_translation_may_have_no_end(student, reference, probe):
    """If no item ends, each gets max_length ids."""
    task = draw_task(reference, probe, TASKS, ends=False)

    same_translation(student, reference, TASKS, task, TASKS.max_target)


def law_task(student, reference, probe):
    """Return a task, the student's model, its ids and the steps at which the items end."""
    task = draw_task(reference, probe, TASKS)
    model = model_of(student, TASKS, task)
    ids = translated(student, model, TASKS.max_target, *task.given(TASKS.max_target))
    ends = [row.index(task.end) if task.end in row else len(row) - 1 for row in ids.tolist()]
    return task, model, ids, ends


@check(GREEDY, points=0.15, layer="laws", needs=("Translator",))
def test_item_alone_gets_its_translation(student, reference, probe):
    """An item alone, without padding, gets the ids that it gets in a batch; items differ."""
    task, model, ids, ends = law_task(student, reference, probe)

    for item, end in enumerate(ends):
        length = int(task.mask[item].sum())
        one = task._replace(source=task.source[item : item + 1, :length], mask=None)
        alone = translated(student, model, TASKS.max_target, *one.given(TASKS.max_target))
        batch = ids[item, : end + 1].tolist()
        agrees(alone[0].tolist(), batch, "The translation of an item alone", "that in the batch")
    expect(len({tuple(row) for row in ids.tolist()}) == 3, "Two items get the same translation.")


@check(GREEDY, points=0.13, layer="laws", needs=("Translator",))
def test_smaller_max_length_gives_the_beginning(student, reference, probe):
    """With a smaller max_length, the translation is the beginning of the longer one."""
    task, model, ids, _ = law_task(student, reference, probe)

    expect(ids.shape[1] > 3, "No translation has more than three ids.")
    for max_length in (1, 2, 3):
        found = translated(student, model, max_length, *task.given(max_length))
        agrees(found, ids[:, :max_length], "The translation with a smaller max_length")
    expect(len(set(ids.flatten().tolist())) > 2, "There are at most two different ids.")


@check(GREEDY, points=0.14, layer="laws", needs=("Translator",))
def test_model_predicts_its_own_translation(student, reference, probe):
    """If the translation is fed back, the model predicts each of its ids, up to the end."""
    task, model, ids, ends = law_task(student, reference, probe)
    inputs = torch.cat((torch.full((3, 1), task.start), ids[:, :-1]), dim=1)

    known = ids.shape[1] <= TASKS.max_target and bool(
        ((ids >= 0) & (ids < TASKS.target_vocab)).all()
    )
    expect(known, "The translation holds an id that the model does not know.")
    predicted = logits_of(model, TASKS, task.source, inputs, task.mask).argmax(dim=-1)
    for row, own, end in zip(predicted.tolist(), ids.tolist(), ends, strict=True):
        wanted = row[: end + 1], "The translation of an item", "what the model predicts for it"
        agrees(own[: end + 1], *wanted)
    expect(len(set(ids.flatten().tolist())) > 2, "There are at most two different ids.")


@check(GREEDY, points=0.13, layer="laws", needs=("Translator",))
def test_padding_follows_the_end(student, reference, probe):
    """After the end of an item follows only padding; there is none before it, and no start."""
    task, _, ids, ends = law_task(student, reference, probe)

    early = [end for end, row in zip(ends, ids.tolist(), strict=True) if task.end in row]
    expect(len(early) == 2, "The end id is not in exactly two of three translations.")
    for row, end in zip(ids.tolist(), ends, strict=True):
        agrees(row[end + 1 :], [task.padding] * len(row[end + 1 :]), "What follows the end")
        clean = task.padding not in row[: end + 1] and task.start not in row
        expect(clean, "There is padding before the end, or the start is in the translation.")


@check(GREEDY, points=0.05, layer="forbidden", rules=("no_graph",), needs=("Translator",))
def test_translation_builds_no_graph(student):
    """The model runs under torch.no_grad() or an equivalent."""
    source = torch.ones(2, 5).long()
    model = student.new("Translator", *SMALL)
    translated(student, model, 4, source, None, 1, SMALL.target_vocab, 4)

    uses = student.uses(GREEDY)
    stated = any(WITHOUT_GRAPH.intersection(use.name.split(".")) for use in uses)
    graph = "greedy_translate uses neither torch.no_grad() nor an equivalent."
    expect(stated, graph, Status.FORBIDDEN)


LOOKED_UP = Sizes(29, 7, 8, 6, 6, 2, 1)  # no other size is a multiple of 29


def looking(student, probe):
    """Build a Translator whose table of the source is the only one of its size."""
    s = LOOKED_UP
    weights = drawn_weights(probe, translator_shapes(s))
    weights["out_head.bias"][2] = NEVER
    model = student.new("Translator", *s).load(weights, may_lack=LACKS)
    source = draw_ids(probe, 2, 5, s.source_vocab)
    return model, (source, torch.ones(2, 5) == 1, 1, 2)


@check(GREEDY, points=0.05, layer="forbidden", rules=("encoded_once",), needs=("Translator",))
def test_source_is_encoded_once(student, probe):
    """A translation of 6 ids looks up the source as often as one of 1 id."""
    model, given = looking(student, probe)

    short, long = (student.operators(GREEDY, model, *given, one) for one in (1, 6))
    keeps_lookups(short, long, (LOOKED_UP.source_vocab, LOOKED_UP.d_model), ONCE)
