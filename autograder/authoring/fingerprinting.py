"""Makes the fingerprints of a stage: runs its public checks on wrong programs.

The programs are the misconceptions, and the solution with one kind of mistake each. Pairs of kinds
are left out, because there are thousands of them. Rounding must not decide a result: every number
that a check sends is shifted, up and down, by more than another processor's error. If the answers
then differ by more than the noise, or the program ends differently, the result is left out.
"""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import pytest
import torch

from autograder.course import Stage
from autograder.diagnosis import misconceptions
from autograder.diagnosis.fingerprints import (
    ENTRIES,
    PARTS,
    PASSES,
    Fingerprints,
    KindKey,
    Print,
    Shown,
    agree,
    kind_label,
    shown_by,
)
from autograder.diagnosis.group_mistakes import mistakes_of
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes.rewriting import Rewrite
from autograder.diagnosis.observation import Match, Observation, compare, does_not_end
from autograder.diagnosis.programs import Programs, Run, channel_of
from autograder.diagnosis.stage_mistakes import StageMistakes
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import ArrayValue, Reply, TensorValue, Value, Verb
from autograder.sandbox.static_names import Definition
from autograder.sandbox.tensors import decode_tensor, encode_tensor
from autograder.suite.checks import CollectedCheck, Layer
from autograder.suite.in_process import LocalChannel
from autograder.suite.limits import ticking
from autograder.suite.noise import LEAST_MARGIN, is_same
from autograder.suite.packed_numbers import PACKED, pack
from autograder.suite.student_proxy import SEND_BYTES, Channel

SHIFT = 1e-6  # relative up to 1 and absolute above; ten times the rounding error of a step
CLEAR = 3  # a result that survives this multiple of shift and margin is steady
FAR = 4 * LEAST_MARGIN  # a program this far from the bound of a check passes on every machine
WAVES = 1e4  # numbers that differ by 0.001 are shifted differently, equal numbers equally
ALIKE = {Match.YES, Match.TEXT_ONLY}


class Steadiness(Enum):
    """Whether a program gives the same results on every machine."""

    UNSTEADY = auto()
    BORDERLINE = auto()  # it may look steady or unsteady on a different machine
    STEADY = auto()


class ShiftedChannel:
    """Passes requests to a channel with slightly shifted numbers; whole numbers stay the same."""

    def __init__(self, channel: Channel, share: float) -> None:
        self._channel = channel
        self._share = share

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions in the source, and the names that they use."""
        return self._channel.definitions

    def ask(self, verb: Verb, **fields: Any) -> Reply:
        """Send one request with shifted tensors."""
        args, kwargs = fields.pop("args", ()), fields.pop("kwargs", {})
        return self._channel.ask(
            verb,
            args=tuple(map(self._shifted, args)),
            kwargs={name: self._shifted(value) for name, value in kwargs.items()},
            **fields,
        )

    def _shifted(self, value: Value) -> Value:
        if isinstance(value, ArrayValue):
            inner = self._shifted(value.tensor)
            return ArrayValue(inner) if isinstance(inner, TensorValue) else value
        tensor = decode_tensor(value) if isinstance(value, TensorValue) else None
        if tensor is None or not tensor.is_floating_point():
            return value
        numbers = tensor.double()
        waves = torch.cos(WAVES * numbers).masked_fill(numbers == numbers.round(), 0)
        moved = numbers + self._share * waves * numbers.clamp(-1, 1)
        return encode_tensor(moved.to(tensor.dtype), SEND_BYTES)


def steadiness(
    seen: Observation, check: pytest.Item, channel: Channel, run: Run, *, in_doubt: bool = False
) -> Steadiness:
    """Return whether the program behind *channel* gives the results *seen* on every machine.

    A result that was undecided in the last build is *in_doubt* and must survive twice the shift.
    Otherwise it could be steady in one build and undecided in the next.
    """
    times = 2 if in_doubt else 1
    if seen.error is None and seen.margin >= times * FAR:
        return Steadiness.STEADY
    is_clear = seen.margin >= times * CLEAR * LEAST_MARGIN
    if isinstance(seen.error, Fault) and not seen.answers and is_clear:  # no number matters
        return Steadiness.STEADY
    if does_not_end(seen.error):  # rounding hardly has an influence, and a run takes long
        return Steadiness.STEADY
    if _holds(seen, check, channel, run, times * CLEAR):
        return Steadiness.STEADY
    return Steadiness.BORDERLINE if _holds(seen, check, channel, run, 1) else Steadiness.UNSTEADY


def _holds(seen: Observation, check: pytest.Item, channel: Channel, run: Run, times: float) -> bool:
    """Whether the program still has the results *seen* after shifts of *times* the usual size."""
    if seen.margin < times * LEAST_MARGIN:
        return False
    shifts = (times * SHIFT, -times * SHIFT)
    shifted = (run(check, ShiftedChannel(channel, share)) for share in shifts)
    return all(
        (one.error is None) == (seen.error is None) and compare(one, seen) in ALIKE
        for one in shifted
    )


RESERVED = {PARTS, ENTRIES, PACKED}  # keys of answers that consist of others
SAMPLE = 5  # misconceptions, and other programs; digests show whether the rest is stale
Item = TypeVar("Item")


class PublicChecks(NamedTuple):
    """The public checks of a stage, a function that runs one, and the stage's solution."""

    stage: Stage
    solution: LocalChannel
    checks: Sequence[CollectedCheck]
    run: Run

    def of(self, exercise: str) -> list[CollectedCheck]:
        """List the checks of *exercise*."""
        return [check for check in self.checks if check.spec.exercise == exercise]


