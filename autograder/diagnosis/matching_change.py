"""Finds the change to the right computation that gives a student's wrong result.

Only what gives the student's result for all inputs that were tried, small and large, to rounding,
is stated.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from autograder.diagnosis.changed_calls import UNCHANGED, Call, Change, all_changes
from autograder.diagnosis.factor_words import EXACT, Fit, pattern, say_fit
from autograder.diagnosis.heuristics import Pattern
from autograder.diagnosis.single_changes import Answers, Knob, SolutionPair, Table

ROUNDING = 1e-5  # of the largest number of a result, in float32 and in any order of steps
VISIBLE = 1e-3  # a hundred times that: so much the change must matter for some input
MIN_INPUTS = 4  # for which a change is confirmed; most calls have some twenty
NEAR = 0.1  # of a segment: how far from it a result may be to be worth a closer look
TURNED = 0.8  # the sine of the angle to it under which a result is seen from its ends
STEPS = 8  # of Newton's method, which doubles the digits with each
MAX_OTHERS = 2  # calls with other sizes: enough that no two sizes are equal in all
LARGE = 6  # times as large as the other inputs, so that a function is no longer almost linear


def matching_change(pair: SolutionPair, others: Iterable[SolutionPair] = ()) -> Pattern:
    """Say which change gives the student's results.

    *others* are calls of the same function, which show which size a number is.
    """
    answer = pair.theirs.answer(UNCHANGED)
    right = pair.ours.answer(UNCHANGED)
    if answer is None or right is None or answer.shape != right.shape:
        return None
    far = (pair.right.varied_results - answer).abs().reshape(len(pair.right.variations), -1).amax(1)
    for index in (far <= ROUNDING * float(answer.abs().max())).nonzero().flatten().tolist():
        answers, phrase = pair.right.variations[index]
        if _confirmed(answers, pair):
            return pattern("variation", phrase)
    fit = _fit(pair)
    if fit is None:
        return None
    unlike = (one for one in others if one.right.sizes != pair.right.sizes)
    more = list(itertools.islice(unlike, MAX_OTHERS))
    return say_fit([fit, *_fits(fit.knob, more)], [pair.right, *(one.right for one in more)])


def _fit(pair: SolutionPair, like: Knob | None = None) -> Fit | None:
    """Return the first knob with a number that gives the student's results, or that *like* it."""
    answer, right = pair.theirs.answer(UNCHANGED), pair.ours.answer(UNCHANGED)
    if answer is None or right is None or answer.shape != right.shape:
        return None
    for knob, table in pair.right.knobs:
        if like and (like.kind, like.name) != (knob.kind, knob.name):
            continue
        for start in _starts(table, answer):
            number = _fitted(knob, start, [(UNCHANGED, answer)])
            if number is None or not _close(knob.at(number).answer(UNCHANGED), answer):
                continue
            for exact in _numbers(knob, _sharpened(knob, number, pair)):
                if _confirmed(knob.at(exact), pair):
                    return Fit(pair.right, knob, exact)
    return None


def _fits(knob: Knob, others: Sequence[SolutionPair]) -> Iterator[Fit]:
    """Yield what the same knob is in other calls."""
    for other in others:
        other.ask(list(all_changes(other.call)))
        if fit := _fit(other, knob):
            yield fit


def _confirmed(answers: Answers, pair: SolutionPair) -> bool:
    """Whether *answers* are the student's for all inputs, some of which show the change."""
    changes = [*all_changes(pair.call), *_large(pair.call)]
    pair.ask(changes)
    inputs = shown = 0
    for change in changes:
        ours, mine = pair.right.subject.answer(change), pair.theirs.answer(change)
        if ours is None:
            continue
        if mine is None or not _close(answers.answer(change), mine):
            return False
        inputs += 1
        shown += not _close(ours, mine, VISIBLE)
    return inputs >= MIN_INPUTS and shown > 1


def _large(call: Call) -> list[Change]:
    return [Change("times", name, LARGE) for name in call.tensors]


def _starts(table: Table, answer: Tensor) -> Iterator[float]:
    """Yield numbers where a polygon through the results of *table* comes close to *answer*."""
    to = answer.flatten() - table.points[:-1]
    shares = (to * table.sides).sum(1) / table.lengths**2
    if len(table.numbers) > 2:  # noqa: PLR2004  # a straight line goes on
        shares = shares.clamp(0, 1)
    distances = (to - shares[:, None] * table.sides).norm(dim=1)
    to_points = (answer.flatten() - table.points).norm(dim=1)
    turned = TURNED * torch.minimum(to_points[:-1], to_points[1:])
    is_near = distances <= NEAR * table.lengths
    is_near &= distances <= turned + ROUNDING * to_points.max()  # at a point itself both are none
    for index in is_near.nonzero().flatten().tolist():
        start, end = table.numbers[index : index + 2]
        yield start + float(shares[index]) * (end - start)


def _fitted(knob: Knob, number: float, targets: Sequence[tuple[Change, Tensor]]) -> float | None:
    """Improve *number* until the results come as close to *targets* as they can."""
    wanted = _joined([answer for _, answer in targets], targets)
    for _ in range(STEPS):
        width = 1e-3 * max(abs(number), 0.1)
        here, there = (
            _joined([knob.at(one).answer(change) for change, _ in targets], targets)
            for one in (number, number + width)
        )
        if wanted is None or here is None or there is None:
            return None
        slope = (there - here) / width
        if float(slope @ slope) <= 0:
            return None
        step = float((wanted - here) @ slope / (slope @ slope))
        number += step
        if abs(step) <= 1e-6 * max(abs(number), 0.1):
            break
    return number


def _sharpened(knob: Knob, number: float, pair: SolutionPair) -> float:
    """Fit *number* to large inputs as well, where it matters more."""
    changes = [UNCHANGED, *_large(pair.call)]
    pair.theirs.ask(changes)
    found = [(change, pair.theirs.answer(change)) for change in changes]
    targets = [(change, answer) for change, answer in found if answer is not None]
    return _fitted(knob, number, targets) or number


def _joined(
    answers: Sequence[Tensor | None], targets: Sequence[tuple[Change, Tensor]]
) -> Tensor | None:
    """Return all *answers* as one vector, each relative to the size of its target."""
    parts = []
    for answer, (_, target) in zip(answers, targets, strict=True):
        if answer is None or answer.shape != target.shape:
            return None
        parts.append(answer.flatten() / target.abs().max().clamp(min=1e-12))
    return torch.cat(parts)


def _numbers(knob: Knob, number: float) -> list[float]:
    """Return the exact numbers that *number* may be, then itself."""
    close = [one for one in knob.exact if abs(one - number) <= EXACT * (abs(one) or 1)]
    return [*close[:1], number]


def _close(left: Tensor | None, right: Tensor | None, share: float = ROUNDING) -> bool:
    if left is None or right is None or left.shape != right.shape:
        return False
    return float((left - right).abs().max()) <= share * float(right.abs().max())
