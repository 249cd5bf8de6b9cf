"""Tests that a course on a different topic works, without any text about attention."""

import re
from itertools import chain
from pathlib import Path

import pytest

from autograder.authoring.recording import record_lines
from autograder.course import load
from autograder.student.lab import Lab
from autograder.student.quiz import MODULE as QUIZ
from tests.kit.commands import run

FOREIGN = re.compile(r"attention|quer(?:y|ies)\b|\btokens?\b|\bheads?\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def other(pytestconfig: pytest.Config) -> Path:
    """Return the course of the examples."""
    return pytestconfig.rootpath / "examples" / "other_course"


def test_the_course_is_built(other: Path):
    """No built file of the course is stale."""
    run(other, "autograder", "release", "--check")


def test_no_word_of_attention_reaches_its_students(other: Path):
    """Stubs, checks, diagnoses and START_HERE.md of the course do not mention attention."""
    built = [
        path for path in other.glob("assignments/**/*.*") if path.suffix not in {".pyc", ".bin"}
    ]
    texts = [path.read_text("utf-8") for path in built]
    texts += chain.from_iterable(map(record_lines, load(other).every_stage))
    found = {word for text in texts for word in FOREIGN.findall(text)}

    assert built
    assert not found


def test_the_engine_names_nothing_of_the_course(pytestconfig: pytest.Config):
    """No file of the engine names a stage, a class that students write, or a module of labs."""
    course = load(pytestconfig.rootpath)
    classes = {one.name for stage in course.every_stage for one in stage.exercises}
    names = {stage.name for stage in course.every_stage} | {
        *(name for name in classes if re.search("[a-z][A-Z_]", name) and name[0].isupper()),
        *(path.stem for path in course.shared_source.glob("*.py") if path.stem != QUIZ),
    }
    of_course = re.compile(rf"\b({'|'.join(names)})\b")
    files = [
        path
        for path in (pytestconfig.rootpath / "autograder").rglob("*.[pthim]*")
        if path.suffix != ".pyc"
    ]

    assert len(names) > 30
    assert [path for path in files if of_course.search(path.read_text("utf-8"))] == []


def test_the_course_has_a_module_for_its_learners(other: Path):
    """A lab of the course draws points for the classifier with the course's own module."""
    x, groups = Lab(other / "assignments" / "03_a_line").course.points.two_groups(10)

    assert x.shape == (10, 2)
    assert groups.sum() == 5


@pytest.mark.slow
def test_a_mistake_with_arrays_is_named(other: Path):
    """The grade of a submission with NumPy names its mistake, without words about attention."""
    output = run(other, "autograder", "grade", "submitted/bob/clusters.py", "--stage", "02")

    assert "Each point gets the farthest center" in output
    assert not FOREIGN.search(output)


@pytest.mark.slow
def test_a_mistake_with_texts_is_named(other: Path):
    """The grade of a submission about texts names its mistake, and others keep their points."""
    output = run(other, "autograder", "grade", "submitted/ida/ciphers.py", "--stage", "04")

    assert "8.28 / 10" in output
    assert "Each letter moves backwards" in output
    assert "Right with our shifted in place of yours." in output


@pytest.mark.nightly  # a minute; above, the built files are compared with their sources
def test_the_course_holds(other: Path):
    """`verify` finds nothing."""
    assert run(other, "autograder", "verify", "--full").endswith("Everything holds.\n")
