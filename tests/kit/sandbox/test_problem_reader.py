"""Tests that exceptions of student code become problems with kind, line and origin."""

import errno
import linecache

import pytest

from autograder.sandbox.protocol import MAX_NAMES, Problem
from autograder.sandbox.statements import FailedStatement, ProblemReader, statement_at

FILE = "own.py"


def raised_in(file: str, source: str) -> BaseException:
    """Return the exception of *source*, the content of *file*."""
    lines = source.splitlines(keepends=True)
    linecache.cache[file] = (len(source), None, lines, file)
    try:
        exec(compile(source, file, "exec"), {})  # noqa: S102  # the sources are in this file
    except Exception as error:  # noqa: BLE001  # every exception counts
        return error
    pytest.fail("nothing was raised")


def problem_of(source: str) -> Problem:
    """Return the problem of a student's file with *source*."""
    reader = ProblemReader()
    reader.files.add(FILE)
    return reader.describe(raised_in(FILE, source))


def test_the_innermost_line_of_the_file_is_quoted():
    """Lines of other files are not reported as lines of the student's code."""
    problem = problem_of("import math\nx = 1\nmath.sqrt(-x)\n")

    assert (problem.place, problem.line, problem.code) == (FILE, 3, "math.sqrt(-x)")


def test_an_exception_outside_of_the_file_has_no_line():
    """An exception outside of the student's file has no line."""
    problem = ProblemReader().describe(raised_in("other.py", "1 / 0\n"))

    assert (problem.place, problem.line) == ("", 0)


@pytest.mark.parametrize("module", ["pdb", "IPython.core.debugger", "IPython.terminal.embed"])
def test_a_debugger_that_can_not_start_is_named_as_one(module: str):
    """A debugger may fail before it waits for input, such as where its files are refused."""
    refused = "def set_trace(): open('/no/such/folder/README', 'w')\n"
    space: dict[str, object] = {"__name__": module}
    exec(compile(refused, "debugger.py", "exec"), space)  # noqa: S102  # the source is above
    linecache.cache[FILE] = (8, None, ["x = 1\n", "stop()\n"], FILE)
    reader = ProblemReader()
    reader.files.add(FILE)
    with pytest.raises(OSError, match="README") as caught:
        exec(compile("x = 1\nstop()\n", FILE, "exec"), {"stop": space["set_trace"]})  # noqa: S102  # the source is on this line
    problem = reader.describe(caught.value)

    assert (problem.type, problem.text, problem.line) == ("BdbQuit", "", 2)


@pytest.mark.parametrize(
    ("source", "refusal"),
    [
        pytest.param("raise RuntimeError('no')\n", True, id="raise"),
        pytest.param("assert 1 == 2\n", True, id="assert"),
        pytest.param("int('x')\n", True, id="value-error"),
        pytest.param("1 / 0\n", False, id="accident"),
    ],
)
def test_a_refusal_differs_from_an_accident(source: str, refusal: bool):  # noqa: FBT001  # a parameter of the test
    """Code refuses by ``raise``, ``assert`` or a ``ValueError``; other errors are accidents."""
    assert problem_of(source).refusal is refusal


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        pytest.param("raise NotImplementedError\n", "not-implemented", id="stub"),
        pytest.param("raise NotImplementedError(\n    'later'\n)\n", "not-implemented", id="text"),
        pytest.param("def f(): raise NotImplementedError\nf()\n", "not-implemented", id="one-line"),
        pytest.param(
            "try:\n    1 / 0\nexcept Exception as e:\n    raise NotImplementedError from e\n",
            "not-implemented",
            id="from",
        ),
        pytest.param(
            "import torch\ntorch.zeros(2, device='meta').tolist()\n", "raised", id="method-of-torch"
        ),
        pytest.param(
            "import torch\ntorch.zeros(2).to_sparse().softmax(0)\n",
            "raised",
            id="operator-of-torch",
        ),
        pytest.param("from torch import nn\nnn.Module()(1)\n", "raised", id="no-forward"),
        pytest.param("import io\nio.IOBase().seek(0)\n", "raised", id="standard-library"),
    ],
)
def test_only_the_students_own_raise_means_not_written(source: str, kind: str):
    """A NotImplementedError marks a stub only if a ``raise`` of the file itself raised it."""
    assert problem_of(source).kind == kind


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
def test_a_full_disk_has_its_own_kind(code: int):
    """A full private folder has its own kind of problem."""
    assert problem_of(f"raise OSError({code}, 'full')\n").kind == "out-of-disk"


def test_a_statement_that_failed_is_named_by_its_own_line():
    """A failed statement has its own line, even if the exception arose in a function below it."""
    source = "def f():\n    return 1 / 0\nx = f()\n"
    reader = ProblemReader()
    reader.files.add(FILE)
    failure = FailedStatement(raised_in(FILE, source), 3, ("x",))
    problem = reader.describe_statement(failure, FILE)

    assert problem.statement is not None
    assert (problem.statement.line, problem.line) == (3, 2)


def test_only_names_that_may_be_sent_are_kept():
    """The reader keeps a bounded number of names of bounded length."""
    names = ["x" * 81, *(f"n{number}" for number in range(99))]

    assert statement_at(FILE, 1, names).names == tuple(f"n{n}" for n in range(MAX_NAMES))
