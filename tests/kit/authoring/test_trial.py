"""Tests the list of explanations that were tried for a file, and how far each matched."""

from pathlib import Path

import pytest

from autograder.authoring.stage_verifier import diagnose_file
from autograder.course import Course
from tests.kit.factories import SOLUTION


@pytest.fixture
def lines(tiny: Course, tmp_path: Path, lent_fork_server, monkeypatch):
    """Diagnose a text as a student's file, and return the lines for the author."""
    monkeypatch.setattr(
        "autograder.authoring.stage_verifier.ForkServer", lambda *_arguments: lent_fork_server
    )

    def diagnose(text: str, course: Course = tiny) -> list[str]:
        path = tmp_path / "submitted.py"
        path.write_text(text)
        return list(diagnose_file(course, course.stages[0], path))

    return diagnose


def test_an_author_reads_how_far_an_explanation_matched(lines):
    """Each exercise has a line with its diagnosis, and below it a line for each explanation."""
    shown = lines(SOLUTION.replace("2 * x", "x * x"))

    assert shown[0] == "double: 5 points lost, named: squares"
    assert any(line.startswith("   2 of  2  squares: ") for line in shown)


def test_an_author_reads_why_a_mistake_is_not_named(lines):
    """A mistake with the same results that the source does not admit has its reason."""
    shown = lines(SOLUTION.replace("return x * self.factor", "return x - -self.factor"))

    assert any("not said, because the source lacks" in line for line in shown)


def test_a_right_exercise_has_no_explanation(lines):
    """No explanation is tried for an exercise that passes."""
    assert lines(SOLUTION) == ["double: 0 points lost, named: -", "Scale: 0 points lost, named: -"]


def test_a_kind_of_mistake_is_tried_as_well(lines):
    """If no misconception explains a mistake, a kind does, with its own sentence."""
    shown = lines(SOLUTION.replace("return x * self.factor", "return x + self.factor"))

    assert "Scale: 5 points lost, named: wrong_operation" in shown
