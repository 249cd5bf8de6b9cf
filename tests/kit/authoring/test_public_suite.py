"""Tests building the public suite of a stage from the text of its hidden suite."""

import ast
from pathlib import Path

import pytest

from autograder.authoring import public_suite
from autograder.errors import CourseError

SUITE = '''
"""Hidden suite."""

import math

import torch

from autograder.suite.checks import check
from autograder.suite.compare import agrees, tensor_like

BY_HEART = "a table of the public sizes would be right"
SIZES = ((3, 2),)  # a comment that belongs to the sizes
TRAPS = (math.inf,)
DOUBLE = "double"


def traps():
    """Return what no student may know."""
    return TRAPS


@check(DOUBLE, points=2, layer="probe", rules=("dtype",))
def test_doubles(student, twice):
    """Twice is right."""
    for size in SIZES:
        agrees(student.call("double", torch.ones(size)), twice(size))


@check("double", points=1, layer="probe", hidden=BY_HEART, rules=("dtype", "refuses"))
def test_traps(student):
    """Traps are right."""
    for size in traps():
        tensor_like(student.call("double", size), size)


@check("Scale", points=2, rules=("dtype",))
def test_scales(student):
    """A factor scales."""
    student.new("Scale")
'''
CONFTEST = '''
import pytest


@pytest.fixture
def twice(reference):
    """Return a function that doubles."""
    return lambda size: reference.call("double", size)


@pytest.fixture
def unused():
    """Return nothing."""
'''


@pytest.fixture
def built() -> str:
    """The public suite of ``SUITE``."""
    return public_suite.build(SUITE, CONFTEST, "test_tiny.py")


def functions(text: str) -> list[str]:
    """List the functions of a suite, in their order."""
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def test_a_hidden_check_is_not_built(built: str):
    """The public suite has no hidden check, and no helper, constant or import of one."""
    for word in ("test_traps", "traps", "TRAPS", "BY_HEART", "math", "tensor_like", "hidden="):
        assert word not in built


def test_public_checks_are_built_with_what_they_use(built: str):
    """Fixtures of conftest.py that a check uses are there, others are not."""
    assert functions(built) == ["twice", "test_doubles", "test_scales"]
    assert "SIZES = ((3, 2),)  # a comment that belongs to the sizes\n" in built
    assert "import pytest\nimport torch\n" in built


def test_checks_stand_below_their_exercise(built: str):
    """Checks are below a comment with their exercise, even if a constant holds its name."""
    assert built.index("# double\n") < built.index("def test_doubles")
    assert built.index("# Scale\n") < built.index("def test_scales")


def test_a_suite_whose_checks_are_all_hidden_is_refused():
    """A suite with only hidden checks is refused, because students could run nothing."""
    text = SUITE.replace("hidden=BY_HEART, ", "").replace("rules=", "hidden=BY_HEART, rules=")

    with pytest.raises(CourseError, match=r"test_tiny\.py has no check that students receive"):
        public_suite.build(text, CONFTEST, "test_tiny.py")


@pytest.mark.parametrize(
    ("suite", "conftest", "place"),
    [
        pytest.param("def broken(\n", "", r"test_tiny\.py:1: ", id="suite"),
        pytest.param(SUITE, "\n\ndef broken(\n", r"conftest\.py:3: ", id="conftest"),
    ],
)
def test_a_syntax_error_has_its_place(suite: str, conftest: str, place: str):
    """A syntax error is reported with the file and the line."""
    with pytest.raises(CourseError, match=place):
        public_suite.build(suite, conftest, "test_tiny.py")


def test_rules_are_listed_with_their_exercises():
    """The rules of hidden checks are listed too, because they cost points."""
    assert public_suite.rules_of(SUITE) == {"dtype": ["double", "Scale"], "refuses": ["double"]}


def test_every_kind_of_import_is_copied():
    """An import counts by the name that it binds, and keeps the form that the author wrote."""
    imports = """
import numpy as np
import torch.nn.functional
import torch.nn.functional as F
import unused as np_unused
from torch import nn as layers
"""
    suite = (
        imports
        + '''
from autograder.suite.checks import check

@check("f", points=1)
def test_f(student):
    """It works."""
    np.ones(2), torch.nn.functional.relu, F.relu, layers.ReLU
'''
    )
    text = public_suite.build(suite, "", "test_f.py")

    for line in imports.strip().splitlines():
        assert (line in text) is ("unused" not in line)
    ast.parse(text)


@pytest.fixture
def hidden_suite(tmp_path: Path) -> Path:
    """The path of a hidden suite whose course has one list of ready-made functions."""
    (tmp_path / "ready_made.toml").write_text('sums = ["sum", "cumsum"]\n')
    return tmp_path / "01_sums" / "test_sums.py"


def test_lists_of_ready_made_functions_are_written_out(hidden_suite: Path):
    """Students do not have the file with the lists, so the public suite contains the names."""
    written = public_suite.write_out_lists('SUMS = ready_made(__file__, "sums")\n', hidden_suite)

    assert "".join(written.split()) == 'SUMS=frozenset({"cumsum","sum",})'


def test_a_list_in_another_form_is_refused():
    """A name that only a run could tell can't be written out."""
    suite = SUITE.replace("SIZES = (", 'SIZES = ready_made(__file__, "su" + "ms"), (')
    with pytest.raises(CourseError, match="name a list with a constant"):
        public_suite.build(suite, CONFTEST, "test_double.py")
