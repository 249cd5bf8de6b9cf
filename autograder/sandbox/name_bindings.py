"""Lists the names that the statements of a student's module bind, in all forms of Python."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTION = (*DEFINITION[:2], ast.Lambda)
COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOP = (ast.For, ast.AsyncFor)
_WITH = (ast.With, ast.AsyncWith)
_TRY = (ast.Try, ast.TryStar)
_STATEMENT = (ast.stmt, ast.ExceptHandler)
_DISPLAY = (ast.Tuple, ast.List)
STAR = "*"  # the name that `from ... import *` binds


class Binding(NamedTuple):
    """A name, and the definition or expression that it is bound to.

    For an import, *imported* is the dotted name and *value* is None. *is_exact* is true if the name
    is bound to the value itself and not to a part of it or to its result. *is_nested* is true if
    the statement may not run, or may run later.
    """

    name: str
    line: int
    value: ast.AST | None = None
    imported: str = ""
    is_exact: bool = True
    is_nested: bool = False


def children(node: ast.AST) -> list[ast.AST]:
    """List the nodes directly in *node*, as ``ast.iter_child_nodes`` does, without empty ones.

    Nodes without fields are left out: operators and contexts, which are nearly half of a tree.
    """
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def walk(root: ast.AST) -> list[ast.AST]:
    """List *root* and the nodes below it, without nodes that have no fields."""
    nodes = [root]
    for node in nodes:  # the loop extends the list
        for name in node._fields:  # the code of `children`, without a call for each node
            value = getattr(node, name, None)
            if type(value) is list:
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and value._fields:
                nodes.append(value)
    return nodes


def module_bindings(statements: Sequence[ast.stmt]) -> Iterator[Binding]:
    """Yield the bindings of the names of a module in the order of its source."""
    waiting = [(statement, False) for statement in reversed(statements)]
    while waiting:
        statement, is_nested = waiting.pop()
        for binding in statement_bindings(statement):
            yield binding._replace(is_nested=is_nested)
        if isinstance(statement, DEFINITION):
            yield from _global_bindings(statement)
            continue
        is_nested |= not isinstance(statement, _WITH)
        waiting += [(inner, is_nested) for inner in reversed(_inner_statements(statement))]


def statement_bindings(statement: ast.stmt) -> Iterator[Binding]:
    """Yield the bindings of *statement* in its own scope, without the statements inside it."""
    if isinstance(statement, DEFINITION):
        yield Binding(statement.name, statement.lineno, statement)
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from _imports(statement)
    elif isinstance(statement, _LOOP):
        yield from _looped(statement)
    elif isinstance(statement, _WITH):
        yield from _entered(statement)
    elif isinstance(statement, _TRY):
        named = (handler for handler in statement.handlers if handler.name)
        yield from (Binding(one.name or "", one.lineno, is_exact=False) for one in named)
    elif isinstance(statement, ast.Match):
        yield from _captured(statement)
    else:
        yield from _assignments(statement)
    yield from _named_expressions(statement)


def local_names(body: Iterable[ast.AST]) -> dict[str, str]:
    """Map the names that *body* binds in its own scope to the dotted names that imports give them.

    A name that is not imported maps to "". Names declared as global or nonlocal are left out.
    """
    found: dict[str, str] = {}
    outer: set[str] = set()
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            outer.update(node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update((item.name, item.imported) for item in _imports(node))
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                found.setdefault(node.id, "")
        elif isinstance(node, DEFINITION):
            found[node.name] = ""
            waiting += node.decorator_list
        elif isinstance(node, COMPREHENSION):
            waiting += _walrus_targets(node)
        elif not isinstance(node, ast.Lambda):
            name = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(node, ast.ExceptHandler | ast.pattern) and isinstance(name, str):
                found.setdefault(name, "")
            waiting += children(node)
    return {name: dotted for name, dotted in found.items() if name not in outer}


def _inner_statements(statement: ast.AST) -> list[ast.stmt]:
    """List the statements that are directly inside *statement*, such as both branches of an if."""
    inner: list[ast.stmt] = []
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for part in getattr(statement, field, ()):
            is_statement = isinstance(part, ast.stmt)
            inner += [part] if is_statement else _inner_statements(part)
    return inner


def _global_bindings(definition: ast.stmt) -> Iterator[Binding]:
    """Yield the bindings of names that functions in *definition* declare as global."""
    inner = walk(definition)
    names = {name for node in inner if isinstance(node, ast.Global) for name in node.names}
    if not names:
        return
    for node in inner[1:]:
        if isinstance(node, ast.stmt):
            for binding in statement_bindings(node):
                if binding.name in names:
                    yield binding._replace(is_nested=True)


def _imports(statement: ast.Import | ast.ImportFrom) -> Iterator[Binding]:
    for item in statement.names:
        if isinstance(statement, ast.ImportFrom):
            module = f"{'.' * statement.level}{statement.module or ''}"
            name = item.asname or item.name
            dotted = module if item.name == STAR else f"{module}.{item.name}"
        else:
            root = item.name.partition(".")[0]
            name, dotted = item.asname or root, item.name if item.asname else root
        yield Binding(name, statement.lineno, imported=dotted)


def _assignments(statement: ast.stmt) -> Iterator[Binding]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _assigned(target, statement.value)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _assigned(statement.target, statement.value)
    elif isinstance(statement, ast.AugAssign):
        yield from _parts(statement.target, statement.value)


def _looped(statement: ast.For | ast.AsyncFor) -> Iterator[Binding]:
    """Yield the bindings of a loop; a loop over a single item is an assignment."""
    items = statement.iter
    if isinstance(items, _DISPLAY) and len(items.elts) == 1:
        return _assigned(statement.target, items.elts[0])
    return _parts(statement.target, items)


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[Binding]:
    """Yield the bindings of ``target = value``; two displays of the same length bind in pairs."""
    waiting = [(target, value)]
    while waiting:
        left, right = waiting.pop()
        if isinstance(left, ast.Name):
            yield Binding(left.id, left.lineno, right)
        elif isinstance(left, _DISPLAY) and isinstance(right, _DISPLAY) and _match(left, right):
            waiting += zip(left.elts, right.elts, strict=True)
        else:
            yield from _parts(left, right)


def _match(left: ast.Tuple | ast.List, right: ast.Tuple | ast.List) -> bool:
    starred = any(isinstance(item, ast.Starred) for item in (*left.elts, *right.elts))
    return not starred and len(left.elts) == len(right.elts)


def _parts(target: ast.AST, value: ast.AST) -> Iterator[Binding]:
    """Yield the names in *target*, which are bound to parts of *value*."""
    for node in walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Binding(node.id, node.lineno, value, is_exact=False)


def _entered(statement: ast.With | ast.AsyncWith) -> Iterator[Binding]:
    for item in statement.items:
        if item.optional_vars is not None:
            yield from _parts(item.optional_vars, item.context_expr)


def _captured(statement: ast.Match) -> Iterator[Binding]:
    for node in (node for case in statement.cases for node in walk(case.pattern)):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            yield Binding(name, statement.lineno, statement.subject, is_exact=False)


def _named_expressions(statement: ast.stmt) -> Iterator[Binding]:
    """Yield the bindings of ``:=`` in the expressions of *statement*."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.NamedExpr):
            yield Binding(node.target.id, node.lineno, node.value)
        if isinstance(node, ast.match_case):
            waiting += [node.guard] if node.guard is not None else []
        elif not isinstance(node, (*DEFINITION, ast.Lambda)):
            waiting += [child for child in children(node) if not isinstance(child, _STATEMENT)]


def _walrus_targets(comprehension: ast.AST) -> list[ast.AST]:
    """List the targets of ``:=`` in *comprehension*, which belong to the scope around it."""
    return [node.target for node in walk(comprehension) if isinstance(node, ast.NamedExpr)]
