"""Tests putting the mistake of one program into a different, correct program."""

from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.diagnosis.changed_programs import NONSENSE, change, with_mistakes
from autograder.errors import CourseError
from tests.kit.diagnosis.conftest import SQUARES
from tests.kit.factories import SOLUTION


def test_a_right_program_gets_the_mistake_of_the_solution(tmp_path: Path):
    """The wrong definition replaces the program's own, with its imports but without demos."""
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
    """A program without the definition, such as a lambda, cannot get the mistake."""
    path = tmp_path / "variant.py"
    path.write_text("double = lambda x: 2 * x\n", "utf-8")

    with pytest.raises(CourseError, match="does not define double"):
        with_mistakes(path, [SQUARES], SOLUTION)


def test_nonsense_replaces_every_tensor_of_a_tuple():
    """Nonsense keeps the shape of each tensor, changes its numbers, and keeps other values."""
    scope: dict[str, Any] = {}
    source = "def parts(x):\n    return x.cos(), x.sin(), 'name'\n" + change("parts", NONSENSE)
    exec(source, scope)  # noqa: S102 - the source is the line above
    x = torch.linspace(0, 3, 4)

    cos, sin, name = scope["parts"](x)

    assert cos.shape == sin.shape == x.shape
    assert not torch.allclose(cos, x.cos())
    assert not torch.allclose(sin, x.sin())
    assert name == "name"


def test_nonsense_replaces_numpy_arrays():
    """An array keeps its shape and dtype, and gets numbers without meaning."""
    source = "import numpy\n\ndef double(x):\n    return 2 * x\n" + change("double", NONSENSE)
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102  # source written in this repository
    given = scope["numpy"].ones((2, 3), "float32")
    changed = scope["double"](given)

    assert (changed.shape, changed.dtype) == (given.shape, given.dtype)
    assert not (changed == 2 * given).all()
