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
from autograder.suite.forbidden import avoids, avoids_running
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
QKV_BIAS = True
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


def blocks(student, reference, probe, s, *, norm_first=True, activation="gelu"):
    """Build two blocks without attention, the student's and the reference, with equal weights."""
    sizes = (s.d_model, s.hidden, norm_first, activation)
    inside = s.hidden + 2
    weights = block_weights(probe, s)
    weights |= ff_weights(probe, "att.", s.d_model, inside)
    return tuple(
        one.new(BLOCK, one.new("FeedForward", s.d_model, inside, "relu"), *sizes).load(weights)
        for one in (student, reference)
    )


def attending_blocks(student, reference, probe, s, **options):
    """Build two blocks with attention, the student's and the reference, with equal weights."""
    weights = block_weights(probe, s) | heads_weights(probe, "att.", s)
    return tuple(
        one.new(
            BLOCK,
            one.new(HEADS, s.d_model, s.d_model, s.context, 0.0, s.H),
            s.d_model,
            s.hidden,
            **options,
        ).load(weights, may_lack=LACKS)
        for one in (student, reference)
    )


def named(module, wanted, sentence):
    """Fail the check unless *module* has exactly the parameters *wanted*, with these shapes."""
    found = module.shapes()
    for name, shape in wanted.items():
        expect(name in found, f"There is no parameter {name}.")
        what = f"{name} has shape {found[name]}; it should have {shape}."
        expect(found[name] == shape, f"{name} has the wrong shape.", message=what)
    more = sorted(set(found) - set(wanted))
    expect(not more, sentence, message=f"{sentence} Found: {', '.join(more)}.")


def drawn_alike(yours, ours):
    """Compare the parameters of two modules that were built with the same seed."""
    found = yours.parameters()
    for name, parameter in ours.parameters().items():
        expect(name in found, f"There is no parameter {name}.")
        agrees(found[name].value, parameter.value, name)
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


# MultiHeadAttention


@check(HEADS, points=0.1, layer="parameters", rules=("refuses",))
def test_heads_still_have_the_right_sizes(student, probe):
    """The four layers have the right sizes; wrong sizes and texts that are too long are refused."""
    for d_in, d_out, qkv_bias in ((5, 8, False), (7, 4, True)):
        heads = student.new(HEADS, d_in, d_out, 6, 0.0, 2, qkv_bias)
        wanted = {f"{name}.weight": (d_out, d_in) for name in QKV}
        wanted |= {f"{name}.bias": (d_out,) for name in QKV if qkv_bias}
        wanted |= {"out_proj.weight": (d_out, d_out), "out_proj.bias": (d_out,)}
        named(heads, wanted, "The class has a parameter outside its four layers.")
        tensor_like(heads(probe.normal(2, 6, d_in)), (2, 6, d_out), "The context")

        refused = heads.refuses(probe.normal(2, 7, d_in))
        is_refused(refused, "A text of more than context_length tokens")
    for d_out, num_heads in ((8, 3), (5, 2)):
        sizes = (7, d_out, 12, 0.0, num_heads)
        refused = student.refuses(HEADS, *sizes)
        refused = refused or student.new(HEADS, *sizes).refuses(probe.normal(2, 12, 7))
        is_refused(refused, "A d_out that num_heads does not divide")


@check(HEADS, points=0.1, layer="probe")
def test_heads_still_attend(student, reference, probe):
    """The class from stage 10 gives the right results for other sizes and for shorter inputs."""
    for s, d_in, qkv_bias in ((TWO, 10, False), (THREE, 7, True), (FOUR, 11, False)):
        sizes = (d_in, s.d_model, s.context, 0.0, s.H, qkv_bias)
        weights = heads_weights(probe, "", s, d_in=d_in, qkv_bias=qkv_bias)
        yours = student.new(HEADS, *sizes).load(weights, may_lack=LACKS)
        ours = reference.new(HEADS, *sizes).load(weights)

        for T in (s.T, s.context, 1):
            x = 1.7 * probe.normal(s.B, T, d_in) + 0.6
            agrees(yours(x), ours(x), "The context")


@check(HEADS, points=0.1, layer="probe", rules=("no_ready_attention",))
def test_heads_are_still_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    s = TWO
    weights = heads_weights(probe, "", s)
    sizes = (s.d_model, s.d_model, s.context, 0.0, s.H)
    yours = student.new(HEADS, *sizes).load(weights, may_lack=LACKS)
    ours = reference.new(HEADS, *sizes).load(weights)
    x = tokens(probe, s)

    agrees(yours(x), ours(x), "The context")
    avoids(student, HEADS, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)


WIDE = Sizes(B=3, T=12, H=2, d=24, hidden=0, context=13)
WIDE_IN = 15  # d_in
P = 0.3  # the probability with which a weight is dropped


def readable(student, reference, probe):
    """Build both modules so that their outputs show the attention weights, each weight twice."""
    s = WIDE
    once = torch.eye(s.T, WIDE_IN)
    weights = {f"{name}.weight": probe.normal(s.d_model, WIDE_IN, scale=0.4) for name in QKV}
    weights["W_value.weight"] = once.repeat(2 * s.H, 1)  # (d_out, d_in)
    weights["out_proj.weight"] = torch.eye(s.d_model)
    weights["out_proj.bias"] = torch.zeros(s.d_model)
    x = probe.normal(s.B, s.T, WIDE_IN, scale=0.6)
    x[..., : s.T] = torch.eye(s.T)
    sizes = (WIDE_IN, s.d_model, s.context, P, s.H)
    yours = student.new(HEADS, *sizes).load(weights, may_lack=LACKS)
    return yours, reference.new(HEADS, *sizes).load(weights), x


