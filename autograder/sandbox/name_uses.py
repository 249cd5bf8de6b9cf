"""Lists the dotted names that a part of a student's source uses, resolved in their scopes."""

import ast
from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple

from autograder.sandbox.name_bindings import (
    COMPREHENSION,
    FUNCTION,
    STAR,
    children,
    local_names,
    statement_bindings,
)

COMPUTED = "(computed)"  # replaces a name that is found while the program runs
MAX_NAME = 200  # characters of a dotted name; those in hand-written code have at most eighty
# These look up a name while the program runs, so the source may not show which one.
_LOOKUPS = frozenset({"eval", "exec", "compile", "__import__", "globals"})
_LOOKUPS_WITH_TEXT = frozenset({"getattr", "attrgetter", "methodcaller"})
_TABLES = frozenset({"vars", "globals", "locals"})
_FROM_TEXT = frozenset({"import_module", *_LOOKUPS, *_LOOKUPS_WITH_TEXT})
# These reach a function without its name, or call it where calls are not counted.
_ODD_MODULES = frozenset(
    {"asyncio", "builtins", "concurrent", "ctypes", "importlib", "inspect", "marshal"}
    | {"multiprocessing", "pkgutil", "pydoc", "runpy", "threading", "_thread"}
    | {"vars", "globals", "locals"}
)
_ODD_PARTS = frozenset(
    {"__dict__", "__globals__", "__builtins__", "__closure__", "__code__", "__getattribute__"}
    | {"__subclasses__", "_getframe", "get_objects", "get_referents", "get_referrers"}
    | {"settrace", "setprofile", "_C", "overrides", "_python_dispatch"}
)
_NAMES = (ast.Name, ast.Tuple, ast.List)
_DISPLAY = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.IfExp, ast.BoolOp, ast.NamedExpr)
# Maps names that functions bind to their dotted names; "" for a variable.
_Scope = ChainMap[str, str]


class Mention(NamedTuple):
    """A dotted name and its line.

    *is_passed_on* is true if the object itself is stored or passed on, and not only called.
    """

    line: int
    name: str
    is_passed_on: bool


class _Place(NamedTuple):
    """A node, its scope, and how the code around it uses the node."""

    node: ast.AST
    scope: _Scope
    is_inner: bool = False  # in a lambda or a function inside a function, which may run later
    is_value: bool = True  # its value is used, and not only called, read or dropped
    in_class: bool = False  # directly in the body of a class
    is_called: bool = False


class NameReader:
    """Reads names in a module with the given *aliases* and *classes*.

    *bound* are all names that the module binds. The name ``*`` in *aliases* stands for a module
    from which all names were imported.
    """

    def __init__(
        self, aliases: Mapping[str, str], bound: Collection[str], classes: Collection[str]
    ) -> None:
        self._aliases = aliases
        self._bound = bound
        self._classes = classes

    def mentions(self, root: ast.AST) -> Iterator[Mention]:
        """Yield each name that *root* uses; *root* is a statement or the value of a binding."""
        waiting = [_Place(root, ChainMap(), is_value=False)]
        while waiting:
            place = waiting.pop()
            waiting += self._inside(place, is_root=place.node is root)
            yield from self._here(place)

    def _here(self, place: _Place) -> Iterator[Mention]:
        """Yield the names that the node itself uses, without those of the nodes inside it."""
        node, passed_on = place.node, place.is_value or place.is_inner
        if isinstance(node, ast.Name | ast.Attribute):
            for name in self._names(node, place.scope):
                yield Mention(node.lineno, name, passed_on)
            if isinstance(node, ast.Name) and self._finds_names(node, place):
                yield Mention(node.lineno, f"?.{COMPUTED}", is_passed_on=True)
        elif isinstance(node, ast.Call | ast.Subscript):
            found = self._looked_up(node, place.scope)
            if found:
                yield Mention(node.lineno, found, passed_on)
        else:
            yield from _in_syntax(node)

    def _inside(self, place: _Place, *, is_root: bool) -> list[_Place]:
        """List the places of the nodes inside the node of *place*."""
        node = place.node
        if isinstance(node, ast.Name):
            return []
        if isinstance(node, ast.Attribute):
            base, _ = _base(node)
            return [] if isinstance(base, ast.Name) else [_of(place, base, is_value=False)]
        if isinstance(node, ast.Call):
            makes_object = place.is_value and self.makes_object(node)
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            called = _Place(node.func, place.scope, place.is_inner, makes_object, is_called=True)
            return [*(_of(place, argument) for argument in reversed(arguments)), called]
        if isinstance(node, FUNCTION):
            return self._in_function(node, place, is_root=is_root)
        if isinstance(node, COMPREHENSION):
            targets = local_names([generator.target for generator in node.generators])
            place = place._replace(scope=place.scope.new_child(targets))
        in_module = len(place.scope.maps) == 1 and not place.is_inner
        is_value = not (
            isinstance(node, ast.Expr)
            or (in_module and _binds_names_only(node))
            or (isinstance(node, _DISPLAY) and not place.is_value)
        )
        in_class = isinstance(node, ast.ClassDef)
        return [
            _Place(child, place.scope, place.is_inner, is_value, in_class)
            for child in reversed(children(node))
        ]

    def _in_function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        place: _Place,
        *,
        is_root: bool,
    ) -> list[_Place]:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        outside: list[ast.AST] = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        outside += [one.annotation for one in every if one.annotation is not None]
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
        if not isinstance(node, ast.Lambda):
            outside += [*node.decorator_list, *([node.returns] if node.returns else [])]
        scope = place.scope.new_child(local_names(body) | {one.arg: "" for one in every})
        is_inner = place.is_inner or not (is_root or place.in_class)
        inner = [_Place(one, scope, is_inner=is_inner) for one in body]
        return [*reversed(inner), *(_of(place, one) for one in reversed(outside))]

    def _names(self, node: ast.Name | ast.Attribute, scope: _Scope) -> Iterator[str]:
        """Yield the dotted name of *node*, and of the module's own object at its start."""
        base, attributes = _base(node)
        if not isinstance(base, ast.Name):
            yield _joined("?", attributes)
            return
        start = scope.get(base.id)
        if not attributes:
            if start != "" and not (start is None and isinstance(base.ctx, ast.Store)):
                yield start or self._global(base.id)
            return
        if start is None:
            start = self._global(base.id)
            if base.id in self._bound and base.id not in self._aliases:
                yield start
        yield _joined(start or short(base.id), attributes)

    def _global(self, name: str) -> str:
        if name in self._aliases:
            return self._aliases[name]
        if STAR in self._aliases and name not in self._bound:
            return _joined(self._aliases[STAR], [name])
        return short(name)

    def makes_object(self, call: ast.Call) -> bool:
        """Whether *call* constructs an object, which may be called later."""
        name = _last(call.func)
        return name in self._classes or name[:1].isupper()

    def _finds_names(self, node: ast.Name, place: _Place) -> bool:
        """Whether *node* is a function that looks up names, and may be called later."""
        is_own = node.id in place.scope or node.id in self._bound
        return node.id in _FROM_TEXT and not is_own and not place.is_called

    def _looked_up(self, node: ast.Call | ast.Subscript, scope: _Scope) -> str:
        """Return the dotted name that *node* looks up by its text; "" if it looks up none."""
        if isinstance(node, ast.Subscript):
            table, name = node.value, _text(node.slice)
            is_table = isinstance(table, ast.Attribute) and table.attr == "__dict__"
            is_table |= isinstance(table, ast.Call) and _last(table.func) in _TABLES
            return f"?.{short(name) if name else COMPUTED}" if is_table else ""
        called = _last(node.func)
        if called == "import_module" or (called in _LOOKUPS and isinstance(node.func, ast.Name)):
            return f"?.{COMPUTED}"
        if called not in _LOOKUPS_WITH_TEXT or not node.args:
            return ""
        if called != "getattr":
            return _joined("?", [_text(node.args[0]) or COMPUTED])
        owner = node.args[0]
        names = [""]
        if isinstance(owner, ast.Name | ast.Attribute):
            names = [*self._names(owner, scope)] or [short(getattr(owner, "id", ""))]
        if names[-1] == "self" or len(node.args) == 1:  # a part of the module itself
            return ""
        return _joined(names[-1] or "?", [_text(node.args[1]) or COMPUTED])


