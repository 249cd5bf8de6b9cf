"""Which explanations of a file's mistakes were tried, and how far each matched."""

from pathlib import Path

import pytest

from autograder.authoring.trial import diagnose_file, lines_of
from autograder.course import Course
from tests.factories import SOLUTION


@pytest.fixture
def lines(tiny: Course, tmp_path: Path, lent_fork_server, monkeypatch):
    """Diagnose a text as the file of a student; return what an author reads."""
    monkeypatch.setattr(
        "autograder.authoring.trial.ForkServer", lambda *_arguments: lent_fork_server
    )

    def diagnose(text: str) -> list[str]:
        path = tmp_path / "submitted.py"
        path.write_text(text)
        return lines_of(diagnose_file(tiny, tiny.stages[0], path))

    return diagnose


def test_an_author_reads_how_far_an_explanation_matched(lines):
    """Each exercise has a line with what is named, and one for each explanation below it."""
    shown = lines(SOLUTION.replace("2 * x", "x * x"))

    assert shown[0] == "double: 5 points lost, named: squares"
    assert any(line.startswith("   2 of  2  squares: ") for line in shown)


def test_a_right_exercise_has_no_explanation(lines):
    """Nothing is tried where nothing failed."""
    assert lines(SOLUTION) == ["double: 0 points lost, named: -", "Scale: 0 points lost, named: -"]


def test_a_kind_of_mistake_is_tried_as_well(lines):
    """What no misconception explains is explained by a kind, with its own sentence."""
    shown = lines(SOLUTION.replace("return x * self.factor", "return x + self.factor"))

    assert "Scale: 5 points lost, named: wrong_operation" in shown
