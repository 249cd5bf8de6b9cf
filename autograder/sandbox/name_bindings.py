"""Lists the names that the statements of a student's module bind, with the code that binds them."""

import ast
import copy
import dis
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from autograder.sandbox.bytecode_names import BIND, STAR, all_code, imports, is_function, operations

DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CALLABLE = (*DEFINITION, ast.Name, ast.Attribute, ast.Lambda)  # may be a function or a class
_DISPLAY = (ast.Tuple, ast.List)
_STORE_GLOBAL = dis.opmap["STORE_GLOBAL"]


class Binding(NamedTuple):
    """A name of the module, and the *code* of the statement or expression *node* that binds it.

    For an import, *imported* is the dotted name. *is_nested* is true if the statement may not run,
    or may run later.
    """

    name: str
    line: int
    node: ast.stmt | ast.expr
    code: CodeType
    imported: str = ""
    is_nested: bool = False

    @property
    def is_callable(self) -> bool:
        """Whether the name may refer to a function or class and not to a value."""
        return bool(self.imported) or isinstance(self.node, _CALLABLE)


def compiled(node: ast.stmt | ast.expr) -> CodeType:
    """Compile a statement or an expression."""
    tree = ast.Expression(node) if isinstance(node, ast.expr) else ast.Module([node], [])
    mode = "eval" if isinstance(node, ast.expr) else "exec"
    code: CodeType = compile(tree, "", mode, dont_inherit=True)
    return _with_short_constants(code)


def _with_short_constants(code: CodeType) -> CodeType:
    """Replace constants that ``dis`` can't show, such as a number of 5,000 digits, by ``None``."""
    return code.replace(co_consts=tuple(map(_short_constant, code.co_consts)))


def _short_constant(value: object) -> object:
    if isinstance(value, CodeType):
        return _with_short_constants(value)
    try:
        repr(value)
    except ValueError:
        return None
    return value


def flat(statements: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield simple statements, definitions and headings, and whether each may not run.

    A heading is a compound statement, such as an ``if``, without the statements inside it.
    """
    waiting = [(statement, False) for statement in reversed(statements)]
    while waiting:
        statement, is_nested = waiting.pop()
        heading, inner = _split(statement)
        yield heading, is_nested
        is_nested |= not isinstance(statement, ast.With)
        waiting += [(one, is_nested) for one in reversed(inner)]


def _split(statement: Any) -> tuple[Any, list[ast.stmt]]:
    """Return *statement* without the statements inside it, and these, as in both parts of an if."""
    inner: list[ast.stmt] = []
    if isinstance(statement, DEFINITION):
        return statement, inner
    heading = copy.copy(statement)
    for field in ("body", "orelse", "finalbody"):
        if statements := getattr(statement, field, None):
            inner += statements
            setattr(heading, field, [ast.Pass(lineno=1, col_offset=0)])
    for field in ("handlers", "cases"):
        if parts := [_split(part) for part in getattr(statement, field, ())]:
            inner += [one for _, found in parts for one in found]
            setattr(heading, field, [part for part, _ in parts])
    return heading, inner


def bindings(statement: ast.stmt, code: CodeType, *, is_nested: bool) -> Iterator[Binding]:
    """Yield the bindings of names of the module in *statement*, whose *code* is given."""
    if isinstance(statement, DEFINITION):
        yield Binding(statement.name, statement.lineno, statement, code, "", is_nested)
        for inner in all_code(code):
            if is_function(inner) and _STORE_GLOBAL in inner.co_code[::2]:
                for name, dotted in _bound_in(inner).items():
                    yield Binding(
                        name, inner.co_firstlineno, ast.Pass(), inner, dotted, is_nested=True
                    )
        return
    values = dict(_values(statement))
    codes = {id(getattr(statement, "value", None)): code}
    for name, dotted in _bound_in(code).items():
        value = values.get(name)
        if value is not None and id(value) not in codes:  # a part of a pair
            codes[id(value)] = compiled(value)
        found = code if value is None else codes[id(value)]
        yield Binding(name, statement.lineno, value or statement, found, dotted, is_nested)


def _bound_in(code: CodeType) -> dict[str, str]:
    """Map the names of the module that *code* binds to the dotted names of imported objects."""
    parts = operations(code)
    names = {str(one.value): "" for one in parts if one.kind == BIND and one.value != "__doc__"}
    return names | {name: dotted for name, dotted, _ in imports(parts) if name in {*names, STAR}}


def _values(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that *statement* assigns a value; displays of equal length bind in pairs."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    waiting = [(target, statement.value) for target in targets]
    for target, value in waiting:  # the loop extends the list
        if isinstance(target, ast.Name):
            yield target.id, value
        elif isinstance(target, _DISPLAY) and isinstance(value, _DISPLAY):
            starred = any(isinstance(one, ast.Starred) for one in (*target.elts, *value.elts))
            if not starred and len(target.elts) == len(value.elts):
                waiting += zip(target.elts, value.elts, strict=True)


def certain(found: Sequence[Binding]) -> list[Binding]:
    """Return those of the bindings *found* of one name to which its uses certainly refer.

    These are the last ones. A class and an instance with the same name both count, because the
    class is graded.
    """
    if found[0].imported and len({one.imported for one in found}) == 1:
        return [found[-1]]
    if len(found) > 1 and any(one.is_nested and one.is_callable for one in found):
        return []
    kept: list[Binding] = []
    for one in found if len(found) == 1 else [one for one in found if not one.is_nested]:
        classes = (
            [] if one.is_callable else [old for old in kept if isinstance(old.node, DEFINITION)]
        )
        kept = [*classes, one]
    return kept
