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
from autograder.suite.compare import agrees, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running, keeps_products

# The arguments of each class; its first check grades their order.
CONSTRUCTORS = {
    "CachedMultiHeadAttention": ("d_in", "d_out", "num_heads", "qkv_bias"),
}


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
        "scaled_dot_product_attention",
    }
)
NAME = "CachedMultiHeadAttention"
QKV = ("W_query", "W_key", "W_value")
LACKS = ("out_proj.bias",)  # if it is missing, only the checks of parameters fail
PARTS = ("The context", "The keys", "The values")
D_IN, D = 7, 5  # no number of tokens is 7, so products over 7 features are projections
PAST, NEW = 6, 3
TOKENS = 9
CUT = (5, 1, 3)
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
ONCE = "Project the new tokens only: the keys and values of all other tokens are in the cache."


class Sizes(NamedTuple):
    """Sizes for the checks: all different, so that no wrong axis fits by chance."""

    B: int
    H: int
    d: int
    d_in: int

    @property
    def d_out(self):
        """Return the features of all heads side by side."""
        return self.H * self.d


FOUR = Sizes(B=3, H=4, d=2, d_in=7)
THREE = Sizes(B=2, H=3, d=5, d_in=4)
TWO = Sizes(B=5, H=2, d=3, d_in=8)


def parts(answer):
    """Return context, keys and values, or fail the check if the answer has a different form."""
    pairs = answer, answer[1] if isinstance(answer, tuple | list) and len(answer) == 2 else None
    right = all(isinstance(one, tuple | list) and len(one) == 2 for one in pairs)
    expect(right, "The result is not a tuple (context, (keys, values)).", Status.WRONG_TYPE)
    return answer[0], *answer[1]


def same_parts(answer, wanted):
    """Compare context, keys and values."""
    for name, found, right in zip(PARTS, parts(answer), parts(wanted), strict=True):
        agrees(found, right, name)


def have_shapes(answer, context, cached):
    """Fail the check unless context, keys and values have these shapes; return them."""
    shapes = (context, cached, cached)
    return [
        tensor_like(found, shape, name)
        for name, found, shape in zip(PARTS, parts(answer), shapes, strict=True)
    ]


def in_turn(attend, x, cut):
    """Pass the chunks of a text one by one, each with the cache that the last call returned.

    Returns (context, (keys, values)), with the context vectors of all calls.
    """
    contexts, cache = [], None
    for chunk in x.split(cut, dim=-2):
        context, *cache = parts(attend(chunk, cache and tuple(cache)))
        contexts.append(tensor_like(context, (*chunk.shape[:-1], width(context))))
    return torch.cat(contexts, dim=-2), cache


def width(context):
    """Return the number of features of a context vector, or fail the check."""
    return tensor(context, PARTS[0]).shape[-1]


def kept(answer, cache):
    """Fail the check unless the result begins with the tokens of *cache*, bit for bit."""
    for name, found, old in zip(PARTS[1:], parts(answer)[1:], cache, strict=True):
        now = tensor_like(found, (*old.shape[:-2], PAST + NEW, old.shape[-1]), name)
        sentence = f"{name} of the tokens in the cache have changed."
        expect(torch.equal(now[..., :PAST, :], old), sentence)


def ready_below(student, exercise):
    """Return the names that attention must not use; empty if *exercise* uses one.

    In that case, the check of *exercise* takes the points, and exercises that call it keep theirs.
    """
    uses = student.uses(exercise)
    ready = any(READY_ATTENTION.intersection(use.name.split(".")[1:]) for use in uses)
    return set() if ready else READY_ATTENTION


def same_mask(student, reference, num_queries, num_keys):
    """Compare the student's mask of these sizes with the reference's."""
    wanted = reference.call("lower_right_mask", num_queries, num_keys)
    answer = student.call("lower_right_mask", num_queries, num_keys)

    mask = mask_like(answer, num_queries, num_keys)
    agrees(mask, wanted.long(), f"lower_right_mask({num_queries}, {num_keys})")


def mask_like(answer, num_queries, num_keys):
    """Return a mask of ones or True as whole numbers, or fail the check."""
    mask = tensor_like(answer, (num_queries, num_keys), "The mask").double()
    return torch.where(mask == mask.long(), mask.long(), -1)


# lower_right_mask


