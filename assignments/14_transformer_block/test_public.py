"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.forbidden import avoids, avoids_itself, avoids_running
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
HEADS = "MultiHeadAttention"
BLOCK = "TransformerBlock"
QKV = ("W_query", "W_key", "W_value")
LACKS = ("out_proj.bias", "att.out_proj.bias")
SHORTCUTS, PLAIN = True, False  # for use_shortcut
POST_NORM = False  # for norm_first
PRE_NORM = True
QKV_BIAS, NO_BIAS = True, False
LAYER_EPS, RMS_EPS = 1e-5, 1e-6  # the defaults; checks of anything else pass them
EFFECT = 0.01  # far above float32 noise; the changes that the laws make have larger effects
FAR = 100.0  # a change of a value that even a small weight shows
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
NORM_BY_HAND = "In this stage you write the norms yourself: means, squares and roots."
ALL_ZERO = "Every number in the result is 0."
GELU_BY_HAND = "In this stage you write GELU and gated networks yourself."


class Sizes(NamedTuple):
    """Sizes for the checks: all different, so that no wrong axis fits by chance."""

    B: int
    T: int
    H: int
    d: int
    hidden: int
    context: int

    @property
    def d_model(self):
        """Return the features of all heads side by side."""
        return self.H * self.d


TWO = Sizes(B=3, T=7, H=2, d=5, hidden=17, context=11)
THREE = Sizes(B=2, T=5, H=3, d=4, hidden=9, context=8)
FOUR = Sizes(B=5, T=6, H=4, d=2, hidden=13, context=9)


def tokens(probe, s, T=None):
    """Draw a batch with different items, whose features have neither mean 0 nor variance 1."""
    return 1.7 * probe.normal(s.B, T or s.T, s.d_model) + 0.6


def scaled(probe, count):
    """Draw factors of both signs with absolute values of at least 1."""
    drawn = probe.normal(count)
    return drawn + drawn.sign()


def norm_weights(probe, prefix, d_model):
    """Draw a scale and a shift for the LayerNorm at *prefix*."""
    return {f"{prefix}scale": scaled(probe, d_model), f"{prefix}shift": probe.normal(d_model)}


def ff_weights(probe, prefix, d_model, hidden):
    """Draw weights and biases for the FeedForward at *prefix*, for results of variance 1."""
    return {
        f"{prefix}linear1.weight": probe.normal(hidden, d_model, scale=d_model**-0.5),
        f"{prefix}linear1.bias": probe.normal(hidden),
        f"{prefix}linear2.weight": probe.normal(d_model, hidden, scale=hidden**-0.5),
        f"{prefix}linear2.bias": probe.normal(d_model),
    }


def heads_weights(probe, prefix, s, *, d_in=None, qkv_bias=False):
    """Draw weights for the MultiHeadAttention at *prefix*, for scores of variance 1."""
    d_in, d_out = d_in or s.d_model, s.d_model
    widths = {**dict.fromkeys(QKV, d_in), "out_proj": d_out}
    biased = widths if qkv_bias else ("out_proj",)
    weights = {
        f"{prefix}{name}.weight": probe.normal(d_out, width, scale=width**-0.5)
        for name, width in widths.items()
    }
    return weights | {f"{prefix}{name}.bias": probe.normal(d_out) for name in biased}


def block_weights(probe, s):
    """Draw weights for all parts of a block except its attention."""
    return {
        **norm_weights(probe, "norm1.", s.d_model),
        **ff_weights(probe, "ff.", s.d_model, s.hidden),
        **norm_weights(probe, "norm2.", s.d_model),
    }


def without_mixing(student, probe, s):
    """Build a FeedForward to use in place of attention; it treats each token separately."""
    inside = s.hidden + 2
    layer = student.new("FeedForward", s.d_model, inside, "relu")
    return layer.load(ff_weights(probe, "", s.d_model, inside))


def blocks(student, reference, probe, s, norm_first, activation="gelu"):
    """Build two blocks without attention, the student's and the reference, with equal weights."""
    sizes = (s.d_model, s.hidden, norm_first, activation)
    inside = s.hidden + 2
    weights = block_weights(probe, s)
    weights |= ff_weights(probe, "att.", s.d_model, inside)
    return tuple(
        one.new(BLOCK, one.new("FeedForward", s.d_model, inside, "relu"), *sizes).load(weights)
        for one in (student, reference)
    )


def attending_blocks(student, reference, probe, s, *options):
    """Build two blocks with attention, the student's and the reference, with equal weights."""
    weights = block_weights(probe, s) | heads_weights(probe, "att.", s)
    heads = (s.d_model, s.d_model, s.context, 0.0, s.H, NO_BIAS)
    return tuple(
        one.new(BLOCK, one.new(HEADS, *heads), s.d_model, s.hidden, *options).load(
            weights, may_lack=LACKS
        )
        for one in (student, reference)
    )


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


def same_gradients(yours, ours):
    """Compare the gradients of the input and of the parameters."""
    named_ = {"the input": yours.inputs[0], **yours.parameters}
    for name, gradient in {"the input": ours.inputs[0], **ours.parameters}.items():
        found = named_.get(name)
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, gradient, f"The gradient of {name}")


def is_refused(refused, what):
    """Fail the check if a wrong argument is accepted."""
    sentence = f"{what} gives a result; it should raise a ValueError."
    expect(refused, sentence, Status.NOT_REFUSED)


def leaves_the_seed(student, module, x):
    """Fail the check if a call of *module* sets torch's seed."""
    drawn = []
    for seed in (5, 6):
        module(x, seed=seed)
        drawn.append(student.draws_next())
    same = torch.equal(*drawn)
    expect(not same, "After a call, the random numbers no longer depend on the seed.")


def differs(one, other):
    """Return whether two results of the same shape differ much more than float32 noise."""
    apart = (one.double() - other.double()).abs()
    return bool(apart.numel()) and bool(apart.max() > EFFECT)


def result_of(module, x, d_out=None):
    """Return the result of a module as real numbers, with which a law can compute."""
    found = tensor_like(module(x), (*x.shape[:-1], d_out or x.shape[-1]), "The result")
    expect(found.is_floating_point(), "The result has the wrong dtype.", Status.WRONG_TYPE)
    return found


def has_effect(before, after, what, on=""):
    """Fail the check if a change of *what* has left a result as it was."""
    expect(differs(before, after), f"A change of {what} has no clear effect{on}.")


def computes(module, x, d_out=None):
    """Fail the check if *module* returns its input, or the same numbers for other tokens."""
    one, other = (result_of(module, each, d_out) for each in (x, 0.5 - x))
    has_effect(one, other, "the tokens")
    expect(one.shape != x.shape or differs(one, x), "The result is almost the input.")


def treats_tokens_apart(module, x, d_out=None):
    """Fail the check unless a token of a batch gets the result that it gets alone."""
    together = result_of(module, x, d_out)
    alone = result_of(module, x[1:2, 2:3].contiguous(), d_out)
    agrees(alone, together[1:2, 2:3], "The result of a token alone")
    rows = result_of(module, x[1].contiguous(), d_out)
    agrees(rows, together[1], "The result of a text alone")
    expect(differs(together[0, 0], together[1, 2]), "Different tokens give almost the same result.")
    expect(together.shape != x.shape or differs(together, x), "The result is almost the input.")


def heads_of(student, probe, s, change=None):
    """Build the class with drawn weights, which *change* may replace."""
    weights = heads_weights(probe, "", s)
    sizes = (s.d_model, s.d_model, s.context, 0.0, s.H, NO_BIAS)
    return student.new(HEADS, *sizes).load((change or dict)(weights), may_lack=LACKS)


# MultiHeadAttention


@check(HEADS, points=0, layer="parameters")
def test_heads_still_have_the_right_sizes(student):
    """The four layers have the right names and sizes."""
    for d_in, d_out, qkv_bias in ((5, 8, False), (7, 4, True)):
        heads = student.new(HEADS, d_in, d_out, 6, 0.0, 2, qkv_bias)
        wanted = {f"{name}.weight": (d_out, d_in) for name in QKV}
        wanted |= {f"{name}.bias": (d_out,) for name in QKV if qkv_bias}
        wanted |= {"out_proj.weight": (d_out, d_out), "out_proj.bias": (d_out,)}
        more = "The class has more parameters than it must have."
        named(heads, wanted, more, f" with qkv_bias={qkv_bias}")


@check(HEADS, points=0, layer="probe")
def test_heads_still_attend(student, reference, probe):
    """The class from stage 10 gives the right results for other sizes and for shorter inputs."""
    for s, d_in, qkv_bias in ((TWO, 10, False), (THREE, 7, True), (FOUR, 11, False)):
        sizes = (d_in, s.d_model, s.context, 0.0, s.H, qkv_bias)
        weights = heads_weights(probe, "", s, d_in=d_in, qkv_bias=qkv_bias)
        yours = student.new(HEADS, *sizes).load(weights, may_lack=LACKS)
        ours = reference.new(HEADS, *sizes).load(weights)

        for T in (s.T, s.context, 1):
            x = 1.7 * probe.normal(s.B, T, d_in) + 0.6
            agrees(yours(x), ours(x), f"The context with qkv_bias={qkv_bias}")


