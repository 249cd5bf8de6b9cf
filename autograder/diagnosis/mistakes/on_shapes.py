"""Mistakes in shapes: sizes in another order, axes too many or too few, heads put together."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    mistake,
    name_of,
    put,
    site_of,
)
from autograder.diagnosis.mistakes.scopes import Scope
from autograder.diagnosis.mistakes.vocabulary import ORDINALS, counted, role_of

PAIRED = ("Linear", "rand", "randn", "draw", "transpose", "view", "reshape", "softmax")
JOINED = (  # of a tensor (..., heads, features) whose last two axes must become one
    ("OBJECT", "heads_mixed.not_joined"),
    ("OBJECT.mean(-2)", "heads_mixed.mean_left"),
    ("OBJECT.sum(-2)", "heads_mixed.sum_left"),
    ("OBJECT[..., 0, :]", "heads_mixed.first_left"),
    ("OBJECT[..., -1, :]", "heads_mixed.last_left"),
    ("OBJECT.flip(-2).flatten(-2)", "heads_mixed.joined_in_reverse"),
    ("OBJECT.transpose(-2, -1).flatten(-2)", "heads_mixed.alternate"),
    ("OBJECT.transpose(-3, -2).flatten(-3, -2)", "heads_mixed.like_tokens"),
)
PARTS = (  # of the result: its place on the first axis
    ("OLD[0]", 0),
    ("OLD[1]", 1),
    ("OLD[-1]", -1),
    ("OLD[:1]", 0),
)
AXES = (  # of size one, too many in the result
    ("OLD.unsqueeze(0)", "axis_too_many.in_front"),
    ("OLD.unsqueeze(1)", "axis_too_many.second"),
    ("OLD.unsqueeze(-1)", "axis_too_many.at_the_end"),
    ("torch.atleast_2d(OLD)", "axis_too_many.in_front"),
)
MIXED = (  # items or heads, of scores or weights
    (
        "(lambda t: t[:1].expand_as(t) if t.ndim > 2 else t)(OLD)",
        "batch_mixed.quantity",
    ),
    (
        "(lambda t: t.mean(0, keepdim=True).expand_as(t) if t.ndim > 2 else t)(OLD)",
        "batch_mixed.mean_of_quantity",
    ),
    (
        "(lambda t: t[:, :1].expand_as(t) if t.ndim > 3 else t)(OLD)",
        "heads_repeated.quantity",
    ),
)


def new_shapes(scope: Scope) -> Iterator[Rewrite]:
    """A new shape whose sizes stand in another order, or that is not taken."""
    for site in scope.calls("view", "reshape"):
        call = site.node
        if not isinstance(call.func, ast.Attribute):
            continue
        what = scope.phrase(call.func.value)
        of = f" of {what}" if what else ""
        for first in range(len(call.args) - 1):
            one, other = map(counted, call.args[first : first + 2])
            key = "sizes_exchanged.counts" if one and other else "sizes_exchanged.sizes"
            edit = Edit(site, partial(_swapped, first))
            yield mistake(key, edit, of=of, one=one, other=other)
        if _is_product(call):
            for text, key in JOINED:
                yield mistake(key, put(site, text))
        else:
            yield mistake("heads_mixed.not_cut", put(site, "OBJECT"), of=of)
    for site in scope.of(ast.Assign):
        value = site.node.value
        if isinstance(value, ast.Tuple) and len(value.elts) == 2:  # noqa: PLR2004  # two to exchange
            edit = put(site_of(site, site.node, "value"), "(OLD[1], OLD[0])")
            one, other = map(counted, (*getattr(site.node.targets[0], "elts", ()), None, None)[:2])
            key = "sizes_exchanged.two_counts" if one and other else "sizes_exchanged.two_sizes"
            yield mistake(key, edit, one=one, other=other)


def _is_product(call: ast.Call) -> bool:
    """Whether the last size of a new shape is that of heads and features together."""
    last = call.args[-1] if call.args else None
    return isinstance(last, ast.BinOp) and isinstance(last.op, ast.Mult)


def _swapped(first: int, old: ast.Call) -> ast.expr:
    args = list(old.args)
    args[first], args[first + 1] = args[first + 1], args[first]
    return ast.copy_location(ast.Call(old.func, args, old.keywords), old)


def handed_on(scope: Scope) -> Iterator[Rewrite]:
    """Two arguments that are exchanged where they are handed on."""
    for site in scope.of(ast.Call):
        if name_of(site.node.func) in PAIRED:
            continue  # other rules say what such calls mean
        for first in range(len(site.node.args) - 1):
            pair = site.node.args[first : first + 2]
            names = [one.id for one in pair if isinstance(one, ast.Name)]
            if len(names) == len(pair) and {*names} <= {*scope.arguments}:
                one, other = names
                edit = Edit(site, partial(_swapped, first))
                yield mistake("arguments_exchanged.passed", edit, one=one, other=other)


def forms_of_results(scope: Scope) -> Iterator[Rewrite]:
    """Nothing is returned, a part of the result, or the result in another shape."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Return):
        if site.node.value is None:
            continue
        make = partial(put, site_of(site, site.node, "value"))
        yield mistake("nothing_returned", make("None"))
        if isinstance(site.node.value, ast.Tuple):
            continue
        for text, place in PARTS:
            yield mistake("part_returned.entry", make(text), which=ORDINALS[place])
        for text, key in AXES:
            yield mistake(key, make(text), "axis_too_many")
        edit, group = make("OLD.transpose(-2, -1)"), "transposed result"
        yield mistake("transposed.last_two", edit, group)
        yield mistake("transposed.first_two", make("OLD.transpose(0, 1)"), group)
        yield mistake("axes_joined.first_two", make("OLD.flatten(0, 1)"))


def batch(scope: Scope) -> Iterator[Rewrite]:
    """Scores and weights of one item, or of one head, that stand for all; or their mean."""
    for site in scope.of(ast.Assign):
        role = role_of(site.node.targets[0])
        if role not in {"scores", "weights"}:
            continue
        make = partial(put, site_of(site, site.node, "value"))
        for text, key in MIXED:
            yield mistake(key, make(text), key, role=role)  # of both roles they show the same


def one_source(scope: Scope) -> Iterator[Rewrite]:
    """One argument that stands for all the others."""
    names = [name for name in scope.tensors if name not in scope.optional]
    sites = [site for site in scope.of(ast.Name) if site.node.id in names[1:]]
    sites = [site for site in sites if isinstance(site.node.ctx, ast.Load)]
    if len(names) > 1 and len({site.node.id for site in sites}) > 1:
        edits: list[Edit] = [put(site, names[0]) for site in sites]
        yield mistake("operand_repeated.all", edits, name=names[0], names=_listed(names[1:]))


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


RULES = (new_shapes, handed_on, forms_of_results, batch, one_source)
