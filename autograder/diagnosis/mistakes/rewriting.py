"""Describes mistakes as edits of the syntax tree of an exercise."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from autograder.diagnosis.mistakes.kinds import Wording, group_of, wording_at
from autograder.diagnosis.student_code import name_of, operations
from autograder.diagnosis.vocabulary import is_parameter, role_of

Make = Callable[[Any], Any]
TRANSPOSES = ("transpose", "permute", "swapaxes", "t")
PLAIN = {"int", "float"}  # annotations of arguments that are numbers
TENSOR = "Tensor"  # in the annotation of an argument
FUNCTION = ast.FunctionDef
START = 3  # as deep as a statement of a method; edits inside it come first


class Site(NamedTuple):
    """A place in the tree: an attribute of a node, or an index of a list."""

    holder: Any
    key: Any
    depth: int

    @property
    def node(self) -> Any:
        """The node that is there now."""
        if isinstance(self.holder, list):
            return self.holder[self.key]
        return getattr(self.holder, self.key)

    def put(self, new: Any) -> None:
        """Put *new* there."""
        if isinstance(self.holder, list):
            self.holder[self.key] = new
        else:
            setattr(self.holder, self.key, new)


class Edit(NamedTuple):
    """A new node for a place, made from the one that is there.

    An edit that *inserts* keeps this node, which another edit may replace.
    """

    site: Site
    make: Make
    inserts: bool = False

    @property
    def place(self) -> tuple[Any, ...]:
        """The key that edits share if they can't be combined."""
        return id(self.site.holder), self.site.key, self.inserts


class Rewrite(NamedTuple):
    """A mistake: what it is, and the edits that make it.

    *key* is a kind, or a kind and one of its variants, as in "mask_fill.zero". *words* fill the
    placeholders of its sentences in ``kinds.toml``, unless the stage *said* others. Of those that
    fit equally well and have the same *shared* group, or the same sentence, only the first is said.
    """

    key: str
    words: Mapping[str, str]
    edits: tuple[Edit, ...]
    shared: str = ""
    said: Wording | None = None

    @property
    def kind(self) -> str:
        """The kind of mistake."""
        return self.key.partition(".")[0]

    @property
    def wording(self) -> Wording:
        """The sentences about it."""
        return self.said or wording_at(self.key, self.words)

    @property
    def explanation(self) -> str:
        """The sentence about it."""
        return self.wording.explanation

    @property
    def group(self) -> str:
        """The name that equal mistakes share."""
        return group_of(self.key, self.shared, self.said, self.wording)

    @property
    def steps(self) -> tuple[str, ...]:
        """The operations in the changed part of the code (see ``student_code``)."""
        return tuple(sorted({one for edit in self.edits for one in _steps(edit)}))

    @property
    def places(self) -> frozenset[tuple[Any, ...]]:
        """The places that it changes."""
        return frozenset(edit.place for edit in self.edits)


def _steps(edit: Edit) -> frozenset[str]:
    """Return the operations that *edit* writes; those of the kept parts do not count."""
    old = {id(node) for node in ast.walk(edit.site.node)}
    new = [node for node in ast.walk(edit.make(edit.site.node)) if id(node) not in old]
    called = [node.func for node in new if isinstance(node, ast.Call)]
    return operations([*new, *called])


def mistake(key: str, edits: Edit | Sequence[Edit], group: str = "", **words: object) -> Rewrite:
    """Make a rewrite with the sentences that ``kinds.toml`` has at *key*, filled with *words*."""
    edits = (edits,) if isinstance(edits, Edit) else tuple(edits)
    return Rewrite(key, {name: str(word) for name, word in words.items()}, edits, group)


def mistakes(
    make: Callable[[str], Edit], table: Iterable[tuple[str, str]], group: str = "", **words: object
) -> Iterator[Rewrite]:
    """Make a rewrite of each template with a key in *table*."""
    return (mistake(key, make(text), group, **words) for text, key in table)