@check("lower_right_mask", points=0.3, layer="documented")
def test_mask_of_the_last_queries(student, documented):
    """Three queries and four keys have the documented mask: the last query sees all keys."""
    mask = mask_like(student.call("lower_right_mask", 3, 4), 3, 4)

    documented["torch.lower_right"].matches(mask, "lower_right_mask(3, 4)")


@check("lower_right_mask", points=0.2, layer="documented")
def test_mask_of_two_queries(student, documented):
    """Two queries and five keys have the documented mask."""
    mask = mask_like(student.call("lower_right_mask", 2, 5), 2, 5)

    documented["flash.mask.2_5"].matches(mask, "lower_right_mask(2, 5)")


@check("lower_right_mask", points=0.3, layer="documented")
def test_mask_with_more_queries_than_keys(student, documented):
    """With five queries and two keys, the first three queries see no key, as documented."""
    mask = mask_like(student.call("lower_right_mask", 5, 2), 5, 2)

    documented["flash.mask.5_2"].matches(mask, "lower_right_mask(5, 2)")


@check("lower_right_mask", points=0.1, layer="probe")
def test_mask_of_any_numbers(student, reference):
    """The mask is right for one query, and for more, fewer or as many keys as queries."""
    for sizes in ((3, 11), (6, 6), (1, 7), (1, 1), (7, 4), (8, 1)):
        same_mask(student, reference, *sizes)


@check("lower_right_mask", points=0.1, layer="laws")
def test_mask_of_a_chunk_is_the_end_of_the_whole(student):
    """The mask of the last queries consists of the last rows of the mask of all queries."""
    whole = mask_like(student.call("lower_right_mask", 8, 8), 8, 8)

    expect(
        torch.equal(whole.sum(dim=1), torch.arange(1, 9)),
        "In lower_right_mask(8, 8), query i should see i + 1 keys.",
    )
    for last in (1, 3, 7):
        mask = mask_like(student.call("lower_right_mask", last, 8), last, 8)
        agrees(mask, whole[-last:], f"lower_right_mask({last}, 8)")


def draw_new(probe, new=NEW, d_in=D_IN, d=D):
    """Draw new tokens and three matrices, for scores with a standard deviation of about 2."""
    return probe.normal(new, d_in), *(probe.normal(d_in, d, scale=0.55) for _ in QKV)


def draw_cache(probe, past=PAST, d=D):
    """Draw the keys and values of earlier tokens."""
    return probe.normal(past, d, scale=1.5), probe.normal(past, d, scale=1.5)


def walkthrough(documented):
    """Return the four tokens of the documented walkthrough, and its three matrices."""
    ids = documented["kelley.ids"].tensor[:4]
    matrices = [documented[f"kelley.{name}"].tensor for name in ("w_q", "w_k", "w_v")]
    return documented["kelley.embeddings"].tensor[ids], matrices


# attend_with_cache


@check("attend_with_cache", points=0.2, layer="shapes")
def test_cache_grows_by_the_new_tokens(student, probe):
    """Two new tokens give two context vectors and a cache of all tokens so far."""
    x, *matrices = draw_new(probe, 2)

    have_shapes(student.call("attend_with_cache", x, *matrices), (2, D), (2, D))
    cache = draw_cache(probe)
    answer = student.call("attend_with_cache", x, *matrices, cache)
    have_shapes(answer, (2, D), (PAST + 2, D))


@check("attend_with_cache", points=0.7, layer="documented")
def test_steps_give_the_documented_contexts(student, documented):
    """For each of four tokens, the documented cache gives the documented context vector."""
    x, matrices = walkthrough(documented)
    keys, values = documented["kelley.keys"].tensor, documented["kelley.values"].tensor

    contexts = []
    for past in range(4):
        cache = (keys[:past], values[:past]) if past else None
        answer = student.call("attend_with_cache", x[past : past + 1], *matrices, cache)
        contexts.append(tensor_like(parts(answer)[0], (1, 3), "The context"))
    documented["kelley.contexts"].matches(torch.cat(contexts), "The contexts of the four steps")


