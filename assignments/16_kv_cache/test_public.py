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
from autograder.suite.forbidden import avoids, avoids_itself, avoids_running, keeps_products


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
NAME = "CachedMultiHeadAttention"
QKV = ("W_query", "W_key", "W_value")
LACKS = ("out_proj.bias",)  # if it is missing, only the checks of parameters fail
PARTS = ("The context", "The keys", "The values")
D_IN, D = 7, 5  # no number of tokens is 7, so products over 7 features are projections
PAST, NEW = 6, 3
TOKENS = 9
CUT = (5, 1, 3)
EFFECT = 0.05  # far above all noise; the changes that a law makes have much larger effects
FAR = 1000.0  # a change of a value that even the smallest weight shows
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


def same_parts(answer, wanted, when=""):
    """Compare context, keys and values; *when* is the condition, if it matters."""
    same_context(answer, wanted, when)
    same_cache(answer, wanted, when)


def same_context(answer, wanted, when=""):
    """Compare the contexts alone."""
    agrees(parts(answer)[0], parts(wanted)[0], f"{PARTS[0]}{when}")


def same_cache(answer, wanted, when=""):
    """Compare keys and values."""
    for name, found, right in zip(PARTS[1:], parts(answer)[1:], parts(wanted)[1:], strict=True):
        agrees(found, right, f"{name}{when}")


def has_effect(before, after, what, on=""):
    """Fail the check if a change of *what* has left a result as it was, or made it NaN."""
    moved = before.numel() and bool((after - before).abs().max() > EFFECT)
    expect(moved, f"A change of {what} has no clear effect{on}.")


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


def follows(answer, cache, alone):
    """Fail the check unless the keys and values are those of *cache*, then those of *alone*."""
    together = zip(PARTS[1:], parts(answer)[1:], cache, parts(alone)[1:], strict=True)
    for name, found, old, new in together:
        now = tensor_like(found, (*old.shape[:-2], PAST + NEW, old.shape[-1]), name)
        agrees(now[..., :PAST, :], old, f"{name} of the tokens in the cache")
        agrees(now[..., PAST:, :], new, f"{name} of the new tokens", "those without a cache")


def same_mask(student, reference, num_queries, num_keys):
    """Compare the student's mask of these sizes with the reference's."""
    wanted = reference.call("lower_right_mask", num_queries, num_keys)
    answer = student.call("lower_right_mask", num_queries, num_keys)

    mask = mask_like(answer, num_queries, num_keys)
    agrees(mask, wanted.long(), f"lower_right_mask({num_queries}, {num_keys})")


def mask_like(answer, num_queries, num_keys):
    """Return a mask of ones or True as whole numbers, or fail the check."""
    mask = tensor_like(answer, (num_queries, num_keys), "The mask").double()
    other = mask[(mask != 0) & (mask != 1)]
    only = "The mask must contain only 0 and 1, or False and True."
    given = f"{only} Yours also contains {float(other[0]):g}." if len(other) else only
    expect(not len(other), only, message=given)
    return mask.long()


# lower_right_mask


@check("lower_right_mask", points=0.1, layer="documented")
def test_mask_of_the_last_queries(student, documented):
    """Three queries and four keys have the documented mask: the last query sees all keys."""
    mask = mask_like(student.call("lower_right_mask", 3, 4), 3, 4)

    documented["torch.lower_right"].matches(mask, "lower_right_mask(3, 4)")


@check("lower_right_mask", points=0.1, layer="documented")
def test_mask_of_two_queries(student, documented):
    """Two queries and five keys have the documented mask."""
    mask = mask_like(student.call("lower_right_mask", 2, 5), 2, 5)

    documented["flash.mask.2_5"].matches(mask, "lower_right_mask(2, 5)")


@check("lower_right_mask", points=0.1, layer="documented")
def test_mask_with_more_queries_than_keys(student, documented):
    """With five queries and two keys, the first three queries see no key, as documented."""
    mask = mask_like(student.call("lower_right_mask", 5, 2), 5, 2)

    documented["flash.mask.5_2"].matches(mask, "lower_right_mask(5, 2)")


@check("lower_right_mask", points=0.1, layer="probe")
def test_mask_of_fewer_queries_than_keys(student, reference, probe):
    """The mask is right for one query and for several queries, with more keys than queries."""
    for sizes in ((3, 9 + probe.number % 5), (1, 5 + probe.number % 3), (5, 6)):
        same_mask(student, reference, *sizes)


