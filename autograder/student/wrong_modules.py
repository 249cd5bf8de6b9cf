"""Makes wrong modules for a bug hunt: the learner's own code with one place changed."""

import random
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final

import msgspec

from autograder.results import Outcome, SubmissionResult
from autograder.student.learner_code import LearnerCode
from autograder.student.stage_picture import PictureRows, differs
from autograder.submission.exercise_cells import lines_of, span_of

UNNAMED: Final = 5  # wrong modules to try until one has a named mistake
# Takes a text and ranges of its lines; yields, for each change, a description and the new text.
SmallChanges = Callable[[str, Sequence[range]], Iterable[tuple[str, str]]]


class WrongModule(msgspec.Struct, frozen=True):
    """A wrong module: the *change* in an *exercise*, the mistake's *name*, and its picture."""

    change: str
    exercise: str
    name: str
    text: str
    rows: PictureRows


class WrongModules:
    """Finds wrong modules: the learner's code with one small change that has a visible effect."""

    def __init__(self, code: LearnerCode, small_changes: SmallChanges) -> None:
        self._code, self._small_changes = code, small_changes

    def search(self, text: str, right: PictureRows) -> Generator[WrongModule, None, None]:
        """Yield wrong modules with a different picture and a failed check, in random order."""
        changed = list(self._changed(text))
        random.shuffle(changed)
        with self._code.open_suite() as runner:
            for exercise, change, wrong in changed:
                rows = self._code.picture(wrong)
                if rows is None or not differs(rows, right):
                    continue
                result = self._code.check_exercise(runner, wrong, exercise)
                if _fails_by_value(result):
                    yield WrongModule(change, exercise, _name(result), wrong, rows)

    def _changed(self, text: str) -> Iterator[tuple[str, str, str]]:
        """Yield, for each small change, the exercise, a description and the changed module."""
        for exercise in self._code.stage.exercises:
            span = span_of(text, exercise.name)
            if span is None or not self._shows(text, span, exercise.name):
                continue
            lines, (first, last) = lines_of(text), span
            for change, changed in self._small_changes(text, [range(first, last + 1)]):
                own = lines_of(changed)[first - 1 : last]  # a change keeps the number of lines
                whole = "".join([*lines[: first - 1], *own, *lines[last:]])
                yield exercise.name, change, whole

    def _shows(self, text: str, span: tuple[int, int], name: str) -> bool:
        """Whether the picture depends on the exercise *name*: without it, there is no picture."""
        lines = lines_of(text)
        without = [*lines[: span[0] - 1], f"{name} = None\n", *lines[span[1] :]]
        return self._code.picture("".join(without)) is None


def first_named(found: Generator[WrongModule, None, None]) -> WrongModule | None:
    """Return the first module whose mistake has a name, or an unnamed one after a few tries."""
    with closing(found):
        seen = []
        for one in found:
            seen.append(one)
            if one.name or len(seen) == UNNAMED:
                return one
        return seen[-1] if seen else None


def _fails_by_value(result: SubmissionResult) -> bool:
    """Whether a value is wrong; code that only raises an exception needs no hunt."""
    checks = [check for exercise in result.exercises for check in exercise.checks]
    raised = any(check.outcome is Outcome.ERRORED for check in checks)
    return not raised and any(check.outcome is Outcome.FAILED for check in checks)


def _name(result: SubmissionResult) -> str:
    checks = [check for exercise in result.exercises for check in exercise.checks]
    named = (check.diagnosis.title for check in checks if check.diagnosis is not None)
    return next(named, "")