@check("attend_with_cache", points=0.5, layer="documented")
def test_steps_collect_the_documented_cache(student, documented):
    """After four tokens, one by one, the cache holds the documented keys and values."""
    x, matrices = walkthrough(documented)

    cache = None
    for token in x.split(1):
        _, *found = parts(student.call("attend_with_cache", token, *matrices, cache))
        cache = tuple(found)
    documented["kelley.keys"].matches(cache[0], "The keys after four steps")
    documented["kelley.values"].matches(cache[1], "The values after four steps")


@check("attend_with_cache", points=0.2, layer="probe")
def test_first_tokens_attend_without_a_cache(student, reference, probe):
    """Without a cache, new tokens attend causally, and their keys and values are returned."""
    for new, d_in, d in ((NEW, D_IN, D), (5, 3, 8)):
        given = draw_new(probe, new, d_in, d)

        same_parts(
            student.call("attend_with_cache", *given),
            reference.call("attend_with_cache", *given),
        )


@check("attend_with_cache", points=0.2, layer="probe")
def test_one_token_attends_to_the_cache(student, reference, probe):
    """One new token attends to itself and to all tokens in the cache."""
    for past, d_in, d in ((PAST, D_IN, D), (11, 3, 6)):
        given = (*draw_new(probe, 1, d_in, d), draw_cache(probe, past, d))

        same_parts(
            student.call("attend_with_cache", *given),
            reference.call("attend_with_cache", *given),
        )


@check("attend_with_cache", points=0.4, layer="probe")
def test_several_tokens_attend_to_the_cache(student, reference, probe):
    """Each of several new tokens attends to the cache and to the new tokens up to itself."""
    for new, past, d_in, d in ((NEW, PAST, D_IN, D), (6, 2, 4, 3)):
        given = (*draw_new(probe, new, d_in, d), draw_cache(probe, past, d))

        same_parts(
            student.call("attend_with_cache", *given),
            reference.call("attend_with_cache", *given),
        )


@check("attend_with_cache", points=0.1, layer="laws")
def test_every_cut_gives_the_same(student, reference, probe):
    """Split into any chunks, a text gives the same result; a cache of 0 tokens acts like None."""
    x, *matrices = draw_new(probe, TOKENS)
    wanted = reference.call("attend_with_cache", x, *matrices)

    def attend(chunk, past):
        return student.call("attend_with_cache", chunk, *matrices, past)

    same_parts(in_turn(attend, x, CUT), wanted)
    same_parts(attend(x, (torch.zeros(0, D), torch.zeros(0, D))), wanted)


@check("attend_with_cache", points=0.1, layer="laws")
def test_two_texts_do_not_mix(student, reference, probe):
    """A text that is continued after a call for another text gets the same results as alone."""
    (one, *matrices), other, cache = draw_new(probe), probe.normal(TOKENS, D_IN), draw_cache(probe)
    calls = ((other, *matrices), (one, *matrices, cache))
    wanted = [reference.call("attend_with_cache", *given) for given in calls]

    for given, right in zip(calls, wanted, strict=True):
        same_parts(student.call("attend_with_cache", *given), right)