@check(HEADS, points=0, layer="laws")
def test_heads_still_see_the_past_and_not_the_future(student, probe):
    """A token affects the tokens after it, and none before it."""
    s = TWO

    def only_values(weights):  # the last feature of a token has an effect on its value only
        for name in QKV[:2]:
            weights[f"{name}.weight"][:, -1] = 0
        return weights

    yours, x = heads_of(student, probe, s, only_values), tokens(probe, s)
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
    s, value = FOUR, probe.normal(FOUR.d_model)

    def equal_values(weights):  # the value of each token uses only its leading 1
        weights["W_value.weight"] *= 0
        weights["W_value.weight"][:, 0] = value
        alone = {
            "out_proj.weight": torch.eye(s.d_model),
            "out_proj.bias": torch.zeros(s.d_model),
        }
        return weights | alone

    x = tokens(probe, s)
    x[..., 0] = 1.0
    agrees(heads_of(student, probe, s, equal_values)(x), value.expand_as(x), "The context")


@check(HEADS, points=0, layer="laws")
def test_heads_still_keep_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone, and items differ."""
    yours, x = heads_of(student, probe, THREE), tokens(probe, THREE)

    together = result_of(yours, x)
    for item in range(THREE.B):
        alone = result_of(yours, x[item : item + 1].contiguous())
        agrees(alone, together[item : item + 1], "The result of an item alone")
    has_effect(together[0], together[1], "the item")
    expect(differs(together, x), "The result is almost the input.")


WIDE = Sizes(B=3, T=12, H=2, d=24, hidden=0, context=13)
WIDE_IN = 15  # d_in
P = 0.3  # the probability with which a weight is dropped


def readable(student, probe):
    """Build a module whose outputs show the attention weights, each weight twice."""
    s = WIDE
    once = torch.eye(s.T, WIDE_IN)
    weights = {f"{name}.weight": probe.normal(s.d_model, WIDE_IN, scale=0.4) for name in QKV}
    weights["W_value.weight"] = once.repeat(2 * s.H, 1)  # (d_out, d_in)
    weights["out_proj.weight"] = torch.eye(s.d_model)
    weights["out_proj.bias"] = torch.zeros(s.d_model)
    x = probe.normal(s.B, s.T, WIDE_IN, scale=0.6)
    x[..., : s.T] = torch.eye(s.T)
    sizes = (WIDE_IN, s.d_model, s.context, P, s.H, NO_BIAS)
    return student.new(HEADS, *sizes).load(weights, may_lack=LACKS), x


def read(context):
    """Read the attention weights, (B, H, T, T), from both copies."""
    s = WIDE
    answer = tensor_like(context, (s.B, s.T, s.d_model), "The context")
    return answer.view(s.B, s.T, s.H, 2, s.T).permute(3, 0, 2, 1, 4)


@check(HEADS, points=0, layer="laws")
def test_heads_still_drop_single_weights(student, probe):
    """In eval mode no weight is dropped; in training some are, and the others are rescaled."""
    yours, x = readable(student, probe)
    read(yours(x))
    whole, _ = read(yours.eval()(x))
    weights, twice = read(yours.train()(x))
    visible = torch.ones(WIDE.T, WIDE.T).tril() == 1
    dropped = (weights.abs() < 1e-6) & visible
    kept = bool((whole[..., visible].abs() > 1e-6).all())
    expect(kept, "In eval mode, a visible weight is almost zero or NaN.")
    expect(dropped.any(), "In training mode, no visible weight is zero.")
    expect(
        alike(weights.nan_to_num(), twice.nan_to_num()),
        "Two features that must hold the same weight differ; dropout may change weights only.",
    )
    kept = torch.where(dropped, weights, whole / (1 - P))
    expect(
        alike(weights[..., visible], kept[..., visible]),
        "In training, a remaining weight is not that of eval mode divided by 1 - dropout.",
    )
    share = float(dropped[..., visible].float().mean())  # 468 weights: standard error 0.02
    expect(
        abs(share - P) < 0.15, "The share of dropped weights is far from the probability dropout."
    )
    long = dropped[..., 6:, :7]  # weights that are visible in every row here
    alone = (
        "Weights are dropped together: whole rows or columns, or the same weights in two heads "
        "or items."
    )
    expect((long.any(-1) & ~long.all(-1)).float().mean() > 0.5, alone)
    expect((long.any(-2) & ~long.all(-2)).float().mean() > 0.5, alone)
    expect(not torch.equal(dropped[0], dropped[1]), alone)
    expect(not torch.equal(dropped[:, 0], dropped[:, 1]), alone)
    again, _ = read(yours(x))
    expect(not torch.equal(weights, again), "Two calls drop the same weights.")


@check(HEADS, points=0, layer="laws", rules=("refuses",))
def test_heads_still_refuse_what_does_not_fit(student, probe):
    """An uneven split and a text of more than context_length tokens raise an error."""
    heads = student.new(HEADS, 5, 8, 6, 0.0, 2, NO_BIAS)
    x = probe.normal(2, 6, 5)
    has_effect(*(result_of(heads, each, 8) for each in (x, -x)), "the tokens")
    is_refused(heads.refuses(probe.normal(2, 7, 5)), "A text of more than context_length tokens")
    for d_out, num_heads in ((8, 3), (5, 2)):
        sizes = (7, d_out, 12, 0.0, num_heads, NO_BIAS)
        refused = student.refuses(HEADS, *sizes)
        refused = refused or student.new(HEADS, *sizes).refuses(probe.normal(2, 12, 7))
        is_refused(refused, "A d_out that num_heads does not divide")


@check(HEADS, points=0, layer="forbidden", rules=("no_ready_attention",))
def test_heads_are_still_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, x = heads_of(student, probe, TWO), tokens(probe, TWO)

    avoids(student, HEADS, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)
    computes(yours, x)


def layer_norm(side, d_model, weights, eps=LAYER_EPS):
    """Build a LayerNorm with these weights."""
    return side.new("LayerNorm", d_model, eps).load(weights)


def plain(d_model):
    """Return a scale of ones and a shift of zeros."""
    return {"scale": torch.ones(d_model), "shift": torch.zeros(d_model)}


# LayerNorm


@check("LayerNorm", points=0.06, layer="signature")
def test_layer_norm_has_a_usual_eps(student, probe):
    """Without an eps, it is 0.00001."""
    x = 0.004 * probe.normal(3, 5, 6)

    given, large = (result_of(student.new("LayerNorm", 6, eps), x) for eps in (LAYER_EPS, 1.0))
    agrees(student.new("LayerNorm", 6)(x), given, "The result without an eps")
    has_effect(given, large, "eps")


@check("LayerNorm", points=0.06, layer="shapes")
def test_layer_norm_keeps_the_shape(student):
    """A batch (2, 3, 5), a text (3, 5) and one token (5,) keep their shapes."""
    norm = student.new("LayerNorm", 5)

    for shape in ((2, 3, 5), (3, 5), (5,)):
        x = torch.arange(math.prod(shape), dtype=torch.float32).view(shape)
        result = tensor_like(norm(x), shape, f"LayerNorm(5) of a tensor {shape}")
        expect(bool(result.any()), ALL_ZERO)


@check("LayerNorm", points=0.09, layer="parameters")
def test_layer_norm_has_a_scale_and_a_shift(student):
    """There are two parameters, scale and shift, and no others."""
    wanted = {"scale": (7,), "shift": (7,)}
    sentence = "LayerNorm has a parameter other than scale and shift."

    named(student.new("LayerNorm", 7), wanted, sentence)


@check("LayerNorm", points=0.06, layer="parameters")
def test_layer_norm_starts_with_ones_and_zeros(student):
    """Both parameters are trainable: scale starts as ones, and shift starts as zeros."""
    found = student.new("LayerNorm", 7).named("scale", "shift")

    agrees(found["scale"].value, torch.ones(7), "scale")
    agrees(found["shift"].value, torch.zeros(7), "shift")
    for name in ("scale", "shift"):
        expect(found[name].requires_grad, f"{name} is not trainable.")


@check("LayerNorm", points=0.19, layer="documented")
def test_layer_norm_gives_the_documented_variances(student, documented):
    """After LayerNorm, the results of the documented layer have the documented variances."""
    with torch.random.fork_rng():
        torch.manual_seed(123)
        batch = torch.randn(2, 5)
        results = nn.Sequential(nn.Linear(5, 6), nn.ReLU())(batch).detach()
    documented["ch04.layer.out"].matches(results, "The input of this check")

    norm = layer_norm(student, 6, plain(6))
    normalized = tensor_like(norm(results), (2, 6), "LayerNorm(6)(results)")
    variances = normalized.var(dim=-1, unbiased=False)
    what = "The variances of the rows of LayerNorm(6)(results)"
    documented["ch04.layernorm.var"].matches(variances, what)


@check("LayerNorm", points=0.21, layer="documented")
def test_layer_norm_reproduces_the_documented_numbers(student, documented):
    """The numbers 0 to 4 give the documented results for eps = 0.001 and eps = 0.0000001."""
    x = torch.arange(5.0)[None]
    ones = {"scale": torch.ones(5), "shift": torch.ones(5)}

    shifted = layer_norm(student, 5, ones, 1e-3)
    documented["keras.layernorm"].matches(shifted(x), "LayerNorm(5, 1e-3), with a shift of 1,")
    norm = layer_norm(student, 5, plain(5), 1e-7)
    documented["keras.layernorm.op"].matches(norm(x), "LayerNorm(5, 1e-7)")


@check("LayerNorm", points=0.26, layer="probe")
def test_layer_norm_normalizes_any_features(student, reference, probe):
    """The result is right for other sizes, scales and shifts, and for any number of axes."""
    for *shape, d_model in ((3, 5, 7), (4, 6), (9,), (2, 3, 5, 4)):
        weights = norm_weights(probe, "", d_model)
        yours, ours = (layer_norm(side, d_model, weights) for side in (student, reference))
        x = 2.3 * probe.normal(*shape, d_model) + 1.5

        agrees(yours(x), ours(x), "The result of LayerNorm")


@check("LayerNorm", points=0.16, layer="probe")
def test_layer_norm_adds_eps_under_the_root(student, reference, probe):
    """The result is right for a large eps, and for small features."""
    for eps, size in ((0.5, 1.2), (2.0, 0.7), (LAYER_EPS, 0.004)):
        yours, ours = (layer_norm(side, 6, plain(6), eps) for side in (student, reference))
        x = size * probe.normal(3, 5, 6) + size

        agrees(yours(x), ours(x), "The result of LayerNorm")


@check("LayerNorm", points=0.09, layer="laws")
def test_layer_norm_is_blind_to_scale_and_shift_of_its_input(student, probe):
    """If all features are multiplied by a positive number and shifted, the result is the same."""
    norm = layer_norm(student, 8, norm_weights(probe, "", 8))
    x = 3.0 * probe.normal(3, 5, 8)

    before = result_of(norm, x)
    has_effect(before, result_of(norm, -x), "the signs of all features")
    for factor, term in ((4.0, 0.0), (1.0, 7.0), (2.5, -3.0)):
        agrees(norm(factor * x + term), before, "The result for multiplied and shifted features")


@check("LayerNorm", points=0.09, layer="laws")
def test_layer_norm_gives_mean_0_and_variance_1(student, probe):
    """With a scale of 1 and a shift of 0, each token gets features with mean 0 and variance 1."""
    result = result_of(layer_norm(student, 8, plain(8)), 3.0 * probe.normal(3, 5, 8) + 2.0)

    agrees(result.mean(dim=-1), torch.zeros(3, 5), "The means of the tokens' features")
    agrees(result.square().mean(dim=-1), torch.ones(3, 5), "The variances of the tokens' features")


@check("LayerNorm", points=0.09, layer="laws")
def test_layer_norm_treats_each_token_alone(student, probe):
    """A token gets the same result alone and in a batch, and other tokens get other results."""
    norm = layer_norm(student, 8, norm_weights(probe, "", 8))

    treats_tokens_apart(norm, 3.0 * probe.normal(3, 5, 8) + 2.0)


@check("LayerNorm", points=0.09, layer="laws")
def test_layer_norm_knows_no_order_of_features(student, probe):
    """Without scale and shift, features in another order give the same results in that order."""
    norm, x = layer_norm(student, 6, plain(6)), 3.0 * probe.normal(3, 5, 6) + 2.0
    order = torch.tensor([3, 5, 0, 4, 1, 2])

    result = result_of(norm, x)
    agrees(norm(x[..., order]), result[..., order], "The result for features in another order")
    expect(
        differs(result, result[..., order]),
        "Two orders of features give almost the same result.",
    )
    expect(differs(result, x), "The result is almost the input.")


@check("LayerNorm", points=0.09, layer="laws")
def test_layer_norm_scales_and_then_shifts(student, probe):
    """The result is that of a scale of 1 and a shift of 0, times scale, plus shift."""
    weights, x = norm_weights(probe, "", 8), 3.0 * probe.normal(3, 5, 8) + 2.0

    normalized = result_of(layer_norm(student, 8, plain(8)), x)
    result = result_of(layer_norm(student, 8, weights), x)
    wanted = normalized * weights["scale"] + weights["shift"]
    agrees(result, wanted, "The result")
    has_effect(normalized, result, "scale and shift")


@check("LayerNorm", points=0.03, layer="laws", rules=("dtype",))
def test_layer_norm_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    norm, x = student.new("LayerNorm", 6), probe.normal(3, 4, 6)

    keeps_dtype(norm, x)
    computes(norm, x)


@check("LayerNorm", points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_layer_norm_leaves_its_input_alone(student, probe):
    """The tokens are unchanged, but they have an effect."""
    norm, x = student.new("LayerNorm", 6), probe.normal(3, 4, 6)

    expect(norm.keeps_inputs(x), "LayerNorm changes its input.")
    computes(norm, x)


@check("LayerNorm", points=0.11, layer="gradients", rules=("gradients",))
def test_layer_norm_can_be_trained(student, reference, probe):
    """The gradients of the input, of scale and of shift are right."""
    weights, x, back = norm_weights(probe, "", 6), probe.normal(3, 4, 6), probe.normal(3, 4, 6)
    yours, ours = (layer_norm(side, 6, weights) for side in (student, reference))

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check("LayerNorm", points=0.09, layer="forbidden", rules=("no_ready_norm",))
def test_layer_norm_is_written_by_hand(student, probe):
    """The norm is computed step by step, not by torch's ready-made norms."""
    norm, x = student.new("LayerNorm", 6), probe.normal(3, 5, 6)

    avoids_itself(student, "LayerNorm", READY_NORM, NORM_BY_HAND, norm.operators(x), {})
    computes(norm, x)


