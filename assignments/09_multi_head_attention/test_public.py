"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators
from autograder.suite.student_proxy import RemoteModule, Student


@pytest.fixture
def inputs(documented: DocumentedTensors) -> Tensor:
    """Return "Your journey starts with one step", one embedding per row: (6, 3)."""
    return documented["000.inputs"].tensor.clone()


@pytest.fixture
def encodings(documented: DocumentedTensors) -> Tensor:
    """Return the three token encodings of document 001: (3, 2)."""
    return documented["001.encodings"].tensor.clone()


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
MHA = "MultiHeadAttention"
WRAPPER = "MultiHeadAttentionWrapper"
SHORT, LONG = ("W_q", "W_k", "W_v"), ("W_query", "W_key", "W_value")
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
AT_ONCE = "Use one matrix product for all tokens at once."
OWN_LAYERS = "each head has its own layers, and nn.ModuleList registers them"


class Sizes(NamedTuple):
    """Sizes for checks of Attention: all different, so that no wrong axis fits by chance."""

    B: int
    T_q: int
    T_k: int
    H: int
    d: int


class Causal(NamedTuple):
    """Sizes for checks of causal attention, also all different."""

    B: int
    T: int
    H: int
    d_in: int
    d_out: int
    context: int


def tokens(probe, *shape):
    """Draw a batch of different encodings."""
    return probe.normal(*shape, scale=0.6)


def sources(probe, s, *, batched):
    """Draw three different encodings for queries, keys and values."""
    front = (s.B,) if batched else ()
    lengths = (s.T_q, s.T_k, s.T_k)
    return tuple(tokens(probe, *front, length, s.d) for length in lengths)


def large_weights(probe, heads, layers, shape, *, bias=False):
    """Draw large weights for the *layers* of *heads* heads; 0 means a module without heads."""
    prefixes = [f"heads.{h}." for h in range(heads)] or [""]
    names = [prefix + layer for prefix in prefixes for layer in layers]
    drawn = {f"{name}.weight": probe.normal(*shape) for name in names}
    return drawn | {f"{name}.bias": probe.normal(shape[0]) for name in names if bias}


def attentions(student, reference, probe, s, *, heads, batched):
    """Build the student's module and the reference with the same weights.

    The module is ``Attention`` if *heads* is 0, and ``MultiHeadAttention`` otherwise.
    """
    name = MHA if heads else "Attention"
    sizes = (s.d, int(batched), 1 + batched, *([heads] if heads else []))
    weights = large_weights(probe, heads, SHORT, (s.d, s.d))
    return student.new(name, *sizes).load(weights), reference.new(name, *sizes).load(weights)


def causals(student, reference, probe, s, *, heads, bias=False):
    """Build the student's module and the reference with the same weights.

    The module is ``CausalAttention`` if *heads* is 0, and the wrapper otherwise.
    """
    name = WRAPPER if heads else "CausalAttention"
    sizes = (
        s.d_in,
        s.d_out,
        s.context,
        0.0,
        *([heads] if heads else []),
        *([True] if bias else []),
    )
    weights = large_weights(probe, heads, LONG, (s.d_out, s.d_in), bias=bias)
    return student.new(name, *sizes).load(weights), reference.new(name, *sizes).load(weights)


def no_biases(found, layers):
    """Expect that none of the *layers* has a bias in any head."""
    biases = tuple(f"{layer}.bias" for layer in layers)
    expect(
        not any(name.endswith(biases) for name in found),
        "A layer has a bias; it should have none.",
    )


def same_draws(found, drawn):
    """Compare parameters one by one, so that the message names the first wrong one."""
    for name, parameter in drawn.items():
        why = f": {OWN_LAYERS}" if name.startswith("heads.") and name.endswith("weight") else ""
        expect(name in found, f"There is no parameter {name}{why}.")
        agrees(found[name].value, parameter.value, name)


def same_gradients(yours, ours):
    """Compare the gradients of the inputs and of the parameters."""
    places = ("the first input", "the second input", "the third input")
    named = dict(zip(places, yours.inputs, strict=False)) | yours.parameters
    wanted = dict(zip(places, ours.inputs, strict=False)) | ours.parameters
    for name, gradient in wanted.items():
        found = named.get(name)
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, gradient, f"The gradient of {name}")


