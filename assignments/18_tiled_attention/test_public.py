"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import math

import pytest
import torch
from torch import Tensor, nn

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_itself, avoids_running, keeps_results_below


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
READY_SOFTMAX = frozenset(
    {
        "AdaptiveLogSoftmaxWithLoss",
        "LogSoftmax",
        "Softmax",
        "Softmax2d",
        "Softmin",
        "_log_softmax",
        "_masked_softmax",
        "_safe_softmax",
        "_softmax",
        "gumbel_softmax",
        "log_softmax",
        "logcumsumexp",
        "logsumexp",
        "softmax",
        "softmin",
    }
)
B, H, TQ, TK, D, DV = 3, 2, 4, 6, 5, 7
SPREAD = 1.5  # of queries and keys: the weights are neither equal nor one-hot
SCALE = 0.7  # not the default, 1/√d
FAR = 200.0  # in float32, exp(200) is infinite and exp(-200) is 0
LARGE = 1000.0  # a change of a value that even the smallest weight shows
EFFECT = 0.05  # far above all noise; the changes that a law makes have much larger effects
CAUSAL = (True,)  # as the last argument, without its name
LONG, TILE = 64, 8  # numbers of tokens: a tile is a small part of the text
NAMES = ("context", "logsumexp")
READING = {"max", "amax", "aminmax", "cummax", "sort", "topk", "sum", "exp", "sub", "logcumsumexp"}
NO_SOFTMAX = "Compute it from exponentials and sums."
NO_ATTENTION = "In this stage you compute attention yourself."
ONE_TILE = "Work on one tile of scores after another, and read each tile once."
NO_MATRIX = "Compute the scores of one tile, use them, and go on to the next tile."


def draw_attention(probe, *leading, Tq=TQ, Tk=TK, d=D, d_v=DV):
    """Draw queries, keys and values."""
    return (
        probe.normal(*leading, Tq, d, scale=SPREAD),
        probe.normal(*leading, Tk, d, scale=SPREAD),
        probe.normal(*leading, Tk, d_v),
    )


def draw_side(probe, *leading, Tq=TQ, d_v=DV):
    """Draw a context and a logsumexp, as for a tile."""
    return probe.normal(*leading, Tq, d_v), probe.normal(*leading, Tq, scale=SPREAD)


def draw_exact(probe, *shape):
    """Draw multiples of 1/4: sums of their products are exact in float32."""
    return (4 * probe.normal(*shape, scale=SPREAD)).round() / 4


def attend(queries, keys, values, scale=None, hidden=None):
    """Compute context and logsumexp with all weights at once, in float64."""
    wide = (one.double() for one in (queries, keys, values))
    context, logsumexp = attend_wide(*wide, scale, hidden)
    return context.float(), logsumexp.float()


def attend_wide(q, k, v, scale=None, hidden=None):
    """Compute context and logsumexp with all weights at once."""
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    scores = factor * torch.einsum("...qd,...kd->...qk", q, k)
    seen = scores if hidden is None else torch.where(hidden, -torch.inf, scores)
    context = torch.einsum("...qk,...kv->...qv", seen.softmax(-1).nan_to_num(0), v)
    return context, seen.logsumexp(-1)


def future(Tq, Tk):
    """Mark the keys hidden from each query, where the last query belongs to the last key."""
    return torch.ones(Tq, Tk).triu(Tk - Tq + 1).bool()


def pair(answer, names=NAMES):
    """Return *answer*, or fail the check if it is not a pair."""
    sentence = f"The result is not a tuple of two tensors: {' and '.join(names)}."
    right = isinstance(answer, tuple | list) and len(answer) == len(names)
    expect(right, sentence, Status.WRONG_TYPE)
    return answer


def same_pair(answer, wanted, names=NAMES):
    """Compare two results one by one."""
    for name, found, right in zip(names, pair(answer, names), wanted, strict=True):
        agrees(found, right, f"The {name}")


def have_shapes(answer, context, logsumexp):
    """Fail the check unless both results have these shapes; return them."""
    found = pair(answer)
    shapes = zip(NAMES, found, (context, logsumexp), strict=True)
    return [tensor_like(one, shape, f"The {name}") for name, one, shape in shapes]


def has_effect(before, after, what, on=""):
    """Fail the check if a change of *what* has left a result as it was, or made it NaN."""
    moved = before.numel() and bool((after - before).abs().max() > EFFECT)
    expect(moved, f"A change of {what} has no clear effect{on}.")


def pair_keeps_dtype(student, exercise, *given, names=NAMES, **keywords):
    """Fail the check unless both results depend on the arguments and have their dtype."""
    both = []
    for dtype, times in ((torch.float64, 1), (torch.float32, 2)):
        wide = [times * one.to(dtype) if is_float(one) else one for one in given]
        answer = pair(student.call(exercise, *wide, **keywords), names)
        for name, found in zip(names, answer, strict=True):
            same_dtype(tensor(found, f"The {name}"), dtype, f"The {name}")
        both.append(answer)
    for name, one, other in zip(names, *both, strict=True):
        like = tensor_like(other, tuple(one.shape), f"The {name}")
        has_effect(one.float(), like, "all arguments", f" on the {name}")


def is_float(one):
    """Whether an argument is a tensor of numbers that can be scaled."""
    return isinstance(one, torch.Tensor) and one.is_floating_point()


def keeps_pair_inputs(student, exercise, *given, names=NAMES):
    """Fail the check unless the arguments are unchanged and the first of them has an effect."""
    kept = student.keeps_inputs(exercise, *given)
    expect(kept, f"{exercise} changes a tensor that you pass to it.")
    before, after = (
        tensor(pair(student.call(exercise, first, *given[1:]), names)[0], f"The {names[0]}")
        for first in (given[0], given[0] + 1)
    )
    has_effect(before, after, "the first argument", f" on the {names[0]}")


TWO = ("maximum", "sum")


def online(student, scores, tile_size):
    """Return the student's maximum and sum, or fail the check if they have axes."""
    found = pair(student.call("online_max_and_sum", scores, tile_size), TWO)
    return [tensor_like(one, (), f"The {name}") for name, one in zip(TWO, found, strict=True)]


