"""Error carried forward: an exercise that is right, given the mistake in one that it uses.

The proof is a replay. A right program, in which the one exercise uses the other, gets the mistake
that was named in the other; where it then ends every failed check as the student's code did, the
student's exercise adds no mistake of its own. Both diagnoses may fit such answers; it counts that
the source uses the other exercise, which is read before any of it runs.

Nobody gains by a mistake made on purpose: it costs the points of its own exercise, and the one
above must still show, on hidden inputs, what a right one shows. Where the mistake leaves nothing to
see of it, NaN or an exception, no point is carried.
"""

import ast
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from torch import Tensor

from autograder.course import Stage
from autograder.diagnosis.matcher import Failure, Run
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Match, Observation, compare
from autograder.errors import CourseError
from autograder.results import Diagnosis, Status
from autograder.sandbox.static_names import Definition, definitions, parse, reached_uses
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import LocalChannel


class Carried(NamedTuple):
    """The exercise whose mistake shows in another, and the checks that are right given it."""

    given: str
    checks: frozenset[str]


class CarryForward:
    """Replays the checks of an exercise of one stage on the mistakes in exercises before it.

    Every run is kept, so that each check runs once on a program for the whole class.
    """

    def __init__(self, stage: Stage, run: Run, solution: LocalChannel) -> None:
        self._stage = stage
        self._run = run
        self._solution = solution
        self._programs = {
            path: definitions(parse((path.read_bytes(),)))
            for path in (stage.solution, *stage.variants)
        }
        self._channels: dict[tuple[Path, str], LocalChannel | None] = {}
        self._runs: dict[tuple[LocalChannel, str], Observation] = {}

    def find(
        self,
        source: Sequence[Definition],
        exercise: str,
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
        mistakes: Sequence[Misconception],
    ) -> Carried | None:
        """Return which of *mistakes*, in exercises that *source* uses, explains all *failures*."""
        for mistake in mistakes:
            if _uses(source, exercise, mistake.exercise):
                for channel in self._wrong_programs(exercise, mistake):
                    if checks := self._right_checks(channel, failures, passed):
                        return Carried(mistake.exercise, checks)
        return None

    def _wrong_programs(self, exercise: str, mistake: Misconception) -> Iterator[LocalChannel]:
        """Yield the programs in which *exercise* is right and stands on *mistake*."""
        for path, program in self._programs.items():
            if _uses(program, exercise, mistake.exercise):
                channel = self._channel(path, mistake)
                if channel is not None:
                    yield channel

    def _right_checks(
        self, channel: LocalChannel, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> frozenset[str]:
        """Return the failed checks that *channel* answers alike; none unless all end alike.

        Two exceptions with the same text are alike, but earn nothing: no answer was seen.
        """
        matches = []
        for failure in failures:
            matches.append(self._match(channel, failure))
            if matches[-1] is Match.NO:
                return frozenset()
        if any(self._replay(channel, check).error is not None for check in passed):
            return frozenset()
        return frozenset(
            failure.item.name
            for failure, match in zip(failures, matches, strict=True)
            if match is Match.YES and _shows_the_exercise(failure.observation)
        )

    def _match(self, channel: LocalChannel, failure: Failure) -> Match:
        replayed = self._replay(channel, failure.item)
        if replayed.error is None:
            return Match.NO
        solved = self._replay(self._solution, failure.item)
        return compare(replayed, failure.observation, solved)

    def _replay(self, channel: LocalChannel, check: pytest.Item) -> Observation:
        key = (channel, check.nodeid)
        if key not in self._runs:
            self._runs[key] = self._run(check, channel)
        return self._runs[key]

    def _channel(self, path: Path, mistake: Misconception) -> LocalChannel | None:
        """Import the right program at *path* with *mistake* in it; ``None`` if that can't be."""
        key = (path, mistake.id)
        if key not in self._channels:
            name = f"{path.stem}_given_{mistake.id}"
            try:
                text = with_mistake(path, mistake, self._stage.solution.read_text("utf-8"))
                self._channels[key] = LocalChannel(name, text.encode())
            except CourseError:  # a variant need not work with another program's definition
                self._channels[key] = None
        return self._channels[key]


def certain_mistakes(
    bank: Sequence[Misconception], exercise: str, diagnoses: Iterable[Diagnosis]
) -> tuple[Misconception, ...]:
    """Return what *diagnoses* name: one mistake, or several that no answer can distinguish."""
    ids = {part for diagnosis in diagnoses for part in diagnosis.misconception.split(" / ")}
    named = tuple(item for item in bank if item.exercise == exercise and item.id in ids)
    tied = all(item.id in named[0].ties for item in named[1:])
    return named if tied else ()


def with_mistake(path: Path, mistake: Misconception, solution: str) -> str:
    """Return the right program at *path* with *mistake*, a change to *solution*, in it.

    The wrong definition, with what it needs, takes the place of the program's own; statements that
    only run something, such as a demo, are left out. Raises ``CourseError``.
    """
    right, wrong = ast.parse(path.read_bytes()), ast.parse(mistake.module(solution))
    unchanged = set(map(ast.unparse, ast.parse(solution).body))
    new = [node for node in wrong.body if _is_import(node) or ast.unparse(node) not in unchanged]
    body: list[ast.stmt] = []
    for node in right.body:
        if getattr(node, "name", "") == mistake.exercise:
            body += new
        elif not isinstance(node, ast.Expr):
            body.append(node)
    if not any(node in body for node in new):
        msg = f"{path} does not define {mistake.exercise}"
        raise CourseError(msg)
    return ast.unparse(ast.Module(body, []))


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _uses(known: Sequence[Definition], exercise: str, other: str) -> bool:
    return any(use.name == other for use in reached_uses(known, exercise))


def _shows_the_exercise(seen: Observation) -> bool:
    """Whether a check failed by an answer that shows something of the exercise.

    What ran and what was changed is not compared, and the exercise may have done it itself.
    """
    error = seen.error
    by_answers = isinstance(error, WrongAnswer) and error.status is not Status.FORBIDDEN
    return (
        by_answers
        and not seen.changed_inputs
        and bool(seen.answers)
        and _tells(seen.answers[-1][1])
    )


def _tells(answer: Any) -> bool:
    """Whether *answer* holds numbers other than NaN or one constant, which any code could return.

    Where a mistake makes everything NaN, the code above it may be anything.
    """
    match answer:
        case Tensor():
            numbers = answer.detach().flatten()
            finite = numbers[numbers.isfinite()]
            return bool((finite != finite[:1]).any()) or len(finite) == len(numbers) == 1
        case dict():
            return any(map(_tells, answer.get("gradients", answer).values()))
        case list() | tuple():
            return any(map(_tells, answer))
        case _:
            return isinstance(answer, float) and math.isfinite(answer)
