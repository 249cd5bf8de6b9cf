"""The code of an exercise as a tree in which rewrites are applied, compiled and undone."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import CodeType
from typing import Any

from autograder.diagnosis.mistakes.rewriting import Rewrite, Site, name_of
from autograder.diagnosis.mistakes.vocabulary import is_parameter, role_of

PLAIN = {"int", "float"}  # annotations of arguments that are numbers

TENSOR = "Tensor"  # in the annotation of an argument

FUNCTION = ast.FunctionDef

START = 3  # as deep as a statement of a method; edits inside it come first


class Scope:
    """A function of the solution: its places, arguments, and what its names stand for.

    *methods* are it and the other methods of its class.
    """

    def __init__(self, node: FUNCTION, sites: Sequence[Site], owner: ast.ClassDef | None) -> None:
        self.node = node
        self.owner = owner
        self.methods: list[Scope] = [self]
        self.sites = sites
        arguments = [arg for arg in (*node.args.posonlyargs, *node.args.args) if arg.arg != "self"]
        self.arguments = tuple(arg.arg for arg in arguments)
        self.tensors = tuple(arg.arg for arg in arguments if _is_tensor(arg))
        self.numbers = tuple(name for name in self.arguments if name not in self.tensors)
        self.plain = tuple(arg.arg for arg in arguments if arg.type_comment in PLAIN)
        self.optional = self.arguments[len(self.arguments) - len(node.args.defaults) :]

    @property
    def is_constructor(self) -> bool:
        """Whether it makes the parameters of a module."""
        return self.node.name == "__init__"

    @cached_property
    def locals(self) -> dict[str, ast.expr]:
        """What each name is assigned last."""
        return {
            site.node.targets[0].id: site.node.value
            for site in self.sites
            if isinstance(site.node, ast.Assign) and isinstance(site.node.targets[0], ast.Name)
        }

    @cached_property
    def sources(self) -> dict[str, ast.expr]:
        """What each name comes from, alone or as one of several."""
        assigned = [site.node for site in self.of(ast.Assign)]
        return {
            node.id: one.value
            for one in assigned
            for node in ast.walk(one.targets[0])
            if isinstance(node, ast.Name)
        }

    @cached_property
    def by_role(self) -> dict[str, str]:
        """The name of the first quantity of each role."""
        found: dict[str, str] = {}
        for name in sorted((*self.tensors, *self.locals), key=is_parameter):
            if role := role_of(ast.Name(name)):
                found.setdefault(role, name)
        return found

    @property
    def argument_names(self) -> frozenset[str]:
        """The names of the arguments of this method and of the others of its class."""
        return frozenset(name for method in self.methods for name in method.arguments)

    @property
    def start(self) -> Site:
        """The place of the first statement."""
        return Site(self.node.body, 0, START)

    @property
    def after_super(self) -> Site:
        """The place of the first statement after that which makes it a module."""
        return Site(self.node.body, min(1, len(self.node.body) - 1), START)

    def of(self, kind: Any) -> Iterator[Site]:
        """Yield the places at which a node of *kind* stands."""
        return (site for site in self.sites if isinstance(site.node, kind))

    def calls(self, *names: str) -> Iterator[Site]:
        """Yield the places of calls of a function or method with one of *names*."""
        return (site for site in self.of(ast.Call) if name_of(site.node.func) in names)

    def phrase(self, node: ast.expr | None) -> str:
        """Say what *node* is: its role, or the argument that it is."""
        if role := role_of(node):
            return f"the {role}"
        if isinstance(node, ast.Name) and node.id in self.arguments:
            return f"`{node.id}`"
        return ""


class Exercise:
    """The code of an exercise, and of the helpers that it calls, as a tree that rewrites change."""

    def __init__(self, solution: str, name: str, exercises: Sequence[str]) -> None:
        tree = ast.parse(solution)
        known = {item.name: item for item in tree.body if isinstance(item, FUNCTION | ast.ClassDef)}
        self.names = _reached(name, known, exercises)
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


def _reached(name: str, known: dict[str, Any], exercises: Sequence[str]) -> list[str]:
    """List *name* after the helpers that it calls; other exercises stand for themselves."""
    found = [name]
    for one in found:
        for node in ast.walk(known[one]):
            if (
                isinstance(node, ast.Name)
                and node.id in known
                and node.id not in (*found, *exercises)
            ):
                found.append(node.id)
    return found[::-1]


def _is_tensor(arg: ast.arg) -> bool:
    return TENSOR in str(arg.type_comment or "")


class _Bare(ast.NodeTransformer):
    """Removes docstrings and annotations, which cost time to compile; keeps what is a tensor."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.type_comment = ast.unparse(node.annotation) if node.annotation else TENSOR
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: FUNCTION) -> FUNCTION:  # the name that ast calls
        node.returns = None
        return self.visit_ClassDef(node)  # type: ignore[return-value,arg-type]  # both have a body

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:  # likewise
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