def built_by_hand(student, name, yours, ours, given):
    """Expect right context vectors from code that does not use torch's ready-made attention."""
    agrees(yours(*given), ours(*given), "The context")
    avoids(student, name, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(*given), READY_ATTENTION, BY_HAND)


def caller_seeds(student, name, sizes, given):
    """Expect that neither building nor calling *name* seeds torch's generator."""
    drawn = []
    for seed in (5, 6):
        yours = student.new(name, *sizes, seed=seed)
        built = student.draws_next()
        yours(*given, seed=seed)
        drawn.append((built, student.draws_next()))

    expect(
        not torch.equal(drawn[0][0], drawn[1][0]),
        "After construction, the random numbers no longer depend on the seed.",
    )
    expect(
        not torch.equal(drawn[0][1], drawn[1][1]),
        "After a call, the random numbers no longer depend on the seed.",
    )


ONE = Sizes(B=2, T_q=4, T_k=6, H=1, d=5)


# Attention


@check("Attention", points=0.1, layer="signature")
def test_attention_is_built_with_defaults(student, encodings):
    """The defaults are d_model=2, row_dim=0, col_dim=1: one text, 2 features per token."""
    plain = student.new("Attention", seed=9)(encodings, encodings, encodings)
    named = student.new("Attention", d_model=2, row_dim=0, col_dim=1, seed=9)

    context = tensor_like(named(encodings, encodings, encodings), (3, 2), "The context")
    agrees(plain, context, "The context without arguments")


@check("Attention", points=0.1, layer="parameters")
def test_attention_makes_query_key_value_layers(student, reference, probe):
    """With any seed, W_q, W_k and W_v are created in this order, without biases."""
    found = student.new("Attention", 5, 0, 1, seed=probe.seed).parameters()

    no_biases(found, SHORT)
    same_draws(found, reference.new("Attention", 5, 0, 1, seed=probe.seed).parameters())


@check("Attention", points=0.2, layer="documented")
def test_attention_reproduces_the_documented_context(student, documented, encodings):
    """With seed 42, the context vectors are the documented ones, with and without the mask."""
    attention = student.new("Attention", 2, 0, 1, seed=42)
    mask = documented["001.mask"].tensor
    whole, masked = documented["001.sa.context"], documented["001.masked.context"]

    whole.matches(attention(encodings, encodings, encodings), "The context")
    masked.matches(attention(encodings, encodings, encodings, mask), "The masked context")


@check("Attention", points=0.2, layer="probe")
def test_attention_attends_with_any_weights(student, reference, probe):
    """The result is right for other weights and three different encodings, even in a batch."""
    for batched in (False, True):
        yours, ours = attentions(student, reference, probe, ONE, heads=0, batched=batched)
        given = sources(probe, ONE, batched=batched)

        agrees(yours(*given), ours(*given), "The context")


@check("Attention", points=0.1, layer="probe")
def test_attention_hides_what_the_mask_hides(student, reference, probe):
    """With a mask of zeros and ones, the result is right for any weights, even in a batch."""
    s = ONE._replace(T_q=6)
    for batched in (False, True):
        yours, ours = attentions(student, reference, probe, s, heads=0, batched=batched)
        given = (*sources(probe, s, batched=batched), torch.tril(torch.ones(6, 6)))

        agrees(yours(*given), ours(*given), "The masked context")