@check("attend_with_cache", points=0.1, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(student, probe):
    """Float64 arguments give float64 results, and float32 arguments give float32 results."""
    given, cache = draw_new(probe), draw_cache(probe)

    for dtype in (torch.float64, torch.float32):
        wide = [one.to(dtype) for one in given], tuple(one.to(dtype) for one in cache)
        answer = student.call("attend_with_cache", *wide[0], wide[1])
        found = have_shapes(answer, (NEW, D), (PAST + NEW, D))
        for name, part in zip(PARTS, found, strict=True):
            same_dtype(part, dtype, name)


@check("attend_with_cache", points=0.2, layer="laws", rules=("inputs_unchanged",))
def test_attention_leaves_the_cache_alone(student, reference, probe):
    """The new cache begins with the old one, bit for bit, and the arguments are unchanged."""
    given, cache = draw_new(probe), draw_cache(probe)

    answer = student.call("attend_with_cache", *given, cache)
    same_parts(answer, reference.call("attend_with_cache", *given, cache))
    kept(answer, cache)
    unchanged = student.keeps_inputs("attend_with_cache", *given, cache)
    expect(unchanged, "attend_with_cache changes tensors that you pass to it.")


@check("attend_with_cache", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    given = (*draw_new(probe), draw_cache(probe))

    same_parts(
        student.call("attend_with_cache", *given), reference.call("attend_with_cache", *given)
    )
    avoids(student, "attend_with_cache", READY_ATTENTION, BY_HAND)
    avoids_running(student.operators("attend_with_cache", *given), READY_ATTENTION, BY_HAND)


@check("attend_with_cache", points=0.2, layer="forbidden", rules=("projected_once",))
def test_attention_projects_new_tokens_only(student, reference, probe):
    """For one new token, the number of projections is the same after 10 tokens and after 40."""
    few, many = ((*draw_new(probe, 1), draw_cache(probe, past)) for past in (10, 40))

    same_parts(student.call("attend_with_cache", *many), reference.call("attend_with_cache", *many))
    counts = (student.operators("attend_with_cache", *given) for given in (few, many))
    keeps_products(*counts, D_IN, ONCE)


def draw_model(reference, probe, first, new, **sizes):
    """Draw embeddings and five matrices, with the ids that the reference writes.

    The largest logit leads by so much that the ids stay the same if all numbers change a little.
    The weights are neither equal nor one-hot, so every earlier token has an effect.
    """
    while True:
        model = draw_matrices(probe, **sizes)
        little = [1e-3 * probe.normal(*one.shape) for one in model]
        moved = [
            [one + sign * move for one, move in zip(model, little, strict=True)]
            for sign in (0, 1, -1)
        ]
        ids, *others = (reference.call("decode", *one, first, new) for one in moved)
        if ids == others[0] == others[1]:
            return model, ids


def draw_matrices(probe, V=30, d_in=D_IN, d=D, d_model=6):
    """Draw embeddings, three matrices for attention, and two for logits."""
    embeddings = probe.normal(V, d_in, scale=1.5)
    matrices = [probe.normal(d_in, d, scale=scale) for scale in (0.27, 0.27, 0.7)]
    return embeddings, *matrices, probe.normal(d, d_model), probe.normal(d_model, V, scale=3)


def documented_model(documented):
    """Return the embeddings and the five matrices of the documented walkthrough."""
    names = ("embeddings", "w_q", "w_k", "w_v", "w_out", "w_vocab")
    return [documented[f"kelley.{name}"].tensor for name in names]


# decode


@check("decode", points=0.6, layer="documented")
def test_decoding_writes_the_documented_ids(student, documented):
    """The four tokens after token 1 are the documented tokens."""
    ids = documented["kelley.ids"].value

    answer = student.call("decode", *documented_model(documented), ids[0], 4)
    agrees(answer, list(ids), "The list of ids")


@check("decode", points=0.3, layer="documented")
def test_decoding_stops_after_any_number_of_tokens(student, documented):
    """With 0 to 3 new tokens, the ids are the beginning of the documented list."""
    ids = documented["kelley.ids"].value

    for new in range(4):
        answer = student.call("decode", *documented_model(documented), ids[0], new)
        agrees(answer, list(ids[: new + 1]), f"The list of ids for {new} new tokens")


@check("decode", points=0.2, layer="probe")
def test_decoding_with_any_model(student, reference, probe):
    """For other models and first tokens, the ids are right."""
    sizes = ({}, {"V": 19, "d_in": 4, "d": 8}, {"V": 26, "d_model": 10}, {"d": 3, "d_model": 4})
    for first, given in enumerate(sizes):
        model, ids = draw_model(reference, probe, first, 8, **given)

        agrees(student.call("decode", *model, first, 8), ids, "The list of ids")


@check("decode", points=0.2, layer="probe")
def test_decoding_from_any_token(student, reference, probe):
    """Starting from every third token of a vocabulary, the ids are right."""
    for first in range(0, 30, 3):
        model, ids = draw_model(reference, probe, first, 4)

        agrees(student.call("decode", *model, first, 4), ids, "The list of ids")


@check("decode", points=0.1, layer="laws")
def test_decoding_two_texts_in_turn(student, reference, probe):
    """Two texts decoded in turn do not affect each other, for six new tokens and for four."""
    known = [draw_model(reference, probe, 3, 6) for _ in range(2)]

    for new in (6, 4):
        for model, ids in known:
            agrees(student.call("decode", *model, 3, new), ids[: new + 1], "The list of ids")


@check("decode", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_decoding_leaves_its_arguments_alone(student, reference, probe):
    """The ids are right, and the embeddings and matrices are unchanged."""
    model, ids = draw_model(reference, probe, 4, 5)

    agrees(student.call("decode", *model, 4, 5), ids, "The list of ids")
    unchanged = student.keeps_inputs("decode", *model, 4, 5)
    expect(unchanged, "decode changes tensors that you pass to it.")


@check("decode", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_decoding_attends_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    model, ids = draw_model(reference, probe, 5, 4)

    agrees(student.call("decode", *model, 5, 4), ids, "The list of ids")
    names = ready_below(student, "attend_with_cache")
    avoids(student, "decode", names, BY_HAND)
    avoids_running(student.operators("decode", *model, 5, 4), names, BY_HAND)


@check("decode", points=0.2, layer="forbidden", rules=("projected_once",))
def test_decoding_projects_each_token_once(student, reference, probe):
    """Twelve new tokens need at most three times as many projections as four."""
    wide = 17  # more than the number of tokens, so that no other product runs over as many numbers
    model, ids = draw_model(reference, probe, 1, 12, d_in=wide)

    agrees(student.call("decode", *model, 1, 12), ids, "The list of ids")
    counts = [student.operators("decode", *model, 1, new).products_over(wide) for new in (4, 12)]
    shown = f"Products have {counts[0]} entries for 4 new tokens and {counts[1]} for 12. {ONCE}"
    enough = counts[1] <= 3 * counts[0]
    expect(
        enough,
        f"Tokens from the cache are projected again. {ONCE}",
        Status.FORBIDDEN,
        message=shown,
    )


def both(student, reference, probe, s, *, qkv_bias=False):
    """Build the student's module and the reference, and load the same large weights."""
    shapes = {f"{name}__weight": (s.d_out, s.d_in) for name in QKV}
    shapes |= {f"{name}__bias": (s.d_out,) for name in QKV if qkv_bias}
    shapes |= {"out_proj__weight": (s.d_out, s.d_out), "out_proj__bias": (s.d_out,)}
    weights = probe.weights(**shapes)
    sizes = (s.d_in, s.d_out, s.H, *([True] if qkv_bias else []))
    yours = student.new(NAME, *sizes).load(weights, may_lack=LACKS)
    return yours, reference.new(NAME, *sizes).load(weights)


def draw_tokens(probe, s, new=NEW):
    """Draw a batch with different items."""
    return probe.normal(s.B, new, s.d_in, scale=0.6)


def draw_heads(probe, s, past=PAST):
    """Draw the keys and values of earlier tokens, split into heads."""
    return tuple(probe.normal(s.B, s.H, past, s.d, scale=1.5) for _ in range(2))


def documented_module(student, documented, inputs):
    """Return the module with the documented weights, and the documented batch."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    return student.new(NAME, 3, 2, 2, seed=123), batch


# CachedMultiHeadAttention


@check(NAME, points=0.1, layer="signature")
def test_heads_are_built_by_the_names_of_their_arguments(student):
    """The constructor takes d_in, d_out, num_heads and qkv_bias."""
    sizes = {"d_in": 3, "d_out": 8, "num_heads": 2}

    student.new(NAME, **sizes)
    student.new(NAME, **sizes, qkv_bias=True)


@check(NAME, points=0.2, layer="shapes")
def test_heads_return_context_and_cache(student, probe):
    """Two new tokens give two context vectors and a cache of all tokens, split into heads."""
    s = FOUR
    attention, x = student.new(NAME, s.d_in, s.d_out, s.H), draw_tokens(probe, s, 2)

    have_shapes(attention(x), (s.B, 2, s.d_out), (s.B, s.H, 2, s.d))
    answer = attention(x, draw_heads(probe, s))
    have_shapes(answer, (s.B, 2, s.d_out), (s.B, s.H, PAST + 2, s.d))


@check(NAME, points=0.2, layer="parameters")
def test_heads_draw_the_documented_weights(student, documented):
    """With seed 123, W_query, W_key, W_value and out_proj get the documented weights."""
    found = student.new(NAME, 3, 2, 2, seed=123).parameters()

    for layer in QKV:
        expect(f"{layer}.bias" not in found, f"{layer} has a bias, but qkv_bias is false.")
    entries = {f"{name}.weight": f"ch03.causal.{name.lower()}.weight" for name in QKV}
    entries |= {f"out_proj.{part}": f"ch03.mha.out_proj.{part}" for part in ("weight", "bias")}
    for name, entry in entries.items():
        expect(name in found, f"There is no parameter {name}.")
        documented[entry].matches(found[name].value, name)


@check(NAME, points=0.2, layer="parameters")
def test_heads_draw_anew_under_another_seed(student, reference, probe):
    """For other sizes and seeds, the layers are created in order, with and without biases."""
    for qkv_bias in (False, True):
        sizes = (FOUR.d_in, FOUR.d_out, FOUR.H, qkv_bias)
        found = student.new(NAME, *sizes, seed=probe.seed).parameters()
        drawn = reference.new(NAME, *sizes, seed=probe.seed).parameters()

        for name, parameter in drawn.items():
            expect(name in found, f"There is no parameter {name}.")
            agrees(found[name].value, parameter.value, name)


@check(NAME, points=0.2, layer="documented")
def test_heads_reproduce_the_documented_context(student, documented, inputs):
    """With seed 123, all six tokens at once give the documented context vectors."""
    attention, batch = documented_module(student, documented, inputs)

    context, *_ = parts(attention(batch))
    documented["ch03.mha.context"].matches(context, f"{NAME}(3, 2, 2)(batch)")


@check(NAME, points=0.2, layer="documented")
def test_heads_reproduce_the_documented_context_from_single_tokens(student, documented, inputs):
    """With seed 123, two single tokens and then four give the documented context vectors."""
    attention, batch = documented_module(student, documented, inputs)

    context, _ = in_turn(attention, batch, (1, 1, 4))
    documented["ch03.mha.context"].matches(context, "The context of 1, 1 and 4 tokens")


@check(NAME, points=0.3, layer="documented")
def test_heads_reproduce_the_documented_context_in_two_chunks(student, documented, inputs):
    """With seed 123, four tokens and then two give the documented context vectors."""
    attention, batch = documented_module(student, documented, inputs)

    context, _ = in_turn(attention, batch, (4, 2))
    documented["ch03.mha.context"].matches(context, "The context of four tokens and then two")


@check(NAME, points=0.3, layer="probe")
def test_heads_attend_to_the_cache(student, reference, probe):
    """In every head, each new token attends to the cache and to the new tokens up to itself."""
    yours, ours = both(student, reference, probe, FOUR)
    x, cache = draw_tokens(probe, FOUR), draw_heads(probe, FOUR)

    same_parts(yours(x, cache), ours(x, cache))


@check(NAME, points=0.3, layer="probe")
def test_heads_attend_with_other_sizes(student, reference, probe):
    """With other sizes, a single new token and several new tokens attend to the cache."""
    yours, ours = both(student, reference, probe, TWO)

    for new, past in ((1, 7), (4, 2)):
        x, cache = draw_tokens(probe, TWO, new), draw_heads(probe, TWO, past)
        same_parts(yours(x, cache), ours(x, cache))


@check(NAME, points=0.3, layer="probe")
def test_heads_start_without_a_cache(student, reference, probe):
    """Without a cache, the heads attend causally, for short and long texts and other batches."""
    yours, ours = both(student, reference, probe, FOUR)
    x = draw_tokens(probe, FOUR, 8)

    for new, items in ((8, 3), (5, 2)):
        part = x[:items, :new].contiguous()
        same_parts(yours(part), ours(part))


@check(NAME, points=0.2, layer="probe")
def test_heads_use_their_biases(student, reference, probe):
    """With qkv_bias=True, the biases are added to queries, keys and values."""
    yours, ours = both(student, reference, probe, THREE, qkv_bias=True)
    x, cache = draw_tokens(probe, THREE), draw_heads(probe, THREE)

    same_parts(yours(x, cache), ours(x, cache))


@check(NAME, points=0.3, layer="laws")
def test_heads_give_the_same_for_every_cut(student, reference, probe):
    """A text split into any chunks gives the same result as all tokens at once."""
    yours, ours = both(student, reference, probe, FOUR)
    x = draw_tokens(probe, FOUR, TOKENS)
    wanted = ours(x)

    same_parts(in_turn(yours, x, CUT), wanted)


@check(NAME, points=0.2, layer="laws")
def test_heads_do_not_mix_two_texts(student, reference, probe):
    """A text that is continued after a call for another text gets the same results as alone."""
    yours, ours = both(student, reference, probe, THREE)
    other = draw_tokens(probe, THREE, TOKENS)
    calls = ((other,), (draw_tokens(probe, THREE), draw_heads(probe, THREE)))
    wanted = [ours(*given) for given in calls]

    for given, right in zip(calls, wanted, strict=True):
        same_parts(yours(*given), right)


@check(NAME, points=0.1, layer="laws")
def test_heads_start_from_an_empty_cache(student, reference, probe):
    """A cache of 0 tokens means the same as None."""
    s = FOUR
    yours, ours = both(student, reference, probe, s)
    x = draw_tokens(probe, s)
    wanted = ours(x)

    same_parts(yours(x, (torch.zeros(s.B, s.H, 0, s.d),) * 2), wanted)


@check(NAME, points=0.1, layer="laws")
def test_heads_keep_the_items_of_a_batch_apart(student, reference, probe):
    """The last item of a batch gets the same result as alone."""
    yours, ours = both(student, reference, probe, FOUR)
    x, cache = draw_tokens(probe, FOUR), draw_heads(probe, FOUR)
    context, keys, values = parts(ours(x, cache))

    last = slice(FOUR.B - 1, FOUR.B)
    alone = yours(x[last], tuple(past[last] for past in cache))
    same_parts(alone, (context[last], (keys[last], values[last])))


@check(NAME, points=0.1, layer="laws", rules=("dtype",))
def test_heads_keep_the_dtype(student, probe):
    """Float64 inputs give float64 results, and float32 inputs give float32 results."""
    s = FOUR
    attention = student.new(NAME, s.d_in, s.d_out, s.H)
    x, cache = draw_tokens(probe, s), draw_heads(probe, s)

    for dtype, name in ((torch.float64, "float64"), (torch.float32, "float32")):
        attention.move(name)
        answer = attention(x.to(dtype), tuple(past.to(dtype) for past in cache))
        found = have_shapes(answer, (s.B, NEW, s.d_out), (s.B, s.H, PAST + NEW, s.d))
        for what, part in zip(PARTS, found, strict=True):
            same_dtype(part, dtype, what)


@check(NAME, points=0.2, layer="laws", rules=("inputs_unchanged",))
def test_heads_leave_the_cache_alone(student, reference, probe):
    """The new cache begins with the old one, bit for bit, and the arguments are unchanged."""
    yours, ours = both(student, reference, probe, FOUR)
    x, cache = draw_tokens(probe, FOUR), draw_heads(probe, FOUR)

    answer = yours(x, cache)
    same_parts(answer, ours(x, cache))
    kept(answer, cache)
    expect(yours.keeps_inputs(x, cache), "The call changes tensors that you pass to it.")


@check(NAME, points=0.1, layer="laws", rules=("refuses",))
def test_heads_refuse_an_uneven_share(student, probe):
    """If num_heads does not divide d_out, the constructor or the call raises an error."""
    student.new(NAME, 7, 8, 4)  # 4 heads share 8 features evenly
    for d_out, num_heads in ((8, 3), (5, 2), (3, 4)):
        sizes = (7, d_out, num_heads)
        refused = student.refuses(NAME, *sizes)
        refused = refused or student.new(NAME, *sizes).refuses(probe.normal(2, 12, 7))
        expect(
            refused,
            "A d_out that num_heads does not divide gives a result; it should raise a ValueError.",
            Status.NOT_REFUSED,
        )


@check(NAME, points=0.2, layer="forbidden", rules=("no_ready_attention",))
def test_heads_are_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = both(student, reference, probe, FOUR)
    x, cache = draw_tokens(probe, FOUR), draw_heads(probe, FOUR)

    same_parts(yours(x, cache), ours(x, cache))
    avoids(student, NAME, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x, cache), READY_ATTENTION, BY_HAND)


@check(NAME, points=0.2, layer="forbidden", rules=("projected_once",))
def test_heads_project_new_tokens_only(student, reference, probe):
    """For one new token, the number of projections is the same after 10 tokens and after 40."""
    yours, ours = both(student, reference, probe, FOUR)
    one = FOUR._replace(B=1)
    x = draw_tokens(probe, one, 1)
    few, many = (draw_heads(probe, one, past) for past in (10, 40))

    same_parts(yours(x, many), ours(x, many))
    keeps_products(yours.operators(x, few), yours.operators(x, many), D_IN, ONCE)
