"""Mistakes in matrix products: operands exchanged, repeated, transposed, or not added up."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.mistakes.rewriting import (
    Rewrite,
    Site,
    mistake,
    put,
    transposed,
)
from autograder.diagnosis.mistakes.scopes import Scope
from autograder.diagnosis.mistakes.vocabulary import role_of

FEATURES = "features compared with features"  # a group of mistakes
MIXED = (  # of weights and the tokens that they mix
    ("LEFT.unsqueeze(-1) * RIGHT", "wrong_reduction.not_summed"),
    ("(LEFT.unsqueeze(-1) * RIGHT).sum(-1)", "wrong_axis.over_features"),
    ("RIGHT[LEFT.argmax(-1)]", "wrong_reduction.largest_weight"),
    ("LEFT @ RIGHT + 1", "wrong_reduction.starts_at_one"),
)


def products(scope: Scope) -> Iterator[Rewrite]:
    """A matrix product: operands exchanged, repeated, transposed, or not added up."""
    for site in scope.of(ast.BinOp):
        node = site.node
        if not isinstance(node.op, ast.MatMult):
            continue
        left, right = role_of(node.left), role_of(node.right)
        make = partial(put, site)
        if transposed(node.right) is not None:
            edit = make("OLD.transpose(-2, -1)")
            yield mistake("transposed.scores", edit, "exchange queries keys")
            yield from _repeated(scope, site)
        elif left == "weights":
            yield mistake("transposed.weights", make("LEFT.transpose(-2, -1) @ RIGHT"))
        else:
            key = "transposed.quantity" if right else "transposed.factor"
            what = scope.phrase(node.right) or "the second factor"
            yield mistake(key, make("LEFT @ RIGHT.transpose(-2, -1)"), what=what)
        yield from _other_products(scope, site)
        yield mistake("wrong_reduction.entries", make("LEFT * RIGHT"))
        if right:
            continue
        yield mistake("wrong_axis", make("(LEFT * RIGHT).sum(-1)"), "wrong_axis product")


def _is_named_otherwise(site: Site) -> bool:
    """Whether one factor alone is what other rules return, or project."""
    if role_of(site.node.left) == "weights":
        return isinstance(site.holder, ast.Return)
    return bool(role_of(site.node.right))


def _other_products(scope: Scope, site: Site) -> Iterator[Rewrite]:
    """The factors in the other order, only one of them, or their products not added up."""
    make = partial(put, site)
    left = scope.phrase(site.node.left) or "the first factor"
    turned = transposed(site.node.right)
    right = scope.phrase(turned or site.node.right) or "the second factor"
    if right != left:
        key, group = ("factors_exchanged.order", "")
        if turned is not None:
            key, group = "factors_exchanged.features", FEATURES
        yield mistake(key, make("RIGHT @ LEFT"), group, one=left, other=right)
        if turned is not None or not _is_named_otherwise(site):
            key = "step_missing.product_of" if left.startswith("`") else "step_missing.product"
            yield mistake(key, make("LEFT"), one=left, other=right)
    if turned is not None:
        text = "LEFT.transpose(-2, -1) @ RIGHT.transpose(-2, -1)"
        yield mistake("wrong_axis.features", make(text), FEATURES)
        text = "LEFT.unsqueeze(-2) * RIGHT.transpose(-2, -1).unsqueeze(-3)"
        yield mistake("wrong_reduction.one_by_one", make(text))
        for name in scope.tensors:
            if not role_of(ast.Name(name)):
                text = f"{name} @ {name}.transpose(-2, -1)"
                yield mistake("projection_missing.compared", make(text), name=name)
    if role_of(site.node.left) == "weights":
        for text, key in MIXED:
            yield mistake(key, make(text), what=right.removeprefix("the "))
    elif turned is None:
        yield mistake("wrong_axis.products", make("(LEFT * RIGHT).sum(0)"))


def _repeated(scope: Scope, site: Site) -> Iterator[Rewrite]:
    left = scope.phrase(site.node.left) or "the vectors"
    right = scope.phrase(transposed(site.node.right)) or "the vectors"
    if left == right:
        return
    for template, what, other in (
        ("LEFT @ LEFT.transpose(-2, -1)", left, right),
        ("RIGHT.transpose(-2, -1) @ RIGHT", right, left),
    ):
        group = f"{what} for {other}".replace("the ", "")
        yield mistake("operand_repeated.compared", put(site, template), group, what=what)


RULES = (products,)
