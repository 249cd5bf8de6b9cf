"""Runs a file or a notebook cell statement by statement, and continues after an exception."""

import __future__

import ast
import functools
import operator
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Final

from torch import nn

from autograder.sandbox.source_parts import SourceParts, read_parts

# The compiler flags of imports such as ``from __future__ import annotations``.
FUTURES: Final = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_SCOPE = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class FailedStatement:
    """The statement in *line* that raised *error*, and the *names* that it would have bound.

    If *compiled* is false, the statement is not valid Python.
    """

    error: BaseException
    line: int
    names: tuple[str, ...]
    compiled: bool = True


@dataclass(frozen=True)
class Rebinding:
    """A statement that binds the *name* of a class or function to a value that is neither."""

    name: str
    source: str
    line: int


class StatementRunner:
    """Runs sources in one namespace, and remembers the classes and functions that they define."""

    def __init__(self, namespace: dict[str, object]) -> None:
        self._namespace = namespace
        self._flags = 0
        self._bound_at: dict[str, tuple[str, int]] = {}
        self.definitions: dict[str, object] = {}

    def run(
        self, text: bytes, source: str, parts: SourceParts | None = None
    ) -> Iterator[FailedStatement]:
        """Run *text*, which tracebacks call *source*; yield each statement that fails.

        *parts* are those of *text* if it is already parsed.
        """
        parts = parts or read_parts(text, source)
        tree = parts.tree
        self._flags |= self._futures(tree, source)
        for part in parts.broken:
            yield FailedStatement(part.error, part.line, part.names, compiled=False)
        for index, statement in enumerate(tree.body):
            if index and _is_constant(statement):
                continue  # compiled alone, a string would become the module's docstring
            names = bound_names(statement)
            raised = self._execute(statement, names, source)
            if raised is not None:
                yield FailedStatement(raised, statement.lineno, tuple(names))

    def rebindings(self) -> Iterator[Rebinding]:
        """Yield the definitions whose names are now bound to other values."""
        for name in self.definitions:
            if name in self._namespace and not is_definition(self._namespace[name]):
                yield Rebinding(name, *self._bound_at[name])

    def _futures(self, tree: ast.Module, source: str) -> int:
        """Return the compiler flags that *tree* sets."""
        imports = [item for item in tree.body if isinstance(item, ast.ImportFrom)]
        futures: list[ast.stmt] = [item for item in imports if item.module == "__future__"]
        try:
            flags: int = self._compile(ast.Module(futures, []), source).co_flags & FUTURES
        except SyntaxError:  # an unknown feature; the statement fails later
            return 0
        return flags

    def _compile(self, tree: ast.Module, source: str) -> CodeType:
        code: CodeType = compile(tree, source, "exec", self._flags, dont_inherit=True)
        return code

    def _execute(
        self, statement: ast.stmt, names: dict[str, int], source: str
    ) -> BaseException | None:
        before = {name: self._namespace.get(name) for name in names}
        raised = None
        try:
            code = self._compile(ast.Module([statement], []), source)
            exec(code, self._namespace)  # noqa: S102  # running it is this class's purpose
        except BaseException as error:  # noqa: BLE001  # also sys.exit()
            raised = error
        for name, line in names.items():
            value = self._namespace.get(name)
            if value is not before[name]:
                self._bound_at[name] = source, line
                if isinstance(statement, _DEFINITION) and is_definition(value):
                    self.definitions[name] = value
        return raised


def is_definition(value: object) -> bool:
    """Whether *value* can be called as a class or a function; an instance of a layer can't."""
    return callable(value) and not isinstance(value, nn.Module)


def bound_names(statement: ast.stmt) -> dict[str, int]:
    """Map the module-level names that *statement* binds to their lines."""
    found: dict[str, int] = {}
    waiting: deque[ast.AST] = deque([statement])
    while waiting:  # a recursive function would fail on a long sum
        node = waiting.popleft()
        if isinstance(node, _DEFINITION):
            found[node.name] = node.lineno
        elif isinstance(node, ast.alias):
            found[node.asname or node.name.partition(".")[0]] = node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = node.lineno
        elif not isinstance(node, _SCOPE):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
