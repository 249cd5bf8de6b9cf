"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, number, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators, keeps_products
from autograder.suite.student_proxy import RemoteModule, Student

# The arguments of each class; its first check grades their order.
CONSTRUCTORS = {
    "GroupedQueryAttention": (
        "d_in",
        "d_out",
        "context_length",
        "num_heads",
        "num_kv_heads",
        "window",
    ),
    "DecoderAttention": ("d_model", "num_heads", "num_kv_heads", "window", "base"),
}


@pytest.fixture
def inputs(documented: DocumentedTensors) -> Tensor:
    """Return "Your journey starts with one step", one embedding per row: (6, 3)."""
    return documented["000.inputs"].tensor.clone()


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
GROUPED = "GroupedQueryAttention"
DECODER = "DecoderAttention"
QKV = ("W_query", "W_key", "W_value")
LACKS = ("out_proj.bias",)  # if it is missing, only the checks of parameters fail
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
AT_ONCE = "Attend for all tokens at once."
ONCE = "Project the new tokens only: the keys and values of all other tokens are in the cache."
CUTS = ((2, 11), (5, 1, 7), (13,), (1,) * 13)


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


def both_grouped(student, reference, probe, s, window=None):
    """Build the student's module and the reference, and load the same large weights."""
    weights = drawn_weights(probe, s)
    sizes = (s.d_in, s.d_out, s.context, s.H, s.G, window)
    yours = student.new(GROUPED, *sizes).load(weights, may_lack=LACKS)
    return yours, reference.new(GROUPED, *sizes).load(weights)


def both_decoders(student, reference, probe, s, window=None, **base):
    """Build the student's module and the reference, and load the same large weights."""
    weights = drawn_weights(probe, s)
    sizes = (s.d_out, s.H, s.G, window)
    yours, ours = (side.new(DECODER, *sizes, **base) for side in (student, reference))
    return yours.load(weights, may_lack=LACKS), ours.load(weights)


def tokens(probe, s, T=None, *, scale=0.6):
    """Draw a batch with different items."""
    return probe.normal(s.B, T or s.T, s.d_in, scale=scale)


def drawn_cache(probe, s, held, seen):
    """Draw a cache of *held* tokens, after *seen* tokens in total."""
    return (probe.normal(s.B, s.G, held, s.d), probe.normal(s.B, s.G, held, s.d), seen)


def pattern(answer, T):
    """Return a mask as zeros and ones, or fail the check if it has other numbers."""
    found = tensor_like(answer, (T, T), "The mask")
    expect(
        bool(((found == 0) | (found == 1)).all()),
        "The mask must contain only 0 and 1, or False and True.",
    )
    return (found == 1).long()


def whole(answer):
    """Return the number of bytes, or fail the check if it is not an int."""
    found = number(answer, "The number of bytes")
    sentence = "The number of bytes is not an int."
    expect(type(answer) is int, sentence, Status.WRONG_TYPE)
    return found


def continued(answer):
    """Return the context and the cache, or fail the check if the answer is not a pair of them."""
    sentence = "The call does not return the context and a cache; it should return a tuple of both."
    is_pair = isinstance(answer, tuple | list) and len(answer) == 2
    expect(is_pair, sentence, Status.WRONG_TYPE)
    context, cache = answer
    sentence = "The cache is not a tuple (keys, values, seen)."
    is_triple = isinstance(cache, tuple | list) and len(cache) == 3
    expect(is_triple, sentence, Status.WRONG_TYPE)
    keys, values, seen = cache
    tensor(keys, "The keys in the cache")
    tensor(values, "The values in the cache")
    counted = isinstance(seen, int | float | torch.Tensor)
    expect(counted, "The entry `seen` of the cache is not a number.", Status.WRONG_TYPE)
    return context, cache


def agrees_in_parts(module, x, sizes, full):
    """Continue a text part by part, and compare each context with the same part of *full*."""
    cache, start = None, 0
    for part in x.split(sizes, dim=1):
        context, cache = continued(module(part.contiguous(), cache))
        end = start + part.shape[1]
        agrees(context, full[:, start:end], "The context of a text in parts")
        start = end


def whole_context(module, x):
    """Return the context of a whole text."""
    context, _ = continued(module(x))
    return tensor_like(context, tuple(x.shape), "The context")


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
        expect(reached, f"No gradient reaches {name}.")