def read(context):
    """Read the attention weights, (B, H, T, T), from both copies."""
    s = WIDE
    answer = tensor_like(context, (s.B, s.T, s.d_model), "The context")
    return answer.view(s.B, s.T, s.H, 2, s.T).permute(3, 0, 2, 1, 4)


@check(HEADS, points=0.1, layer="laws")
def test_heads_still_drop_single_weights(student, reference, probe):
    """In eval mode no weight is dropped; in training some are, and the others are rescaled."""
    yours, ours, x = readable(student, reference, probe)
    whole, _ = read(ours.eval()(x))

    read(yours(x))
    agrees(read(yours.eval()(x))[0], whole, "The attention weights in eval mode")
    weights, twice = read(yours.train()(x))
    visible = torch.ones(WIDE.T, WIDE.T).tril() == 1
    dropped = (weights.abs() < 1e-6) & visible
    expect(dropped.any(), "In training mode, no attention weight is dropped.")
    expect(
        alike(weights.nan_to_num(), twice.nan_to_num()),
        "Single features of context vectors are dropped; apply dropout to the attention weights.",
    )
    kept = torch.where(dropped, weights, whole / (1 - P))
    expect(
        alike(weights, kept),
        "In training, the remaining weights are not the right weights divided by 1 - dropout.",
    )
    share = float(dropped[..., visible].float().mean())  # 468 weights: standard error 0.02
    expect(
        abs(share - P) < 0.15, "The share of dropped weights is far from the probability dropout."
    )
    long = dropped[..., 6:, :7]  # weights that are visible in every row here
    alone = (
        "Weights are dropped together: whole rows or columns, or the same weights in all heads "
        "or items."
    )
    expect((long.any(-1) & ~long.all(-1)).float().mean() > 0.5, alone)
    expect((long.any(-2) & ~long.all(-2)).float().mean() > 0.5, alone)
    expect(not torch.equal(dropped[0], dropped[1]), alone)
    expect(not torch.equal(dropped[:, 0], dropped[:, 1]), alone)
    again, _ = read(yours(x))
    expect(not torch.equal(weights, again), "The same weights are dropped in every call.")


# LayerNorm


@check("LayerNorm", points=0.1, layer="shapes")
def test_layer_norm_keeps_the_shape(student):
    """A batch (2, 3, 5), a text (3, 5) and one token (5,) keep their shapes."""
    norm = student.new("LayerNorm", 5)

    for shape in ((2, 3, 5), (3, 5), (5,)):
        x = torch.arange(math.prod(shape), dtype=torch.float32).view(shape)
        result = tensor_like(norm(x), shape, f"LayerNorm(5) of a tensor {shape}")
        expect(bool(result.any()), ALL_ZERO)


@check("LayerNorm", points=0.2, layer="parameters")
def test_layer_norm_has_a_scale_and_a_shift(student):
    """There are two trainable parameters: scale starts as ones, and shift starts as zeros."""
    norm = student.new("LayerNorm", 7)

    named(
        norm,
        {"scale": (7,), "shift": (7,)},
        "LayerNorm has a parameter other than scale and shift.",
    )
    found = norm.parameters()
    agrees(found["scale"].value, torch.ones(7), "scale")
    agrees(found["shift"].value, torch.zeros(7), "shift")
    for name in ("scale", "shift"):
        expect(found[name].requires_grad, f"{name} is not trainable.")


@check("LayerNorm", points=0.2, layer="documented")
def test_layer_norm_gives_the_documented_variances(student, documented):
    """After LayerNorm, the results of the documented layer have the documented variances."""
    with torch.random.fork_rng():
        torch.manual_seed(123)
        batch = torch.randn(2, 5)
        results = nn.Sequential(nn.Linear(5, 6), nn.ReLU())(batch).detach()
    documented["ch04.layer.out"].matches(results, "The input of this check")

    normalized = tensor_like(student.new("LayerNorm", 6)(results), (2, 6), "LayerNorm(6)(results)")
    variances = normalized.var(dim=-1, unbiased=False)
    what = "The variance of each row of LayerNorm(6)(results)"
    documented["ch04.layernorm.var"].matches(variances, what)


@check("LayerNorm", points=0.3, layer="documented")
def test_layer_norm_reproduces_the_documented_numbers(student, documented):
    """The numbers 0 to 4 give the documented results for eps = 0.001 and eps = 0.0000001."""
    x = torch.arange(5.0)[None]
    ones = {"scale": torch.ones(5), "shift": torch.ones(5)}

    shifted = student.new("LayerNorm", 5, 1e-3).load(ones)
    documented["keras.layernorm"].matches(shifted(x), "LayerNorm(5, 1e-3), with a shift of 1,")
    plain = student.new("LayerNorm", 5, 1e-7)
    documented["keras.layernorm.op"].matches(plain(x), "LayerNorm(5, 1e-7)")


