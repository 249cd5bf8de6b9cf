"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, number, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators, keeps_products


@pytest.fixture
def inputs(documented: DocumentedTensors) -> Tensor:
    """Return "Your journey starts with one step", one embedding per row: (6, 3)."""
    return documented["000.inputs"].tensor.clone()


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
GROUPED = "GroupedQueryAttention"
DECODER = "DecoderAttention"
QKV = ("W_query", "W_key", "W_value")
LACKS = ("out_proj.bias",)  # if it is missing, only the checks of parameters fail
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
AT_ONCE = "Work on all tokens at once, without a loop."
ONCE = "Project the new tokens only: the keys and values of all other tokens are in the cache."
IN_PARTS, WHOLE = "The context of a text in parts", "that of the whole text"
CUTS = ((2, 11), (5, 1, 7), (1,) * 13)
BASE = 200.0
EFFECT = 0.05  # far above all noise; the changes that a law makes have much larger effects
FAR = 1000.0  # a change of a value that even the smallest weight shows


class Sizes(NamedTuple):
    """Sizes for the checks: all different, so that no wrong axis fits by chance."""

    B: int
    T: int
    H: int
    G: int
    d: int
    d_in: int
    context: int

    @property
    def d_out(self):
        """Return the features of all heads side by side."""
        return self.H * self.d

    @property
    def d_keys(self):
        """Return the features of all key-value heads side by side."""
        return self.G * self.d


SIX = Sizes(B=2, T=7, H=6, G=3, d=4, d_in=5, context=9)
EIGHT = Sizes(B=3, T=5, H=8, G=2, d=4, d_in=7, context=6)
ONE_KEY = Sizes(B=2, T=6, H=4, G=1, d=3, d_in=5, context=7)
EQUAL = Sizes(B=2, T=6, H=3, G=3, d=4, d_in=5, context=7)
PAIRS = Sizes(B=3, T=5, H=4, G=2, d=6, d_in=24, context=0)
MORE_PAIRS = Sizes(B=2, T=7, H=6, G=3, d=4, d_in=24, context=0)
ONE_PAIR = Sizes(B=2, T=4, H=3, G=1, d=2, d_in=6, context=0)
LONG = Sizes(B=1, T=13, H=2, G=1, d=4, d_in=8, context=0)


def drawn_weights(probe, s):
    """Draw large weights for the four layers."""
    shapes = {"W_query__weight": (s.d_out, s.d_in), "W_key__weight": (s.d_keys, s.d_in)}
    shapes |= {"W_value__weight": (s.d_keys, s.d_in)}
    shapes |= {"out_proj__weight": (s.d_out, s.d_out), "out_proj__bias": (s.d_out,)}
    return probe.weights(**shapes)


def only_values(weights):
    """Let the last feature of a token have an effect on its value only; return the weights."""
    for name in QKV[:2]:
        weights[f"{name}.weight"][:, -1] = 0
    return weights


def mixing_nothing(weights, s):
    """Let out_proj return the heads as they are; return the weights."""
    alone = {"out_proj.weight": torch.eye(s.d_out), "out_proj.bias": torch.zeros(s.d_out)}
    return weights | alone


def grouped(side, s, weights, window=None):
    """Build the grouped attention of one side and load *weights*."""
    sizes = (s.d_in, s.d_out, s.context, s.H, s.G, window)
    return side.new(GROUPED, *sizes).load(weights, may_lack=LACKS)


def decoder(side, s, weights, window=None, base=BASE):
    """Build the decoder's attention of one side and load *weights*."""
    module = side.new(DECODER, s.d_out, s.H, s.G, window, base=base)
    return module.load(weights, may_lack=LACKS)


def both_grouped(student, reference, probe, s, window=None):
    """Build the student's module and the reference, and load the same large weights."""
    weights = drawn_weights(probe, s)
    return grouped(student, s, weights, window), grouped(reference, s, weights, window)


def both_decoders(student, reference, probe, s, window=None, base=BASE):
    """Build the student's module and the reference, and load the same large weights."""
    weights = drawn_weights(probe, s)
    yours, ours = (decoder(side, s, weights, window, base) for side in (student, reference))
    return yours, ours


def tokens(probe, s, T=None, *, scale=0.6):
    """Draw a batch with different items."""
    return probe.normal(s.B, T or s.T, s.d_in, scale=scale)


def drawn_cache(probe, s, held, seen):
    """Draw a cache of *held* tokens, after *seen* tokens in total."""
    return (probe.normal(s.B, s.G, held, s.d), probe.normal(s.B, s.G, held, s.d), seen)


def pattern(answer, T, keys=None):
    """Return a mask as zeros and ones, or fail the check if it has other numbers."""
    mask = tensor_like(answer, (T, keys or T), "The mask")
    other = mask[(mask != 0) & (mask != 1)]
    only = "The mask must contain only 0 and 1, or False and True."
    given = f"{only} Yours also contains {float(other[0]):g}." if len(other) else only
    expect(not len(other), only, message=given)
    return mask.long()


def same_number(answer, wanted):
    """Compare the number of bytes; its type is the concern of one check."""
    found = number(answer, "The number of bytes")
    message = f"The number of bytes is {found:.12g}; it should be {wanted}."
    expect(found == wanted, "The number of bytes is wrong.", message=message)


def is_pair(answer, sentence):
    """Fail the check with *sentence* unless the answer is a tuple of two."""
    expect(isinstance(answer, tuple | list) and len(answer) == 2, sentence, Status.WRONG_TYPE)


def is_cache(cache):
    """Fail the check unless *cache* is a tuple (keys, values, seen)."""
    sentence = "The cache is not a tuple (keys, values, seen)."
    is_triple = isinstance(cache, tuple | list) and len(cache) == 3
    expect(is_triple, sentence, Status.WRONG_TYPE)
    keys, values, seen = cache
    tensor(keys, "The keys in the cache")
    tensor(values, "The values in the cache")
    counted = isinstance(seen, int | float | torch.Tensor)
    expect(counted, "The entry `seen` of the cache is not a number.", Status.WRONG_TYPE)


def continued(answer):
    """Return the context and the cache, or fail the check if the answer is not a pair of them."""
    sentence = "The call does not return the context and a cache; it should return a tuple of both."
    is_pair(answer, sentence)
    is_cache(answer[1])
    return answer


def extended(answer):
    """Return all keys, all values and the next cache, or fail the check if they are not there."""
    sentence = "The result is not the tuple ((all keys, all values), next cache)."
    is_pair(answer, sentence)
    is_pair(answer[0], sentence)
    tensor(answer[0][0], "The first entry of the result")
    tensor(answer[0][1], "The second entry of the result")
    is_cache(answer[1])
    return (*answer[0], answer[1])


def in_parts(module, x, sizes):
    """Continue a text part by part; return the contexts of all parts."""
    cache, contexts = None, []
    for part in x.split(sizes, dim=1):
        context, cache = continued(module(part.contiguous(), cache))
        contexts.append(tensor_like(context, tuple(part.shape), "The context"))
    return torch.cat(contexts, dim=1)


def whole_context(module, x):
    """Return the context of a whole text."""
    context, _ = continued(module(x))
    return tensor_like(context, tuple(x.shape), "The context")


def has_effect(before, after, what, on=""):
    """Fail the check if a change of *what* has left a result as it was, or made it NaN."""
    moved = before.numel() and bool((after - before).abs().max() > EFFECT)
    expect(moved, f"A change of {what} has no clear effect{on}.")


def same_gradients(yours, ours):
    """Compare the gradients of the input and of the parameters."""
    named = {"the input": yours.inputs[0], **yours.parameters}
    for name, gradient in {"the input": ours.inputs[0], **ours.parameters}.items():
        found = named.get(name)
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, gradient, f"The gradient of {name}")


def all_reached(found):
    """Fail the check if no gradient reaches the input or a weight."""
    layers = (*QKV, "out_proj")
    weights = {name: found.parameters.get(f"{name}.weight") for name in layers}
    for name, gradient in {"the input": found.inputs[0], **weights}.items():
        reached = gradient is not None and bool((gradient != 0).any())
        expect(reached, f"The gradient of {name} is missing or zero.")


def is_refused(refused, what):
    """Fail the check if a wrong argument is accepted."""
    sentence = f"{what} gives a result; it should raise a ValueError."
    expect(refused, sentence, Status.NOT_REFUSED)


# repeat_heads


@check("repeat_heads", points=0.05, layer="shapes")
def test_heads_become_as_many_as_asked(student):
    """Keys (2, 3, 5, 4) become (2, 6, 5, 4) for six heads."""
    repeated = student.call("repeat_heads", torch.ones(2, 3, 5, 4), 6)

    tensor_like(repeated, (2, 6, 5, 4), "repeat_heads of (2, 3, 5, 4)")


