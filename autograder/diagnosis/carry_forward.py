"""Error carried forward: an exercise that is right, given the mistake in one that it uses.

The proof is a replay. A right program, in which the one exercise uses the other, gets the mistake
that was named in the other; where it then ends every failed check as the student's code did, the
student's exercise adds no mistake of its own. Both diagnoses may fit such answers; it counts that
the source uses the other exercise, which is read before any of it runs.

Nobody gains by a mistake made on purpose: it costs the points of its own exercise, and the one
above must still show, on hidden inputs, what a right one shows. Where the mistake hides it, because
it ignores an input, or leads to NaN or an exception, no point is carried.
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

MAX_INPUTS = 4  # tensors that an exercise gets from another; queries, keys, values and a mask
SHIFT = """
import torch

def _shift(run, number):
    def shifted(*args, **kwargs):
        left = iter(range(len(args) + len(kwargs)))
        def change(value):
            if torch.is_tensor(value) and value.is_floating_point() and next(left) == number:
                return torch.arange(value.numel()).cos().reshape(value.shape) - 1.5 * value
            return value
        return run(*map(change, args), **{name: change(kwargs[name]) for name in kwargs})
    return shifted

if isinstance(EXERCISE, type):
    EXERCISE.forward = _shift(EXERCISE.forward, NUMBER)
else:
    EXERCISE = _shift(EXERCISE, NUMBER)
"""


class Program(NamedTuple):
    """The right program at *path* with *mistake*, if any, in *exercise*.

    *shifted* is the number of a tensor that is changed on its way into *exercise*, -1 for none.
    """

    path: Path
    exercise: str
    mistake: Misconception | None = None
    shifted: int = -1


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
        self._sources = {
            path: definitions(parse((path.read_bytes(),)))
            for path in (stage.solution, *stage.variants)
        }
        self._channels: dict[Program, LocalChannel | None] = {}
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
                for program in self._wrong_programs(exercise, mistake):
                    if checks := self._right_checks(program, failures, passed):
                        return Carried(mistake.exercise, checks)
        return None

    def _wrong_programs(self, exercise: str, mistake: Misconception) -> Iterator[Program]:
        """Yield the programs in which *exercise* is right and stands on *mistake*."""
        for path, source in self._sources.items():
            program = Program(path, mistake.exercise, mistake)
            if _uses(source, exercise, mistake.exercise) and self._channel(program):
                yield program

    def _right_checks(
        self, program: Program, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> frozenset[str]:
        """Return the failed checks that *program* answers alike; none unless all end alike.

        Two exceptions with the same text are alike, but earn nothing: no answer was seen.
        """
        matches = []
        for item, seen in failures:
            replayed = self._replay(program, item)
            match = compare(replayed, seen, self._solve(item)) if replayed.error else Match.NO
            if match is Match.NO:
                return frozenset()
            matches.append(match)
        if any(self._replay(program, check).error is not None for check in passed):
            return frozenset()
        return frozenset(
            item.name
            for (item, seen), match in zip(failures, matches, strict=True)
            if match is Match.YES
            and _shows_the_exercise(seen)
            and self._hides_nothing(program, item)
        )

    def _hides_nothing(self, program: Program, check: pytest.Item) -> bool:
        """Whether *check* notices each input of the mistake that it notices without the mistake.

        It ends at the first difference: only the answers before that count.
        """
        count = len(self._replay(program, check).answers)
        right = program._replace(mistake=None)
        return all(
            self._notices(program, number, check, count)
            or not self._notices(right, number, check, count)
            for number in range(MAX_INPUTS)
        )

    def _notices(self, program: Program, number: int, check: pytest.Item, count: int) -> bool:
        """Whether the first *count* answers change if this input is changed."""
        changed = program._replace(shifted=number)
        if not (self._channel(program) and self._channel(changed)):
            return False
        plain, shifted = (
            Observation(self._replay(one, check).answers[:count], None)
            for one in (program, changed)
        )
        return compare(plain, shifted, self._solve(check)) is not Match.YES

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
        """Import *program*; ``None`` if that can't be."""
        if program not in self._channels:
            number = len(self._channels)
            try:
                text = self._text(program)
                self._channels[program] = LocalChannel(f"given_{number}", text.encode())
            except CourseError:  # a variant need not work with another program's definition
                self._channels[program] = None
        return self._channels[program]

    def _text(self, program: Program) -> str:
        solution = self._stage.solution.read_text("utf-8")
        text = (
            with_mistake(program.path, program.mistake, solution)
            if program.mistake
            else ast.unparse(ast.Module(_definitions(program.path), []))
        )
        if program.shifted < 0:
            return text
        shift = SHIFT.replace("EXERCISE", program.exercise).replace("NUMBER", str(program.shifted))
        return text + shift


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

    The wrong definition, with what it needs, takes the place of the program's own. Raises
    ``CourseError``.
    """
    wrong = ast.parse(mistake.module(solution))
    unchanged = set(map(ast.unparse, ast.parse(solution).body))
    new = [node for node in wrong.body if _is_import(node) or ast.unparse(node) not in unchanged]
    body: list[ast.stmt] = []
    for node in _definitions(path):
        body += new if getattr(node, "name", "") == mistake.exercise else [node]
    if not any(node in body for node in new):
        msg = f"{path} does not define {mistake.exercise}"
        raise CourseError(msg)
    return ast.unparse(ast.Module(body, []))


def _definitions(path: Path) -> list[ast.stmt]:
    """Return the statements of the program at *path* without those that only run, as demos do."""
    return [node for node in ast.parse(path.read_bytes()).body if not isinstance(node, ast.Expr)]


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
