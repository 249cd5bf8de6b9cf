"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running, keeps_results_below
from autograder.suite.student_proxy import RemoteModule, Student


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
READY_SOFTMAX = frozenset(
    {
        "AdaptiveLogSoftmaxWithLoss",
        "LogSoftmax",
        "Softmax",
        "Softmax2d",
        "Softmin",
        "_log_softmax",
        "_safe_softmax",
        "_softmax",
        "gumbel_softmax",
        "log_softmax",
        "logsumexp",
        "softmax",
        "softmin",
    }
)
B, H, TQ, TK, D, DV = 3, 2, 4, 6, 5, 7
SPREAD = 1.5  # of queries and keys: the weights are neither equal nor one-hot
SCALE = 0.7  # not the default, 1/√d
FAR = 200.0  # in float32, exp(200) is infinite and exp(-200) is 0
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


def pair_keeps_dtype(student, exercise, *given, names=NAMES, **keywords):
    """Fail the check unless both results have the dtype of the arguments."""
    for dtype in (torch.float64, torch.float32):
        wide = [one.to(dtype) if isinstance(one, torch.Tensor) else one for one in given]
        answer = student.call(exercise, *wide, **keywords)
        for name, found in zip(names, pair(answer, names), strict=True):
            same_dtype(tensor(found, f"The {name}"), dtype, f"The {name}")


def ready_below(student, exercise, names):
    """Return *names*, or nothing if *exercise* uses one of them.

    In that case, the check of *exercise* takes the points, and exercises that call it keep theirs.
    """
    uses = student.uses(exercise)
    return set() if any(names.intersection(use.name.split(".")[1:]) for use in uses) else names


TWO = ("maximum", "sum")


# online_max_and_sum


@check("online_max_and_sum", points=0.4, layer="probe")
def test_running_numbers_of_any_scores(student, reference, probe):
    """For other scores and tile sizes, and for a shorter last tile, both numbers are right."""
    for size, tile_size in ((6, 2), (7, 3), (11, 4), (5, 1), (9, 9), (3, 8), (1, 1)):
        scores = probe.normal(size, scale=2)

        same_pair(
            student.call("online_max_and_sum", scores, tile_size),
            reference.call("online_max_and_sum", scores, tile_size),
            TWO,
        )


@check("online_max_and_sum", points=0.2, layer="probe")
def test_running_numbers_of_growing_scores(student, reference, probe):
    """If the maximum grows from tile to tile, both numbers are right."""
    for size, tile_size in ((12, 3), (8, 5)):
        scores = probe.normal(size, scale=3).sort().values

        same_pair(
            student.call("online_max_and_sum", scores, tile_size),
            reference.call("online_max_and_sum", scores, tile_size),
            TWO,
        )


@check("online_max_and_sum", points=0.2, layer="probe")
def test_running_numbers_of_scores_below_zero(student, reference, probe):
    """If all scores are below zero, the maximum is too."""
    scores = -1 - probe.uniform(10) * 4

    same_pair(
        student.call("online_max_and_sum", scores, 4),
        reference.call("online_max_and_sum", scores, 4),
        TWO,
    )


@check("online_max_and_sum", points=0.2, layer="laws")
def test_running_numbers_do_not_depend_on_the_tile_size(student, probe):
    """For each tile size, the results are the maximum and the sum for all scores."""
    scores = probe.normal(13, scale=2)
    wanted = (scores.max(), (scores.double() - scores.max()).exp().sum().float())

    for tile_size in (1, 2, 4, 6, 12, 13, 20):
        same_pair(student.call("online_max_and_sum", scores, tile_size), wanted, TWO)


@check("online_max_and_sum", points=0.1, layer="laws")
def test_running_numbers_of_large_scores_are_finite(student, reference, probe):
    """Adding a large number to all scores adds it to the maximum and leaves the sum unchanged."""
    scores = draw_exact(probe, 9)
    maximum, total = reference.call("online_max_and_sum", scores, 4)

    for far in (FAR, -FAR):
        found = student.call("online_max_and_sum", scores + far, 4)
        same_pair(found, (maximum + far, total), TWO)


