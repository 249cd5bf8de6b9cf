"""Describes exceptions of student code: the kind of problem and its line."""

import contextlib
import dis
import errno
import linecache
import re
import traceback
from collections.abc import Container, Iterable
from itertools import islice
from types import TracebackType

from msgspec.structs import replace

from autograder.errors import NO_MEMORY
from autograder.sandbox.protocol import MAX_NAMES, MAX_TEXT, NAME, Problem, ProblemKind, Statement
from autograder.sandbox.statements import FailedStatement

RAISES = dis.opmap["RAISE_VARARGS"]  # of `raise` and `assert`
DEBUGGERS = ("pdb", "bdb", "ipdb", "pudb", "IPython.core.debugger", "IPython.terminal")
DISK_FULL = (errno.ENOSPC, errno.EFBIG)  # the private folder is full, or one file is too large


class ProblemReader:
    """Describes exceptions of the student's code, with their lines in *files*."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def describe(self, error: BaseException) -> Problem:
        """Describe *error*, which a request has raised."""
        with contextlib.suppress(BaseException):  # reading a student's exception may raise one
            return self._describe(error)
        kind: ProblemKind = "out-of-memory" if isinstance(error, MemoryError) else "raised"
        return Problem(kind=kind, type="an exception that can't be shown")

    def describe_statement(self, failure: FailedStatement, label: str) -> Problem:
        """Describe a statement of the file *label* that failed when it was imported."""
        line = failure.line
        if failure.error is None:
            statement = statement_at(label, line, failure.names, failure.number)
            return Problem(kind="left-out", statement=statement)
        problem = self.describe(failure.error)
        with contextlib.suppress(BaseException):  # reading a student's exception may raise one
            line = self._lines(failure.error.__traceback__)[0][1]
        statement = statement_at(label, line, failure.names, failure.number)
        kind = problem.kind if failure.compiled else "not-compiled"
        return replace(problem, kind="annotation" if failure.ran else kind, statement=statement)

    def _describe(self, error: BaseException) -> Problem:
        text = _text(error)
        place, line = [("", 0), *self._lines(error.__traceback__)][-1]
        if isinstance(error, SyntaxError) and error.filename in self.files:
            place, line, text = error.filename or "", error.lineno or 0, error.msg or text
        raised_here = is_raised_in(self.files, error)
        name = type(error).__name__[:80]
        if _is_in_debugger(error.__traceback__):  # it may fail before it waits for input
            name, text = "BdbQuit", ""
        return Problem(
            kind=_kind(error, text, raised_here=raised_here),
            type=name,
            text=text[:MAX_TEXT],
            place=place,
            line=line,
            code=linecache.getline(place, line).strip()[:200],
            refusal=isinstance(error, ValueError) or raised_here,
        )

    def _lines(self, trace: TracebackType | None) -> list[tuple[str, int]]:
        """List the lines of the student's own file in *trace*, the outermost first."""
        frames = traceback.walk_tb(trace)
        places = [(frame.f_code.co_filename, line or 0) for frame, line in frames]
        return [place for place in places if place[0] in self.files]


def is_raised_in(files: Container[str], error: BaseException) -> bool:
    """Whether a ``raise`` or ``assert`` in one of *files* raised *error*.

    An operator or a method of torch has no frame, but its instruction is not a ``raise``.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename not in files:
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == RAISES


def statement_at(place: str, line: int, names: Iterable[str], number: int = 0) -> Statement:
    """Return the statement at *line*, with those of its *names* that may be sent."""
    known = (name for name in names if re.search(NAME, name))
    return Statement(place, line, tuple(islice(known, MAX_NAMES)), number)


def _is_in_debugger(trace: TracebackType | None) -> bool:
    """Whether a debugger, or an interactive shell in the code, has started."""
    names = (frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(trace))
    return any(str(name).startswith(DEBUGGERS) for name in names)


def _kind(error: BaseException, text: str, *, raised_here: bool) -> ProblemKind:
    if isinstance(error, NotImplementedError) and raised_here:  # torch raises this error too
        return "not-implemented"
    if isinstance(error, MemoryError) or any(words in text for words in NO_MEMORY):
        return "out-of-memory"
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return "out-of-disk"
    return "raised"


def _text(error: BaseException) -> str:
    with contextlib.suppress(BaseException):  # a student's __str__ may raise anything
        text = str(error)
        if type(text) is str:
            return text[:MAX_TEXT].encode("utf-8", "replace").decode()  # replaces lone surrogates
    return ""
