"""Compares what changes a student's result with what changes the right one.

The solution and the student's code get the same changes (``changed_calls``); only what one of them
notices and the other does not is stated, and only with a margin: no difference at all on one side,
and one that no rounding makes on the other.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.diagnosis.changed_calls import (
    LAST,
    REPEATED,
    UNCHANGED,
    Change,
    all_changes,
    item_changes,
    row_changes,
)
from autograder.diagnosis.heuristics import Pattern, WrongAnswerPattern
from autograder.diagnosis.matching_change import matching_change
from autograder.diagnosis.observation import Observation
from autograder.diagnosis.single_changes import SolutionPair
from autograder.diagnosis.subjects import Pair

# Differences are relative to the largest number of a result.
NOTHING = 1e-7  # a difference that is none: what does not depend on a number is computed alike
NOTICED = 1e-4  # a thousand times that, and above what rounding makes
ROUNDING = 1e-5  # of sums and exponentials that give the same in another way
BROKEN = 1e-3  # a hundred times that: a law does not hold
DRAWS = 3  # of other numbers, before something is said to depend on them or not
MIN_ROWS = 3  # with two tokens, an inverted mask takes the effect of queries and keys away

SENTENCES = {
    "differs_each_time": "Two calls with the same input give different results{}.",
    "no_effect": "{} no effect on your result, but the right one depends on {}.",
    "needless_effect": "Other numbers in {} change your result; the right one does not depend on "
    "it.",
    "mask_has_no_effect": "With other ones and zeros in {} your result is exactly the same; the "
    "right one changes.",
    "item_ignored": "Other numbers in the {} item of {} do not change the result of that item, and "
    "they should.",
    "items_mixed": "Other numbers in the {} item of {} change the results of other items of the "
    "batch.",
    "later_token": "Other numbers in row {} of {} change row {} of your result: it depends on a "
    "later token.",
    "other_row": "Other numbers in row {} of {} change row {} of your result, and they should not.",
    "row_ignored": "Other numbers in row {} of {} do not change row {} of your result, and they "
    "should.",
    "own_row_alone": "Each row of your result depends on its own row of {} alone.",
    "own_row_ignored": "No row of your result depends on its own row of {}.",
    "doubled": "When {} is doubled, the right result is doubled as well; yours is not.",
    "same_when_doubled": "When {} is doubled, the right result stays the same; yours does not.",
    "same_when_shifted": "When 1 is added to all of {}, the right result stays the same; yours "
    "does not.",
    "gradient_missing": "A gradient reaches {}, but none, or only zeros, reaches {}.",
}
QUESTIONS = {
    "differs_each_time": "Which step draws numbers, and may it do so here?",
    "no_effect": "Which steps should use these numbers, and does what they give reach the result?",
    "needless_effect": "Which step uses it, and which of its inputs is meant there?",
    "mask_has_no_effect": "Which step should use it, and is its result used afterwards?",
    "item_ignored": "Which step takes one item for all of them?",
    "items_mixed": "Over which axis does each step work: is one of them the axis of the batch?",
    "later_token": "Which scores must be hidden, and is what hides them used before the softmax?",
    "other_row": "Which step brings rows together, and which should it?",
    "row_ignored": "Which step should make that row have an effect?",
    "own_row_alone": "Which step should bring rows together?",
    "own_row_ignored": "May a token look at itself, and which rows does each step take?",
    "doubled": "In which steps should it occur, and is each of them a plain product or sum?",
    "same_when_doubled": "Which step makes the size of its numbers disappear?",
    "same_when_shifted": "Which step makes a common summand disappear?",
    "gradient_missing": "On which way should it reach the result, and where does that way end?",
}


def compare_effects(pair: Pair, others: Iterable[SolutionPair] = ()) -> Pattern:
    """Say what one of the results depends on and the other does not.

    Nothing is read where the solution draws numbers, or where the student's result is right.
    *others* are other calls of the same function or class.
    """
    pair.ask(list(all_changes(pair.call)))
    right, answer = pair.ours.answer(UNCHANGED), pair.theirs.answer(UNCHANGED)
    again, last = pair.differences(REPEATED), pair.differences(LAST)
    if right is None or answer is None or again is None or last is None or not _none(again[0]):
        return None
    if not _none(again[1]):
        mode = ", also in evaluation mode" if pair.call.new else ""
        return _pattern("differs_each_time", mode) if _noticed(again[1]) else None
    if not _none(last[1]):  # the code remembers what it was given
        return None
    if right.shape != answer.shape or not _noticed((right - answer).abs() / right.abs().max()):
        return None
    return first_reading(pair, others)


def first_reading(pair: Pair, others: Iterable[SolutionPair] = ()) -> Pattern:
    """Return the first reading in which the two results depend on something else.

    What depends on what may be another matter with another mask, so the sentence names the mask.
    """
    found = _masks(pair)
    if found is not None:
        return found
    found = matching_change(pair, others) if isinstance(pair, SolutionPair) else None
    readings = (_items, _effects, _rows, _laws)
    found = found or next((found for reading in readings if (found := reading(pair))), None)
    if found is None or not pair.call.masks:
        return found
    end = f" Seen with the {_listed(list(pair.call.masks), 'and')} of this check."
    return found._replace(sentence=found.sentence + end)


def missing_gradients(seen: Observation, solved: Observation) -> Pattern:
    """Name the parameters that no gradient reaches, if one reaches others."""
    last = len(seen.answers) - 1
    if not 0 <= last < len(solved.answers) or seen.answers[last][0] != "gradients":
        return None
    found, wanted = _gradients_of(seen.answers[last]), reached_parameters(solved.answers[last])
    missing = [name for name in wanted if _size(found.get(name)) <= NOTHING]
    reached = [name for name in wanted if _size(found.get(name)) > NOTICED]
    if not missing or not reached:
        return None
    return _pattern("gradient_missing", _listed(reached, "and"), _listed(missing, "or"))


def reached_parameters(answer: tuple[str, Any]) -> tuple[str, ...]:
    """Return the parameters that a gradient reaches; none if *answer* holds no gradients."""
    names = (name for name, value in _gradients_of(answer).items() if _size(value) > NOTICED)
    return tuple(name for name in names if not name.startswith("input "))


def _items(pair: Pair) -> Pattern:
    """Recognise items of a batch that are mixed, or of which one stands for all."""
    right = pair.ours.answer(UNCHANGED)
    for name, tensor in pair.arguments():
        if right is None or right.ndim < 3 or len(tensor) != len(right):  # noqa: PLR2004  # a batch of matrices
            continue
        for change, nth in zip(item_changes(name, tensor), ("first", "second"), strict=False):
            found, index = pair.differences(change), change.number
            if found is None:
                continue
            ours, theirs = (one.flatten(1).amax(1) for one in found)
            others = torch.arange(len(tensor)) != index
            if not _none(ours[others]) or not _noticed(ours[index]):
                continue
            if _noticed(theirs[others]):
                return _pattern("items_mixed", nth, name)
            if _none(theirs[index]) and _is_ignored(pair, change):
                return _pattern("item_ignored", nth, name)
    return None


def _is_ignored(pair: Pair, change: Change) -> bool:
    """Whether no numbers in the item of *change* have an effect on it."""
    more = [change._replace(draw=draw) for draw in range(1, DRAWS)]
    pair.ask(more)
    found = [pair.differences(one) for one in more]
    return all(one is not None and _none(one[1][change.number]) for one in found)


def _effects(pair: Pair) -> Pattern:
    """Recognise arguments and parameters without effect, and one that should have none."""
    if any(tensor.ndim > 1 and tensor.shape[-2] < MIN_ROWS for _, tensor in pair.arguments()):
        return None
    silent, needless = list[str](), list[str]()
    for name in pair.call.tensors:
        if _differs_in_effect(pair, name, _noticed, _none):
            silent.append(name)
        if _differs_in_effect(pair, name, _none, _noticed):
            needless.append(name)
    if silent and len(silent) < len(pair.call.tensors):
        several = len(silent) > 1
        has, it = ("have", "them") if several else ("has", "it")
        return _pattern("no_effect", f"{_listed(silent, 'and')} {has}", it)
    return _pattern("needless_effect", needless[0]) if needless else None


def _differs_in_effect(
    pair: Pair, name: str, ours: Callable[[Tensor], bool], theirs: Callable[[Tensor], bool]
) -> bool:
    """Whether other numbers in *name* each have one effect on *ours*, another on *theirs*."""
    for change in (Change("other", name, draw=draw) for draw in range(DRAWS)):
        pair.ask([change])
        found = pair.differences(change)
        if found is None or not ours(found[0]) or not theirs(found[1]):
            return False
    return True


def _masks(pair: Pair) -> Pattern:
    """Recognise a mask without effect."""
    for name in pair.call.masks:
        found = [pair.differences(Change("filled", name, value)) for value in (0, 1)]
        changes = [one for one in found if one is not None and _noticed(one[0])]
        if changes and all(_none(theirs) for _, theirs in changes):
            return _pattern("mask_has_no_effect", name)
    return None


def _rows(pair: Pair) -> Pattern:
    """Compare which rows of the arguments change which rows of the result."""
    for name, tensor in pair.arguments():
        rows = row_changes(name, tensor)
        if rows and (found := _row_effects(pair, rows)) and _row_pattern(*found, name):
            more = [[row._replace(draw=draw) for row in rows] for draw in range(1, DRAWS)]
            pair.ask(list(itertools.chain(*more)))
            again = [_row_effects(pair, drawn) for drawn in more]
            every = [one for one in (found, *again) if one is not None]
            ours, theirs = (torch.stack([one[side] for one in every]).amax(0) for side in range(2))
            if len(every) == DRAWS and (pattern := _row_pattern(ours, theirs, name)):
                return pattern
    return None


def _row_effects(pair: Pair, rows: Sequence[Change]) -> tuple[Tensor, Tensor] | None:
    """Return how much row j of an argument changes row i of the two results, as entries (i, j)."""
    both = [one for row in rows if (one := pair.differences(row)) is not None]
    if len(both) < len(rows) or both[0][0].ndim < 2:  # noqa: PLR2004  # rows and columns
        return None
    ours, theirs = (torch.stack([_by_row(one[side]) for one in both], dim=1) for side in range(2))
    return ours, theirs


def _row_pattern(ours: Tensor, theirs: Tensor, name: str) -> Pattern:
    """Describe the first entry in which one of the matrices is zero and the other is not."""
    own = torch.eye(*ours.shape, dtype=torch.bool)
    later = torch.ones_like(own).triu(1)
    causal = bool((ours[later] <= NOTHING).all() and (ours[~later] > NOTICED).all())
    missing = (ours > NOTICED) & (theirs <= NOTHING)
    needless = (ours <= NOTHING) & (theirs > NOTICED) & ~own
    if needless.any():
        i, j = needless.nonzero()[0].tolist()
        if causal and j > i:
            return _pattern("later_token", j, name, i)
        return _pattern("other_row", j, name, i)
    if not missing.any():
        return None
    if len(own) == len(own.T) and bool((theirs[~own] <= NOTHING).all() and missing[~own].any()):
        return _pattern("own_row_alone", name)
    if len(own) == len(own.T) and bool(missing[own].all()):
        return _pattern("own_row_ignored", name)
    i, j = missing.nonzero()[0].tolist()
    return _pattern("row_ignored", j, name, i)


def _laws(pair: Pair) -> Pattern:
    """Compare what doubling a tensor, and adding one to it, does to the results."""
    for name in pair.call.tensors:
        doubled, shifted = Change("times", name, 2), Change("plus_one", name)
        laws = (("doubled", doubled, 2), ("same_when_doubled", doubled, 1))
        for law, change, times in (*laws, ("same_when_shifted", shifted, 1)):
            found = pair.differences(change, times)
            if found is not None and float(found[0].max()) <= ROUNDING < BROKEN < found[1].max():
                return _pattern(law, name)
    return None


def _by_row(difference: Tensor) -> Tensor:
    """Return the largest difference of each row, whatever axes stand before the rows."""
    return difference.movedim(-2, 0).flatten(1).amax(1)


def _none(difference: Tensor) -> bool:
    return not difference.numel() or float(difference.max()) <= NOTHING


def _noticed(difference: Tensor) -> bool:
    return bool(difference.numel()) and float(difference.max()) > NOTICED


def _gradients_of(answer: tuple[str, Any]) -> Mapping[str, Any]:
    found = answer[1].get("gradients") if isinstance(answer[1], dict) else None
    return found if isinstance(found, dict) else {}


def _size(gradient: Any) -> float:
    """Return the largest entry of a gradient, and 0 where none arrives."""
    if not isinstance(gradient, Tensor) or not gradient.numel() or gradient.is_complex():
        return 0.0
    return float(gradient.double().abs().nan_to_num(torch.inf).max())


def _pattern(name: str, *words: object) -> WrongAnswerPattern:
    return WrongAnswerPattern(name, SENTENCES[name].format(*words), QUESTIONS[name])


def _listed(names: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
