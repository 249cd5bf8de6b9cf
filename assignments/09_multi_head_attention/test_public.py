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
from autograder.suite.forbidden import avoids, avoids_itself, avoids_running, keeps_operators
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
        "onnx",
        "scaled_dot_product_attention",
    }
)
MHA = "MultiHeadAttention"
WRAPPER = "MultiHeadAttentionWrapper"
SHORT, LONG = ("W_q", "W_k", "W_v"), ("W_query", "W_key", "W_value")
PLAIN, BIAS = False, True  # values of qkv_bias
# Inputs so small give weights that are nearly equal: each visible token has an effect.
SMALL = 0.3
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
AT_ONCE = "Use one matrix product for all tokens at once."
SAME_ZEROS = "Two items have zeros at the same places."
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


def tokens(probe, *shape, scale=0.6):
    """Draw a batch of different encodings."""
    return probe.normal(*shape, scale=scale)


def sources(probe, s, *, batched, scale=0.6):
    """Draw three different encodings for queries, keys and values."""
    front = (s.B,) if batched else ()
    lengths = (s.T_q, s.T_k, s.T_k)
    return tuple(tokens(probe, *front, length, s.d, scale=scale) for length in lengths)


def prefixes(heads):
    """List the prefixes of parameters; 0 heads means a module without heads."""
    return [f"heads.{h}." for h in range(heads)] or [""]


def names_of(heads, layers, *, bias=False):
    """List the parameters of the *layers* of all heads, in order."""
    parts = ("weight", "bias") if bias else ("weight",)
    layered = [prefix + layer for prefix in prefixes(heads) for layer in layers]
    return [f"{layer}.{part}" for layer in layered for part in parts]


def large_weights(probe, heads, layers, shape, *, bias=False):
    """Draw large weights for the *layers* of *heads* heads; 0 means a module without heads."""
    names = names_of(heads, layers, bias=bias)
    return {name: probe.normal(*(shape[:1] if "bias" in name else shape)) for name in names}


def head_weights(probe, s, heads):
    """Draw the weights of ``MultiHeadAttention``, or of ``Attention`` for 0 heads."""
    return large_weights(probe, heads, SHORT, (s.d, s.d))


def causal_weights(probe, s, heads, *, bias=False):
    """Draw the weights of the wrapper, or of ``CausalAttention`` for 0 heads."""
    return large_weights(probe, heads, LONG, (s.d_out, s.d_in), bias=bias)


def attention(student, s, weights, *, heads, batched=False):
    """Create ``MultiHeadAttention``, or ``Attention`` for 0 heads, with these *weights*."""
    sizes = (s.d, int(batched), 1 + batched, *([heads] if heads else []))
    return student.new(MHA if heads else "Attention", *sizes).load(weights)


def attentions(student, reference, probe, s, *, heads, batched):
    """Build the student's module and the reference with the same weights."""
    weights = head_weights(probe, s, heads)
    return [
        attention(one, s, weights, heads=heads, batched=batched) for one in (student, reference)
    ]


def causal(student, s, weights, *, heads, bias=False, dropout=0.0):
    """Create the wrapper, or ``CausalAttention`` for 0 heads, with these *weights*."""
    sizes = (s.d_in, s.d_out, s.context, dropout, *([heads] if heads else []), bias)
    return student.new(WRAPPER if heads else "CausalAttention", *sizes).load(weights)


def causals(student, reference, probe, s, *, heads, bias=False):
    """Build the student's module and the reference with the same weights."""
    weights = causal_weights(probe, s, heads, bias=bias)
    return [causal(one, s, weights, heads=heads, bias=bias) for one in (student, reference)]


def has_names(module, names, layers):
    """Expect the parameters *names*, and no bias of the *layers* unless it is one of them."""
    found = module.parameters()
    for name in names:
        why = f": {OWN_LAYERS}" if name.startswith("heads.") else ""
        expect(name in found, f"torch lists no parameter {name}{why}.")
    biases = tuple(f"{layer}.bias" for layer in layers)
    more = [name for name in found if name.endswith(biases) and name not in names]
    expect(not more, "A layer has a bias; it should have none.")


def same_draws(yours, ours, names):
    """Compare parameters one by one, so that the message names the first wrong one."""
    found, drawn = yours.named(*names), ours.parameters()
    for name in names:
        agrees(found[name].value, drawn[name].value, f"{name} right after construction")


def drawn_by(module):
    """Return the values of the parameters of the reference by name."""
    return {name: one.value for name, one in module.parameters().items()}


def same_gradients(yours, ours):
    """Compare the gradients of the inputs and of the parameters."""
    places = ("the first input", "the second input", "the third input")
    named = dict(zip(places, yours.inputs, strict=False)) | yours.parameters
    wanted = dict(zip(places, ours.inputs, strict=False)) | ours.parameters
    for name, gradient in wanted.items():
        found = named.get(name)
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, gradient, f"The gradient of {name}")


def mixed(yours, s, heads, given, *more):
    """Return the context vectors of all heads."""
    shape = (*given[0].shape[:-1], max(heads, 1) * s.d)
    return tensor_like(yours(*given, *more), shape, "The context")


def all_attend(yours, s, heads, given, *more):
    """Expect that a change of the first value changes what each head gives each query."""
    q, k, v = given
    others = v.clone()
    others[..., 0, :] += 1
    before, after = (mixed(yours, s, heads, (q, k, one), *more) for one in (v, others))
    for one, other in zip(before.split(s.d, dim=-1), after.split(s.d, dim=-1), strict=True):
        changed = [not alike(*row) for row in zip(one.unbind(-2), other.unbind(-2), strict=True)]
        expect(
            all(changed),
            "In some head, the first encoding for values has no visible effect on some query.",
        )


def looked_back(yours, s, heads, x):
    """Return the context vectors of all heads."""
    return tensor_like(yours(x), (*x.shape[:2], max(heads, 1) * s.d_out), "The context")


def mixes_tokens(yours, s, heads, x):
    """Expect that a change of the first token changes what each head gives the last one."""
    others = x.clone()
    others[:, 0] += 1
    before, after = (looked_back(yours, s, heads, one)[:, -1] for one in (x, others))
    for one, other in zip(before.split(s.d_out, dim=-1), after.split(s.d_out, dim=-1), strict=True):
        expect(
            not alike(one, other),
            "A change of the first token has no visible effect on the last one in some head.",
        )