def rms_norm(side, scale, eps=RMS_EPS):
    """Build an RMSNorm with this scale."""
    return side.new("RMSNorm", len(scale), eps).load({"scale": scale})


# RMSNorm


@check("RMSNorm", points=0.06, layer="signature")
def test_rms_norm_has_a_usual_eps(student, probe):
    """Without an eps, it is 0.000001."""
    x = 0.002 * probe.normal(3, 5, 6)

    given, large = (result_of(student.new("RMSNorm", 6, eps), x) for eps in (RMS_EPS, 1.0))
    agrees(student.new("RMSNorm", 6)(x), given, "The result without an eps")
    has_effect(given, large, "eps")


@check("RMSNorm", points=0.04, layer="shapes")
def test_rms_norm_keeps_the_shape(student):
    """A batch (2, 3, 5), a text (3, 5) and one token (5,) keep their shapes."""
    norm = student.new("RMSNorm", 5)

    for shape in ((2, 3, 5), (3, 5), (5,)):
        x = torch.arange(math.prod(shape), dtype=torch.float32).view(shape)
        result = tensor_like(norm(x), shape, f"RMSNorm(5) of a tensor {shape}")
        expect(bool(result.any()), ALL_ZERO)


@check("RMSNorm", points=0.07, layer="parameters")
def test_rms_norm_has_a_scale_only(student):
    """The only parameter is scale."""
    norm = student.new("RMSNorm", 7)

    named(norm, {"scale": (7,)}, "RMSNorm has a parameter other than scale.")


@check("RMSNorm", points=0.03, layer="parameters")
def test_rms_norm_starts_with_ones(student):
    """The scale is trainable and starts as ones."""
    scale = student.new("RMSNorm", 7).named("scale")["scale"]

    agrees(scale.value, torch.ones(7), "scale")
    expect(scale.requires_grad, "scale is not trainable.")


@check("RMSNorm", points=0.26, layer="documented")
def test_rms_norm_reproduces_the_documented_numbers(student, documented):
    """The numbers from 0 to 9 give the documented results."""
    x = torch.arange(10.0)[None]

    norm = rms_norm(student, torch.ones(10))
    documented["keras.rmsnorm"].matches(norm(x), "RMSNorm(10) of 0 to 9")


def same_rms_norm(student, reference, probe, shape, eps, size):
    """Compare the results for a drawn scale."""
    scale = scaled(probe, shape[-1])
    x = size * probe.normal(*shape) + 0.5 * size
    yours, ours = (rms_norm(side, scale, eps) for side in (student, reference))

    agrees(yours(x), ours(x), "The result of RMSNorm")


@check("RMSNorm", points=0.13, layer="probe")
def test_rms_norm_normalizes_any_features(student, reference, probe):
    """The result is right for other sizes and scales, and for any number of axes."""
    for *shape, size in ((3, 5, 7, 2.3), (4, 6, 1.1), (9, 1.4)):
        same_rms_norm(student, reference, probe, shape, RMS_EPS, size)


@check("RMSNorm", points=0.09, layer="probe")
def test_rms_norm_adds_eps_under_the_root(student, reference, probe):
    """The result is right for a large eps, and for small features."""
    for shape, eps, size in (((4, 6), 0.7, 1.1), ((9,), 2.0, 1.4), ((2, 3, 5), RMS_EPS, 0.002)):
        same_rms_norm(student, reference, probe, shape, eps, size)


@check("RMSNorm", points=0.05, layer="laws")
def test_rms_norm_is_blind_to_the_size_of_its_input(student, probe):
    """Multiplying all features by a positive number does not change the result."""
    norm, x = rms_norm(student, scaled(probe, 8)), 3.0 * probe.normal(3, 5, 8)

    before = result_of(norm, x)
    agrees(norm(2.5 * x), before, "The result for multiplied features")
    has_effect(before, result_of(norm, -x), "the signs of all features")


@check("RMSNorm", points=0.05, layer="laws")
def test_rms_norm_sees_the_mean_of_its_input(student, probe):
    """Adding a number to equal features changes nothing: each of them becomes 1."""
    norm = rms_norm(student, torch.ones(8))
    x = (1.0 + probe.uniform(3, 5, 1)).expand(3, 5, 8).contiguous()

    for number in (0.0, 3.0):
        agrees(norm(x + number), torch.ones(3, 5, 8), "The result for equal features")
    agrees(norm(-x), -torch.ones(3, 5, 8), "The result for equal negative features")