@check("repeat_heads", points=0.1, layer="documented")
def test_heads_are_shared_as_documented(student, documented):
    """Six query heads share two key-value heads as documented: 0, 0, 0, 1, 1, 1."""
    repeated = student.call("repeat_heads", torch.arange(2).view(1, 2, 1, 1), 6)

    repeated = tensor_like(repeated, (1, 6, 1, 1), "The result")
    documented["flash.groups"].matches(repeated.flatten(), "The key-value heads of the query heads")


@check("repeat_heads", points=0.15, layer="probe")
def test_heads_of_any_keys(student, reference, probe):
    """The result is right for other numbers of items, heads, tokens and features."""
    for (B, G, T, d), H in (
        ((3, 2, 5, 4), 8),
        ((2, 3, 4, 7), 6),
        ((4, 1, 3, 5), 2),
        ((2, 5, 6, 3), 5),
        ((1, 4, 1, 2), 12),
    ):
        x = probe.normal(B, G, T, d)

        ours = reference.call("repeat_heads", x, H)
        agrees(student.call("repeat_heads", x, H), ours, "The result")


@check("repeat_heads", points=0.1, layer="laws")
def test_heads_of_a_group_are_equal(student, probe):
    """The H/G neighbouring heads of a group are equal, and those of two groups are not."""
    x = probe.normal(2, 3, 5, 4)

    found = tensor_like(student.call("repeat_heads", x, 6), (2, 6, 5, 4), "The result")
    agrees(found[:, 1::2], found[:, ::2], "The second head of a group", "the first one")
    has_effect(found[:, :2], found[:, 2:4], "the group of a head")


@check("repeat_heads", points=0.1, layer="laws")
def test_heads_change_with_their_group_alone(student, probe):
    """A new second key-value head changes the heads of its group, and no others."""
    x = probe.normal(2, 3, 5, 4)
    others = x.clone()
    others[:, 1] += 2

    before, after = (
        tensor_like(student.call("repeat_heads", one, 6), (2, 6, 5, 4), "The result")
        for one in (x, others)
    )
    apart = [0, 1, 4, 5]
    agrees(after[:, apart], before[:, apart], "The heads of the other groups", "those before")
    has_effect(before[:, 2], after[:, 2], "a key-value head", " on the first head of its group")


@check("repeat_heads", points=0.05, layer="laws")
def test_heads_keep_the_order_of_tokens(student, probe):
    """If the tokens are in another order, so are those of the result."""
    x = probe.normal(2, 2, 6, 4)
    order = torch.tensor([3, 0, 5, 1, 4, 2])

    before, after = (
        tensor_like(student.call("repeat_heads", one, 4), (2, 4, 6, 4), "The result")
        for one in (x, x[:, :, order].contiguous())
    )
    agrees(after, before[:, :, order], "The result for another order of the tokens")
    has_effect(before, after, "the order of the tokens")


@check("repeat_heads", points=0.05, layer="laws", rules=("refuses",))
def test_heads_refuse_an_uneven_share(student):
    """H heads are accepted if H is a multiple of G; any other H raises an error."""
    student.call("repeat_heads", torch.ones(2, 3, 5, 4), 9)
    for G, H in ((3, 4), (2, 5), (4, 2), (4, 6)):
        refused = student.refuses("repeat_heads", torch.ones(2, G, 5, 7), H)
        is_refused(refused, "An H that is not a multiple of G")


@check("repeat_heads", points=0.1, layer="gradients", rules=("gradients",))
def test_heads_add_up_the_gradients_of_a_group(student, reference, probe):
    """A key-value head gets the sum of the gradients of all query heads that share it."""
    x, back = probe.normal(3, 2, 5, 4), probe.normal(3, 8, 5, 4)

    same_gradients(
        student.gradients("repeat_heads", x, 8, cotangent=back),
        reference.gradients("repeat_heads", x, 8, cotangent=back),
    )


def same_mask(student, reference, T, window, sinks=0):
    """Compare the student's mask of these sizes with the reference's."""
    ours = pattern(reference.call("window_mask", T, window, sinks), T)

    agrees(pattern(student.call("window_mask", T, window, sinks), T), ours, "The mask")


# window_mask


@check("window_mask", points=0.2, layer="documented")
def test_window_is_the_documented_one(student, documented):
    """Seven tokens and a window of three give the documented mask."""
    found = pattern(student.call("window_mask", 7, 3, 0), 7)

    documented["modular.window"].matches(found, "window_mask(7, 3, 0)")


@check("window_mask", points=0.1, layer="probe")
def test_window_of_other_sizes(student, reference, probe):
    """Without sinks, the mask is right for other lengths and windows."""
    for sizes in ((5, 1), (6, 4), (9 + probe.number % 5, 2)):
        same_mask(student, reference, *sizes)


@check("window_mask", points=0.1, layer="probe")
def test_window_with_sinks(student, reference, probe):
    """The mask is right for one, two and four sinks."""
    for sizes in ((9 + probe.number % 5, 2, 1), (8, 3, 2), (6, 1, 4)):
        same_mask(student, reference, *sizes)


@check("window_mask", points=0.1, layer="probe")
def test_window_longer_than_the_text(student, reference, probe):
    """The mask is right for a window that is as long as the text, or longer."""
    for sizes in ((4, 7 + probe.number % 5), (5, 5), (1, 1)):
        same_mask(student, reference, *sizes)


@check("window_mask", points=0.05, layer="probe")
def test_window_has_no_sinks_by_default(student, reference):
    """Without the argument sinks, there are none."""
    ours = pattern(reference.call("window_mask", 8, 3, 0), 8)

    agrees(pattern(student.call("window_mask", 8, 3), 8), ours, "The mask")


@check("window_mask", points=0.1, layer="laws")
def test_window_shows_a_token_itself_and_no_later_one(student, probe):
    """Each token sees itself, and none sees a later token."""
    T, window = 9 + probe.number % 17, 3
    rows = pattern(student.call("window_mask", T, window, 0), T)

    agrees(rows.diagonal(), torch.ones(T).long(), "The diagonal of the mask")
    expect(not rows.triu(1).any(), "A token sees a later token.")


@check("window_mask", points=0.1, layer="laws")
def test_window_limits_what_each_token_sees(student, probe):
    """A token sees *window* tokens, or as many as there are up to itself."""
    T, window = 9 + probe.number % 3, 4
    rows = pattern(student.call("window_mask", T, window, 0), T)

    counts = torch.arange(1, T + 1).clamp(max=window)
    agrees(rows.sum(1), counts, "The vector of row sums")


@check("window_mask", points=0.1, layer="laws")
def test_window_moves_along_with_the_token(student, probe):
    """The next token sees the same distances, and some tokens are visible and others are not."""
    T, window = 9 + probe.number % 17, 3
    rows = pattern(student.call("window_mask", T, window, 0), T)

    agrees(
        rows[1:, 1:],
        rows[:-1, :-1],
        "The mask from the second token on",
        "that of the tokens before",
    )
    expect(0 < int(rows[-1].sum()) < T, "The last token must see some tokens, but not all.")


@check("window_mask", points=0.05, layer="laws")
def test_window_gets_sinks_in_addition(student, probe):
    """With two sinks, later tokens also see the first two tokens, and nothing else changes."""
    T, window = 9 + probe.number % 3, 3
    plain, more = (pattern(student.call("window_mask", T, window, one), T) for one in (0, 2))

    agrees(more[:, 2:], plain[:, 2:], "The mask of the keys after the sinks", "that without sinks")
    agrees(more[1:, :2], torch.ones(T - 1, 2).long(), "The mask of the sinks for later tokens")
    hidden = (plain[window + 1 :, :2] == 0).all()
    expect(hidden, "Without sinks, late tokens must not see the first two tokens.")


@check("window_mask", points=0.05, layer="laws", rules=("refuses",))
def test_window_refuses_to_hide_everything(student):
    """A window of 1 is accepted, and smaller windows raise an error."""
    pattern(student.call("window_mask", 4, 1), 4)
    for arguments in ((4, 0), (4, -1), (3, 0, 1)):
        is_refused(student.refuses("window_mask", *arguments), "A window below 1")


# cache_bytes


@check("cache_bytes", points=0.05, layer="shapes")
def test_bytes_are_a_whole_number(student, probe):
    """The number of bytes is an int above 0."""
    answer = student.call("cache_bytes", 30 + probe.number % 9, 8, 3, 2, 2, 1, None)

    expect(type(answer) is int, "The number of bytes is not an int.", Status.WRONG_TYPE)
    expect(answer > 0, "The number of bytes is not above 0.")