@check("online_max_and_sum", points=0.1, layer="laws", rules=("dtype",))
def test_running_numbers_keep_the_dtype(student, probe):
    """In float64 both results are float64, and in float32 they are float32."""
    pair_keeps_dtype(student, "online_max_and_sum", probe.normal(7), 3, names=TWO)


@check("online_max_and_sum", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_running_numbers_leave_the_scores_alone(student, reference, probe):
    """Both numbers are right, and the scores are unchanged."""
    scores = probe.normal(7)

    same_pair(
        student.call("online_max_and_sum", scores, 3),
        reference.call("online_max_and_sum", scores, 3),
        TWO,
    )
    kept = student.keeps_inputs("online_max_and_sum", scores, 3)
    expect(kept, "online_max_and_sum changes the scores that you pass to it.")


@check("online_max_and_sum", points=0.1, layer="forbidden", rules=("no_ready_softmax",))
def test_running_numbers_are_your_own(student, reference, probe):
    """The sum comes from your own exponentials, not from torch's softmax or logsumexp."""
    scores = probe.normal(7)

    same_pair(
        student.call("online_max_and_sum", scores, 3),
        reference.call("online_max_and_sum", scores, 3),
        TWO,
    )
    avoids(student, "online_max_and_sum", READY_SOFTMAX, NO_SOFTMAX)
    ran = student.operators("online_max_and_sum", scores, 3)
    avoids_running(ran, READY_SOFTMAX, NO_SOFTMAX)


@check("online_max_and_sum", points=0.1, layer="forbidden", rules=("one_pass",))
def test_running_numbers_take_one_tile_at_a_time(student, reference, probe):
    """With 64 scores in tiles of 8, no operation works on all scores."""
    scores = probe.normal(LONG, scale=2)

    same_pair(
        student.call("online_max_and_sum", scores, TILE),
        reference.call("online_max_and_sum", scores, TILE),
        TWO,
    )
    ran = student.operators("online_max_and_sum", scores, TILE)
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
    documented[f"strivin.{case}.output"].matches(found[0], "The context")
    documented[f"strivin.{case}.lse"].matches(found[1], "The logsumexp")


def joined(running, tile):
    """Merge two results for the same queries, in float64."""
    (context, logsumexp), (more, other) = ([one.double() for one in two] for two in (running, tile))
    both = torch.stack((logsumexp, other))
    shares = both.softmax(0).nan_to_num(0).unsqueeze(-1)
    mixed = shares[0] * context + shares[1] * more
    return mixed.float(), both.logsumexp(0).float()


# attend_tile


@check("attend_tile", points=0.2, layer="shapes")
def test_tile_gives_a_context_and_a_logsumexp(student, probe):
    """The result is a tuple of a context and a logsumexp, with and without leading axes."""
    for leading in ((2, 3), ()):
        given = draw_attention(probe, *leading)

        answer = student.call("attend_tile", *given)
        have_shapes(answer, (*leading, TQ, DV), (*leading, TQ))


@check("attend_tile", points=0.3, layer="documented")
def test_tile_of_all_keys_is_the_documented_attention(student, documented, inputs):
    """One tile that holds all six tokens gives the documented context vectors."""
    given = documented_projections(inputs)

    context, _ = have_shapes(student.call("attend_tile", *given), (6, 2), (6,))
    documented["002.sa_v1.context"].matches(context, "The context")


@check("attend_tile", points=0.2, layer="documented")
def test_hidden_tile_changes_none_of_the_documented_numbers(student, documented):
    """A tile that is completely hidden does not change the documented running numbers."""
    given, running, hidden = strivin_tensors(1, 1, groups=4, spread=1.25)
    queries, (keys, values) = given[0][6:], (one[:2] for one in given[1:])

    tile = student.call("attend_tile", queries, keys, values, 0.5 / 0.9, hidden[6:, :2])
    have_shapes(tile, (1, 4), (1,))
    last = joined([one[6:] for one in running], tile)
    found = [torch.cat((one[:6], more)) for one, more in zip(running, last, strict=True)]
    documented_pair(documented, "case2", found)


@check("attend_tile", points=0.3, layer="probe")
def test_tile_with_the_usual_scale(student, reference, probe):
    """For other sizes and leading axes, context and logsumexp are right."""
    for leading, sizes in (
        ((), {}),
        ((B,), {"Tq": 3, "Tk": 8}),
        ((B, H), {"d": 6, "d_v": 3}),
        ((H,), {"Tq": 5, "Tk": 5, "d": 3, "d_v": 3}),
        ((), {"Tq": 1, "Tk": 1}),
    ):
        given = draw_attention(probe, *leading, **sizes)

        same_pair(student.call("attend_tile", *given), reference.call("attend_tile", *given))


@check("attend_tile", points=0.2, layer="probe")
def test_tile_with_another_scale(student, probe):
    """With a scale that the caller passes, context and logsumexp are right."""
    for leading, scale in (((), SCALE), ((B,), 0.3), ((B, H), 0.0)):
        given = draw_attention(probe, *leading)

        same_pair(student.call("attend_tile", *given, scale=scale), attend(*given, scale))


@check("attend_tile", points=0.2, layer="probe")
def test_tile_with_hidden_keys(student, reference, probe):
    """Both results are right, with the same hidden keys in all items or with different ones."""
    first = torch.zeros(TK).bool()
    first[0] = True  # seen by all queries
    for leading, shape in (((), (TQ, TK)), ((B, H), (B, 1, TQ, TK)), ((B,), (B, 1, TK))):
        given = draw_attention(probe, *leading)
        hidden = (probe.uniform(*shape) < 0.4) & ~first

        same_pair(
            student.call("attend_tile", *given, hidden=hidden),
            reference.call("attend_tile", *given, hidden=hidden),
        )


@check("attend_tile", points=0.3, layer="probe")
def test_tile_with_queries_that_see_nothing(student, probe):
    """A query that sees no key has a context of zeros and a logsumexp of minus infinity."""
    for leading, shape in (((), (TQ, TK)), ((B,), (B, TQ, TK)), ((B, H), (TQ, 1))):
        given = draw_attention(probe, *leading)
        hidden = probe.uniform(*shape) < 0.4
        hidden[..., 1, :] = True

        same_pair(student.call("attend_tile", *given, None, hidden), attend(*given, None, hidden))


@check("attend_tile", points=0.1, layer="laws")
def test_tile_of_large_scores_is_finite(student, reference, probe):
    """Adding a number to all scores adds it to the logsumexp and leaves the context unchanged."""
    queries, keys = draw_exact(probe, B, TQ, D), draw_exact(probe, B, TK, D)
    values, one = probe.normal(B, TK, DV), torch.ones(1)
    context, logsumexp = reference.call("attend_tile", queries, keys, values, 0.5)
    longer = torch.cat((queries, one.expand(B, TQ, 1)), dim=-1)

    for far in (FAR, -FAR):
        moved = torch.cat((keys, (2 * far * one).expand(B, TK, 1)), dim=-1)
        found = student.call("attend_tile", longer, moved, values, 0.5)
        same_pair(found, (context, logsumexp + far))


@check("attend_tile", points=0.1, layer="laws")
def test_tile_does_not_depend_on_the_order_of_its_keys(student, reference, probe):
    """With keys and values in a different order, the results are the same."""
    queries, keys, values = draw_attention(probe, B)
    wanted = reference.call("attend_tile", queries, keys, values)
    order = torch.randperm(TK, generator=torch.Generator().manual_seed(probe.seed))

    found = student.call("attend_tile", queries, keys[:, order], values[:, order])
    same_pair(found, wanted)


@check("attend_tile", points=0.1, layer="laws")
def test_tile_does_not_depend_on_hidden_keys(student, reference, probe):
    """The results do not depend on a key that no query sees, or on its value."""
    queries, keys, values = draw_attention(probe, B)
    hidden = torch.arange(TK) == 2
    wanted = reference.call("attend_tile", queries, keys, values, hidden=hidden)
    there = hidden[:, None]

    moved = keys + torch.where(there, probe.normal(TK, D, scale=9), 0)
    other = values + torch.where(there, probe.normal(TK, DV, scale=9), 0)
    same_pair(student.call("attend_tile", queries, moved, other, hidden=hidden), wanted)


@check("attend_tile", points=0.1, layer="laws")
def test_tile_treats_each_item_alone(student, reference, probe):
    """The results of an item are the same alone and in a batch."""
    given = draw_attention(probe, B)
    wanted = reference.call("attend_tile", *given)

    for item in range(B):
        alone = student.call("attend_tile", *(one[item] for one in given))
        same_pair(alone, [one[item] for one in wanted])


@check("attend_tile", points=0.1, layer="laws", rules=("dtype",))
def test_tile_keeps_the_dtype(student, probe):
    """In float64 both results are float64, and in float32 they are float32."""
    pair_keeps_dtype(student, "attend_tile", *draw_attention(probe, B), hidden=future(TQ, TK))


@check("attend_tile", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_tile_leaves_its_arguments_alone(student, reference, probe):
    """Both results are right, and no argument is changed."""
    given = (*draw_attention(probe, B), SCALE, future(TQ, TK))

    same_pair(student.call("attend_tile", *given), reference.call("attend_tile", *given))
    kept = student.keeps_inputs("attend_tile", *given)
    expect(kept, "attend_tile changes tensors that you pass to it.")


@check("attend_tile", points=0.1, layer="forbidden", rules=("no_ready_softmax",))
def test_tile_is_computed_without_a_ready_softmax(student, reference, probe):
    """The weights come from your own exponentials, not from torch's softmax or logsumexp."""
    given = draw_attention(probe, B)

    same_pair(student.call("attend_tile", *given), reference.call("attend_tile", *given))
    avoids(student, "attend_tile", READY_SOFTMAX, NO_SOFTMAX)
    avoids_running(student.operators("attend_tile", *given), READY_SOFTMAX, NO_SOFTMAX)


@check("attend_tile", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_tile_is_computed_without_ready_attention(student, reference, probe):
    """The context comes from your own steps, not from torch's own attention."""
    given = draw_attention(probe, B)

    same_pair(student.call("attend_tile", *given), reference.call("attend_tile", *given))
    avoids(student, "attend_tile", READY_ATTENTION, NO_ATTENTION)
    avoids_running(student.operators("attend_tile", *given), READY_ATTENTION, NO_ATTENTION)


# merge_tiles


@check("merge_tiles", points=0.8, layer="documented")
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


@check("merge_tiles", points=0.4, layer="documented")
def test_merging_with_a_hidden_tile_keeps_the_documented_numbers(student, documented):
    """A tile that is completely hidden does not change the documented running numbers."""
    given, running, hidden = strivin_tensors(1, 1, groups=4, spread=1.25)
    queries, (keys, values) = given[0][6:], (one[:2] for one in given[1:])
    tile = attend(queries, keys, values, 0.5 / 0.9, hidden[6:, :2])

    answer = student.call("merge_tiles", *(one[6:] for one in running), *tile)
    merged = have_shapes(answer, (1, 4), (1,))
    found = [torch.cat((one[:6], more)) for one, more in zip(running, merged, strict=True)]
    documented_pair(documented, "case2", found)


@check("merge_tiles", points=0.4, layer="probe")
def test_merging_of_any_sides(student, reference, probe):
    """For other numbers, sizes and leading axes, context and logsumexp are right."""
    for leading, sizes in (
        ((), {}),
        ((B,), {"Tq": 3, "d_v": 2}),
        ((B, H), {}),
        ((H,), {"Tq": 5, "d_v": 5}),
        ((), {"Tq": 1, "d_v": 1}),
    ):
        given = (*draw_side(probe, *leading, **sizes), *draw_side(probe, *leading, **sizes))

        same_pair(student.call("merge_tiles", *given), reference.call("merge_tiles", *given))


@check("merge_tiles", points=0.3, layer="probe")
def test_merging_is_attention_over_both_tiles(student, probe):
    """Merging two tiles gives attention over the keys of both, even with hidden keys."""
    for leading, first in (((), 2), ((B,), 1), ((B, H), 4)):
        queries, keys, values = draw_attention(probe, *leading)
        hidden = probe.uniform(TQ, TK) < 0.4
        hidden[1, :first] = True  # this query sees no key of the first tile
        hidden[2, first:] = True
        tiles = [
            attend(queries, keys[..., part, :], values[..., part, :], None, hidden[:, part])
            for part in (slice(first), slice(first, None))
        ]

        found = student.call("merge_tiles", *tiles[0], *tiles[1])
        same_pair(found, attend(queries, keys, values, None, hidden))


@check("merge_tiles", points=0.1, layer="laws")
def test_merging_does_not_depend_on_the_order(student, reference, probe):
    """Swapping the two sides does not change the results."""
    one, other = draw_side(probe, B), draw_side(probe, B)

    wanted = reference.call("merge_tiles", *one, *other)
    same_pair(student.call("merge_tiles", *other, *one), wanted)


@check("merge_tiles", points=0.1, layer="laws")
def test_merging_three_tiles_in_any_grouping(student, reference, probe):
    """Three tiles give the same results, no matter which two are merged first."""
    one, two, three = (draw_side(probe, B) for _ in range(3))
    wanted = reference.call("merge_tiles", *reference.call("merge_tiles", *one, *two), *three)

    last = pair(student.call("merge_tiles", *two, *three))
    same_pair(student.call("merge_tiles", *one, *last), wanted)


@check("merge_tiles", points=0.2, layer="laws")
def test_merging_with_nothing_changes_nothing(student, probe):
    """Merging with a side without visible keys changes nothing, even if neither side has any."""
    some = draw_side(probe, B)
    nothing = (torch.zeros(B, TQ, DV), torch.full((B, TQ), -torch.inf))

    for left, right, wanted in (
        (some, nothing, some),
        (nothing, some, some),
        (nothing, nothing, nothing),
    ):
        same_pair(student.call("merge_tiles", *left, *right), wanted)


@check("merge_tiles", points=0.1, layer="laws")
def test_merging_of_large_numbers_is_finite(student, reference, probe):
    """Adding a large number to both logsumexps adds it to the merged one and keeps the context."""
    (one, low), (other, high) = draw_side(probe, B), draw_side(probe, B)
    low, high = ((4 * each).round() / 4 for each in (low, high))  # exact even far from 0
    context, logsumexp = reference.call("merge_tiles", one, low, other, high)

    for far in (FAR, -FAR):
        found = student.call("merge_tiles", one, low + far, other, high + far)
        same_pair(found, (context, logsumexp + far))


@check("merge_tiles", points=0.1, layer="laws", rules=("dtype", "inputs_unchanged"))
def test_merging_keeps_dtype_and_arguments(student, reference, probe):
    """Both results are right and have the dtype of the arguments, which are unchanged."""
    given = (*draw_side(probe, B), *draw_side(probe, B))

    pair_keeps_dtype(student, "merge_tiles", *given)
    same_pair(student.call("merge_tiles", *given), reference.call("merge_tiles", *given))
    kept = student.keeps_inputs("merge_tiles", *given)
    expect(kept, "merge_tiles changes tensors that you pass to it.")


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


@check("tiled_attention", points=0.2, layer="documented")
def test_tiles_of_any_size_give_the_documented_context(student, documented, inputs):
    """Tiles of 1, 4, 5 and 6 tokens give the documented context vectors."""
    given = documented_projections(inputs)

    for tile_size in (1, 4, 5, 6):
        context = student.call("tiled_attention", *given, tile_size)
        documented["002.sa_v1.context"].matches(context, f"With tiles of {tile_size}, the context")


@check("tiled_attention", points=0.2, layer="documented")
def test_causal_tiles_give_the_documented_context(student, documented, inputs):
    """With causal=True, tiles of any size give the documented causal context vectors."""
    size, *_ = documented["ch03.batch.shape"].tensor.tolist()
    given, _ = documented_layers(inputs.repeat(size, 1, 1))

    for tile_size in (1, 4, 5, 6):
        context = student.call("tiled_attention", *given, tile_size, causal=True)
        documented["ch03.causal.context"].matches(
            context, f"With tiles of {tile_size}, the context"
        )


@check("tiled_attention", points=0.2, layer="documented")
def test_causal_tiles_give_the_documented_heads(student, documented, inputs):
    """With two heads as a leading axis, tiles of any size give the documented context vectors."""
    size, *_ = documented["ch03.batch.shape"].tensor.tolist()
    given, last = documented_layers(inputs.repeat(size, 1, 1))
    heads = [one.unflatten(-1, (2, 1)).transpose(1, 2) for one in given]  # (B, 2, 6, 1)

    for tile_size in (1, 4, 5, 6):
        answer = student.call("tiled_attention", *heads, tile_size, causal=True)
        context = tensor_like(answer, (size, 2, 6, 1), "The context of two heads")
        found = last(context.float().transpose(1, 2).flatten(-2)).detach()
        what = f"With tiles of {tile_size}, the context after out_proj"
        documented["ch03.mha.context"].matches(found, what)


@check("tiled_attention", points=0.4, layer="probe")
def test_tiles_of_any_tensors(student, reference, probe):
    """For other sizes, leading axes and tile sizes, the context is right."""
    for leading, sizes, tile_size in (
        ((), {}, 2),
        ((B,), {"Tq": 9, "Tk": 5}, 4),
        ((B, H), {"d": 6, "d_v": 3}, 3),
        ((H,), {"Tq": 5, "Tk": 5, "d": 3, "d_v": 3}, 4),
        ((), {"Tq": 1, "Tk": 7}, 5),
    ):
        given = (*draw_attention(probe, *leading, **sizes), tile_size)

        agrees(
            student.call("tiled_attention", *given),
            reference.call("tiled_attention", *given),
            "The context",
        )


@check("tiled_attention", points=0.3, layer="probe")
def test_causal_tiles_of_any_tensors(student, probe):
    """With causal=True and as many queries as keys, no query sees a later key."""
    for leading, T, tile_size in (((), 7, 3), ((B,), 5, 2), ((B, H), 6, 4), ((), 8, 1)):
        given = draw_attention(probe, *leading, Tq=T, Tk=T)
        wanted, _ = attend(*given, hidden=future(T, T))

        context = student.call("tiled_attention", *given, tile_size, causal=True)
        agrees(context, wanted, "The context")


@check("tiled_attention", points=0.3, layer="probe")
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


@check("tiled_attention", points=0.2, layer="probe")
def test_tiles_with_growing_scores(student, probe):
    """The context is right even if scores grow from tile to tile, or all are very negative."""
    keys = torch.arange(7.0)[:, None].repeat(1, D) / 2
    queries = 1 + probe.uniform(TQ, D)
    values = probe.normal(7, DV)

    for sign in (1.0, -1.0):
        moved = sign * (keys + 40) if sign < 0 else keys
        wanted, _ = attend(queries, moved, values)
        agrees(student.call("tiled_attention", queries, moved, values, 2), wanted, "The context")


@check("tiled_attention", points=0.2, layer="laws")
def test_tiles_of_each_size_give_the_same(student, probe):
    """The context does not depend on the tile size, with and without causal=True."""
    given = draw_attention(probe, B, Tq=7, Tk=7)

    for causal, hidden in ((False, None), (True, future(7, 7))):
        wanted, _ = attend(*given, hidden=hidden)
        for tile_size in (1, 2, 3, 4, 6, 7, 10):
            context = student.call("tiled_attention", *given, tile_size, causal)
            agrees(context, wanted, "The context")


@check("tiled_attention", points=0.1, layer="laws")
def test_causal_tiles_do_not_depend_on_later_tokens(student, reference, probe):
    """With causal=True, new keys and values after a token do not change its context."""
    queries, keys, values = draw_attention(probe, B, Tq=7, Tk=7)
    wanted = reference.call("tiled_attention", queries, keys, values, 3, causal=True)
    later = (torch.arange(7) > 3)[:, None]

    moved = keys + torch.where(later, probe.normal(7, D, scale=9), 0)
    other = values + torch.where(later, probe.normal(7, DV, scale=9), 0)
    found = student.call("tiled_attention", queries, moved, other, 3, causal=True)
    context = tensor_like(found, (B, 7, DV), "The context")
    expect(
        alike(context[:, :4], wanted[:, :4]), "A later token changes the context of an earlier one."
    )


@check("tiled_attention", points=0.1, layer="laws")
def test_tiles_do_not_depend_on_the_order_of_keys(student, reference, probe):
    """Without causal=True, keys and values in a different order give the same context."""
    queries, keys, values = draw_attention(probe, B, Tk=7)
    wanted = reference.call("tiled_attention", queries, keys, values, 3)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(probe.seed))

    found = student.call("tiled_attention", queries, keys[:, order], values[:, order], 3)
    agrees(found, wanted, "The context")


@check("tiled_attention", points=0.1, layer="laws")
def test_tiles_treat_each_item_alone(student, reference, probe):
    """The context of an item is the same alone and in a batch."""
    given = draw_attention(probe, B)
    wanted = reference.call("tiled_attention", *given, 4)

    for item in range(B):
        alone = student.call("tiled_attention", *(one[item] for one in given), 4)
        agrees(alone, wanted[item], "The context of one item")


@check("tiled_attention", points=0.1, layer="laws", rules=("dtype",))
def test_tiles_keep_the_dtype(keeps_dtype, probe):
    """In float64 the context is float64, and in float32 it is float32."""
    keeps_dtype("tiled_attention", *draw_attention(probe, B), 4)
    keeps_dtype("tiled_attention", *draw_attention(probe, B), 4, *CAUSAL)


@check("tiled_attention", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_tiles_leave_their_arguments_alone(student, reference, probe):
    """The context is right, and no argument is changed."""
    given = (*draw_attention(probe, B), 4, True)

    agrees(
        student.call("tiled_attention", *given),
        reference.call("tiled_attention", *given),
        "The context",
    )
    kept = student.keeps_inputs("tiled_attention", *given)
    expect(kept, "tiled_attention changes tensors that you pass to it.")


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


@check("tiled_attention", points=0.2, layer="gradients", rules=("gradients",))
def test_gradients_of_tiles(student, probe):
    """The gradients of queries, keys and values are those of attention without tiles."""
    given = draw_attention(probe, B)

    same_gradients(student, given, (4,), probe.normal(B, TQ, DV))


@check("tiled_attention", points=0.1, layer="gradients", rules=("gradients",))
def test_gradients_of_causal_tiles(student, probe):
    """With causal=True, the gradients are those of causal attention without tiles."""
    given = draw_attention(probe, B)

    same_gradients(student, given, (3, True), probe.normal(B, TQ, DV), future(TQ, TK))


@check("tiled_attention", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_tiles_are_computed_without_ready_attention(student, reference, probe):
    """The context comes from your own steps, not from torch's own attention."""
    given = (*draw_attention(probe, B), 4)

    agrees(
        student.call("tiled_attention", *given),
        reference.call("tiled_attention", *given),
        "The context",
    )
    names = ready_below(student, "attend_tile", READY_ATTENTION)
    avoids(student, "tiled_attention", names, NO_ATTENTION)
    avoids_running(student.operators("tiled_attention", *given), names, NO_ATTENTION)


@check("tiled_attention", points=0.3, layer="forbidden", rules=("no_score_matrix",))
def test_tiles_make_no_matrix_of_all_scores(student, reference, probe):
    """With 64 tokens in tiles of 8, no operation returns 64 · 64 numbers."""
    given = (*draw_attention(probe, Tq=LONG, Tk=LONG, d=3, d_v=2), TILE)

    agrees(
        student.call("tiled_attention", *given),
        reference.call("tiled_attention", *given),
        "The context",
    )
    keeps_results_below(student.operators("tiled_attention", *given), LONG * LONG, NO_MATRIX)


@check("tiled_attention", points=0.2, layer="forbidden", rules=("no_score_matrix",))
def test_causal_tiles_make_no_matrix_of_all_scores(student, reference, probe):
    """With causal=True, no operation returns 64 · 64 numbers, and no mask has this size."""
    given = (*draw_attention(probe, Tq=LONG, Tk=LONG, d=3, d_v=2), TILE, True)

    agrees(
        student.call("tiled_attention", *given),
        reference.call("tiled_attention", *given),
        "The context",
    )
    keeps_results_below(student.operators("tiled_attention", *given), LONG * LONG, NO_MATRIX)
