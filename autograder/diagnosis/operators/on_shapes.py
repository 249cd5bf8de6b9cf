"""Mistakes in shapes: sizes in another order, axes too many or too few, heads put together."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.operators.rewrites import (
    Edit,
    Rewrite,
    mistake,
    name_of,
    put,
    site_of,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import ORDINALS, counted, role_of

PAIRED = ("Linear", "rand", "randn", "draw", "transpose", "view", "reshape", "softmax")
JOINED = (  # of a tensor (..., heads, features) whose last two axes must become one
    ("OBJECT", "The axes of heads and features are not joined to one."),
    ("OBJECT.mean(-2)", "The results of the heads are averaged."),
    ("OBJECT.sum(-2)", "The results of the heads are added up."),
    ("OBJECT[..., 0, :]", "Only the first head's result is left."),
    ("OBJECT[..., -1, :]", "Only the last head's result is left."),
    ("OBJECT.flip(-2).flatten(-2)", "The heads are side by side in the reverse order."),
    (
        "OBJECT.transpose(-2, -1).flatten(-2)",
        "The features of the heads alternate; those of each must be one block.",
    ),
    ("OBJECT.transpose(-3, -2).flatten(-3, -2)", "The heads follow one another like tokens."),
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
            names = [counted(size) for size in call.args[first : first + 2]]
            sentence = f"The numbers of {' and of '.join(names)} are exchanged in the shape{of}."
            sentence = sentence if all(names) else f"Two sizes of the shape{of} are exchanged."
            yield mistake("sizes_exchanged", Edit(site, partial(_swapped, first)), sentence)
        if _is_product(call):
            for text, sentence in JOINED:
                yield mistake("heads_mixed", put(site, text), sentence)
        else:
            sentence = f"The features{of} are not cut into heads."
            yield mistake("heads_mixed", put(site, "OBJECT"), sentence)
    for site in scope.of(ast.Assign):
        value = site.node.value
        if isinstance(value, ast.Tuple) and len(value.elts) == 2:  # noqa: PLR2004  # two to exchange
            edit = put(site_of(site, site.node, "value"), "(OLD[1], OLD[0])")
            names = [counted(size) for size in getattr(site.node.targets[0], "elts", [None])]
            sentence = f"The numbers of {' and of '.join(names)} are exchanged."
            sentence = sentence if all(names) else "Two sizes are exchanged."
            yield mistake("sizes_exchanged", edit, sentence)


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
                sentence = f"`{names[0]}` and `{names[1]}` are exchanged where they are handed on."
                edit = Edit(site, partial(_swapped, first))
                yield mistake("arguments_exchanged", edit, sentence)


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
        for text, which in (("[0]", 0), ("[1]", 1), ("[-1]", -1), ("[:1]", 0)):
            sentence = f"Only the {ORDINALS[which]} entry of the result's first axis is returned."
            yield mistake("part_returned", make(f"OLD{text}"), sentence)
        for text, where in (
            ("OLD.unsqueeze(0)", "in front"),
            ("OLD.unsqueeze(1)", "in the second place"),
            ("OLD.unsqueeze(-1)", "at the end"),
            ("torch.atleast_2d(OLD)", "in front"),
        ):
            sentence = f"The result has one axis too many, of size one, {where}."
            yield mistake("axis_too_many", make(text), sentence, group="axis_too_many")
        sentence = "The result is transposed: its last two axes are exchanged."
        edit = make("OLD.transpose(-2, -1)")
        yield mistake("transposed", edit, sentence, group="transposed result")
        sentence = "The result is transposed: its first two axes are exchanged."
        edit = make("OLD.transpose(0, 1)")
        yield mistake("transposed", edit, sentence, group="transposed result")
        sentence = "The first two axes of the result are one."
        yield mistake("axes_joined", make("OLD.flatten(0, 1)"), sentence)


def batch(scope: Scope) -> Iterator[Rewrite]:
    """Scores and weights of one item, or of one head, that stand for all; or their mean."""
    for site in scope.of(ast.Assign):
        role = role_of(site.node.targets[0])
        if role not in {"scores", "weights"}:
            continue
        make = partial(put, site_of(site, site.node, "value"))
        for text, kind, sentence in (
            (
                "(lambda t: t[:1].expand_as(t) if t.ndim > 2 else t)(OLD)",
                "batch_mixed",
                f"The {role} of the first item of the batch stand for those of all items.",
            ),
            (
                "(lambda t: t.mean(0, keepdim=True).expand_as(t) if t.ndim > 2 else t)(OLD)",
                "batch_mixed",
                f"The {role} are averaged over the items of the batch.",
            ),
            (
                "(lambda t: t[:, :1].expand_as(t) if t.ndim > 3 else t)(OLD)",
                "heads_repeated",
                f"The {role} of the first head stand for those of all heads.",
            ),
        ):
            yield mistake(kind, make(text), sentence, group=sentence.replace("scores", "weights"))


def one_source(scope: Scope) -> Iterator[Rewrite]:
    """One argument that stands for all the others."""
    names = [name for name in scope.tensors if name not in scope.optional]
    sites = [site for site in scope.of(ast.Name) if site.node.id in names[1:]]
    sites = [site for site in sites if isinstance(site.node.ctx, ast.Load)]
    if len(names) > 1 and len({site.node.id for site in sites}) > 1:
        sentence = f"Only `{names[0]}` counts: it stands in for {_listed(names[1:])} as well."
        edits: list[Edit] = [put(site, names[0]) for site in sites]
        yield mistake("operand_repeated", edits, sentence)


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


RULES = (new_shapes, handed_on, forms_of_results, batch, one_source)