def never_looks_ahead(student, probe, s, heads):
    """Expect that later tokens have no effect on a token, and that earlier ones have one."""
    yours = causal(student, s, causal_weights(probe, s, heads), heads=heads)
    x = tokens(probe, s.B, s.T, s.d_in, scale=SMALL)
    others = torch.cat([x[:, :3], tokens(probe, s.B, s.T - 3, s.d_in)], dim=1)

    before, after = (looked_back(yours, s, heads, one) for one in (x, others))
    sentence = "After a change of the last tokens, the result of the first tokens"
    agrees(after[:, :3], before[:, :3], sentence, "that before")
    mixes_tokens(yours, s, heads, x)


def first_token_is_its_value(student, probe, s, heads):
    """Expect that the first token gets its own value from each head."""
    weights, x = causal_weights(probe, s, heads), tokens(probe, s.B, s.T, s.d_in)
    context = looked_back(causal(student, s, weights, heads=heads), s, heads, x)

    own = [x[:, 0] @ weights[f"{prefix}W_value.weight"].T for prefix in prefixes(heads)]
    agrees(context[:, 0], torch.cat(own, dim=-1), "The first token's context vector")


def equal_values(weights, layer, heads):
    """Let all values of a head be one, for tokens with a leading 1; return it for all heads."""
    values = [weights[f"{prefix}{layer}.weight"] for prefix in prefixes(heads)]
    for value in values:
        value[:, 1:] = 0
    return torch.cat([value[:, 0] for value in values])


def with_leading_one(x):
    """Return *x* with a 1 as first feature."""
    return torch.cat([torch.ones_like(x[..., :1]), x[..., 1:]], dim=-1)


def sums_to_one(student, probe, s, *, heads, batched):
    """Expect that a mixture of equal values is this value."""
    weights = head_weights(probe, s, heads)
    value = equal_values(weights, "W_v", heads)
    q, k, v = sources(probe, s, batched=batched)
    context = attention(student, s, weights, heads=heads, batched=batched)(
        q, k, with_leading_one(v)
    )

    agrees(context, value.expand(*q.shape[:-1], len(value)), "The mixture of equal values")


def causal_sums_to_one(student, probe, s, heads):
    """Expect that a mixture of equal values is this value, for causal attention."""
    weights = causal_weights(probe, s, heads)
    value = equal_values(weights, "W_value", heads)
    x = with_leading_one(tokens(probe, s.B, s.T, s.d_in))
    context = causal(student, s, weights, heads=heads)(x)

    agrees(context, value.expand(s.B, s.T, len(value)), "The mixture of equal values")


def hides_what_the_mask_hides(student, probe, s, heads):
    """Expect that a hidden key has no effect with a mask, and has one without it."""
    yours = attention(student, s, head_weights(probe, s, heads), heads=heads)
    q, k, v = sources(probe, s, batched=False, scale=SMALL)
    mask = torch.ones(s.T_q, s.T_k)
    mask[:, 0] = 0.0
    others = [x.index_copy(0, torch.tensor([0]), x[1:2] + 1) for x in (k, v)]

    before = mixed(yours, s, heads, (q, k, v), mask)
    after = mixed(yours, s, heads, (q, *others), mask)
    agrees(
        after, before, "After a change of a hidden key and its value, the context", "that before"
    )
    all_attend(yours, s, heads, (q, k, v))


def knows_no_order(student, probe, s, heads):
    """Expect that the order of keys does not matter, and that of queries is the result's."""
    yours = attention(student, s, head_weights(probe, s, heads), heads=heads)
    q, k, v = sources(probe, s, batched=False, scale=SMALL)
    context = mixed(yours, s, heads, (q, k, v))

    reordered = yours(q, k.flip(0), v.flip(0))
    agrees(reordered, context, "The context with keys and values in reverse order", "that before")
    agrees(
        yours(q.flip(0), k, v),
        context.flip(0),
        "The context with queries in reverse order",
        "that before in reverse order",
    )
    all_attend(yours, s, heads, (q, k, v))


def caller_seeds(student, create, given):
    """Expect that neither *create* nor a call of the new module seeds torch's generator."""
    drawn = []
    for seed in (5, 6):
        yours = create(seed)
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


@check("Attention", points=0, layer="signature")
def test_attention_is_built_with_defaults(student, reference, encodings):
    """The defaults are d_model=2, row_dim=0, col_dim=1: one text, 2 features per token."""
    drawn = drawn_by(reference.new("Attention", 2, 0, 1, seed=9))
    plain = student.new("Attention").load(drawn)(encodings, encodings, encodings)
    named = student.new("Attention", d_model=2, row_dim=0, col_dim=1).load(drawn)

    context = tensor_like(named(encodings, encodings, encodings), (3, 2), "The context")
    agrees(plain, context, "The context without arguments", "that with them")
    expect(not alike(context[0], context[1]), "Two context vectors are equal.")


@check("Attention", points=0, layer="parameters")
def test_attention_names_its_layers(student):
    """The layers are named W_q, W_k and W_v, and they have no bias."""
    has_names(student.new("Attention", 5, 0, 1), names_of(0, SHORT), SHORT)


@check("Attention", points=0, layer="parameters")
def test_attention_makes_query_key_value_layers(student, reference, probe):
    """With any seed, W_q, W_k and W_v are created in this order."""
    made = [one.new("Attention", 5, 0, 1, seed=probe.seed) for one in (student, reference)]

    same_draws(*made, names_of(0, SHORT))


@check("Attention", points=0, layer="documented")
def test_attention_reproduces_the_documented_context(student, reference, documented, encodings):
    """With the weights of seed 42, the context vectors are the documented ones."""
    drawn = drawn_by(reference.new("Attention", 2, 0, 1, seed=42))
    yours = student.new("Attention", 2, 0, 1).load(drawn)

    documented["001.sa.context"].matches(yours(encodings, encodings, encodings), "The context")