@check("lower_right_mask", points=0.1, layer="probe")
def test_mask_of_as_many_queries_as_keys(student, reference, probe):
    """With as many queries as keys, the mask is causal."""
    for both in (5 + probe.number % 7, 1):
        same_mask(student, reference, both, both)


@check("lower_right_mask", points=0.1, layer="probe")
def test_mask_of_more_queries_than_keys(student, reference, probe):
    """With more queries than keys, the mask is right too."""
    for sizes in ((7 + probe.number % 5, 4), (8, 1)):
        same_mask(student, reference, *sizes)


@check("lower_right_mask", points=0.15, layer="laws")
def test_last_query_sees_all_keys(student, probe):
    """The last query sees all keys, and the query before it sees all keys but the last one."""
    keys = 6 + probe.number % 4
    mask = mask_like(student.call("lower_right_mask", 3, keys), 3, keys)

    agrees(mask[-1], torch.ones(keys).long(), "The row of the last query")
    agrees(mask[-2], (torch.arange(keys) < keys - 1).long(), "The row of the query before it")


@check("lower_right_mask", points=0.1, layer="laws")
def test_each_query_sees_one_key_more(student, probe):
    """Each query sees the keys that the query before it sees, and one key more."""
    keys = 8 + probe.number % 4
    mask = mask_like(student.call("lower_right_mask", 5, keys), 5, keys)

    more = mask[1:] - mask[:-1]
    expect((more >= 0).all(), "A query does not see a key that the query before it sees.")
    agrees(more.sum(dim=1), torch.ones(4).long(), "The number of keys that are new to a query")


@check("lower_right_mask", points=0.15, layer="laws")
def test_mask_of_a_chunk_is_the_end_of_the_whole(student, probe):
    """The mask of the last queries consists of the last rows of the mask of all queries."""
    keys = 7 + probe.number % 5
    whole = mask_like(student.call("lower_right_mask", keys, keys), keys, keys)

    both = set(whole[-3:].flatten().tolist())
    expect(both == {0, 1}, "The last three queries must see some keys, and not see others.")
    for last in (3, 5):
        mask = mask_like(student.call("lower_right_mask", last, keys), last, keys)
        agrees(mask, whole[-last:], "The mask of the last queries", "the end of that of all")


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


@check("attend_with_cache", points=0.1, layer="shapes")
def test_cache_grows_by_the_new_tokens(student, probe):
    """Two new tokens give two context vectors and a cache of all tokens so far."""
    x, *matrices = draw_new(probe, 2)

    have_shapes(student.call("attend_with_cache", x, *matrices), (2, D), (2, D))
    cache = draw_cache(probe)
    answer = student.call("attend_with_cache", x, *matrices, cache)
    have_shapes(answer, (2, D), (PAST + 2, D))


@check("attend_with_cache", points=0.3, layer="documented")
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


@check("attend_with_cache", points=0.2, layer="documented")
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
    """Without a cache, or with a cache of 0 tokens, new tokens attend causally."""
    for new, d_in, d, cache in ((NEW, D_IN, D, None), (5, 3, 8, (torch.zeros(0, 8),) * 2)):
        given = (*draw_new(probe, new, d_in, d), cache)

        same_context(
            student.call("attend_with_cache", *given),
            reference.call("attend_with_cache", *given),
        )


@check("attend_with_cache", points=0.1, layer="probe")
def test_one_token_attends_to_the_cache(student, reference, probe):
    """One new token attends to itself and to all tokens in the cache."""
    for past, d_in, d in ((PAST, D_IN, D), (11, 3, 6)):
        given = (*draw_new(probe, 1, d_in, d), draw_cache(probe, past, d))

        same_context(
            student.call("attend_with_cache", *given),
            reference.call("attend_with_cache", *given),
        )


@check("attend_with_cache", points=0.4, layer="probe")
def test_several_tokens_attend_to_the_cache(student, reference, probe):
    """Each of several new tokens attends to the cache and to the new tokens up to itself."""
    for new, past, d_in, d in ((NEW, PAST, D_IN, D), (6, 2, 4, 3)):
        given = (*draw_new(probe, new, d_in, d), draw_cache(probe, past, d))

        same_context(
            student.call("attend_with_cache", *given),
            reference.call("attend_with_cache", *given),
        )


@check("attend_with_cache", points=0.3, layer="probe")
def test_cache_holds_old_and_new_tokens(student, reference, probe):
    """The returned keys and values are right, with and without a cache."""
    for new, past in ((NEW, PAST), (1, 4), (2, 0)):
        given = (*draw_new(probe, new), draw_cache(probe, past) if past else None)

        same_cache(
            student.call("attend_with_cache", *given),
            reference.call("attend_with_cache", *given),
        )


