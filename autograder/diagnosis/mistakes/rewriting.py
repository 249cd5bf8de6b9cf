"""Mistakes as rewrites of places in a syntax tree, made from templates."""

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from autograder.diagnosis.mistakes.kinds import KINDS

Make = Callable[[Any], Any]
TRANSPOSES = ("transpose", "permute", "swapaxes", "t")


class Site(NamedTuple):
    """A place in the tree: an attribute of a node, or an index of a list."""

    holder: Any
    key: Any
    depth: int

    @property
    def node(self) -> Any:
        """What stands there now."""
        return self.holder[self.key] if isinstance(self.holder, list) else self._attribute()

    def _attribute(self) -> Any:
        return getattr(self.holder, self.key)

    def put(self, new: Any) -> None:
        """Put *new* there."""
        if isinstance(self.holder, list):
            self.holder[self.key] = new
        else:
            setattr(self.holder, self.key, new)

    @property
    def place(self) -> tuple[int, Any]:
        """What two edits of the same place have in common."""
        return id(self.holder), self.key


class Edit(NamedTuple):
    """A new node for a place, made of the one that stands there."""

    site: Site
    make: Make


class Rewrite(NamedTuple):
    """A mistake: what it is, what a student reads, and the edits that make it.

    Of those that fit equally well and have the same *group*, only the first is said.
    """

    kind: str
    explanation: str
    question: str
    edits: tuple[Edit, ...]
    group: str

    @property
    def places(self) -> frozenset[tuple[int, Any]]:
        """The places that it changes."""
        return frozenset(edit.site.place for edit in self.edits)


def mistake(key: str, edits: Edit | Sequence[Edit], group: str = "", **words: object) -> Rewrite:
    """Make a rewrite with the sentences that ``kinds.toml`` has at *key*.

    *key* is a kind, or a kind and one of its variants, as in "mask_fill.zero"; *words* fill the
    placeholders of the sentences.
    """
    kind, _, variant = key.partition(".")
    said = KINDS[kind].wording(variant, words)
    edits = (edits,) if isinstance(edits, Edit) else tuple(edits)
    group = group or f"{kind} {said.explanation}"
    return Rewrite(kind, said.explanation, said.question, edits, group)


def expression(template: str, **parts: Any) -> Any:
    """Parse *template* with nodes in the place of names."""
    return _Fill(parts).visit(ast.parse(template, mode="eval").body)


def statement(template: str, **parts: Any) -> Any:
    """Parse one statement with nodes in the place of names; a name alone may be a statement."""
    return _Fill(parts).visit(ast.parse(template).body[0])


def put(site: Site, template: str, **parts: Any) -> Edit:
    """Replace the node at *site* by *template*, in which names stand for nodes.

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
    return Edit(site, partial(within_body, text))


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


def within_body(text: str, old: ast.stmt) -> ast.stmt:
    """Return one statement that runs *text* and then *old*."""
    new = ast.parse(f"if True:\n    {text}").body[0]
    new.body.append(old)  # type: ignore[attr-defined]  # an if has a body
    return new


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: dict[str, Any]) -> None:
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> Any:  # the name that ast calls
        return self._parts.get(node.id, node)

    def visit_Expr(self, node: ast.Expr) -> Any:  # likewise
        new = self.visit(node.value)
        return new if isinstance(new, ast.stmt) else ast.copy_location(ast.Expr(new), node)


def name_of(node: ast.expr) -> str:
    """Return the last part of a dotted name."""
    match node:
        case ast.Attribute(_, name) | ast.Name(name):
            return name
    return ""


def is_module(node: ast.expr) -> bool:
    """Whether *node* is torch or one of its packages, so that a call on it is no method."""
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
    """Return the argument *name* of *call*, which may stand at *position* (from the tensor on)."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if isinstance(call.func, ast.Attribute) and not is_module(call.func.value):
        position -= 1
    return call.args[position] if 0 <= position < len(call.args) else None


def transposed(node: ast.expr | None) -> ast.expr | None:
    """Return the tensor of which *node* is the transposed one."""
    match node:
        case ast.Attribute(tensor, "T" | "mT"):
            return tensor
        case ast.Call(ast.Attribute(tensor, name)) if name in TRANSPOSES:
            return tensor
    return None
