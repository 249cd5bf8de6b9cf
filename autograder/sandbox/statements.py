"""Runs a file or a notebook cell by statements, continues after exceptions, and describes them."""

import __future__

import ast
import builtins
import contextlib
import dis
import errno
import functools
import inspect
import linecache
import operator
import re
import traceback
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from types import CodeType, TracebackType
from typing import Final

from msgspec.structs import replace
from torch import nn

from autograder.errors import NO_MEMORY
from autograder.sandbox.notebook_magics import NAMES, SourceParts, bound_names
from autograder.sandbox.protocol import MAX_NAMES, MAX_TEXT, NAME, Problem, ProblemKind, Statement

# The compiler flags of imports such as ``from __future__ import annotations``.
FUTURES: Final = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_IMPORT = ast.Import | ast.ImportFrom
_POSTPONED: Final = __future__.annotations.compiler_flag


@dataclass(frozen=True)
class FailedStatement:
    """The statement in *line* that raised *error*, and the *names* that it would have bound.

    If *compiled* is false, the statement is not valid Python. Without an *error*, it was left out,
    because it reached a limit before. If *ran* is true, it ran without its annotations.
    """

    error: BaseException | None
    line: int
    names: tuple[str, ...]
    compiled: bool = True
    number: int = 0  # counted from 1 in all sources
    ran: bool = False


@dataclass(frozen=True)
class Rebinding:
    """A statement that binds the *name* of a class or function to a value that is neither."""

    name: str
    source: str
    line: int


class StatementRunner:
    """Runs sources in one namespace, and remembers the classes and functions that they define.

    *report* gets the number of each statement before it runs. The statements *left_out* don't run,
    and after the first of them only those run that the definitions of *sources* need.
    """

    def __init__(
        self,
        namespace: dict[str, object],
        report: Callable[[int], object] = lambda _number: None,
        left_out: Sequence[int] = (),
        sources: Sequence[SourceParts] = (),
    ) -> None:
        self._namespace = namespace
        self._namespace["__builtins__"] = {**vars(builtins), **NAMES}
        self._report = report
        self._left_out = left_out
        self._needed = needed_names([one.tree for one in sources]) if left_out else frozenset()
        self._number = 0
        self._flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # notebooks have it
        self._bound_at: dict[str, tuple[str, int]] = {}
        self._lacking: set[str] = set()  # the names that packages should define which are missing
        self.definitions: dict[str, object] = {}

    def run(self, parts: SourceParts, source: str) -> Iterator[FailedStatement]:
        """Run the statements of *source*; yield each one that fails."""
        tree = parts.tree
        self._flags |= self._futures(tree, source)
        for part in parts.broken:
            yield FailedStatement(part.error, part.line, part.names, compiled=False)
        for index, statement in enumerate(tree.body):
            value = statement.value if isinstance(statement, ast.Expr) else None
            if index and isinstance(value, ast.Constant):
                continue  # compiled alone, a string would become the module's docstring
            self._number += 1
            if self._number in self._left_out:
                names = tuple(bound_names(statement))
                yield FailedStatement(None, statement.lineno, names, number=self._number)
                continue
            is_before = all(self._number < other for other in self._left_out)
            if is_before or is_needed(statement, self._needed):
                yield from filter(None, [self._execute(statement, source)])

    def rebindings(self) -> Iterator[Rebinding]:
        """Yield the definitions whose names are now bound to other values."""
        for name in self.definitions:
            if name in self._namespace and not is_definition(self._namespace[name]):
                yield Rebinding(name, *self._bound_at[name])

    def _futures(self, tree: ast.Module, source: str) -> int:
        imports = [item for item in tree.body if isinstance(item, ast.ImportFrom)]
        futures: list[ast.stmt] = [item for item in imports if item.module == "__future__"]
        try:
            code = _compiled(ast.Module(futures, []), source, self._flags)
        except SyntaxError:  # an unknown feature; the statement fails later
            return 0
        return int(code.co_flags & FUTURES)

    def _execute(self, statement: ast.stmt, source: str) -> FailedStatement | None:
        """Run *statement*, without decorators of missing packages or failing annotations."""
        names = bound_names(statement)
        before = {name: self._namespace.get(name) for name in names}
        self._report(self._number)
        flags = self._flags
        if self._lacking and isinstance(statement, _DEFINITION):
            _drop_decorators(statement, self._lacking)
            if self._lacking.intersection(_annotation_names(statement)):
                flags |= _POSTPONED
        raised, ran = self._raised(statement, source, flags), False
        if raised is not None and isinstance(statement, _DEFINITION | ast.AnnAssign):
            ran = self._raised(statement, source, flags | _POSTPONED) is None
        if isinstance(raised, ModuleNotFoundError):
            self._lacking.update(names)
        for name, line in names.items():
            value = self._namespace.get(name)
            if value is not before[name]:
                self._bound_at[name] = source, line
                if isinstance(statement, _DEFINITION) and is_definition(value):
                    self.definitions[name] = value
        if raised is None:
            return None
        number = self._number
        return FailedStatement(raised, statement.lineno, tuple(names), number=number, ran=ran)

    def _raised(self, statement: ast.stmt, source: str, flags: int) -> BaseException | None:
        try:
            code = _compiled(ast.Module([statement], []), source, flags)
            result = eval(code, self._namespace)  # noqa: S307  # running it is this class's purpose
            if code.co_flags & inspect.CO_COROUTINE:
                with contextlib.suppress(StopIteration):  # an event loop would need a socket
                    while True:
                        result.send(None)
        except BaseException as error:  # noqa: BLE001  # also sys.exit()
            return error
        return None


