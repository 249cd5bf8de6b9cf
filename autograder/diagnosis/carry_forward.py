"""Finds exercises that are correct except for a mistake in an exercise that they use.

The proof is a replay. The named mistake of the used exercise is put into a correct program in which
one exercise uses the other. If this program ends every failed check as the student's code did, the
student's exercise adds no mistake. Its source, which is read before it runs, must show that it uses
the other exercise.

If the mistake has no name, or an exception hides the work of the exercise, a stand-in replaces the
other exercise in the student's code and in the correct program. Its answers depend on everything
that the exercise passes to it. A check in which both programs then give the same answers earns its
points.

A deliberate mistake gains nothing: its own exercise loses points, and the exercise that uses it
must still behave like a correct one on hidden inputs. The wrong exercise must also be an attempt.
It is an attempt if its mistake has a name and takes at least half of the solution's steps to an
answer (a quarter if the mistake is a misconception), if it passes a probe or a law that nonsense of
the right shape breaks, or if it passes some check given a mistake in an exercise that it uses. In
every stage, ``verify --full`` grades correct code that uses garbage: it may earn at most one point
more than with blanks.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

import pytest

from autograder.course import Stage
from autograder.diagnosis.answers import more_than_a_constant
from autograder.diagnosis.changed_programs import NONSENSE, SHIFTED, change, with_mistakes
from autograder.diagnosis.live import Run
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Failure, Match, Observation, compare
from autograder.errors import CourseError
from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import DictValue, Value
from autograder.sandbox.static_names import Definition, definitions, parse, reached_uses
from autograder.suite.checks import Layer, WrongAnswer, layer_of, spec_of
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Channel

MAX_SETS = 12  # pairs of mistakes to try; a stage has at most five exercises
MAX_INPUTS = 4  # tensors that one exercise passes to another: queries, keys, values and a mask


class Program(NamedTuple):
    """The correct program at *path*, with any *mistakes* in different exercises.

    *changed* is the code that changes the answers of *exercise*, if it is not empty.
    """

    path: Path
    mistakes: tuple[Misconception, ...] = ()
    exercise: str = ""
    changed: str = ""


Shapes = dict[str, dict[str, Value]]


class Carried(NamedTuple):
    """The wrong exercises that explain failed checks, and the names of these checks."""

    given: str
    checks: frozenset[str]


class StandInRun(NamedTuple):
    """The result of a check with stand-ins, and the forms of right answers.

    The forms are by exercise, then by a key for the arguments.
    """

    shapes: Shapes
    observation: Observation


class CarryForward:
    """Replays the failed checks of an exercise with the mistakes of the exercises that it uses.

    All runs are cached, so each check runs once on each program for the whole class.
    """

    def __init__(self, stage: Stage, run: Run, solution: LocalChannel) -> None:
        self._stage = stage
        self._run = run
        self._solution = solution
        self._sources = {
            path: definitions(parse((path.read_bytes(),)))
            for path in (stage.solution, *stage.variants)
        }
        self._channels: dict[Program, LocalChannel | None] = {}
        self._runs: dict[tuple[LocalChannel, str], Observation] = {}
        self._with_stand_ins: dict[tuple[Path, str, tuple[str, ...]], StandInRun | None] = {}
        self.reasons: dict[str, list[str]] = {}  # why no points were carried, by exercise

    def find(
        self,
        source: Sequence[Definition],
        exercise: str,
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
        mistakes: Sequence[Misconception],
    ) -> Carried | None:
        """Return the first set of *mistakes* that explains all *failures*, and the carried checks.

        Only mistakes in exercises that *source* uses, or that a check passes to *exercise*, count.
        """
        handed = {name for one in failures if (spec := spec_of(one.item)) for name in spec.needs}
        used = [
            mistake
            for mistake in mistakes
            if mistake.exercise in handed or _uses(source, exercise, mistake.exercise)
        ]
        for together in _sets(used):
            for program in self._wrong_programs(exercise, together, handed):
                if checks := self._right_checks(program, failures, passed):
                    return Carried(_names(item.exercise for item in together), checks)
        return None

    def find_by_stand_ins(
        self,
        student: Channel,
        source: Sequence[Definition],
        exercise: str,
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
        wrong: Sequence[str],
    ) -> Carried | None:
        """Run all checks again with stand-ins for the *wrong* exercises that *source* uses."""
        used = tuple(name for name in wrong if _uses(source, exercise, name))
        reasons = self.reasons[exercise] = []
        paths = [
            path
            for path, known in self._sources.items()
            if used and all(_uses(known, exercise, name) for name in used)
        ]
        for path in paths:
            if checks := self._alike_on_stand_ins(student, path, used, failures, passed, reasons):
                return Carried(_names(used), checks)
        if not used:
            reasons.append("it does not use an exercise that is wrong")
        elif not paths:
            reasons.append(f"no solution or variant uses {_names(used)} in it")
        return None

    def uses_any(self, source: Sequence[Definition], exercise: str, others: Sequence[str]) -> bool:
        """Whether *exercise* in *source* uses one of the exercises *others*."""
        return any(_uses(source, exercise, other) for other in others)

    def shows_work(self, exercise: str, passed: Sequence[pytest.Item]) -> bool:
        """Whether *exercise* has passed a check that proves that it was attempted.

        A probe proves this, because it compares with the correct result, and so does a law that
        nonsense of the right shape breaks.
        """
        nonsense = Program(self._stage.solution, exercise=exercise, changed=NONSENSE)
        return any(
            layer_of(check) is Layer.PROBE
            or (layer_of(check) is Layer.LAWS and self._replay(nonsense, check).fails)
            for check in passed
        )

    def _alike_on_stand_ins(
        self,
        student: Channel,
        path: Path,
        names: tuple[str, ...],
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
        reasons: list[str],
    ) -> frozenset[str]:
        """Return the failed checks with the same answers as the program at *path*, if none differs.

        The reasons why points are not carried are added to *reasons*.
        """
        alike = set()
        failed = [one.item for one in failures]
        for check in (*failed, *passed):
            known = self._run_with_stand_ins(check, names, path)
            if known is None and check in passed:  # the check uses no other exercise
                continue
            if known is None:
                reasons.append(f"{check.name}: no stand-in can answer for {_names(names)}")
                return frozenset()
            seen = self._stood_in(student, check, known.shapes).observation
            match = compare(known.observation, seen, self._solve(check))
            if match is Match.NO:
                reasons.append(f"{check.name}: with stand-ins, {path.name} gives different results")
                return frozenset()
            if match is Match.YES and check in failed and _shows_the_exercise(seen):
                alike.add(check.name)
            elif check in failed:
                reasons.append(f"{check.name}: its answers prove too little about the exercise")
        return frozenset(alike)

    def _run_with_stand_ins(
        self, check: pytest.Item, names: tuple[str, ...], path: Path
    ) -> "StandInRun | None":
        """Run *check* on the program at *path*, first to learn forms and then with stand-ins."""
        key = (path, check.nodeid, names)
        if key not in self._with_stand_ins:
            found = None
            if channel := self._channel(Program(path)):
                shapes = self._stood_in(channel, check, {name: {} for name in names}).shapes
                if all(shapes.get(name) for name in names):
                    seen = self._stood_in(channel, check, shapes).observation
                    found = StandInRun(shapes, seen)
            self._with_stand_ins[key] = found
        return self._with_stand_ins[key]

    def _stood_in(self, channel: Channel, check: pytest.Item, shapes: Shapes) -> StandInRun:
        """Run *check* on *channel* while stand-ins with the forms *shapes* answer.

        A stand-in without forms lets the code answer, and learns them.
        """
        try:
            for name, table in shapes.items():
                channel.ask("stand_in", name=name, kwargs=table)
            seen = self._run(check, channel)
            learned = channel.ask("remove_stand_ins").value
        except Fault as fault:
            return StandInRun({}, Observation((), fault))
        tables = learned.items if isinstance(learned, DictValue) else {}
        return StandInRun(
            {name: table.items for name, table in tables.items() if isinstance(table, DictValue)},
            seen,
        )

    def _wrong_programs(
        self, exercise: str, mistakes: tuple[Misconception, ...], handed: AbstractSet[str]
    ) -> Iterator[Program]:
        """Yield programs in which *exercise* is correct and uses exercises with *mistakes*."""
        names = {mistake.exercise for mistake in mistakes} - handed
        for path, source in self._sources.items():
            program = Program(path, mistakes)
            uses_all = all(_uses(source, exercise, name) for name in names)
            if uses_all and self._channel(program):
                yield program

    def _right_checks(
        self, program: Program, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> frozenset[str]:
        """Return the failed checks that *program* ends like the student's code, if none differs.

        Checks with equal exceptions earn no points, because there is no answer to compare.
        """
        matches = []
        for item, seen, _ in failures:
            replayed = self._replay(program, item)
            match = compare(replayed, seen, self._solve(item)) if replayed.error else Match.NO
            match = match if replayed.decided else Match.UNDECIDED
            if match is Match.NO:
                return frozenset()
            matches.append(match)
        if any(self._replay(program, check).fails for check in passed):
            return frozenset()
        return frozenset(
            item.name
            for (item, seen, _), match in zip(failures, matches, strict=True)
            if match is Match.YES
            and _shows_the_exercise(seen)
            and self._hides_nothing(program, item)
        )

    def _hides_nothing(self, program: Program, check: pytest.Item) -> bool:
        """Whether *check* notices all inputs of wrong exercises that it notices without mistakes.

        A check ends at the first difference, so only earlier answers count.
        """
        count = len(self._replay(program, check).answers)
        right = program._replace(mistakes=())
        return all(
            self._notices(program, mistake.exercise, number, check, count)
            or not self._notices(right, mistake.exercise, number, check, count)
            for mistake in program.mistakes
            for number in range(MAX_INPUTS)
        )

    def _notices(
        self, program: Program, exercise: str, number: int, check: pytest.Item, count: int
    ) -> bool:
        """Whether the first *count* answers certainly change with input *number* of *exercise*."""
        shift = SHIFTED.replace("NUMBER", str(number))
        changed = program._replace(exercise=exercise, changed=shift)
        if not (self._channel(program) and self._channel(changed)):
            return False
        plain, shifted = (
            Observation(self._replay(one, check).answers[:count], None)
            for one in (program, changed)
        )
        return compare(plain, shifted, self._solve(check)) is Match.NO

    def _replay(self, program: Program, check: pytest.Item) -> Observation:
        return self._keep(self._channel(program) or self._solution, check)

    def _solve(self, check: pytest.Item) -> Observation:
        return self._keep(self._solution, check)

    def _keep(self, channel: LocalChannel, check: pytest.Item) -> Observation:
        key = (channel, check.nodeid)
        if key not in self._runs:
            self._runs[key] = self._run(check, channel)
        return self._runs[key]

    def _channel(self, program: Program) -> LocalChannel | None:
        """Import *program*; ``None`` if it can't be imported."""
        if program not in self._channels:
            number = len(self._channels)
            try:
                text = self._text(program)
                self._channels[program] = LocalChannel(
                    f"given_{number}", text.encode(), self._solution
                )
            except CourseError:  # a variant need not work with another program's definition
                self._channels[program] = None
        return self._channels[program]

    def _text(self, program: Program) -> str:
        solution = self._stage.solution.read_text("utf-8")
        text = with_mistakes(program.path, program.mistakes, solution)
        return text + change(program.exercise, program.changed) if program.changed else text