@check("RMSNorm", points=0.05, layer="laws")
def test_rms_norm_gives_a_mean_square_of_1(student, probe):
    """With a scale of 1, the mean square of each token's features is 1."""
    x = 3.0 * probe.normal(3, 5, 8) + 1.0
    result = result_of(rms_norm(student, torch.ones(8)), x)

    agrees(result.square().mean(dim=-1), torch.ones(3, 5), "The mean squares of the tokens")
    has_effect(result[:, 0], result[:, 1], "the token")


@check("RMSNorm", points=0.05, layer="laws")
def test_rms_norm_treats_each_token_alone(student, probe):
    """A token gets the same result alone and in a batch, and other tokens get other results."""
    treats_tokens_apart(rms_norm(student, scaled(probe, 8)), 3.0 * probe.normal(3, 5, 8) + 1.0)


@check("RMSNorm", points=0.05, layer="laws")
def test_rms_norm_multiplies_by_its_scale(student, probe):
    """The result is that of a scale of 1, times scale."""
    scale, x = scaled(probe, 8), 3.0 * probe.normal(3, 5, 8) + 1.0

    normalized = result_of(rms_norm(student, torch.ones(8)), x)
    result = result_of(rms_norm(student, scale), x)
    agrees(result, normalized * scale, "The result")
    has_effect(normalized, result, "the scale")


@check("RMSNorm", points=0.02, layer="laws", rules=("dtype",))
def test_rms_norm_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    norm, x = student.new("RMSNorm", 6), probe.normal(3, 4, 6)

    keeps_dtype(norm, x)
    computes(norm, x)