@check("Attention", points=0, layer="documented")
def test_attention_reproduces_the_documented_masked_context(
    student, reference, documented, encodings
):
    """With the weights of seed 42 and the mask, the context is the documented masked one."""
    drawn = drawn_by(reference.new("Attention", 2, 0, 1, seed=42))
    yours, mask = student.new("Attention", 2, 0, 1).load(drawn), documented["001.mask"].tensor

    masked = yours(encodings, encodings, encodings, mask)
    documented["001.masked.context"].matches(masked, "The masked context")


@check("Attention", points=0, layer="probe")
def test_attention_attends_with_any_weights(student, reference, probe):
    """The result is right for other weights and three different encodings."""
    yours, ours = attentions(student, reference, probe, ONE, heads=0, batched=False)
    given = sources(probe, ONE, batched=False)

    agrees(yours(*given), ours(*given), "The context")


@check("Attention", points=0, layer="probe")
def test_attention_serves_a_batch(student, reference, probe):
    """With row_dim=1 and col_dim=2, every item of a batch gets its own context vectors."""
    yours, ours = attentions(student, reference, probe, ONE, heads=0, batched=True)
    given = sources(probe, ONE, batched=True)

    agrees(yours(*given), ours(*given), "The context of a batch")


@check("Attention", points=0, layer="probe")
def test_attention_hides_what_the_mask_hides(student, reference, probe):
    """With a mask of zeros and ones, the result is right for any weights."""
    yours, ours = attentions(student, reference, probe, ONE, heads=0, batched=False)
    given = (*sources(probe, ONE, batched=False), torch.tril(torch.ones(ONE.T_q, ONE.T_k)))

    agrees(yours(*given), ours(*given), "The masked context")