@check("LayerNorm", points=0.2, layer="probe")
def test_layer_norm_normalizes_any_features(student, reference, probe):
    """The result is right for other sizes, scales and shifts, and for any number of axes."""
    for *shape, d_model in ((3, 5, 7), (4, 6), (9,), (2, 3, 5, 4)):
        weights = norm_weights(probe, "", d_model)
        yours = student.new("LayerNorm", d_model).load(weights)
        ours = reference.new("LayerNorm", d_model).load(weights)
        x = 2.3 * probe.normal(*shape, d_model) + 1.5

        agrees(yours(x), ours(x), "The result of LayerNorm")


@check("LayerNorm", points=0.2, layer="probe")
def test_layer_norm_adds_eps_under_the_root(student, reference, probe):
    """The result is right for a large eps, and for small features with the default eps."""
    for eps, size in ((0.5, 1.2), (2.0, 0.7), (None, 0.004)):
        arguments = (6,) if eps is None else (6, eps)
        yours, ours = (one.new("LayerNorm", *arguments) for one in (student, reference))
        x = size * probe.normal(3, 5, 6) + size

        agrees(yours(x), ours(x), "The result of LayerNorm")


@check("LayerNorm", points=0.1, layer="laws")
def test_layer_norm_is_blind_to_scale_and_shift_of_its_input(student, probe):
    """If all features are multiplied by a positive number and shifted, the result is the same."""
    norm = student.new("LayerNorm", 8).load(norm_weights(probe, "", 8))
    x = 3.0 * probe.normal(3, 5, 8)

    before = tensor_like(norm(x), (3, 5, 8), "The result of LayerNorm")
    expect(not alike(before[:, 1:], before[:, :-1]), "Different tokens give the same result.")
    for factor, term in ((4.0, 0.0), (1.0, 7.0), (2.5, -3.0)):
        agrees(norm(factor * x + term), before, "The result for multiplied and shifted features")


@check("LayerNorm", points=0.1, layer="laws", rules=("dtype", "inputs_unchanged"))
def test_layer_norm_keeps_dtype_and_input(keeps_dtype, student, reference, probe):
    """In float64 the result is float64, and the input is unchanged."""
    x = probe.normal(3, 4, 6)
    norm, ours = (one.new("LayerNorm", 6) for one in (student, reference))

    agrees(norm(x), ours(x), "The result of LayerNorm")
    expect(norm.keeps_inputs(x), "LayerNorm changes its input.")
    keeps_dtype(norm, x)


@check("LayerNorm", points=0.1, layer="forbidden", rules=("no_ready_norm",))
def test_layer_norm_is_written_by_hand(student, reference, probe):
    """The norm is computed step by step, not by torch's ready-made norms."""
    yours, ours = (one.new("LayerNorm", 6) for one in (student, reference))
    x = probe.normal(3, 5, 6)

    agrees(yours(x), ours(x), "The result of LayerNorm")
    avoids(student, "LayerNorm", READY_NORM, NORM_BY_HAND)
    avoids_running(yours.operators(x), READY_NORM, NORM_BY_HAND)


# RMSNorm


@check("RMSNorm", points=0.1, layer="shapes")
def test_rms_norm_keeps_the_shape(student):
    """A batch (2, 3, 5), a text (3, 5) and one token (5,) keep their shapes."""
    norm = student.new("RMSNorm", 5)

    for shape in ((2, 3, 5), (3, 5), (5,)):
        x = torch.arange(math.prod(shape), dtype=torch.float32).view(shape)
        result = tensor_like(norm(x), shape, f"RMSNorm(5) of a tensor {shape}")
        expect(bool(result.any()), ALL_ZERO)


@check("RMSNorm", points=0.1, layer="parameters")
def test_rms_norm_has_a_scale_only(student):
    """The only parameter is scale, which is trainable and starts as ones."""
    norm = student.new("RMSNorm", 7)

    named(norm, {"scale": (7,)}, "RMSNorm has a parameter other than scale.")
    scale = norm.parameters()["scale"]
    agrees(scale.value, torch.ones(7), "scale")
    expect(scale.requires_grad, "scale is not trainable.")


@check("RMSNorm", points=0.4, layer="documented")
def test_rms_norm_reproduces_the_documented_numbers(student, documented):
    """The numbers from 0 to 9 give the documented results."""
    x = torch.arange(10.0)[None]

    documented["keras.rmsnorm"].matches(student.new("RMSNorm", 10)(x), "RMSNorm(10) of 0 to 9")


@check("RMSNorm", points=0.3, layer="probe")
def test_rms_norm_normalizes_any_features(student, reference, probe):
    """The result is right for other sizes and scales, a large eps, and small features."""
    cases = (((3, 5, 7), None, 2.3), ((4, 6), 0.7, 1.1), ((9,), 2.0, 1.4), ((2, 3, 5), None, 0.002))
    for shape, eps, size in cases:
        scale = {"scale": scaled(probe, shape[-1])}
        arguments = (shape[-1],) if eps is None else (shape[-1], eps)
        yours, ours = (one.new("RMSNorm", *arguments).load(scale) for one in (student, reference))
        x = size * probe.normal(*shape) + 0.5 * size

        agrees(yours(x), ours(x), "The result of RMSNorm")


