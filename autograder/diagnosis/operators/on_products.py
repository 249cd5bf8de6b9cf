"""Mistakes in matrix products: operands exchanged, repeated, transposed, or not added up."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.operators.rewrites import (
    Rewrite,
    Site,
    mistake,
    put,
    transposed,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import capital, role_of

FEATURES = "Features are compared with features, not tokens with tokens."


def products(scope: Scope) -> Iterator[Rewrite]:
    """A matrix product: operands exchanged, repeated, transposed, or not added up."""
    for site in scope.of(ast.BinOp):
        node = site.node
        if not isinstance(node.op, ast.MatMult):
            continue
        left, right = role_of(node.left), role_of(node.right)
        make = partial(put, site)
        if transposed(node.right) is not None:
            yield mistake(
                "transposed",
                make("OLD.transpose(-2, -1)"),
                "The scores are transposed: row i holds those of key i with every query.",
                "Which query does row i of the scores belong to?",
                group="exchange queries keys",
            )
            yield from _repeated(scope, site)
        elif left == "weights":
            yield mistake(
                "transposed",
                make("LEFT.transpose(-2, -1) @ RIGHT"),
                "The transposed weights mix the values: row i has the weights that key i gets.",
                "Which weights mix the values for token i?",
            )
        else:
            yield mistake(
                "transposed",
                make("LEFT @ RIGHT.transpose(-2, -1)"),
                _needlessly_transposed(scope.phrase(node.right)),
            )
        yield from _other_products(scope, site)
        yield mistake(
            "wrong_reduction",
            make("LEFT * RIGHT"),
            "Products are formed entry by entry, and not added up.",
            "What turns the products of two vectors into one number?",
        )
        if right:
            continue
        yield mistake("wrong_axis", make("(LEFT * RIGHT).sum(-1)"), group="wrong_axis product")


def _needlessly_transposed(what: str) -> str:
    if what.startswith("the "):
        return f"{capital(what)} of a product are transposed although they must not be."
    return f"{what or 'The second factor'} is transposed in a product although it must not be."


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
        sentence = f"{capital(left)} and {right} are in the other order in their product."
        sentence, group = (sentence, "") if turned is None else (FEATURES, FEATURES)
        yield mistake("factors_exchanged", make("RIGHT @ LEFT"), sentence, group=group)
        if turned is not None or not _is_named_otherwise(site):
            sentence = f"{capital(left)} are not multiplied by {right}: there is no product."
            sentence = sentence.replace("` are not", "` is not")
            yield mistake("step_missing", make("LEFT"), sentence)
    if turned is not None:
        text = "LEFT.transpose(-2, -1) @ RIGHT.transpose(-2, -1)"
        yield mistake("wrong_axis", make(text), FEATURES, group=FEATURES)
        text = "LEFT.unsqueeze(-2) * RIGHT.transpose(-2, -1).unsqueeze(-3)"
        sentence = "The features are multiplied one by one, and their products are not added up."
        yield mistake("wrong_reduction", make(text), sentence)
        for name in scope.tensors:
            if not role_of(ast.Name(name)):
                sentence = f"`{name}` is compared with itself: queries and keys have no effect."
                text = f"{name} @ {name}.transpose(-2, -1)"
                yield mistake("projection_missing", make(text), sentence)
    if role_of(site.node.left) == "weights":
        what = right if right.startswith("`") else right.removeprefix("the ")
        for text, kind, sentence in (
            (
                "LEFT.unsqueeze(-1) * RIGHT",
                "wrong_reduction",
                f"The weighted {what} are not summed.",
            ),
            (
                "(LEFT.unsqueeze(-1) * RIGHT).sum(-1)",
                "wrong_axis",
                "The sum runs over the features, not over the tokens.",
            ),
            (
                "RIGHT[LEFT.argmax(-1)]",
                "wrong_reduction",
                "Only the token with the largest weight counts; all must, by their weights.",
            ),
            ("LEFT @ RIGHT + 1", "wrong_reduction", "The weighted sum starts at one, not at zero."),
        ):
            yield mistake(kind, make(text), sentence)
    elif turned is None:
        sentence = "The products are added up along another axis."
        yield mistake("wrong_axis", make("(LEFT * RIGHT).sum(0)"), sentence)


def _repeated(scope: Scope, site: Site) -> Iterator[Rewrite]:
    left = scope.phrase(site.node.left) or "the vectors"
    right = scope.phrase(transposed(site.node.right)) or "the vectors"
    if left == right:
        return
    for template, what, other in (
        ("LEFT @ LEFT.transpose(-2, -1)", left, right),
        ("RIGHT.transpose(-2, -1) @ RIGHT", right, left),
    ):
        yield mistake(
            "operand_repeated",
            put(site, template),
            f"{capital(what)} are compared with themselves.",
            f"With what must {what} be compared?",
            group=f"{what} for {other}".replace("the ", ""),
        )


RULES = (products,)
