"""Tests that a cell's definitions replace those of a module, and that nothing else changes."""

import pytest

from autograder.errors import UsageError
from autograder.student.exercise_cell import is_same, parts_of, replaced_names, written

MODULE = '''"""A module."""

import torch

EPS = 1e-5  # small


# the first
def first(x):
    raise NotImplementedError


@torch.no_grad()
def second(x):
    raise NotImplementedError  # last line, without a line break'''
FIRST = "def first(x):\n    return x\n"
WITH_HELPER = "def half(x):\n    return x / 2\n\n\ndef first(x):\n    return half(x)\n"


def put(cell: str, exercise: str = "first", module: str = MODULE) -> str:
    """Return *module* after *cell* was written as *exercise*."""
    return written(module, parts_of(cell, exercise, {"first", "second"} - {exercise}), "m.py")


def test_a_definition_takes_the_place_of_the_old_one():
    """Only the lines of the old definition change."""
    assert put(FIRST) == MODULE.replace(
        "first(x):\n    raise NotImplementedError", "first(x):\n    return x"
    )


def test_decorators_belong_to_the_definition():
    """The decorators of the old definition go, and those of the new one come."""
    new = put("@torch.jit.ignore\ndef second(x):\n    return x", "second")

    assert new == MODULE.partition("@torch")[0] + "@torch.jit.ignore\ndef second(x):\n    return x"


@pytest.mark.parametrize(
    "module",
    [
        pytest.param(MODULE.replace("\n", "\r\n"), id="windows-line-breaks"),
        pytest.param(MODULE.replace("small", "small \x0c or \u2028 not"), id="other-breaks"),
        pytest.param(MODULE + "\n\n\n\n", id="empty-lines-at-the-end"),
        pytest.param("# coding: latin-1\n\n\n" + MODULE, id="comments-on-top"),
    ],
)
def test_the_rest_of_the_module_stays_as_it_is(module: str):
    """Line breaks, comments and unusual characters outside the definition stay."""
    end = "\r\n" if "\r" in module else "\n"
    old = f"def first(x):{end}    raise NotImplementedError{end}"

    assert put(FIRST, module=module) == module.replace(old, FIRST.replace("\n", end))


def test_a_new_helper_goes_before_the_exercise():
    """A helper that the module lacks is inserted before the exercise and its comment."""
    new = put(WITH_HELPER)

    assert "\n\n\ndef half(x):\n    return x / 2\n\n\n# the first\ndef first(x):" in new
    assert len(new.splitlines()) == len(MODULE.splitlines()) + 4


def test_a_cell_that_runs_again_changes_nothing():
    """Helpers, constants and imports are in the module once, however often the cell runs."""
    cell = "import math\nfrom torch import nn\n\nTWO = 2\n" + WITH_HELPER
    once = put(cell)

    assert put(cell, module=once) == once
    assert once.count("import math") == once.count("TWO = 2") == once.count("def half") == 1


def test_helpers_and_constants_replace_those_of_the_same_name():
    """A helper or a constant that the module has is replaced in its place."""
    changed = put("EPS = 3\n" + WITH_HELPER.replace("x / 2", "x / 4"), module=put(WITH_HELPER))

    assert "import torch\n\nEPS = 3\n\n\n" in changed
    assert changed.count("def half") == changed.count("x / 4") == 1
    assert "x / 2" not in changed


def test_imports_go_to_the_other_imports():
    """A new import follows the imports of the module; a future import comes first."""
    new = put("from __future__ import annotations\nimport math\n" + FIRST)

    assert '"""A module."""\nfrom __future__ import annotations\n\nimport torch\nimport math' in new
    compile(new, "m.py", "exec")


def test_an_exercise_that_the_module_lacks_is_added():
    """An exercise whose definition was deleted is added at the end."""
    without = MODULE.partition("\n\n\n@torch")[0]

    assert put("def second(x):\n    return x", "second", without) == (
        without + "\n\n\ndef second(x):\n    return x\n"
    )


def test_what_a_cell_prints_stays_out_of_the_module():
    """A statement that defines nothing is refused with its line in the cell."""
    with pytest.raises(UsageError, match="Line 5 of this cell defines nothing"):
        put(FIRST + "\nprint(first(2))")


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("def first(x)\n    return x", r"not valid Python \(line 2: expected ':'\)"),
        ("%timeit first(1)\n" + FIRST, "not valid Python"),
        ("", "does not define `first`"),
        ("# only a comment", "does not define `first`"),
        ("def frist(x):\n    return x", "defines `frist`: is the name right"),
        ("if True:\n    def first(x):\n        return x", "Line 2 of this cell defines nothing"),
        (FIRST + "def second(x):\n    return x", r"also defines `second` \(line 4\)"),
        (FIRST + "second = first", "also defines `second`"),
        (FIRST + "from torch import add as second", "also defines `second`"),
        (FIRST + FIRST, "defines `first` twice, in lines 2 and 4"),
        (FIRST + "A = 1; B = 2", "Line 4 of this cell holds two statements"),
        ("x = '\0'\n", "read as Python|not valid Python"),
    ],
)
def test_any_other_cell_is_refused_with_a_sentence(cell: str, reason: str):
    """A cell that can't be a part of the module is refused, and the reason names the line."""
    with pytest.raises(UsageError, match=reason):
        put(cell)


def test_a_module_that_python_cannot_read_is_not_changed():
    """If the module is not valid Python, the message names its line and a way out."""
    with pytest.raises(UsageError, match=r"m.py is not valid Python \(line 2\).*lab.reset"):
        put(FIRST, module="import torch\ndef first(x:\n")


def test_a_definition_that_the_module_overwrites_is_refused():
    """If the module sets the name again below, the cell would have no effect."""
    with pytest.raises(UsageError, match="sets `first` again, in the statement of line 16"):
        put(FIRST, module=MODULE + "\nif EPS:\n    first = second\n")


def test_the_last_of_two_definitions_is_replaced():
    """Python uses the last definition of a name, so that one is replaced."""
    new = put(FIRST, module=MODULE + "\n\n\ndef first(x):\n    return 1\n")

    assert new.endswith("def first(x):\n    return x\n")
    assert "# the first\ndef first(x):\n    raise" in new


def test_layout_and_comments_do_not_make_code_different():
    """Two definitions are the same if only their layout and comments differ."""
    assert is_same(FIRST, "x = 1\ndef first( x ):  # as before\n\n    return x\n", "first")
    assert not is_same(FIRST, MODULE, "first")
    assert not is_same(FIRST, FIRST, "second")


def test_the_replaced_names_are_those_that_the_module_defines():
    """Only what the module defines already is replaced."""
    assert replaced_names(MODULE, parts_of("EPS = 2\n" + WITH_HELPER, "first", ())) == [
        "EPS",
        "first",
    ]