@check("RMSNorm", points=0.1, layer="laws")
def test_rms_norm_sees_the_mean_but_not_the_size(student, probe):
    """Scaling all features by a positive factor keeps the result, but adding a number does not."""
    norm = student.new("RMSNorm", 8).load({"scale": scaled(probe, 8)})
    x = 3.0 * probe.normal(3, 5, 8)

    before = tensor_like(norm(x), (3, 5, 8), "The result of RMSNorm")
    agrees(norm(2.5 * x), before, "The result for multiplied features")
    moved = tensor_like(norm(x + 4.0), (3, 5, 8), "The result of RMSNorm")
    expect(
        not alike(moved, before),
        ("Adding a number to all features does not change the result, but it should."),
    )


@check("RMSNorm", points=0.1, layer="laws", rules=("dtype", "inputs_unchanged", "gradients"))
def test_rms_norm_keeps_dtype_input_and_graph(keeps_dtype, student, reference, probe):
    """Gradients are right, the input is unchanged, and in float64 the result is float64."""
    x, back = probe.normal(3, 4, 6), probe.normal(3, 4, 6)
    norm, ours = (one.new("RMSNorm", 6) for one in (student, reference))

    same_gradients(norm.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))
    expect(norm.keeps_inputs(x), "RMSNorm changes its input.")
    keeps_dtype(norm, x)


@check("RMSNorm", points=0.1, layer="forbidden", rules=("no_ready_norm",))
def test_rms_norm_is_written_by_hand(student, reference, probe):
    """The norm is computed step by step, not by torch's ready-made norms."""
    yours, ours = (one.new("RMSNorm", 6) for one in (student, reference))
    x = probe.normal(3, 5, 6)

    agrees(yours(x), ours(x), "The result of RMSNorm")
    avoids(student, "RMSNorm", READY_NORM, NORM_BY_HAND)
    avoids_running(yours.operators(x), READY_NORM, NORM_BY_HAND)


# gelu


@check("gelu", points=0.4, layer="documented")
def test_gelu_reproduces_the_documented_numbers(student, documented):
    """The numbers -3, -1, 0, 1 and 3 give the documented results of the tanh approximation."""
    x = torch.tensor([-3.0, -1.0, 0.0, 1.0, 3.0])

    documented["tf.gelu.tanh"].matches(student.call("gelu", x), "gelu of -3, -1, 0, 1, 3")


@check("gelu", points=0.2, layer="probe", rules=("dtype", "inputs_unchanged", "gradients"))
def test_gelu_bends_any_numbers(keeps_dtype, student, reference, probe):
    """Results and gradients are right for tensors of any shape, and the input is unchanged."""
    for shape in ((3, 5, 4), (7,)):
        x, back = 1.5 * probe.normal(*shape), probe.normal(*shape)

        agrees(student.call("gelu", x), reference.call("gelu", x), "The result of gelu")
        same_gradients(
            student.gradients("gelu", x, cotangent=back),
            reference.gradients("gelu", x, cotangent=back),
        )
        expect(student.keeps_inputs("gelu", x), "gelu changes its input.")
        keeps_dtype("gelu", x)


@check("gelu", points=0.1, layer="forbidden", rules=("no_ready_gelu",))
def test_gelu_is_written_by_hand(student, reference, probe):
    """The formula is written out, without torch's ready-made GELU."""
    x = probe.normal(3, 5)

    agrees(student.call("gelu", x), reference.call("gelu", x), "The result of gelu")
    avoids(student, "gelu", READY_GELU, GELU_BY_HAND)
    avoids_running(student.operators("gelu", x), READY_GELU, GELU_BY_HAND)


def deep_weights(probe, layer_sizes):
    """Draw weights and biases for a deep network, for results of variance 1."""
    weights = {}
    for number, (d_in, d_out) in enumerate(itertools.pairwise(layer_sizes)):
        weights[f"layers.{number}.weight"] = probe.normal(d_out, d_in, scale=d_in**-0.5)
        weights[f"layers.{number}.bias"] = probe.normal(d_out)
    return weights


# DeepNetwork


@check("DeepNetwork", points=0.1, layer="shapes")
def test_deep_network_goes_from_the_first_size_to_the_last(student):
    """With the sizes 4, 6, 6, 2, tokens (3, 4) become (3, 2), with and without shortcuts."""
    for use_shortcut in (False, True):
        network = student.new("DeepNetwork", [4, 6, 6, 2], use_shortcut)
        what = "The result of DeepNetwork([4, 6, 6, 2])"
        result = tensor_like(network(torch.ones(3, 4)), (3, 2), what)
        expect(bool(result.any()), ALL_ZERO)


@check("DeepNetwork", points=0.1, layer="parameters")
def test_deep_network_draws_its_layers_in_order(student, reference, probe):
    """There is one nn.Linear for each pair of consecutive sizes, created in order."""
    sizes = [5, 7, 7, 3]
    wanted = {
        "layers.0.weight": (7, 5),
        "layers.0.bias": (7,),
        "layers.1.weight": (7, 7),
        "layers.1.bias": (7,),
        "layers.2.weight": (3, 7),
        "layers.2.bias": (3,),
    }
    yours = student.new("DeepNetwork", sizes, SHORTCUTS, seed=probe.seed)

    named(yours, wanted, "DeepNetwork has a parameter outside its layers.")
    drawn_alike(yours, reference.new("DeepNetwork", sizes, SHORTCUTS, seed=probe.seed))


