"""Tests the remark on syntax that a grader with the oldest Python can't read."""

import tomllib

import pytest

from autograder.student import check
from autograder.student.check import OLDEST, newer_syntax
from tests.kit.factories import ROOT


@pytest.fixture
def oldest(monkeypatch: pytest.MonkeyPatch):
    """Let the oldest Python be 3.7, so that this one is newer on every machine."""
    monkeypatch.setattr(check, "OLDEST", (3, 7))


@pytest.mark.usefixtures("oldest")
def test_newer_syntax_is_named_by_its_line():
    """The sentence names the place, both versions, and the next step."""
    [module] = newer_syntax([b"x = 1\nif (y := x): pass\n"], notebook=False)
    [cell] = newer_syntax([b"x = 1", b"%time\nif (y := 2): pass"], notebook=True)

    assert module.startswith("line 2 needs a newer Python than 3.7.")
    assert cell.startswith("cell 2, line 2 needs a newer Python than 3.7.")


@pytest.mark.usefixtures("oldest")
@pytest.mark.parametrize("text", ["x = 1\n", "%time\nx = f'{1}'", "match (:\n", "x = '\0'", "\0"])
def test_other_code_yields_nothing(text: str):
    """Older syntax needs no remark, and code that is not valid here has its own message."""
    assert list(newer_syntax([text.encode()], notebook=True)) == []


def test_the_oldest_python_is_that_of_the_kit():
    """The remark is about the oldest Python that installs the kit."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert project["requires-python"] == f">={OLDEST[0]}.{OLDEST[1]}"


@pytest.mark.parametrize(
    ("tokens", "is_newer"),
    [
        pytest.param('f" STRING:"q" "', True, id="same-quotes"),
        pytest.param("f\" STRING:'q' \"", False, id="other-quotes"),
        pytest.param('f""" STRING:"q" """', False, id="single-in-triple"),
        pytest.param('f" STRING:"""q""" "', True, id="triple-in-single"),
        pytest.param("f' f\" STRING:'q' \" '", False, id="third-level"),
        pytest.param("f' STRING:\"\\n\" '", True, id="backslash"),
        pytest.param("f' COMMENT:#x '", True, id="comment"),
        pytest.param('STRING:"a" STRING:"b"', False, id="plain-strings"),
    ],
)
def test_an_f_string_with_its_own_quotes_inside_is_newer(tokens: str, is_newer: bool):  # noqa: FBT001  # a parameter of the test
    """Python 3.12 is the first that splits an f-string into such tokens."""
    found = []
    for word in tokens.split():
        kind, _, text = word.rpartition(":")
        is_start = text.startswith("f")
        found.append((kind or ("FSTRING_START" if is_start else "FSTRING_END"), text, 4))

    assert check._quotes_line(found) == (4 if is_newer else 0)