def is_refused(refused, what):
    """Fail the check if a wrong argument is accepted."""
    sentence = f"{what} gives a result; it should raise a ValueError."
    expect(refused, sentence, Status.NOT_REFUSED)


# repeat_heads


@check("repeat_heads", points=0.1, layer="shapes")
def test_heads_become_as_many_as_asked(student):
    """Keys (2, 3, 5, 4) become (2, 6, 5, 4) for six heads."""
    repeated = student.call("repeat_heads", torch.ones(2, 3, 5, 4), 6)

    tensor_like(repeated, (2, 6, 5, 4), "repeat_heads of (2, 3, 5, 4)")


@check("repeat_heads", points=0.3, layer="documented")
def test_heads_are_shared_as_documented(student, documented):
    """Six query heads share two key-value heads as documented: 0, 0, 0, 1, 1, 1."""
    repeated = student.call("repeat_heads", torch.arange(2).view(1, 2, 1, 1), 6)

    repeated = tensor_like(repeated, (1, 6, 1, 1), "The result")
    documented["flash.groups"].matches(repeated.flatten(), "The key-value head of each query head")


@check("repeat_heads", points=0.3, layer="probe")
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


@check("repeat_heads", points=0.1, layer="laws", rules=("refuses",))
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


# window_mask


@check("window_mask", points=0.6, layer="documented")
def test_window_is_the_documented_one(student, documented):
    """Seven tokens and a window of three give the documented mask."""
    found = pattern(student.call("window_mask", 7, 3), 7)

    documented["modular.window"].matches(found, "window_mask(7, 3)")


@check("window_mask", points=0.3, layer="probe")
def test_window_of_other_sizes(student, reference):
    """The mask is right for other lengths, windows and sinks."""
    for sizes in ((5, 1), (6, 4), (9, 2, 1), (8, 3, 2), (4, 7), (1, 1), (6, 1, 4)):
        ours = pattern(reference.call("window_mask", *sizes), sizes[0])

        agrees(pattern(student.call("window_mask", *sizes), sizes[0]), ours, "The mask")


@check("window_mask", points=0.1, layer="laws")
def test_window_limits_what_each_token_sees(student):
    """A token sees at most *window* tokens and the sinks; a window of T gives a causal mask."""
    T, window, sinks = 9, 3, 2
    long = pattern(student.call("window_mask", T, T), T)
    agrees(long, torch.ones(T, T, dtype=torch.long).tril(), "The mask with a window of T")
    rows = pattern(student.call("window_mask", T, window, sinks=sinks), T)

    counts = torch.arange(1, T + 1).clamp(max=window + sinks)
    agrees(rows.sum(1), counts, "The number of tokens that each token sees")
    agrees(
        rows.diagonal(),
        torch.ones(T, dtype=torch.long),
        ("The entry of each token and its own key"),
    )


@check("window_mask", points=0.1, layer="laws", rules=("refuses",))
def test_window_refuses_to_hide_everything(student):
    """A window of 1 is accepted, and smaller windows raise an error."""
    pattern(student.call("window_mask", 4, 1), 4)
    for arguments in ((4, 0), (4, -1), (3, 0, 1)):
        is_refused(student.refuses("window_mask", *arguments), "A window below 1")


# cache_bytes


@check("cache_bytes", points=0.5, layer="documented")
def test_bytes_are_the_documented_ones(student, documented):
    """The caches of a model for 32,768 tokens in 32 layers have the documented sizes."""
    full, layers, near, few = 32768, 32, 1024, 5
    gigabytes = [whole(student.call("cache_bytes", full, 128, G, layers)) / 1e9 for G in (32, 8)]
    windowed = [
        whole(student.call("cache_bytes", full, 128, G, layers - few, window=near)) / 1e9
        + whole(student.call("cache_bytes", full, 128, G, few)) / 1e9
        for G in (32, 8)
    ]

    what = "The cache for 32 and for 8 key-value heads, in gigabytes,"
    documented["rasbt.cache"].matches(torch.tensor(gigabytes), what)
    what = "The cache with a window of 1024 in 27 of 32 layers, in gigabytes,"
    documented["rasbt.cache.windowed"].matches(torch.tensor(windowed), what)