def _compiled(tree: ast.Module, source: str, flags: int) -> CodeType:
    code: CodeType = compile(tree, source, "exec", flags, dont_inherit=True)
    return code


def _drop_decorators(statement: ast.stmt, lacking: Collection[str]) -> None:
    for node in ast.walk(statement):
        if isinstance(node, _DEFINITION):
            found = node.decorator_list
            node.decorator_list = [one for one in found if _first_name(one) not in lacking]


def _first_name(node: ast.expr) -> str:
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _annotation_names(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        noted = (getattr(node, field, None) for field in ("annotation", "returns"))
        for annotation in filter(None, noted):
            yield from (one.id for one in ast.walk(annotation) if isinstance(one, ast.Name))


def needed_names(trees: Sequence[ast.Module]) -> frozenset[str]:
    """Return the names that the definitions in *trees* use, and the values of these names."""
    statements = [statement for tree in trees for statement in tree.body]
    needed: set[str] = set()
    reading: list[ast.stmt] = [one for one in statements if isinstance(one, _DEFINITION)]
    while reading:
        read = (node for one in reading for node in ast.walk(one))
        new = {node.id for node in read if isinstance(node, ast.Name)} - needed
        needed |= new
        reading = [one for one in statements if new.intersection(bound_names(one))]
    return frozenset(needed)


def is_needed(statement: ast.stmt, names: Collection[str]) -> bool:
    """Whether *statement* defines or changes something, or is quick, or binds one of *names*."""
    nodes = [*ast.walk(statement)]
    if any(isinstance(node, _DEFINITION | _IMPORT) for node in nodes):
        return True
    if isinstance(statement, ast.Assign | ast.AnnAssign) and not any(
        isinstance(node, ast.Call | ast.comprehension) for node in nodes
    ):
        return True
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
        return True
    return any(name in names for name in bound_names(statement))


def is_definition(value: object) -> bool:
    """Whether *value* can be called as a class or a function; an instance of a layer can't."""
    return callable(value) and not isinstance(value, nn.Module)


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
    """Whether a ``raise`` or ``assert`` in *files* raised *error*, and no operator of torch."""
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