@check("attend_with_cache", points=0.15, layer="laws")
def test_every_cut_gives_the_same(student, probe):
    """Split into chunks, a text gives the same result as at once, and earlier chunks matter."""
    x, *matrices = draw_new(probe, TOKENS)
    others = torch.cat((probe.normal(CUT[0], D_IN), x[CUT[0] :]))

    def attend(chunk, past=None):
        return student.call("attend_with_cache", chunk, *matrices, past)

    whole, changed = (
        have_shapes(attend(text), (TOKENS, D), (TOKENS, D))[0] for text in (x, others)
    )
    context, _ = in_turn(attend, x, CUT)
    agrees(context, whole, "The context of a text in chunks", "that of the whole text")
    has_effect(whole[CUT[0] :], changed[CUT[0] :], "the first chunk", " on the others")


@check("attend_with_cache", points=0.15, layer="laws")
def test_two_texts_do_not_mix(student, probe):
    """A text that is continued after a call for another text gets the same result as before."""
    x, *matrices = draw_new(probe)
    one, two = (x, draw_cache(probe)), (probe.normal(NEW, D_IN), draw_cache(probe))
    shapes = (NEW, D), (PAST + NEW, D)

    before, other, after = (
        have_shapes(student.call("attend_with_cache", new, *matrices, cache), *shapes)
        for new, cache in (one, two, one)
    )
    for name, left, right in zip(PARTS, after, before, strict=True):
        agrees(left, right, f"After a call for another text, {name[:1].lower()}{name[1:]}")
    has_effect(before[0], other[0], "the text and its cache")


@check("attend_with_cache", points=0.15, layer="laws")
def test_tokens_see_the_past_and_not_the_future(student, probe):
    """A new token affects itself and the tokens after it, but no token before it."""
    x, *matrices = draw_new(probe)
    for matrix in matrices[:2]:
        matrix[-1] = 0  # the last feature has an effect on values only
    others, (keys, values) = x.clone(), draw_cache(probe)
    others[1, -1] += FAR

    before, after, past = (
        have_shapes(
            student.call("attend_with_cache", text, *matrices, (keys, cached)),
            (NEW, D),
            (PAST + NEW, D),
        )[0]
        for text, cached in ((x, values), (others, values), (x, values + FAR))
    )
    agrees(
        after[:1],
        before[:1],
        "After a change of a later token, the context of the first",
        "that before",
    )
    has_effect(before[1:], after[1:], "a new token's value", " on it or later tokens")
    has_effect(before, past, "the cached values")


@check("attend_with_cache", points=0.15, layer="laws")
def test_twice_the_values_give_twice_the_context(student, probe):
    """With values twice as large, in the cache and for new tokens, the context is doubled."""
    x, W_query, W_key, W_value = draw_new(probe)
    keys, values = draw_cache(probe)

    before, after = (
        have_shapes(
            student.call(
                "attend_with_cache", x, W_query, W_key, times * W_value, (keys, times * values)
            ),
            (NEW, D),
            (PAST + NEW, D),
        )[0]
        for times in (1, 2)
    )
    agrees(after, 2 * before, "The context of doubled values", "the doubled context")
    has_effect(before, after, "the values")


@check("attend_with_cache", points=0.15, layer="laws")
def test_equal_values_give_this_value(student, probe):
    """If all values are equal, the context is that value: the weights of a token sum to 1."""
    x, W_query, W_key, _ = draw_new(probe)
    x[:, -1] = 1
    value = probe.normal(D, scale=2)
    W_value = torch.cat((torch.zeros(D_IN - 1, D), value[None]))
    cache = draw_cache(probe)[0], value.repeat(PAST, 1)

    context, *_ = parts(student.call("attend_with_cache", x, W_query, W_key, W_value, cache))
    agrees(context, value.repeat(NEW, 1), "The context of equal values")


@check("attend_with_cache", points=0.15, layer="laws")
def test_new_tokens_follow_the_cache(student, probe):
    """The keys and values of the new tokens are those without a cache, and follow the cache."""
    given, cache = draw_new(probe), draw_cache(probe)

    alone = student.call("attend_with_cache", *given)
    have_shapes(alone, (NEW, D), (NEW, D))
    follows(student.call("attend_with_cache", *given, cache), cache, alone)