def same_two(student, reference, scores, tile_size):
    """Compare both numbers with the reference's."""
    same_pair(
        student.call("online_max_and_sum", scores, tile_size),
        reference.call("online_max_and_sum", scores, tile_size),
        TWO,
    )


# online_max_and_sum


@check("online_max_and_sum", points=0.2, layer="probe")
def test_running_maximum_of_any_scores(student, reference, probe):
    """For other scores and tile sizes, the maximum is right."""
    for size, tile_size in ((6, 2), (12, 4), (5, 1), (9, 9)):
        scores = probe.normal(size, scale=2)

        maximum, _ = online(student, scores, tile_size)
        agrees(maximum, reference.call("online_max_and_sum", scores, tile_size)[0], "The maximum")


@check("online_max_and_sum", points=0.25, layer="probe")
def test_running_sum_of_any_scores(student, reference, probe):
    """For other scores and tile sizes, the sum is right."""
    for size, tile_size in ((6, 2), (12, 4), (5, 1), (9, 9)):
        scores = probe.normal(size, scale=2)

        _, total = online(student, scores, tile_size)
        agrees(total, reference.call("online_max_and_sum", scores, tile_size)[1], "The sum")


@check("online_max_and_sum", points=0.15, layer="probe")
def test_running_numbers_with_a_shorter_last_tile(student, reference, probe):
    """If the last tile is shorter, or the only one, both numbers are right."""
    for size, tile_size in ((7, 3), (11, 4), (3, 8)):
        same_two(student, reference, probe.normal(size, scale=2), tile_size)


@check("online_max_and_sum", points=0.1, layer="probe")
def test_running_numbers_of_growing_scores(student, reference, probe):
    """If the maximum grows from tile to tile, both numbers are right."""
    for size, tile_size in ((12, 3), (10, 5)):
        same_two(student, reference, probe.normal(size, scale=3).sort().values, tile_size)


@check("online_max_and_sum", points=0.1, layer="probe")
def test_running_numbers_of_scores_below_zero(student, reference, probe):
    """If all scores are below zero, the maximum is too."""
    same_two(student, reference, -1 - probe.uniform(12) * 4, 4)


@check("online_max_and_sum", points=0.15, layer="laws")
def test_running_numbers_do_not_depend_on_the_tile_size(student, probe):
    """The results are the same for each tile size, but not for other scores."""
    scores = probe.normal(12, scale=2)
    wanted = online(student, scores, 12)

    for tile_size in (1, 2, 4, 6):
        same_pair(online(student, scores, tile_size), wanted, TWO)
    has_effect(wanted[1], online(student, scores / 4, 12)[1], "the scores", " on the sum")


@check("online_max_and_sum", points=0.15, layer="laws")
def test_running_numbers_of_large_scores_are_finite(student, probe):
    """Adding a large number to all scores adds it to the maximum and leaves the sum unchanged."""
    scores = draw_exact(probe, 9)
    maximum, total = online(student, scores, 3)

    for far in (FAR, -FAR):
        same_pair(online(student, scores + far, 3), (maximum + far, total), TWO)


@check("online_max_and_sum", points=0.15, layer="laws")
def test_running_sum_counts_every_score(student, probe):
    """If each score is there twice, the sum is twice as large, and the maximum is the same."""
    scores = probe.normal(8, scale=2)
    maximum, total = online(student, scores, 4)

    expect(total > EFFECT, "The sum is not clearly above 0.")
    same_pair(online(student, torch.cat((scores, scores)), 4), (maximum, 2 * total), TWO)


@check("online_max_and_sum", points=0.15, layer="laws")
def test_running_sum_follows_a_new_maximum(student, probe):
    """A last score that is larger by 1 becomes the maximum, and the sum is corrected for it."""
    scores = probe.normal(6, scale=2)
    maximum, total = online(student, scores, 3)

    found = online(student, torch.cat((scores, scores.max()[None] + 1)), 3)
    same_pair(found, (maximum + 1, 1 + total * math.exp(-1)), TWO)


@check("online_max_and_sum", points=0.1, layer="laws", rules=("dtype",))
def test_running_numbers_keep_the_dtype(student, probe):
    """In float64 both results are float64, and in float32 they are float32."""
    scores = 1 + probe.uniform(7)  # both numbers change if the scores are doubled

    pair_keeps_dtype(student, "online_max_and_sum", scores, 3, names=TWO)