@check("Attention", points=0, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    yours, given = student.new("Attention", ONE.d, 0, 1), sources(probe, ONE, batched=False)

    keeps_dtype(yours, *given)
    all_attend(yours, ONE, 0, given)


@check("Attention", points=0, layer="laws")
def test_attention_weights_sum_to_one(student, probe):
    """If all values of a batch are equal, every context vector is this value."""
    sums_to_one(student, probe, ONE, heads=0, batched=True)


@check("Attention", points=0, layer="laws")
def test_attention_hears_nothing_from_what_is_hidden(student, probe):
    """A hidden key has no effect with the mask, and has an effect without it."""
    hides_what_the_mask_hides(student, probe, ONE, 0)


@check("Attention", points=0, layer="laws")
def test_attention_knows_no_order_among_the_asked(student, probe):
    """The order of keys and values does not matter; the order of the queries does."""
    knows_no_order(student, probe, ONE, 0)


@check("Attention", points=0, layer="gradients", rules=("gradients",))
def test_attention_can_be_trained(student, reference, probe):
    """The gradients of the three encodings and of the three layers are right."""
    yours, ours = attentions(student, reference, probe, ONE, heads=0, batched=False)
    given, back = sources(probe, ONE, batched=False), probe.normal(ONE.T_q, ONE.d)

    same_gradients(yours.gradients(*given, cotangent=back), ours.gradients(*given, cotangent=back))


@check("Attention", points=0, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours = attention(student, ONE, head_weights(probe, ONE, 0), heads=0)
    given = sources(probe, ONE, batched=False, scale=SMALL)

    avoids(student, "Attention", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(*given), READY_ATTENTION, BY_HAND)
    all_attend(yours, ONE, 0, given)


TEXT = Causal(B=3, T=5, H=1, d_in=7, d_out=6, context=10)


# CausalAttention


@check("CausalAttention", points=0, layer="signature")
def test_causal_has_no_bias_by_default(student):
    """Without qkv_bias, the layers have no bias."""
    found = student.new("CausalAttention", 3, 2, 6, 0.0).parameters()

    biased = any(held.value.ndim == 1 for held in found.values())
    expect(not biased, "There is a bias although qkv_bias was not given; its default is False.")


@check("CausalAttention", points=0, layer="parameters")
def test_causal_names_its_layers(student):
    """The layers are named W_query, W_key and W_value."""
    made = student.new("CausalAttention", 3, 2, 6, 0.0, PLAIN)

    has_names(made, names_of(0, LONG), LONG)


@check("CausalAttention", points=0, layer="parameters")
def test_causal_draws_the_documented_weights(student, documented):
    """With seed 123, the layers have the documented weights of queries, keys and values."""
    names = names_of(0, LONG)
    found = student.new("CausalAttention", 3, 2, 6, 0.0, PLAIN, seed=123).named(*names)

    for name in names:
        documented[f"ch03.causal.{name.lower()}"].matches(found[name].value, name)


@check("CausalAttention", points=0, layer="parameters")
def test_causal_has_biases_on_request(student, reference):
    """With qkv_bias=True, each layer has a bias, drawn right after its weight."""
    sizes = (3, 2, 6, 0.0, BIAS)
    made = [one.new("CausalAttention", *sizes, seed=7) for one in (student, reference)]

    same_draws(*made, names_of(0, LONG, bias=True))


@check("CausalAttention", points=0, layer="parameters", rules=("buffer",))
def test_causal_keeps_mask_as_a_buffer(student):
    """`mask` is a buffer: it moves with the module and is not trained."""
    yours = student.new("CausalAttention", 3, 2, 6, 0.0)

    expect("mask" not in yours.parameters(), "mask is a parameter; it should be a buffer.")
    expect("mask" in yours.buffers(), "There is no buffer named mask.")
    place = yours.move("meta").get("mask", "")
    expect(place.startswith("meta"), "mask does not move with the module.")


@check("CausalAttention", points=0, layer="documented")
def test_causal_reproduces_the_documented_context(student, reference, documented, inputs):
    """With the weights of seed 123, the context vectors are the documented ones."""
    batch, sizes = inputs.expand(*documented["ch03.batch.shape"].value), (3, 2, 6, 0.0, PLAIN)
    drawn = drawn_by(reference.new("CausalAttention", *sizes, seed=123))
    yours = student.new("CausalAttention", *sizes).load(drawn)

    documented["ch03.causal.context"].matches(yours(batch), "The context")


@check("CausalAttention", points=0, layer="probe")
def test_causal_attends_with_any_weights(student, reference, probe):
    """The result is right for other weights and a batch of different texts."""
    yours, ours = causals(student, reference, probe, TEXT, heads=0)
    x = tokens(probe, TEXT.B, TEXT.context, TEXT.d_in)

    agrees(yours(x), ours(x), "The context")


@check("CausalAttention", points=0, layer="probe")
def test_causal_serves_every_length_with_any_weights(student, reference, probe):
    """The result is right for long and short inputs in turn."""
    yours, ours = causals(student, reference, probe, TEXT, heads=0)

    for B, T in ((3, 5), (2, TEXT.context), (3, 1), (1, 4)):
        x = tokens(probe, B, T, TEXT.d_in)
        agrees(yours(x), ours(x), "The context")


@check("CausalAttention", points=0, layer="probe")
def test_causal_uses_its_biases(student, reference, probe):
    """With qkv_bias=True, the biases are added to queries, keys and values."""
    yours, ours = causals(student, reference, probe, TEXT, heads=0, bias=BIAS)
    x = tokens(probe, TEXT.B, TEXT.context, TEXT.d_in)

    agrees(yours(x), ours(x), "The context with qkv_bias=True")


@check("CausalAttention", points=0, layer="laws", rules=("dtype",))
def test_causal_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    s = TEXT
    yours = student.new("CausalAttention", s.d_in, s.d_out, s.T, 0.0)
    x = tokens(probe, s.B, s.T, s.d_in)

    keeps_dtype(yours, x)
    mixes_tokens(yours, s, 0, x)


@check("CausalAttention", points=0, layer="laws")
def test_causal_weights_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    causal_sums_to_one(student, probe, TEXT, 0)


@check("CausalAttention", points=0, layer="laws")
def test_causal_never_looks_ahead(student, probe):
    """Later tokens have no effect on the result of a token, and earlier tokens have one."""
    never_looks_ahead(student, probe, TEXT, 0)


@check("CausalAttention", points=0, layer="laws")
def test_causal_gives_the_first_token_its_value(student, probe):
    """The first token attends only to itself: its context vector is its own value."""
    first_token_is_its_value(student, probe, TEXT, 0)


@check("CausalAttention", points=0, layer="laws", rules=("refuses",))
def test_causal_refuses_more_tokens_than_fit(student, probe):
    """The module accepts context_length tokens and raises an error for more."""
    s = TEXT
    yours = causal(student, s, causal_weights(probe, s, 0), heads=0)

    mixes_tokens(yours, s, 0, tokens(probe, 2, s.context, s.d_in, scale=SMALL))
    expect(
        yours.refuses(tokens(probe, 2, s.context + 1, s.d_in)),
        "More tokens than context_length give a result; they should raise a ValueError.",
        Status.NOT_REFUSED,
    )


@check("CausalAttention", points=0, layer="laws", rules=("no_seeding",))
def test_causal_leaves_the_seed_to_the_caller(student, probe):
    """The module does not seed torch's generator when it is built or called with dropout."""
    sizes = (TEXT.d_in, TEXT.d_out, 4, 0.5)

    def create(seed):
        return student.new("CausalAttention", *sizes, seed=seed)

    caller_seeds(student, create, (tokens(probe, 2, 4, TEXT.d_in),))


WIDE = Causal(B=3, T=12, H=2, d_in=15, d_out=24, context=12)
P = 0.3


def readable(student, probe, *, heads):
    """Build a module whose outputs show the attention weights, each weight twice."""
    s = WIDE
    once = torch.cat([torch.eye(s.T), torch.zeros(s.T, s.d_in - s.T)], dim=1)  # (T, d_in)
    weights = {
        name: once.repeat(2, 1) if "W_value" in name else probe.normal(s.d_out, s.d_in, scale=0.4)
        for name in names_of(heads, LONG)
    }
    x = tokens(probe, s.B, s.T, s.d_in)
    x[..., : s.T] = torch.eye(s.T)
    return causal(student, s, weights, heads=heads, dropout=P), x, weights


def read(context, heads):
    """Return both copies of the attention weights: (2, B, H, T, T)."""
    s = WIDE
    answer = tensor_like(context, (s.B, s.T, heads * s.d_out), "The context")
    return answer.view(s.B, s.T, heads, 2, s.T).permute(3, 0, 2, 1, 4)


def dropped_from(yours, x, heads):
    """Return a mask of the weights dropped in training; expect that the others are rescaled."""
    (whole, _), (weights, twice) = read(yours.eval()(x), heads), read(yours.train()(x), heads)
    visible = whole.abs() > 1e-6  # far below every visible weight
    dropped = (weights.abs() < 1e-6) & visible  # far below every other weight

    expect(dropped.any(), "In training mode, the result shows no attention weight of zero.")
    expect(
        not dropped[visible].all(),
        "In training mode, the result shows only attention weights of zero.",
    )
    expect(
        alike(weights.nan_to_num(), twice.nan_to_num()),
        "In training mode, features that should be equal differ.",
    )
    kept = torch.where(dropped, weights, whole / (1 - P))
    expect(
        alike(weights, kept),
        "In training mode, an entry is neither zero nor that of eval mode / (1 - dropout).",
    )
    share = float(dropped[visible].float().mean())  # of 234 weights: one deviation is 0.03
    expect(
        abs(share - P) < 0.2, "The result shows a share of zero weights that is far from `dropout`."
    )
    return dropped


def drops_nothing_in_eval_mode(student, probe, heads):
    """Expect that eval mode gives the result of a module without dropout, in every call."""
    yours, x, weights = readable(student, probe, heads=heads)
    plain = causal(student, WIDE, weights, heads=heads)
    whole = plain(x)
    last = read(whole, max(heads, 1))[..., -1, :]
    uneven = not alike(last, last[..., :1].expand(last.shape))
    sentence = (
        "Without dropout, an entry for the last token is not positive, or a head's are equal."
    )
    expect((last > 0).all() and uneven, sentence)

    for _ in range(2):
        agrees(
            yours.eval()(x), whole, "In eval mode, the context", "that of a module without dropout"
        )


@check("CausalAttention", points=0, layer="laws")
def test_causal_drops_nothing_in_eval_mode(student, probe):
    """In eval mode, every call gives the result of a module without dropout."""
    drops_nothing_in_eval_mode(student, probe, 0)


@check("CausalAttention", points=0, layer="laws")
def test_causal_drops_weights_in_training(student, probe):
    """In training, weights are dropped independently, and the others are rescaled."""
    yours, x, _ = readable(student, probe, heads=0)

    dropped = dropped_from(yours, x, 1)[..., 6:, :7]  # weights that are visible in every row here
    alone = "Many rows or columns of weights are zero as a whole, or not at all."
    expect((dropped.any(-1) & ~dropped.all(-1)).float().mean() > 0.5, alone)
    expect((dropped.any(-2) & ~dropped.all(-2)).float().mean() > 0.5, alone)
    expect(not torch.equal(dropped[0], dropped[1]), SAME_ZEROS)


@check("CausalAttention", points=0, layer="gradients", rules=("gradients",))
def test_causal_can_be_trained(student, reference, probe):
    """The gradients of the input and of the three layers are right."""
    yours, ours = causals(student, reference, probe, TEXT, heads=0, bias=BIAS)
    x, back = tokens(probe, 3, TEXT.context, TEXT.d_in), probe.normal(3, TEXT.context, TEXT.d_out)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check("CausalAttention", points=0, layer="forbidden", rules=("no_ready_attention",))
def test_causal_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    s = TEXT
    yours = causal(student, s, causal_weights(probe, s, 0), heads=0)
    x = tokens(probe, s.B, s.context, s.d_in, scale=SMALL)

    avoids(student, "CausalAttention", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)
    mixes_tokens(yours, s, 0, x)


TWO = Sizes(B=3, T_q=4, T_k=6, H=2, d=5)
THREE = Sizes(B=2, T_q=7, T_k=5, H=3, d=4)
FOUR = Sizes(B=2, T_q=5, T_k=7, H=4, d=3)
EVEN = Sizes(B=3, T_q=6, T_k=6, H=2, d=5)  # for laws that do not depend on the lengths


def swapped(weights, one, other):
    """Return the *weights* with those of two heads swapped."""
    pair = {f"heads.{one}.": f"heads.{other}.", f"heads.{other}.": f"heads.{one}."}
    return {name: weights[pair[name[:8]] + name[8:]] for name in weights}


def blocks_changed(before, after, size):
    """Whether the block of each head has changed."""
    pairs = zip(before.split(size, dim=-1), after.split(size, dim=-1), strict=True)
    return [not alike(one, other) for one, other in pairs]


# MultiHeadAttention


@check(MHA, points=0.1, layer="signature")
def test_heads_are_built_and_called_by_names(student, reference, encodings):
    """The defaults are those of Attention, with one head; forward takes encodings and a mask."""
    drawn = drawn_by(reference.new(MHA, 2, 0, 1, 1, seed=9))
    plain = student.new(MHA).load(drawn)(encodings, encodings, encodings)
    heads = student.new(MHA, d_model=2, row_dim=0, col_dim=1, num_heads=1).load(drawn)
    x, mask = encodings, torch.ones(3, 3)
    named = heads(encodings_for_q=x, encodings_for_k=x, encodings_for_v=x, mask=mask)

    context = tensor_like(named, (3, 2), "The context")
    agrees(plain, context, "The context without arguments", "that with them")
    expect(not alike(context[0], context[1]), "Two context vectors are equal.")


@check(MHA, points=0.12, layer="shapes")
def test_heads_stand_side_by_side(student, encodings):
    """Two heads of size 2 give each of three tokens a vector of size 4: (3, 4)."""
    context = student.new(MHA, 2, 0, 1, 2)(encodings, encodings, encodings)

    tensor_like(context, (3, 4), "The result of MultiHeadAttention(2, 0, 1, num_heads=2)")


@check(MHA, points=0.19, layer="parameters")
def test_heads_are_in_a_module_list(student):
    """The heads are in an nn.ModuleList named heads, each with its own W_q, W_k and W_v."""
    has_names(student.new(MHA, 5, 0, 1, 3), names_of(3, SHORT), SHORT)


@check(MHA, points=0.38, layer="parameters")
def test_heads_have_layers_of_their_own(student, reference, probe):
    """The heads are created one after the other, and each draws its own weights."""
    made = [one.new(MHA, 5, 0, 1, 3, seed=probe.seed) for one in (student, reference)]

    same_draws(*made, names_of(3, SHORT))


def documented_heads(student, reference, heads):
    """Create MultiHeadAttention with the weights of seed 42."""
    drawn = drawn_by(reference.new(MHA, 2, 0, 1, heads, seed=42))
    return student.new(MHA, 2, 0, 1, heads).load(drawn)


@check(MHA, points=0.19, layer="documented")
def test_one_head_is_plain_attention(student, reference, documented, encodings):
    """With the weights of seed 42, one head gives the documented context."""
    context = documented_heads(student, reference, 1)(encodings, encodings, encodings)

    documented["001.sa.context"].matches(context, "The context of one head")


@check(MHA, points=0.12, layer="documented")
def test_one_head_takes_the_documented_mask(student, reference, documented, encodings):
    """With the weights of seed 42 and the mask, one head gives the documented masked context."""
    yours, mask = documented_heads(student, reference, 1), documented["001.mask"].tensor

    context = yours(encodings, encodings, encodings, mask)
    documented["001.masked.context"].matches(context, "The masked context")


@check(MHA, points=0.5, layer="documented")
def test_heads_reproduce_the_documented_context(student, reference, documented, encodings):
    """With the weights of seed 42, two heads give the documented context vectors."""
    context = documented_heads(student, reference, 2)(encodings, encodings, encodings)

    documented["001.mha.context"].matches(context, "The context of two heads")


@check(MHA, points=0.63, layer="probe")
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


@check(MHA, points=0.44, layer="probe")
def test_heads_all_obey_the_mask(student, reference, probe):
    """With a mask of zeros and ones, no head attends to hidden keys."""
    s = THREE._replace(T_q=5)
    yours, ours = attentions(student, reference, probe, s, heads=s.H, batched=False)
    given = (*sources(probe, s, batched=False), torch.tril(torch.ones(5, 5)))

    agrees(yours(*given), ours(*given), "The masked context")


@check(MHA, points=0.05, layer="laws", rules=("dtype",))
def test_heads_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    yours, given = student.new(MHA, THREE.d, 0, 1, THREE.H), sources(probe, THREE, batched=False)

    keeps_dtype(yours, *given)
    all_attend(yours, THREE, THREE.H, given)


@check(MHA, points=0.25, layer="laws")
def test_heads_fill_each_their_own_block(student, probe):
    """Other weights of one head change the block of this head, and no other block."""
    s = EVEN._replace(H=3)
    weights, given = head_weights(probe, s, s.H), sources(probe, s, batched=False)
    before = mixed(attention(student, s, weights, heads=s.H), s, s.H, given)

    for head in range(s.H):
        fresh = head_weights(probe, s, s.H)
        own = {name: fresh[name] for name in weights if name.startswith(f"heads.{head}.")}
        after = mixed(attention(student, s, weights | own, heads=s.H), s, s.H, given)
        sentence = f"Other weights of head {head} do not change block {head} of the result alone."
        alone = [head == other for other in range(s.H)]
        expect(blocks_changed(before, after, s.d) == alone, sentence)


@check(MHA, points=0.19, layer="laws")
def test_heads_exchange_their_blocks(student, probe):
    """If two heads exchange their weights, their blocks of the result are swapped."""
    weights, given = head_weights(probe, EVEN, 2), sources(probe, EVEN, batched=False)
    first, second = mixed(attention(student, EVEN, weights, heads=2), EVEN, 2, given).split(
        EVEN.d, dim=-1
    )
    other = attention(student, EVEN, swapped(weights, 0, 1), heads=2)(*given)

    expect(not alike(first, second), "Two heads with different weights give the same result.")
    agrees(
        other,
        torch.cat([second, first], dim=-1),
        "The context after the exchange",
        "that before with swapped blocks",
    )


@check(MHA, points=0.25, layer="laws")
def test_equal_heads_repeat_one_head(student, probe):
    """Three heads with the same weights repeat the result of one head with these weights."""
    weights, given = head_weights(probe, EVEN, 1), sources(probe, EVEN, batched=False, scale=SMALL)
    one = attention(student, EVEN, weights, heads=1)
    same = {name: weights[f"heads.0.{name[8:]}"] for name in names_of(3, SHORT)}
    three = attention(student, EVEN, same, heads=3)(*given)

    all_attend(one, EVEN, 1, given)
    repeated = mixed(one, EVEN, 1, given).repeat(1, 3)
    agrees(three, repeated, "The context of three equal heads", "the repeated context of one head")


@check(MHA, points=0.19, layer="laws")
def test_heads_weights_sum_to_one(student, probe):
    """If all values of a head are equal, its block holds this value for every query."""
    sums_to_one(student, probe, EVEN, heads=2, batched=False)


@check(MHA, points=0.28, layer="laws")
def test_heads_hear_nothing_from_what_is_hidden(student, probe):
    """A hidden key has no effect on any head with the mask, and has an effect without it."""
    hides_what_the_mask_hides(student, probe, TWO, 2)


@check(MHA, points=0.15, layer="laws")
def test_heads_know_no_order_among_the_asked(student, probe):
    """The order of keys and values does not matter; the order of the queries does."""
    knows_no_order(student, probe, TWO, 2)


@check(MHA, points=0.15, layer="laws")
def test_heads_double_with_their_values(student, probe):
    """Twice the encodings for the values give twice the context vectors."""
    yours = attention(student, EVEN, head_weights(probe, EVEN, 2), heads=2)
    q, k, v = sources(probe, EVEN, batched=False, scale=SMALL)
    context = mixed(yours, EVEN, 2, (q, k, v))

    all_attend(yours, EVEN, 2, (q, k, v))
    agrees(yours(q, k, 2 * v), 2 * context, "The context for twice the values", "twice the context")


@check(MHA, points=0.25, layer="laws")
def test_heads_keep_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone."""
    yours = attention(student, TWO, head_weights(probe, TWO, 2), heads=2, batched=True)
    given = sources(probe, TWO, batched=True, scale=SMALL)
    together = mixed(yours, TWO, 2, given)

    for item in range(TWO.B):
        alone = yours(*(x[item : item + 1] for x in given))
        agrees(alone, together[item : item + 1], "The result of an item alone", "that in the batch")
    all_attend(yours, TWO, 2, given)


@check(MHA, points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_heads_leave_encodings_and_mask_alone(student, probe):
    """The call does not change the encodings and the mask."""
    yours = attention(student, TWO, head_weights(probe, TWO, 2), heads=2)
    given = sources(probe, TWO, batched=False, scale=SMALL)

    kept = yours.keeps_inputs(*given, torch.ones(TWO.T_q, TWO.T_k).tril())
    expect(kept, "The call changes one of its inputs.")
    all_attend(yours, TWO, 2, given)


@check(MHA, points=0.05, layer="laws", rules=("no_seeding",))
def test_heads_leave_the_seed_to_the_caller(student, probe):
    """The module does not seed torch's generator when it is built or called."""

    def create(seed):
        return student.new(MHA, TWO.d, 0, 1, 2, seed=seed)

    caller_seeds(student, create, sources(probe, TWO, batched=False))


@check(MHA, points=0.31, layer="gradients", rules=("gradients",))
def test_heads_can_be_trained(student, reference, probe):
    """The gradients of the three encodings and of the layers of every head are right."""
    yours, ours = attentions(student, reference, probe, THREE, heads=3, batched=False)
    given, back = sources(probe, THREE, batched=False), probe.normal(THREE.T_q, THREE.H * THREE.d)

    same_gradients(yours.gradients(*given, cotangent=back), ours.gradients(*given, cotangent=back))


@check(MHA, points=0.06, layer="forbidden", rules=("no_ready_attention",))
def test_heads_are_built_by_hand(student, probe):
    """The class itself does not call torch's ready-made attention."""
    yours = attention(student, TWO, head_weights(probe, TWO, 2), heads=2)
    one = attention(student, TWO, head_weights(probe, TWO, 0), heads=0)
    given = sources(probe, TWO, batched=False, scale=SMALL)

    ran, below = yours.operators(*given), {"Attention": one.operators(*given)}
    avoids_itself(student, MHA, READY_ATTENTION, BY_HAND, ran, below)
    all_attend(yours, TWO, 2, given)


@check(MHA, points=0.12, layer="forbidden", rules=("no_loops",))
def test_heads_need_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    yours = attention(student, TWO, head_weights(probe, TWO, 2), heads=2)
    few = sources(probe, TWO, batched=False)
    many = sources(probe, TWO._replace(T_q=9, T_k=11), batched=False, scale=SMALL)

    keeps_operators(yours.operators(*few), yours.operators(*many), AT_ONCE)
    all_attend(yours, TWO, 2, many)


PAIR = Causal(B=3, T=8, H=2, d_in=4, d_out=5, context=9)
TRIO = Causal(B=2, T=6, H=3, d_in=5, d_out=4, context=11)
QUARTET = Causal(B=3, T=5, H=4, d_in=7, d_out=6, context=10)
SQUARE = Causal(B=3, T=5, H=2, d_in=6, d_out=6, context=9)


# MultiHeadAttentionWrapper


@check(WRAPPER, points=0.06, layer="signature")
def test_wrapper_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_in, d_out, context_length, dropout, num_heads and qkv_bias."""
    sizes = {"d_in": 3, "d_out": 4, "context_length": 6, "dropout": 0.0, "num_heads": 2}

    student.new(WRAPPER, **sizes, qkv_bias=True)


@check(WRAPPER, points=0.06, layer="signature")
def test_wrapper_has_no_bias_by_default(student):
    """Without qkv_bias, the layers have no bias."""
    found = student.new(WRAPPER, 3, 2, 6, 0.0, 2).parameters()

    biased = any(name.endswith("bias") for name in found)
    expect(not biased, "There is a bias although qkv_bias was not given; its default is False.")


@check(WRAPPER, points=0.1, layer="shapes")
def test_wrapper_gives_d_out_features_per_head(student, documented, inputs):
    """For a batch of shape (2, 6, 3), two heads of size 2 give a result of shape (2, 6, 4)."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    context = student.new(WRAPPER, 3, 2, 6, 0.0, 2)(batch)

    shape = tuple(documented["ch03.wrapper.context.shape"].value)
    tensor_like(context, shape, "MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2)(batch)")


@check(WRAPPER, points=0.15, layer="parameters")
def test_wrapper_has_its_heads_in_a_module_list(student):
    """The heads are in an nn.ModuleList named heads, each with its own three layers."""
    made = student.new(WRAPPER, 3, 2, 6, 0.0, 2, PLAIN)

    has_names(made, names_of(2, LONG), LONG)


@check(WRAPPER, points=0.16, layer="parameters")
def test_wrapper_draws_head_after_head(student, reference, documented, probe):
    """Each head draws its own layers after the one before; seed 123 gives the documented ones."""
    first, names = names_of(1, LONG), names_of(2, LONG)
    found = student.new(WRAPPER, 3, 2, 6, 0.0, 2, PLAIN, seed=123).named(*names)

    for name in first:
        printed = documented[f"ch03.causal.{name.removeprefix('heads.0.').lower()}"]
        printed.matches(found[name].value, name)
    sizes = (7, 5, 9, 0.0, 3, PLAIN)
    made = [one.new(WRAPPER, *sizes, seed=probe.seed) for one in (student, reference)]
    same_draws(*made, names_of(3, LONG))


@check(WRAPPER, points=0.12, layer="parameters")
def test_wrapper_hands_qkv_bias_on(student, reference, probe):
    """With qkv_bias=True, every layer of every head has a bias, drawn after its weight."""
    sizes = (7, 5, 9, 0.0, 3, BIAS)
    made = [one.new(WRAPPER, *sizes, seed=probe.seed) for one in (student, reference)]

    same_draws(*made, names_of(3, LONG, bias=True))


@check(WRAPPER, points=0.53, layer="documented")
def test_wrapper_reproduces_the_documented_context(student, reference, documented, inputs):
    """With the weights of seed 123, two heads give the documented context vectors."""
    batch, sizes = inputs.expand(*documented["ch03.batch.shape"].value), (3, 2, 6, 0.0, 2, PLAIN)
    drawn = drawn_by(reference.new(WRAPPER, *sizes, seed=123))
    yours = student.new(WRAPPER, *sizes).load(drawn)

    context = documented["ch03.wrapper.context"]
    context.matches(yours(batch), "MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2, False)(batch)")


@check(WRAPPER, points=0.56, layer="probe")
def test_wrapper_attends_with_any_weights(student, reference, probe):
    """The result is right for 2, 3 and 4 heads, with other weights and shorter inputs."""
    for s in (PAIR, TRIO, QUARTET):
        yours, ours = causals(student, reference, probe, s, heads=s.H)
        x = tokens(probe, s.B, s.T, s.d_in)

        agrees(yours(x), ours(x), "The context")


@check(WRAPPER, points=0.33, layer="probe")
def test_wrapper_serves_every_length_in_turn(student, reference, probe):
    """One module works for long and short inputs in turn, even for a single token."""
    s = QUARTET
    yours, ours = causals(student, reference, probe, s, heads=s.H)

    for B, T in ((3, s.context), (2, 1), (3, 5), (1, 1), (2, s.context)):
        x = tokens(probe, B, T, s.d_in)
        agrees(yours(x), ours(x), "The context")


@check(WRAPPER, points=0.19, layer="probe")
def test_wrapper_uses_its_biases(student, reference, probe):
    """With qkv_bias=True, the biases of every head are added to queries, keys and values."""
    s = TRIO
    yours, ours = causals(student, reference, probe, s, heads=s.H, bias=BIAS)
    x = tokens(probe, s.B, s.T, s.d_in)

    agrees(yours(x), ours(x), "The context with qkv_bias=True")


@check(WRAPPER, points=0.04, layer="laws", rules=("dtype",))
def test_wrapper_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    s = TRIO
    yours = student.new(WRAPPER, s.d_in, s.d_out, s.context, 0.0, s.H)
    x = tokens(probe, s.B, s.T, s.d_in)

    keeps_dtype(yours, x)
    mixes_tokens(yours, s, s.H, x)


@check(WRAPPER, points=0.15, layer="laws")
def test_wrapper_fills_a_block_with_each_head(student, probe):
    """Other weights of one head change the block of this head, and no other block."""
    s = SQUARE
    weights, x = causal_weights(probe, s, s.H), tokens(probe, s.B, s.T, s.d_in)
    before = looked_back(causal(student, s, weights, heads=s.H), s, s.H, x)

    for head in range(s.H):
        fresh = causal_weights(probe, s, s.H)
        own = {name: fresh[name] for name in weights if name.startswith(f"heads.{head}.")}
        after = looked_back(causal(student, s, weights | own, heads=s.H), s, s.H, x)
        sentence = f"Other weights of head {head} do not change block {head} of the result alone."
        alone = [head == other for other in range(s.H)]
        expect(blocks_changed(before, after, s.d_out) == alone, sentence)


@check(WRAPPER, points=0.15, layer="laws")
def test_wrapper_of_equal_heads_repeats_one_head(student, probe):
    """Three heads with the same weights repeat the result of one head with these weights."""
    s = SQUARE
    weights, x = causal_weights(probe, s, 1), tokens(probe, s.B, s.T, s.d_in, scale=SMALL)
    one = causal(student, s, weights, heads=1)
    same = {name: weights[f"heads.0.{name[8:]}"] for name in names_of(3, LONG)}
    three = causal(student, s, same, heads=3)(x)

    mixes_tokens(one, s, 1, x)
    repeated = looked_back(one, s, 1, x).repeat(1, 1, 3)
    agrees(three, repeated, "The context of three equal heads", "the repeated context of one head")


@check(WRAPPER, points=0.15, layer="laws")
def test_wrapper_never_looks_ahead(student, probe):
    """Later tokens have no effect on any head's result for a token, and earlier ones have one."""
    never_looks_ahead(student, probe, SQUARE, SQUARE.H)


@check(WRAPPER, points=0.12, layer="laws")
def test_wrapper_gives_the_first_token_its_values(student, probe):
    """The first token attends only to itself: it gets its own value from each head."""
    first_token_is_its_value(student, probe, SQUARE, SQUARE.H)


@check(WRAPPER, points=0.18, layer="laws")
def test_wrapper_drops_nothing_in_eval_mode(student, probe):
    """In eval mode, every call gives the result of a module without dropout."""
    drops_nothing_in_eval_mode(student, probe, 2)


@check(WRAPPER, points=0.28, layer="laws")
def test_wrapper_drops_weights_in_training(student, probe):
    """In training, attention weights of the heads are dropped, and the others are rescaled."""
    yours, x, _ = readable(student, probe, heads=2)

    dropped = dropped_from(yours, x, 2)
    expect(not torch.equal(dropped[0], dropped[1]), SAME_ZEROS)


@check(WRAPPER, points=0.28, layer="laws")
def test_wrapper_drops_weights_in_each_head_anew(student, probe):
    """In training, each head drops different weights."""
    yours, x, _ = readable(student, probe, heads=2)

    dropped = dropped_from(yours, x, 2)
    same = torch.equal(dropped[:, 0], dropped[:, 1])
    expect(not same, "Two heads have zeros at the same places.")


@check(WRAPPER, points=0.12, layer="laws")
def test_wrapper_drops_weights_in_each_call_anew(student, probe):
    """In training, every call drops different weights."""
    yours, x, _ = readable(student, probe, heads=2)

    dropped, again = dropped_from(yours, x, 2), dropped_from(yours, x, 2)
    expect(not torch.equal(dropped, again), "Two calls have zeros at the same places.")


@check(WRAPPER, points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_wrapper_leaves_its_input_alone(student, probe):
    """The call does not change the input tensor."""
    s = PAIR
    yours = causal(student, s, causal_weights(probe, s, s.H), heads=s.H)
    x = tokens(probe, s.B, s.T, s.d_in, scale=SMALL)

    expect(yours.keeps_inputs(x), "The call changes its input.")
    mixes_tokens(yours, s, s.H, x)


@check(WRAPPER, points=0.06, layer="laws", rules=("no_seeding",))
def test_wrapper_leaves_the_seed_to_the_caller(student, probe):
    """The module does not seed torch's generator when it is built or called."""
    s = PAIR
    sizes = (s.d_in, s.d_out, s.context, 0.0, s.H)

    def create(seed):
        return student.new(WRAPPER, *sizes, seed=seed)

    caller_seeds(student, create, (tokens(probe, s.B, s.T, s.d_in),))


@check(WRAPPER, points=0.17, layer="laws", rules=("refuses",))
def test_wrapper_refuses_more_tokens_than_fit(student, probe):
    """The module accepts context_length tokens and raises an error for more."""
    s = TRIO
    yours = causal(student, s, causal_weights(probe, s, s.H), heads=s.H)

    mixes_tokens(yours, s, s.H, tokens(probe, 2, s.context, s.d_in, scale=SMALL))
    for T in (s.context + 1, 2 * s.context):
        expect(
            yours.refuses(tokens(probe, 2, T, s.d_in)),
            "More tokens than context_length give a result; they should raise a ValueError.",
            Status.NOT_REFUSED,
        )


@check(WRAPPER, points=0.31, layer="gradients", rules=("gradients",))
def test_wrapper_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights and biases of every head are right."""
    s = TRIO
    yours, ours = causals(student, reference, probe, s, heads=s.H, bias=BIAS)
    x, back = tokens(probe, s.B, s.T, s.d_in), probe.normal(s.B, s.T, s.H * s.d_out)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check(WRAPPER, points=0.06, layer="forbidden", rules=("no_ready_attention",))
def test_wrapper_is_built_by_hand(student, probe):
    """The class itself does not call torch's ready-made attention."""
    s = PAIR
    yours = causal(student, s, causal_weights(probe, s, s.H), heads=s.H)
    one = causal(student, s, causal_weights(probe, s, 0), heads=0)
    x = tokens(probe, s.B, s.T, s.d_in, scale=SMALL)

    ran, below = yours.operators(x), {"CausalAttention": one.operators(x)}
    avoids_itself(student, WRAPPER, READY_ATTENTION, BY_HAND, ran, below)
    mixes_tokens(yours, s, s.H, x)


@check(WRAPPER, points=0.12, layer="forbidden", rules=("no_loops",))
def test_wrapper_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    s = PAIR
    yours = causal(student, s, causal_weights(probe, s, s.H), heads=s.H)
    few, many = (tokens(probe, 3, size, s.d_in, scale=SMALL) for size in (4, s.context - 1))

    keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)
    mixes_tokens(yours, s, s.H, many)