@check("cache_bytes", points=0.1, layer="documented")
def test_bytes_are_the_documented_ones(student, documented):
    """The caches of a model for 32,768 tokens in 32 layers have the documented sizes."""
    sizes = [student.call("cache_bytes", 32768, 128, G, 32, 2, 1, None) for G in (32, 8)]
    gigabytes = [number(one, "The number of bytes") / 1e9 for one in sizes]

    what = "The cache for 32 and for 8 key-value heads, in gigabytes,"
    documented["rasbt.cache"].matches(torch.tensor(gigabytes), what)


@check("cache_bytes", points=0.05, layer="documented")
def test_bytes_of_a_window_are_the_documented_ones(student, documented):
    """With a window in 27 of the 32 layers, the caches have the documented sizes."""
    full, layers, near, few = 32768, 32, 1024, 5
    windowed = [
        sum(
            number(student.call("cache_bytes", full, 128, G, count, 2, 1, window)) / 1e9
            for count, window in ((layers - few, near), (few, None))
        )
        for G in (32, 8)
    ]

    what = "The cache with a window of 1024 in 27 of 32 layers, in gigabytes,"
    documented["rasbt.cache.windowed"].matches(torch.tensor(windowed), what)


@check("cache_bytes", points=0.1, layer="probe")
def test_bytes_are_those_of_a_real_cache(student, reference, probe):
    """The number is the size of a real cache of one layer."""
    s = ONE_PAIR._replace(B=1)
    _, cache = reference.new(DECODER, s.d_out, s.H, s.G)(tokens(probe, s))
    held = sum(part.numel() * part.element_size() for part in cache[:2])

    same_number(student.call("cache_bytes", s.T, s.d, s.G, 1, 4, 1, None), held)


@check("cache_bytes", points=0.05, layer="probe")
def test_bytes_of_several_texts(student, reference, probe):
    """The number is right for several texts, and for numbers of 1, 4 and 8 bytes."""
    T = 40 + probe.number % 29
    for sizes in ((T, 32, 5, 6, 1, 7), (T + 7, 8, 3, 2, 4, 3), (11, 6, 2, 5, 8, 2)):
        ours = reference.call("cache_bytes", *sizes, None)

        same_number(student.call("cache_bytes", *sizes, None), ours)


@check("cache_bytes", points=0.1, layer="probe")
def test_bytes_of_a_window(student, reference, probe):
    """The number is right for a window that is shorter than the text."""
    window = 11 + probe.number % 17
    for sizes in ((90, 16, 2, 4, 2, 3, window), (40, 8, 5, 2, 4, 1, 39)):
        ours = reference.call("cache_bytes", *sizes)

        same_number(student.call("cache_bytes", *sizes), ours)


@check("cache_bytes", points=0.05, layer="probe")
def test_bytes_of_a_window_longer_than_the_text(student, reference):
    """A window that is as long as the text, or longer, does not change the number."""
    for sizes in ((60, 8, 7, 5, 4, 2, 60), (30, 4, 3, 2, 2, 1, 64)):
        ours = reference.call("cache_bytes", *sizes)

        same_number(student.call("cache_bytes", *sizes), ours)


@check("cache_bytes", points=0.05, layer="probe")
def test_bytes_of_one_text_by_default(student, reference):
    """By default, there is one text, a number has two bytes, and there is no window."""
    ours = reference.call("cache_bytes", 100, 16, 4, 3, 2, 1, None)

    same_number(student.call("cache_bytes", 100, 16, 4, 3), ours)


@check("cache_bytes", points=0.05, layer="laws")
def test_bytes_are_doubled_by_each_size(student, probe):
    """Twice the tokens, features, heads, layers, bytes or texts need twice the bytes."""
    sizes = [20 + probe.number % 17, 6, 3, 5, 2, 4]
    base = number(student.call("cache_bytes", *sizes, None), "The number of bytes")

    expect(base > 0, "The number of bytes is not above 0.")
    for index in range(len(sizes)):
        doubled = [size * (1 + (index == place)) for place, size in enumerate(sizes)]
        found = number(student.call("cache_bytes", *doubled, None), "The number of bytes")
        message = f"For {doubled} the number is {found:.12g}, and for {sizes} it is {base:.12g}."
        sentence = "If one of the sizes is doubled, the number of bytes is not."
        expect(found == 2 * base, sentence, message=f"{sentence} {message}")


@check("cache_bytes", points=0.05, layer="laws")
def test_bytes_stop_growing_at_the_window(student, probe):
    """With a window, a text that is twice as long as the window needs no more bytes."""
    window = 20 + probe.number % 17
    half, full, double = (
        number(student.call("cache_bytes", tokens_, 8, 3, 2, 2, 1, window), "The number of bytes")
        for tokens_ in (window // 2, window, 2 * window)
    )

    expect(0 < half < full, "The bytes of half a window are not between 0 and those of a full one.")
    expect(double == full, "A text of two windows does not need as many bytes as a text of one.")


# GroupedQueryAttention


@check(GROUPED, points=0.05, layer="signature")
def test_groups_are_built_by_the_names_of_their_arguments(student):
    """The constructor takes d_in, d_out, context_length, num_heads, num_kv_heads and window."""
    sizes = {"d_in": 3, "d_out": 8, "context_length": 6, "num_heads": 4, "num_kv_heads": 2}

    student.new(GROUPED, **sizes)
    student.new(GROUPED, **sizes, window=3)


@check(GROUPED, points=0.05, layer="shapes")
def test_groups_give_each_token_a_vector_of_d_out(student, probe):
    """Texts (3, 5, 7) give context vectors (3, 5, 24)."""
    context = student.new(GROUPED, 7, 24, 10, 4, 2)(probe.normal(3, 5, 7))

    tensor_like(context, (3, 5, 24), "GroupedQueryAttention(7, 24, 10, 4, 2) of (3, 5, 7)")


def has_names(module):
    """Fail the check unless the parameters have the names of the docstring."""
    wanted = (*(f"{name}.weight" for name in (*QKV, "out_proj")), "out_proj.bias")
    found = module.shapes()
    for name in wanted:
        expect(name in found, f"torch lists no parameter {name}.")


def has_sizes(module, s):
    """Fail the check unless the parameters have the sizes in *s*, in the order of the docstring."""
    wanted = [(s.d_out, s.d_in), *[(s.d_keys, s.d_in)] * 2, (s.d_out, s.d_out), (s.d_out,)]
    found = [*module.shapes().values()]
    message = f"The parameters have the shapes {found}; they should have {wanted}."
    expect(found == wanted, "The list of the parameters' shapes is wrong.", message=message)


def draws_in_order(student, reference, probe, name, sizes):
    """Fail the check unless the layers are created in the order of the docstring."""
    drawn = reference.new(name, *sizes, seed=probe.seed).parameters()
    found = student.new(name, *sizes, seed=probe.seed).named(*drawn)
    for parameter, ours in drawn.items():
        agrees(found[parameter].value, ours.value, parameter)


def leaves_the_seed(student, name, sizes, x):
    """Fail the check if the constructor or the call seeds torch's generator."""
    drawn = []
    for seed in (5, 6):
        yours = student.new(name, *sizes, seed=seed)
        built = student.draws_next()
        yours(x, seed=seed)
        drawn.append((built, student.draws_next()))

    expect(
        not torch.equal(drawn[0][0], drawn[1][0]),
        "After construction, the random numbers no longer depend on the seed.",
    )
    expect(
        not torch.equal(drawn[0][1], drawn[1][1]),
        "After a call, the random numbers no longer depend on the seed.",
    )


@check(GROUPED, points=0.05, layer="parameters")
def test_groups_name_their_layers(student):
    """The layers are named W_query, W_key, W_value and out_proj."""
    has_names(student.new(GROUPED, 4, 8, 6, 4, 2))


@check(GROUPED, points=0.1, layer="parameters")
def test_groups_have_fewer_weights_for_keys_and_values(student):
    """W_key and W_value have num_kv_heads heads, and W_query and out_proj have num_heads."""
    for s in (SIX, ONE_KEY, EQUAL):
        has_sizes(student.new(GROUPED, s.d_in, s.d_out, s.context, s.H, s.G), s)


@check(GROUPED, points=0.05, layer="parameters")
def test_groups_draw_their_layers_in_order(student, reference, probe):
    """The four layers are created in the order of the docstring, with the caller's seed."""
    for s in (SIX, ONE_KEY):
        sizes = (s.d_in, s.d_out, s.context, s.H, s.G)
        draws_in_order(student, reference, probe, GROUPED, sizes)


@check(GROUPED, points=0.05, layer="parameters", rules=("no_seeding",))
def test_groups_leave_the_seed_to_the_caller(student, probe):
    """The constructor and the call do not seed torch's generator."""
    s = ONE_KEY
    sizes = (s.d_in, s.d_out, s.context, s.H, s.G)

    leaves_the_seed(student, GROUPED, sizes, tokens(probe, s))


@check(GROUPED, points=0.2, layer="documented")
def test_groups_of_one_reproduce_the_documented_context(student, documented, inputs):
    """With as many key-value heads as query heads, the context vectors are those of stage 10."""
    attention = student.new(GROUPED, 3, 2, 6, 2, 2, seed=123)

    context = documented["ch03.mha.context"]
    context.matches(
        attention(inputs.expand(2, 6, 3)), "GroupedQueryAttention(3, 2, 6, 2, 2)(batch)"
    )


@check(GROUPED, points=0.5, layer="probe")
def test_groups_attend_with_any_weights(student, reference, probe):
    """The result is right for other weights, and for 1, 2 and 3 key-value heads."""
    for s in (EIGHT, SIX, ONE_KEY):
        yours, ours = both_grouped(student, reference, probe, s)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The context")


@check(GROUPED, points=0.3, layer="probe")
def test_groups_see_their_window(student, reference, probe):
    """The result is right for windows of one token, of several tokens, or longer than the text."""
    for s, window in ((SIX, 4), (EIGHT, 1), (ONE_KEY, 2), (EIGHT, 20)):
        yours, ours = both_grouped(student, reference, probe, s, window)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), f"The context with window={window}")


