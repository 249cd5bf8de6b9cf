"""Contains the code of an exercise as a syntax tree, and applies, compiles and undoes rewrites."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

from autograder.diagnosis.mistakes.rewriting import FUNCTION, TENSOR, Rewrite, Scope, Site


class ExerciseCode:
    """The code of an exercise, and of the helpers that it calls, as a tree that rewrites change.

    *used* are the other exercises that it calls itself.
    """

    def __init__(self, solution: str, name: str, exercises: Sequence[str]) -> None:
        tree = ast.parse(solution)
        known = {item.name: item for item in tree.body if isinstance(item, FUNCTION | ast.ClassDef)}
        self.names, self.used = _reached(name, known, exercises)
        self.module = ast.Module([known[item] for item in self.names], [])
        _Bare().visit(self.module)
        self.scopes = tuple(_scopes(self.module))

    @contextmanager
    def applied(self, rewrites: Sequence[Rewrite]) -> Iterator[None]:
        """Apply the edits of *rewrites*, the innermost first; undo them at the end."""
        edits = sorted(
            (edit for one in rewrites for edit in one.edits), key=lambda edit: -edit.site.depth
        )
        done = []
        try:
            for edit in edits:
                old = edit.site.node
                done.append((edit.site, old))
                edit.site.put(edit.make(old))
            yield
        finally:
            for site, old in reversed(done):
                site.put(old)

    def compile(self, rewrites: Sequence[Rewrite], filename: str) -> CodeType:
        """Compile the code with *rewrites*; raises what ``compile`` raises."""
        with self.applied(rewrites):
            return compile(self.module, filename, "exec")

    def text(self, rewrites: Sequence[Rewrite]) -> str:
        """Return the source with *rewrites*."""
        with self.applied(rewrites):
            return ast.unparse(self.module)


def _reached(
    name: str, known: dict[str, Any], exercises: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """List *name* after the helpers that it calls, and the other exercises that they use."""
    found, used = [name], list[str]()
    for one in found:
        for node in ast.walk(known[one]):
            if isinstance(node, ast.Name) and node.id in known and node.id not in found:
                (used if node.id in exercises else found).append(node.id)
    return found[::-1], tuple(dict.fromkeys(used))


class _Bare(ast.NodeTransformer):
    """Removes docstrings and annotations, which cost time to compile; keeps what is a tensor."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.type_comment = ast.unparse(node.annotation) if node.annotation else TENSOR
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: FUNCTION) -> FUNCTION:  # the name that ast calls
        node.returns = None
        return self.visit_ClassDef(node)  # type: ignore[return-value,arg-type]  # both have a body

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:  # also the name that ast calls
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass(lineno=node.lineno, col_offset=0)]
        self.generic_visit(node)
        return node


def _scopes(module: ast.Module) -> Iterator[Scope]:
    for item in module.body:
        if isinstance(item, FUNCTION):
            yield Scope(item, list(_sites(item, 1)), None)
        elif isinstance(item, ast.ClassDef):
            functions = [node for node in item.body if isinstance(node, FUNCTION)]
            methods = [Scope(node, list(_sites(node, 2)), item) for node in functions]
            for method in methods:
                method.methods = methods
            yield from methods


def _sites(node: ast.AST, depth: int) -> Iterator[Site]:
    """Yield every place below *node*, in the order of the source."""
    for key, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield Site(node, key, depth)
            yield from _sites(value, depth + 1)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield Site(value, index, depth)
                    yield from _sites(item, depth + 1)
