"""Mistakes in an idiom of their own are named all the same, and nobody is accused who is right.

Each file of ``tests/submissions/rewrites/<stage>`` is named ``<misconception>__<idiom>.py`` and
holds one exercise as a student writes it who does not know our solution, with that mistake; it is
handed in behind the solution, whose definition it replaces. Each file of a stage's ``variants`` is
right.
"""

from pathlib import Path

import pytest

from autograder import course as courses
from autograder.diagnosis import misconceptions
from autograder.diagnosis.misconceptions import Misconception
from autograder.grading.grade import grade
from autograder.results import SubmissionResult
from autograder.submission import Code, Submission

ROOT = Path(__file__).parents[2]
COURSE = courses.load(ROOT)
REWRITES = sorted((ROOT / "tests/submissions/rewrites").glob("*/*.py"))
VARIANTS = sorted((ROOT / "tests/hidden").glob("*/variants/*.py"))


def name_of(path: Path) -> str:
    """Return what tells a submission from the others."""
    return path.relative_to(ROOT / "tests").as_posix()


def stage_of(path: Path) -> courses.Stage:
    """Find the stage that a rewrite or a variant belongs to."""
    name = next(part for part in path.parts if part in {stage.name for stage in COURSE.stages})
    return COURSE.stage(name)


def mistake_of(path: Path) -> Misconception:
    """Return the misconception that a rewrite is named for."""
    bank = misconceptions.read(stage_of(path).misconceptions)
    return next(item for item in bank if item.id == path.stem.split("__")[0])


def handed_in(path: Path) -> Submission:
    """Hand in a variant as it is, a rewrite behind the solution."""
    stage = stage_of(path)
    text = path.read_bytes()
    if path in REWRITES:
        text = stage.solution.read_bytes() + b"\n\n" + text
    code = Code(kind="module", cells=(text,), label=path.name)
    return Submission(student=name_of(path), stage=stage.name, code=code)


@pytest.fixture(scope="module")
def results() -> dict[str, SubmissionResult]:
    """Grade everybody in one batch."""
    graded = grade(COURSE, [handed_in(path) for path in (*REWRITES, *VARIANTS)], jobs=2)
    return {result.student: result for result in graded.submissions}


def named(result: SubmissionResult) -> dict[str, set[str]]:
    """Every mistake that was named, by exercise; what is told together is taken apart."""
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
    """The exercise loses points, its mistake is named, and no other exercise is accused."""
    mistake, result = mistake_of(path), results[name_of(path)]
    found = named(result)
    accused = found.pop(mistake.exercise)
    [exercise] = [item for item in result.exercises if item.name == mistake.exercise]

    assert exercise.score < exercise.max_score
    assert accused & {mistake.id, *mistake.ties}
    assert not any(found.values())


def test_nobody_is_accused_who_is_right(results: dict[str, SubmissionResult]):
    """Right code earns everything and no diagnosis, in whatever idiom."""
    right = [results[name_of(path)] for path in VARIANTS]

    assert [result.student for result in right if result.score != result.max_score] == []
    assert [result.student for result in right if any(named(result).values())] == []


def test_every_stage_is_rewritten():
    """The batch holds rewrites of all stages."""
    assert {stage_of(path).name for path in REWRITES} == {stage.name for stage in COURSE.stages}