def odd_word(name: str, bound: Collection[str] = ()) -> str:
    """Return the part of *name* that may hide which functions a source calls, or "".

    Names that the module itself has *bound* do not count.
    """
    parts = name.split(".")
    if parts[0] in _ODD_MODULES and parts[0] not in bound:
        return parts[0]
    if parts[:2] == ["sys", "modules"]:
        return "sys.modules"
    return next((part for part in parts if part in _ODD_PARTS), "")


def short(name: str) -> str:
    """Return *name*, or a digest if it is longer than any name that matters."""
    if len(name) <= MAX_NAME:
        return name
    return f"long-{blake2b(name.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def dotted(node: ast.AST, aliases: Mapping[str, str]) -> str:
    """Return the dotted name of *node* if its first part is imported, otherwise ""."""
    base, attributes = _base(node)
    if not isinstance(base, ast.Name) or base.id not in aliases:
        return ""
    return _joined(aliases[base.id], attributes)


def _joined(start: str, attributes: list[str]) -> str:
    """Join the parts of a dotted name; a very long name counts as computed."""
    if len(attributes) <= MAX_NAME and len(name := ".".join([start, *attributes])) <= MAX_NAME:
        return name
    return f"?.{COMPUTED}"


def _base(node: ast.AST) -> tuple[ast.AST, list[str]]:
    """Return the innermost owner of *node* and the chain of attributes that is read from it."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return node, attributes[::-1]


def _in_syntax(node: ast.AST) -> Iterator[Mention]:
    """Yield the names that an operator, a pattern or an import uses."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield Mention(node.lineno, "@", is_passed_on=False)
    elif isinstance(node, ast.MatchClass):
        for name in node.kwd_attrs:
            yield Mention(node.lineno, f"?.{short(name)}", is_passed_on=True)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for one in statement_bindings(node):
            if odd_word(one.imported):
                yield Mention(node.lineno, short(one.imported), is_passed_on=False)


def _of(place: _Place, node: ast.AST, *, is_value: bool = True) -> _Place:
    return _Place(node, place.scope, place.is_inner, is_value)


def _last(called: ast.AST) -> str:
    """Return the last part of the name of the function *called*."""
    return called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")


def _binds_names_only(node: ast.AST) -> bool:
    """Whether *node* is a statement that only binds names."""
    if isinstance(node, ast.AnnAssign | ast.For):
        return isinstance(node.target, _NAMES)
    return isinstance(node, ast.Assign) and all(isinstance(one, _NAMES) for one in node.targets)


def _text(node: ast.AST) -> str:
    """Return the text of a literal, or of literals that are added; "" for anything else."""
    parts: list[str] = []
    waiting = [node]
    while waiting:  # a recursive function would fail on a long sum
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += [part.right, part.left]
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            parts.append(part.value)
        else:
            return ""
    return "".join(parts)