@check("Attention", points=0.1, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype(student.new("Attention", ONE.d), *sources(probe, ONE, batched=False))


@check("Attention", points=0.1, layer="gradients", rules=("gradients",))
def test_attention_can_be_trained(student, reference, probe):
    """The gradients of the three encodings and of the three layers are right."""
    yours, ours = attentions(student, reference, probe, ONE, heads=0, batched=True)
    given, back = sources(probe, ONE, batched=True), probe.normal(ONE.B, ONE.T_q, ONE.d)

    same_gradients(yours.gradients(*given, cotangent=back), ours.gradients(*given, cotangent=back))


@check("Attention", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = attentions(student, reference, probe, ONE, heads=0, batched=False)

    built_by_hand(student, "Attention", yours, ours, sources(probe, ONE, batched=False))


TEXT = Causal(B=3, T=5, H=1, d_in=7, d_out=6, context=10)


# CausalAttention


@check("CausalAttention", points=0.1, layer="parameters")
def test_causal_makes_query_key_value_layers(student, reference, documented):
    """W_query, W_key and W_value are created in this order, with biases only if requested."""
    found = student.new("CausalAttention", 3, 2, 6, 0.0, seed=123).parameters()
    sizes = (3, 2, 6, 0.0, True)
    biased = student.new("CausalAttention", *sizes, seed=7).parameters()

    no_biases(found, LONG)
    for layer in LONG:
        expect(f"{layer}.weight" in found, f"There is no parameter {layer}.weight.")
        printed = documented[f"ch03.causal.{layer.lower()}.weight"]
        printed.matches(found[f"{layer}.weight"].value, f"{layer}.weight")
    drawn = reference.new("CausalAttention", *sizes, seed=7).parameters()
    same_draws(biased, drawn)


@check("CausalAttention", points=0.1, layer="documented")
def test_causal_reproduces_the_documented_context(student, documented, inputs):
    """With seed 123, the context vectors are the documented ones."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    attention = student.new("CausalAttention", 3, 2, 6, 0.0, seed=123)

    documented["ch03.causal.context"].matches(attention(batch), "The context")


@check("CausalAttention", points=0.1, layer="probe")
def test_causal_serves_every_length_with_any_weights(student, reference, probe):
    """The result is right for other weights and biases, and for long and short inputs in turn."""
    yours, ours = causals(student, reference, probe, TEXT, heads=0, bias=True)

    for B, T in ((3, 5), (2, TEXT.context), (3, 1), (1, 4)):
        x = tokens(probe, B, T, TEXT.d_in)
        agrees(yours(x), ours(x), "The context")


@check("CausalAttention", points=0.1, layer="laws", rules=("dtype",))
def test_causal_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    s = TEXT
    attention = student.new("CausalAttention", s.d_in, s.d_out, s.context, 0.0)
    keeps_dtype(attention, tokens(probe, s.B, s.T, s.d_in))


@check("CausalAttention", points=0.1, layer="laws", rules=("refuses",))
def test_causal_refuses_more_tokens_than_fit(student, reference, probe):
    """The module accepts context_length tokens and raises an error for more."""
    yours, ours = causals(student, reference, probe, TEXT, heads=0)
    x = tokens(probe, 2, TEXT.context, TEXT.d_in)

    agrees(yours(x), ours(x), "The context")
    refused = yours.refuses(tokens(probe, 2, TEXT.context + 1, TEXT.d_in))
    expect(
        refused,
        "More tokens than context_length give a result; they should raise a ValueError.",
        Status.NOT_REFUSED,
    )


@check("CausalAttention", points=0.1, layer="laws", rules=("buffer",))
def test_causal_keeps_mask_as_a_buffer(student):
    """`mask` is a buffer: it moves with the module and is not trained."""
    attention = student.new("CausalAttention", 3, 2, 6, 0.0)

    expect("mask" not in attention.parameters(), "mask is a parameter; it should be a buffer.")
    expect("mask" in attention.buffers(), "There is no buffer named mask.")
    place = attention.move("meta").get("mask", "")
    expect(place.startswith("meta"), "mask does not move with the module.")


@check("CausalAttention", points=0.1, layer="laws", rules=("no_seeding",))
def test_causal_leaves_the_seed_to_the_caller(student, probe):
    """The module does not seed torch's generator when it is built or called with dropout."""
    x = tokens(probe, 2, 4, TEXT.d_in)

    caller_seeds(student, "CausalAttention", (TEXT.d_in, TEXT.d_out, TEXT.context, 0.5), (x,))


WIDE = Causal(B=3, T=12, H=2, d_in=15, d_out=24, context=13)
P = 0.3


def readable(student, reference, probe, *, heads):
    """Build both modules so that their outputs show the attention weights, each weight twice."""
    s, prefixes = WIDE, [f"heads.{h}." for h in range(heads)] or [""]
    once = torch.cat([torch.eye(s.T), torch.zeros(s.T, s.d_in - s.T)], dim=1)  # (T, d_in)
    names = [f"{prefix}{layer}.weight" for prefix in prefixes for layer in LONG[:2]]
    weights = {name: probe.normal(s.d_out, s.d_in, scale=0.4) for name in names}
    weights |= {f"{prefix}W_value.weight": once.repeat(2, 1) for prefix in prefixes}
    x = tokens(probe, s.B, s.T, s.d_in)
    x[..., : s.T] = torch.eye(s.T)
    sizes = (s.d_in, s.d_out, s.context, P, *([heads] if heads else []))
    name = WRAPPER if heads else "CausalAttention"
    return student.new(name, *sizes).load(weights), reference.new(name, *sizes).load(weights), x


def read(context, heads):
    """Return both copies of the attention weights: (2, B, H, T, T)."""
    s = WIDE
    answer = tensor_like(context, (s.B, s.T, heads * s.d_out), "The context")
    return answer.view(s.B, s.T, heads, 2, s.T).permute(3, 0, 2, 1, 4)


def dropped_from(yours, ours, x, heads):
    """Return a mask of the weights dropped in training; expect that the others are rescaled."""
    (whole, _), (weights, twice) = read(ours.eval()(x), heads), read(yours.train()(x), heads)
    visible = torch.ones(WIDE.T, WIDE.T).tril() == 1
    dropped = (weights.abs() < 1e-6) & visible

    expect(dropped.any(), "In training mode, the result shows no attention weight of zero.")
    expect(
        alike(weights.nan_to_num(), twice.nan_to_num()),
        "Individual features of context vectors are zero; apply dropout to the attention weights.",
    )
    kept = torch.where(dropped, weights, whole / (1 - P))
    expect(
        alike(weights, kept),
        "In training, the kept weights are not the right weights divided by 1 - dropout.",
    )
    share = float(dropped[..., visible].float().mean())  # of 234 weights: one deviation is 0.03
    expect(abs(share - P) < 0.2, "The share of dropped weights is far above or far below dropout.")
    return dropped


@check("CausalAttention", points=0.1, layer="laws")
def test_causal_drops_weights_in_training_only(student, reference, probe):
    """Weights are dropped and the others rescaled in training; none are dropped in eval mode."""
    yours, ours, x = readable(student, reference, probe, heads=0)

    dropped = dropped_from(yours, ours, x, 1)[
        ..., 6:, :7
    ]  # weights that are visible in every row here
    alone = "Weights are dropped together: whole rows or columns, or the same weights in all items."
    expect((dropped.any(-1) & ~dropped.all(-1)).float().mean() > 0.5, alone)
    expect((dropped.any(-2) & ~dropped.all(-2)).float().mean() > 0.5, alone)
    expect(not torch.equal(dropped[0], dropped[1]), alone)
    agrees(yours.eval()(x), ours.eval()(x), "The context in eval mode")


@check("CausalAttention", points=0.1, layer="gradients", rules=("gradients",))
def test_causal_can_be_trained(student, reference, probe):
    """The gradients of the input and of the three layers are right."""
    yours, ours = causals(student, reference, probe, TEXT, heads=0, bias=True)
    x, back = tokens(probe, 3, 5, TEXT.d_in), probe.normal(3, 5, TEXT.d_out)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check("CausalAttention", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_causal_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = causals(student, reference, probe, TEXT, heads=0)

    built_by_hand(student, "CausalAttention", yours, ours, (tokens(probe, 3, 5, TEXT.d_in),))


TWO = Sizes(B=3, T_q=4, T_k=6, H=2, d=5)
THREE = Sizes(B=2, T_q=7, T_k=5, H=3, d=4)
FOUR = Sizes(B=2, T_q=5, T_k=7, H=4, d=3)


# MultiHeadAttention


@check(MHA, points=0.1, layer="signature")
def test_heads_are_built_and_called_by_names(student, encodings):
    """The defaults are those of Attention, with one head; forward takes encodings and a mask."""
    plain = student.new(MHA, seed=9)(encodings, encodings, encodings)
    heads = student.new(MHA, d_model=2, row_dim=0, col_dim=1, num_heads=1, seed=9)
    x, mask = encodings, torch.ones(3, 3)
    named = heads(encodings_for_q=x, encodings_for_k=x, encodings_for_v=x, mask=mask)

    context = tensor_like(named, (3, 2), "The context")
    agrees(plain, context, "The context without arguments")


@check(MHA, points=0.1, layer="shapes")
def test_heads_stand_side_by_side(student, encodings):
    """Two heads of size 2 give each of three tokens a vector of size 4: (3, 4)."""
    context = student.new(MHA, 2, 0, 1, 2)(encodings, encodings, encodings)

    tensor_like(context, (3, 4), "MultiHeadAttention(2, 0, 1, num_heads=2)")


@check(MHA, points=0.3, layer="parameters")
def test_heads_have_layers_of_their_own(student, reference, probe):
    """The heads are created one after the other, each with its own W_q, W_k and W_v."""
    found = student.new(MHA, 5, 0, 1, 3, seed=probe.seed).parameters()

    same_draws(found, reference.new(MHA, 5, 0, 1, 3, seed=probe.seed).parameters())


@check(MHA, points=0.3, layer="documented")
def test_one_head_is_plain_attention(student, documented, encodings):
    """With seed 42, one head gives the documented context, with and without the mask."""
    attention = student.new(MHA, 2, 0, 1, 1, seed=42)
    mask = documented["001.mask"].tensor
    whole, masked = documented["001.sa.context"], documented["001.masked.context"]

    whole.matches(attention(encodings, encodings, encodings), "The context of one head")
    masked.matches(attention(encodings, encodings, encodings, mask), "The masked context")


@check(MHA, points=0.6, layer="documented")
def test_heads_reproduce_the_documented_context(student, documented, encodings):
    """With seed 42, two heads give the documented context vectors."""
    attention = student.new(MHA, 2, 0, 1, 2, seed=42)

    context = attention(encodings, encodings, encodings)
    documented["001.mha.context"].matches(context, "The context of two heads")


@check(MHA, points=0.4, layer="probe")
def test_heads_attend_with_any_weights(student, reference, probe):
    """The result is right for 2 to 4 heads, with other weights and three different encodings."""
    for s in (TWO, THREE, FOUR, TWO._replace(T_q=1), TWO._replace(T_k=1)):
        yours, ours = attentions(student, reference, probe, s, heads=s.H, batched=False)
        given = sources(probe, s, batched=False)

        agrees(yours(*given), ours(*given), "The context")


@check(MHA, points=0.5, layer="probe")
def test_heads_serve_batches(student, reference, probe):
    """With row_dim=1 and col_dim=2, every item of a batch gets its own context vectors."""
    for s in (TWO, THREE, FOUR):
        yours, ours = attentions(student, reference, probe, s, heads=s.H, batched=True)
        given = sources(probe, s, batched=True)

        agrees(yours(*given), ours(*given), "The context of a batch")


@check(MHA, points=0.4, layer="probe")
def test_heads_all_obey_the_mask(student, reference, probe):
    """With a mask of zeros and ones, no head attends to hidden keys, even in a batch."""
    s = THREE._replace(T_q=5)
    for batched in (False, True):
        yours, ours = attentions(student, reference, probe, s, heads=s.H, batched=batched)
        given = (*sources(probe, s, batched=batched), torch.tril(torch.ones(5, 5)))

        agrees(yours(*given), ours(*given), "The masked context")


@check(MHA, points=0.1, layer="laws", rules=("dtype",))
def test_heads_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention = student.new(MHA, THREE.d, 0, 1, THREE.H)
    keeps_dtype(attention, *sources(probe, THREE, batched=False))


@check(MHA, points=0.3, layer="laws")
def test_heads_fill_each_their_own_block(student, reference, probe):
    """Each block of d_model features equals Attention with that head's weights."""
    weights = large_weights(probe, TWO.H, SHORT, (TWO.d, TWO.d))
    given = sources(probe, TWO, batched=False)
    yours = student.new(MHA, TWO.d, 0, 1, TWO.H).load(weights)

    context = tensor_like(yours(*given), (TWO.T_q, TWO.H * TWO.d), "The context")
    for h, block in enumerate(context.split(TWO.d, dim=-1)):
        own = {f"{name}.weight": weights[f"heads.{h}.{name}.weight"] for name in SHORT}
        alone = reference.new("Attention", TWO.d, 0, 1).load(own)
        agrees(block, alone(*given), "The block of a head")


@check(MHA, points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_heads_leave_encodings_and_mask_alone(student, reference, probe):
    """The context is right, and encodings and mask are unchanged."""
    s = TWO._replace(T_q=6)
    yours, ours = attentions(student, reference, probe, s, heads=2, batched=False)
    given = (*sources(probe, s, batched=False), torch.tril(torch.ones(6, 6)))

    agrees(yours(*given), ours(*given), "The context")
    expect(yours.keeps_inputs(*given), "The call changes its inputs.")


@check(MHA, points=0.1, layer="laws", rules=("no_seeding",))
def test_heads_leave_the_seed_to_the_caller(student, reference, probe):
    """The context is right, and the module does not seed torch's generator."""
    yours, ours = attentions(student, reference, probe, TWO, heads=2, batched=False)
    given = sources(probe, TWO, batched=False)

    agrees(yours(*given), ours(*given), "The context")
    caller_seeds(student, MHA, (TWO.d, 0, 1, 2), given)


@check(MHA, points=0.3, layer="gradients", rules=("gradients",))
def test_heads_can_be_trained(student, reference, probe):
    """The gradients of the three encodings and of the layers of every head are right."""
    yours, ours = attentions(student, reference, probe, THREE, heads=3, batched=True)
    given = sources(probe, THREE, batched=True)
    back = probe.normal(THREE.B, THREE.T_q, THREE.H * THREE.d)

    same_gradients(yours.gradients(*given, cotangent=back), ours.gradients(*given, cotangent=back))


@check(MHA, points=0.3, layer="forbidden", rules=("no_ready_attention",))
def test_heads_are_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = attentions(student, reference, probe, TWO, heads=2, batched=False)

    built_by_hand(student, MHA, yours, ours, sources(probe, TWO, batched=False))


@check(MHA, points=0.1, layer="forbidden", rules=("no_loops",))
def test_heads_need_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    yours, ours = attentions(student, reference, probe, TWO, heads=2, batched=False)
    few = sources(probe, TWO, batched=False)
    many = sources(probe, TWO._replace(T_q=9, T_k=11), batched=False)

    agrees(yours(*many), ours(*many), "The context")
    keeps_operators(yours.operators(*few), yours.operators(*many), AT_ONCE)


PAIR = Causal(B=3, T=8, H=2, d_in=4, d_out=5, context=9)
TRIO = Causal(B=2, T=6, H=3, d_in=5, d_out=4, context=11)
QUARTET = Causal(B=3, T=5, H=4, d_in=7, d_out=6, context=10)


# MultiHeadAttentionWrapper


@check(WRAPPER, points=0.1, layer="signature")
def test_wrapper_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_in, d_out, context_length, dropout, num_heads and qkv_bias."""
    sizes = {"d_in": 3, "d_out": 4, "context_length": 6, "dropout": 0.0, "num_heads": 2}

    student.new(WRAPPER, **sizes)
    student.new(WRAPPER, **sizes, qkv_bias=True)


@check(WRAPPER, points=0.1, layer="shapes")
def test_wrapper_gives_d_out_features_per_head(student, documented, inputs):
    """For a batch of shape (2, 6, 3), two heads of size 2 give a result of shape (2, 6, 4)."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    context = student.new(WRAPPER, 3, 2, 6, 0.0, 2)(batch)

    shape = tuple(documented["ch03.wrapper.context.shape"].value)
    tensor_like(context, shape, "MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2)(batch)")


@check(WRAPPER, points=0.3, layer="parameters")
def test_wrapper_draws_head_after_head(student, reference, documented, probe):
    """Each head has its own layers, and seed 123 gives the documented weights."""
    found = student.new(WRAPPER, 3, 2, 6, 0.0, 2, seed=123).parameters()

    no_biases(found, LONG)
    for layer in LONG:
        name, printed = f"heads.0.{layer}.weight", documented[f"ch03.causal.{layer.lower()}.weight"]
        expect(name in found, f"There is no parameter {name}: {OWN_LAYERS}.")
        printed.matches(found[name].value, name)
    sizes = (7, 5, 9, 0.0, 3)
    found = student.new(WRAPPER, *sizes, seed=probe.seed).parameters()
    same_draws(found, reference.new(WRAPPER, *sizes, seed=probe.seed).parameters())


@check(WRAPPER, points=0.1, layer="parameters")
def test_wrapper_hands_qkv_bias_on(student, reference, probe):
    """With qkv_bias=True, every layer of every head has a bias, drawn after its weight."""
    sizes = (7, 5, 9, 0.0, 3, True)
    found = student.new(WRAPPER, *sizes, seed=probe.seed).parameters()

    same_draws(found, reference.new(WRAPPER, *sizes, seed=probe.seed).parameters())


@check(WRAPPER, points=0.6, layer="documented")
def test_wrapper_reproduces_the_documented_context(student, documented, inputs):
    """With seed 123, two heads give the documented context vectors."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    attention = student.new(WRAPPER, 3, 2, 6, 0.0, 2, seed=123)

    context = documented["ch03.wrapper.context"]
    context.matches(attention(batch), "MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2)(batch)")


@check(WRAPPER, points=0.6, layer="probe")
def test_wrapper_attends_with_any_weights(student, reference, probe):
    """The result is right for 2, 3 and 4 heads, with other weights and shorter inputs."""
    for s in (PAIR, TRIO, QUARTET):
        yours, ours = causals(student, reference, probe, s, heads=s.H)
        x = tokens(probe, s.B, s.T, s.d_in)

        agrees(yours(x), ours(x), "The context")


@check(WRAPPER, points=0.4, layer="probe")
def test_wrapper_serves_every_length_in_turn(student, reference, probe):
    """With biases, one module works for long and short inputs in turn, even for a single token."""
    s = QUARTET
    yours, ours = causals(student, reference, probe, s, heads=s.H, bias=True)

    for B, T in ((3, s.context), (2, 1), (3, 5), (1, 1), (2, s.context)):
        x = tokens(probe, B, T, s.d_in)
        agrees(yours(x), ours(x), "The context")


@check(WRAPPER, points=0.1, layer="laws", rules=("dtype",))
def test_wrapper_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    s = TRIO
    attention = student.new(WRAPPER, s.d_in, s.d_out, s.context, 0.0, s.H)
    keeps_dtype(attention, tokens(probe, s.B, s.T, s.d_in))


@check(WRAPPER, points=0.3, layer="laws")
def test_wrapper_fills_a_block_with_each_head(student, reference, probe):
    """Each block of d_out features equals CausalAttention with that head's weights."""
    s = TRIO
    weights = large_weights(probe, s.H, LONG, (s.d_out, s.d_in))
    x = tokens(probe, s.B, s.T, s.d_in)
    yours = student.new(WRAPPER, s.d_in, s.d_out, s.context, 0.0, s.H).load(weights)

    context = tensor_like(yours(x), (s.B, s.T, s.H * s.d_out), "The context")
    for h, block in enumerate(context.split(s.d_out, dim=-1)):
        own = {f"{name}.weight": weights[f"heads.{h}.{name}.weight"] for name in LONG}
        alone = reference.new("CausalAttention", s.d_in, s.d_out, s.context, 0.0).load(own)
        agrees(block, alone(x), "The block of a head")


@check(WRAPPER, points=0.1, layer="laws")
def test_wrapper_never_looks_ahead(student, reference, probe):
    """Changing the last tokens changes their own results and no earlier result."""
    s = PAIR
    yours, _ = causals(student, reference, probe, s, heads=s.H)
    x = tokens(probe, s.B, s.T, s.d_in)
    others = torch.cat([x[:, :5], tokens(probe, s.B, s.T - 5, s.d_in)], dim=1)

    before = tensor_like(yours(x), (s.B, s.T, s.H * s.d_out), "The context")
    after = tensor_like(yours(others), (s.B, s.T, s.H * s.d_out), "The context")
    expect(
        not alike(after[:, 5:], before[:, 5:]),
        "Changing the last tokens does not change their own results.",
    )
    agrees(
        after[:, :5],
        before[:, :5],
        "After a change of the last tokens, the result of the first tokens",
    )


@check(WRAPPER, points=0.1, layer="laws", rules=("inputs_unchanged", "no_seeding"))
def test_wrapper_leaves_input_and_seed_alone(student, reference, probe):
    """The context is right, the input is unchanged, and the module sets no seed."""
    s = PAIR
    yours, ours = causals(student, reference, probe, s, heads=s.H)
    x = tokens(probe, s.B, s.T, s.d_in)

    agrees(yours(x), ours(x), "The context")
    expect(yours.keeps_inputs(x), "The call changes its input.")
    caller_seeds(student, WRAPPER, (s.d_in, s.d_out, s.context, 0.0, s.H), (x,))


@check(WRAPPER, points=0.1, layer="laws", rules=("refuses",))
def test_wrapper_refuses_more_tokens_than_fit(student, reference, probe):
    """The module accepts context_length tokens and raises an error for more."""
    s = TRIO
    yours, ours = causals(student, reference, probe, s, heads=s.H)
    x = tokens(probe, 2, s.context, s.d_in)

    agrees(yours(x), ours(x), "The context")
    for T in (s.context + 1, 2 * s.context):
        refused = yours.refuses(tokens(probe, 2, T, s.d_in))
        expect(
            refused,
            "More tokens than context_length give a result; they should raise a ValueError.",
            Status.NOT_REFUSED,
        )


@check(WRAPPER, points=0.2, layer="laws")
def test_wrapper_drops_nothing_in_eval_mode(student, reference, probe):
    """In eval mode, no weight is dropped; back in training, weights are dropped again."""
    yours, ours, x = readable(student, reference, probe, heads=2)

    read(yours(x), 2)
    for _ in range(2):
        agrees(yours.eval()(x), ours.eval()(x), "The context in eval mode")
    dropped_from(yours, ours, x, 2)


@check(WRAPPER, points=0.3, layer="laws")
def test_wrapper_drops_weights_in_each_head_anew(student, reference, probe):
    """In training, each head drops different weights, and every call drops different weights."""
    yours, ours, x = readable(student, reference, probe, heads=2)

    dropped = dropped_from(yours, ours, x, 2)
    alone = "The same weights are dropped in all heads or all items."
    expect(not torch.equal(dropped[:, 0], dropped[:, 1]), alone)
    expect(not torch.equal(dropped[0], dropped[1]), alone)
    again = dropped_from(yours, ours, x, 2)
    expect(not torch.equal(dropped, again), "The same weights are dropped in every call.")


@check(WRAPPER, points=0.3, layer="gradients", rules=("gradients",))
def test_wrapper_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights and biases of every head are right."""
    s = TRIO
    yours, ours = causals(student, reference, probe, s, heads=s.H, bias=True)
    x, back = tokens(probe, s.B, s.T, s.d_in), probe.normal(s.B, s.T, s.H * s.d_out)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check(WRAPPER, points=0.2, layer="forbidden", rules=("no_ready_attention",))
def test_wrapper_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = causals(student, reference, probe, PAIR, heads=2)

    x = tokens(probe, PAIR.B, PAIR.T, PAIR.d_in)
    built_by_hand(student, WRAPPER, yours, ours, (x,))


@check(WRAPPER, points=0.1, layer="forbidden", rules=("no_loops",))
def test_wrapper_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    yours, ours = causals(student, reference, probe, PAIR, heads=2)
    few, many = tokens(probe, 3, 4, PAIR.d_in), tokens(probe, 3, PAIR.context - 1, PAIR.d_in)

    agrees(yours(many), ours(many), "The context")
    keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)