def expression(template: str, **parts: Any) -> Any:
    """Parse *template* with nodes in the place of names."""
    return _Fill(parts).visit(ast.parse(template, mode="eval").body)


def statement(template: str, **parts: Any) -> Any:
    """Parse one statement with nodes in the place of names; a name alone may be a statement."""
    return _Fill(parts).visit(ast.parse(template).body[0])


def put(site: Site, template: str, **parts: Any) -> Edit:
    """Replace the node at *site* by *template*, in which names represent nodes.

    OLD is the node itself; LEFT and RIGHT are its operands, FIRST and SECOND its arguments, FUNC is
    what it calls and OBJECT that on which a method is called. Each of *parts* is a node, or the
    place of one, which is read when the edit is applied.
    """

    def make(old: Any) -> Any:
        now = {name: part.node if isinstance(part, Site) else part for name, part in parts.items()}
        return expression(template, **_parts(old), **now)

    return Edit(site, make)


def restate(site: Site, template: str, **parts: Any) -> Edit:
    """Replace the statement at *site* by *template*, in which OLD is the statement itself."""
    return Edit(site, lambda old: statement(template, **{"OLD": old, **parts}))


def before(site: Site, text: str) -> Edit:
    """Run *text* before the statement at *site*."""
    return Edit(site, lambda old: block([*ast.parse(text).body, old]), inserts=True)


def block(statements: Sequence[ast.stmt]) -> ast.stmt:
    """Return one statement that runs *statements*."""
    new = ast.parse("if True: pass").body[0]
    new.body = [*statements] or new.body  # type: ignore[attr-defined]  # an if has a body
    return new


def constant(site: Site, value: object) -> Edit:
    """Replace the node at *site* by a constant."""
    return put(site, repr(value))


def leave_out(site: Site) -> Edit:
    """Do nothing in the place of the statement at *site*."""
    return restate(site, "pass")


def _parts(node: Any) -> dict[str, Any]:
    """Name the parts of *node*."""
    found = {"OLD": node}
    match node:
        case ast.BinOp(left, _, right):
            found |= {"LEFT": left, "RIGHT": right}
        case ast.Compare(left, _, [right]):
            found |= {"LEFT": left, "RIGHT": right}
        case ast.Call(func, args):
            found |= {"FUNC": func} | dict(zip(("FIRST", "SECOND"), args, strict=False))
            if isinstance(func, ast.Attribute):
                found["OBJECT"] = func.value
        case ast.Attribute(value):
            found["OBJECT"] = value
    return found


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: dict[str, Any]) -> None:
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> Any:  # the name that ast calls
        return self._parts.get(node.id, node)

    def visit_Expr(self, node: ast.Expr) -> Any:  # also the name that ast calls
        new = self.visit(node.value)
        return new if isinstance(new, ast.stmt) else ast.copy_location(ast.Expr(new), node)


def is_module(node: ast.expr) -> bool:
    """Whether *node* is torch or one of its packages, so that a call on it is not a method call."""
    return ast.unparse(node) in {"torch", "nn", "F", "nn.functional", "torch.nn.functional", "math"}


def site_of(parent: Site, holder: Any, key: Any) -> Site:
    """Return a place within the node at *parent*."""
    return Site(holder, key, parent.depth + 1)


def input_site(site: Site) -> Site | None:
    """Return the place of the tensor that the call at *site* works on."""
    call = site.node
    if isinstance(call.func, ast.Attribute) and not is_module(call.func.value):
        return site_of(site, call.func, "value")
    return site_of(site, call.args, 0) if call.args else None


def option(call: ast.Call, name: str, position: int) -> ast.expr | None:
    """Return the argument *name* of *call*, which may be at *position* (from the tensor on)."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if isinstance(call.func, ast.Attribute) and not is_module(call.func.value):
        position -= 1
    return call.args[position] if 0 <= position < len(call.args) else None


def attributes_of(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that the class sets, and what it sets them to."""
    for node in ast.walk(owner):
        match node:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
                yield name, value