@check("RMSNorm", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_rms_norm_leaves_its_input_alone(student, probe):
    """The tokens are unchanged, but they have an effect."""
    norm, x = student.new("RMSNorm", 6), probe.normal(3, 4, 6)

    expect(norm.keeps_inputs(x), "RMSNorm changes its input.")
    computes(norm, x)


@check("RMSNorm", points=0.09, layer="gradients", rules=("gradients",))
def test_rms_norm_can_be_trained(student, reference, probe):
    """The gradients of the input and of the scale are right."""
    scale, x, back = scaled(probe, 6), probe.normal(3, 4, 6), probe.normal(3, 4, 6)
    yours, ours = (rms_norm(side, scale) for side in (student, reference))

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check("RMSNorm", points=0.07, layer="forbidden", rules=("no_ready_norm",))
def test_rms_norm_is_written_by_hand(student, probe):
    """The norm is computed step by step, not by torch's ready-made norms."""
    norm, x = student.new("RMSNorm", 6), probe.normal(3, 5, 6)

    avoids_itself(student, "RMSNorm", READY_NORM, NORM_BY_HAND, norm.operators(x), {})
    computes(norm, x)


def bent(student, x):
    """Return the result of the student's gelu."""
    return result_of(lambda given: student.call("gelu", given), x)


# gelu


@check("gelu", points=0.21, layer="documented")
def test_gelu_reproduces_the_documented_numbers(student, documented):
    """The numbers -3, -1, 0, 1 and 3 give the documented results of the tanh approximation."""
    x = torch.tensor([-3.0, -1.0, 0.0, 1.0, 3.0])

    documented["tf.gelu.tanh"].matches(student.call("gelu", x), "gelu of -3, -1, 0, 1, 3")


@check("gelu", points=0.17, layer="probe")
def test_gelu_bends_any_numbers(student, reference, probe):
    """The result is right for tensors of any shape."""
    for shape in ((3, 5, 4), (7,)):
        x = 1.5 * probe.normal(*shape)

        agrees(student.call("gelu", x), reference.call("gelu", x), "The result of gelu")


@check("gelu", points=0.06, layer="laws")
def test_gelu_keeps_large_numbers_and_drops_small_ones(student, probe):
    """Numbers far above 0 stay as they are, and numbers far below 0 become 0."""
    x = 6.0 + 4.0 * probe.uniform(3, 5)

    agrees(bent(student, x), x, "The result for large numbers")
    agrees(bent(student, -x), torch.zeros(3, 5), "The result for negative numbers")


@check("gelu", points=0.05, layer="laws")
def test_gelu_of_both_signs_differs_by_the_number(student, probe):
    """GELU(x) - GELU(-x) is x, for every number."""
    x = 1.5 * probe.normal(3, 5)

    agrees(bent(student, x) - bent(student, -x), x, "The difference of the results for x and -x")
    expect(differs(bent(student, x), x / 2), "The result is almost half the number.")


@check("gelu", points=0.05, layer="laws")
def test_gelu_dips_below_zero(student, probe):
    """Numbers from -0.4 to -1.2 give results below -0.1 and above -0.2."""
    result = bent(student, -0.4 - 0.8 * probe.uniform(3, 5))

    dips = bool(((result < -0.1) & (result > -0.2)).all())
    expect(dips, "A result is outside the range of this check.")


@check("gelu", points=0.04, layer="laws")
def test_gelu_treats_each_number_alone(student, probe):
    """A number gives the same result in every place of a tensor."""
    x, order = 1.5 * probe.normal(3, 6), torch.tensor([3, 5, 0, 4, 1, 2])

    result = bent(student, x)
    agrees(bent(student, x[:, order]), result[:, order], "The result for another order")
    expect(differs(result, result[:, order]), "Different numbers give almost the same results.")
    expect(differs(result, x), "The result is almost the input.")


def gelu_computes(student, x):
    """Fail the check if gelu does not depend on its input, or returns it."""
    computes(lambda given: student.call("gelu", given), x)


@check("gelu", points=0.02, layer="laws", rules=("dtype",))
def test_gelu_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    x = probe.normal(3, 5)

    keeps_dtype("gelu", x)
    gelu_computes(student, x)


@check("gelu", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_gelu_leaves_its_input_alone(student, probe):
    """The numbers are unchanged, but they have an effect."""
    x = probe.normal(3, 5)

    expect(student.keeps_inputs("gelu", x), "gelu changes its input.")
    gelu_computes(student, x)


@check("gelu", points=0.04, layer="gradients", rules=("gradients",))
def test_gelu_passes_gradients_back(student, reference, probe):
    """The gradient of every number is right."""
    x, back = 1.5 * probe.normal(3, 5), probe.normal(3, 5)

    same_gradients(
        student.gradients("gelu", x, cotangent=back),
        reference.gradients("gelu", x, cotangent=back),
    )


@check("gelu", points=0.06, layer="forbidden", rules=("no_ready_gelu",))
def test_gelu_is_written_by_hand(student, probe):
    """The formula is written out, without torch's ready-made GELU."""
    x = probe.normal(3, 5)

    ran = student.operators("gelu", x)
    avoids_itself(student, "gelu", READY_GELU, GELU_BY_HAND, ran, {})
    gelu_computes(student, x)


def deep_weights(probe, layer_sizes):
    """Draw weights and biases for a deep network, for results of variance 1."""
    weights = {}
    for number, (d_in, d_out) in enumerate(itertools.pairwise(layer_sizes)):
        weights[f"layers.{number}.weight"] = probe.normal(d_out, d_in, scale=d_in**-0.5)
        weights[f"layers.{number}.bias"] = probe.normal(d_out)
    return weights


def deep(side, layer_sizes, use_shortcut, weights):
    """Build a deep network with these weights."""
    return side.new("DeepNetwork", layer_sizes, use_shortcut).load(weights)


# DeepNetwork


@check("DeepNetwork", points=0.06, layer="shapes")
def test_deep_network_goes_from_the_first_size_to_the_last(student):
    """With the sizes 4, 6, 6, 2, tokens (3, 4) become (3, 2), with and without shortcuts."""
    for use_shortcut in (False, True):
        network = student.new("DeepNetwork", [4, 6, 6, 2], use_shortcut)
        what = f"The result of DeepNetwork([4, 6, 6, 2], {use_shortcut})"
        result = tensor_like(network(torch.ones(3, 4)), (3, 2), what)
        expect(bool(result.any()), ALL_ZERO)


DEEP_SIZES = [5, 7, 7, 3]


@check("DeepNetwork", points=0.11, layer="parameters")
def test_deep_network_has_a_layer_for_each_pair_of_sizes(student):
    """There is one nn.Linear in `layers` for each pair of consecutive sizes."""
    wanted = {
        "layers.0.weight": (7, 5),
        "layers.0.bias": (7,),
        "layers.1.weight": (7, 7),
        "layers.1.bias": (7,),
        "layers.2.weight": (3, 7),
        "layers.2.bias": (3,),
    }
    yours = student.new("DeepNetwork", DEEP_SIZES, SHORTCUTS)

    named(yours, wanted, "DeepNetwork has more parameters than it must have.")


@check("DeepNetwork", points=0.09, layer="parameters")
def test_deep_network_draws_its_layers_in_order(student, reference, probe):
    """The layers are created in order and keep the initial weights of nn.Linear."""
    yours, ours = (
        side.new("DeepNetwork", DEEP_SIZES, SHORTCUTS, seed=probe.seed)
        for side in (student, reference)
    )

    drawn_alike(yours, ours)


@check("DeepNetwork", points=0.04, layer="parameters", rules=("no_seeding",))
def test_deep_network_leaves_the_seed_to_the_caller(student, probe):
    """A call does not set torch's seed."""
    network = student.new("DeepNetwork", [4, 4, 6], SHORTCUTS)

    leaves_the_seed(student, network, probe.normal(3, 5, 4))


def mean_gradients(student, reference, *, use_shortcut):
    """Return the mean absolute gradient of each layer's weights for the squared output."""
    sizes = [3, 3, 3, 3, 3, 1]
    drawn = reference.new("DeepNetwork", sizes, use_shortcut, seed=123).parameters()
    weights = {name: parameter.value for name, parameter in drawn.items()}
    network = deep(student, sizes, use_shortcut, weights)
    x = torch.tensor([[1.0, 0.0, -1.0]])
    output = tensor_like(network(x), (1, 1), "The output of the network")
    found = network.gradients(x, cotangent=2 * output).parameters
    gradients = [found.get(f"layers.{number}.weight") for number in range(5)]
    for number, gradient in enumerate(gradients):
        expect(gradient is not None, f"No gradient reaches layers.{number}.weight.")
    return torch.stack([gradient.abs().mean() for gradient in gradients])


@check("DeepNetwork", points=0.16, layer="documented", rules=("gradients",))
def test_deep_network_loses_the_documented_gradients(student, reference, documented):
    """Without shortcuts, the five layers have the documented gradients, which are tiny."""
    found = mean_gradients(student, reference, use_shortcut=False)

    what = "The list of mean absolute gradients, without shortcuts,"
    documented["ch04.gradients.plain"].matches(found, what)


@check("DeepNetwork", points=0.21, layer="documented", rules=("gradients",))
def test_deep_network_keeps_the_documented_gradients(student, reference, documented):
    """With shortcuts, the five layers have the documented gradients, which are large."""
    found = mean_gradients(student, reference, use_shortcut=True)

    what = "The list of mean absolute gradients, with shortcuts,"
    documented["ch04.gradients.shortcut"].matches(found, what)


def same_output(student, reference, probe, sizes, use_shortcut):
    """Compare the outputs of two networks with the same weights."""
    weights = deep_weights(probe, sizes)
    yours, ours = (deep(side, sizes, use_shortcut, weights) for side in (student, reference))
    x = 1.3 * probe.normal(2, 7, sizes[0])

    agrees(yours(x), ours(x), "The output")


@check("DeepNetwork", points=0.21, layer="probe")
def test_deep_network_adds_shortcuts_where_shapes_agree(student, reference, probe):
    """With shortcuts, the result is right if all sizes are the same."""
    for sizes in ([4, 4, 4], [6, 6], [5, 5, 5, 5]):
        same_output(student, reference, probe, sizes, SHORTCUTS)


@check("DeepNetwork", points=0.12, layer="probe")
def test_deep_network_adds_no_shortcuts_where_shapes_differ(student, reference, probe):
    """With shortcuts, the result is right if some sizes differ."""
    for sizes in ([3, 5, 5, 2, 2], [6, 6, 4, 6], [4, 1, 4]):
        same_output(student, reference, probe, sizes, SHORTCUTS)


@check("DeepNetwork", points=0.14, layer="probe")
def test_deep_network_works_without_shortcuts(student, reference, probe):
    """Without shortcuts, the result is right for equal and for different sizes."""
    for sizes in ([5, 5, 3], [4, 4, 4]):
        same_output(student, reference, probe, sizes, PLAIN)


@check("DeepNetwork", points=0.11, layer="laws")
def test_deep_network_of_dead_layers_hands_on_its_input(student, probe):
    """With weights and biases of 0, the output is the input with shortcuts and 0 without them."""
    sizes, x = [3, 3, 3, 3], probe.normal(2, 5, 3)
    dead = {name: torch.zeros_like(one) for name, one in deep_weights(probe, sizes).items()}

    passed_on = deep(student, sizes, SHORTCUTS, dead)(x)
    agrees(passed_on, x, "The output of layers of zeros with shortcuts")
    nothing = deep(student, sizes, PLAIN, dead)(x)
    agrees(nothing, torch.zeros_like(x), "The output of layers of zeros without shortcuts")


@check("DeepNetwork", points=0.09, layer="laws")
def test_deep_network_of_one_layer_adds_its_input(student, probe):
    """The shortcut around a single layer adds the input to its result."""
    weights, x = deep_weights(probe, [5, 5]), probe.normal(2, 7, 5)

    with_, without = (
        result_of(deep(student, [5, 5], shortcut, weights), x) for shortcut in (SHORTCUTS, PLAIN)
    )
    agrees(with_ - without, x, "The difference that the shortcut makes")
    computes(deep(student, [5, 5], PLAIN, weights), x)


@check("DeepNetwork", points=0.06, layer="laws")
def test_deep_network_bends_the_last_result_as_well(student, probe):
    """GELU follows the last layer, too: without shortcuts, no number is below -0.2."""
    network = deep(student, [6, 5, 8], PLAIN, deep_weights(probe, [6, 5, 8]))

    x = 2 * probe.normal(4, 7, 6)
    result = result_of(network, x, 8)
    expect(bool((result > -0.2).all()), "A number of the result is not above -0.2.")
    has_effect(result, result_of(network, -x, 8), "the tokens")


@check("DeepNetwork", points=0.06, layer="laws")
def test_deep_network_needs_no_shortcuts_between_other_shapes(student, probe):
    """If all sizes differ, the output is the same with shortcuts and without."""
    sizes, x = [4, 6, 3], probe.normal(2, 7, 4)
    weights = deep_weights(probe, sizes)

    with_, without = (deep(student, sizes, one, weights) for one in (SHORTCUTS, PLAIN))
    agrees(with_(x), result_of(without, x, 3), "The output with shortcuts")
    computes(without, x, 3)


@check("DeepNetwork", points=0.06, layer="laws")
def test_deep_network_treats_each_token_alone(student, probe):
    """A token gets the same result alone and in a batch, and other tokens get other results."""
    sizes = [5, 5, 4]
    network = deep(student, sizes, SHORTCUTS, deep_weights(probe, sizes))

    treats_tokens_apart(network, 1.3 * probe.normal(2, 7, 5), 4)


@check("DeepNetwork", points=0.04, layer="laws", rules=("dtype",))
def test_deep_network_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    network, x = student.new("DeepNetwork", [4, 4, 6], SHORTCUTS), probe.normal(3, 5, 4)

    keeps_dtype(network, x)
    computes(network, x, 6)


@check("DeepNetwork", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_deep_network_leaves_its_input_alone(student, probe):
    """The tokens are unchanged, but they have an effect."""
    network, x = student.new("DeepNetwork", [4, 4, 6], SHORTCUTS), probe.normal(3, 5, 4)

    expect(network.keeps_inputs(x), "DeepNetwork changes its input.")
    computes(network, x, 6)


@check("DeepNetwork", points=0.11, layer="gradients", rules=("gradients",))
def test_deep_network_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights and biases of all layers are right."""
    weights = deep_weights(probe, [4, 4, 6])
    yours, ours = (deep(side, [4, 4, 6], SHORTCUTS, weights) for side in (student, reference))
    x, back = probe.normal(3, 5, 4), probe.normal(3, 5, 6)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check("DeepNetwork", points=0.09, layer="forbidden", rules=("no_ready_gelu",))
def test_deep_network_uses_your_gelu(student, probe):
    """The activation is your gelu, not torch's."""
    network, x = student.new("DeepNetwork", [4, 4, 6], SHORTCUTS), probe.normal(3, 5, 4)

    ran, below = network.operators(x), {"gelu": student.operators("gelu", x)}
    avoids_itself(student, "DeepNetwork", READY_GELU, GELU_BY_HAND, ran, below)
    computes(network, x, 6)


def feed_forward(side, d_model, hidden, activation, weights):
    """Build a feed-forward network with these weights."""
    return side.new("FeedForward", d_model, hidden, activation).load(weights)


# FeedForward


@check("FeedForward", points=0.04, layer="signature")
def test_feed_forward_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_model, d_hidden and activation."""
    student.new("FeedForward", d_model=4, d_hidden=6)
    student.new("FeedForward", d_model=4, d_hidden=6, activation="relu")


@check("FeedForward", points=0.09, layer="signature")
def test_feed_forward_uses_gelu_by_default(student, probe):
    """Without an activation, it is GELU."""
    weights, x = ff_weights(probe, "", 4, 7), 1.4 * probe.normal(3, 5, 4)

    default = student.new("FeedForward", 4, 7).load(weights)
    gelu_, relu = (feed_forward(student, 4, 7, name, weights) for name in ("gelu", "relu"))
    agrees(default(x), result_of(gelu_, x), "The result without an activation")
    has_effect(result_of(gelu_, x), result_of(relu, x), "the activation")


@check("FeedForward", points=0.04, layer="shapes")
def test_feed_forward_keeps_the_shape(student):
    """A batch (2, 3, 5), a text (3, 5) and one token (5,) keep their shapes."""
    network = student.new("FeedForward", 5, 8)

    for shape in ((2, 3, 5), (3, 5), (5,)):
        tensor_like(network(torch.ones(shape)), shape, f"FeedForward(5, 8) of a tensor {shape}")


@check("FeedForward", points=0.07, layer="parameters")
def test_feed_forward_has_two_layers(student):
    """linear1 and linear2 are nn.Linear layers with biases, and there are no others."""
    wanted = {
        "linear1.weight": (11, 4),
        "linear1.bias": (11,),
        "linear2.weight": (4, 11),
        "linear2.bias": (4,),
    }
    yours = student.new("FeedForward", 4, 11)

    named(yours, wanted, "FeedForward has more parameters than it must have.")


@check("FeedForward", points=0.04, layer="parameters")
def test_feed_forward_draws_two_layers_in_order(student, reference, probe):
    """linear1 and linear2 are created in this order and keep their initial weights."""
    yours, ours = (side.new("FeedForward", 4, 11, seed=probe.seed) for side in (student, reference))

    drawn_alike(yours, ours)


@check("FeedForward", points=0.03, layer="parameters", rules=("no_seeding",))
def test_feed_forward_leaves_the_seed_to_the_caller(student, probe):
    """A call does not set torch's seed."""
    leaves_the_seed(student, student.new("FeedForward", 4, 7), probe.normal(3, 5, 4))


def same_transform(student, reference, probe, activation):
    """Compare the results for several sizes and numbers of axes."""
    for *shape, d_model, hidden in ((3, 5, 4, 7), (6, 8, 3), (5, 9)):
        weights = ff_weights(probe, "", d_model, hidden)
        x = 1.4 * probe.normal(*shape, d_model)
        yours, ours = (
            feed_forward(side, d_model, hidden, activation, weights)
            for side in (student, reference)
        )

        agrees(yours(x), ours(x), "The result of FeedForward")


@check("FeedForward", points=0.16, layer="probe")
def test_feed_forward_transforms_with_gelu(student, reference, probe):
    """With GELU, the result is right for other sizes and weights."""
    same_transform(student, reference, probe, "gelu")


@check("FeedForward", points=0.15, layer="probe")
def test_feed_forward_transforms_with_relu(student, reference, probe):
    """With ReLU, the result is right for other sizes and weights."""
    same_transform(student, reference, probe, "relu")


@check("FeedForward", points=0.06, layer="laws")
def test_feed_forward_treats_each_token_alone(student, probe):
    """A token gets the same result alone and in a batch, and other tokens get other results."""
    network = feed_forward(student, 4, 7, "relu", ff_weights(probe, "", 4, 7))

    treats_tokens_apart(network, 1.4 * probe.normal(2, 5, 4))


@check("FeedForward", points=0.06, layer="laws")
def test_feed_forward_ends_with_its_second_layer(student, probe):
    """Twice the weight and bias of linear2 give twice the result."""
    weights, x = ff_weights(probe, "", 4, 7), 1.4 * probe.normal(2, 5, 4)
    twice = {name: 2 * one if "linear2" in name else one for name, one in weights.items()}

    for activation in ("gelu", "relu"):
        before, after = (
            result_of(feed_forward(student, 4, 7, activation, one), x) for one in (weights, twice)
        )
        what = f"With {activation}, the result of a doubled second layer"
        agrees(after, 2 * before, what)
        has_effect(before, after, f"linear2 with {activation}")


@check("FeedForward", points=0.06, layer="laws")
def test_feed_forward_drops_negative_features(student, probe):
    """If all hidden features are far below 0, the result is the bias of linear2."""
    weights, x = ff_weights(probe, "", 4, 7), probe.normal(2, 5, 4, scale=0.5)
    weights["linear1.bias"] = -8.0 - probe.uniform(7)

    for activation in ("gelu", "relu"):
        result = feed_forward(student, 4, 7, activation, weights)(x)
        what = f"The result with {activation}"
        agrees(result, weights["linear2.bias"].expand(2, 5, 4), what)


@check("FeedForward", points=0.06, layer="laws")
def test_feed_forward_keeps_large_features(student, probe):
    """If all hidden features are far above 0, both layers follow each other directly."""
    weights, x = ff_weights(probe, "", 4, 7), probe.normal(2, 5, 4)
    weights["linear1.bias"] += 25.0

    hidden = x @ weights["linear1.weight"].T + weights["linear1.bias"]
    wanted = hidden @ weights["linear2.weight"].T + weights["linear2.bias"]
    for activation in ("gelu", "relu"):
        result = feed_forward(student, 4, 7, activation, weights)(x)
        agrees(result, wanted, f"The result with {activation}")


@check("FeedForward", points=0.06, layer="laws")
def test_feed_forward_with_relu_doubles_with_its_input(student, probe):
    """With ReLU and without biases, twice the features give twice the result."""
    weights, x = ff_weights(probe, "", 4, 7), 1.4 * probe.normal(2, 5, 4)
    for name in ("linear1.bias", "linear2.bias"):
        weights[name] *= 0
    network = feed_forward(student, 4, 7, "relu", weights)

    result = result_of(network, x)
    agrees(network(2 * x), 2 * result, "The result for doubled features")
    computes(network, x)


@check("FeedForward", points=0.05, layer="laws", rules=("refuses",))
def test_feed_forward_refuses_other_activations(student):
    """The constructor accepts "gelu" and "relu" and raises an error for other names."""
    for activation in ("gelu", "relu"):
        network = student.new("FeedForward", 4, 6, activation)
        tensor_like(network(torch.ones(3, 4)), (3, 4), f"The result with {activation}")
    for activation in ("tanh", "GELU!", "", "sigmoid"):
        refused = student.refuses("FeedForward", 4, 6, activation)
        sentence = "The constructor accepts an unknown activation; it should raise a ValueError."
        expect(refused, sentence, Status.NOT_REFUSED)


@check("FeedForward", points=0.02, layer="laws", rules=("dtype",))
def test_feed_forward_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    network, x = student.new("FeedForward", 4, 7), probe.normal(3, 5, 4)

    keeps_dtype(network, x)
    computes(network, x)


@check("FeedForward", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_feed_forward_leaves_its_input_alone(student, probe):
    """The tokens are unchanged, but they have an effect."""
    network, x = student.new("FeedForward", 4, 7), probe.normal(3, 5, 4)

    expect(network.keeps_inputs(x), "FeedForward changes its input.")
    computes(network, x)


@check("FeedForward", points=0.06, layer="gradients", rules=("gradients",))
def test_feed_forward_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights and biases of both layers are right."""
    weights = ff_weights(probe, "", 4, 7)
    yours, ours = (feed_forward(side, 4, 7, "gelu", weights) for side in (student, reference))
    x, back = probe.normal(3, 5, 4), probe.normal(3, 5, 4)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check("FeedForward", points=0.06, layer="forbidden", rules=("no_ready_gelu",))
def test_feed_forward_uses_your_gelu(student, probe):
    """The activation is your gelu, not torch's."""
    network, x = student.new("FeedForward", 4, 7, "gelu"), probe.normal(3, 5, 4)

    ran, below = network.operators(x), {"gelu": student.operators("gelu", x)}
    avoids_itself(student, "FeedForward", READY_GELU, GELU_BY_HAND, ran, below)
    computes(network, x)


def swiglu_weights(probe, d_model, hidden):
    """Draw weights for SwiGLU, for results of variance 1."""
    return {
        "gate.weight": 1.5 * probe.normal(hidden, d_model, scale=d_model**-0.5),
        "up.weight": probe.normal(hidden, d_model, scale=d_model**-0.5),
        "down.weight": probe.normal(d_model, hidden, scale=hidden**-0.5),
    }


def swiglu(side, weights):
    """Build a SwiGLU with these weights."""
    hidden, d_model = weights["gate.weight"].shape
    return side.new("SwiGLU", d_model, hidden).load(weights)


# SwiGLU


@check("SwiGLU", points=0.04, layer="shapes")
def test_swiglu_keeps_the_shape(student):
    """A batch (2, 3, 5), a text (3, 5) and one token (5,) keep their shapes."""
    network = student.new("SwiGLU", 5, 8)

    for shape in ((2, 3, 5), (3, 5), (5,)):
        tensor_like(network(torch.ones(shape)), shape, f"SwiGLU(5, 8) of a tensor {shape}")


@check("SwiGLU", points=0.09, layer="parameters")
def test_swiglu_has_three_layers(student):
    """gate, up and down are nn.Linear layers without biases, and there are no others."""
    wanted = {"gate.weight": (9, 5), "up.weight": (9, 5), "down.weight": (5, 9)}
    yours = student.new("SwiGLU", 5, 9)

    named(yours, wanted, "SwiGLU has more parameters than it must have.")


@check("SwiGLU", points=0.06, layer="parameters")
def test_swiglu_draws_three_layers_in_order(student, reference, probe):
    """gate, up and down are created in this order and keep their initial weights."""
    yours, ours = (side.new("SwiGLU", 5, 9, seed=probe.seed) for side in (student, reference))

    drawn_alike(yours, ours)


@check("SwiGLU", points=0.21, layer="documented")
def test_swiglu_reproduces_the_documented_silu(student, documented):
    """If `up` gives 1 everywhere, the result is the documented silu of -6, 1, 0, 1, 6."""
    same, one = torch.eye(5), torch.zeros(5, 6)
    one[:, 5] = 1.0
    weights = {
        "gate.weight": torch.cat([same, torch.zeros(5, 1)], dim=1),
        "up.weight": one,
        "down.weight": torch.cat([same, torch.zeros(1, 5)], dim=0),
    }

    x = torch.tensor([-6.0, 1.0, 0.0, 1.0, 6.0, 1.0])
    result = tensor_like(swiglu(student, weights)(x), (6,), "SwiGLU(6, 5) of -6, 1, 0, 1, 6, 1")
    documented["keras.silu"].matches(result[:5], "The first five features of the result")


@check("SwiGLU", points=0.23, layer="probe")
def test_swiglu_gates_any_tokens(student, reference, probe):
    """The result is right for other sizes and weights, and for any number of axes."""
    for *shape, d_model, hidden in ((3, 5, 4, 7), (6, 8, 3), (5, 9)):
        weights = swiglu_weights(probe, d_model, hidden)
        yours, ours = (swiglu(side, weights) for side in (student, reference))
        x = 1.4 * probe.normal(*shape, d_model)

        agrees(yours(x), ours(x), "The result of SwiGLU")


def doubles_with(student, probe, name):
    """Check that twice the weight of a layer gives twice the result."""
    weights, x = swiglu_weights(probe, 4, 7), 1.4 * probe.normal(2, 5, 4)
    twice = weights | {name: 2 * weights[name]}

    before, after = (result_of(swiglu(student, one), x) for one in (weights, twice))
    agrees(after, 2 * before, f"The result with a doubled {name}")
    has_effect(before, after, name)


@check("SwiGLU", points=0.06, layer="laws")
def test_swiglu_doubles_with_up(student, probe):
    """Twice the weight of up gives twice the result."""
    doubles_with(student, probe, "up.weight")


@check("SwiGLU", points=0.06, layer="laws")
def test_swiglu_doubles_with_down(student, probe):
    """Twice the weight of down gives twice the result."""
    doubles_with(student, probe, "down.weight")


@check("SwiGLU", points=0.06, layer="laws")
def test_swiglu_lets_nothing_through_a_closed_gate(student, probe):
    """If gate gives 0, the result is 0, and otherwise it is not."""
    weights, x = swiglu_weights(probe, 4, 7), 1.4 * probe.normal(2, 5, 4)
    closed = weights | {"gate.weight": torch.zeros(7, 4)}

    result = result_of(swiglu(student, closed), x)
    agrees(result, torch.zeros(2, 5, 4), "The result of a closed gate")
    has_effect(result, result_of(swiglu(student, weights), x), "the gate")


@check("SwiGLU", points=0.06, layer="laws")
def test_swiglu_gates_of_both_signs_differ_by_the_gate(student, probe):
    """The results of gate and of -gate differ by down(gate(x) · up(x))."""
    weights, x = swiglu_weights(probe, 4, 7), 1.4 * probe.normal(2, 5, 4)
    negative = weights | {"gate.weight": -weights["gate.weight"]}

    one, other = (result_of(swiglu(student, each), x) for each in (weights, negative))
    hidden = (x @ weights["gate.weight"].T) * (x @ weights["up.weight"].T)
    agrees(
        one - other,
        hidden @ weights["down.weight"].T,
        "The difference of the results for both gates",
    )


@check("SwiGLU", points=0.06, layer="laws")
def test_swiglu_treats_each_token_alone(student, probe):
    """A token gets the same result alone and in a batch, and other tokens get other results."""
    network = swiglu(student, swiglu_weights(probe, 4, 7))

    treats_tokens_apart(network, 1.4 * probe.normal(2, 5, 4))


@check("SwiGLU", points=0.02, layer="laws", rules=("dtype",))
def test_swiglu_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    network, x = swiglu(student, swiglu_weights(probe, 4, 7)), probe.normal(3, 5, 4)

    keeps_dtype(network, x)
    computes(network, x)


@check("SwiGLU", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_swiglu_leaves_its_input_alone(student, probe):
    """The tokens are unchanged, but they have an effect."""
    network, x = swiglu(student, swiglu_weights(probe, 4, 7)), probe.normal(3, 5, 4)

    expect(network.keeps_inputs(x), "SwiGLU changes its input.")
    computes(network, x)


@check("SwiGLU", points=0.09, layer="gradients", rules=("gradients",))
def test_swiglu_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights of all three layers are right."""
    weights = swiglu_weights(probe, 4, 7)
    yours, ours = (swiglu(side, weights) for side in (student, reference))
    x, back = probe.normal(3, 5, 4), probe.normal(3, 5, 4)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check("SwiGLU", points=0.09, layer="forbidden", rules=("no_ready_gelu",))
def test_swiglu_gates_by_your_own_code(student, probe):
    """The gate is written out, without F.glu."""
    network, x = swiglu(student, swiglu_weights(probe, 4, 7)), probe.normal(3, 5, 4)

    avoids_itself(student, "SwiGLU", READY_GELU, GELU_BY_HAND, network.operators(x), {})
    computes(network, x)


# TransformerBlock


@check(BLOCK, points=0.05, layer="signature")
def test_block_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes attention, d_model, d_hidden, norm_first and activation."""
    attention = student.new("FeedForward", 4, 6)
    sizes = {"attention": attention, "d_model": 4, "d_hidden": 6}

    student.new(BLOCK, **sizes)
    student.new(BLOCK, **sizes, norm_first=False, activation="relu")


@check(BLOCK, points=0.06, layer="signature")
def test_block_has_pre_norm_and_gelu_by_default(student, probe):
    """Without the last two arguments, a block has pre-norm and GELU."""
    s, weights = THREE, block_weights(probe, THREE)
    attention, x = without_mixing(student, probe, s), tokens(probe, s)

    default, *others = (
        result_of(student.new(BLOCK, attention, s.d_model, s.hidden, *options).load(weights), x)
        for options in ((), (PRE_NORM, "gelu"), (PRE_NORM, "relu"), (POST_NORM, "gelu"))
    )
    agrees(default, others[0], "The result without the last arguments")
    has_effect(others[0], others[1], "the activation")
    has_effect(others[0], others[2], "norm_first")


@check(BLOCK, points=0.05, layer="shapes")
def test_block_keeps_the_shape(student):
    """A batch (2, 3, 4) keeps its shape, with pre-norm and with post-norm."""
    for norm_first in (True, False):
        block = student.new(BLOCK, student.new("FeedForward", 4, 6), 4, 10, norm_first)

        what = f"The result with norm_first={norm_first}"
        tensor_like(block(torch.ones(2, 3, 4)), (2, 3, 4), what)


@check(BLOCK, points=0.13, layer="parameters")
def test_block_consists_of_attention_norms_and_feed_forward(student):
    """The parts are att, norm1, ff and norm2, with their own parameters and no others."""
    block = student.new(BLOCK, student.new("FeedForward", 4, 6), 4, 10)
    wanted = {
        "att.linear1.weight": (6, 4),
        "att.linear1.bias": (6,),
        "att.linear2.weight": (4, 6),
        "att.linear2.bias": (4,),
        "norm1.scale": (4,),
        "norm1.shift": (4,),
        "ff.linear1.weight": (10, 4),
        "ff.linear1.bias": (10,),
        "ff.linear2.weight": (4, 10),
        "ff.linear2.bias": (4,),
        "norm2.scale": (4,),
        "norm2.shift": (4,),
    }

    named(block, wanted, "The block has more parameters than it must have.")


@check(BLOCK, points=0.06, layer="parameters")
def test_block_draws_only_its_feed_forward(student, reference, probe):
    """The given module keeps its weights, and only ff draws random numbers."""
    yours, ours = (
        one.new(BLOCK, one.new("FeedForward", 4, 6, seed=probe.seed), 4, 10)
        for one in (student, reference)
    )

    drawn_alike(yours, ours)


def printed_layer(student):
    """Build the post-norm block of the documented tests: all its parameters are cosines."""

    def cosines(*shape):  # cos(0), cos(1), ...
        return torch.arange(math.prod(shape), dtype=torch.float32).cos().view(shape)

    attention = student.new(HEADS, 4, 4, 5, 0.0, 2, QKV_BIAS)
    block = student.new(BLOCK, attention, 4, 16, POST_NORM, "relu")
    weights, biases = cosines(12, 4).split(4), cosines(12).split(4)
    values = {f"att.{name}.weight": weight for name, weight in zip(QKV, weights, strict=True)}
    values |= {f"att.{name}.bias": bias for name, bias in zip(QKV, biases, strict=True)}
    shapes = {
        "att.out_proj.weight": (4, 4),
        "att.out_proj.bias": (4,),
        "ff.linear1.weight": (16, 4),
        "ff.linear1.bias": (16,),
        "ff.linear2.weight": (4, 16),
        "ff.linear2.bias": (4,),
        **{f"{norm}.{part}": (4,) for norm in ("norm1", "norm2") for part in ("scale", "shift")},
    }
    values |= {name: cosines(*shape) for name, shape in shapes.items()}
    return block.load(values, may_lack=LACKS)


@check(BLOCK, points=0.16, layer="documented", needs=(HEADS,))
def test_block_reproduces_the_documented_token(student, documented):
    """A post-norm block with ReLU gives the documented result for a single token."""
    x = torch.tensor([[[20.0, 30.0, 40.0, 50.0]]])

    result = tensor_like(printed_layer(student)(x), (1, 1, 4), "The result for one token")
    documented["pytorch.encoder.one_token"].matches(result[0, 0], "The result for one token")


@check(BLOCK, points=0.16, layer="documented", needs=(HEADS,))
def test_block_reproduces_the_documented_last_tokens(student, documented):
    """In a post-norm block with ReLU, the last token of each text gets the documented result."""
    block = printed_layer(student)
    two = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]])
    five = documented["pytorch.five_tokens"].tensor

    result = tensor_like(block(two), (1, 2, 4), "The result for two tokens")
    documented["pytorch.encoder.two_tokens"].matches(result[0, 1], "The second of two tokens")
    result = tensor_like(block(five), (2, 5, 4), "The result for five tokens")
    documented["pytorch.encoder.five_tokens"].matches(result[:, 4], "The fifth token of each text")


@check(BLOCK, points=0.23, layer="probe")
def test_block_normalizes_first(student, reference, probe):
    """With pre-norm, the results are right for other sizes and weights."""
    for s in (TWO, THREE, FOUR):
        yours, ours = blocks(student, reference, probe, s, PRE_NORM)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The result of the block")


@check(BLOCK, points=0.23, layer="probe")
def test_block_normalizes_last(student, reference, probe):
    """With post-norm (norm_first=False), the results are right for other sizes and weights."""
    for s, activation in ((TWO, "relu"), (THREE, "gelu"), (FOUR, "relu")):
        yours, ours = blocks(student, reference, probe, s, POST_NORM, activation)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The result with norm_first=False")


@check(BLOCK, points=0.11, layer="probe", needs=(HEADS,))
def test_block_attends(student, reference, probe):
    """With attention, the results are right for long and short texts and for both activations."""
    for s, activation in ((TWO, "gelu"), (THREE, "relu")):
        yours, ours = attending_blocks(student, reference, probe, s, PRE_NORM, activation)

        for T in (s.T, s.context, 1):
            x = tokens(probe, s, T)
            agrees(yours(x), ours(x), "The result of the block")


def dead_weights(s, *parts):
    """Return weights with which *parts*, of att and ff, return zeros."""
    hidden = {"att": s.hidden + 2, "ff": s.hidden}
    return {
        f"{part}.linear2.{name}": torch.zeros(shape)
        for part in parts
        for name, shape in (("weight", (s.d_model, hidden[part])), ("bias", (s.d_model,)))
    }


def partly_dead(student, probe, s, norm_first, *dead):
    """Build a block without attention, whose parts *dead* return zeros, and return its weights."""
    weights = ff_weights(probe, "att.", s.d_model, s.hidden + 2) | block_weights(probe, s)
    weights |= dead_weights(s, *dead)
    attention = without_mixing(student, probe, s)
    block = student.new(BLOCK, attention, s.d_model, s.hidden, norm_first, "relu")
    return block.load(weights), weights


def own_norm(student, weights, name):
    """Build the student's LayerNorm with the weights of the norm *name*."""
    parts = {part: weights[f"{name}.{part}"] for part in ("scale", "shift")}
    return student.new("LayerNorm", len(parts["scale"])).load(parts)


def own_network(student, weights, name):
    """Build the student's FeedForward with ReLU and the weights of the part *name*."""
    names = ("linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias")
    parts = {part: weights[f"{name}.{part}"] for part in names}
    hidden, d_model = parts["linear1.weight"].shape
    return student.new("FeedForward", d_model, hidden, "relu").load(parts)


@check(BLOCK, points=0.11, layer="laws")
def test_block_of_dead_parts_is_the_identity(student, probe):
    """If attention and feed-forward network return zeros, a pre-norm block returns its input."""
    s, x = THREE, tokens(probe, THREE)

    block, _ = partly_dead(student, probe, s, PRE_NORM, "att", "ff")
    agrees(block(x), x, "The result of a block whose parts return zeros")
    alive, _ = partly_dead(student, probe, s, PRE_NORM)
    computes(alive, x)


@check(BLOCK, points=0.09, layer="laws")
def test_block_of_dead_attention_adds_its_network(student, probe):
    """If attention returns zeros, a pre-norm block adds ff(norm2(x)) to its input."""
    s, x = THREE, tokens(probe, THREE)
    block, weights = partly_dead(student, probe, s, PRE_NORM, "att")

    normalized = result_of(own_norm(student, weights, "norm2"), x)
    added = result_of(own_network(student, weights, "ff"), normalized)
    agrees(block(x), x + added, "The result of a block whose attention returns zeros")


@check(BLOCK, points=0.09, layer="laws")
def test_block_of_a_dead_network_adds_its_attention(student, probe):
    """If the feed-forward network returns zeros, a pre-norm block adds att(norm1(x))."""
    s, x = FOUR, tokens(probe, FOUR)
    block, weights = partly_dead(student, probe, s, PRE_NORM, "ff")

    normalized = result_of(own_norm(student, weights, "norm1"), x)
    added = result_of(own_network(student, weights, "att"), normalized)
    agrees(block(x), x + added, "The result of a block whose network returns zeros")


@check(BLOCK, points=0.09, layer="laws")
def test_block_of_dead_parts_with_post_norm_is_two_norms(student, probe):
    """If both parts return zeros, a post-norm block applies norm1 and then norm2."""
    s, x = THREE, tokens(probe, THREE)
    block, weights = partly_dead(student, probe, s, POST_NORM, "att", "ff")

    once = result_of(own_norm(student, weights, "norm1"), x)
    twice = result_of(own_norm(student, weights, "norm2"), once)
    agrees(block(x), twice, "The result of a post-norm block whose parts return zeros")
    computes(block, x)


@check(BLOCK, points=0.06, layer="laws", needs=(HEADS,))
def test_block_never_looks_ahead(student, reference, probe):
    """A token has an effect on the results of later tokens, and none on earlier ones."""
    s = TWO
    yours, _ = attending_blocks(student, reference, probe, s, PRE_NORM, "relu")
    x = tokens(probe, s)
    others = x.clone()
    others[:, 3] = 0.5 - x[:, 3]

    before, after = (result_of(yours, one) for one in (x, others))
    agrees(
        after[:, :3], before[:, :3], "After a change of a later token, the result of earlier ones"
    )
    has_effect(before[:, 4:], after[:, 4:], "a token", " on later ones")


@check(BLOCK, points=0.14, layer="laws")
def test_block_uses_the_attention_that_it_was_given(student, probe):
    """New weights in the given module change the block: it holds the module, not a copy."""
    s = FOUR
    attention = without_mixing(student, probe, s)
    block = student.new(BLOCK, attention, s.d_model, s.hidden, PRE_NORM)
    x = tokens(probe, s)

    before = tensor_like(block(x), (s.B, s.T, s.d_model), "The result of the block")
    attention.load(ff_weights(probe, "", s.d_model, s.hidden + 2))
    after = tensor_like(block(x), (s.B, s.T, s.d_model), "The result of the block")
    expect(not alike(after, before), "New weights in the given attention do not change the result.")


@check(BLOCK, points=0.09, layer="laws")
def test_block_with_post_norm_gives_normalized_tokens(student, probe):
    """If norm2 does not scale or shift, a post-norm block gives each token mean 0, variance 1."""
    s = TWO
    block, _ = partly_dead(student, probe, s, POST_NORM)
    ones, zeros = torch.ones(s.d_model), torch.zeros(s.d_model)
    block.load({"norm2.scale": ones, "norm2.shift": zeros})

    result = result_of(block, tokens(probe, s))
    mean, size = result.mean(dim=-1), result.square().mean(dim=-1)
    agrees(mean, torch.zeros(s.B, s.T), "The means of the tokens' features")
    agrees(size, torch.ones(s.B, s.T), "The mean squares of the tokens' features")


def untrained(student):
    """Build a small block, for the checks of rules."""
    return student.new(BLOCK, student.new("FeedForward", 4, 6, "relu"), 4, 10, PRE_NORM, "gelu")


@check(BLOCK, points=0.03, layer="laws", rules=("dtype",))
def test_block_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    block, x = untrained(student), 1.7 * probe.normal(3, 5, 4)

    keeps_dtype(block, x)
    computes(block, x)


@check(BLOCK, points=0.03, layer="laws", rules=("inputs_unchanged",))
def test_block_leaves_its_input_alone(student, probe):
    """The tokens are unchanged, but they have an effect."""
    block, x = untrained(student), 1.7 * probe.normal(3, 5, 4)

    expect(block.keeps_inputs(x), "The call changes its input.")
    computes(block, x)


@check(BLOCK, points=0.03, layer="laws", rules=("no_seeding",))
def test_block_leaves_the_seed_to_the_caller(student, probe):
    """A call does not set torch's seed."""
    leaves_the_seed(student, untrained(student), probe.normal(3, 5, 4))


@check(BLOCK, points=0.13, layer="gradients", rules=("gradients",))
def test_block_can_be_trained(student, reference, probe):
    """The gradients of the input and of every parameter are right, with pre-norm and post-norm."""
    for s, norm_first in ((THREE, PRE_NORM), (FOUR, POST_NORM)):
        yours, ours = blocks(student, reference, probe, s, norm_first, "relu")
        x, back = tokens(probe, s), probe.normal(s.B, s.T, s.d_model)

        same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check(BLOCK, points=0.06, layer="gradients", rules=("gradients",))
def test_block_of_dead_parts_passes_gradients_on(student, probe):
    """If both parts return zeros, the gradient of the input equals the gradient of the result."""
    s = THREE
    block, _ = partly_dead(student, probe, s, PRE_NORM, "att", "ff")
    x, back = tokens(probe, s), probe.normal(s.B, s.T, s.d_model)

    found = block.gradients(x, cotangent=back).inputs[0]
    expect(found is not None, "No gradient reaches the input.")
    agrees(found, back, "The gradient of the input of a block whose parts return zeros")


@check(
    BLOCK,
    points=0.08,
    layer="forbidden",
    rules=("no_ready_norm", "no_ready_gelu", "no_ready_attention"),
)
def test_block_is_built_from_your_parts(student, probe):
    """The block uses your norm and your activation, not torch's."""
    block, x = untrained(student), 1.7 * probe.normal(3, 5, 4)

    ran = block.operators(x)
    below = {
        HEADS: student.new(HEADS, 4, 4, 5, 0.0, 2).operators(x),
        "LayerNorm": student.new("LayerNorm", 4).operators(x),
        "gelu": student.operators("gelu", x),
        "FeedForward": student.new("FeedForward", 4, 10, "gelu").operators(x),
    }
    for names, why in (
        (READY_NORM, NORM_BY_HAND),
        (READY_GELU, GELU_BY_HAND),
        (READY_ATTENTION, BY_HAND),
    ):
        avoids_itself(student, BLOCK, names, why, ran, below)
    computes(block, x)