def context_of(module, x, s):
    """Return the context of a text by grouped attention."""
    return tensor_like(module(x), (*x.shape[:2], s.d_out), "The context")


@check(GROUPED, points=0.2, layer="laws")
def test_groups_are_heads_with_equal_keys(student, probe):
    """Repeating the weights of each group for H key-value heads does not change the context."""
    s = EIGHT
    weights, x = drawn_weights(probe, s), tokens(probe, s)
    many = dict(weights)
    for name in ("W_key.weight", "W_value.weight"):
        heads = weights[name].unflatten(0, (s.G, s.d)).repeat_interleave(s.H // s.G, dim=0)
        many[name] = heads.flatten(0, 1)
    others = many | {"W_value.weight": many["W_value.weight"].roll(s.d * s.H // s.G, 0)}

    before = context_of(grouped(student, s, weights), x, s)
    after, moved = (
        context_of(grouped(student, s._replace(G=s.H), one), x, s) for one in (many, others)
    )
    agrees(after, before, "The context of repeated weights", "that of shared ones")
    has_effect(after, moved, "the weights of the values")


@check(GROUPED, points=0.2, layer="laws")
def test_groups_with_equal_queries_are_equal(student, probe):
    """With equal queries, the contexts in a group are equal, and those of two groups are not."""
    s = EIGHT
    weights = mixing_nothing(drawn_weights(probe, s), s)
    weights["W_query.weight"] = weights["W_query.weight"][: s.d].repeat(s.H, 1)

    context = context_of(grouped(student, s, weights), tokens(probe, s), s)
    groups = context.unflatten(-1, (s.G, s.H // s.G, s.d))
    agrees(
        groups,
        groups[..., :1, :].expand_as(groups),
        "The context of a head",
        "that of the first in its group",
    )
    has_effect(groups[..., 0, :, :], groups[..., 1, :, :], "the group of a head")


@check(GROUPED, points=0.1, layer="laws")
def test_groups_forget_what_left_the_window(student, probe):
    """A token outside the window has no effect, but the tokens in the window do."""
    s, window = SIX, 3
    yours = grouped(student, s, only_values(drawn_weights(probe, s)), window)
    x = tokens(probe, s)
    others = x.clone()
    others[:, 2, -1] += FAR

    before, after = (context_of(yours, one, s) for one in (x, others))
    apart = [*range(2 + window, s.T)]
    what = "The context of tokens that are far from a change"
    agrees(after[:, apart], before[:, apart], what, "that before")
    what = "the oldest token in a window"
    has_effect(before[:, 1 + window], after[:, 1 + window], what, " on the newest one")


@check(GROUPED, points=0.2, layer="laws")
def test_groups_see_the_past_and_not_the_future(student, probe):
    """A token affects the tokens after it, and none before it, with and without a window."""
    s = SIX
    weights, x = only_values(drawn_weights(probe, s)), tokens(probe, s)
    others = x.clone()
    others[:, 3, -1] += FAR

    for window in (None, 3):
        yours = grouped(student, s, weights, window)
        before, after = (context_of(yours, one, s) for one in (x, others))
        agrees(
            after[:, :3],
            before[:, :3],
            f"After a change of a later token, the context of earlier ones with window={window}",
            "that before",
        )
        where = f" on later ones with window={window}"
        has_effect(before[:, 4:], after[:, 4:], "a token", where)


@check(GROUPED, points=0.05, layer="laws")
def test_groups_double_the_context_of_doubled_values(student, probe):
    """Without the last bias, values twice as large give a context twice as large."""
    s = SIX
    weights, x = mixing_nothing(drawn_weights(probe, s), s), tokens(probe, s)
    twice = weights | {"W_value.weight": 2 * weights["W_value.weight"]}

    before, after = (context_of(grouped(student, s, one), x, s) for one in (weights, twice))
    agrees(after, 2 * before, "The context of doubled values", "the doubled context")
    has_effect(before, after, "the values")


@check(GROUPED, points=0.1, layer="laws")
def test_groups_keep_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as alone, and items differ."""
    yours, x = grouped(student, EIGHT, drawn_weights(probe, EIGHT)), tokens(probe, EIGHT)

    together = context_of(yours, x, EIGHT)
    for item in range(EIGHT.B):
        alone = context_of(yours, x[item : item + 1].contiguous(), EIGHT)
        agrees(alone, together[item : item + 1], "The result of an item alone", "that in the batch")
    has_effect(together[0], together[1], "the item")


@check(GROUPED, points=0.2, layer="laws", rules=("dtype",))
def test_groups_keep_the_dtype(student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    yours, x = grouped(student, ONE_KEY, drawn_weights(probe, ONE_KEY), 4), tokens(probe, ONE_KEY)

    contexts = []
    for dtype, name, text in ((torch.float64, "float64", x), (torch.float32, "float32", -x)):
        yours.move(name)
        context = context_of(yours, text.to(dtype), ONE_KEY)
        same_dtype(context, dtype, "The context")
        contexts.append(context.float())
    has_effect(*contexts, "the tokens")


@check(GROUPED, points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_groups_leave_their_input_alone(student, probe):
    """The tokens are unchanged, but they have an effect."""
    yours, x = grouped(student, EIGHT, drawn_weights(probe, EIGHT)), tokens(probe, EIGHT)

    expect(yours.keeps_inputs(x), "The call changes its input.")
    has_effect(*(context_of(yours, text, EIGHT) for text in (x, -x)), "the tokens")


@check(GROUPED, points=0.05, layer="laws", rules=("refuses",))
def test_groups_refuse_numbers_that_do_not_divide(student, probe):
    """An uneven split of d_out into heads, or of heads into groups, raises an error."""
    student.new(GROUPED, 7, 12, 9, 6, 3)  # an even split
    for what, (d_out, H, G) in (
        ("A d_out that num_heads does not divide", (13, 4, 2)),
        ("A d_out that num_heads does not divide", (10, 4, 4)),
        ("A num_heads that num_kv_heads does not divide", (12, 6, 4)),
        ("A num_heads that num_kv_heads does not divide", (12, 3, 2)),
        ("A num_kv_heads above num_heads", (12, 2, 4)),
    ):
        sizes = (7, d_out, 9, H, G)
        refused = student.refuses(GROUPED, *sizes)
        refused = refused or student.new(GROUPED, *sizes).refuses(probe.normal(2, 9, 7))
        is_refused(refused, what)


@check(GROUPED, points=0.05, layer="laws", rules=("refuses",))
def test_groups_refuse_more_tokens_than_fit(student, probe):
    """The module accepts context_length tokens and raises an error for more."""
    s = ONE_KEY
    weights = drawn_weights(probe, s)
    for window in (None, 3):
        yours = grouped(student, s, weights, window)

        context_of(yours, tokens(probe, s, s.context), s)
        for T in (s.context + 1, 2 * s.context):
            refused = yours.refuses(tokens(probe, s, T))
            is_refused(
                refused, f"With window={window}, an input of more tokens than context_length"
            )


@check(GROUPED, points=0.05, layer="gradients", rules=("gradients",))
def test_groups_pass_gradients_back(student, probe):
    """Gradients flow back to the input and the weights of all four layers."""
    s = ONE_KEY
    yours = grouped(student, s, drawn_weights(probe, s), 4)

    x, back = tokens(probe, s), probe.normal(s.B, s.T, s.d_out)
    all_reached(yours.gradients(x, cotangent=back))


@check(GROUPED, points=0.15, layer="forbidden", rules=("no_ready_attention",))
def test_groups_are_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    avoids(student, GROUPED, READY_ATTENTION, BY_HAND)
    yours = grouped(student, ONE_KEY, drawn_weights(probe, ONE_KEY))
    avoids_running(yours.operators(tokens(probe, ONE_KEY)), READY_ATTENTION, BY_HAND)


@check(GROUPED, points=0.05, layer="forbidden", rules=("no_loops",))
def test_groups_need_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    s = ONE_KEY
    weights = drawn_weights(probe, s)
    for window in (None, 3):
        yours = grouped(student, s, weights, window)
        few, many = (tokens(probe, s, T) for T in (4, s.context))

        keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)


def both_angles(answer, T, pairs):
    """Return the cosines and the sines, or fail the check if they are not there."""
    is_pair(answer, "The result of rotary_angles is not a tuple (cos, sin).")
    names = ("The cosine of the angles", "The sine of the angles")
    found = [tensor_like(one, (T, pairs), name) for one, name in zip(answer, names, strict=True)]
    for one, name in zip(found, names, strict=True):
        expect(one.is_floating_point(), f"{name} has the wrong dtype.", Status.WRONG_TYPE)
    return found


def rotated(student, x, positions, base=BASE, *, halves=False):
    """Return *x*, rotated by the student by the right angles of *positions*."""
    angles = positions[:, None] * base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    turned = student.call("apply_rotary", x, angles.cos(), angles.sin(), halves)
    return tensor_like(turned, tuple(x.shape), "The result")


# rotary_angles


@check("rotary_angles", points=0, layer="probe")
def test_angles_are_still_right(student, reference, probe):
    """The copied function gives the right cosines and sines for several positions and bases."""
    for positions, d, base in (
        ((probe.uniform(5) * 40).round(), 6, 10000.0),
        (torch.arange(7), 4, 200.0),
    ):
        found = both_angles(
            student.call("rotary_angles", positions, d, base), len(positions), d // 2
        )
        ours = reference.call("rotary_angles", positions, d, base)

        agrees(found[0], ours[0], "The cosine of the angles")
        agrees(found[1], ours[1], "The sine of the angles")


@check("rotary_angles", points=0, layer="laws")
def test_angles_still_add_up(student, probe):
    """The angles of a sum of positions are the sums of their angles."""
    p, q = probe.normal(5, scale=9.0), probe.normal(5, scale=9.0)
    one, two, both = (
        torch.complex(*(part.float() for part in both_angles(answer, 5, 3)))
        for answer in (student.call("rotary_angles", each, 6, BASE) for each in (p, q, p + q))
    )

    agrees(both.real, (one * two).real, "The cosine of the sum", "that of the single angles")
    agrees(both.imag, (one * two).imag, "The sine of the sum", "that of the single angles")
    has_effect(one.real, two.real, "the positions")


@check("rotary_angles", points=0, layer="laws", rules=("refuses",))
def test_angles_still_refuse_an_odd_number_of_features(student):
    """An even number of features is accepted, and an odd one raises an error."""
    both_angles(student.call("rotary_angles", torch.arange(4), 6), 4, 3)
    refused = student.refuses("rotary_angles", torch.arange(4), 5)
    is_refused(refused, "An odd number of features")


# apply_rotary


@check("apply_rotary", points=0, layer="probe")
def test_rotation_is_still_right(student, reference, probe):
    """The copied function rotates pairs and halves right, with any number of axes before T."""
    for shape, halves in (((2, 3, 5, 6), False), ((4, 7, 8), False), ((3, 5, 4), True)):
        x = probe.normal(*shape)
        angles = probe.normal(shape[-2], shape[-1] // 2, scale=2.0)
        given = (x, angles.cos(), angles.sin(), halves)

        ours = reference.call("apply_rotary", *given)
        agrees(student.call("apply_rotary", *given), ours, f"The result with halves={halves}")


@check("apply_rotary", points=0, layer="laws")
def test_rotation_still_keeps_the_lengths_of_pairs(student, probe):
    """The vectors change, but every pair of features keeps its length."""
    x = probe.normal(3, 5, 8)
    turned = rotated(student, x, probe.uniform(5) * 9 + 1)

    expect(bool((turned - x).abs().max() > EFFECT), "The vectors do not clearly change.")
    lengths = x.unflatten(-1, (-1, 2)).norm(dim=-1)
    agrees(turned.unflatten(-1, (-1, 2)).float().norm(dim=-1), lengths, "The lengths of the pairs")


@check("apply_rotary", points=0, layer="laws")
def test_rotation_still_makes_scores_depend_on_the_distance(student, probe):
    """The product of a rotated query and a rotated key depends only on their distance."""
    x, scores = probe.normal(3, 2, 6), []
    for positions in ((3, 1), (43, 41), (1, 3)):
        turned = rotated(student, x, torch.tensor(positions))
        scores.append((turned[:, 0] * turned[:, 1]).sum(dim=-1))

    agrees(scores[1], scores[0], "The score at the same distance")
    has_effect(scores[0], scores[2], "the direction of the distance")


def extends(student, reference, probe, sizes):
    """Yield the student's and the reference's answers for *sizes*: C, seen, T and the window."""
    for s, (held, seen, T, window) in sizes:
        cache = drawn_cache(probe, s, held, seen) if seen else None
        new = probe.normal(s.B, s.G, T, s.d), probe.normal(s.B, s.G, T, s.d)

        answers = [side.call("extend_cache", cache, *new, window) for side in (student, reference)]
        when = " without a window" if window is None else " with a window"
        yield extended(answers[0]), extended(answers[1]), when


GROWING = (  # sizes, then tokens in the cache, tokens so far, new tokens, window
    (PAIRS, (0, 0, 3, None)),
    (MORE_PAIRS, (4, 4, 2, None)),
    (PAIRS, (3, 23, 1, 4)),
    (ONE_PAIR, (3, 9, 6, 4)),
    (ONE_PAIR, (0, 0, 7, 5)),
    (MORE_PAIRS, (2, 2, 3, 8)),
    (ONE_PAIR, (0, 3, 2, 1)),
)


# extend_cache


@check("extend_cache", points=0.05, layer="signature")
def test_extension_has_no_window_by_default(student, probe):
    """Without the argument window, all tokens are kept."""
    s = ONE_PAIR
    keys = probe.normal(s.B, s.G, 5, s.d)
    _, _, cache = extended(student.call("extend_cache", None, keys, -keys))

    agrees(cache[0], keys, "The keys in the cache")
    agrees(cache[1], -keys, "The values in the cache")


@check("extend_cache", points=0.03, layer="shapes")
def test_extension_gives_old_and_new_tokens_and_a_cache(student):
    """Four cached tokens and two new ones are six, of which a window of four keeps three."""
    old, new = torch.ones(3, 2, 4, 5), torch.ones(3, 2, 2, 5)
    keys, values, cache = extended(student.call("extend_cache", (old, old, 9), new, new, 4))

    for part, what in ((keys, "The tensor of all keys"), (values, "The tensor of all values")):
        tensor_like(part, (3, 2, 6, 5), what)
    for part, what in zip(cache[:2], ("keys", "values"), strict=True):
        tensor_like(part, (3, 2, 3, 5), f"The {what} in the next cache")


def kept_of(student, cache, new, window):
    """Return the keys in the next cache, of one text with one head of one feature."""
    x = torch.tensor(new, dtype=torch.float32).view(1, 1, -1, 1)
    _, _, (keys, _, _) = extended(student.call("extend_cache", cache, x, x, window))
    return tensor_like(keys, (1, 1, window - 1, 1), "The keys in the next cache").flatten()


@check("extend_cache", points=0.1, layer="documented")
def test_extension_slides_as_documented(student, documented):
    """A full cache of four tokens drops its oldest one as documented, also for a long prompt."""
    full = torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 1, 4, 1)
    slid = kept_of(student, (full, full, 4), [5.0], 5)
    documented["transformers.window.slid"].matches(
        slid, "The keys in the cache after one more token"
    )

    long = kept_of(student, None, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 5)
    documented["transformers.window.long"].matches(long, "The keys in the cache after six tokens")


@check("extend_cache", points=0.22, layer="probe")
def test_extension_gives_all_keys_and_values(student, reference, probe):
    """All keys and values are those of the cached tokens, followed by those of the new ones."""
    for yours, ours, when in extends(student, reference, probe, GROWING):
        agrees(yours[0], ours[0], f"The tensor of all keys{when}")
        agrees(yours[1], ours[1], f"The tensor of all values{when}")


@check("extend_cache", points=0.22, layer="probe")
def test_extension_keeps_the_right_tokens(student, reference, probe):
    """The next cache holds the keys and values of the right tokens, with and without a window."""
    for yours, ours, when in extends(student, reference, probe, GROWING):
        agrees(yours[2][0], ours[2][0], f"The keys in the next cache{when}")
        agrees(yours[2][1], ours[2][1], f"The values in the next cache{when}")


@check("extend_cache", points=0.1, layer="probe")
def test_extension_counts_all_tokens(student, reference, probe):
    """The third entry of the cache counts all tokens so far, the newest of which is kept."""
    for yours, ours, _ in extends(student, reference, probe, GROWING[:-1]):
        agrees(yours[2][2], ours[2][2], "The number of tokens so far")
        newest = tensor(yours[2][1], "The values in the next cache")[:, :, -1:]
        agrees(newest, ours[2][1][:, :, -1:], "The value of the newest token")


def grown(student, keys, values, sizes, window):
    """Add a text part by part; return the keys of the last call, and the last cache."""
    cache, parts = None, zip(keys.split(sizes, dim=2), values.split(sizes, dim=2), strict=True)
    for new in parts:
        everything, _, cache = extended(
            student.call("extend_cache", cache, *(one.contiguous() for one in new), window)
        )
    return everything, cache


@check("extend_cache", points=0.1, layer="laws")
def test_extension_is_the_same_in_any_parts(student, probe):
    """Any way to cut 13 tokens ends with the same cache, and tokens matter."""
    s = LONG
    keys, values = probe.normal(s.B, s.G, 13, s.d), probe.normal(s.B, s.G, 13, s.d)
    for window, held in ((None, 13), (4, 3), (30, 13)):
        for sizes in CUTS:
            everything, cache = grown(student, keys, values, sizes, window)

            after = f"after parts of {sizes}" if len(sizes) < 9 else "after 13 parts"
            agrees(cache[0], keys[:, :, 13 - held :], f"The keys in the cache {after}")
            agrees(cache[1], values[:, :, 13 - held :], f"The values in the cache {after}")
            agrees(everything[:, :, -1:], keys[:, :, -1:], f"The newest key {after}")
            agrees(cache[2], 13, "The number of tokens so far")


@check("extend_cache", points=0.03, layer="laws")
def test_extension_with_a_long_window_keeps_everything(student, probe):
    """A window larger than the text keeps as much as no window, and a short one keeps less."""
    s = ONE_PAIR
    cache, x = drawn_cache(probe, s, 4, 4), probe.normal(s.B, s.G, 3, s.d)
    kept = [
        tensor(
            extended(student.call("extend_cache", cache, x, x, window))[2][0],
            "The keys in the next cache",
        )
        for window in (None, 8, 20, 3)
    ]

    for one in kept[1:3]:
        agrees(
            one,
            kept[0],
            "The keys in the cache with a window larger than the text",
            "those without one",
        )
    fewer = kept[3].ndim == 4 and kept[3].shape[2] < kept[0].shape[2]
    expect(fewer, "A short window does not keep fewer keys than no window.")


@check("extend_cache", points=0.05, layer="laws", rules=("dtype",))
def test_extension_keeps_the_dtype(student, probe):
    """Float64 keys and values stay float64, and float32 ones stay float32."""
    s, found = ONE_PAIR, []
    keys, values, seen = drawn_cache(probe, s, 3, 8)
    for dtype, times in ((torch.float64, 1), (torch.float32, -1)):
        cache, new = (keys.to(dtype), values.to(dtype), seen), times * keys.to(dtype)
        everything, _, kept = extended(student.call("extend_cache", cache, new, new, 4))
        what = "The tensor of all keys"
        same_dtype(tensor_like(everything, (s.B, s.G, 6, s.d), what), dtype, what)
        same_dtype(
            tensor(kept[1], "The values in the next cache"), dtype, "The values in the next cache"
        )
        found.append(everything.float())
    has_effect(*found, "the new keys")


@check("extend_cache", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_extension_leaves_its_arguments_alone(student, probe):
    """The cache and the new keys and values are unchanged, but they have an effect."""
    s = ONE_PAIR
    cache, x = drawn_cache(probe, s, 3, 8), probe.normal(s.B, s.G, 2, s.d)

    kept = student.keeps_inputs("extend_cache", cache, x, -x, 4)
    expect(kept, "The call changes the cache, or the new keys and values.")
    found = [
        tensor_like(answer[0], (s.B, s.G, 5, s.d), "The tensor of all keys")
        for answer in (extended(student.call("extend_cache", cache, one, x, 4)) for one in (x, -x))
    ]
    has_effect(*found, "the new keys")


@check("extend_cache", points=0.05, layer="laws", rules=("refuses",))
def test_extension_refuses_an_empty_window(student, probe):
    """A window of 1 is accepted, and smaller windows raise an error."""
    s = ONE_PAIR
    cache, x = drawn_cache(probe, s, 3, 8), probe.normal(s.B, s.G, 2, s.d)

    extended(student.call("extend_cache", None, x, x, 1))
    for given, window in ((None, 0), (cache, 0), (cache, -2)):
        refused = student.refuses("extend_cache", given, x, x, window)
        is_refused(refused, "A window below 1")


def marks_of(student, T, C, window=None):
    """Return the student's mask of these sizes as zeros and ones."""
    return pattern(student.call("cached_mask", T, C, window), T, C + T)


def same_marks(student, reference, *sizes):
    """Compare the student's mask of T, C and perhaps a window with the reference's."""
    agrees(marks_of(student, *sizes), marks_of(reference, *sizes), "The mask")


# cached_mask


@check("cached_mask", points=0.1, layer="documented")
def test_marks_after_cached_tokens_are_the_documented_ones(student, documented):
    """Three new tokens after one cached, and two after three, give the documented masks."""
    documented["torch.lower_right"].matches(marks_of(student, 3, 1), "cached_mask(3, 1)")
    documented["flash.mask.2_5"].matches(marks_of(student, 2, 3), "cached_mask(2, 3)")


@check("cached_mask", points=0.05, layer="documented")
def test_marks_of_a_window_are_the_documented_ones(student, documented):
    """Seven new tokens and a window of three give the documented mask."""
    documented["modular.window"].matches(marks_of(student, 7, 0, 3), "cached_mask(7, 0, 3)")


@check("cached_mask", points=0.1, layer="probe")
def test_marks_without_a_window(student, reference, probe):
    """Without a window, the mask is right with and without cached tokens."""
    for sizes in ((5, 0), (1, 6), (4 + probe.number % 5, 3)):
        same_marks(student, reference, *sizes)


@check("cached_mask", points=0.1, layer="probe")
def test_marks_of_a_window(student, reference, probe):
    """With a window, the mask is right for cached tokens inside and outside it."""
    for sizes in ((3, 4, 2), (1, 3, 4), (6 + probe.number % 5, 5, 6), (4, 2, 1), (3, 2, 9)):
        same_marks(student, reference, *sizes)


@check("cached_mask", points=0.1, layer="laws")
def test_marks_are_the_last_rows_of_the_whole_text(student, probe):
    """New tokens see what they would see if the whole text were new."""
    T, C = 4 + probe.number % 5, 6
    for window in (None, 3):
        whole = marks_of(student, C + T, 0, window)

        new = marks_of(student, T, C, window)
        what = f"The mask of the new tokens with window={window}"
        agrees(new, whole[C:], what, "the end of that of the text")
        expect(
            0 < int(whole[C:].sum()) < whole[C:].numel(),
            "The mask hides no key, or it hides each of them.",
        )


@check("cached_mask", points=0.1, layer="laws")
def test_marks_are_as_many_as_the_window(student, probe):
    """A token sees *window* tokens, or as many as there are up to itself."""
    T, C = 7 + probe.number % 3, 2
    for window, most in ((None, C + T), (4, 4)):
        counts = torch.arange(C + 1, C + T + 1).clamp(max=most)
        found = marks_of(student, T, C, window).sum(1)

        agrees(found, counts, "The vector of row sums")


@check("cached_mask", points=0.05, layer="laws")
def test_marks_end_at_the_token_itself(student, probe):
    """Each new token sees itself, and none sees a later token."""
    T, C = 5 + probe.number % 7, 3
    for window in (None, 2):
        new = marks_of(student, T, C, window)[:, C:]

        agrees(new.diagonal(), torch.ones(T).long(), "The diagonal of the mask of new tokens")
        expect(not new.triu(1).any(), "A token sees a later token.")


@check("cached_mask", points=0.05, layer="laws")
def test_marks_of_a_long_window_are_those_of_none(student, probe):
    """A window larger than the text hides as little as no window, and a short one hides more."""
    T, C = 4, 5 + probe.number % 7
    none, long, short = (marks_of(student, T, C, window) for window in (None, C + T + 2, 2))

    agrees(long, none, "The mask of a window larger than the text", "that without one")
    expect(short.sum() < none.sum(), "A short window does not hide more keys than none.")


@check("cached_mask", points=0.05, layer="laws", rules=("refuses",))
def test_marks_refuse_to_hide_everything(student):
    """A window of 1 is accepted, and smaller windows raise an error."""
    marks_of(student, 3, 2, 1)
    for arguments in ((3, 2, 0), (1, 4, -1), (2, 0, 0)):
        is_refused(student.refuses("cached_mask", *arguments), "A window below 1")


# DecoderAttention


@check(DECODER, points=0.05, layer="signature")
def test_decoder_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_model, num_heads, num_kv_heads, window and base."""
    sizes = {"d_model": 16, "num_heads": 4, "num_kv_heads": 2}

    student.new(DECODER, **sizes)
    student.new(DECODER, **sizes, window=3, base=500.0)


@check(DECODER, points=0.05, layer="shapes")
def test_decoder_gives_each_token_a_vector_of_d_model(student, probe):
    """Texts (3, 5, 24) give context vectors (3, 5, 24)."""
    context, _ = continued(student.new(DECODER, 24, 6, 3)(probe.normal(3, 5, 24)))

    tensor_like(context, (3, 5, 24), "The context of DecoderAttention(24, 6, 3)")


def caches_tokens(student, probe, window, held):
    """Fail the check unless five tokens give a cache of *held* tokens."""
    attention = student.new(DECODER, 24, 6, 3, window)
    _, (keys, values, _) = continued(attention(probe.normal(3, 5, 24)))

    what = f"in the cache of DecoderAttention(24, 6, 3, window={window})"
    tensor_like(keys, (3, 3, held, 4), f"The keys {what}")
    tensor_like(values, (3, 3, held, 4), f"The values {what}")


@check(DECODER, points=0.05, layer="shapes")
def test_decoder_returns_a_cache_of_few_heads(student, probe):
    """For texts (3, 5, 24), keys and values are (3, 3, 5, 4), also with a longer window."""
    for window in (None, 9, 6):
        caches_tokens(student, probe, window, 5)


@check(DECODER, points=0.1, layer="shapes")
def test_decoder_crops_its_cache_to_the_window(student, probe):
    """With a window of four tokens, the cache holds three, and with a window of one it is empty."""
    for window in (4, 1):
        caches_tokens(student, probe, window, window - 1)


@check(DECODER, points=0.05, layer="parameters")
def test_decoder_names_its_layers(student):
    """The layers are named W_query, W_key, W_value and out_proj."""
    has_names(student.new(DECODER, 8, 4, 2))


@check(DECODER, points=0.05, layer="parameters")
def test_decoder_has_the_layers_of_grouped_attention(student):
    """The four layers have the sizes of GroupedQueryAttention."""
    for s in (MORE_PAIRS, ONE_PAIR):
        has_sizes(student.new(DECODER, s.d_out, s.H, s.G), s)


@check(DECODER, points=0.05, layer="parameters")
def test_decoder_draws_its_layers_in_order(student, reference, probe):
    """The four layers are created in the order of the docstring, with the caller's seed."""
    for s in (LONG, ONE_PAIR):
        draws_in_order(student, reference, probe, DECODER, (s.d_out, s.H, s.G))


@check(DECODER, points=0.05, layer="parameters", rules=("no_seeding",))
def test_decoder_leaves_the_seed_to_the_caller(student, probe):
    """The constructor and the call do not seed torch's generator."""
    s = ONE_PAIR

    leaves_the_seed(student, DECODER, (s.d_out, s.H, s.G), tokens(probe, s))


@check(DECODER, points=0.25, layer="probe")
def test_decoder_continues_from_any_cache(student, reference, probe):
    """The context is right with and without a cache, for one new token and for several."""
    for s, seen, T in ((PAIRS, 0, 5), (PAIRS, 7, 1), (MORE_PAIRS, 3, 5), (ONE_PAIR, 17, 2)):
        yours, ours = both_decoders(student, reference, probe, s, base=100.0)
        x = tokens(probe, s, T)
        cache = drawn_cache(probe, s, seen, seen) if seen else None

        context, _ = continued(yours(x, cache=cache))
        agrees(context, ours(x, cache)[0], "The context")


@check(DECODER, points=0.05, layer="probe")
def test_decoder_has_a_base_of_10000_by_default(student, reference, probe):
    """Without the argument base, the context is that for a base of 10,000."""
    s = PAIRS
    weights, x = drawn_weights(probe, s), tokens(probe, s)
    yours = student.new(DECODER, s.d_out, s.H, s.G, None).load(weights, may_lack=LACKS)

    wanted, _ = decoder(reference, s, weights, base=10000.0)(x)
    agrees(whole_context(yours, x), wanted, "The context without the argument base")


@check(DECODER, points=0.25, layer="probe")
def test_decoder_continues_from_the_cache_of_a_window(student, reference, probe):
    """The context is right with a window and a cache that holds only the last tokens."""
    for s, window, held, seen, T in (
        (PAIRS, 4, 3, 17, 1),
        (MORE_PAIRS, 4, 3, 29, 3),
        (ONE_PAIR, 5, 4, 4, 7),
        (ONE_PAIR, 9, 5, 5, 2),
    ):
        yours, ours = both_decoders(student, reference, probe, s, window, base=100.0)
        x, cache = tokens(probe, s, T), drawn_cache(probe, s, held, seen)

        context, _ = continued(yours(x, cache))
        agrees(context, ours(x, cache)[0], f"The context with window={window}")


CACHES = (  # sizes, window, tokens in the cache, tokens so far, new tokens
    (PAIRS, None, 0, 0, 3),
    (MORE_PAIRS, None, 2, 2, 2),
    (PAIRS, 4, 3, 23, 1),
    (ONE_PAIR, 4, 3, 9, 6),
    (ONE_PAIR, 8, 2, 2, 3),
    (ONE_PAIR, 1, 0, 3, 2),
)


def caches(student, reference, probe):
    """Yield the caches of the student and of the reference for several windows, and which one."""
    for s, window, held, seen, T in CACHES:
        yours, ours = both_decoders(student, reference, probe, s, window, base=100.0)
        x = tokens(probe, s, T)
        cache = drawn_cache(probe, s, held, seen) if seen else None

        when = f" with window={window}"
        yield continued(yours(x, cache))[1], ours(x, cache)[1], when


@check(DECODER, points=0.1, layer="probe")
def test_decoder_caches_rotated_keys(student, reference, probe):
    """The cached keys are those of the right tokens, rotated, the oldest token first."""
    for yours, ours, when in caches(student, reference, probe):
        agrees(yours[0], ours[0], f"The keys in the cache{when}")


@check(DECODER, points=0.05, layer="probe")
def test_decoder_caches_values_as_they_are(student, reference, probe):
    """The cached values are those of the right tokens, not rotated, the oldest token first."""
    for yours, ours, when in caches(student, reference, probe):
        agrees(yours[1], ours[1], f"The values in the cache{when}")


@check(DECODER, points=0.05, layer="probe")
def test_decoder_counts_all_tokens(student, reference, probe):
    """The third entry of the cache counts all tokens so far, whose values are in the cache."""
    s, window = ONE_PAIR, 4
    yours, ours = both_decoders(student, reference, probe, s, window)
    x = tokens(probe, s, 6)
    for cache in (None, drawn_cache(probe, s, 3, 9), drawn_cache(probe, s, 2, 2)):
        _, (_, values, seen) = continued(yours(x, cache))
        wanted = ours(x, cache)[1]

        agrees(seen, wanted[2], "The number of tokens so far")
        newest = tensor(values, "The values in the cache")[:, :, -1:]
        agrees(newest, wanted[1][:, :, -1:], "The value of the newest token")


@check(DECODER, points=0.1, layer="laws")
def test_decoder_reads_a_text_in_any_parts(student, probe):
    """Split into any parts, a text gives the context of the whole text; earlier parts matter."""
    yours = decoder(student, LONG, drawn_weights(probe, LONG))
    x = tokens(probe, LONG)
    others = torch.cat((tokens(probe, LONG, 5), x[:, 5:]), dim=1)

    full, moved = (whole_context(yours, text) for text in (x, others))
    for sizes in CUTS:
        agrees(in_parts(yours, x, sizes), full, IN_PARTS, WHOLE)
    has_effect(full[:, 5:], moved[:, 5:], "the first tokens", " on later ones")


@check(DECODER, points=0.1, layer="laws")
def test_decoder_reads_through_a_window_in_any_parts(student, probe):
    """With a window, a text in any parts gives the context of the whole; tokens in it matter."""
    weights, x = drawn_weights(probe, LONG), tokens(probe, LONG)
    for window, cuts in ((3, CUTS), (5, CUTS[:2]), (20, CUTS[:1])):
        yours = decoder(student, LONG, weights, window)

        full = whole_context(yours, x)
        for sizes in cuts:
            agrees(in_parts(yours, x, sizes), full, f"{IN_PARTS} with window={window}", WHOLE)
    others = whole_context(yours, torch.cat((x[:, 5:10], x[:, 5:]), dim=1))
    has_effect(full[:, 5:], others[:, 5:], "the tokens in a window")


@check(DECODER, points=0.05, layer="laws")
def test_decoder_keeps_two_texts_apart(student, probe):
    """Two texts that are continued in turn give the same results as one after the other."""
    yours = decoder(student, ONE_PAIR, drawn_weights(probe, ONE_PAIR), 4)
    texts = [tokens(probe, ONE_PAIR, 6) for _ in range(2)]
    caches = [None, None]

    full = [whole_context(yours, x) for x in texts]
    for start in (0, 2, 4):
        for which, x in enumerate(texts):
            part = x[:, start : start + 2].contiguous()
            context, caches[which] = continued(yours(part, caches[which]))
            wanted = full[which][:, start : start + 2]
            agrees(context, wanted, IN_PARTS, WHOLE)
    last = texts[0][:, 4:].contiguous()
    first, second = (
        tensor_like(continued(yours(last, cache))[0], tuple(last.shape), "The context")
        for cache in caches
    )
    has_effect(first, second, "the cache")


@check(DECODER, points=0.05, layer="laws")
def test_decoder_sees_only_its_window(student, probe):
    """A token outside the window has no effect, but the oldest token in the window has one."""
    s, window = PAIRS, 4
    yours = decoder(student, s, only_values(drawn_weights(probe, s)), window)
    x = tokens(probe, s, 9)
    others = x.clone()
    others[:, 2, -1] += FAR

    before, after = (whole_context(yours, one) for one in (x, others))
    apart = [*range(2 + window, 9)]
    what = "The context of tokens that are far from a change"
    agrees(after[:, apart], before[:, apart], what, "that before")
    what = "the oldest token in a window"
    has_effect(before[:, 1 + window], after[:, 1 + window], what, " on the newest one")


@check(DECODER, points=0.05, layer="laws")
def test_decoder_sees_the_past_and_not_the_future(student, probe):
    """After a cache, a token affects the tokens after it, and none before it."""
    s = LONG
    yours = decoder(student, s, only_values(drawn_weights(probe, s)))
    x, cache = tokens(probe, s, 6), drawn_cache(probe, s, 5, 5)
    others = x.clone()
    others[:, 2, -1] += FAR

    before, after = (
        tensor_like(continued(yours(text, cache))[0], tuple(x.shape), "The context")
        for text in (x, others)
    )
    agrees(
        after[:, :2],
        before[:, :2],
        "After a change of a later token, the context of earlier ones",
        "that before",
    )
    has_effect(before[:, 3:], after[:, 3:], "a token", " on later ones")


@check(DECODER, points=0.1, layer="laws")
def test_decoder_depends_on_distances_alone(student, probe):
    """With a window, the last tokens get the same context at the end of any longer text."""
    s, window = PAIRS, 3
    yours = decoder(student, s, drawn_weights(probe, s), window)
    end = tokens(probe, s, 5)
    others = torch.cat((tokens(probe, s, 2), end[:, 2:]), dim=1)

    near, far, other = (
        whole_context(yours, torch.cat((tokens(probe, s, before), last), dim=1))[:, -3:]
        for before, last in ((2, end), (8, end), (2, others))
    )
    agrees(far, near, "The context of the last tokens, six positions later,", "that before")
    has_effect(near[:, :2], other[:, :2], "the tokens in a window")


@check(DECODER, points=0.05, layer="laws")
def test_decoder_keeps_old_keys_and_adds_new_ones(student, probe):
    """The keys and values in the cache stay, and those of the new tokens follow them."""
    s = LONG
    weights, x, new = drawn_weights(probe, s), tokens(probe, s, 6), tokens(probe, s, 2)
    for window, stays in ((None, 6), (5, 2)):
        yours = decoder(student, s, weights, window)

        _, cache = continued(yours(x))
        for old, now in zip(cache[:2], continued(yours(new, tuple(cache)))[1], strict=False):
            shape = (s.B, s.G, stays + 2, s.d)
            held = tensor_like(now, shape, f"A part of the cache with window={window}")
            what = f"The part of the cache with window={window} that must stay"
            agrees(held[:, :, :stays], old[:, :, -stays:], what, "that before")
            has_effect(held[:, :, -1], held[:, :, -2], "a new token")


@check(DECODER, points=0.2, layer="laws", rules=("dtype",))
def test_decoder_keeps_the_dtype(student, probe):
    """In float64 all results are float64, and in float32 they are float32."""
    s, contexts = ONE_PAIR, []
    yours = decoder(student, s, drawn_weights(probe, s), 4)
    x, (old_keys, old_values, seen) = tokens(probe, s, 2), drawn_cache(probe, s, 3, 8)

    for dtype, name, times in ((torch.float64, "float64", 1), (torch.float32, "float32", -1)):
        yours.move(name)
        cache = (old_keys.to(dtype), times * old_values.to(dtype), seen)
        context, (keys, values, _) = continued(yours(x.to(dtype), cache))
        found = tensor_like(context, tuple(x.shape), "The context")
        for what, part in (("The context", found), ("The keys", keys), ("The values", values)):
            same_dtype(part, dtype, what)
        contexts.append(found.float())
    has_effect(*contexts, "the cached values")


@check(DECODER, points=0.2, layer="laws", rules=("inputs_unchanged",))
def test_decoder_leaves_its_arguments_alone(student, probe):
    """The tokens and the cache are unchanged, but they have an effect."""
    s = ONE_PAIR
    yours = decoder(student, s, drawn_weights(probe, s), 4)
    x, cache = tokens(probe, s, 2), drawn_cache(probe, s, 3, 8)

    expect(yours.keeps_inputs(x, cache), "The call changes the tokens or the cache.")
    before, after = (
        tensor_like(continued(yours(x, one))[0], tuple(x.shape), "The context")
        for one in (cache, (cache[0], -cache[1], cache[2]))
    )
    has_effect(before, after, "the cached values")


@check(DECODER, points=0.05, layer="laws", rules=("refuses",))
def test_decoder_refuses_heads_that_do_not_fit(student, probe):
    """An uneven split into heads or groups, or a head of an odd size, raises an error."""
    student.new(DECODER, 24, 6, 3)  # an even split
    for what, sizes in (
        ("A d_model that num_heads does not divide", (26, 4, 2)),
        ("A num_heads that num_kv_heads does not divide", (24, 6, 4)),
        ("A num_kv_heads above num_heads", (24, 2, 4)),
        ("A head of an odd size", (20, 4, 2)),
        ("A head of an odd size", (9, 3, 1)),
        ("A head of an odd size", (12, 4, 2)),
    ):
        refused = student.refuses(DECODER, *sizes)
        refused = refused or student.new(DECODER, *sizes).refuses(probe.normal(2, 5, sizes[0]))
        is_refused(refused, what)


@check(DECODER, points=0.05, layer="gradients", rules=("gradients",))
def test_decoder_can_be_trained(student, probe):
    """Gradients flow back to the input and the weights of all four layers."""
    s = ONE_PAIR
    yours = decoder(student, s, drawn_weights(probe, s), 3)
    x, back = tokens(probe, s), probe.normal(s.B, s.T, s.d_out)

    continued(yours(x))
    all_reached(yours.gradients(x, cotangent={0: back}))


@check(DECODER, points=0.05, layer="forbidden", rules=("no_ready_attention",))
def test_decoder_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    avoids(student, DECODER, READY_ATTENTION, BY_HAND)
    yours = decoder(student, LONG, drawn_weights(probe, LONG))
    avoids_running(yours.operators(tokens(probe, LONG)), READY_ATTENTION, BY_HAND)


@check(DECODER, points=0.05, layer="forbidden", rules=("projected_once",))
def test_decoder_projects_new_tokens_only(student, probe):
    """One new token needs as many products for its projections after 10 tokens as after 40."""
    s = LONG
    yours = decoder(student, s, drawn_weights(probe, s))
    x = tokens(probe, s, 1)

    ran = [yours.operators(x, drawn_cache(probe, s, seen, seen)) for seen in (10, 40)]
    keeps_products(*ran, s.d_in, ONCE)


@check(DECODER, points=0.05, layer="forbidden", rules=("no_loops",))
def test_decoder_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    weights = drawn_weights(probe, ONE_PAIR)
    for window in (None, 3):
        yours = decoder(student, ONE_PAIR, weights, window)
        few, many = (tokens(probe, ONE_PAIR, T) for T in (4, 11))

        keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)