@check("online_max_and_sum", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_running_numbers_leave_the_scores_alone(student, probe):
    """The scores are unchanged, but they have an effect."""
    keeps_pair_inputs(student, "online_max_and_sum", probe.normal(7, scale=3), 3, names=TWO)


@check("online_max_and_sum", points=0.1, layer="forbidden", rules=("no_ready_softmax",))
def test_running_numbers_are_your_own(student, probe):
    """The sum comes from your own exponentials, not from torch's softmax or logsumexp."""
    avoids(student, "online_max_and_sum", READY_SOFTMAX, NO_SOFTMAX)
    ran = student.operators("online_max_and_sum", probe.normal(7), 3)
    avoids_running(ran, READY_SOFTMAX, NO_SOFTMAX)


@check("online_max_and_sum", points=0.1, layer="forbidden", rules=("one_pass",))
def test_running_numbers_take_one_tile_at_a_time(student, probe):
    """With 64 scores in tiles of 8, no operation works on all scores."""
    ran = student.operators("online_max_and_sum", probe.normal(LONG, scale=2), TILE)

    keeps_results_below(ran, LONG, ONE_TILE)
    wide = {name.split(".")[1] for name, size in ran.operators if size >= LONG and "." in name}
    expect(
        not wide & READING,
        f"An operation works on all scores at the same time. {ONE_TILE}",
        Status.FORBIDDEN,
    )


def strivin_tensors(window, shift, *, groups, spread):
    """Draw the documented queries, keys, values and running numbers, and the hidden keys."""
    generator = torch.Generator().manual_seed(42)
    queries, keys, values = (torch.randn(size, 4, generator=generator) for size in (7, 5, 5))
    context = torch.randn(7, 4, generator=generator)
    logsumexp = torch.rand(7, generator=generator)
    factors = torch.empty(4).uniform_(-spread, spread, generator=torch.Generator().manual_seed(42))

    def normalised(given):
        grouped = given.view(len(given), groups, -1)
        size = (grouped.pow(2).mean(dim=-1, keepdim=True) + 1e-5).rsqrt()
        return (grouped * size).view_as(given) * factors

    distance = torch.arange(5) - (torch.arange(7) - 2)[:, None]
    visible = (distance >= -window) & (distance <= shift)
    return (normalised(queries), normalised(keys), values), (context, logsumexp), ~visible


def documented_pair(documented, case, found):
    """Compare both running numbers with the documented ones."""
    documented[f"strivin.{case}.output"].matches(found[0], "The merged context")
    documented[f"strivin.{case}.lse"].matches(found[1], "The merged logsumexp")


def joined(running, tile):
    """Merge two results for the same queries, in float64."""
    (context, logsumexp), (more, other) = ([one.double() for one in two] for two in (running, tile))
    both = torch.stack((logsumexp, other))
    shares = both.softmax(0).nan_to_num(0).unsqueeze(-1)
    mixed = shares[0] * context + shares[1] * more
    return mixed.float(), both.logsumexp(0).float()


def tile_of(student, given, scale=SCALE, hidden=None):
    """Return the student's context and logsumexp of a tile, or fail the check."""
    queries, _, values = given
    rows = tuple(queries.shape[:-1])
    answer = student.call("attend_tile", *given, scale, hidden)
    return have_shapes(answer, (*rows, values.shape[-1]), rows)


# attend_tile


@check("attend_tile", points=0.1, layer="shapes")
def test_tile_gives_a_context_and_a_logsumexp(student, probe):
    """The result is a tuple of a context and a logsumexp, with and without leading axes."""
    for leading in ((2, 3), ()):
        tile_of(student, draw_attention(probe, *leading))


@check("attend_tile", points=0.2, layer="documented")
def test_tile_of_all_keys_is_the_documented_attention(student, documented, inputs):
    """One tile that holds all six tokens gives the documented context vectors."""
    given = documented_projections(inputs)

    context, _ = pair(student.call("attend_tile", *given, 2**-0.5))
    documented["002.sa_v1.context"].matches(context, "The context")


@check("attend_tile", points=0.1, layer="documented")
def test_hidden_tile_changes_none_of_the_documented_numbers(student, documented):
    """A tile that is completely hidden does not change the documented running numbers."""
    given, running, hidden = strivin_tensors(1, 1, groups=4, spread=1.25)
    queries, (keys, values) = given[0][6:], (one[:2] for one in given[1:])

    tile = student.call("attend_tile", queries, keys, values, 0.5 / 0.9, hidden[6:, :2])
    have_shapes(tile, (1, 4), (1,))
    last = joined([one[6:] for one in running], tile)
    found = [torch.cat((one[:6], more)) for one, more in zip(running, last, strict=True)]
    documented_pair(documented, "case2", found)


TILES = (  # leading axes, other sizes, scale
    ((), {}, SCALE),
    ((B,), {"Tq": 3, "Tk": 8}, 0.3),
    ((B, H), {"d": 6, "d_v": 3}, 0.4),
    ((H,), {"Tq": 5, "Tk": 5, "d": 3, "d_v": 3}, 0.5),
    ((), {"Tq": 1, "Tk": 1}, SCALE),
)


@check("attend_tile", points=0.15, layer="probe")
def test_context_of_a_tile(student, probe):
    """For other sizes, leading axes and scales, the context is right."""
    for leading, sizes, scale in TILES:
        given = draw_attention(probe, *leading, **sizes)

        context, _ = pair(student.call("attend_tile", *given, scale))
        agrees(context, attend(*given, scale)[0], "The context")


@check("attend_tile", points=0.2, layer="probe")
def test_logsumexp_of_a_tile(student, probe):
    """For other sizes, leading axes and scales, the logsumexp is right."""
    for leading, sizes, scale in TILES:
        given = draw_attention(probe, *leading, **sizes)

        _, logsumexp = pair(student.call("attend_tile", *given, scale))
        agrees(logsumexp, attend(*given, scale)[1], "The logsumexp")


@check("attend_tile", points=0.15, layer="probe")
def test_tile_with_the_usual_scale(student, probe):
    """Without a scale, or with None, the scores are divided by √d."""
    for leading, given in (((), ()), ((B,), (None,))):
        drawn = draw_attention(probe, *leading)

        same_pair(student.call("attend_tile", *drawn, *given), attend(*drawn))


@check("attend_tile", points=0.2, layer="probe")
def test_tile_with_hidden_keys(student, reference, probe):
    """Both results are right, with the same hidden keys in all items or with different ones."""
    first = torch.zeros(TK).bool()
    first[0] = True  # seen by all queries
    for leading, shape in (((), (TQ, TK)), ((B, H), (B, 1, TQ, TK)), ((B,), (B, 1, TK))):
        given = (*draw_attention(probe, *leading), SCALE, (probe.uniform(*shape) < 0.4) & ~first)

        same_pair(student.call("attend_tile", *given), reference.call("attend_tile", *given))


def draw_blind(probe):
    """Draw arguments of ``attend_tile`` for which query 1 sees no key, with several shapes."""
    for leading, shape in (((), (TQ, TK)), ((B,), (B, TQ, TK)), ((B, H), (TQ, 1))):
        given = draw_attention(probe, *leading)
        hidden = probe.uniform(*shape) < 0.4
        hidden[..., 1, :] = True
        yield *given, SCALE, hidden


@check("attend_tile", points=0.1, layer="probe")
def test_context_of_a_query_that_sees_nothing(student, probe):
    """A query that sees no key has a context of zeros, and the other contexts are right."""
    for given in draw_blind(probe):
        context, _ = pair(student.call("attend_tile", *given))

        agrees(context, attend(*given)[0], "The context")


@check("attend_tile", points=0.1, layer="probe")
def test_logsumexp_of_a_query_that_sees_nothing(student, probe):
    """A query that sees no key has a logsumexp of minus infinity, and the others are right."""
    for given in draw_blind(probe):
        _, logsumexp = pair(student.call("attend_tile", *given))

        agrees(logsumexp, attend(*given)[1], "The logsumexp")


@check("attend_tile", points=0.15, layer="laws")
def test_tile_of_large_scores_is_finite(student, probe):
    """Adding a number to a query's scores adds it to its logsumexp and keeps its context."""
    queries, keys = draw_exact(probe, B, TQ, D), draw_exact(probe, B, TK, D)
    values, one = probe.normal(B, TK, DV), torch.ones(1)
    sign = one.new_tensor([1.0, -1.0]).repeat(TQ // 2)  # some scores grow, and others shrink
    context, logsumexp = tile_of(student, (queries, keys, values), 0.5)
    longer = torch.cat((queries, sign[:, None].expand(B, TQ, 1)), dim=-1)

    for far in (FAR, -FAR):
        moved = torch.cat((keys, (2 * far * one).expand(B, TK, 1)), dim=-1)
        found = tile_of(student, (longer, moved, values), 0.5)
        same_pair(found, (context, logsumexp + far * sign))


@check("attend_tile", points=0.1, layer="laws")
def test_tile_does_not_depend_on_the_order_of_its_keys(student, probe):
    """The order of keys and values has no effect, but other keys and values have one."""
    queries, keys, values = draw_attention(probe, B)
    order = torch.randperm(TK, generator=torch.Generator().manual_seed(probe.seed))

    before = tile_of(student, (queries, keys, values))
    same_pair(tile_of(student, (queries, keys[:, order], values[:, order])), before)
    has_effect(
        before[0], tile_of(student, (queries, keys, values + 1))[0], "the values", " on the context"
    )
    has_effect(
        before[1], tile_of(student, (queries, -keys, values))[1], "the keys", " on the logsumexp"
    )


@check("attend_tile", points=0.15, layer="laws")
def test_tile_does_not_depend_on_hidden_keys(student, probe):
    """Keys that no query sees have no effect, and their values neither, but others have one.

    Of two opposite keys, one has a far larger score than all visible keys.
    """
    queries, keys, values = draw_attention(probe, B)
    hidden = (torch.arange(TK) == 2) | (torch.arange(TK) == 3)
    there = hidden[:, None]
    sign = torch.tensor([1.0, -1.0]).repeat(TK // 2)[:, None]
    moved = keys + torch.where(there, sign * probe.normal(D, scale=FAR), 0)
    other = values + torch.where(there, probe.normal(TK, DV, scale=9), 0)

    before = tile_of(student, (queries, keys, values), SCALE, hidden)
    same_pair(tile_of(student, (queries, moved, other), SCALE, hidden), before)
    seen = tile_of(student, (queries, keys, values + 1), SCALE, hidden)
    has_effect(before[0], seen[0], "the visible values", " on the context")


@check("attend_tile", points=0.1, layer="laws")
def test_tile_treats_each_item_alone(student, probe):
    """The results of an item are the same alone and in a batch, and items differ."""
    given = draw_attention(probe, B)
    both = tile_of(student, given)

    for item in range(B):
        alone = tile_of(student, [one[item] for one in given])
        same_pair(alone, [one[item] for one in both])
    for name, one in zip(NAMES, both, strict=True):
        has_effect(one[0], one[1], "the item", f" on the {name}")


@check("attend_tile", points=0.15, layer="laws")
def test_tile_with_each_key_twice(student, probe):
    """With each key and value twice, the context is the same, and the logsumexp grows by log 2."""
    queries, keys, values = draw_attention(probe, B)

    context, logsumexp = tile_of(student, (queries, keys, values))
    twice = tile_of(student, (queries, *(torch.cat((one, one), 1) for one in (keys, values))))
    same_pair(twice, (context, logsumexp + math.log(2)))


@check("attend_tile", points=0.1, layer="laws")
def test_query_that_sees_nothing_depends_on_nothing(student, probe):
    """A query that sees no key has a sum of 0, and keys and values affect others only."""
    queries, keys, values = draw_attention(probe, B)
    hidden = torch.zeros(TQ, TK).bool()
    hidden[1] = True

    before, after = (
        tile_of(student, (queries, *given), SCALE, hidden)
        for given in ((keys, values), (keys + 1, values + 1))
    )
    for name, one, other in zip(NAMES, after, before, strict=True):
        agrees(one[:, 1], other[:, 1], f"The {name} of a query that sees no key")
    nothing = (before[1][:, 1] == -torch.inf).all()
    expect(nothing, "A query that sees no key must have a logsumexp of minus infinity.")
    has_effect(before[0][:, 0], after[0][:, 0], "the visible values", " on the context")


@check("attend_tile", points=0.1, layer="laws")
def test_no_scale_means_the_root_of_the_features(student, probe):
    """A scale of None has the same effect as 1/√d, and another scale has another effect."""
    given = draw_attention(probe, B)

    usual = tile_of(student, given, D**-0.5)
    same_pair(tile_of(student, given, None), usual)
    for name, *both in zip(NAMES, usual, tile_of(student, given, SCALE), strict=True):
        has_effect(*both, "the scale", f" on the {name}")


@check("attend_tile", points=0.15, layer="laws", rules=("dtype",))
def test_tile_keeps_the_dtype(student, probe):
    """In float64 both results are float64, and in float32 they are float32."""
    hidden = future(TQ, TK)

    pair_keeps_dtype(student, "attend_tile", *draw_attention(probe, B), scale=SCALE, hidden=hidden)


@check("attend_tile", points=0.15, layer="laws", rules=("inputs_unchanged",))
def test_tile_leaves_its_arguments_alone(student, probe):
    """No argument is changed, but they have an effect."""
    keeps_pair_inputs(
        student, "attend_tile", *draw_attention(probe, B), SCALE, future(TQ, TK), names=NAMES
    )


@check("attend_tile", points=0.1, layer="forbidden", rules=("no_ready_softmax",))
def test_tile_is_computed_without_a_ready_softmax(student, probe):
    """The weights come from your own exponentials, not from torch's softmax or logsumexp."""
    avoids(student, "attend_tile", READY_SOFTMAX, NO_SOFTMAX)
    ran = student.operators("attend_tile", *draw_attention(probe, B), SCALE)
    avoids_running(ran, READY_SOFTMAX, NO_SOFTMAX)


@check("attend_tile", points=0.05, layer="forbidden", rules=("no_ready_attention",))
def test_tile_is_computed_without_ready_attention(student, probe):
    """The context comes from your own steps, not from torch's own attention."""
    avoids(student, "attend_tile", READY_ATTENTION, NO_ATTENTION)
    ran = student.operators("attend_tile", *draw_attention(probe, B), SCALE)
    avoids_running(ran, READY_ATTENTION, NO_ATTENTION)


def merged(student, one, other):
    """Return the student's context and logsumexp of two sides, or fail the check."""
    answer = student.call("merge_tiles", *one, *other)
    return have_shapes(answer, *(tuple(each.shape) for each in one))


# merge_tiles


@check("merge_tiles", points=0.2, layer="documented")
def test_merging_gives_the_documented_numbers(student, documented):
    """Merging the documented tile gives the documented running numbers."""
    given, running, hidden = strivin_tensors(2, 0, groups=2, spread=1.05)
    queries, (keys, values) = given[0][3:6], (one[2:4] for one in given[1:])
    capped = 10 * torch.tanh(queries @ keys.T / 20)
    tile = attend(capped, torch.eye(2), values, 1.0, hidden[3:6, 2:4])

    answer = student.call("merge_tiles", *(one[3:6] for one in running), *tile)
    merged = have_shapes(answer, (3, 4), (3,))
    found = [torch.cat((one[:3], more, one[6:])) for one, more in zip(running, merged, strict=True)]
    documented_pair(documented, "case1", found)


@check("merge_tiles", points=0.1, layer="documented")
def test_merging_with_a_hidden_tile_keeps_the_documented_numbers(student, documented):
    """A tile that is completely hidden does not change the documented running numbers."""
    given, running, hidden = strivin_tensors(1, 1, groups=4, spread=1.25)
    queries, (keys, values) = given[0][6:], (one[:2] for one in given[1:])
    tile = attend(queries, keys, values, 0.5 / 0.9, hidden[6:, :2])

    answer = student.call("merge_tiles", *(one[6:] for one in running), *tile)
    merged = have_shapes(answer, (1, 4), (1,))
    found = [torch.cat((one[:6], more)) for one, more in zip(running, merged, strict=True)]
    documented_pair(documented, "case2", found)


def draw_nothing():
    """Return the result of a tile without visible keys."""
    return torch.zeros(B, TQ, DV), torch.full((B, TQ), -torch.inf)


SIDES = (  # leading axes, other sizes
    ((), {}),
    ((B,), {"Tq": 3, "d_v": 2}),
    ((B, H), {}),
    ((H,), {"Tq": 5, "d_v": 5}),
    ((), {"Tq": 1, "d_v": 1}),
)


@check("merge_tiles", points=0.2, layer="probe")
def test_merged_context_of_any_sides(student, reference, probe):
    """For other numbers, sizes and leading axes, the context is right."""
    for leading, sizes in SIDES:
        given = (*draw_side(probe, *leading, **sizes), *draw_side(probe, *leading, **sizes))

        context, _ = pair(student.call("merge_tiles", *given))
        agrees(context, reference.call("merge_tiles", *given)[0], "The context")


@check("merge_tiles", points=0.25, layer="probe")
def test_merged_logsumexp_of_any_sides(student, reference, probe):
    """For other numbers, sizes and leading axes, the logsumexp is right."""
    for leading, sizes in SIDES:
        given = (*draw_side(probe, *leading, **sizes), *draw_side(probe, *leading, **sizes))

        _, logsumexp = pair(student.call("merge_tiles", *given))
        agrees(logsumexp, reference.call("merge_tiles", *given)[1], "The logsumexp")


@check("merge_tiles", points=0.1, layer="probe")
def test_merging_is_attention_over_both_tiles(student, probe):
    """Merging two tiles gives attention over the keys of both."""
    for leading, first in (((), 2), ((B,), 1), ((B, H), 4)):
        queries, keys, values = draw_attention(probe, *leading)
        tiles = [
            attend(queries, keys[..., part, :], values[..., part, :])
            for part in (slice(first), slice(first, None))
        ]

        found = student.call("merge_tiles", *tiles[0], *tiles[1])
        same_pair(found, attend(queries, keys, values))


@check("merge_tiles", points=0.15, layer="probe")
def test_merging_with_nothing_changes_nothing(student, probe):
    """Merging with a side without visible keys, the first or the second, changes nothing."""
    some, nothing = draw_side(probe, B), draw_nothing()

    for left, right in ((some, nothing), (nothing, some)):
        same_pair(student.call("merge_tiles", *left, *right), some)


@check("merge_tiles", points=0.1, layer="laws")
def test_merging_does_not_depend_on_the_order(student, probe):
    """Swapping the two sides does not change the results, but another side does."""
    one, other, third = (draw_side(probe, B) for _ in range(3))

    before = merged(student, one, other)
    same_pair(merged(student, other, one), before)
    for name, *both in zip(NAMES, before, merged(student, one, third), strict=True):
        has_effect(*both, "one side", f" on the {name}")


@check("merge_tiles", points=0.1, layer="laws")
def test_merging_three_tiles_in_any_grouping(student, probe):
    """Three tiles give the same results, no matter which two are merged first."""
    one, two, three = (draw_side(probe, B) for _ in range(3))

    first = merged(student, merged(student, one, two), three)
    same_pair(merged(student, one, merged(student, two, three)), first)
    for name, *both in zip(NAMES, first, three, strict=True):
        has_effect(*both, "the sides that are merged", f" on the {name}")


@check("merge_tiles", points=0.1, layer="laws")
def test_merging_of_large_numbers_is_finite(student, probe):
    """Adding a large number to both logsumexps adds it to the merged one and keeps the context."""
    (one, low), (other, high) = draw_side(probe, B), draw_side(probe, B)
    low, high = ((4 * each).round() / 4 for each in (low, high))  # exact even far from 0
    context, logsumexp = merged(student, (one, low), (other, high))

    for far in (FAR, -FAR):
        found = merged(student, (one, low + far), (other, high + far))
        same_pair(found, (context, logsumexp + far))


@check("merge_tiles", points=0.1, layer="laws")
def test_merging_a_side_with_itself(student, probe):
    """Merged with itself, a side keeps its context, and its logsumexp grows by log 2."""
    context, logsumexp = draw_side(probe, B)

    found = merged(student, (context, logsumexp), (context, logsumexp))
    same_pair(found, (context, logsumexp + math.log(2)))


@check("merge_tiles", points=0.1, layer="laws")
def test_merging_follows_the_larger_side(student, probe):
    """A side whose logsumexp is larger by 40 decides both results alone."""
    (one, low), (other, _) = draw_side(probe, B), draw_side(probe, B)

    same_pair(merged(student, (one, low), (other, low + 40)), (other, low + 40))
    same_pair(merged(student, (one, low + 40), (other, low)), (one, low + 40))


@check("merge_tiles", points=0.1, layer="laws")
def test_merging_nothing_with_nothing(student, probe):
    """Two sides without visible keys give zeros and minus infinity; with keys, a side counts."""
    one, other = draw_side(probe, B), draw_side(probe, B)

    same_pair(merged(student, draw_nothing(), draw_nothing()), draw_nothing())
    for name, *both in zip(NAMES, one, merged(student, one, other), strict=True):
        has_effect(*both, "the other side", f" on the {name}")


@check("merge_tiles", points=0.1, layer="laws", rules=("dtype",))
def test_merging_keeps_the_dtype(student, probe):
    """Both results have the dtype of the arguments."""
    pair_keeps_dtype(student, "merge_tiles", *draw_side(probe, B), *draw_side(probe, B))


@check("merge_tiles", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_merging_leaves_its_arguments_alone(student, probe):
    """No argument is changed, but they have an effect."""
    keeps_pair_inputs(student, "merge_tiles", *draw_side(probe, B), *draw_side(probe, B))


def tiles(student, given, tile_size, causal=None):
    """Return the student's context, or fail the check if it has another shape."""
    queries, _, values = given
    shape = (*queries.shape[:-1], values.shape[-1])
    answer = student.call("tiled_attention", *given, tile_size, bool(causal))
    return tensor_like(answer, shape, "The context")


def documented_projections(inputs):
    """Draw the documented matrices with seed 123; return queries, keys and values."""
    generator = torch.Generator().manual_seed(123)
    return [inputs @ torch.rand(3, 2, generator=generator) for _ in range(3)]


def documented_layers(inputs):
    """Draw the documented layers with seed 123; return queries, keys, values and the last layer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        layers = [nn.Linear(3, 2, bias=False) for _ in range(3)]
        last = nn.Linear(2, 2)
    return [layer(inputs).detach() for layer in layers], last


# tiled_attention


@check("tiled_attention", points=0.1, layer="shapes")
def test_tiles_give_each_query_a_context_vector(student, probe):
    """Leading axes are kept, and each query gets a vector of the size of a value."""
    for leading in ((2, 3), ()):
        context = student.call("tiled_attention", *draw_attention(probe, *leading), 4)

        tensor_like(context, (*leading, TQ, DV), "The context")


@check("tiled_attention", points=0.15, layer="documented")
def test_tiles_of_any_size_give_the_documented_context(student, documented, inputs):
    """Tiles of 1, 4, 5 and 6 tokens give the documented context vectors."""
    given = documented_projections(inputs)

    for tile_size in (1, 4, 5, 6):
        context = student.call("tiled_attention", *given, tile_size)
        documented["002.sa_v1.context"].matches(context, f"With tiles of {tile_size}, the context")


@check("tiled_attention", points=0.1, layer="documented")
def test_causal_tiles_give_the_documented_context(student, documented, inputs):
    """With causal=True, tiles of any size give the documented causal context vectors."""
    size, *_ = documented["ch03.batch.shape"].tensor.tolist()
    given, _ = documented_layers(inputs.repeat(size, 1, 1))

    for tile_size in (1, 4, 5, 6):
        context = student.call("tiled_attention", *given, tile_size, causal=True)
        what = f"With causal=True and tiles of {tile_size}, the context"
        documented["ch03.causal.context"].matches(context, what)


@check("tiled_attention", points=0.1, layer="documented")
def test_causal_tiles_give_the_documented_heads(student, documented, inputs):
    """With two heads as a leading axis, tiles of any size give the documented context vectors."""
    size, *_ = documented["ch03.batch.shape"].tensor.tolist()
    given, last = documented_layers(inputs.repeat(size, 1, 1))
    heads = [one.unflatten(-1, (2, 1)).transpose(1, 2) for one in given]  # (B, 2, 6, 1)

    for tile_size in (1, 4, 5, 6):
        answer = student.call("tiled_attention", *heads, tile_size, causal=True)
        context = tensor_like(answer, (size, 2, 6, 1), "The context of two heads")
        found = last(context.float().transpose(1, 2).flatten(-2)).detach()
        what = f"With causal=True and tiles of {tile_size}, the context after out_proj"
        documented["ch03.mha.context"].matches(found, what)


@check("tiled_attention", points=0.15, layer="probe")
def test_tiles_of_any_tensors(student, reference, probe):
    """For other sizes, leading axes and tile sizes, the context is right."""
    for leading, sizes, tile_size in (
        ((), {}, 2),
        ((B,), {"Tq": 9, "Tk": 6}, 3),
        ((B, H), {"d": 6, "d_v": 3}, 6),
    ):
        given = (*draw_attention(probe, *leading, **sizes), tile_size, False)

        agrees(
            student.call("tiled_attention", *given),
            reference.call("tiled_attention", *given),
            "The context",
        )


@check("tiled_attention", points=0.1, layer="probe")
def test_tiles_with_a_shorter_last_tile(student, reference, probe):
    """If the last tile is shorter, or the only one, the context is right."""
    for leading, sizes, tile_size in (
        ((B,), {"Tq": 9, "Tk": 5}, 4),
        ((H,), {"Tq": 5, "Tk": 5, "d": 3, "d_v": 3}, 9),
        ((), {"Tq": 1, "Tk": 7}, 5),
    ):
        given = (*draw_attention(probe, *leading, **sizes), tile_size, False)

        agrees(
            student.call("tiled_attention", *given),
            reference.call("tiled_attention", *given),
            "The context",
        )


@check("tiled_attention", points=0.2, layer="probe")
def test_causal_tiles_of_any_tensors(student, probe):
    """With causal=True and as many queries as keys, no query sees a later key."""
    for leading, T, tile_size in (((), 7, 3), ((B,), 5, 2), ((B, H), 6, 4), ((), 8, 1)):
        given = draw_attention(probe, *leading, Tq=T, Tk=T)
        wanted, _ = attend(*given, hidden=future(T, T))

        context = student.call("tiled_attention", *given, tile_size, causal=True)
        agrees(context, wanted, "The context")


@check("tiled_attention", points=0.2, layer="probe")
def test_causal_tiles_with_fewer_queries_than_keys(student, probe):
    """With causal=True and fewer queries than keys, the last query belongs to the last key."""
    for leading, Tq, Tk, tile_size in (
        ((), TQ, TK, 3),
        ((B,), 3, 8, 2),
        ((B, H), 1, 5, 2),
        ((), 5, 9, 20),
    ):
        given = draw_attention(probe, *leading, Tq=Tq, Tk=Tk)
        wanted, _ = attend(*given, hidden=future(Tq, Tk))

        context = student.call("tiled_attention", *given, tile_size, *CAUSAL)
        agrees(context, wanted, "The context")


@check("tiled_attention", points=0.5, layer="probe")
def test_tiles_with_growing_scores(student, probe):
    """The context is right if scores grow from tile to tile, or have very different sizes."""
    keys = torch.arange(7.0)[:, None].repeat(1, D) / 2
    queries = 1 + probe.uniform(TQ, D)
    values = probe.normal(7, DV)
    sign = torch.tensor([-1.0, 1.0]).repeat(TQ // 2)[:, None]

    for some, moved in ((queries, keys), (sign * queries, keys + 40)):
        wanted, _ = attend(some, moved, values)
        agrees(
            student.call("tiled_attention", some, moved, values, 2, causal=False),
            wanted,
            "The context",
        )


@check("tiled_attention", points=0.1, layer="probe")
def test_tiles_are_not_causal_by_default(student, probe):
    """Without the argument causal, every query sees all keys."""
    given = draw_attention(probe, B)

    agrees(student.call("tiled_attention", *given, 4), attend(*given)[0], "The context")


@check("tiled_attention", points=0.15, layer="laws")
def test_tiles_of_each_size_give_the_same(student, probe):
    """The context does not depend on the tile size, but it depends on the keys."""
    queries, keys, values = draw_attention(probe, B, Tq=7, Tk=7)

    whole = tiles(student, (queries, keys, values), 7)
    for tile_size in (1, 2, 3, 4, 6, 10):
        context = tiles(student, (queries, keys, values), tile_size)
        agrees(context, whole, "The context with other tiles", "that with one tile")
    has_effect(whole, tiles(student, (queries, -keys, values), 7), "the keys")


@check("tiled_attention", points=0.15, layer="laws")
def test_causal_tiles_of_each_size_give_the_same(student, probe):
    """With causal=True, the context does not depend on the tile size, but on the keys."""
    queries, keys, values = draw_attention(probe, B, Tq=7, Tk=7)

    whole = tiles(student, (queries, keys, values), 7, *CAUSAL)
    for tile_size in (1, 2, 3, 4, 6, 10):
        context = tiles(student, (queries, keys, values), tile_size, *CAUSAL)
        agrees(context, whole, "The context with other tiles", "that with one tile")
    has_effect(whole, tiles(student, (queries, -keys, values), 7, *CAUSAL), "the keys")


@check("tiled_attention", points=0.15, layer="laws")
def test_causal_tiles_show_the_past_and_not_the_future(student, probe):
    """With causal=True, a key and its value affect later queries, but no earlier ones."""
    queries, keys, values = draw_attention(probe, B, Tq=7, Tk=7)
    moved, other = keys.clone(), values.clone()
    moved[:, 5:] += 3 * probe.normal(2, D)
    other[:, 3] += LARGE

    before, after, later = (
        tiles(student, (queries, *given), 3, *CAUSAL)
        for given in ((keys, values), (keys, other), (moved, values))
    )
    agrees(
        after[:, :3],
        before[:, :3],
        "After a change of a later value, the context of earlier queries",
        "that before",
    )
    agrees(
        later[:, :5],
        before[:, :5],
        "After a change of later keys, the context of earlier queries",
        "that before",
    )
    has_effect(before[:, 4:], after[:, 4:], "a value", " on later queries")


@check("tiled_attention", points=0.15, layer="laws")
def test_tiles_do_not_depend_on_the_order_of_keys(student, probe):
    """Without causal=True, the order of the keys and values has no effect, but the values have."""
    queries, keys, values = draw_attention(probe, B, Tk=7)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(probe.seed))

    before = tiles(student, (queries, keys, values), 3)
    after = tiles(student, (queries, keys[:, order], values[:, order]), 3)
    agrees(after, before, "The context with keys in another order", "that before")
    has_effect(before, tiles(student, (queries, keys, -values), 3), "the values")


@check("tiled_attention", points=0.1, layer="laws")
def test_tiles_treat_each_item_alone(student, probe):
    """The context of an item is the same alone and in a batch, and items differ."""
    given = draw_attention(probe, B)

    together = tiles(student, given, 4)
    for item in range(B):
        alone = tiles(student, [one[item] for one in given], 4)
        agrees(alone, together[item], "The context of one item alone", "that in the batch")
    has_effect(together[0], together[1], "the item")


@check("tiled_attention", points=0.2, layer="laws")
def test_tiles_of_equal_values_give_this_value(student, probe):
    """If all values are equal, the context is that value: all weights of a query sum to 1."""
    queries, keys, _ = draw_attention(probe, B, Tk=7)
    value = probe.normal(DV, scale=2)
    values = value.repeat(B, 7, 1)

    for tile_size in (2, 7):
        context = tiles(student, (queries, keys - 2, values), tile_size)
        agrees(context, value.repeat(B, TQ, 1), "The context of equal values")


@check("tiled_attention", points=0.15, layer="laws")
def test_causal_tiles_of_the_last_queries(student, probe):
    """With causal=True, the last queries alone get the same context as among all queries."""
    queries, keys, values = draw_attention(probe, B, Tq=7, Tk=7)

    whole = tiles(student, (queries, keys, values), 3, *CAUSAL)
    last = tiles(student, (queries[:, 4:].contiguous(), keys, values), 3, *CAUSAL)
    agrees(last, whole[:, 4:], "The context of the last queries alone", "that among all queries")
    has_effect(whole[:, 4], whole[:, 6], "the query")


@check("tiled_attention", points=0.15, layer="laws", rules=("dtype",))
def test_tiles_keep_the_dtype(student, probe):
    """In float64 the context is float64, and in float32 it is float32."""
    given = draw_attention(probe, B)
    for causal in (False, True):
        results = []
        for dtype, times in ((torch.float64, 1), (torch.float32, 2)):
            context = tiles(student, [times * one.to(dtype) for one in given], 4, causal)
            same_dtype(context, dtype, f"The context with causal={causal}")
            results.append(context.float())
        has_effect(*results, "all arguments", f" with causal={causal}")


@check("tiled_attention", points=0.15, layer="laws", rules=("inputs_unchanged",))
def test_tiles_leave_their_arguments_alone(student, probe):
    """No argument is changed, but they have an effect."""
    queries, keys, values = draw_attention(probe, B)

    kept = student.keeps_inputs("tiled_attention", queries, keys, values, 4, *CAUSAL)
    expect(kept, "tiled_attention changes a tensor that you pass to it.")
    before, after = (tiles(student, (queries, keys, one), 4, *CAUSAL) for one in (values, -values))
    has_effect(before, after, "the values")


@check("tiled_attention", points=0.15, layer="laws", rules=("gradients",))
def test_gradients_flow_through_tiles(student, probe):
    """Gradients flow back to queries, keys and values, through every tile."""
    given = draw_attention(probe, B)

    found = student.gradients(
        "tiled_attention", *given, 3, causal=False, cotangent=probe.normal(B, TQ, DV)
    )
    for name, one in zip(("queries", "keys", "values"), found.inputs, strict=False):
        sentence = f"The gradient of some {name} is missing or zero."
        expect(one is not None and bool((one != 0).any(-1).all()), sentence)


def same_gradients(student, given, arguments, back, hidden=None):
    """Compare the gradients of queries, keys and values with those of attention without tiles."""
    with torch.enable_grad():
        leaves = [one.double().requires_grad_() for one in given]
        context, _ = attend_wide(*leaves, hidden=hidden)
        total = (context * back.double()).sum()  # `back` as an argument would import SymPy
        wanted = torch.autograd.grad(total, leaves)
    found = student.gradients("tiled_attention", *given, *arguments, cotangent=back)
    for name, one, right in zip(("queries", "keys", "values"), found.inputs, wanted, strict=False):
        expect(
            one is not None,
            f"No gradient reaches the {name}: the graph has no path from them to the result.",
        )
        agrees(one, right.float(), f"The gradient of the {name}")


@check("tiled_attention", points=0.1, layer="gradients", rules=("gradients",))
def test_gradients_of_tiles(student, probe):
    """The gradients of queries, keys and values are those of attention without tiles."""
    given = draw_attention(probe, B)

    same_gradients(student, given, (4, False), probe.normal(B, TQ, DV))


@check("tiled_attention", points=0.1, layer="gradients", rules=("gradients",))
def test_gradients_of_causal_tiles(student, probe):
    """With causal=True, the gradients are those of causal attention without tiles."""
    given = draw_attention(probe, B)

    same_gradients(student, given, (3, True), probe.normal(B, TQ, DV), future(TQ, TK))


@check("tiled_attention", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_tiles_are_computed_without_ready_attention(student, probe):
    """The context comes from your own steps, not from torch's own attention."""
    given = draw_attention(probe, B)
    below = {"attend_tile": student.operators("attend_tile", *given, SCALE)}

    ran = student.operators("tiled_attention", *given, 4, causal=False)
    avoids_itself(student, "tiled_attention", READY_ATTENTION, NO_ATTENTION, ran, below)


@check("tiled_attention", points=0.2, layer="forbidden", rules=("no_score_matrix",))
def test_tiles_make_no_matrix_of_all_scores(student, probe):
    """With 64 tokens in tiles of 8, no operation returns 64 · 64 numbers."""
    given = (*draw_attention(probe, Tq=LONG, Tk=LONG, d=3, d_v=2), TILE, False)

    keeps_results_below(student.operators("tiled_attention", *given), LONG * LONG, NO_MATRIX)


@check("tiled_attention", points=0.1, layer="forbidden", rules=("no_score_matrix",))
def test_causal_tiles_make_no_matrix_of_all_scores(student, probe):
    """With causal=True, no operation returns 64 · 64 numbers, and no mask has this size."""
    given = (*draw_attention(probe, Tq=LONG, Tk=LONG, d=3, d_v=2), TILE, True)

    keeps_results_below(student.operators("tiled_attention", *given), LONG * LONG, NO_MATRIX)
