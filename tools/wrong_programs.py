"""Builds the solution of a stage with a mistake in it, and finds the exercise of a mutant."""

from collections.abc import Sequence

import pytest

from autograder.course import Stage
from autograder.diagnosis import misconceptions
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.observation import Failure, Submitted
from autograder.diagnosis.stage_mistakes import rewrites_of
from autograder.diagnosis.student_code import StudentCode
from autograder.suite.in_process import LocalChannel


def with_misconception(stage: Stage, text: str, name: str) -> str:
    """Put misconception *name* of the bank into *text*, the solution or a changed one."""
    bank = {item.id: item for item in misconceptions.read(stage.misconceptions)}
    return bank[name].module(text)


def with_kind(stage: Stage, text: str, exercise: str, kind: str, words: str = "") -> str:
    """Make the first mistake of *kind* in *exercise* whose explanation holds *words*."""
    solution = stage.solution.read_text("utf-8")
    known = ExerciseCode(solution, exercise, [one.name for one in stage.exercises])
    fitting = (
        one for one in rewrites_of(known, {}) if one.kind == kind and words in one.explanation
    )
    return Misconception(
        id=kind,
        exercise=exercise,
        explanation=kind,
        question=kind,
        code=known.text([next(fitting)]),
    ).module(text)


def changed_exercise(stage: Stage, solution: str, text: str) -> str:
    """Return the exercise in which *text* differs from the solution."""
    names = [one.name for one in stage.exercises]
    pairs = (
        (ExerciseCode(module, name, names).text([]) for module in (solution, text))
        for name in names
    )
    changed = (name for name, (right, wrong) in zip(names, pairs, strict=True) if right != wrong)
    return next(changed, names[0])


def submitted(
    stage: Stage,
    exercise: str,
    failures: Sequence[Failure],
    passed: Sequence[pytest.Item],
    channel: LocalChannel,
) -> Submitted:
    """Return the outcome of the checks of *exercise* as that of a submission, all else right."""
    names = [one.name for one in stage.exercises]
    code = StudentCode((channel.text.encode(),), names)
    return Submitted(exercise, failures, passed, code, {*names} - {exercise})