def mean_gradients(student, *, use_shortcut):
    """Return the mean absolute gradient of each layer's weights for the squared output."""
    network = student.new("DeepNetwork", [3, 3, 3, 3, 3, 1], use_shortcut, seed=123)
    x = torch.tensor([[1.0, 0.0, -1.0]])
    output = tensor_like(network(x), (1, 1), "The output of the network")
    found = network.gradients(x, cotangent=2 * output).parameters
    gradients = [found.get(f"layers.{number}.weight") for number in range(5)]
    for number, gradient in enumerate(gradients):
        expect(gradient is not None, f"No gradient reaches layers.{number}.weight.")
    return torch.stack([gradient.abs().mean() for gradient in gradients])


@check("DeepNetwork", points=0.2, layer="documented", rules=("gradients",))
def test_deep_network_loses_the_documented_gradients(student, documented):
    """Without shortcuts, the five layers have the documented gradients, which are tiny."""
    found = mean_gradients(student, use_shortcut=False)

    what = "The mean absolute gradient of each layer, without shortcuts,"
    documented["ch04.gradients.plain"].matches(found, what)


@check("DeepNetwork", points=0.3, layer="documented", rules=("gradients",))
def test_deep_network_keeps_the_documented_gradients(student, documented):
    """With shortcuts, the five layers have the documented gradients, which are large."""
    found = mean_gradients(student, use_shortcut=True)

    what = "The mean absolute gradient of each layer, with shortcuts,"
    documented["ch04.gradients.shortcut"].matches(found, what)


@check("DeepNetwork", points=0.3, layer="probe")
def test_deep_network_adds_shortcuts_where_shapes_agree(student, reference, probe):
    """The result is right for other sizes, weights and inputs, with and without shortcuts."""
    cases = (([4, 4, 4], True), ([3, 5, 5, 2, 2], True), ([6, 6, 4, 6], True), ([5, 5, 3], False))
    for sizes, use_shortcut in cases:
        weights = deep_weights(probe, sizes)
        yours, ours = (
            one.new("DeepNetwork", sizes, use_shortcut).load(weights)
            for one in (student, reference)
        )
        x = 1.3 * probe.normal(2, 7, sizes[0])

        agrees(yours(x), ours(x), "The output")


@check("DeepNetwork", points=0.1, layer="laws")
def test_deep_network_of_dead_layers_hands_on_its_input(student):
    """With weights and biases of 0, the output is the input with shortcuts and 0 without them."""
    sizes, x = [3, 3, 3, 3], torch.tensor([[0.5, -1.0, 2.0]])
    dead = {
        f"layers.{number}.{part}": torch.zeros(shape)
        for number in range(3)
        for part, shape in (("weight", (3, 3)), ("bias", (3,)))
    }

    passed_on = student.new("DeepNetwork", sizes, SHORTCUTS).load(dead)(x)
    agrees(passed_on, x, "The output of layers of zeros with shortcuts")
    nothing = student.new("DeepNetwork", sizes, PLAIN).load(dead)(x)
    agrees(nothing, torch.zeros(1, 3), "The output of layers of zeros without shortcuts")


@check(
    "DeepNetwork",
    points=0.1,
    layer="laws",
    rules=("dtype", "inputs_unchanged", "gradients", "no_seeding"),
)
def test_deep_network_keeps_dtype_input_and_graph(keeps_dtype, student, reference, probe):
    """Gradients are right, float64 stays float64, the input is unchanged, and no seed is set."""
    sizes = [4, 4, 6]
    weights = deep_weights(probe, sizes)
    yours, ours = (
        one.new("DeepNetwork", sizes, SHORTCUTS).load(weights) for one in (student, reference)
    )
    x, back = probe.normal(3, 5, 4), probe.normal(3, 5, 6)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))
    expect(yours.keeps_inputs(x), "DeepNetwork changes its input.")
    leaves_the_seed(student, yours, x)
    keeps_dtype(yours, x)


# FeedForward


