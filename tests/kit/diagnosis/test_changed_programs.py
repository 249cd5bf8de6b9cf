"""Right programs with the mistake of another program in them."""

from pathlib import Path

import pytest

from autograder.diagnosis.changed_programs import with_mistakes
from autograder.errors import CourseError
from tests.factories import SOLUTION
from tests.kit.diagnosis.conftest import SQUARES


def test_a_right_program_gets_the_mistake_of_the_solution(tmp_path: Path):
    """The wrong definition replaces the program's own; imports come along, demos do not."""
    path = tmp_path / "variant.py"
    path.write_text('print("demo")\n\ndef double(y):\n    return y + y\n\nhalf = 0.5\n', "utf-8")
    text = with_mistakes(path, [SQUARES], SOLUTION)

    assert "return x ** 2" in text
    assert "import torch" in text
    assert "half = 0.5" in text
    assert "y + y" not in text
    assert "demo" not in text
    assert "Scale" not in text


def test_a_program_without_the_exercise_cannot_have_its_mistake(tmp_path: Path):
    """A lambda, say, has no definition to replace."""
    path = tmp_path / "variant.py"
    path.write_text("double = lambda x: 2 * x\n", "utf-8")

    with pytest.raises(CourseError, match="does not define double"):
        with_mistakes(path, [SQUARES], SOLUTION)
