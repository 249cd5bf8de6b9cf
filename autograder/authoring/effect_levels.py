"""Makes the numbers that say what the right results of the public checks depend on."""

import re
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from autograder.diagnosis.causal_readings import handles_of
from autograder.diagnosis.changed_calls import (
    CALLS,
    LAST,
    REPEATED,
    SMALLEST,
    UNCHANGED,
    Call,
    Change,
    CreatingChannel,
    all_changes,
    find_call,
    owner_of,
)
from autograder.diagnosis.effects import DRAWS, NOTHING, NOTICED, ROUNDING, reached_parameters
from autograder.diagnosis.known_effects import (
    UNUSABLE,
    KnownEffects,
    Result,
    key,
    key_of,
    place_of,
    tensors_of,
    words_of,
)
from autograder.diagnosis.observation import Observation
from autograder.diagnosis.subjects import Subject
from autograder.sandbox.protocol import Request

BOUNDS = (NOTHING, ROUNDING, NOTICED)  # of the levels, which readings compare with
NONE, SHOWS = "0", str(len(BOUNDS))
UNIT = NOTICED / 10  # of the largest number of a result
DIGITS = 6  # significant ones of the unit
MAX_ENTRIES = 256  # of a result
DRAWN = {"other", "row", "item"}  # changes that put drawn numbers in the place of others


class EffectsMaker:
    """Collects what the solution's results in the public checks depend on."""

    def __init__(self, solution: CreatingChannel) -> None:
        self._solution = solution
        self._arguments: dict[str, tuple[str, ...]] = {}
        self._parameters: dict[str, dict[str, tuple[int, ...]]] = {}
        self._results: dict[str, Result] = {}
        self._gradients: dict[str, tuple[str, ...]] = {}

    def add(self, check: str, requests: Sequence[Request], solved: Observation) -> None:
        """Add the calls of one check, in which the solution showed *solved*."""
        handles = handles_of(solved)
        for number, request in enumerate(requests):
            if names := reached_parameters(solved.answers[number]):
                self._gradients[f"{check} {number}"] = names
            if request.verb not in CALLS:
                continue
            call = find_call(self._solution, requests[: number + 1], handles)
            if call and (result := self._result(call)):
                self._results[key_of(call)] = result
                self._arguments[owner_of(call.request, call.new)] = call.names
                if call.new:
                    self._arguments[call.new.name] = tuple(self._solution.arguments(call.new.name))
                    drawn = call.tensors.items()
                    shapes = {name: tuple(x.shape) for name, x in drawn if name in call.parameters}
                    self._parameters[key(call.new)] = shapes

    def made(self) -> KnownEffects:
        """Return everything that was added."""
        return KnownEffects(
            arguments=self._arguments,
            parameters=self._parameters,
            results=self._results,
            gradients=self._gradients,
        )

    def _result(self, call: Call) -> Result | None:
        """Return what is kept of *call*; ``None`` where its results say nothing."""
        if (known := self._results.get(key_of(call))) is not None:
            return known
        changes = [*all_changes(call), *_confirming(call)]
        subject = Subject(self._solution, call)
        subject.ask(changes)
        right = subject.answer(UNCHANGED)
        repeated = [subject.difference(change) for change in (REPEATED, LAST)]
        if right is None or right.numel() > MAX_ENTRIES or not all(map(_is_nothing, repeated)):
            return None
        unit = float(f"{max(float(right.abs().max()), SMALLEST) * UNIT:.{DIGITS}g}")
        numbers = tuple(map(round, (right / unit).flatten().tolist()))
        return Result(tuple(right.shape), unit, numbers, _levels_of(call, changes, subject))


def _confirming(call: Call) -> list[Change]:
    """List the changes with which a reading is confirmed."""
    drawn = [one for one in all_changes(call) if one.kind in DRAWN]
    return [one._replace(draw=draw) for draw in range(1, DRAWS) for one in drawn]


def contradictions(left: KnownEffects, right: KnownEffects) -> Iterator[str]:
    """Name the calls of which two files say something else, beyond rounding."""
    if (left.arguments, left.parameters, left.gradients) != (
        right.arguments,
        right.parameters,
        right.gradients,
    ):
        yield "the arguments and parameters"
    for call in sorted(left.results.keys() | right.results.keys()):
        mine, theirs = left.results.get(call), right.results.get(call)
        if mine is None or theirs is None or _contradict(mine, theirs):
            yield f"the call {call}"


def _contradict(mine: Result, theirs: Result) -> bool:
    if mine.shape != theirs.shape or mine.levels.keys() != theirs.levels.keys():
        return True
    left, right = (one.unit * torch.tensor(one.numbers).double() for one in (mine, theirs))
    if not torch.allclose(left, right, rtol=0, atol=NOTICED * float(left.abs().max())):
        return True
    return any(_far_apart(mine.levels[words], theirs.levels[words]) for words in mine.levels)


def _far_apart(left: str, right: str) -> bool:
    """Whether a difference is none on one side and shows on the other; rounding may vary."""
    pairs = list(zip(_split(left), _split(right), strict=False))
    return len(_split(left)) != len(_split(right)) or any(
        {*mine, *theirs} >= {NONE, SHOWS} or (mine == UNUSABLE) != (theirs == UNUSABLE)
        for one, other in pairs
        for mine, theirs in zip(*_expanded(one, other), strict=True)
    )


def _split(levels: str) -> list[str]:
    return re.split("[ ,]", levels)


def _expanded(left: str, right: str) -> tuple[str, str]:
    """Write one digit for each row where the other side does."""
    longest = max(len(left), len(right))
    return left * longest if len(left) == 1 else left, right * longest if len(right) == 1 else right


def _levels_of(call: Call, changes: Sequence[Change], subject: Subject) -> dict[str, str]:
    """Return the levels of all differences, as ``Result`` keeps them."""
    names = tensors_of(call)
    found: dict[str, dict[str, dict[int, str]]] = {}
    first: dict[str, str] = {}  # words of first draws, by those of later ones
    for change in (one for one in changes if one.name):
        for times in (1, change.number) if change.kind == "times" else (1,):
            words = words_of(change, times)
            first[words] = words_of(change._replace(draw=0), times)
            by_name = found.setdefault(words, {})
            level = _levels(subject.difference(change, times))
            by_name.setdefault(change.name, {})[place_of(change)] = level
    levels = {
        words: ",".join(_in_order(by_name.get(name, {})) for name in names).rstrip(",")
        for words, by_name in found.items()
    }
    return {
        words: said
        for words, said in levels.items()
        if words == first[words] or said != levels[first[words]]
    }


def _in_order(levels: Mapping[int, str]) -> str:
    return " ".join(levels[number] for number in sorted(levels))


def _levels(difference: Tensor | None) -> str:
    """Return a digit for each row of *difference*, or one if all are the same."""
    if difference is None:
        return UNUSABLE
    rows = difference.amax(-1) if difference.ndim else difference
    digits = torch.bucketize(rows.flatten(), torch.tensor(BOUNDS, dtype=torch.double))
    text = "".join(map(str, digits.tolist()))
    return text[:1] if len({*text}) == 1 else text


def _is_nothing(difference: Tensor | None) -> bool:
    return difference is not None and float(difference.max()) <= NOTHING