@check("FeedForward", points=0.1, layer="signature")
def test_feed_forward_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_model, d_hidden and activation."""
    student.new("FeedForward", d_model=4, d_hidden=6)
    student.new("FeedForward", d_model=4, d_hidden=6, activation="relu")


@check("FeedForward", points=0.1, layer="shapes")
def test_feed_forward_keeps_the_shape(student):
    """A batch (2, 3, 5), a text (3, 5) and one token (5,) keep their shapes."""
    network = student.new("FeedForward", 5, 8)

    for shape in ((2, 3, 5), (3, 5), (5,)):
        tensor_like(network(torch.ones(shape)), shape, f"FeedForward(5, 8) of a tensor {shape}")


@check("FeedForward", points=0.1, layer="parameters")
def test_feed_forward_draws_two_layers_in_order(student, reference, probe):
    """linear1 and linear2 are nn.Linear layers with biases, created in this order."""
    wanted = {
        "linear1.weight": (11, 4),
        "linear1.bias": (11,),
        "linear2.weight": (4, 11),
        "linear2.bias": (4,),
    }
    yours = student.new("FeedForward", 4, 11, seed=probe.seed)

    named(yours, wanted, "FeedForward has a parameter outside linear1 and linear2.")
    drawn_alike(yours, reference.new("FeedForward", 4, 11, seed=probe.seed))


@check("FeedForward", points=0.4, layer="probe")
def test_feed_forward_transforms_any_tokens(student, reference, probe):
    """The result is right for other sizes and weights, with GELU (the default) and with ReLU."""
    for *shape, d_model, hidden in ((3, 5, 4, 7), (6, 8, 3), (5, 9)):
        weights = ff_weights(probe, "", d_model, hidden)
        x = 1.4 * probe.normal(*shape, d_model)
        for activation in (("relu",), ("gelu",), ()):
            yours, ours = (
                one.new("FeedForward", d_model, hidden, *activation).load(weights)
                for one in (student, reference)
            )

            agrees(yours(x), ours(x), "The result of FeedForward")


@check("FeedForward", points=0.1, layer="probe", rules=("refuses",))
def test_feed_forward_refuses_other_activations(student):
    """The constructor accepts "gelu" and "relu" and raises an error for other names."""
    for activation in ("gelu", "relu"):
        network = student.new("FeedForward", 4, 6, activation)
        tensor_like(network(torch.ones(3, 4)), (3, 4), "The result of FeedForward")
    for activation in ("tanh", "GELU!", "", "sigmoid"):
        refused = student.refuses("FeedForward", 4, 6, activation)
        sentence = "An unknown activation gives a module; it should raise a ValueError."
        expect(refused, sentence, Status.NOT_REFUSED)


@check("FeedForward", points=0.1, layer="laws", rules=("no_seeding",))
def test_feed_forward_leaves_the_seed_to_the_caller(student, reference, probe):
    """The result is right, and a call does not set torch's seed."""
    weights = ff_weights(probe, "", 4, 7)
    yours, ours = (one.new("FeedForward", 4, 7).load(weights) for one in (student, reference))
    x = probe.normal(3, 5, 4)

    agrees(yours(x), ours(x), "The result of FeedForward")
    leaves_the_seed(student, yours, x)


@check("FeedForward", points=0.1, layer="forbidden", rules=("no_ready_gelu",))
def test_feed_forward_uses_your_gelu(student, reference, probe):
    """The activation is your gelu, not torch's."""
    weights = ff_weights(probe, "", 4, 7)
    yours, ours = (one.new("FeedForward", 4, 7).load(weights) for one in (student, reference))
    x = probe.normal(3, 5, 4)

    agrees(yours(x), ours(x), "The result of FeedForward")
    avoids(student, "FeedForward", READY_GELU, GELU_BY_HAND)
    avoids_running(yours.operators(x), READY_GELU, GELU_BY_HAND)


def swiglu_weights(probe, d_model, hidden):
    """Draw weights for SwiGLU, for results of variance 1."""
    return {
        "gate.weight": 1.5 * probe.normal(hidden, d_model, scale=d_model**-0.5),
        "up.weight": probe.normal(hidden, d_model, scale=d_model**-0.5),
        "down.weight": probe.normal(d_model, hidden, scale=hidden**-0.5),
    }


# SwiGLU


@check("SwiGLU", points=0.1, layer="shapes")
def test_swiglu_keeps_the_shape(student):
    """A batch (2, 3, 5), a text (3, 5) and one token (5,) keep their shapes."""
    network = student.new("SwiGLU", 5, 8)

    for shape in ((2, 3, 5), (3, 5), (5,)):
        tensor_like(network(torch.ones(shape)), shape, f"SwiGLU(5, 8) of a tensor {shape}")


@check("SwiGLU", points=0.2, layer="parameters")
def test_swiglu_draws_three_layers_in_order(student, reference, probe):
    """gate, up and down are nn.Linear layers without biases, created in this order."""
    wanted = {"gate.weight": (9, 5), "up.weight": (9, 5), "down.weight": (5, 9)}
    yours = student.new("SwiGLU", 5, 9, seed=probe.seed)

    named(yours, wanted, "SwiGLU has a parameter outside gate, up and down.")
    drawn_alike(yours, reference.new("SwiGLU", 5, 9, seed=probe.seed))


@check("SwiGLU", points=0.2, layer="documented")
def test_swiglu_reproduces_the_documented_silu(student, documented):
    """If `up` gives 1 everywhere, the result is the documented silu of -6, 1, 0, 1, 6."""
    same, one = torch.eye(5), torch.zeros(5, 6)
    one[:, 5] = 1.0
    weights = {
        "gate.weight": torch.cat([same, torch.zeros(5, 1)], dim=1),
        "up.weight": one,
        "down.weight": torch.cat([same, torch.zeros(1, 5)], dim=0),
    }
    network = student.new("SwiGLU", 6, 5).load(weights)

    x = torch.tensor([-6.0, 1.0, 0.0, 1.0, 6.0, 1.0])
    result = tensor_like(network(x), (6,), "SwiGLU(6, 5) of -6, 1, 0, 1, 6, 1")
    documented["keras.silu"].matches(result[:5], "The first five features of the result")


