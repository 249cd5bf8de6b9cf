"""Tests removing magics from notebook cells."""

import pytest

from autograder.sandbox.notebook_magics import strip_magics


def plain(cell: str) -> str:
    """Strip the magics of one notebook cell."""
    return strip_magics((cell.encode(),), notebook=True)[0].decode()


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        pytest.param("%matplotlib inline\nx = 1\n", "\nx = 1\n", id="line-magic"),
        pytest.param("!ls\nx = 1\n", "\nx = 1\n", id="shell"),
        pytest.param("!pip install torch", "\n", id="shell-alone"),
        pytest.param("help?\nx = 1\n", "\nx = 1\n", id="help-after"),
        pytest.param("?help\nx = 1\n", "\nx = 1\n", id="help-before"),
        pytest.param("%%time\nx = 1\n", "\nx = 1\n", id="timed-cell"),
        pytest.param("\n%%capture out\nx = 1\n", "\n\nx = 1\n", id="captured-cell"),
        pytest.param("%%bash\nrm -r x\n", "", id="bash-cell"),
        pytest.param("%%writefile tiny.py\ndef f(): ...\n", "", id="writefile-cell"),
        pytest.param(
            "if True:\n    %time f()\n", "if True:\n    pass\n", id="magic-in-an-indented-block"
        ),
        pytest.param("%load_ext autoreload\r\nx = 1\r\n", "\nx = 1\r\n", id="windows-line-ends"),
    ],
)
def test_magics_and_shell_lines_are_removed(cell: str, python: str):
    """Magics and shell lines become empty lines; the other lines keep their numbers."""
    assert plain(cell) == python


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param("x = (a\n% b)\n", id="percent-continues-an-expression"),
        pytest.param('"""\n%matplotlib inline\n!ls\n"""\n', id="magic-in-a-string"),
        pytest.param("x = 1  # really?\n", id="question-in-a-comment"),
        pytest.param("", id="empty"),
    ],
)
def test_a_cell_that_is_python_stays_as_it_is(cell: str):
    """A cell that compiles is never changed."""
    assert plain(cell) == cell


def test_a_cell_that_is_neither_keeps_its_own_error():
    """A syntax error stays, so that it is reported on its line."""
    assert plain("%time\ndef f(:\n") == "\ndef f(:\n"


def test_a_module_stays_as_it_is():
    """A magic in a .py file stays a mistake."""
    assert strip_magics((b"%time\n",), notebook=False) == (b"%time\n",)
