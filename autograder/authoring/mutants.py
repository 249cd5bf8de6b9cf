"""Generates mutants: copies of a solution with one small mistake that the hidden suite must catch.

A mutant changes one place of the syntax tree inside a solution region: an operator, a constant, a
comparison, an argument, a name, a statement. Mutants that behave like the solution are listed, with
the reason, in the stage's ``equivalents.toml``.
"""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import unified_diff
from typing import NamedTuple

from autograder.authoring import markers

Change = Callable[[ast.AST], Iterator[ast.AST]]

OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
NAMES = {
    "tril": "triu",
    "triu": "tril",
    "ones": "zeros",
    "zeros": "ones",
    "rand": "randn",
    "randn": "rand",
    "sum": "mean",
    "mean": "sum",
    "max": "min",
    "amax": "amin",
    "W_q": "W_k",
    "W_k": "W_v",
    "W_v": "W_q",
    "W_query": "W_key",
    "W_key": "W_value",
    "W_value": "W_query",
    "query": "key",
    "key": "value",
    "value": "query",
    "queries": "keys",
    "keys": "values",
    "values": "queries",
    "softmax": "log_softmax",
    "mT": "T",
}


class Mutant(NamedTuple):
    """A module with one small change: the changed line before and after, and the module's text."""

    was: str
    becomes: str
    line: int
    text: str

    @property
    def label(self) -> str:
        """The change in one line."""
        return f"{self.was}  →  {self.becomes}"


def mutants(solution: str, name: str) -> Iterator[Mutant]:
    """Yield every mutant of *solution*, each once."""
    tree = ast.parse(solution)
    regions = [range(region.first, region.last + 1) for region in markers.regions(solution, name)]
    pieces = [_unparse(statement) for statement in tree.body]
    seen = set(enumerate(pieces))
    for index, slot in _slots(tree):
        line = getattr(slot.node, "lineno", 0)
        if not any(line in region for region in regions):
            continue
        for replacement in [new for change in CHANGES for new in change(slot.node)]:
            with slot.holding(replacement):
                piece = _unparse(tree.body[index])
            if (index, piece) not in seen and _parses(piece):
                seen.add((index, piece))
                text = "\n".join([*pieces[:index], piece, *pieces[index + 1 :]])
                yield _mutant(pieces[index], piece, line, text)


class _Slot(NamedTuple):
    """The place of *node* in the tree: a field of its parent, or an item of a list in a field."""

    node: ast.AST
    parent: ast.AST
    field: str
    position: int | None

    @contextmanager
    def holding(self, replacement: ast.AST) -> Iterator[None]:
        """Put *replacement* in the place of the node for a while."""
        self._put(replacement)
        try:
            yield
        finally:
            self._put(self.node)

    def _put(self, node: ast.AST) -> None:
        if self.position is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.position] = node


def _slots(tree: ast.Module) -> list[tuple[int, _Slot]]:
    """List every slot with the index of its module-level statement, level by level."""
    found = [(index, _Slot(node, tree, "body", index)) for index, node in enumerate(tree.body)]
    for index, slot in found:  # grows while it is read: children come after their level
        found += [(index, child) for child in _child_slots(slot.node)]
    return found


def _child_slots(parent: ast.AST) -> Iterator[_Slot]:
    for field, value in ast.iter_fields(parent):
        if isinstance(value, ast.AST):
            yield _Slot(value, parent, field, None)
        elif isinstance(value, list):
            for position, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield _Slot(item, parent, field, position)


def _unparse(statement: ast.stmt) -> str:
    return ast.unparse(ast.Module([statement], []))


def _mutant(before: str, after: str, line: int, text: str) -> Mutant:
    changes = [
        row
        for row in unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
        if row[:1] in "+-" and row[:3] not in {"+++", "---"}
    ]
    was = " ".join(row[1:].strip() for row in changes if row[0] == "-")
    becomes = " ".join(row[1:].strip() for row in changes if row[0] == "+")
    return Mutant(was, becomes, line, text)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _operator(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        for other in OPERATORS.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)
        if isinstance(node.op, ast.MatMult):
            yield ast.BinOp(node.right, node.op, node.left)
        yield node.left
    if isinstance(node, ast.UnaryOp):
        yield node.operand


def _comparison(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)
    if isinstance(node, ast.BoolOp):
        yield from node.values
    if isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse


def _constant(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
        if node.value:
            yield ast.Constant(node.value - 1)
    elif isinstance(node.value, float):
        yield ast.Constant(node.value * 2 or 1.0)
    elif isinstance(node.value, str) and node.value == "-inf":
        yield ast.Constant("inf")
        yield ast.Constant("0")


def _argument(node: ast.AST) -> Iterator[ast.AST]:
    """Omit a keyword argument, or exchange two positional ones."""
    if not isinstance(node, ast.Call):
        return
    for skipped in node.keywords:
        kept = [keyword for keyword in node.keywords if keyword is not skipped]
        yield ast.Call(node.func, node.args, kept)
    for first in range(len(node.args) - 1):
        args = list(node.args)
        args[first], args[first + 1] = args[first + 1], args[first]
        yield ast.Call(node.func, args, node.keywords)


def _name(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield ast.Attribute(node.value, NAMES[node.attr], node.ctx)
    if isinstance(node, ast.Attribute) and node.attr in {"T", "mT"}:
        yield node.value
    if isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        yield ast.Name(NAMES[node.id], node.ctx)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield node.func.value  # the method is not called: x.transpose(...) becomes x


def _statement(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.If | ast.Raise):
        yield ast.Pass()
    if isinstance(node, ast.If):
        yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        yield ast.If(ast.Constant(value=True), node.body, node.orelse)
    if isinstance(node, ast.With):
        yield ast.If(ast.Constant(value=True), node.body, [])
    if isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(None)


CHANGES: tuple[Change, ...] = (
    _operator,
    _comparison,
    _constant,
    _argument,
    _name,
    _statement,
)