@check("SwiGLU", points=0.3, layer="probe")
def test_swiglu_gates_any_tokens(student, reference, probe):
    """The result is right for other sizes and weights, and for any number of axes."""
    for *shape, d_model, hidden in ((3, 5, 4, 7), (6, 8, 3), (5, 9)):
        weights = swiglu_weights(probe, d_model, hidden)
        yours, ours = (
            one.new("SwiGLU", d_model, hidden).load(weights) for one in (student, reference)
        )
        x = 1.4 * probe.normal(*shape, d_model)

        agrees(yours(x), ours(x), "The result of SwiGLU")


@check(
    "SwiGLU",
    points=0.1,
    layer="laws",
    rules=("dtype", "inputs_unchanged", "gradients", "no_ready_gelu"),
)
def test_swiglu_keeps_dtype_input_and_graph(keeps_dtype, student, reference, probe):
    """Gradients are right, the input is unchanged, and F.glu is not used."""
    weights = swiglu_weights(probe, 4, 7)
    yours, ours = (one.new("SwiGLU", 4, 7).load(weights) for one in (student, reference))
    x, back = probe.normal(3, 5, 4), probe.normal(3, 5, 4)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))
    expect(yours.keeps_inputs(x), "SwiGLU changes its input.")
    avoids(student, "SwiGLU", READY_GELU, GELU_BY_HAND)
    avoids_running(yours.operators(x), READY_GELU, GELU_BY_HAND)
    keeps_dtype(yours, x)


# TransformerBlock