@check("cache_bytes", points=0.2, layer="probe")
def test_bytes_are_those_of_a_real_cache(student, reference, probe):
    """The number is the size of a real cache, and it is right for windows and several texts."""
    s = ONE_PAIR
    _, cache = reference.new(DECODER, s.d_out, s.H, s.G)(tokens(probe, s))
    held = sum(part.numel() * part.element_size() for part in cache[:2])
    asked = {"bytes_per_number": 4, "batch_size": s.B}

    found = student.call("cache_bytes", s.T, s.d, s.G, 1, **asked)
    agrees(found, held, "The number of bytes")
    for sizes in (
        (100, 16, 4, 3),
        (50, 8, 3, 2, 4),
        (70, 32, 5, 6, 1, 7),
        (90, 16, 2, 4, 2, 3, 11),
        (60, 8, 7, 5, 4, 2, 60),
        (30, 4, 3, 2, 2, 1, 64),
    ):
        ours = reference.call("cache_bytes", *sizes)
        agrees(student.call("cache_bytes", *sizes), ours, "The number of bytes")


# GroupedQueryAttention


@check(GROUPED, points=0.1, layer="signature")
def test_groups_are_built_by_the_names_of_their_arguments(student):
    """The constructor takes d_in, d_out, context_length, num_heads, num_kv_heads and window."""
    sizes = {"d_in": 3, "d_out": 8, "context_length": 6, "num_heads": 4, "num_kv_heads": 2}

    student.new(GROUPED, **sizes)
    student.new(GROUPED, **sizes, window=3)


@check(GROUPED, points=0.1, layer="shapes")
def test_groups_give_each_token_a_vector_of_d_out(student, probe):
    """Texts (3, 5, 7) give context vectors (3, 5, 24)."""
    context = student.new(GROUPED, 7, 24, 10, 4, 2)(probe.normal(3, 5, 7))

    tensor_like(context, (3, 5, 24), "GroupedQueryAttention(7, 24, 10, 4, 2) of (3, 5, 7)")


def has_layers(module, s):
    """Fail the check unless the weights and the bias have the sizes in *s*."""
    wanted = dict(
        zip(
            (*(f"{name}.weight" for name in QKV), "out_proj.weight", "out_proj.bias"),
            ((s.d_out, s.d_in), *[(s.d_keys, s.d_in)] * 2, (s.d_out, s.d_out), (s.d_out,)),
            strict=True,
        )
    )
    found = module.shapes()
    for name, shape in wanted.items():
        expect(name in found, f"There is no parameter {name}.")
        what = f"{name} has shape {found[name]}; it should have {shape}."
        expect(found[name] == shape, f"{name} has the wrong shape.", message=what)
    for name in QKV:
        expect(f"{name}.bias" not in found, f"{name} has a bias; it should have none.")


def draws_in_order(student, reference, probe, name, sizes):
    """Fail the check unless the layers are created in the order of the docstring."""
    found = student.new(name, *sizes, seed=probe.seed).parameters()
    drawn = reference.new(name, *sizes, seed=probe.seed).parameters()
    for parameter, ours in drawn.items():
        expect(parameter in found, f"There is no parameter {parameter}.")
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


@check(GROUPED, points=0.2, layer="parameters")
def test_groups_have_fewer_weights_for_keys_and_values(student):
    """W_key and W_value have num_kv_heads heads, and W_query and out_proj have num_heads."""
    for s in (SIX, ONE_KEY, EQUAL):
        has_layers(student.new(GROUPED, s.d_in, s.d_out, s.context, s.H, s.G), s)


@check(GROUPED, points=0.2, layer="parameters")
def test_groups_draw_their_layers_in_order(student, reference, probe):
    """The four layers are created in the order of the docstring, with the caller's seed."""
    for s in (SIX, ONE_KEY):
        sizes = (s.d_in, s.d_out, s.context, s.H, s.G)
        draws_in_order(student, reference, probe, GROUPED, sizes)


@check(GROUPED, points=0.1, layer="parameters", rules=("no_seeding",))
def test_groups_leave_the_seed_to_the_caller(student, probe):
    """The constructor and the call do not seed torch's generator."""
    s = ONE_KEY
    sizes = (s.d_in, s.d_out, s.context, s.H, s.G)

    leaves_the_seed(student, GROUPED, sizes, tokens(probe, s))


