"""Notebook cells as plain Python."""

import pytest

from autograder.sandbox.magics import compile_cells


def plain(cell: str) -> str:
    """*cell* of a notebook, as Python."""
    return compile_cells((cell.encode(),), notebook=True)[0].decode()


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
        pytest.param("%%writefile tiny.py\ndef f(): ...\n", "", id="written-file"),
        pytest.param(
            "if True:\n    %time f()\n", "if True:\n    pass\n", id="magic-in-an-indented-block"
        ),
        pytest.param("%load_ext autoreload\r\nx = 1\r\n", "\nx = 1\r\n", id="windows-line-ends"),
    ],
)
def test_what_only_ipython_understands_is_taken_out(cell: str, python: str):
    """Magics and shell lines say nothing; the lines of the rest keep their numbers."""
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
def test_a_cell_that_is_python_is_left_as_it_is(cell: str):
    """What compiles is never touched."""
    assert plain(cell) == cell


def test_a_cell_that_is_neither_keeps_its_own_error():
    """A real mistake stays to be reported on its line."""
    assert plain("%time\ndef f(:\n") == "\ndef f(:\n"


def test_a_module_is_left_untouched():
    """In a .py file a magic is a mistake."""
    assert compile_cells((b"%time\n",), notebook=False) == (b"%time\n",)