@check(BLOCK, points=0.1, layer="signature")
def test_block_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes attention, d_model, d_hidden, norm_first and activation."""
    attention = student.new("FeedForward", 4, 6)
    sizes = {"attention": attention, "d_model": 4, "d_hidden": 6}

    student.new(BLOCK, **sizes)
    student.new(BLOCK, **sizes, norm_first=False, activation="relu")


@check(BLOCK, points=0.1, layer="shapes")
def test_block_keeps_the_shape(student):
    """A batch (2, 3, 4) keeps its shape, with pre-norm and with post-norm."""
    for norm_first in (True, False):
        block = student.new(BLOCK, student.new("FeedForward", 4, 6), 4, 10, norm_first)

        tensor_like(block(torch.ones(2, 3, 4)), (2, 3, 4), "The result of TransformerBlock")


@check(BLOCK, points=0.2, layer="parameters")
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

    named(block, wanted, "The block has a parameter outside att, norm1, ff and norm2.")


@check(BLOCK, points=0.1, layer="parameters")
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


@check(BLOCK, points=0.4, layer="documented", needs=(HEADS,))
def test_block_reproduces_the_documented_token(student, documented):
    """A post-norm block with ReLU gives the documented result for a single token."""
    x = torch.tensor([[[20.0, 30.0, 40.0, 50.0]]])

    result = tensor_like(printed_layer(student)(x), (1, 1, 4), "The result for one token")
    documented["pytorch.encoder.one_token"].matches(result[0, 0], "The result for one token")


@check(BLOCK, points=0.4, layer="documented", needs=(HEADS,))
def test_block_reproduces_the_documented_last_tokens(student, documented):
    """In a post-norm block with ReLU, the last token of each text gets the documented result."""
    block = printed_layer(student)
    two = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]])
    five = documented["pytorch.five_tokens"].tensor

    result = tensor_like(block(two), (1, 2, 4), "The result for two tokens")
    documented["pytorch.encoder.two_tokens"].matches(result[0, 1], "The second of two tokens")
    result = tensor_like(block(five), (2, 5, 4), "The result for five tokens")
    documented["pytorch.encoder.five_tokens"].matches(result[:, 4], "The fifth token of each text")


@check(BLOCK, points=0.4, layer="probe")
def test_block_normalizes_first(student, reference, probe):
    """With pre-norm, the default, the results are right for other sizes and weights."""
    for s in (TWO, THREE, FOUR):
        yours, ours = blocks(student, reference, probe, s)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The result of the block")


@check(BLOCK, points=0.4, layer="probe")
def test_block_normalizes_last(student, reference, probe):
    """With post-norm (norm_first=False), the results are right for other sizes and weights."""
    for s, activation in ((TWO, "relu"), (THREE, "gelu"), (FOUR, "relu")):
        yours, ours = blocks(student, reference, probe, s, norm_first=False, activation=activation)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The result of the block")


@check(BLOCK, points=0.1, layer="probe", needs=(HEADS,))
def test_block_attends(student, reference, probe):
    """With attention, the results are right for long and short texts and for both activations."""
    for s, activation in ((TWO, "gelu"), (THREE, "relu")):
        yours, ours = attending_blocks(student, reference, probe, s, activation=activation)

        for T in (s.T, s.context, 1):
            x = tokens(probe, s, T)
            agrees(yours(x), ours(x), "The result of the block")


@check(BLOCK, points=0.1, layer="laws")
def test_block_of_dead_parts_is_the_identity(student, probe):
    """If attention and feed-forward network return zeros, a pre-norm block returns its input."""
    s = THREE
    block = student.new(BLOCK, without_mixing(student, probe, s), s.d_model, s.hidden)
    dead = {
        f"{part}.linear2.{name}": torch.zeros(shape)
        for part, hidden in (("att", s.hidden + 2), ("ff", s.hidden))
        for name, shape in (("weight", (s.d_model, hidden)), ("bias", (s.d_model,)))
    }
    x = tokens(probe, s)

    agrees(
        block.load(block_weights(probe, s) | dead)(x),
        x,
        ("The result of a block whose parts return zeros"),
    )


@check(BLOCK, points=0.1, layer="laws", needs=(HEADS,))
def test_block_never_looks_ahead(student, reference, probe):
    """A change of the last tokens changes their own results and no earlier result."""
    s = TWO
    yours, _ = attending_blocks(student, reference, probe, s)
    x = tokens(probe, s)
    others = x.clone()
    others[:, 4:] = tokens(probe, s, s.T - 4)

    before = tensor_like(yours(x), (s.B, s.T, s.d_model), "The result of the block")
    after = tensor_like(yours(others), (s.B, s.T, s.d_model), "The result of the block")
    unchanged = alike(after[:, 4:], before[:, 4:])
    expect(not unchanged, "A change of the last tokens does not change their own results.")
    sentence = "After a change of the last tokens, the result of the first tokens"
    agrees(after[:, :4], before[:, :4], sentence)


@check(BLOCK, points=0.1, layer="laws")
def test_block_uses_the_attention_that_it_was_given(student, probe):
    """New weights in the given module change the block: it holds the module, not a copy."""
    s = FOUR
    attention = without_mixing(student, probe, s)
    block = student.new(BLOCK, attention, s.d_model, s.hidden)
    x = tokens(probe, s)

    before = tensor_like(block(x), (s.B, s.T, s.d_model), "The result of the block")
    attention.load(ff_weights(probe, "", s.d_model, s.hidden + 2))
    after = tensor_like(block(x), (s.B, s.T, s.d_model), "The result of the block")
    expect(not alike(after, before), "New weights in the given attention do not change the block.")


@check(BLOCK, points=0.1, layer="laws")
def test_block_with_post_norm_gives_normalized_tokens(student, probe):
    """A new post-norm block gives every token features with mean 0 and variance 1."""
    s = TWO
    attention = without_mixing(student, probe, s)
    block = student.new(BLOCK, attention, s.d_model, s.hidden, POST_NORM)

    result = tensor_like(block(tokens(probe, s)), (s.B, s.T, s.d_model), "The result of the block")
    mean, size = result.mean(dim=-1), result.square().mean(dim=-1)
    agrees(mean, torch.zeros(s.B, s.T), "The mean of each token's features")
    agrees(size, torch.ones(s.B, s.T), "The mean square of each token's features")


@check(BLOCK, points=0.1, layer="laws", rules=("dtype", "inputs_unchanged", "no_seeding"))
def test_block_keeps_dtype_and_input(keeps_dtype, student, reference, probe):
    """Results are right, float64 stays float64, the input is unchanged, and no seed is set."""
    x = tokens(probe, FOUR)
    for norm_first in (True, False):
        yours, ours = blocks(student, reference, probe, FOUR, norm_first=norm_first)

        agrees(yours(x), ours(x), "The result of the block")
        expect(yours.keeps_inputs(x), "The call changes its input.")
        leaves_the_seed(student, yours, x)
        keeps_dtype(yours, x)


@check(BLOCK, points=0.2, layer="gradients", rules=("gradients",))
def test_block_can_be_trained(student, reference, probe):
    """The gradients of the input and of every parameter are right, with pre-norm and post-norm."""
    for s, norm_first in ((THREE, True), (FOUR, False)):
        yours, ours = blocks(student, reference, probe, s, norm_first=norm_first)
        x, back = tokens(probe, s), probe.normal(s.B, s.T, s.d_model)

        same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check(BLOCK, points=0.1, layer="gradients", rules=("gradients",))
def test_block_of_dead_parts_passes_gradients_on(student, probe):
    """If both parts return zeros, the gradient of the input equals the gradient of the result."""
    s = THREE
    block = student.new(BLOCK, without_mixing(student, probe, s), s.d_model, s.hidden)
    dead = {
        f"{part}.linear2.{name}": torch.zeros(shape)
        for part, hidden in (("att", s.hidden + 2), ("ff", s.hidden))
        for name, shape in (("weight", (s.d_model, hidden)), ("bias", (s.d_model,)))
    }
    x, back = tokens(probe, s), probe.normal(s.B, s.T, s.d_model)

    found = block.load(dead).gradients(x, cotangent=back).inputs[0]
    expect(found is not None, "No gradient reaches the input.")
    agrees(found, back, "The gradient of the input of a block whose parts return zeros")


@check(
    BLOCK,
    points=0.1,
    layer="forbidden",
    rules=("no_ready_norm", "no_ready_gelu", "no_ready_attention"),
)
def test_block_is_built_from_your_parts(student, reference, probe):
    """The block uses your norm and your activation, not torch's."""
    yours, ours = blocks(student, reference, probe, FOUR)
    x = tokens(probe, FOUR)

    agrees(yours(x), ours(x), "The result of the block")
    ran = yours.operators(x)
    for names, why in (
        (READY_NORM, NORM_BY_HAND),
        (READY_GELU, GELU_BY_HAND),
        (READY_ATTENTION, BY_HAND),
    ):
        avoids(student, BLOCK, names, why)
        avoids_running(ran, names, why)