@check("attend_with_cache", points=0.2, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(student, probe):
    """Float64 arguments give float64 results, and float32 arguments give float32 results."""
    given, contexts = (*draw_new(probe), *draw_cache(probe)), []

    for dtype, times in ((torch.float64, 1), (torch.float32, 2)):
        *new, keys, values = (times * one.to(dtype) for one in given)
        answer = student.call("attend_with_cache", *new, (keys, values))
        found = have_shapes(answer, (NEW, D), (PAST + NEW, D))
        for name, part in zip(PARTS, found, strict=True):
            same_dtype(part, dtype, name)
        contexts.append(found[0].float())
    has_effect(*contexts, "all arguments")


@check("attend_with_cache", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_attention_leaves_its_arguments_alone(student, probe):
    """The tokens, the matrices and the cache are unchanged, but they have an effect."""
    (x, *matrices), cache = draw_new(probe), draw_cache(probe)

    unchanged = student.keeps_inputs("attend_with_cache", x, *matrices, cache)
    expect(unchanged, "attend_with_cache changes a tensor that you pass to it.")
    before, after = (
        parts(student.call("attend_with_cache", text, *matrices, cache))[0] for text in (x, -x)
    )
    shape = (NEW, D)
    has_effect(tensor_like(before, shape), tensor_like(after, shape), "the tokens")


@check("attend_with_cache", points=0.2, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    avoids(student, "attend_with_cache", READY_ATTENTION, BY_HAND)
    ran = student.operators("attend_with_cache", *draw_new(probe), draw_cache(probe))
    avoids_running(ran, READY_ATTENTION, BY_HAND)


@check("attend_with_cache", points=0.2, layer="forbidden", rules=("projected_once",))
def test_attention_projects_new_tokens_only(student, probe):
    """For one new token, the number of projections is the same after 10 tokens and after 40."""
    few, many = ((*draw_new(probe, 1), draw_cache(probe, past)) for past in (10, 40))

    counts = (student.operators("attend_with_cache", *given) for given in (few, many))
    keeps_products(*counts, D_IN, ONCE)


def draw_model(reference, probe, first, new, **sizes):
    """Draw embeddings and five matrices, with the ids that the reference writes.

    The largest logit leads by so much that the ids stay the same if all numbers change a little.
    The weights are neither equal nor one-hot, so every earlier token has an effect. The ids of a
    long text are not all equal.
    """
    while True:
        model = draw_matrices(probe, **sizes)
        little = [1e-3 * probe.normal(*one.shape) for one in model]
        moved = [
            [one + sign * move for one, move in zip(model, little, strict=True)]
            for sign in (0, 1, -1)
        ]
        ids, *others = (reference.call("decode", *one, first, new) for one in moved)
        if ids == others[0] == others[1] and len({*ids}) > min(new, 2):
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


def decoded(student, model, first, new):
    """Return the ids that the student writes, or fail the check if they are not a list of int."""
    ids = student.call("decode", *model, first, new)
    right = isinstance(ids, list) and all(type(one) is int for one in ids)
    expect(right, "The result is not a list of int.", Status.WRONG_TYPE)
    return ids


def vary(ids):
    """Fail the check if a text repeats one or two tokens, which no check's model writes."""
    expect(len({*ids}) > 2, "The text has no more than two different ids.")


# decode


@check("decode", points=0.3, layer="documented")
def test_decoding_writes_the_documented_ids(student, documented):
    """The four tokens after token 1 are the documented tokens."""
    ids = documented["kelley.ids"].value

    answer = student.call("decode", *documented_model(documented), ids[0], 4)
    agrees(answer, list(ids), "The list of ids")


@check("decode", points=0.1, layer="documented")
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
def test_decoding_longer_continues_the_same_text(student, reference, probe):
    """With more new tokens, the list begins with the same ids and goes on."""
    model, _ = draw_model(reference, probe, 2, 8)

    long, short = (decoded(student, model, 2, new) for new in (8, 5))
    vary(long)
    agrees(long[: len(short)], short, "The beginning of a longer list", "the shorter list")
    expect(len(long) == len(short) + 3, "Three more new tokens do not give three more ids.")


@check("decode", points=0.1, layer="laws")
def test_decoding_does_not_depend_on_the_numbers_of_tokens(student, reference, probe):
    """If the tokens of the vocabulary get other numbers, the text is the same."""
    model, _ = draw_model(reference, probe, 4, 7)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(probe.seed))
    embeddings, *matrices, W_vocab = model
    other = (embeddings[order], *matrices, W_vocab[:, order])

    before = decoded(student, model, 4, 7)
    after = decoded(student, other, order.tolist().index(4), 7)
    vary(before)
    within = all(0 <= one < len(order) for one in after)
    expect(within, "An id is not in the vocabulary.")
    agrees(order[after].tolist(), before, "The text with other numbers", "that before")


@check("decode", points=0.1, layer="laws")
def test_decoding_depends_on_the_order_of_logits_alone(student, reference, probe):
    """With logits twice as large the ids are the same, and with the opposite signs they differ."""
    model, _ = draw_model(reference, probe, 6, 6)

    ids, same, other = (
        decoded(student, (*model[:-1], times * model[-1]), 6, 6) for times in (1, 2, -1)
    )
    agrees(same, ids, "The list of ids with doubled logits", "that before")
    expect(other != ids, "With the opposite signs of all logits, the ids are the same.")


@check("decode", points=0.1, layer="laws")
def test_decoding_two_texts_in_turn(student, reference, probe):
    """A text is decoded in the same way before and after another text."""
    one, two = (draw_model(reference, probe, 3, 6)[0] for _ in range(2))

    before, other, after = (decoded(student, model, 3, 6) for model in (one, two, one))
    vary(before)
    agrees(after, before, "The list of ids after another text", "that before")
    expect(other != before, "Two models write the same text.")


@check("decode", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_decoding_leaves_its_arguments_alone(student, reference, probe):
    """The embeddings and matrices are unchanged, but they decide about the text."""
    model, _ = draw_model(reference, probe, 4, 5)

    unchanged = student.keeps_inputs("decode", *model, 4, 5)
    expect(unchanged, "decode changes a tensor that you pass to it.")
    vary(decoded(student, model, 4, 5))


@check("decode", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_decoding_attends_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    model, _ = draw_model(reference, probe, 5, 4)
    step = (model[0][:1], *model[1:4])
    below = {"attend_with_cache": student.operators("attend_with_cache", *step, None)}

    ran = student.operators("decode", *model, 5, 4)
    avoids_itself(student, "decode", READY_ATTENTION, BY_HAND, ran, below)


@check("decode", points=0.2, layer="forbidden", rules=("projected_once",))
def test_decoding_projects_each_token_once(student, reference, probe):
    """Eight more tokens need the same number of projections after 4 tokens as after 12."""
    wide = 23  # more than the number of tokens, so that no other product runs over as many numbers
    model, _ = draw_model(reference, probe, 1, 20, d_in=wide)

    few, more, most = (
        student.operators("decode", *model, 1, new).products_over(wide) for new in (4, 12, 20)
    )
    shown = f"Tokens 5 to 12 need {more - few} products, and tokens 13 to 20 need {most - more}."
    expect(
        most - more <= more - few,
        f"Later tokens need more products than earlier ones. {ONCE}",
        Status.FORBIDDEN,
        message=f"{shown} {ONCE}",
    )


def draw_weights(probe, s, *, qkv_bias=False):
    """Draw large weights for the four layers."""
    shapes = {f"{name}__weight": (s.d_out, s.d_in) for name in QKV}
    shapes |= {f"{name}__bias": (s.d_out,) for name in QKV if qkv_bias}
    return probe.weights(**shapes, out_proj__weight=(s.d_out, s.d_out), out_proj__bias=(s.d_out,))


def loaded(side, s, weights):
    """Build the module of one side and load *weights*."""
    qkv_bias = "W_query.bias" in weights
    given = weights
    if qkv_bias:  # in the order of the module
        names = (f"{name}.{part}" for name in (*QKV, "out_proj") for part in ("weight", "bias"))
        given = {name: weights[name] for name in names}
    return side.new(NAME, s.d_in, s.d_out, s.H, qkv_bias).load(given, may_lack=LACKS)


def both(student, reference, probe, s, *, qkv_bias=False):
    """Build the student's module and the reference, and load the same large weights."""
    weights = draw_weights(probe, s, qkv_bias=qkv_bias)
    return loaded(student, s, weights), loaded(reference, s, weights)


def draw_tokens(probe, s, new=NEW):
    """Draw a batch with different items."""
    return probe.normal(s.B, new, s.d_in, scale=0.6)


def draw_heads(probe, s, past=PAST):
    """Draw the keys and values of earlier tokens, split into heads."""
    return tuple(probe.normal(s.B, s.H, past, s.d, scale=1.5) for _ in range(2))


def documented_module(student, documented, inputs):
    """Return the module with the documented weights, and the documented batch."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    return student.new(NAME, 3, 2, 2, qkv_bias=False, seed=123), batch


def have_sizes(answer, s, new=NEW, past=PAST):
    """Fail the check unless the results have the shapes for these sizes; return them."""
    return have_shapes(answer, (s.B, new, s.d_out), (s.B, s.H, past + new, s.d))


# CachedMultiHeadAttention


@check(NAME, points=0.05, layer="signature")
def test_heads_are_built_by_the_names_of_their_arguments(student):
    """The constructor takes d_in, d_out, num_heads and qkv_bias."""
    sizes = {"d_in": 3, "d_out": 8, "num_heads": 2}

    student.new(NAME, **sizes)
    student.new(NAME, **sizes, qkv_bias=True)


@check(NAME, points=0.1, layer="shapes")
def test_heads_return_context_and_cache(student, probe):
    """Two new tokens give two context vectors and a cache of all tokens, split into heads."""
    s = FOUR
    attention = student.new(NAME, s.d_in, s.d_out, s.H, qkv_bias=False)
    x = draw_tokens(probe, s, 2)

    have_sizes(attention(x), s, 2, 0)
    have_sizes(attention(x, draw_heads(probe, s)), s, 2)


@check(NAME, points=0.1, layer="parameters")
def test_heads_name_their_layers(student):
    """The layers are named W_query, W_key, W_value and out_proj; three have a bias on request."""
    for given, biased in (((), ("out_proj",)), ((True,), (*QKV, "out_proj"))):
        found = student.new(NAME, 3, 2, 2, *given).parameters()

        wanted = {f"{name}.weight" for name in (*QKV, "out_proj")}
        wanted |= {f"{name}.bias" for name in biased}
        for name in sorted(wanted - found.keys()):
            when = f" with qkv_bias={bool(given)}"
            expect(name in found, f"torch lists no parameter {name}{when}.")
        for layer in QKV:
            extra = f"{layer}.bias" in found and layer not in biased
            expect(not extra, f"{layer} has a bias, but qkv_bias is false.")


@check(NAME, points=0.1, layer="parameters")
def test_heads_draw_the_documented_weights(student, documented):
    """With seed 123, W_query, W_key, W_value and out_proj get the documented weights."""
    entries = {f"{name}.weight": f"ch03.causal.{name.lower()}.weight" for name in QKV}
    entries |= {f"out_proj.{part}": f"ch03.mha.out_proj.{part}" for part in ("weight", "bias")}

    found = student.new(NAME, 3, 2, 2, qkv_bias=False, seed=123).named(*entries)
    for name, entry in entries.items():
        documented[entry].matches(found[name].value, name)


@check(NAME, points=0.1, layer="parameters")
def test_heads_draw_again_under_another_seed(student, reference, probe):
    """For other sizes and seeds, the layers are created in order, with and without biases."""
    for qkv_bias in (False, True):
        sizes = (FOUR.d_in, FOUR.d_out, FOUR.H, qkv_bias)
        drawn = reference.new(NAME, *sizes, seed=probe.seed).parameters()
        found = student.new(NAME, *sizes, seed=probe.seed).named(*drawn)

        for name, parameter in drawn.items():
            what = f"{name} right after construction with qkv_bias={qkv_bias}"
            agrees(found[name].value, parameter.value, what)


@check(NAME, points=0.1, layer="documented")
def test_heads_reproduce_the_documented_context(student, documented, inputs):
    """With seed 123, all six tokens at once give the documented context vectors."""
    attention, batch = documented_module(student, documented, inputs)

    context, *_ = parts(attention(batch))
    documented["ch03.mha.context"].matches(context, f"The context of {NAME}(3, 2, 2, False)")


@check(NAME, points=0.1, layer="documented")
def test_heads_reproduce_the_documented_context_from_single_tokens(student, documented, inputs):
    """With seed 123, two single tokens and then four give the documented context vectors."""
    attention, batch = documented_module(student, documented, inputs)

    context, _ = in_turn(attention, batch, (1, 1, 4))
    documented["ch03.mha.context"].matches(context, "The context of 1, 1 and 4 tokens")


@check(NAME, points=0.1, layer="documented")
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

    same_context(yours(x, cache), ours(x, cache))


@check(NAME, points=0.2, layer="probe")
def test_heads_attend_with_other_sizes(student, reference, probe):
    """With other sizes, a single new token and several new tokens attend to the cache."""
    yours, ours = both(student, reference, probe, TWO)

    for new, past in ((1, 7), (4, 2)):
        x, cache = draw_tokens(probe, TWO, new), draw_heads(probe, TWO, past)
        same_context(yours(x, cache), ours(x, cache))


@check(NAME, points=0.3, layer="probe")
def test_heads_start_without_a_cache(student, reference, probe):
    """Without a cache, the heads attend causally, for short and long texts and other batches."""
    yours, ours = both(student, reference, probe, FOUR)
    x = draw_tokens(probe, FOUR, 8)

    for new, items in ((8, 3), (5, 2)):
        part = x[:items, :new].contiguous()
        same_context(yours(part), ours(part))


@check(NAME, points=0.1, layer="probe")
def test_heads_start_from_an_empty_cache(student, reference, probe):
    """A cache of 0 tokens means the same as None."""
    s = FOUR
    yours, ours = both(student, reference, probe, s)
    x = draw_tokens(probe, s)

    same_context(yours(x, (torch.zeros(s.B, s.H, 0, s.d),) * 2), ours(x))


@check(NAME, points=0.1, layer="probe")
def test_heads_use_their_biases(student, reference, probe):
    """With qkv_bias=True, the biases are added to queries, keys and values."""
    yours, ours = both(student, reference, probe, THREE, qkv_bias=True)
    x, cache = draw_tokens(probe, THREE), draw_heads(probe, THREE)

    same_parts(yours(x, cache), ours(x, cache), " with qkv_bias=True")


@check(NAME, points=0.4, layer="probe")
def test_heads_return_the_keys_and_values_of_all_tokens(student, reference, probe):
    """The returned keys and values are right, with and without a cache."""
    yours, ours = both(student, reference, probe, FOUR)
    x = draw_tokens(probe, FOUR)

    for cache in (draw_heads(probe, FOUR), None):
        when = "" if cache else " without a cache"
        same_cache(yours(x, cache), ours(x, cache), when)


@check(NAME, points=0.15, layer="laws")
def test_heads_give_the_same_for_every_cut(student, probe):
    """Split into chunks, a text gives the same result as at once, and earlier chunks matter."""
    s = FOUR
    yours, x = loaded(student, s, draw_weights(probe, s)), draw_tokens(probe, s, TOKENS)
    others = torch.cat((draw_tokens(probe, s, CUT[0]), x[:, CUT[0] :]), dim=1)

    whole, changed = (have_sizes(yours(text), s, TOKENS, 0)[0] for text in (x, others))
    context, _ = in_turn(yours, x, CUT)
    agrees(context, whole, "The context of a text in chunks", "that of the whole text")
    has_effect(whole[:, CUT[0] :], changed[:, CUT[0] :], "the first chunk", " on the others")


@check(NAME, points=0.15, layer="laws")
def test_heads_do_not_mix_two_texts(student, probe):
    """A text that is continued after a call for another text gets the same result as before."""
    s = THREE
    yours = loaded(student, s, draw_weights(probe, s))
    one, two = ((draw_tokens(probe, s), draw_heads(probe, s)) for _ in range(2))

    before, other, after = (have_sizes(yours(*given), s)[0] for given in (one, two, one))
    agrees(after, before, "The context after a call for another text", "that before")
    has_effect(before, other, "the text and its cache")


@check(NAME, points=0.1, layer="laws")
def test_heads_keep_the_items_of_a_batch_apart(student, probe):
    """The last item of a batch gets the same result as alone, and not that of the first."""
    s = FOUR
    yours = loaded(student, s, draw_weights(probe, s))
    x, cache = draw_tokens(probe, s), draw_heads(probe, s)
    context, *_ = have_sizes(yours(x, cache), s)

    alone = yours(x[-1:].contiguous(), tuple(past[-1:].contiguous() for past in cache))
    one, *_ = have_sizes(alone, s._replace(B=1))
    agrees(one, context[-1:], "The context of an item alone", "that in the batch")
    has_effect(context[:1], context[-1:], "the item")


@check(NAME, points=0.15, layer="laws")
def test_heads_see_the_past_and_not_the_future(student, probe):
    """A new token affects itself and the tokens after it, but no token before it."""
    s, weights = FOUR, draw_weights(probe, FOUR)
    for name in QKV[:2]:
        weights[f"{name}.weight"][:, -1] = 0  # the last feature has an effect on values only
    x, cache = draw_tokens(probe, s), draw_heads(probe, s)
    others = x.clone()
    others[:, 1, -1] += FAR
    yours = loaded(student, s, weights)

    before, after = (have_sizes(yours(text, cache), s)[0] for text in (x, others))
    agrees(
        after[:, :1],
        before[:, :1],
        "After a change of a later token, the context of the first",
        "that before",
    )
    has_effect(before[:, 1:], after[:, 1:], "a new token's value", " on it or later tokens")


@check(NAME, points=0.15, layer="laws")
def test_heads_double_the_context_of_doubled_values(student, probe):
    """Without the last bias, values twice as large give a context twice as large."""
    s, weights = FOUR, draw_weights(probe, FOUR)
    weights["out_proj.bias"] = torch.zeros(s.d_out)
    x, (keys, values) = draw_tokens(probe, s), draw_heads(probe, s)

    before, after = (
        have_sizes(
            loaded(student, s, weights | {"W_value.weight": times * weights["W_value.weight"]})(
                x, (keys, times * values)
            ),
            s,
        )[0]
        for times in (1, 2)
    )
    agrees(after, 2 * before, "The context of doubled values", "the doubled context")
    has_effect(before, after, "the values")


@check(NAME, points=0.15, layer="laws")
def test_heads_work_on_blocks_of_their_own(student, probe):
    """New cached values of one head change the features of this head only, before out_proj."""
    s, weights = FOUR, draw_weights(probe, FOUR)
    weights |= {"out_proj.weight": torch.eye(s.d_out), "out_proj.bias": torch.zeros(s.d_out)}
    x, (keys, values) = draw_tokens(probe, s), draw_heads(probe, s)
    others = values.clone()
    others[:, 1] += 3
    yours = loaded(student, s, weights)

    before, after = (
        have_sizes(yours(x, (keys, past)), s)[0].unflatten(-1, (s.H, s.d))
        for past in (values, others)
    )
    apart = [0, 2, 3]
    agrees(
        after[:, :, apart], before[:, :, apart], "The features of the other heads", "those before"
    )
    has_effect(before[:, :, 1], after[:, :, 1], "the values of a head", " on its features")


@check(NAME, points=0.15, layer="laws")
def test_heads_let_new_tokens_follow_the_cache(student, probe):
    """The keys and values of the new tokens are those without a cache, and follow the cache."""
    s = FOUR
    yours = loaded(student, s, draw_weights(probe, s))
    x, cache = draw_tokens(probe, s), draw_heads(probe, s)

    alone = yours(x)
    have_sizes(alone, s, NEW, 0)
    follows(yours(x, cache), cache, alone)


@check(NAME, points=0.25, layer="laws", rules=("dtype",))
def test_heads_keep_the_dtype(student, probe):
    """Float64 inputs give float64 results, and float32 inputs give float32 results."""
    s = FOUR
    attention = loaded(student, s, draw_weights(probe, s))
    x, cache, contexts = draw_tokens(probe, s), draw_heads(probe, s), []

    for dtype, name, times in ((torch.float64, "float64", 1), (torch.float32, "float32", 2)):
        attention.move(name)
        answer = attention(times * x.to(dtype), tuple(times * past.to(dtype) for past in cache))
        found = have_sizes(answer, s)
        for what, part in zip(PARTS, found, strict=True):
            same_dtype(part, dtype, what)
        contexts.append(found[0].float())
    has_effect(*contexts, "the tokens and the cache")


@check(NAME, points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_heads_leave_their_arguments_alone(student, probe):
    """The tokens and the cache are unchanged, but they have an effect."""
    s = FOUR
    yours = loaded(student, s, draw_weights(probe, s))
    x, cache = draw_tokens(probe, s), draw_heads(probe, s)

    expect(yours.keeps_inputs(x, cache), "The call changes a tensor that you pass to it.")
    before, after = (have_sizes(yours(text, cache), s)[0] for text in (x, -x))
    has_effect(before, after, "the tokens")


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
def test_heads_are_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    s = FOUR
    avoids(student, NAME, READY_ATTENTION, BY_HAND)
    yours = loaded(student, s, draw_weights(probe, s))
    ran = yours.operators(draw_tokens(probe, s), draw_heads(probe, s))
    avoids_running(ran, READY_ATTENTION, BY_HAND)


@check(NAME, points=0.2, layer="forbidden", rules=("projected_once",))
def test_heads_project_new_tokens_only(student, probe):
    """For one new token, the number of projections is the same after 10 tokens and after 40."""
    one = FOUR._replace(B=1)
    yours = loaded(student, one, draw_weights(probe, one))
    x = draw_tokens(probe, one, 1)

    few, many = (yours.operators(x, draw_heads(probe, one, past)) for past in (10, 40))
    keeps_products(few, many, D_IN, ONCE)
