"""Tests which exercises an exercise uses, and their definitions of the solution."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.grading.neighbours import Neighbours
from autograder.suite.checks import CheckSpec, CollectedCheck, Layer

SOLUTION = '''
import math
from __future__ import annotations

LIMIT = 3

def _half(x):
    """Return half of x."""
    return x / 2

def first(x):
    return min(_half(x), LIMIT)

def second(x):
    return first(x) + 1

def third(x):
    return second(x) * math.pi

def alone(x):
    return third
'''


@pytest.fixture
def neighbours(tmp_path: Path):
    """The neighbours in the solution, with a variant in which `alone` uses `first`."""
    solution, variant = tmp_path / "solution.py", tmp_path / "variant.py"
    solution.write_text(SOLUTION.replace("from __future__ import annotations\n", ""), "utf-8")
    variant.write_text(
        "def first(x):\n    return alone(x)\n\ndef alone(x):\n    return x\n", "utf-8"
    )
    names = [SimpleNamespace(name=name) for name in ("first", "second", "third", "alone")]
    spec = CheckSpec("alone", 1.0, Layer.PROBE, ("first",))
    check = CollectedCheck(SimpleNamespace(name="check"), spec)
    return Neighbours(
        SimpleNamespace(exercises=names, solution=solution, variants=(variant,)), [check]
    )


def test_an_exercise_uses_what_its_neighbours_use(neighbours):
    """An exercise uses exercises directly and through others, in the order of the stage."""
    assert neighbours.of("third") == ["first", "second"]


def test_an_exercise_uses_only_earlier_ones(neighbours):
    """`first` of a variant calls a later exercise, which would be a cycle."""
    assert neighbours.of("first") == []


def test_what_a_check_needs_is_used(neighbours):
    """A check of `alone` passes `first` to it."""
    assert "first" in neighbours.of("alone")


def test_the_code_brings_its_helpers_and_replaces_none(neighbours):
    """The definitions bring helpers, imports and constants, and bind only the exercises."""
    space = {"_half": "a helper of the student's"}
    exec(neighbours.code(["first", "third"]), space)  # noqa: S102  # written above
    space["second"] = space["first"]

    assert (space["first"](4), space["_half"]) == (2, "a helper of the student's")
    assert space["third"](4) == pytest.approx(2 * 3.14159265)


def test_subclasses_inherit_from_the_right_class(tmp_path: Path):
    """A class of the student's that inherits from a wrong one gets the right one as its base."""
    solution = tmp_path / "solution.py"
    solution.write_text("class Base:\n    def two(self):\n        return 2\n", "utf-8")
    stage = SimpleNamespace(
        exercises=[SimpleNamespace(name="Base")], solution=solution, variants=()
    )
    space: dict[str, type] = {}
    wrong = "class Base:\n    def two(self):\n        return 3\nclass Own(Base): pass\n"
    exec(wrong, space)  # noqa: S102  # written above
    exec(Neighbours(stage, []).code(["Base"]), space)  # noqa: S102

    assert space["Own"]().two() == 2
    assert space["Own"].__bases__ == (space["Base"],)