def _sets(mistakes: Sequence[Misconception]) -> Iterator[tuple[Misconception, ...]]:
    """Yield each mistake alone, then pairs in different exercises, then one in each exercise."""
    exercises = {mistake.exercise: mistake for mistake in reversed(mistakes)}
    pairs = (
        (one, other)
        for one, other in itertools.combinations(mistakes, 2)
        if one.exercise != other.exercise
    )
    every = [tuple(exercises.values())] if len(exercises) > 2 else []  # noqa: PLR2004  # a set of two is one of the pairs
    yield from ((mistake,) for mistake in mistakes)
    yield from itertools.islice(pairs, MAX_SETS)
    yield from every


def _names(exercises: Iterable[str]) -> str:
    return " and ".join(exercises)


def _uses(known: Sequence[Definition], exercise: str, other: str) -> bool:
    return any(use.name == other for use in reached_uses(known, exercise))


def _shows_the_exercise(seen: Observation) -> bool:
    """Whether a check failed because of an answer that is evidence about the exercise.

    Operators and changed inputs are not compared, because the exercise itself may be the reason for
    them.
    """
    error = seen.error
    by_answers = error is None or (
        isinstance(error, WrongAnswer) and error.status is not Status.FORBIDDEN
    )
    return (
        by_answers
        and not seen.changed_inputs
        and bool(seen.answers)
        and more_than_a_constant(seen.answers[-1][1])
    )