@check(GROUPED, points=0.6, layer="documented")
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


@check(GROUPED, points=0.4, layer="probe")
def test_groups_see_their_window(student, reference, probe):
    """The result is right for windows of one token, of several tokens, or longer than the text."""
    for s, window in ((SIX, 4), (EIGHT, 1), (ONE_KEY, 2), (EIGHT, 20)):
        yours, ours = both_grouped(student, reference, probe, s, window)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The context")


@check(GROUPED, points=0.1, layer="laws", rules=("dtype",))
def test_groups_keep_the_dtype(keeps_dtype, student, reference, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    attention, _ = both_grouped(student, reference, probe, ONE_KEY, 4)

    keeps_dtype(attention, tokens(probe, ONE_KEY))


@check(GROUPED, points=0.1, layer="laws")
def test_groups_are_heads_with_equal_keys(student, probe):
    """Repeating the weights of each group for H key-value heads does not change the context."""
    s = EIGHT
    weights = drawn_weights(probe, s)
    for name in ("W_key.weight", "W_value.weight"):
        heads = weights[name].unflatten(0, (s.G, s.d)).repeat_interleave(s.H // s.G, dim=0)
        weights[f"many {name}"] = heads.flatten(0, 1)
    x = tokens(probe, s)
    few = student.new(GROUPED, s.d_in, s.d_out, s.context, s.H, s.G)
    many = student.new(GROUPED, s.d_in, s.d_out, s.context, s.H, s.H)
    given = {name: value for name, value in weights.items() if not name.startswith("many ")}
    more = {name: weights[f"many {name}"] for name in ("W_key.weight", "W_value.weight")}
    few.load(given, may_lack=LACKS)
    many.load(given | more, may_lack=LACKS)

    before = tensor_like(few(x), (s.B, s.T, s.d_out), "The context")
    agrees(many(x), before, "The context with the weights of each group repeated")


@check(GROUPED, points=0.1, layer="laws")
def test_groups_forget_what_left_the_window(student, reference, probe):
    """A token outside the window has no effect, but the oldest token in the window does."""
    s, window = SIX, 3
    yours, _ = both_grouped(student, reference, probe, s, window)
    x = tokens(probe, s)
    others = x.clone()
    others[:, 2] = 2 * probe.normal(s.B, s.d_in)

    before = tensor_like(yours(x), (s.B, s.T, s.d_out), "The context")
    after = tensor_like(yours(others), (s.B, s.T, s.d_out), "The context")
    sentence = "After a change of one token, the result of the tokens that do not see it"
    apart = [0, 1, *range(2 + window, s.T)]
    agrees(after[:, apart], before[:, apart], sentence)
    oldest = 1 + window  # the last token that sees the changed one
    seen = alike(after[:, oldest], before[:, oldest])
    expect(not seen, "A change of the oldest token in a window has no effect.")


@check(GROUPED, points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_groups_keep_items_apart_and_never_look_ahead(student, reference, probe):
    """An item alone and a shortened text get the same results, and the input is unchanged."""
    yours, _ = both_grouped(student, reference, probe, EIGHT)
    x = tokens(probe, EIGHT)

    together = tensor_like(yours(x), (EIGHT.B, EIGHT.T, EIGHT.d_out), "The context")
    for item in range(EIGHT.B):
        agrees(yours(x[item : item + 1]), together[item : item + 1], "The result of an item alone")
    for T in (1, 3):
        agrees(yours(x[:, :T].contiguous()), together[:, :T], "The result of a shortened text")
    expect(yours.keeps_inputs(x), "The call changes its input.")


@check(GROUPED, points=0.1, layer="laws", rules=("refuses",))
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


@check(GROUPED, points=0.1, layer="laws", rules=("refuses",))
def test_groups_refuse_more_tokens_than_fit(student, reference, probe):
    """The module accepts context_length tokens and raises an error for more."""
    s = ONE_KEY
    for window in (None, 3):
        yours, _ = both_grouped(student, reference, probe, s, window)
        x = tokens(probe, s, s.context)

        tensor_like(yours(x), (s.B, s.context, s.d_out), "The context")
        for T in (s.context + 1, 2 * s.context):
            refused = yours.refuses(tokens(probe, s, T))
            is_refused(refused, "An input of more tokens than context_length")


@check(GROUPED, points=0.1, layer="gradients", rules=("gradients",))
def test_groups_pass_gradients_back(student, reference, probe):
    """Gradients flow back to the input and the weights of all four layers."""
    s = ONE_KEY
    yours, _ = both_grouped(student, reference, probe, s, 4)

    x, back = tokens(probe, s), probe.normal(s.B, s.T, s.d_out)
    all_reached(yours.gradients(x, cotangent=back))


@check(GROUPED, points=0.2, layer="forbidden", rules=("no_ready_attention",))
def test_groups_are_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = both_grouped(student, reference, probe, ONE_KEY)
    x = tokens(probe, ONE_KEY)

    agrees(yours(x), ours(x), "The context")
    avoids(student, GROUPED, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)


@check(GROUPED, points=0.1, layer="forbidden", rules=("no_loops",))
def test_groups_need_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    s = ONE_KEY
    for window in (None, 3):
        yours, ours = both_grouped(student, reference, probe, s, window)
        few, many = (tokens(probe, s, T) for T in (4, s.context))

        agrees(yours(many), ours(many), "The context")
        keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)


# DecoderAttention


@check(DECODER, points=0.1, layer="signature")
def test_decoder_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_model, num_heads, num_kv_heads, window and base."""
    sizes = {"d_model": 16, "num_heads": 4, "num_kv_heads": 2}

    student.new(DECODER, **sizes)
    student.new(DECODER, **sizes, window=3, base=500.0)


@check(DECODER, points=0.1, layer="shapes")
def test_decoder_gives_each_token_a_vector_of_d_model(student, probe):
    """Texts (3, 5, 24) give context vectors (3, 5, 24)."""
    context, _ = continued(student.new(DECODER, 24, 6, 3)(probe.normal(3, 5, 24)))

    tensor_like(context, (3, 5, 24), "The context of DecoderAttention(24, 6, 3)")


@check(DECODER, points=0.1, layer="shapes")
def test_decoder_returns_a_cache_of_few_heads(student, probe):
    """For texts (3, 5, 24), keys and values are (3, 3, 5, 4), with fewer tokens in a window."""
    for window, held in ((None, 5), (9, 5), (6, 5), (4, 3)):
        attention = student.new(DECODER, 24, 6, 3, window)
        _, (keys, values, seen) = continued(attention(probe.normal(3, 5, 24)))

        what = "in the cache of DecoderAttention(24, 6, 3)"
        tensor_like(keys, (3, 3, held, 4), f"The keys {what}")
        tensor_like(values, (3, 3, held, 4), f"The values {what}")
        agrees(seen, 5, "The number of tokens so far")


@check(DECODER, points=0.1, layer="parameters")
def test_decoder_has_the_layers_of_grouped_attention(student):
    """The four layers have the sizes of GroupedQueryAttention."""
    for s in (MORE_PAIRS, ONE_PAIR):
        has_layers(student.new(DECODER, s.d_out, s.H, s.G), s)


@check(DECODER, points=0.2, layer="parameters")
def test_decoder_draws_its_layers_in_order(student, reference, probe):
    """The four layers are created in the order of the docstring, with the caller's seed."""
    for s in (LONG, ONE_PAIR):
        draws_in_order(student, reference, probe, DECODER, (s.d_out, s.H, s.G))


@check(DECODER, points=0.1, layer="parameters", rules=("no_seeding",))
def test_decoder_leaves_the_seed_to_the_caller(student, probe):
    """The constructor and the call do not seed torch's generator."""
    s = ONE_PAIR

    leaves_the_seed(student, DECODER, (s.d_out, s.H, s.G), tokens(probe, s))


@check(DECODER, points=0.3, layer="probe")
def test_decoder_continues_from_any_cache(student, reference, probe):
    """The context is right with and without a cache, for one new token and for several."""
    for s, seen, T in ((PAIRS, 0, 5), (PAIRS, 7, 1), (MORE_PAIRS, 3, 5), (ONE_PAIR, 17, 2)):
        yours, ours = both_decoders(student, reference, probe, s, base=100.0)
        x = tokens(probe, s, T)
        cache = drawn_cache(probe, s, seen, seen) if seen else None

        context, _ = continued(yours(x, cache=cache))
        agrees(context, ours(x, cache)[0], "The context")


@check(DECODER, points=0.3, layer="probe")
def test_decoder_continues_from_the_cache_of_a_window(student, reference, probe):
    """The context is right with a window and a cache that holds only the last tokens."""
    for s, window, held, seen, T in (
        (PAIRS, 4, 3, 17, 1),
        (MORE_PAIRS, 4, 3, 29, 3),
        (ONE_PAIR, 5, 4, 4, 7),
        (ONE_PAIR, 9, 5, 5, 2),
        (ONE_PAIR, 1, 0, 11, 2),
    ):
        yours, ours = both_decoders(student, reference, probe, s, window, base=100.0)
        x, cache = tokens(probe, s, T), drawn_cache(probe, s, held, seen)

        context, _ = continued(yours(x, cache))
        agrees(context, ours(x, cache)[0], "The context")


@check(DECODER, points=0.3, layer="probe")
def test_decoder_caches_the_right_tokens(student, reference, probe):
    """In the new cache, only keys are rotated, the oldest token is first, and seen is right."""
    for s, window, held, seen, T in (
        (PAIRS, None, 0, 0, 3),
        (MORE_PAIRS, None, 2, 2, 2),
        (PAIRS, 4, 3, 23, 1),
        (ONE_PAIR, 4, 3, 9, 6),
        (ONE_PAIR, 8, 2, 2, 3),
        (ONE_PAIR, 1, 0, 3, 2),
    ):
        yours, ours = both_decoders(student, reference, probe, s, window, base=100.0)
        x = tokens(probe, s, T)
        cache = drawn_cache(probe, s, held, seen) if seen else None

        _, (keys, values, count) = continued(yours(x, cache))
        _, (our_keys, our_values, our_count) = ours(x, cache)
        agrees(keys, our_keys, "The keys in the cache")
        agrees(values, our_values, "The values in the cache")
        agrees(count, our_count, "The number of tokens so far")


@check(DECODER, points=0.2, layer="laws")
def test_decoder_reads_a_text_in_any_parts(student, reference, probe):
    """A text of 13 tokens, split into any parts, gives the context of the whole text."""
    yours, _ = both_decoders(student, reference, probe, LONG)
    x = tokens(probe, LONG)

    full = whole_context(yours, x)
    for sizes in CUTS:
        agrees_in_parts(yours, x, sizes, full)


@check(DECODER, points=0.2, layer="laws")
def test_decoder_reads_through_a_window_in_any_parts(student, reference, probe):
    """With any window, a text split into any parts gives the context of the whole text."""
    x = tokens(probe, LONG)
    for window, cuts in ((3, CUTS), (5, CUTS[:2]), (20, CUTS[:1]), (1, CUTS[1:2])):
        yours, _ = both_decoders(student, reference, probe, LONG, window, base=200.0)

        full = whole_context(yours, x)
        for sizes in cuts:
            agrees_in_parts(yours, x, sizes, full)


@check(DECODER, points=0.2, layer="laws")
def test_decoder_never_caches_more_than_it_needs(student, reference, probe):
    """The cache never holds more tokens than the next call needs, and seen counts all tokens."""
    s = LONG
    x = tokens(probe, s)
    for window in (1, 5, None):
        yours, _ = both_decoders(student, reference, probe, s, window)
        _, cache = continued(yours(x[:, :3].contiguous()))
        for start, end in pairwise((3, 5, 6, 12, 13)):
            part = x[:, start:end].contiguous()
            _, (keys, values, seen) = continued(yours(part, cache))

            held = end if window is None else min(end, window - 1)
            tensor_like(keys, (s.B, s.G, held, s.d), "The keys in the cache")
            tensor_like(values, (s.B, s.G, held, s.d), "The values in the cache")
            agrees(seen, end, "The number of tokens so far")
            kept = max(0, held - (end - start))
            if kept:
                agrees(keys[:, :, :kept], cache[0][:, :, -kept:], "The keys that stay in the cache")
                agrees(
                    values[:, :, :kept], cache[1][:, :, -kept:], "The values that stay in the cache"
                )
            cache = (keys, values, seen)


@check(DECODER, points=0.1, layer="laws")
def test_decoder_keeps_two_texts_apart(student, reference, probe):
    """Two texts that are continued in turn give the same results as one after the other."""
    yours, _ = both_decoders(student, reference, probe, ONE_PAIR, 4)
    texts = [tokens(probe, ONE_PAIR, 6) for _ in range(2)]
    caches = [None, None]

    full = [whole_context(yours, x) for x in texts]
    for start in (0, 2, 4):
        for which, x in enumerate(texts):
            part = x[:, start : start + 2].contiguous()
            context, caches[which] = continued(yours(part, caches[which]))
            wanted = full[which][:, start : start + 2]
            agrees(context, wanted, "The context of one of the two texts")


@check(DECODER, points=0.1, layer="laws")
def test_decoder_sees_only_its_window(student, reference, probe):
    """A token outside the window has no effect through one layer, but it has one through two."""
    s, window = LONG, 4
    yours, _ = both_decoders(student, reference, probe, s, window)
    x = tokens(probe, s)
    others = x.clone()
    others[:, 2] = 2 * probe.normal(s.B, s.d_in)

    before, after = (whole_context(yours, one) for one in (x, others))
    sentence = "After a change of one token, the result of the tokens that do not see it"
    apart = [0, 1, *range(2 + window, s.T)]
    agrees(after[:, apart], before[:, apart], sentence)
    twice = [whole_context(yours, one) for one in (before, after)]
    unseen = alike(twice[1][:, 2 + window], twice[0][:, 2 + window])
    expect(not unseen, "Even through a second layer, a token outside the window has no effect.")


@check(DECODER, points=0.1, layer="laws", rules=("dtype", "inputs_unchanged"))
def test_decoder_keeps_the_dtype_and_its_inputs(student, reference, probe):
    """In float64 all results are float64, and the given tokens and cache are unchanged."""
    s, window = ONE_PAIR, 4
    yours, _ = both_decoders(student, reference, probe, s, window)
    x, cache = tokens(probe, s, 2), drawn_cache(probe, s, 3, 8)

    continued(yours(x, cache))
    expect(yours.keeps_inputs(x, cache), "The call changes the tokens or the cache.")
    yours.move("float64")
    wide = (cache[0].double(), cache[1].double(), 8)
    context, (keys, values, _) = continued(yours(x.double(), wide))
    for what, found in (("context", context), ("keys", keys), ("values", values)):
        right = tensor(found, f"The {what}").dtype is torch.float64
        expect(
            right, f"For float64 inputs, the dtype of the {what} is not float64.", Status.WRONG_TYPE
        )


@check(DECODER, points=0.1, layer="laws", rules=("gradients",))
def test_decoder_can_be_trained(student, reference, probe):
    """Gradients flow back to the input and the weights of all four layers."""
    s = ONE_PAIR
    yours, _ = both_decoders(student, reference, probe, s, 3)
    x, back = tokens(probe, s), probe.normal(s.B, s.T, s.d_out)

    continued(yours(x))
    all_reached(yours.gradients(x, cotangent={0: back}))


@check(DECODER, points=0.1, layer="laws", rules=("refuses",))
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


@check(DECODER, points=0.2, layer="forbidden", rules=("no_ready_attention",))
def test_decoder_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = both_decoders(student, reference, probe, LONG)
    x = tokens(probe, LONG)

    agrees(whole_context(yours, x), ours(x)[0], "The context")
    avoids(student, DECODER, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)


@check(DECODER, points=0.1, layer="forbidden", rules=("projected_once",))
def test_decoder_projects_new_tokens_only(student, reference, probe):
    """One new token needs as many products for its projections after 10 tokens as after 40."""
    s = LONG
    yours, ours = both_decoders(student, reference, probe, s, base=100.0)
    x, ran = tokens(probe, s, 1), []
    for seen in (10, 40):
        cache = drawn_cache(probe, s, seen, seen)
        context, _ = continued(yours(x, cache))
        agrees(context, ours(x, cache)[0], "The context")
        ran.append(yours.operators(x, cache))

    keeps_products(*ran, s.d_in, ONCE)


@check(DECODER, points=0.1, layer="forbidden", rules=("no_loops",))
def test_decoder_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    for window in (None, 3):
        yours, ours = both_decoders(student, reference, probe, ONE_PAIR, window)
        few, many = (tokens(probe, ONE_PAIR, T) for T in (4, 11))

        agrees(whole_context(yours, many), ours(many)[0], "The context")
        keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)