def number_of(node: ast.expr | None) -> float | None:
    """Return the number that *node* writes."""
    match node:
        case ast.Constant(int(number) | float(number)):
            return number
        case ast.UnaryOp(ast.USub(), ast.Constant(int(number) | float(number))):
            return -number
    return None


def transposed(node: ast.expr | None) -> ast.expr | None:
    """Return the tensor of which *node* is the transposed one."""
    match node:
        case ast.Attribute(tensor, "T" | "mT"):
            return tensor
        case ast.Call(ast.Attribute(tensor, name)) if name in TRANSPOSES:
            return tensor
    return None


def swapped(first: int, old: ast.Call) -> ast.expr:
    """Return a call whose arguments *first* and *first* + 1 are swapped."""
    args = list(old.args)
    args[first], args[first + 1] = args[first + 1], args[first]
    return ast.copy_location(ast.Call(old.func, args, old.keywords), old)


class Scope:
    """A function of the solution: its places, its arguments, and the meaning of its names.

    *methods* are it and the other methods of its class.
    """

    def __init__(self, node: FUNCTION, sites: Sequence[Site], owner: ast.ClassDef | None) -> None:
        self.node = node
        self.owner = owner
        self.methods: list[Scope] = [self]
        self.sites = sites
        self._of: dict[Any, list[Site]] = {}  # by the kind of node
        arguments = [arg for arg in (*node.args.posonlyargs, *node.args.args) if arg.arg != "self"]
        self.arguments = tuple(arg.arg for arg in arguments)
        self.tensors = tuple(arg.arg for arg in arguments if TENSOR in (arg.type_comment or ""))
        self.numbers = tuple(name for name in self.arguments if name not in self.tensors)
        self.plain = tuple(arg.arg for arg in arguments if arg.type_comment in PLAIN)
        self.optional = self.arguments[len(self.arguments) - len(node.args.defaults) :]

    @property
    def is_constructor(self) -> bool:
        """Whether it makes the parameters of a module."""
        return self.node.name == "__init__"

    @cached_property
    def locals(self) -> dict[str, ast.expr]:
        """The last value that each name is assigned."""
        assigned = (site.node for site in self.of(ast.Assign))
        pairs = ((one.targets[0], one.value) for one in assigned)
        return {name.id: value for name, value in pairs if isinstance(name, ast.Name)}

    @cached_property
    def sources(self) -> dict[str, ast.expr]:
        """The value that each name is assigned, alone or as one of several."""
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

    @cached_property
    def results(self) -> list[Site]:
        """The places of the values that it returns."""
        returns = [site for site in self.of(ast.Return) if site.node.value is not None]
        return [site_of(site, site.node, "value") for site in returns]

    @cached_property
    def quantities(self) -> list[tuple[str, Site]]:
        """The role of each target of an assignment, and the place of its value."""
        return [
            (role_of(site.node.targets[0]), site_of(site, site.node, "value"))
            for site in self.of(ast.Assign)
        ]

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
        """Yield the places of the nodes of *kind*; searched once, because every rule asks."""
        if kind not in self._of:
            self._of[kind] = [site for site in self.sites if isinstance(site.node, kind)]
        return iter(self._of[kind])

    def calls(self, *names: str) -> Iterator[Site]:
        """Yield the places of calls of a function or method with one of *names*."""
        return (site for site in self.of(ast.Call) if name_of(site.node.func) in names)

    def loads(self, *names: str) -> list[Site]:
        """List the places that read a variable with one of *names*."""
        found = (site for site in self.of(ast.Name) if site.node.id in names)
        return [site for site in found if isinstance(site.node.ctx, ast.Load)]

    def phrase(self, node: ast.expr | None) -> str:
        """Name *node* by its role, or by the argument that it is."""
        if role := role_of(node):
            return f"the {role}"
        if isinstance(node, ast.Name) and node.id in self.arguments:
            return f"`{node.id}`"
        return ""
