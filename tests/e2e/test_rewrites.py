"""Mistakes are named in any idiom.

Each file of ``tests/submissions/rewrites/<stage>`` is named ``<mistake>__<idiom>.py``, for a
misconception or a kind of mistake, and contains one exercise with it, written by a student who does
not know our solution. It is submitted after the text of the solution, whose definition it replaces.
That right code in any idiom earns everything is part of ``autograder verify``.
"""

import ast
from pathlib import Path

import pytest

from autograder import course as courses
from autograder.diagnosis import misconceptions
from autograder.diagnosis.mistakes.kinds import KINDS
from autograder.results import SubmissionResult
from autograder.submission import Code, Submission
from tests.e2e.conftest import GradeClass

ROOT = Path(__file__).parents[2]
COURSE = courses.load(ROOT)
REWRITES = sorted((ROOT / "tests/submissions/rewrites").glob("*/*.py"))


def name_of(path: Path) -> str:
    """Return a unique name for a submission."""
    return path.relative_to(ROOT / "tests").as_posix()


def stage_of(path: Path) -> courses.Stage:
    """Find the stage that a rewrite belongs to."""
    return COURSE.stage(path.parent.name)


def exercise_of(path: Path) -> str:
    """Return the exercise that a rewrite defines."""
    defined = {getattr(node, "name", "") for node in ast.parse(path.read_text("utf-8")).body}
    return next(one.name for one in stage_of(path).exercises if one.name in defined)


def names_of(path: Path) -> set[str]:
    """Return the names of the mistake that a rewrite is named for."""
    name = path.stem.split("__")[0]
    bank = {item.id: item for item in misconceptions.read(stage_of(path).misconceptions)}
    return {name} if name in KINDS else {name, *bank[name].ties}


def submission_of(path: Path) -> Submission:
    """Submit a rewrite after the solution."""
    stage = stage_of(path)
    text = stage.solution.read_bytes() + b"\n\n" + path.read_bytes()
    code = Code(kind="module", cells=(text,), label=path.name)
    return Submission(student=name_of(path), stage=stage.name, code=code)


@pytest.fixture(scope="module")
def results(grade_class: GradeClass) -> dict[str, SubmissionResult]:
    """Grade all files as one class; return the results by the names of the files."""
    graded = grade_class([submission_of(path) for path in REWRITES])
    return dict(zip(map(name_of, REWRITES), graded, strict=True))


def named(result: SubmissionResult) -> dict[str, set[str]]:
    """Return the mistakes that were named in each exercise."""
    return {
        exercise.name: {
            name
            for check in exercise.checks
            if check.diagnosis
            for name in check.diagnosis.misconception.split(" / ")
        }
        for exercise in result.exercises
    }


@pytest.mark.parametrize("path", REWRITES, ids=name_of)
def test_a_mistake_is_named_in_any_idiom(path: Path, results: dict[str, SubmissionResult]):
    """The exercise loses points and its mistake is named; other exercises get no diagnosis."""
    result = results[name_of(path)]
    found = named(result)
    diagnosed = found.pop(exercise_of(path))
    [exercise] = [item for item in result.exercises if item.name == exercise_of(path)]

    assert exercise.score < exercise.max_score
    assert diagnosed & names_of(path)
    assert not any(found.values())


def test_every_stage_has_rewrites():
    """No stage is left out."""
    assert {stage_of(path).name for path in REWRITES} == {stage.name for stage in COURSE.stages}
