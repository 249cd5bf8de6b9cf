"""Tests the warnings of `nbgrader generate_feedback` about premature pages."""

from pathlib import Path

import pytest

from autograder.course import Course
from tests.kit.commands import run
from tests.kit.factories import CONFIG, STAGE, Made, StudentWork, WriteBook, WriteLab, query


@pytest.fixture(autouse=True)
def configured(course: Course) -> None:
    """Configure nbgrader as the course does."""
    (course.root / "nbgrader_config.py").write_text(CONFIG, "utf-8")


def generate(root: Path) -> list[str]:
    """Generate the feedback; return the warnings about students."""
    output = run(root, "nbgrader", "generate_feedback", STAGE, "--force")
    return [line for line in output.splitlines() if "WARNING" in line and f", {STAGE}: " in line]


def test_answers_that_wait_are_named(
    course: Course, write: WriteBook, graded: Made, work: StudentWork, answered
):
    """Answers that wait to be graded by hand are reported; the page shows no points for them."""
    write(graded("ada"), graded("bob"), ada=work(lab=answered(why="Since x + x.")))
    early = generate(course.root)
    query(course.root, "update grade set manual_score = 2 where auto_score is null")

    assert len(early) == 1
    assert f"ada, {STAGE}: not graded by hand yet, so the page shows 0 points: why." in early[0]
    assert generate(course.root) == []


def test_grades_by_other_points_are_named(
    course: Course, write: WriteBook, graded: Made, write_lab: WriteLab
):
    """A grade with the points of an older suite is reported."""
    write(graded("ada"))
    write_lab(points={"double": 8.0, "Scale": 5.0})
    write(graded("bob"))
    warnings = [line for line in generate(course.root) if "ada" in line]

    assert len(warnings) == 1
    assert "graded with different points for double. Grade" in warnings[0]
