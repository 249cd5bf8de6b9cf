"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import itertools
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, number, same_dtype, tensor, tensor_like
from autograder.suite.forbidden import avoids, avoids_itself
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
READY_CLIPPING = frozenset(
    {
        "clip_grad_norm",
        "clip_grad_norm_",
        "clip_grad_value_",
        "clip_grads_with_norm_",
        "get_total_norm",
    }
)
READY_GELU = frozenset(
    {
        "GELU",
        "GLU",
        "gelu",
        "gelu_",
        "glu",
    }
)
READY_NORM = frozenset(
    {
        "BatchNorm1d",
        "BatchNorm2d",
        "GroupNorm",
        "InstanceNorm1d",
        "LayerNorm",
        "RMSNorm",
        "_fused_rms_norm",
        "batch_norm",
        "group_norm",
        "instance_norm",
        "layer_norm",
        "native_batch_norm",
        "native_group_norm",
        "native_layer_norm",
        "rms_norm",
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
HEADS = "MultiHeadAttention"
BLOCK = "TransformerBlock"
TIED, UNTIED = True, False
QKV_BIAS, NO_BIAS = True, False
PRE_NORM, POST_NORM = True, False
LAYER_EPS = 1e-5
EFFECT = 0.01  # far above float32 noise; the changes that the laws make have larger effects
FAR = 100.0  # a change of a value that even a small weight shows
SEED = 3  # of draws that are compared with draws of the same code only
WITHOUT_GRAPH = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
BY_HAND = "Use your own attention: scores, softmax, weighted values."
NORM_BY_HAND = "Use your own LayerNorm."
GELU_BY_HAND = "Use your own gelu."
DRAWN = 2000


class Sizes(NamedTuple):
    """Sizes of a GPT: all different, so that no wrong axis fits by chance."""

    V: int
    context: int
    d_model: int
    H: int
    layers: int


ONE = Sizes(V=11, context=9, d_model=6, H=2, layers=1)
TWO = Sizes(V=7, context=5, d_model=12, H=3, layers=2)
THREE = Sizes(V=13, context=8, d_model=10, H=1, layers=3)


def draw_ids(probe, B, T, V):
    """Draw token ids."""
    return (probe.uniform(B, T) * V).long()


def drawn_weights(probe, shapes):
    """Draw weights of these shapes, so that every layer gives results of variance 1."""
    weights = {}
    for name, shape in shapes.items():
        drawn = probe.normal(*shape)
        if name.endswith("scale"):
            drawn = drawn + drawn.sign()
        elif name.endswith("weight") and "emb" not in name:
            drawn = drawn * shape[-1] ** -0.5
        weights[name] = drawn
    return weights


def both(student, reference, probe, name, *sizes):
    """Build the student's module and the reference module, with the same drawn weights."""
    ours = reference.new(name, *sizes)
    weights = drawn_weights(probe, ours.shapes())
    return student.new(name, *sizes).load(weights), ours.load(weights)


def both_transformers(student, reference, probe, V, d_model=6):
    """Build two equal models from torch's layers; a prediction depends on all given tokens."""
    vectors = {"weight": 2 * probe.normal(V, d_model)}
    head = {"weight": 2 * probe.normal(V, d_model), "bias": probe.normal(V)}

    def build(side):
        sizes = (d_model, 2, d_model + 3, 0.0)  # two heads, and no dropout
        layer = side.new("nn.TransformerEncoderLayer", *sizes, batch_first=True, seed=probe.seed)
        embedding = side.new("nn.Embedding", V, d_model).load(vectors)
        return side.new(
            "nn.Sequential", embedding, layer, side.new("nn.Linear", d_model, V).load(head)
        )

    return build(student), build(reference)


def both_tables(student, reference, probe, V):
    """Build two equal tables of logits, each an nn.Embedding of torch."""
    weights = {"weight": 2 * probe.normal(V, V)}
    return tuple(side.new("nn.Embedding", V, V).load(weights) for side in (student, reference))


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


def same_gradients(yours, ours):
    """Compare the gradients of all parameters."""
    for name, gradient in ours.parameters.items():
        found = yours.parameters.get(name)
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, gradient, f"The gradient of {name}")


def differs(one, other):
    """Return whether two results of the same shape differ much more than float32 noise."""
    apart = (one.double() - other.double()).abs()
    return bool(apart.numel()) and bool(apart.max() > EFFECT)


def has_effect(before, after, what, on=""):
    """Fail the check if a change of *what* has left a result as it was."""
    expect(differs(before, after), f"A change of {what} has no clear effect{on}.")


def result_of(module, x, d_out=None):
    """Return the result of a module for tokens of features."""
    return tensor_like(module(x), (*x.shape[:-1], d_out or x.shape[-1]), "The result")


def logits_of(model, ids, V):
    """Return the logits for the ids."""
    return tensor_like(model(ids), (*ids.shape, V), "The logits")


def computes(module, x, d_out=None):
    """Fail the check if *module* returns its input, or the same numbers for other tokens."""
    one, other = (result_of(module, each, d_out) for each in (x, 0.5 - x))
    has_effect(one, other, "the tokens")
    expect(one.shape != x.shape or differs(one, x), "The result is almost the input.")


def treats_tokens_apart(module, x):
    """Fail the check unless a token of a batch gets the result that it gets alone."""
    together = result_of(module, x)
    alone = result_of(module, x[1:2, 2:3].contiguous())
    agrees(alone, together[1:2, 2:3], "The result of a token alone")
    expect(differs(together[0, 0], together[1, 2]), "Different tokens give almost the same result.")
    expect(differs(together, x), "The result is almost the input.")


def counts_of(answer, V, what):
    """Count how often each token is among the drawn ids, or fail the check."""
    drawn = tensor(answer, what).flatten()
    known = not drawn.is_floating_point() and ((drawn >= 0) & (drawn < V)).all()
    expect(known, f"{what} contains a value that is not a token id.")
    return torch.bincount(drawn.long(), minlength=V)


def frequencies_fit(counts, shares, what):
    """Fail the check if *counts* differ from *shares* by more than five standard errors."""
    shares = shares / shares.sum()
    n = counts.sum()
    error = 5 * (n * shares * (1 - shares)).sqrt()
    fits = ((counts - n * shares).abs() <= error).all()
    expect(fits, f"{what}, the tokens are not drawn with their probabilities.")


def is_refused(refused, what):
    """Fail the check if a wrong argument is accepted."""
    sentence = f"{what} gives a result; it should raise a ValueError."
    expect(refused, sentence, Status.NOT_REFUSED)


def heads_of(student, probe, d_in, H, change=None):
    """Build a MultiHeadAttention with as many features out as in; *change* changes its weights."""
    shapes = {f"{name}.weight": (d_in, d_in) for name in ("W_query", "W_key", "W_value")}
    shapes |= {"out_proj.weight": (d_in, d_in), "out_proj.bias": (d_in,)}
    weights = (change or dict)(drawn_weights(probe, shapes))
    return student.new(HEADS, d_in, d_in, 9, 0.0, H, NO_BIAS).load(weights)


# MultiHeadAttention


@check(HEADS, points=0, layer="probe")
def test_heads_still_attend(student, reference, probe):
    """The copied class gives the right results for several sizes and lengths."""
    for d_in, d_out, context, H, qkv_bias in ((7, 6, 9, 2, False), (5, 12, 6, 3, True)):
        sizes = (d_in, d_out, context, 0.0, H, qkv_bias)
        yours, ours = both(student, reference, probe, HEADS, *sizes)

        for T in (context - 1, context, 1):
            x = probe.normal(4, T, d_in)
            agrees(yours(x), ours(x), f"The context with qkv_bias={qkv_bias}")


@check(HEADS, points=0, layer="laws")
def test_heads_still_see_the_past_and_not_the_future(student, probe):
    """A token affects the tokens after it, and none before it."""

    def only_values(weights):  # the last feature of a token has an effect on its value only
        for name in ("W_query", "W_key"):
            weights[f"{name}.weight"][:, -1] = 0
        return weights

    yours, x = heads_of(student, probe, 6, 2, only_values), probe.normal(3, 7, 6)
    others = x.clone()
    others[:, 3, -1] += FAR
    before, after = (result_of(yours, one) for one in (x, others))
    agrees(
        after[:, :3], before[:, :3], "After a change of a later token, the context of earlier ones"
    )
    has_effect(before[:, 4:], after[:, 4:], "a token", " on later ones")


@check(HEADS, points=0, layer="laws")
def test_heads_still_have_weights_that_sum_to_one(student, probe):
    """If all values are equal, every context vector before out_proj is this value."""
    value = probe.normal(8)

    def equal_values(weights):  # the value of each token uses only its leading 1
        weights["W_value.weight"] *= 0
        weights["W_value.weight"][:, 0] = value
        return weights | {"out_proj.weight": torch.eye(8), "out_proj.bias": torch.zeros(8)}

    x = probe.normal(3, 5, 8)
    x[..., 0] = 1.0
    agrees(heads_of(student, probe, 8, 4, equal_values)(x), value.expand_as(x), "The context")


@check(HEADS, points=0, layer="laws")
def test_heads_still_keep_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone, and items differ."""
    yours, x = heads_of(student, probe, 6, 3), probe.normal(3, 5, 6)

    together = result_of(yours, x)
    for item in range(3):
        alone = result_of(yours, x[item : item + 1].contiguous())
        agrees(alone, together[item : item + 1], "The result of an item alone")
    has_effect(together[0], together[1], "the item")
    expect(differs(together, x), "The result is almost the input.")


WIDE = {"B": 3, "T": 12, "H": 2, "d_in": 15, "d_out": 48, "context": 13}
P = 0.3  # the probability with which a weight is dropped


def readable(student, probe):
    """Build a module whose outputs show the attention weights, each weight twice."""
    B, T, H, d_in, d_out, context = WIDE.values()
    weights = {
        "W_query.weight": probe.normal(d_out, d_in, scale=0.4),
        "W_key.weight": probe.normal(d_out, d_in, scale=0.4),
        "W_value.weight": torch.eye(T, d_in).repeat(2 * H, 1),
        "out_proj.weight": torch.eye(d_out),
        "out_proj.bias": torch.zeros(d_out),
    }
    x = probe.normal(B, T, d_in, scale=0.6)
    x[..., :T] = torch.eye(T)
    sizes = (d_in, d_out, context, P, H, NO_BIAS)
    return student.new(HEADS, *sizes).load(weights), x


def read(context):
    """Read the attention weights, (B, H, T, T), from both copies."""
    B, T, H, _, d_out, _ = WIDE.values()
    answer = tensor_like(context, (B, T, d_out), "The context")
    return answer.view(B, T, H, 2, T).permute(3, 0, 2, 1, 4)


@check(HEADS, points=0, layer="laws")
def test_heads_still_drop_weights(student, probe):
    """In training some weights are dropped and the others are rescaled; in eval mode none is."""
    yours, x = readable(student, probe)
    read(yours(x))
    whole, _ = read(yours.eval()(x))
    weights, twice = read(yours.train()(x))
    visible = torch.ones(WIDE["T"], WIDE["T"]).tril() == 1
    dropped = (weights.abs() < 1e-6) & visible
    kept = bool((whole[..., visible].abs() > 1e-6).all())
    expect(kept, "In eval mode, a visible weight is almost zero or NaN.")
    expect(dropped.any(), "In training mode, no visible weight is zero.")
    expect(
        alike(weights.nan_to_num(), twice.nan_to_num()),
        "Two features that must hold the same weight differ; dropout may change weights only.",
    )
    remaining = torch.where(dropped, weights, whole / (1 - P))
    expect(
        alike(weights[..., visible], remaining[..., visible]),
        "In training, a remaining weight is not that of eval mode divided by 1 - dropout.",
    )
    share = float(dropped[..., visible].float().mean())  # 468 weights: standard error 0.02
    expect(
        abs(share - P) < 0.15, "The share of dropped weights is far from the probability dropout."
    )
    again, _ = read(yours(x))
    expect(not torch.equal(weights, again), "Two calls drop the same weights.")


@check(HEADS, points=0, layer="laws", rules=("refuses",))
def test_heads_still_refuse_what_does_not_fit(student, probe):
    """An uneven split and a text of more than context_length tokens raise an error."""
    yours = student.new(HEADS, 7, 8, 12, 0.0, 2, NO_BIAS)
    computes(yours, probe.normal(2, 12, 7), 8)
    is_refused(yours.refuses(probe.normal(2, 13, 7)), "A text of more than context_length tokens")
    refused = student.refuses(HEADS, 7, 8, 12, 0.0, 3)
    refused = refused or student.new(HEADS, 7, 8, 12, 0.0, 3).refuses(probe.normal(2, 12, 7))
    is_refused(refused, "A d_out that num_heads does not divide")


@check(HEADS, points=0, layer="forbidden", rules=("no_ready_attention",))
def test_heads_are_still_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, x = heads_of(student, probe, 6, 2), probe.normal(3, 5, 6)

    avoids_itself(student, HEADS, READY_ATTENTION, BY_HAND, yours.operators(x), {})
    computes(yours, x)


def layer_norm(student, weights):
    """Build a LayerNorm with these weights."""
    return student.new("LayerNorm", len(weights["scale"]), LAYER_EPS).load(weights)


def norm_weights(probe, d_model):
    """Draw a scale and a shift."""
    return drawn_weights(probe, {"scale": (d_model,), "shift": (d_model,)})


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
    norm = layer_norm(student, {"scale": torch.ones(8), "shift": torch.zeros(8)})
    result = result_of(norm, 3.0 * probe.normal(3, 5, 8) + 2.0)

    agrees(result.mean(dim=-1), torch.zeros(3, 5), "The means of the tokens' features")
    agrees(result.square().mean(dim=-1), torch.ones(3, 5), "The variances of the tokens' features")


@check("LayerNorm", points=0, layer="laws")
def test_layer_norm_still_treats_each_token_alone(student, probe):
    """A token gets the same result alone and in a batch, and other tokens get other results."""
    norm = layer_norm(student, norm_weights(probe, 8))

    treats_tokens_apart(norm, 3.0 * probe.normal(3, 5, 8) + 2.0)


@check("LayerNorm", points=0, layer="laws")
def test_layer_norm_still_scales_and_then_shifts(student, probe):
    """The result is that of a scale of 1 and a shift of 0, times scale, plus shift."""
    weights, x = norm_weights(probe, 8), 3.0 * probe.normal(3, 5, 8) + 2.0
    plain = {"scale": torch.ones(8), "shift": torch.zeros(8)}

    normalized, result = (result_of(layer_norm(student, one), x) for one in (plain, weights))
    agrees(result, normalized * weights["scale"] + weights["shift"], "The result")
    has_effect(normalized, result, "scale and shift")


@check("LayerNorm", points=0, layer="forbidden", rules=("no_ready_norm",))
def test_layer_norm_is_still_written_by_hand(student, probe):
    """The norm is computed step by step, not by torch's ready-made norms."""
    norm, x = layer_norm(student, norm_weights(probe, 6)), probe.normal(3, 5, 6)

    avoids_itself(student, "LayerNorm", READY_NORM, NORM_BY_HAND, norm.operators(x), {})
    computes(norm, x)


FF_SHAPES = {
    "linear1.weight": (7, 4),
    "linear1.bias": (7,),
    "linear2.weight": (4, 7),
    "linear2.bias": (4,),
}


def feed_forward(student, weights, activation):
    """Build a FeedForward with these weights."""
    return student.new("FeedForward", 4, 7, activation).load(weights)


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
    network = feed_forward(student, drawn_weights(probe, FF_SHAPES), "relu")

    treats_tokens_apart(network, 1.4 * probe.normal(2, 5, 4))


@check("FeedForward", points=0, layer="laws")
def test_feed_forward_still_ends_with_its_second_layer(student, probe):
    """Twice the weight and bias of linear2 give twice the result."""
    weights, x = drawn_weights(probe, FF_SHAPES), 1.4 * probe.normal(2, 5, 4)
    twice = {name: 2 * one if "linear2" in name else one for name, one in weights.items()}

    before, after = (result_of(feed_forward(student, one, "gelu"), x) for one in (weights, twice))
    agrees(after, 2 * before, "The result of a doubled second layer")
    has_effect(before, after, "linear2")


@check("FeedForward", points=0, layer="laws")
def test_feed_forward_still_drops_negative_features(student, probe):
    """If all hidden features are far below 0, the result is the bias of linear2."""
    weights, x = drawn_weights(probe, FF_SHAPES), probe.normal(2, 5, 4, scale=0.5)
    weights["linear1.bias"] = -8.0 - probe.uniform(7)

    for activation in ("gelu", "relu"):
        result = feed_forward(student, weights, activation)(x)
        what = f"The result with {activation}"
        agrees(result, weights["linear2.bias"].expand(2, 5, 4), what)


@check("FeedForward", points=0, layer="laws", rules=("refuses",))
def test_feed_forward_still_refuses_other_activations(student):
    """The constructor accepts "gelu" and "relu" and raises an error for other names."""
    for activation in ("gelu", "relu"):
        network = student.new("FeedForward", 4, 6, activation)
        computes(network, torch.ones(3, 4))
    for activation in ("tanh", "GELU!", "", "sigmoid"):
        refused = student.refuses("FeedForward", 4, 6, activation)
        sentence = "The constructor accepts an unknown activation; it should raise a ValueError."
        expect(refused, sentence, Status.NOT_REFUSED)


@check("FeedForward", points=0, layer="forbidden", rules=("no_ready_gelu",))
def test_feed_forward_still_uses_your_gelu(student, probe):
    """The activation is your gelu, not torch's."""
    network = feed_forward(student, drawn_weights(probe, FF_SHAPES), "gelu")
    x = probe.normal(3, 5, 4)

    avoids_itself(student, "FeedForward", READY_GELU, GELU_BY_HAND, network.operators(x), {})
    computes(network, x)


def blocks(probe, d_model, hidden, norm_first, *sides, dead=()):
    """Build a block for each side, without attention, with equal weights; *dead* give zeros."""
    built = [
        side.new(BLOCK, side.new("FeedForward", d_model, 6, "relu"), d_model, hidden, norm_first)
        for side in sides
    ]
    weights = drawn_weights(probe, block_shapes(d_model, hidden))
    for name in weights:
        if name.startswith(tuple(f"{part}.linear2" for part in dead)):
            weights[name] *= 0
    return [block.load(weights) for block in built]


def block_shapes(d_model, hidden):
    """Return the shapes of a block's parameters, with a FeedForward in place of attention."""
    norm = {"scale": (d_model,), "shift": (d_model,)}

    def network(inside):
        return {
            "linear1.weight": (inside, d_model),
            "linear1.bias": (inside,),
            "linear2.weight": (d_model, inside),
            "linear2.bias": (d_model,),
        }

    parts = {"att": network(6), "norm1": norm, "ff": network(hidden), "norm2": norm}
    return {f"{part}.{name}": shape for part in parts for name, shape in parts[part].items()}


# TransformerBlock


@check(BLOCK, points=0, layer="probe", needs=("FeedForward",))
def test_block_still_stacks(student, reference, probe):
    """The copied class gives the right results, with pre-norm and with post-norm."""
    for norm_first, d_model, hidden in ((PRE_NORM, 5, 9), (POST_NORM, 4, 7)):
        yours, ours = blocks(probe, d_model, hidden, norm_first, student, reference)
        x = 1.3 * probe.normal(3, 6, d_model) + 0.4

        agrees(yours(x), ours(x), f"The result of the block with norm_first={norm_first}")


@check(BLOCK, points=0, layer="laws", needs=("FeedForward",))
def test_block_of_dead_parts_is_still_the_identity(student, probe):
    """If both parts return zeros, a pre-norm block returns its input, and otherwise it does not."""
    x = 1.3 * probe.normal(3, 6, 5) + 0.4

    (dead,) = blocks(probe, 5, 9, PRE_NORM, student, dead=("att", "ff"))
    agrees(dead(x), x, "The result of a block whose parts return zeros")
    (alive,) = blocks(probe, 5, 9, PRE_NORM, student)
    computes(alive, x)


@check(BLOCK, points=0, layer="laws", needs=("FeedForward",))
def test_block_still_treats_each_token_alone(student, probe):
    """Without attention, a token gets the same result alone and in a batch."""
    (block,) = blocks(probe, 5, 9, PRE_NORM, student)

    treats_tokens_apart(block, 1.3 * probe.normal(3, 6, 5) + 0.4)


@check(BLOCK, points=0, layer="laws", needs=("FeedForward",))
def test_block_with_post_norm_still_gives_normalized_tokens(student, probe):
    """If norm2 does not scale or shift, a post-norm block gives each token mean 0, variance 1."""
    (block,) = blocks(probe, 8, 9, POST_NORM, student)
    block.load({"norm2.scale": torch.ones(8), "norm2.shift": torch.zeros(8)})

    result = result_of(block, 1.3 * probe.normal(3, 6, 8) + 0.4)
    agrees(result.mean(dim=-1), torch.zeros(3, 6), "The means of the tokens' features")
    agrees(result.square().mean(dim=-1), torch.ones(3, 6), "The variances of the tokens' features")


@check(BLOCK, points=0, layer="forbidden", rules=("no_ready_norm", "no_ready_gelu"))
def test_block_is_still_built_from_your_parts(student, probe):
    """The norms and GELU are your own, not torch's."""
    network = student.new("FeedForward", 5, 6, "relu")
    block = student.new(BLOCK, network, 5, 9, PRE_NORM, "gelu")
    x = 1.3 * probe.normal(3, 6, 5) + 0.4

    ran = block.operators(x)
    below = {
        "LayerNorm": student.new("LayerNorm", 5).operators(x),
        "FeedForward": student.new("FeedForward", 5, 9, "gelu").operators(x),
    }
    for names, why in ((READY_NORM, NORM_BY_HAND), (READY_GELU, GELU_BY_HAND)):
        avoids_itself(student, BLOCK, names, why, ran, below)
    computes(block, x)


# BigramModel


@check("BigramModel", points=0.04, layer="shapes")
def test_bigram_gives_a_row_for_each_token(student):
    """A batch of 2 texts with 4 tokens each gives logits (2, 4, 5)."""
    model = student.new("BigramModel", 5)

    tensor_like(model(torch.ones(2, 4).long()), (2, 4, 5), "The logits of BigramModel(5)")


@check("BigramModel", points=0.04, layer="parameters")
def test_bigram_is_one_table(student):
    """The only parameter is table."""
    yours = student.new("BigramModel", 6)

    named(yours, {"table.weight": (6, 6)}, "BigramModel has more parameters than it must have.")


@check("BigramModel", points=0.04, layer="parameters")
def test_bigram_draws_its_table(student, reference, probe):
    """The table has the initial weights of an nn.Embedding and is trainable."""
    yours = student.new("BigramModel", 6, seed=probe.seed).named("table.weight")["table.weight"]
    ours = reference.new("BigramModel", 6, seed=probe.seed).parameters()["table.weight"]

    agrees(yours.value, ours.value, "table right after construction")
    expect(yours.requires_grad, "table is not trainable.")


@check("BigramModel", points=0.11, layer="documented")
def test_bigram_has_the_documented_loss(student, reference, documented):
    """With the table of seed 1337, the model has the documented loss on the documented batch."""
    ids, targets = documented["gptdev.ids"].tensor, documented["gptdev.targets"].tensor
    drawn = reference.new("BigramModel", 65, seed=1337).parameters()["table.weight"]
    model = student.new("BigramModel", 65).load({"table.weight": drawn.value})

    logits = logits_of(model, ids.long(), 65)
    loss = F.cross_entropy(logits.flatten(0, 1).float(), targets.long().flatten())
    documented["gptdev.bigram.loss"].matches(loss, "The loss of BigramModel(65)")


@check("BigramModel", points=0.11, layer="probe")
def test_bigram_looks_up_any_table(student, reference, probe):
    """For any table and any ids, the logits are the rows of the table for these ids."""
    for B, T, V in ((3, 5, 7), (1, 6, 4)):
        yours, ours = both(student, reference, probe, "BigramModel", V)
        ids = draw_ids(probe, B, T, V)

        agrees(yours(ids), ours(ids), "The logits")


def bigram(student, table):
    """Build a bigram model with this table."""
    return student.new("BigramModel", len(table)).load({"table.weight": table})


@check("BigramModel", points=0.04, layer="laws")
def test_bigram_sees_one_token_only(student, probe):
    """A change of one token changes the logits at its position, and no others."""
    model, ids = bigram(student, 2 * probe.normal(7, 7)), draw_ids(probe, 3, 5, 7)
    others = ids.clone()
    others[:, 2] = (ids[:, 2] + 3) % 7

    before, after = (logits_of(model, one, 7) for one in (ids, others))
    apart = [0, 1, 3, 4]
    agrees(after[:, apart], before[:, apart], "The logits of the other tokens")
    has_effect(before[:, 2], after[:, 2], "a token")


@check("BigramModel", points=0.03, layer="laws")
def test_bigram_predicts_the_same_everywhere(student, probe):
    """The same token has the same logits at every position, and other tokens have others."""
    model = bigram(student, 2 * probe.normal(7, 7))

    logits = logits_of(model, torch.tensor([[4, 1, 4], [1, 4, 1]]), 7)
    agrees(logits[0, [0, 2]], logits[1, [1, 1]], "The logits of token 4 at two positions")
    has_effect(logits[0, 0], logits[0, 1], "the token")


@check("BigramModel", points=0.03, layer="laws")
def test_bigram_has_one_row_for_each_token(student, probe):
    """A change of row i of the table changes the logits of token i, and of no other token."""
    table, ids = 2 * probe.normal(7, 7), torch.arange(7)[None]
    others = table.clone()
    others[3] += 2

    before, after = (logits_of(bigram(student, one), ids, 7) for one in (table, others))
    apart = [0, 1, 2, 4, 5, 6]
    agrees(after[:, apart], before[:, apart], "The logits of the other tokens")
    has_effect(before[:, 3], after[:, 3], "a row")


@check("BigramModel", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_bigram_leaves_the_ids_alone(student, probe):
    """The ids are unchanged, but they have an effect."""
    model, ids = bigram(student, 2 * probe.normal(7, 7)), torch.arange(7)[None]

    expect(model.keeps_inputs(ids), "The call changes the ids.")
    has_effect(*(logits_of(model, one, 7) for one in (ids, 6 - ids)), "the ids")


@check("BigramModel", points=0.04, layer="gradients", rules=("gradients",))
def test_bigram_can_be_trained(student, reference, probe):
    """The gradient of the table is right."""
    yours, ours = both(student, reference, probe, "BigramModel", 7)
    ids, back = draw_ids(probe, 3, 5, 7), probe.normal(3, 5, 7)

    same_gradients(yours.gradients(ids, cotangent=back), ours.gradients(ids, cotangent=back))


def gpt_shapes(s, *, qkv_bias=False):
    """Return the shapes of a GPT's parameters, by name, without the head."""
    d = s.d_model
    shapes = {"tok_emb.weight": (s.V, d), "pos_emb.weight": (s.context, d)}
    for number_ in range(s.layers):
        at = f"blocks.{number_}"
        for name in ("W_query", "W_key", "W_value"):
            shapes |= {f"{at}.att.{name}.weight": (d, d)}
            shapes |= {f"{at}.att.{name}.bias": (d,)} if qkv_bias else {}
        shapes |= {f"{at}.att.out_proj.weight": (d, d), f"{at}.att.out_proj.bias": (d,)}
        shapes |= {f"{at}.ff.linear1.weight": (4 * d, d), f"{at}.ff.linear1.bias": (4 * d,)}
        shapes |= {f"{at}.ff.linear2.weight": (d, 4 * d), f"{at}.ff.linear2.bias": (d,)}
        for norm in ("norm1", "norm2"):
            shapes |= {f"{at}.{norm}.scale": (d,), f"{at}.{norm}.shift": (d,)}
    return shapes | {"final_norm.scale": (d,), "final_norm.shift": (d,)}


# GPT


@check("GPT", points=0.04, layer="signature")
def test_gpt_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes the documented arguments; qkv_bias and tied are optional."""
    sizes = {"vocab_size": 5, "context_length": 7, "d_model": 4, "num_heads": 2, "num_layers": 1}

    student.new("GPT", **sizes)
    student.new("GPT", **sizes, qkv_bias=True, tied=True)


@check("GPT", points=0.04, layer="signature")
def test_gpt_has_no_biases_and_no_tied_head_by_default(student):
    """Without the last two arguments, qkv_bias and tied are false."""
    default, *others = (
        len(student.new("GPT", *ONE, *options).shapes())
        for options in ((), (NO_BIAS, UNTIED), (QKV_BIAS, UNTIED), (NO_BIAS, TIED))
    )

    expect(default == others[0], "The default of qkv_bias or tied is wrong.")
    more, fewer = (count - default for count in others[1:])
    expect(more > 0, "With qkv_bias, there are no more parameters.")
    expect(fewer < 0, "A tied GPT does not have fewer parameters than an untied one.")


@check("GPT", points=0.04, layer="shapes")
def test_gpt_gives_a_row_for_each_token(student):
    """Two texts of 6, 3 or 1 tokens give logits (2, 6, 5), (2, 3, 5) or (2, 1, 5)."""
    model = student.new("GPT", 5, 6, 4, 2, 1)

    for T in (6, 3, 1):
        tensor_like(model(torch.ones(2, T).long()), (2, T, 5), "The logits of GPT(5, 6, 4, 2, 1)")


@check("GPT", points=0.11, layer="parameters")
def test_gpt_consists_of_the_documented_layers(student):
    """The parameters are those of the documented layers, with and without qkv_bias."""
    for s, qkv_bias in ((TWO, False), (THREE, True)):
        model = student.new("GPT", *s, qkv_bias, UNTIED)

        wanted = gpt_shapes(s, qkv_bias=qkv_bias) | {"out_head.weight": (s.V, s.d_model)}
        more = "The GPT has more parameters than it must have."
        named(model, wanted, more, f" with qkv_bias={qkv_bias}")


@check("GPT", points=0.07, layer="parameters")
def test_gpt_draws_its_layers_in_order(student, reference, probe):
    """All layers are created in the documented order, so a seed gives the expected weights."""
    ours = reference.new("GPT", *TWO, NO_BIAS, UNTIED, seed=probe.seed).parameters()
    yours = student.new("GPT", *TWO, NO_BIAS, UNTIED, seed=probe.seed).named(*ours)

    for name, parameter in ours.items():
        agrees(yours[name].value, parameter.value, f"{name} right after construction")
        expect(yours[name].requires_grad, f"{name} is not trainable.")


@check("GPT", points=0.13, layer="parameters")
def test_tied_gpt_has_one_tensor_less(student):
    """In a tied GPT, the weight of the head is the parameter of tok_emb, not a second one."""
    tied, untied = (
        student.new("GPT", *TWO, NO_BIAS, one).shapes().values() for one in (TIED, UNTIED)
    )

    sentence = "A tied GPT does not have fewer parameters than an untied one."
    expect(len(tied) < len(untied), sentence)
    sentence = "A tied GPT does not have the parameters of an untied one without out_head's."
    lacks = Counter(untied) == Counter([*tied, (TWO.V, TWO.d_model)])
    expect(lacks, sentence)


@check("GPT", points=0.46, layer="probe")
def test_gpt_gives_the_right_logits(student, reference, probe):
    """For several sizes and lengths, the logits are right."""
    for s in (ONE, TWO, THREE):
        yours, ours = both(student, reference, probe, "GPT", *s, NO_BIAS, UNTIED)

        for B, T in ((3, s.context), (2, s.context - 1)):
            ids = draw_ids(probe, B, T, s.V)
            agrees(yours(ids), ours(ids), "The logits")


@check("GPT", points=0.28, layer="probe")
def test_gpt_reads_a_single_text(student, reference, probe):
    """A single text, of many tokens or of one token, gets the right logits."""
    for s in (TWO, THREE):
        yours, ours = both(student, reference, probe, "GPT", *s, NO_BIAS, UNTIED)

        for T in (s.context, 3, 1):
            ids = draw_ids(probe, 1, T, s.V)
            agrees(yours(ids), ours(ids), "The logits")


def same_logits(student, reference, probe, s, qkv_bias, tied):
    """Compare the logits with these options."""
    yours, ours = both(student, reference, probe, "GPT", *s, qkv_bias, tied)
    ids = draw_ids(probe, 4, s.context, s.V)

    what = f"The logits with qkv_bias={qkv_bias} and tied={tied}"
    agrees(yours(ids), ours(ids), what)


@check("GPT", points=0.14, layer="probe")
def test_gpt_uses_its_biases(student, reference, probe):
    """The logits are right with qkv_bias."""
    same_logits(student, reference, probe, ONE, QKV_BIAS, UNTIED)


@check("GPT", points=0.18, layer="probe")
def test_gpt_ties_its_head(student, reference, probe):
    """The logits are right with tied, with and without qkv_bias."""
    same_logits(student, reference, probe, TWO, NO_BIAS, TIED)
    same_logits(student, reference, probe, ONE, QKV_BIAS, TIED)


def gpt_weights(probe, s):
    """Draw weights for an untied GPT."""
    return drawn_weights(probe, gpt_shapes(s) | {"out_head.weight": (s.V, s.d_model)})


def untied_gpt(student, s, weights):
    """Build an untied GPT with these weights."""
    return student.new("GPT", *s, NO_BIAS, UNTIED).load(weights)


@check("GPT", points=0.11, layer="laws")
def test_gpt_sees_the_past_and_not_the_future(student, probe):
    """A change of a token changes the logits at later positions, and none before it."""
    s = THREE
    model, ids = untied_gpt(student, s, gpt_weights(probe, s)), draw_ids(probe, 3, s.context, s.V)
    others = ids.clone()
    others[:, 3] = (others[:, 3] + 1) % s.V

    before, after = (logits_of(model, one, s.V) for one in (ids, others))
    agrees(after[:, :3], before[:, :3], "After a change of a later token, the first logits")
    has_effect(before[:, 4:], after[:, 4:], "a token", " on later ones")


@check("GPT", points=0.11, layer="laws")
def test_tied_gpt_shares_its_weights(student, probe):
    """A tied GPT gives the logits of an untied GPT whose head holds the vectors of the tokens."""
    s = ONE
    weights, ids = drawn_weights(probe, gpt_shapes(s)), draw_ids(probe, 3, s.context, s.V)

    tied = student.new("GPT", *s, NO_BIAS, TIED).load(weights)
    untied = untied_gpt(student, s, weights | {"out_head.weight": weights["tok_emb.weight"]})
    wanted = logits_of(untied, ids, s.V)
    agrees(tied(ids), wanted, "The logits of the tied GPT")
    has_effect(wanted, logits_of(untied, s.V - 1 - ids, s.V), "the ids")


@check("GPT", points=0.04, layer="laws")
def test_new_gpt_knows_nothing(student, probe):
    """The loss of a new GPT is near ln V, the loss if all tokens are equally likely."""
    sizes = (33, 16, 32, 4, 2, NO_BIAS, UNTIED)
    model = student.new("GPT", *sizes, seed=probe.seed)
    ids = draw_ids(probe, 8, 17, 33)

    logits = logits_of(model, ids[:, :-1], 33)
    spread = logits.std(dim=-1).mean()
    loss = F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
    expect(spread > 0.05, "The logits of a new GPT hardly differ, or are NaN.")  # it is 0.6
    expect(3.0 < loss < 4.0, "The loss of a new GPT is not near ln V.")


@check("GPT", points=0.09, layer="laws")
def test_gpt_reads_each_text_alone(student, probe):
    """A text gets the same logits alone and in a batch, and other texts get other logits."""
    s = TWO
    model, ids = untied_gpt(student, s, gpt_weights(probe, s)), draw_ids(probe, 3, s.context, s.V)
    ids[2] = (ids[0] + 1) % s.V

    together = logits_of(model, ids, s.V)
    expect(not alike(together[0], together[2]), "Different texts get the same logits.")
    for item in range(3):
        agrees(model(ids[item : item + 1]), together[item : item + 1], "The logits of one text")


@check("GPT", points=0.09, layer="laws")
def test_gpt_ends_with_its_head(student, probe):
    """Twice the weight of out_head gives twice the logits."""
    s = ONE
    weights, ids = gpt_weights(probe, s), draw_ids(probe, 3, s.context, s.V)
    twice = weights | {"out_head.weight": 2 * weights["out_head.weight"]}

    before, after = (logits_of(untied_gpt(student, s, one), ids, s.V) for one in (weights, twice))
    agrees(after, 2 * before, "The logits of a doubled head")
    has_effect(before, after, "the head")


@check("GPT", points=0.08, layer="laws")
def test_gpt_tells_positions_apart_by_pos_emb_alone(student, probe):
    """If all tokens are the same, logits differ by position only if the rows of pos_emb differ."""
    s = ONE
    weights, ids = gpt_weights(probe, s), torch.full((2, s.context), 4)
    weights["pos_emb.weight"] *= 3
    equal = weights | {"pos_emb.weight": weights["pos_emb.weight"][:1].repeat(s.context, 1)}

    logits = logits_of(untied_gpt(student, s, equal), ids, s.V)
    agrees(logits[:, 1:], logits[:, :-1], "The logits with equal rows of pos_emb")
    logits = logits_of(untied_gpt(student, s, weights), ids, s.V)
    has_effect(logits[:, 1:], logits[:, :-1], "the position")


@check("GPT", points=0.08, layer="laws")
def test_gpt_adds_tokens_and_positions(student, probe):
    """A vector that is added to all rows of tok_emb and taken from all of pos_emb has no effect."""
    s = TWO
    weights, ids, moved = gpt_weights(probe, s), draw_ids(probe, 3, 4, s.V), probe.normal(s.d_model)
    tokens = weights | {"tok_emb.weight": weights["tok_emb.weight"] + moved}
    both_moved = tokens | {"pos_emb.weight": weights["pos_emb.weight"] - moved}

    before, after, other = (
        logits_of(untied_gpt(student, s, one), ids, s.V) for one in (weights, both_moved, tokens)
    )
    agrees(after, before, "The logits after the vector has moved from pos_emb to tok_emb")
    has_effect(before, other, "tok_emb")


@check("GPT", points=0.06, layer="laws", rules=("refuses",))
def test_gpt_refuses_texts_that_are_too_long(student, probe):
    """A text of context_length tokens gets logits, and a longer one raises an error."""
    for s in (ONE, TWO):
        model = student.new("GPT", *s, NO_BIAS, UNTIED)
        ids = draw_ids(probe, 2, s.context, s.V)

        one, other = (logits_of(model, each, s.V) for each in (ids, (ids + 1) % s.V))
        has_effect(one, other, "the ids")
        for more in (1, 4):
            ids = draw_ids(probe, 2, s.context + more, s.V)
            is_refused(model.refuses(ids), "A text longer than context_length")


@check("GPT", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_gpt_leaves_the_ids_alone(student, probe):
    """The ids are unchanged after a call, but they have an effect."""
    s = ONE
    model, ids = student.new("GPT", *s, NO_BIAS, UNTIED), draw_ids(probe, 3, s.context, s.V)

    expect(model.keeps_inputs(ids), "The call changes the ids.")
    has_effect(*(logits_of(model, one, s.V) for one in (ids, (ids + 1) % s.V)), "the ids")


@check("GPT", points=0.03, layer="laws", rules=("dtype",))
def test_gpt_keeps_the_precision(student, probe):
    """A GPT in float64 gives logits in float64."""
    s = ONE
    model, ids = student.new("GPT", *s, NO_BIAS, UNTIED), draw_ids(probe, 3, s.context, s.V)

    model.move("float64")
    one, other = (logits_of(model, each, s.V) for each in (ids, (ids + 1) % s.V))
    same_dtype(one, torch.float64, "The logits of a GPT in float64")
    has_effect(one, other, "the ids")


@check("GPT", points=0.14, layer="gradients", rules=("gradients",))
def test_gpt_can_be_trained(student, reference, probe):
    """The gradient of every parameter is right."""
    for s in (ONE, TWO):
        yours, ours = both(student, reference, probe, "GPT", *s, NO_BIAS, UNTIED)
        ids, back = draw_ids(probe, 3, s.context, s.V), probe.normal(3, s.context, s.V)

        same_gradients(yours.gradients(ids, cotangent=back), ours.gradients(ids, cotangent=back))


@check("GPT", points=0.07, layer="gradients", rules=("gradients",))
def test_tied_gpt_is_trained_from_both_ends(student, reference, probe):
    """In a tied GPT, tok_emb gets the sum of the gradients of embedding and head."""
    s = ONE
    yours, ours = both(student, reference, probe, "GPT", *s, NO_BIAS, TIED)
    ids, back = draw_ids(probe, 3, s.context, s.V), probe.normal(3, s.context, s.V)

    same_gradients(yours.gradients(ids, cotangent=back), ours.gradients(ids, cotangent=back))


def is_built_by_hand(student, probe, lists):
    """Fail the check if the GPT itself does what the *lists* name by functions of torch."""
    s = ONE
    model, ids = student.new("GPT", *s, NO_BIAS, UNTIED), draw_ids(probe, 3, s.context, s.V)

    ran, x, d = model.operators(ids), probe.normal(3, s.context, s.d_model), s.d_model
    parts = {
        HEADS: student.new(HEADS, d, d, s.context, 0.0, s.H, NO_BIAS),
        "LayerNorm": student.new("LayerNorm", d),
        "FeedForward": student.new("FeedForward", d, 4 * d),
        BLOCK: student.new(BLOCK, student.new("FeedForward", d, 4 * d), d, 4 * d),
    }
    below = {name: part.operators(x) for name, part in parts.items()}
    for names, why in lists:
        avoids_itself(student, "GPT", names, why, ran, below)
    has_effect(*(logits_of(model, one, s.V) for one in (ids, (ids + 1) % s.V)), "the ids")


@check("GPT", points=0.04, layer="forbidden", rules=("no_ready_attention",))
def test_gpt_attends_by_your_own_code(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    is_built_by_hand(student, probe, ((READY_ATTENTION, BY_HAND),))


@check("GPT", points=0.04, layer="forbidden", rules=("no_ready_norm", "no_ready_gelu"))
def test_gpt_is_built_from_your_parts(student, probe):
    """The norms and GELU are your own, not torch's."""
    is_built_by_hand(student, probe, ((READY_NORM, NORM_BY_HAND), (READY_GELU, GELU_BY_HAND)))


def count(student, *sizes):
    """Return the number of parameters, or fail the check if it is not an int."""
    found = student.call("count_parameters", *sizes)
    is_int = isinstance(found, int) and not isinstance(found, bool)
    expect(is_int, "count_parameters does not return an int.", Status.WRONG_TYPE)
    return found


# count_parameters


@check("count_parameters", points=0.08, layer="documented")
def test_count_of_the_small_gpt2(student, documented):
    """The smallest GPT-2 with an untied head has the documented number of parameters."""
    found = count(student, 50257, 1024, 768, 12, NO_BIAS, UNTIED)

    documented["ch04.parameters"].matches(
        found, "count_parameters(50257, 1024, 768, 12, False, False)"
    )


@check("count_parameters", points=0.07, layer="documented")
def test_count_of_the_tied_gpt2(student, documented):
    """With a tied head, the smallest GPT-2 has the documented 124 million parameters."""
    found = count(student, 50257, 1024, 768, 12, NO_BIAS, TIED)

    what = "count_parameters(50257, 1024, 768, 12, False, True)"
    documented["ch04.parameters.tied"].matches(found, what)


@check("count_parameters", points=0.08, layer="documented")
def test_count_of_the_lecture(student, documented):
    """With 65 head biases added, the counts for the lecture's two models are as documented."""
    for name, sizes in (
        ("gptdev.parameters", (65, 32, 64, 4)),
        ("gptdev.parameters.large", (65, 256, 384, 6)),
    ):
        what = f"count_parameters{(*sizes, NO_BIAS, UNTIED)}, plus 65,"
        documented[name].matches(count(student, *sizes, NO_BIAS, UNTIED) + 65, what)


@check("count_parameters", points=0.03, layer="documented")
def test_count_of_one_block(student, documented):
    """A layer adds two norms and the documented counts for attention and feed-forward network."""
    twelve, more = (count(student, 50257, 1024, 768, one, NO_BIAS, UNTIED) for one in (12, 13))
    added = more - twelve

    attention = documented["ch04.exercise.attention"].value
    without_norms = added - attention - 4 * 768
    documented["ch04.exercise.feed_forward"].matches(
        without_norms, "The number that one more layer adds, without attention and norms,"
    )


def same_counts(student, reference, probe, *options):
    """Compare the counts for several sizes."""
    for V, context, d_model, layers in ((7, 5, 6, 1), (50, 31, 24, 3), (13, 200, 9, 0)):
        sizes = (V + probe.number % 89, context, d_model, layers, *options)
        wanted = reference.call("count_parameters", *sizes)

        agrees(count(student, *sizes), wanted, "The number of parameters")


@check("count_parameters", points=0.08, layer="probe")
def test_count_for_any_sizes(student, reference, probe):
    """The count is right for other sizes."""
    same_counts(student, reference, probe, NO_BIAS, UNTIED)


@check("count_parameters", points=0.05, layer="probe")
def test_count_with_biases(student, reference, probe):
    """The count is right with qkv_bias."""
    same_counts(student, reference, probe, QKV_BIAS, UNTIED)


@check("count_parameters", points=0.05, layer="probe")
def test_count_of_tied_models(student, reference, probe):
    """The count is right with tied, with and without qkv_bias."""
    same_counts(student, reference, probe, NO_BIAS, TIED)
    same_counts(student, reference, probe, QKV_BIAS, TIED)


@check("count_parameters", points=0.03, layer="probe")
def test_count_needs_no_model(student, reference, probe):
    """The parameters are counted even for models that are too large to build."""
    V = 50257 + probe.number % 89
    for sizes in ((V, 2048, 12288, 96), (V, 2**17, 2**15, 500)):
        wanted = reference.call("count_parameters", *sizes, NO_BIAS, UNTIED)

        agrees(count(student, *sizes, NO_BIAS, UNTIED), wanted, "The number of parameters")


def grows_by(student, sizes, place, wanted, what, where=""):
    """Check by how much the count grows with the argument in a place."""
    more = (*sizes[:place], sizes[place] + 1, *sizes[place + 1 :])
    grown = count(student, *more) - count(student, *sizes)

    sentence = f"With {what} more{where}, the number of parameters grows by a wrong number."
    expect(grown == wanted, sentence)


@check("count_parameters", points=0.02, layer="laws")
def test_count_grows_equally_with_each_layer(student, probe):
    """Each layer adds the same number of parameters, more than those of its matrices."""
    V, d = 20 + probe.number % 89, 6 + probe.number % 7
    counts = [count(student, V, 11, d, layers, NO_BIAS, UNTIED) for layers in range(4)]

    grown = [later - earlier for earlier, later in itertools.pairwise(counts)]
    expect(len(set(grown)) == 1, "Not every layer adds the same number of parameters.")
    expect(grown[0] > 11 * d * d, "A layer adds too few parameters.")


@check("count_parameters", points=0.02, layer="laws")
def test_count_grows_with_each_position(student, probe):
    """Each further position adds one vector of d_model parameters."""
    d = 6 + probe.number % 7
    sizes = (20 + probe.number % 89, 11, d, 2, NO_BIAS, UNTIED)

    grows_by(student, sizes, 1, d, "one position")


@check("count_parameters", points=0.02, layer="laws")
def test_count_grows_with_each_token(student, probe):
    """Each further token adds two vectors of d_model parameters, and one in a tied model."""
    d = 6 + probe.number % 7
    sizes = (20 + probe.number % 89, 11, d, 2, NO_BIAS)

    grows_by(student, (*sizes, UNTIED), 0, 2 * d, "one token")
    grows_by(student, (*sizes, TIED), 0, d, "one token", " in a tied model")


@check("count_parameters", points=0.02, layer="laws")
def test_count_grows_with_biases_in_each_layer(student, probe):
    """In each layer, qkv_bias adds three vectors of d_model parameters."""
    d = 6 + probe.number % 7
    for layers in (1, 3):
        sizes = (20 + probe.number % 89, 11, d, layers)
        plain, more = (count(student, *sizes, one, UNTIED) for one in (NO_BIAS, QKV_BIAS))

        expect(more - plain == 3 * d * layers, "With qkv_bias, the count grows by a wrong number.")


@check("count_parameters", points=0.02, layer="laws")
def test_count_shrinks_by_the_tied_head(student, probe):
    """A tied model has one matrix of vocab_size · d_model parameters less."""
    V, d = 20 + probe.number % 89, 6 + probe.number % 7
    untied, tied = (count(student, V, 11, d, 2, NO_BIAS, one) for one in (UNTIED, TIED))

    expect(untied - tied == V * d, "A tied model has a wrong number of parameters less.")


@check("count_parameters", points=0.03, layer="laws")
def test_count_has_no_biases_and_no_tied_head_by_default(student, probe):
    """Without the last two arguments, qkv_bias and tied are false."""
    sizes = (20 + probe.number % 89, 11, 6, 2)

    default, given, more = (
        count(student, *sizes, *options) for options in ((), (NO_BIAS, UNTIED), (QKV_BIAS, UNTIED))
    )
    expect(default == given, "The default of qkv_bias or tied is wrong.")
    expect(more > given, "With qkv_bias, there are no more parameters.")


BETAS, TINY, DECAY = (0.9, 0.999), 1e-8, 0.01  # the defaults
OWN_STEP = "Write the two means and the step yourself."


def state_of(probe, *shape):
    """Draw a parameter, a gradient, a mean and a square; no number is near 0."""
    parameter, gradient, mean = (probe.normal(*shape) for _ in range(3))
    gradient = gradient + 0.5 * gradient.sign()
    return parameter, gradient, mean, 0.2 + probe.uniform(*shape)


def stepped(student, *arguments):
    """Return the parameter, the mean and the square after a step of the student's."""
    found = student.call("adamw_step", *arguments)
    expect(isinstance(found, tuple | list) and len(found) == 3, "The result is not three tensors.")
    names = ("The parameter", "The mean", "The square")
    shape = tuple(arguments[0].shape)
    return [tensor_like(one, shape, name) for one, name in zip(found, names, strict=True)]


def has_moved(before, after, what):
    """Fail the check if a step has left a tensor as it was."""
    expect(differs(before, after), f"The step hardly changes the {what}, or it is NaN.")


def same_step(student, reference, *arguments):
    """Compare a step of the student's with that of the reference."""
    found = stepped(student, *arguments)
    wanted = reference.call("adamw_step", *arguments)
    for one, other, name in zip(found, wanted, ("parameter", "mean", "square"), strict=True):
        agrees(one, other, f"The new {name}")


# adamw_step


@check("adamw_step", points=0.05, layer="signature")
def test_adamw_has_the_usual_defaults(student, probe):
    """Without the last three arguments: betas 0.9 and 0.999, eps 1e-8, weight_decay 0.01."""
    state = state_of(probe, 2, 3)

    given = stepped(student, *state, 3, 0.2, BETAS, TINY, DECAY)
    found = stepped(student, *state, 3, 0.2)
    for one, other, name in zip(found, given, ("parameter", "mean", "square"), strict=True):
        agrees(one, other, f"Without the last three arguments, the new {name}")
    has_moved(state[0], given[0], "parameter")


@check("adamw_step", points=0.05, layer="shapes")
def test_adamw_returns_three_tensors(student, probe):
    """The parameter, the mean and the square have the shape of the parameter."""
    state = state_of(probe, 4, 3)

    parameter, mean, square = stepped(student, *state, 2, 0.1, (0.5, 0.5), TINY, 0.1)
    has_moved(parameter, state[0], "parameter")
    has_moved(mean, state[2], "mean")
    has_moved(square, state[3], "square")


@check("adamw_step", points=0.15, layer="documented")
def test_adamw_decays_as_documented(student, documented):
    """Three steps without a gradient, at rate 1 and decay 0.004, give the number from Keras."""
    zero = torch.zeros(())
    parameter, mean, square = torch.tensor(2.0), zero, zero
    for step in (1, 2, 3):
        found = student.call(
            "adamw_step", parameter, zero, mean, square, step, 1.0, BETAS, TINY, 0.004
        )
        expect(
            isinstance(found, tuple | list) and len(found) == 3,
            "The result of a step is not three tensors.",
        )
        parameter, mean, square = found

    documented["keras.adamw.decayed"].matches(parameter, "The parameter after three steps")


@check("adamw_step", points=0.1, layer="documented")
def test_adamw_descends_as_documented(student, documented):
    """On a sum of squares that begins at 14, five steps give the numbers from optax."""
    start = torch.tensor([1.0, 2.0, 3.0])
    parameter, mean, square = start, torch.zeros(3), torch.zeros(3)
    sums = []
    for step in (1, 2, 3, 4, 5):
        gradient = 2 * (start - 0.003 * (step - 1))  # each step has moved every number by the rate
        found = student.call(
            "adamw_step", parameter, gradient, mean, square, step, 0.003, BETAS, TINY, 1e-4
        )
        expect(
            isinstance(found, tuple | list) and len(found) == 3,
            "The result of a step is not three tensors.",
        )
        parameter, mean, square = found
        sums.append(tensor_like(parameter, (3,), "The parameter").square().sum())

    documented["optax.adamw.sums"].matches(torch.stack(sums), "The sums of squares")


@check("adamw_step", points=0.12, layer="probe")
def test_adamw_takes_its_first_step(student, reference, probe):
    """In step 1 the means are zero; tensors with one, two and three axes get the right step."""
    for shape in ((5,), (3, 4), (2, 3, 2)):
        parameter, gradient, *_ = state_of(probe, *shape)
        zeros = torch.zeros(shape)
        same_step(student, reference, parameter, gradient, zeros, zeros, 1, 0.3, BETAS, TINY, 0.2)


@check("adamw_step", points=0.13, layer="probe")
def test_adamw_goes_on_from_its_means(student, reference, probe):
    """In later steps, with other betas and without decay, the three results are right."""
    for step, betas in ((2, (0.8, 0.95)), (7, (0.6, 0.9)), (40, (0.95, 0.99))):
        state = state_of(probe, 3, 4)
        same_step(student, reference, *state, step, 0.2, betas, TINY, 0.0)


@check("adamw_step", points=0.2, layer="probe")
def test_adamw_adds_eps_to_the_root(student, reference, probe):
    """With a large eps and a large decay, the results are right."""
    for step, eps in ((1, 0.05), (3, 0.4)):
        state = state_of(probe, 2, 5)
        same_step(student, reference, *state, step, 0.4, (0.7, 0.8), eps, 0.5)


@check("adamw_step", points=0.06, layer="laws")
def test_adamw_first_moves_by_the_rate(student, probe):
    """In step 1, a gradient of any size moves each number by the learning rate, without decay."""
    parameter, gradient, *_ = state_of(probe, 3, 4)
    zeros = torch.zeros(3, 4)
    for factor in (0.01, 1.0, 1000.0):
        pulled = factor * gradient
        found, *_ = stepped(
            student, parameter, pulled, zeros, zeros, 1, 0.25, (0.8, 0.9), TINY, 0.0
        )
        agrees(parameter - found, 0.25 * gradient.sign(), "In step 1, the change of the parameter")


@check("adamw_step", points=0.06, layer="laws")
def test_adamw_decays_whatever_the_gradient_is(student, probe):
    """With a decay, every number loses the same share of itself, for any gradient."""
    parameter, gradient, mean, square = state_of(probe, 3, 4)
    for one in (gradient, -3.0 * gradient):
        state = (parameter, one, mean, square, 3, 0.3, BETAS, TINY)
        (without, *_), (found, *_) = (stepped(student, *state, decay) for decay in (0.0, 0.4))
        agrees(without - found, 0.3 * 0.4 * parameter, "What the decay subtracts")


@check("adamw_step", points=0.06, layer="laws")
def test_adamw_treats_each_number_alone(student, probe):
    """Every number gets the step that it would get alone."""
    state, rest = state_of(probe, 4), (2, 0.3, BETAS, TINY, 0.1)

    together = stepped(student, *state, *rest)
    for place in range(4):
        alone = stepped(student, *(one[place : place + 1] for one in state), *rest)
        for one, other in zip(alone, together, strict=True):
            agrees(one, other[place : place + 1], "The result of a number alone")
    has_moved(state[0], together[0], "parameter")


@check("adamw_step", points=0.06, layer="laws")
def test_adamw_without_a_rate_changes_only_the_means(student, probe):
    """With a learning rate of 0, the parameter stays, and the mean and the square follow."""
    state = state_of(probe, 3, 2)

    parameter, mean, square = stepped(student, *state, 3, 0.0, (0.5, 0.5), TINY, 0.2)
    agrees(parameter, state[0], "With a learning rate of 0, the parameter")
    has_moved(mean, state[2], "mean")
    has_moved(square, state[3], "square")


@check("adamw_step", points=0.06, layer="laws")
def test_adamw_keeps_the_means_of_equal_gradients(student, probe):
    """The means stay if the gradient always was the same, and follow another gradient."""
    parameter, gradient, *_ = state_of(probe, 3, 2)
    rest = (gradient, gradient**2, 4, 0.1, (0.75, 0.5), TINY, 0.0)

    _, mean, square = stepped(student, parameter, gradient, *rest)
    agrees(mean, gradient, "The mean of equal gradients")
    agrees(square, gradient**2, "The mean of equal squares")
    _, mean, square = stepped(student, parameter, 2 * gradient, *rest)
    has_moved(mean, gradient, "mean")
    has_moved(square, gradient**2, "square")


@check("adamw_step", points=0.05, layer="laws", rules=("refuses",))
def test_adamw_refuses_a_step_below_1(student, probe):
    """Steps count from 1: step 0 and step -1 raise an error."""
    state = state_of(probe, 3)

    stepped(student, *state, 1, 0.1, BETAS, TINY, DECAY)
    for step in (0, -1):
        refused = student.refuses("adamw_step", *state, step, 0.1, BETAS, TINY, DECAY)
        is_refused(refused, "A step below 1")


@check("adamw_step", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_adamw_leaves_its_tensors_alone(student, probe):
    """The caller's four tensors are unchanged, but the results differ from them."""
    state = state_of(probe, 3, 2)

    unchanged = student.keeps_inputs("adamw_step", *state, 2, 0.3, BETAS, TINY, DECAY)
    expect(unchanged, "adamw_step changes a tensor that you pass to it.")
    found, *_ = stepped(student, *state, 2, 0.3, BETAS, TINY, DECAY)
    has_moved(state[0], found, "parameter")


@check("adamw_step", points=0.07, layer="laws", rules=("dtype",))
def test_adamw_keeps_the_dtype(student, probe):
    """The results have the dtype of the tensors."""
    for dtype in (torch.float64, torch.float32):
        state = [one.to(dtype) for one in state_of(probe, 3, 2)]
        found = stepped(student, *state, 2, 0.3, BETAS, TINY, DECAY)
        for one in found:
            same_dtype(one, dtype, "A result")
        has_moved(state[0], found[0], "parameter")


@check("adamw_step", points=0.05, layer="forbidden", rules=("no_ready_optimizer",))
def test_adamw_needs_no_optimizer(student, probe):
    """The step is your own code, not torch.optim."""
    avoids(student, "adamw_step", READY_OPTIMIZER, OWN_STEP)
    state = state_of(probe, 3)
    found, *_ = stepped(student, *state, 2, 0.3, BETAS, TINY, DECAY)
    has_moved(state[0], found, "parameter")


OWN_NORM = "Compute the norm and the factor yourself."


def clipped(student, gradients, max_norm):
    """Return the gradients that the student has clipped, and the norm before."""
    found = student.call("clip_gradients", gradients, max_norm)
    expect(isinstance(found, tuple | list) and len(found) == 2, "The result is not a pair.")
    tensors, norm = found
    is_list = isinstance(tensors, tuple | list) and len(tensors) == len(gradients)
    expect(is_list, "The first result is not a list of as many tensors.")
    shapes = [tuple(one.shape) for one in gradients]
    clipped_ = [
        tensor_like(one, shape, "A gradient") for one, shape in zip(tensors, shapes, strict=True)
    ]
    return clipped_, number(norm, "The norm")


def joint(gradients):
    """Return all numbers of the gradients as one vector."""
    return torch.cat([one.flatten() for one in gradients])


def are_clipped(found, gradients):
    """Fail the check if long gradients are as they were."""
    expect(differs(joint(found), joint(gradients)), "Long gradients hardly change, or are NaN.")


def drawn_gradients(probe):
    """Draw three gradients whose joint norm is about 7, each of them far above 1."""
    return [probe.normal(3, 4) + 1.0, 1.5 * probe.normal(5) + 1.0, probe.normal(2, 2, 2) - 1.0]


# clip_gradients


@check("clip_gradients", points=0.04, layer="shapes")
def test_clipping_returns_a_list_and_a_float(student, probe):
    """Three gradients give a list of three tensors of these shapes, and a Python float."""
    gradients = drawn_gradients(probe)

    found, _ = clipped(student, gradients, 1.0)
    _, norm = student.call("clip_gradients", gradients, 1.0)
    expect(isinstance(norm, float), "The norm is not a Python float.")
    are_clipped(found, gradients)


@check("clip_gradients", points=0.1, layer="documented")
def test_clipping_gives_the_documented_gradients(student, documented):
    """The book's gradients 1, 2, 2 and 4 have the norm 5 and are divided by it."""
    gradients = documented["appendix_d.gradients"].tensor

    (found,), norm = clipped(student, [gradients], 1.0)
    documented["appendix_d.clipped"].matches(found, "The clipped gradient")
    documented["appendix_d.norm"].matches(norm, "The norm")


@check("clip_gradients", points=0.18, layer="probe")
def test_clipping_shortens_long_gradients(student, reference, probe):
    """Gradients whose joint norm is above max_norm are right, and so is the norm."""
    for dtype, max_norm in ((torch.float32, 1.0), (torch.float64, 0.3), (torch.float32, 2.5)):
        gradients = [one.to(dtype) for one in drawn_gradients(probe)]
        found, norm = clipped(student, gradients, max_norm)
        wanted, before = reference.call("clip_gradients", gradients, max_norm)
        agrees(found, wanted, "The clipped gradients")
        agrees(norm, before, "The norm before")


@check("clip_gradients", points=0.12, layer="probe")
def test_clipping_keeps_short_gradients(student, reference, probe):
    """Gradients whose joint norm is below max_norm keep their values."""
    for gradients, max_norm in (
        (drawn_gradients(probe), 100.0),
        ([0.01 * one for one in drawn_gradients(probe)], 1.0),
    ):
        found, norm = clipped(student, gradients, max_norm)
        _, before = reference.call("clip_gradients", gradients, max_norm)
        agrees(found, gradients, "The result for short gradients")
        agrees(norm, before, "The norm before")


@check("clip_gradients", points=0.06, layer="laws")
def test_the_norm_is_at_most_the_largest(student, probe):
    """Afterwards the joint norm is max_norm, or that before if it was smaller."""
    gradients = drawn_gradients(probe)
    before = joint(gradients).norm()
    for share in (0.1, 0.7, 1.6):
        found, norm = clipped(student, gradients, float(share * before))
        agrees(norm, float(before), "The norm before")
        agrees(joint(found).norm(), min(1.0, share) * before, "The joint norm afterwards")


@check("clip_gradients", points=0.06, layer="laws")
def test_the_direction_stays(student, probe):
    """All numbers of all gradients are multiplied by the same factor, which is below 1."""
    gradients = drawn_gradients(probe)

    found, _ = clipped(student, gradients, 1.0)
    factor = joint(found).norm() / joint(gradients).norm()
    agrees(joint(found), factor * joint(gradients), "The clipped gradients")
    expect(bool(0 < factor < 0.9), "Long gradients become zeros, or not clearly shorter.")


@check("clip_gradients", points=0.06, layer="laws")
def test_cutting_a_gradient_changes_nothing(student, probe):
    """A tensor in two parts gets the same numbers as in one; a second clipping changes nothing."""
    gradients = drawn_gradients(probe)

    whole, _ = clipped(student, [joint(gradients)], 2.0)
    parts, _ = clipped(student, gradients, 2.0)
    agrees(joint(parts), joint(whole), "The gradients in several tensors")
    again, _ = clipped(student, parts, 2.0001)
    agrees(joint(again), joint(parts), "After a second clipping, the gradients")
    are_clipped(parts, gradients)


@check("clip_gradients", points=0.06, layer="laws")
def test_zeros_stay_zeros(student, probe):
    """Zeros stay zeros, alone and next to a long gradient."""
    zeros, long = torch.zeros(2, 3), drawn_gradients(probe)[0]

    (alone,), norm = clipped(student, [zeros], 1.0)
    agrees(alone, zeros, "A gradient of zeros")
    agrees(norm, 0.0, "The norm of zeros")
    (still, shorter), _ = clipped(student, [zeros, long], 1.0)
    agrees(still, zeros, "Zeros next to a long gradient")
    agrees(shorter.norm(), torch.tensor(1.0), "The norm of the clipped gradient")


@check("clip_gradients", points=0.04, layer="laws", rules=("refuses",))
def test_clipping_refuses_a_norm_of_0(student, probe):
    """A max_norm of 0 or below raises an error."""
    gradients = drawn_gradients(probe)

    clipped(student, gradients, 0.1)
    for max_norm in (0.0, -1.0):
        refused = student.refuses("clip_gradients", gradients, max_norm)
        is_refused(refused, "A max_norm that is not above 0")


@check("clip_gradients", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_clipping_leaves_the_gradients_alone(student, probe):
    """The caller's gradients are unchanged, and the results are shorter."""
    gradients = drawn_gradients(probe)

    unchanged = student.keeps_inputs("clip_gradients", gradients, 1.0)
    expect(unchanged, "clip_gradients changes the gradients that you pass to it.")
    found, _ = clipped(student, gradients, 1.0)
    are_clipped(found, gradients)


@check("clip_gradients", points=0.03, layer="forbidden", rules=("no_ready_clipping",))
def test_clipping_is_your_own(student, probe):
    """The norm and the factor are your own code, not torch's clipping."""
    avoids(student, "clip_gradients", READY_CLIPPING, OWN_NORM)
    gradients = drawn_gradients(probe)
    found, _ = clipped(student, gradients, 1.0)
    are_clipped(found, gradients)


def rate(student, *arguments):
    """Return the student's rate as a number."""
    return number(student.call("rate_at", *arguments), "The rate")


def schedule(probe):
    """Draw the numbers of a schedule: steps, peak, warm-up and floor."""
    seed = probe.seed
    return 24 + 2 * (seed % 9), 0.5 + seed % 7, 4 + 2 * (seed % 4), 0.1 + seed % 3 / 10


def same_rates(student, reference, steps, *rest):
    """Compare the rates of many steps."""
    for step in (0, 1, 3, 4, 9, 12, 17, steps - 1, steps, steps + 3):
        wanted = reference.call("rate_at", step, steps, *rest)
        agrees(rate(student, step, steps, *rest), wanted, "The rate")


# rate_at


@check("rate_at", points=0.04, layer="signature")
def test_the_rate_has_no_warmup_and_no_floor_by_default(student, probe):
    """Without the last two arguments, the rate begins at the peak and ends at 0."""
    steps, peak, *_ = schedule(probe)

    for step in (0, 5, steps // 2, steps):
        given = rate(student, step, steps, peak, 0, 0.0)
        found = rate(student, step, steps, peak)
        agrees(found, given, "The rate without the last two arguments", "that with them")
    agrees(rate(student, 0, steps, peak), peak, "The rate at step 0")


@check("rate_at", points=0.03, layer="shapes")
def test_the_rate_is_a_float(student, probe):
    """The rate is a Python float, which differs from step to step."""
    steps, peak, warmup, floor = schedule(probe)

    found = [student.call("rate_at", step, steps, peak, warmup, floor) for step in (1, 3, 12)]
    expect(all(isinstance(one, float) for one in found), "The rate is not a Python float.")
    expect(len(set(found)) == 3, "Two different steps have the same rate.")


@check("rate_at", points=0.08, layer="documented")
def test_the_rate_is_that_of_the_course_cs336(student, documented):
    """Seven of 21 steps warm up, from 0 to 1, and the floor is 0.1: the 25 documented rates."""
    found = torch.tensor([rate(student, step, 21, 1.0, 7, 0.1) for step in range(25)])

    documented["cs336.rates"].matches(found, "The rates of 25 steps")


@check("rate_at", points=0.05, layer="documented")
def test_the_rate_is_that_of_transformers(student, documented):
    """Two of ten steps warm up, to a peak of 10, without a floor: the ten documented rates."""
    found = torch.tensor([rate(student, step, 10, 10.0, 2, 0.0) for step in range(10)])

    documented["transformers.rates"].matches(found, "The rates of ten steps")


@check("rate_at", points=0.1, layer="probe")
def test_the_rate_falls_without_a_warmup(student, reference, probe):
    """Without a warm-up, the rates are right, with a floor and without one."""
    steps, peak, _, floor = schedule(probe)

    same_rates(student, reference, steps, peak, 0, 0.0)
    same_rates(student, reference, steps + 5, peak, 0, floor)


@check("rate_at", points=0.1, layer="probe")
def test_the_rate_rises_and_falls(student, reference, probe):
    """With a warm-up, the rates are right, with a floor and without one."""
    steps, peak, warmup, floor = schedule(probe)

    same_rates(student, reference, steps, peak, warmup, floor)
    same_rates(student, reference, steps + 5, peak, warmup + 1, 0.0)


@check("rate_at", points=0.04, layer="laws")
def test_the_rate_begins_at_0_and_passes_the_peak(student, probe):
    """Step 0 has the rate 0, half the warm-up half the peak, and its end the peak."""
    steps, peak, warmup, floor = schedule(probe)

    for step, wanted in ((0, 0.0), (warmup // 2, peak / 2), (warmup, peak)):
        agrees(
            rate(student, step, steps, peak, warmup, floor),
            wanted,
            "The rate at a step up to the end of the warm-up",
        )


@check("rate_at", points=0.03, layer="laws")
def test_the_rate_stays_at_the_floor(student, probe):
    """The last step and all steps after it have the floor, and none before it has."""
    steps, peak, warmup, floor = schedule(probe)

    for step in (steps, steps + 1, steps + 11, 3 * steps):
        found = rate(student, step, steps, peak, warmup, floor)
        agrees(found, floor, "The rate at the last step or after it")
    before = rate(student, steps - 2, steps, peak, warmup, floor)
    expect(before > floor, "Before the last step, the rate is not above the floor.")


@check("rate_at", points=0.03, layer="laws")
def test_the_rate_falls_alike_before_and_after_the_middle(student, probe):
    """Rates as far before as after the middle of the fall add up to peak and floor."""
    steps, peak, warmup, floor = schedule(probe)

    rest = (steps, peak, warmup, floor)
    for far in (0, 2, 5):
        pair = [rate(student, warmup + far, *rest), rate(student, steps - far, *rest)]
        agrees(sum(pair), peak + floor, "The sum of two rates")


@check("rate_at", points=0.03, layer="laws")
def test_twice_the_steps_have_the_same_curve(student, probe):
    """With twice the steps and twice the warm-up, twice the step has the same rate."""
    steps, peak, warmup, floor = schedule(probe)

    found = []
    for step in (1, warmup, warmup + 3, steps - 1):
        found.append(rate(student, step, steps, peak, warmup, floor))
        twice = rate(student, 2 * step, 2 * steps, peak, 2 * warmup, floor)
        agrees(twice, found[-1], "With twice the steps, the rate", "that before")
    expect(max(found) - min(found) > EFFECT, "The rates of different steps are almost equal.")


@check("rate_at", points=0.03, layer="laws")
def test_the_rate_grows_with_peak_and_floor(student, probe):
    """With three times the peak and three times the floor, every rate is three times as large."""
    steps, peak, warmup, floor = schedule(probe)

    found = []
    for step in (2, warmup + 2, steps - 3, steps):
        found.append(rate(student, step, steps, peak, warmup, floor))
        larger = rate(student, step, steps, 3 * peak, warmup, 3 * floor)
        what = "With three times the peak and the floor, the rate"
        agrees(larger, 3 * found[-1], what, "three times that before")
    expect(max(found) - min(found) > EFFECT, "The rates of different steps are almost equal.")


@check("rate_at", points=0.04, layer="laws", rules=("refuses",))
def test_the_rate_refuses_a_warmup_that_does_not_fit(student, probe):
    """A warm-up below 0, or not shorter than the training, raises an error."""
    steps, peak, *_ = schedule(probe)

    rate(student, 1, steps, peak, steps - 1, 0.0)
    for warmup in (-1, steps, steps + 1):
        refused = student.refuses("rate_at", 1, steps, peak, warmup, 0.0)
        is_refused(refused, "A warm-up that does not fit")


def loss_of(student, model, ids, length):
    """Return the student's loss as a number."""
    return number(student.call("estimate_loss", model, ids, length), "The loss")


def reads_the_ids(student, V, length):
    """Fail the check if a text that the model knows has the same loss as one that it does not."""
    model, counting = chain(student, V), torch.arange(3 * length) % V
    one, other = (loss_of(student, model, each, length) for each in (counting, 0 * counting))
    expect(abs(one - other) > EFFECT, "The text has no clear effect on the loss.")


def forgetful(student, V, p=0.4):
    """Build a table whose logits drop out in training mode."""
    table = student.new("nn.Embedding", V, V).load({"weight": 3.0 * torch.eye(V).roll(1, dims=1)})
    return student.new("nn.Sequential", table, student.new("nn.Dropout", p))


# estimate_loss


@check("estimate_loss", points=0.03, layer="shapes")
def test_the_loss_is_a_float(student, probe):
    """The loss is a Python float, which depends on the text."""
    model, ids = chain(student, 7), draw_ids(probe, 1, 20, 7)[0]

    found = student.call("estimate_loss", model, ids, 6)
    expect(isinstance(found, float), "The loss is not a Python float.")
    reads_the_ids(student, 7, 6)


@check("estimate_loss", points=0.1, layer="documented")
def test_the_loss_is_the_documented_one(student, documented):
    """The lecture's untrained table of pairs has the documented loss on the four texts."""
    model = student.new("nn.Embedding", 65, 65, seed=1337)
    last = documented["gptdev.targets"].tensor[:, -1:]
    texts = torch.cat((documented["gptdev.ids"].tensor, last), dim=1)

    losses = [loss_of(student, model, text, 8) for text in texts]
    documented["gptdev.bigram.loss"].matches(sum(losses) / 4, "The mean loss of the four texts")


@check("estimate_loss", points=0.15, layer="probe")
def test_the_loss_is_that_of_all_pieces(student, reference, probe):
    """With a model that uses its whole input, several pieces and a rest give the right loss."""
    for length, N, V in ((6, 25, 7), (7, 50, 9)):
        yours, ours = both_transformers(student, reference, probe, V)
        ids = draw_ids(probe, 1, N, V)[0]
        wanted = reference.call("estimate_loss", ours, ids, length)
        agrees(loss_of(student, yours, ids, length), wanted, "The loss")


@check("estimate_loss", points=0.1, layer="probe")
def test_the_loss_is_that_of_a_single_piece(student, reference, probe):
    """With a model that uses its whole input, one piece or three give the right loss."""
    for length, N, V in ((12, 37, 8), (19, 20, 7), (9, 18, 6)):
        yours, ours = both_transformers(student, reference, probe, V)
        ids = draw_ids(probe, 1, N, V)[0]
        wanted = reference.call("estimate_loss", ours, ids, length)
        agrees(loss_of(student, yours, ids, length), wanted, "The loss")


@check("estimate_loss", points=0.06, layer="laws")
def test_equal_logits_lose_the_logarithm(student, probe):
    """A model that gives every token the same logit has a loss of ln V."""
    for V, length in ((5, 4), (11, 6)):
        zeros = student.new("nn.Embedding", V, V).load({"weight": torch.zeros(V, V)})
        ids = draw_ids(probe, 1, 30, V)[0]
        found = loss_of(student, zeros, ids, length)
        agrees(found, float(torch.tensor(float(V)).log()), "With equal logits, the loss")


@check("estimate_loss", points=0.06, layer="laws")
def test_a_table_does_not_notice_the_pieces(student, reference, probe):
    """A table of pairs has the same loss for every length that leaves no rest."""
    yours, _ = both_tables(student, reference, probe, 7)
    ids = draw_ids(probe, 1, 25, 7)[0]

    whole = loss_of(student, yours, ids, 24)
    for length in (1, 4, 6, 12):
        agrees(
            loss_of(student, yours, ids, length), whole, "The loss of pieces", "that of one piece"
        )
    reads_the_ids(student, 7, 6)


@check("estimate_loss", points=0.06, layer="laws")
def test_the_loss_is_small_where_the_model_is_right(student):
    """A model that knows the next token loses nearly nothing, and one that errs loses much."""
    model, ids = chain(student, 6), torch.arange(31) % 6

    right, wrong = loss_of(student, model, ids, 5), loss_of(student, model, ids.flip(0), 5)
    expect(
        0 <= right < 0.01,
        "The loss of a model that predicts every token is not between 0 and 0.01.",
    )
    expect(wrong > 5, "The loss of a model that is always wrong is not above 5.")


@check("estimate_loss", points=0.06, layer="laws")
def test_the_loss_is_measured_without_dropout(student, probe):
    """In training mode, a model with dropout has the same loss twice, and that of eval mode."""
    yours, ids = forgetful(student, 7), draw_ids(probe, 1, 40, 7)[0]

    yours.train()
    first, second = (loss_of(student, yours, ids, 6) for _ in range(2))
    yours.eval()
    agrees(second, first, "The second loss of the same text", "the first")
    agrees(first, loss_of(student, yours, ids, 6), "The loss in training mode", "that in eval mode")
    reads_the_ids(student, 7, 6)


@check("estimate_loss", points=0.06, layer="laws")
def test_the_mode_of_the_model_stays(student, probe):
    """Afterwards the model is in the mode in which it was: training or eval."""
    yours, ids = forgetful(student, 9), draw_ids(probe, 1, 40, 9)[0]
    reads_the_ids(student, 9, 6)

    yours.train()
    loss_of(student, yours, ids, 6)
    one, other = (logits_of(yours, ids[None], 9) for _ in range(2))
    expect(not torch.equal(one, other), "Afterwards a model in training mode is in eval mode.")
    yours.eval()
    loss_of(student, yours, ids, 6)
    one, other = (logits_of(yours, ids[None], 9) for _ in range(2))
    expect(torch.equal(one, other), "Afterwards a model in eval mode is in training mode.")


@check("estimate_loss", points=0.05, layer="laws", rules=("no_graph",))
def test_the_loss_builds_no_graph(student):
    """The model runs under torch.no_grad() or an equivalent."""
    reads_the_ids(student, 7, 6)

    uses = student.uses("estimate_loss")
    stated = any(WITHOUT_GRAPH.intersection(use.name.split(".")) for use in uses)
    expect(stated, "estimate_loss uses neither torch.no_grad() nor an equivalent.")


@check("estimate_loss", points=0.04, layer="laws", rules=("refuses",))
def test_the_loss_refuses_a_short_text(student, probe):
    """A text without a piece and the token after it raises an error."""
    model = chain(student, 7)

    reads_the_ids(student, 7, 6)
    loss_of(student, model, torch.arange(7), 6)
    for N in (6, 5, 1):
        refused = student.refuses("estimate_loss", model, draw_ids(probe, 1, N, 7)[0], 6)
        is_refused(refused, "A text that is too short")


@check("estimate_loss", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_the_loss_leaves_the_ids_alone(student, probe):
    """The caller's ids are unchanged, and they have an effect."""
    model, ids = chain(student, 7), draw_ids(probe, 1, 20, 7)[0]

    unchanged = student.keeps_inputs("estimate_loss", model, ids, 6)
    expect(unchanged, "estimate_loss changes the ids that you pass to it.")
    reads_the_ids(student, 7, 6)


def top_k(student, logits, k):
    """Return the student's logits, of which only the k largest of each row are left."""
    return tensor_like(student.call("top_k_logits", logits, k), tuple(logits.shape), "The logits")


def kept(student, logits, k):
    """Return which logits the student keeps as they are."""
    return (top_k(student, logits, k) - logits).abs() < 1e-4


def spread_logits(probe, *shape):
    """Draw logits of which no two in a row are near each other, some of them below 0."""
    return 0.7 * probe.uniform(*shape).argsort(dim=-1) - 1.0


# top_k_logits


@check("top_k_logits", points=0.15, layer="documented")
def test_top_k_gives_the_documented_probabilities(student, documented):
    """The three largest of nine documented logits have the documented probabilities."""
    logits = documented["ch05.next_token_logits"].tensor

    found = tensor_like(student.call("top_k_logits", logits, 3), (9,), "top_k_logits(logits, 3)")
    what = "The softmax of top_k_logits(logits, 3)"
    documented["ch05.topk_probas"].matches(torch.softmax(found, dim=-1), what)


def same_top_k(student, reference, logits, k):
    """Compare the logits that are left."""
    ours = reference.call("top_k_logits", logits, k)
    agrees(student.call("top_k_logits", logits, k), ours, "The result")


@check("top_k_logits", points=0.07, layer="probe", rules=("minus_infinity",))
def test_top_k_of_one_row(student, reference, probe):
    """For logits with one axis, the k largest logits are kept."""
    for V, k in ((7, 3), (5, 1), (9, 8)):
        same_top_k(student, reference, 2 * probe.normal(V) - 1, k)


@check("top_k_logits", points=0.06, layer="probe", rules=("minus_infinity",))
def test_top_k_works_on_each_row(student, reference, probe):
    """For logits with two and three axes, each row keeps its own k largest logits."""
    for *shape, k in ((4, 6, 2), (3, 2, 5, 4), (5, 3, 1)):
        same_top_k(student, reference, 2 * probe.normal(*shape) - 1, k)


@check("top_k_logits", points=0.09, layer="probe")
def test_top_k_keeps_ties(student, reference, probe):
    """All logits equal to the k-th largest one are kept."""
    base = torch.tensor([2.0, 5.0, 2.0, 7.0, 2.0, 1.0]) + probe.normal(3, 1).round()

    for k in (1, 2, 3, 4, 5):
        found = student.call("top_k_logits", base, k)
        agrees(found, reference.call("top_k_logits", base, k), "With ties, the result")


@check("top_k_logits", points=0.04, layer="laws")
def test_top_k_keeps_k_logits(student, probe):
    """If all logits of a row differ, exactly k of them stay as they are."""
    logits = spread_logits(probe, 4, 7)

    for k in (1, 3, 6, 7):
        counts = kept(student, logits, k).sum(dim=-1)
        agrees(counts, torch.full((4,), k), "The number of kept logits per row")


@check("top_k_logits", points=0.04, layer="laws")
def test_top_k_leaves_the_largest_on_top(student, probe):
    """The largest logit of each row stays the largest, and the smallest does not stay as it is."""
    logits = spread_logits(probe, 4, 7)

    found = top_k(student, logits, 4)
    agrees(
        found.argmax(dim=-1), logits.argmax(dim=-1), "The vector of places of the largest logits"
    )
    smallest = found.gather(-1, logits.argmin(dim=-1, keepdim=True))
    expect(bool((smallest < -1.1).all()), "The smallest logit of a row does not become smaller.")


@check("top_k_logits", points=0.04, layer="laws")
def test_top_k_moves_with_its_logits(student, probe):
    """A number that is added to all logits does not change which of them are kept."""
    logits = spread_logits(probe, 4, 7)

    before, after = (kept(student, one, 3) for one in (logits, logits + 2.3))
    agrees(after, before, "The choice of logits after an addition", "that before")
    expect(bool(before.any()), "No logit is kept as it is.")
    expect(not bool(before.all()), "All logits are kept as they are.")


@check("top_k_logits", points=0.04, layer="laws")
def test_top_k_knows_no_order_of_tokens(student, probe):
    """If the tokens are in another order, so are the logits that are kept."""
    logits, order = spread_logits(probe, 4, 7), torch.tensor([3, 6, 0, 5, 1, 4, 2])

    before, after = (kept(student, one, 3) for one in (logits, logits[:, order].contiguous()))
    agrees(
        after,
        before[:, order],
        "The choice of logits in another order",
        "that before in this order",
    )
    expect(
        not bool((before == before[:, order]).all()),
        "In another order of the tokens, the same places are kept.",
    )


@check("top_k_logits", points=0.03, layer="laws", rules=("refuses",))
def test_top_k_refuses_a_wrong_k(student, probe):
    """A k of 1 or V gives logits, and a k below 1 or above V raises an error."""
    logits = spread_logits(probe, 3, 5)

    for k in (1, 5):
        expect(int(kept(student, logits, k).sum()) == 3 * k, "A wrong number of logits is kept.")
    for k in (0, -1, 6, 9):
        is_refused(student.refuses("top_k_logits", logits, k), "A k below 1 or above V")


@check("top_k_logits", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_top_k_leaves_its_logits_alone(student, probe):
    """The caller's tensor is unchanged, but some of the returned logits differ."""
    logits = spread_logits(probe, 3, 6)

    unchanged = student.keeps_inputs("top_k_logits", logits, 2)
    expect(unchanged, "top_k_logits changes the logits that you pass to it.")
    expect(int(kept(student, logits, 2).sum()) == 6, "A wrong number of logits is kept.")


@check("top_k_logits", points=0.02, layer="laws", rules=("dtype",))
def test_top_k_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 logits give a float64 result, and float32 logits give float32."""
    logits = spread_logits(probe, 3, 6)

    keeps_dtype("top_k_logits", logits, 2)
    expect(int(kept(student, logits, 2).sum()) == 6, "A wrong number of logits is kept.")


def sampled(student, logits, *options, seed=SEED):
    """Return the ids that the student draws."""
    shape = (len(logits), 1)
    return tensor_like(student.call("sample_next", logits, *options, seed=seed), shape, "The ids")


# sample_next


@check("sample_next", points=0.04, layer="signature")
def test_sampling_has_a_temperature_of_1_by_default(student, probe):
    """Without the last two arguments, the temperature is 1 and all tokens can be drawn."""
    logits = 2 * probe.normal(200, 7)

    found = sampled(student, logits)
    agrees(found, sampled(student, logits, 1.0, None), "The ids without a temperature")
    expect(
        not torch.equal(found, sampled(student, -logits)), "The opposite logits give the same ids."
    )


@check("sample_next", points=0.03, layer="shapes")
def test_sampling_gives_one_id_for_each_item(student):
    """Logits (3, 5) give ids (3, 1) in int64."""
    found = student.call("sample_next", torch.zeros(3, 5), 1.0, None)

    same_dtype(tensor_like(found, (3, 1), "The ids"), torch.int64, "The ids")


def fits_probabilities(student, probe, temperature, top_k):
    """Check the frequencies of two thousand draws."""
    row = torch.tensor([0.0, 1.2, -0.7, 1.9, 0.6]) + 0.1 * probe.uniform(5)
    row[0] = row[4]  # a tie at the third place
    found = sampled(student, row.expand(DRAWN, 5), temperature, top_k, seed=probe.seed)

    shares = (row / temperature).exp()
    if top_k:
        shares = shares * (row >= row.sort().values[-top_k])
    counts = counts_of(found, 5, "The result for 2000 rows")
    limit = f" with top_k={top_k}" if top_k else ""
    frequencies_fit(counts, shares, f"At temperature {temperature}{limit}")


@check("sample_next", points=0.11, layer="probe")
def test_tokens_are_drawn_by_their_probabilities(student, probe):
    """In two thousand draws, the share of each token is close to its probability."""
    fits_probabilities(student, probe, 1.0, None)


@check("sample_next", points=0.09, layer="probe")
def test_temperature_changes_the_probabilities(student, probe):
    """At low and high temperatures, the share of each token is close to its probability."""
    for temperature in (0.6, 1.8):
        fits_probabilities(student, probe, temperature, None)


@check("sample_next", points=0.08, layer="probe")
def test_tokens_are_drawn_among_the_top_k(student, probe):
    """With top_k, the share of each token that can be drawn is close to its probability."""
    for top_k in (2, 3):
        fits_probabilities(student, probe, 1.3, top_k)


@check("sample_next", points=0.11, layer="probe")
def test_temperature_zero_takes_the_largest(student, reference, probe):
    """At temperature 0 each item gets its most likely token, with and without top_k."""
    for B, V, limit in ((4, 7, None), (1, 5, None), (3, 6, 2)):
        logits = 2 * probe.normal(B, V)

        ours = reference.call("sample_next", logits, 0.0, limit)
        found = student.call("sample_next", logits, 0.0, limit)
        agrees(found, ours, "With a temperature of 0, the ids")


def ordered(probe):
    """Draw logits in which the order of the tokens is clear, and return the most likely ones."""
    order = probe.uniform(9, 6).argsort(dim=-1)
    return 3.0 * order.float(), order.argmax(dim=-1, keepdim=True)


@check("sample_next", points=0.04, layer="laws")
def test_cold_sampling_takes_the_largest(student, probe):
    """At a temperature near 0, the most likely token is drawn."""
    logits, largest = ordered(probe)

    for seed in (4, 5):
        found = sampled(student, logits, 0.05, None, seed=seed)
        agrees(found, largest, "At a temperature near 0, the ids")


@check("sample_next", points=0.04, layer="laws")
def test_sampling_of_one_choice_takes_the_largest(student, probe):
    """With top_k = 1, the most likely token is drawn at any temperature."""
    logits, largest = ordered(probe)

    for temperature in (0.5, 2.0):
        found = sampled(student, logits, temperature, 1)
        agrees(found, largest, "With top_k = 1, the ids")


@check("sample_next", points=0.05, layer="laws")
def test_sampling_ignores_what_all_logits_share(student, probe):
    """With the same seed, a number that is added to all logits does not change the ids."""
    logits = (2 * probe.normal(90, 7)).round()

    found = sampled(student, logits, 1.0, None)
    agrees(sampled(student, logits + 4.0, 1.0, None), found, "The result for shifted logits")
    other = sampled(student, -logits, 1.0, None)
    expect(not torch.equal(found, other), "The opposite logits give the same ids.")


@check("sample_next", points=0.05, layer="laws")
def test_sampling_never_draws_what_is_impossible(student, probe):
    """Tokens with a logit of minus infinity are never drawn, and all others are."""
    row = 0.3 * probe.normal(6)
    row[[1, 4]] = -torch.inf

    found = sampled(student, row.expand(300, 6), 1.2, None)
    expect(
        set(found.flatten().tolist()) == {0, 2, 3, 5},
        "A wrong token is drawn, or a right one never.",
    )


@check("sample_next", points=0.04, layer="laws")
def test_sampling_limits_its_choice(student, probe):
    """With top_k = 2, the two most likely tokens are drawn, and no others."""
    row = 0.2 * probe.uniform(6).argsort().float()
    logits = row.repeat(300, 1)
    logits[::2] -= 5.0  # each item has its own limit

    found = sampled(student, logits, 1.5, 2)
    expect(
        set(found.flatten().tolist()) == set(row.topk(2).indices.tolist()),
        "A wrong token is drawn, or a right one never.",
    )


@check("sample_next", points=0.05, layer="laws", rules=("refuses",))
def test_sampling_refuses_wrong_arguments(student, probe):
    """A temperature below 0 or a top_k outside 1 to V raises an error, even at temperature 0."""
    logits = probe.normal(3, 5)

    sampled(student, logits, 0.0, 5)
    sampled(student, logits, 1.0, 1)
    for temperature in (-1.0, -0.01):
        refused = student.refuses("sample_next", logits, temperature)
        is_refused(refused, "A temperature below 0")
    for temperature, limit in ((1.0, 0), (1.0, 6), (0.0, 0), (0.0, 6), (0.0, -2)):
        refused = student.refuses("sample_next", logits, temperature, limit)
        is_refused(refused, f"At temperature {temperature:.0f}, a top_k below 1 or above V")


@check("sample_next", points=0.03, layer="laws", rules=("no_seeding",))
def test_sampling_leaves_the_seed_to_the_caller(student, probe):
    """Two seeds give different draws."""
    logits = torch.zeros(40, 9)

    same = torch.equal(*(sampled(student, logits, 1.0, seed=seed) for seed in (probe.seed, 7)))
    expect(not same, "Two seeds give the same ids: does your code set a seed?")
    after = [student.draws_next()]
    sampled(student, logits, 1.0, seed=8)
    after.append(student.draws_next())
    expect(
        not torch.equal(*after), ("After a call, torch's random numbers do not depend on the seed.")
    )


@check("sample_next", points=0.01, layer="laws", rules=("inputs_unchanged",))
def test_sampling_leaves_its_logits_alone(student, probe):
    """The caller's logits are unchanged, but they have an effect."""
    logits, largest = ordered(probe)

    unchanged = student.keeps_inputs("sample_next", logits, 0.05, 2)
    expect(unchanged, "sample_next changes the logits that you pass to it.")
    agrees(sampled(student, logits, 0.05, 2), largest, "At a temperature near 0, the ids")


def chain(student, V):
    """Build a table of logits in which each id is followed by the next one, V - 1 by 0."""
    return student.new("nn.Embedding", V, V).load({"weight": 9.0 * torch.eye(V).roll(1, dims=1)})


def generated(student, model, ids, more, *options, seed=SEED):
    """Return the texts that the student continues."""
    shape = (len(ids), ids.shape[1] + more)
    found = student.call("generate", model, ids, more, *options, seed=seed)
    return tensor_like(found, shape, "The result")


def follows(student, model, V, ids, *options):
    """Fail the check if other texts get the same new tokens."""
    one, other = (
        generated(student, model, each, *options)[:, ids.shape[1] :]
        for each in (ids, (ids + 1) % V)
    )
    expect(not torch.equal(one, other), "Other texts get the same new tokens.")


# generate


@check("generate", points=0.04, layer="signature")
def test_generate_chooses_the_most_likely_token_by_default(student, reference, probe):
    """Without the last two arguments, the temperature is 0."""
    yours, _ = both_tables(student, reference, probe, 9)
    model, ids = chain(student, 9), draw_ids(probe, 5, 2, 9)

    for one in (yours, model):
        given = generated(student, one, ids, 6, 4, 0.0, None)
        agrees(generated(student, one, ids, 6, 4), given, "Without a temperature, the result")
    follows(student, model, 9, ids, 6, 4)


@check("generate", points=0.04, layer="shapes")
def test_generate_appends_tokens(student):
    """Two texts of 3 tokens, continued by 4, have 7 tokens and begin with the given ids."""
    ids = torch.tensor([[1, 0, 2], [2, 2, 1]])

    model = student.new("nn.Embedding", 3, 3)
    found = tensor_like(student.call("generate", model, ids, 4, 5, 0.0), (2, 7), "The result")
    agrees(found[:, :3], ids, "The beginning of the result")


@check("generate", points=0.18, layer="documented")
def test_generate_writes_the_documented_text(student, documented):
    """The lecture's untrained model generates the 100 documented characters."""
    model = student.new("nn.Embedding", 65, 65, seed=1337)  # the draws of BigramModel
    text = student.call("generate", model, torch.zeros(1, 1).long(), 100, 8, 1.0)

    text = tensor_like(text, (1, 101), "The result")[0]
    documented["gptdev.generated"].matches(text, "generate(model, [[0]], 100, 8, 1.0)")


@check("generate", points=0.14, layer="documented")
def test_generate_draws_as_often_as_documented(student, documented):
    """In 1000 draws at each of three temperatures, tokens appear as often as documented."""
    logits = documented["ch05.next_token_logits"].tensor
    model = student.new("nn.Embedding", 9, 9).load({"weight": logits.repeat(9, 1)})

    for name, temperature in (
        ("ch05.sampled", 1.0),
        ("ch05.sampled.cold", 0.1),
        ("ch05.sampled.hot", 5.0),
    ):
        start = torch.zeros(1, 1).long()
        text = student.call("generate", model, start, 1000, 1, temperature, seed=123)
        what = f"The result at temperature {temperature}"
        counts = counts_of(tensor_like(text, (1, 1001), what)[:, 1:], 9, what)
        documented[name].matches(counts, f"The counts of tokens at temperature {temperature}")


@check("generate", points=0.19, layer="probe")
def test_generate_follows_a_table(student, reference, probe):
    """With a table as its model, each new token follows from the one before it."""
    for B, T, V, more in ((3, 4, 7, 6), (1, 1, 9, 8), (2, 5, 6, 1)):
        yours, ours = both_tables(student, reference, probe, V)
        ids = draw_ids(probe, B, T, V)

        found = student.call("generate", yours, ids, more, T + 2, 0.0)
        wanted = reference.call("generate", ours, ids, more, T + 2, 0.0)
        agrees(found, wanted, "The continued texts")


@check("generate", points=0.21, layer="probe")
def test_generate_shows_the_last_context_to_the_model(student, reference, probe):
    """With a model that uses its whole input, the tokens of short and long texts are right."""
    for B, T, V, context, more in ((4, 4, 11, 6, 9), (5, 8, 9, 3, 5), (3, 5, 13, 5, 7)):
        yours, ours = both_transformers(student, reference, probe, V)
        ids = draw_ids(probe, B, T, V)

        found = student.call("generate", yours, ids, more, context, 0.0)
        wanted = reference.call("generate", ours, ids, more, context, 0.0)
        agrees(found, wanted, "The continued texts")


@check("generate", points=0.11, layer="probe")
def test_generate_passes_temperature_and_top_k_on(student, probe):
    """At a temperature above 0, only the top_k tokens are drawn, with their probabilities."""
    row = torch.tensor([0.3, 1.6, -0.4, 1.1, 0.0, 0.8]) + 0.1 * probe.uniform(6)
    row[0] = row[5]  # a tie at the third place
    shifts = torch.arange(6)[:, None]  # which change the limits of texts, but no probability
    model = student.new("nn.Embedding", 6, 6).load({"weight": row + 4.0 * shifts})
    start = torch.arange(DRAWN // 4)[:, None] % 6
    for temperature, top_k in ((0.5, None), (1.5, 2), (2.5, 3)):
        options = (temperature,) if top_k is None else (temperature, top_k)
        text = student.call("generate", model, start, 4, 2, *options, seed=probe.seed)

        text = tensor_like(text, (DRAWN // 4, 5), "The result")
        counts = counts_of(text[:, 1:], 6, "The result")
        shares = (row / temperature).exp()
        if top_k:
            shares = shares * (row >= row.sort().values[-top_k])
        limit = f" with top_k={top_k}" if top_k else ""
        frequencies_fit(counts, shares, f"In texts at temperature {temperature}{limit}")


@check("generate", points=0.07, layer="laws")
def test_generate_goes_on_where_it_ended(student, probe):
    """Three and then four new tokens give the same text as seven; 0 new tokens give the ids."""
    model, ids = chain(student, 11), draw_ids(probe, 2, 3, 11)

    at_once = generated(student, model, ids, 7, 4, 0.0)
    agrees(generated(student, model, ids, 0, 4, 0.0), ids, "Without new tokens, the result")
    first = generated(student, model, ids, 3, 4, 0.0)
    again = generated(student, model, first, 4, 4, 0.0)
    agrees(again, at_once, "The text of three and then four new tokens")
    follows(student, model, 11, ids, 7, 4, 0.0)


@check("generate", points=0.07, layer="laws")
def test_generate_forgets_what_is_before_the_context(student, reference, probe):
    """Texts whose last context_length tokens are the same are continued in the same way."""
    yours, _ = both_transformers(student, reference, probe, 11)
    ids = draw_ids(probe, 3, 6, 11)
    others = ids.clone()
    others[:, :3] = (others[:, :3] + 4) % 11

    found, again = (generated(student, yours, one, 5, 3, 3.0) for one in (ids, others))
    agrees(again[:, 6:], found[:, 6:], "With other tokens before the context, the new tokens")
    follows(student, yours, 11, ids, 5, 3, 3.0)


@check("generate", points=0.04, layer="laws")
def test_generate_with_one_choice_is_greedy(student, probe):
    """With top_k = 1, the tokens are those of a temperature of 0."""
    model, ids = chain(student, 8), draw_ids(probe, 3, 2, 8)

    greedy = generated(student, model, ids, 6, 4, 0.0)
    agrees(generated(student, model, ids, 6, 4, 1.5, 1), greedy, "With top_k = 1, the result")
    follows(student, model, 8, ids, 6, 4, 1.5, 1)


@check("generate", points=0.04, layer="laws")
def test_generate_continues_each_text_alone(student, probe):
    """A text is continued in the same way alone and in a batch."""
    model, ids = chain(student, 9), draw_ids(probe, 3, 4, 9)

    together = generated(student, model, ids, 5, 6, 0.0)
    for item in range(3):
        alone = generated(student, model, ids[item : item + 1], 5, 6, 0.0)
        agrees(alone, together[item : item + 1], "The text of an item alone")
    follows(student, model, 9, ids, 5, 6, 0.0)


@check("generate", points=0.09, layer="laws", rules=("no_graph",))
def test_generate_builds_no_graph(student, probe):
    """The model runs under torch.no_grad() or an equivalent."""
    ids = draw_ids(probe, 2, 3, 7)
    generated(student, chain(student, 7), ids, 4, 5, 0.0)

    uses = student.uses("generate")
    stated = any(WITHOUT_GRAPH.intersection(use.name.split(".")) for use in uses)
    expect(stated, "generate uses neither torch.no_grad() nor an equivalent.")
    follows(student, chain(student, 7), 7, ids, 4, 5, 0.0)


@check("generate", points=0.04, layer="laws", rules=("no_seeding",))
def test_generate_leaves_the_seed_to_the_caller(student, probe):
    """Two seeds give different texts."""
    model = student.new("nn.Embedding", 9, 9).load({"weight": torch.zeros(9, 9)})
    ids, texts = draw_ids(probe, 2, 3, 9), []
    for seed in (probe.seed, 7):
        text = generated(student, model, ids, 20, 4, 1.0, seed=seed)
        texts.append((text, student.draws_next()))

    (one, after_one), (other, after_other) = texts
    expect(not torch.equal(one, other), "Two seeds give the same text: does your code set a seed?")
    same = torch.equal(after_one, after_other)
    expect(not same, "After a call, torch's random numbers do not depend on the seed.")


@check("generate", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_generate_leaves_the_ids_alone(student, probe):
    """The caller's ids are unchanged, and new tokens follow them."""
    model, ids = chain(student, 9), draw_ids(probe, 2, 3, 9)

    unchanged = student.keeps_inputs("generate", model, ids, 3, 4, 0.0)
    expect(unchanged, "generate changes the ids that you pass to it.")
    follows(student, model, 9, ids, 3, 4, 0.0)