class Kind(NamedTuple):
    """A program with one kind of mistake: number *number* among the *programs* of its exercise."""

    programs: Programs
    exercise: str
    number: int

    @property
    def rewrite(self) -> Rewrite:
        """The change that makes the program wrong."""
        return self.programs.rewrites[self.number]

    @property
    def channel(self) -> LocalChannel | None:
        """The program, ready to answer requests; ``None`` if it can't be imported."""
        return self.programs.channel((self.number,))


class Made(NamedTuple):
    """Fingerprints, and the labels of the programs that were run."""

    fingerprints: Fingerprints
    compared: AbstractSet[str]


@dataclass
class Showings:
    """One program's results in the checks that it fails; rounding could decide *undecided*."""

    shown: dict[str, Shown] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)


class _Numbers:
    """Assigns a number to each value; equal values get the same number."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def of(self, value: Any) -> int:
        """Return the number of *value*, which must have a JSON form."""
        text = json.dumps(value, allow_nan=False)
        if text not in self._numbers:
            self._numbers[text] = len(self._values)
            self._values.append(value)
        return self._numbers[text]

    def all(self) -> tuple[Any, ...]:
        """Return the values in the order of their numbers."""
        return tuple(self._values)


def kinds_of(stage: Stage, solution: LocalChannel) -> list[Kind]:
    """List the programs with one kind of mistake, in the order of their numbers."""
    return _kinds(mistakes_of(stage, misconceptions.read_operators(stage)), solution)


def _kinds(mistakes: StageMistakes, solution: LocalChannel) -> list[Kind]:
    made = [Programs(mistakes, name, solution) for name in mistakes.names]
    return [
        Kind(found, found.exercise, number)
        for found in made
        for number in range(len(found.own_keys))
    ]


def _sample(items: Sequence[Item]) -> list[Item]:
    return list(items[:: max(1, len(items) // SAMPLE)])


class FingerprintMaker:
    """Makes the fingerprints of a stage; numbers that agree with *known* ones keep their digits."""

    def __init__(self, public: PublicChecks, known: Fingerprints | None = None) -> None:
        self._public = public
        self._known = known
        self._ends, self._answers = _Numbers(), _Numbers()
        self._prints: dict[str, dict[tuple[int, tuple[int, ...]], list[int]]] = {}
        self._undecided: dict[str, list[int]] = {}
        self._users: dict[str, list[str]] = {}  # the exercises that use each one, and itself

    @ticking()
    def make(self, *, only_sample: bool = False) -> Made:
        """Run every misconception and every program with a kind of mistake, or a sample of both."""
        stage, choose = self._public.stage, _sample if only_sample else list
        bank = choose(misconceptions.known_in(stage))
        every = mistakes_of(stage, misconceptions.read_operators(stage))
        kinds = _kinds(every, self._public.solution)
        self._users = {
            name: [one for one in every.names if name in every.names_within(one)]
            for name in every.names
        }
        if self._known is not None and len(self._known.programs) != len(kinds):
            self._known = None  # its numbers belong to other programs
        recorded = self._run_misconceptions(bank)
        mistakes = [item.id for item in recorded]
        wanted = choose(range(len(kinds)))
        failing = {one for one in wanted if self._fails(len(mistakes), one, kinds[one])}
        keys, groups = _Numbers(), _Numbers()
        groups.of("")  # the number of mistakes whose group is their sentence
        programs = [
            keys.of(_key(one.rewrite, groups)) if number in failing else PASSES
            for number, one in enumerate(kinds)
        ]
        homes = [*(one.exercise for one in recorded), *(one.exercise for one in kinds)]
        about_code = (one for one in self._public.checks if one.spec.layer is Layer.FORBIDDEN)
        solved = {check.name: self._solve(check) for check in about_code}
        answers, column = pack(self._answers.all())
        known = Fingerprints(
            mistakes=tuple(mistakes),
            programs=tuple(programs),
            kinds=keys.all(),
            homes=tuple(map(every.names.index, homes)),
            contracts={name: every.contract(name) for name in every.names},
            steps={item.id: item.steps(every.text) for item in recorded},
            solved=solved,
            ends=self._ends.all(),
            answers=answers,
            column=column,
            prints={
                check: tuple(Print(*shown, tuple(of)) for shown, of in prints.items())
                for check, prints in self._prints.items()
            },
            undecided={check: tuple(numbers) for check, numbers in self._undecided.items()},
        )
        labels = {item.id for item in bank} | {known.label(len(mistakes) + one) for one in wanted}
        return Made(known, labels)

    def _run_misconceptions(self, bank: Sequence[Misconception]) -> list[Misconception]:
        """Store the results of each misconception; return those that fail a check."""
        found: list[Misconception] = []
        text = self._public.stage.solution.read_text("utf-8")
        for item in bank:
            channel = channel_of(item, text, self._public.solution)
            showings = self._examine(item.id, item.exercise, channel)
            if showings.shown:
                self._keep(len(found), showings)
                found.append(item)
        return found

    def _fails(self, mistakes: int, number: int, kind: Kind) -> bool:
        """Store the results of a program with one kind of mistake; return whether a check fails."""
        if kind.channel is None:
            return False
        showings = self._examine(kind_label(number), kind.exercise, kind.channel)
        self._keep(mistakes + number, showings)
        return bool(showings.shown)

    def _examine(self, label: str, exercise: str, channel: LocalChannel) -> Showings:
        """Run the checks of *exercise* and of those that use it, then some with other numbers.

        All checks first run once, as on a student's machine, because Python may report a different
        line of an exception after it has executed a function several times.
        """
        showings, run = Showings(), self._public.run
        checks = [check for name in self._users[exercise] for check in self._public.of(name)]
        for check, seen in [(check, run(check.item, channel)) for check in checks]:
            in_doubt = (check.name, label) in self._doubts
            found = steadiness(seen, check.item, channel, run, in_doubt=in_doubt)
            shown = shown_by(seen) if seen.error is not None else None
            self._note(showings, (check.name, label), found, shown)
        return showings

    def _note(
        self, showings: Showings, key: tuple[str, str], found: Steadiness, shown: Shown | None
    ) -> None:
        """Store the result of a program in a check; *shown* is ``None`` if the program passes.

        *key* is the name of the check and the label of the program. A borderline result is decided
        only if it was in the last build, with the same inputs.
        """
        check, label = key
        before = self._before.get(key)
        same = before is shown is None
        if before is not None and shown is not None and agree(before, shown):
            same, shown = True, shown._replace(answers=before.answers)
        known = same and key not in self._doubts and label in self._labels
        if found is Steadiness.UNSTEADY or (found is Steadiness.BORDERLINE and not known):
            showings.undecided.append(check)
        elif shown is not None:
            showings.shown[check] = shown

    @cached_property
    def _before(self) -> Mapping[tuple[str, str], Shown]:
        """The known result of each program, by check and label."""
        return self._known.by_check() if self._known else {}

    @cached_property
    def _labels(self) -> AbstractSet[str]:
        """The labels of the programs in the last build."""
        return {label for _, label in self._before} | {label for _, label in self._doubts}

    @cached_property
    def _doubts(self) -> AbstractSet[tuple[str, str]]:
        """The check and label of each result that was undecided in the last build."""
        return self._known.undecided_by_check() if self._known else set()

    def _keep(self, number: int, showings: Showings) -> None:
        for check, shown in showings.shown.items():
            key = self._ends.of(shown.end), self._keep_answers(shown.answers)
            self._prints.setdefault(check, {}).setdefault(key, []).append(number)
        for check in showings.undecided:
            self._undecided.setdefault(check, []).append(number)

    def _solve(self, check: CollectedCheck) -> tuple[int, ...]:
        answers = shown_by(self._public.run(check.item, self._public.solution)).answers
        before = self._known.solution(check.name) if self._known else []
        return self._keep_answers(before if is_same(before, answers) else answers)

    def _keep_answers(self, answers: Sequence[Any]) -> tuple[int, ...]:
        return tuple(map(self._number, answers))

    def _number(self, answer: Any) -> int:
        """Return the number of *answer*; its parts get their own numbers."""
        if _holds_tensors(answer):
            answer = {ENTRIES: self._entries(answer)}
        elif isinstance(answer, dict) and (len(answer) > 1 or answer.keys() & RESERVED):
            answer = {PARTS: [self._answers.of([*answer]), *map(self._number, answer.values())]}
        return self._answers.of(answer)

    def _entries(self, answer: Sequence[Any]) -> list[Any]:
        return [self._entries(one) if _holds_tensors(one) else self._number(one) for one in answer]


def _holds_tensors(answer: Any) -> bool:
    return isinstance(answer, list) and any(isinstance(one, dict | list) for one in answer)


def _key(rewrite: Rewrite, groups: _Numbers) -> KindKey:
    return KindKey(rewrite.key, dict(rewrite.words), groups.of(rewrite.shared), rewrite.steps)
