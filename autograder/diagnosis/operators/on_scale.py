"""Mistakes in the scale of the scores."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.operators.on_softmax import SOFTMAX
from autograder.diagnosis.operators.rewrites import (
    Rewrite,
    Site,
    input_site,
    mistake,
    name_of,
    put,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import PROJECTIONS, role_of

ROOTS = (0.5, -0.5)

CONSTANT_SIZES = (2, 3, 4, 8, 64)  # that students take from a document for every size


def scale(scope: Scope) -> Iterator[Rewrite]:
    """The scale of the scores: forgotten, by another size or power, in another place."""
    for site in scope.of(ast.BinOp):
        node = site.node
        if not (isinstance(node.op, ast.Div) and _is_root(node.right)):
            continue
        size = _size(node.right)
        what = scope.phrase(node.left) or "the scores"
        yield mistake("scale_missing", put(site, "LEFT"))
        yield mistake(
            "scale_wrong_power",
            put(site, "LEFT / SIZE", SIZE=size),
            f"All in all {what} are divided by the size of a key, not by its square root.",
        )
        yield mistake(
            "scale_wrong_power",
            put(site, "LEFT / (SIZE * 0.5)", SIZE=size),
            f"All in all {what} are divided by half the size of a key, not by its square root.",
        )
        yield mistake(
            "scale_wrong_power",
            put(site, "LEFT * RIGHT"),
            f"The scale makes {what} larger by the square root of the key size, not smaller, which "
            "makes the softmax sharper.",
            "Should longer keys make the scores larger?",
        )
        yield mistake(
            "scale_wrong_power",
            put(site, "(LEFT / SIZE) ** 0.5", SIZE=size),
            f"The root of {what} is taken as well, and that of a negative number is NaN.",
            "Of which number alone should the root be taken?",
        )
        yield from _other_sizes(scope, site, what)
        if after := next(scope.calls(SOFTMAX), None):
            root = node.right
            edits = (put(site, "LEFT"), put(after, "OLD / ROOT", ROOT=root))
            yield mistake("scale_misplaced", edits)


def _other_sizes(scope: Scope, site: Site, what: str) -> Iterator[Rewrite]:
    for template, phrase in _sizes(scope):
        edit = put(site, f"LEFT / ({template}) ** 0.5")
        sentence = f"{what[:1].upper()}{what[1:]} are divided by the square root of {phrase}."
        question = "How many products does one score add up?"
        yield mistake("scale_wrong_size", edit, sentence, question, group="scale_wrong_size")


def _sizes(scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield every size in scope as an expression, and what it is."""
    for name in scope.tensors:
        yield f"{name}.shape[-1]", f"the size of the last axis of `{name}`"
        holds_tokens = not name.startswith("W") and role_of(ast.Name(name)) in {"", *PROJECTIONS}
        what = "the number of tokens in" if holds_tokens else "the size of axis -2 of"
        yield f"{name}.shape[-2]", f"{what} `{name}`"
        yield f"{name}.shape[0]", f"the size of the first axis of `{name}`"
    for role in ("queries", "keys", "values"):
        if (local := scope.by_role.get(role)) and local not in scope.tensors:
            yield f"{local}.shape[-2]", "the number of tokens"
            yield f"{local}.shape[1]", f"the size of the second axis of the {role}"
    for name in scope.numbers:
        yield name, f"`{name}`"
    if scope.owner is not None:
        for name, layer in _attributes(scope.owner):
            if isinstance(layer, ast.Call) and name_of(layer.func) == "Linear":
                yield f"self.{name}.out_features", f"the number of features that `{name}` gives"
            elif isinstance(layer, ast.Name):
                yield f"self.{name}", f"`{layer.id}`"
    for number in CONSTANT_SIZES:
        yield str(number), f"{number}, whatever a key's size is"


def _attributes(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that the class sets, and what it sets them to."""
    for node in ast.walk(owner):
        match node:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
                yield name, value


def needless_scale(scope: Scope) -> Iterator[Rewrite]:
    """A scale where the exercise asks for none."""
    if any(_is_root(site.node.right) for site in scope.of(ast.BinOp)) or scope.is_constructor:
        return
    for site in scope.calls(SOFTMAX):
        if (scores := input_site(site)) and scope.tensors:
            size = f"{scope.tensors[0]}.shape[-1]"
            for template in (f"OLD / ({size}) ** 0.5", f"OLD / ({size})"):
                yield mistake("scale_extra", put(scores, template), group="scale_extra")
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.MatMult):
            what = scope.phrase(site.node) or "the products"
            sentence = f"Something divides {what} by a size, which the exercise does not ask for."
            if role_of(site.node.left) == "weights":
                yield mistake(
                    "wrong_reduction",
                    put(site, "OLD / LEFT.shape[-1]"),
                    "The mean of the weighted tokens is taken instead of their sum.",
                    "What do the weights already sum to?",
                    group="scale_extra",
                )
            for template in ("OLD / LEFT.shape[-1] ** 0.5", "OLD / LEFT.shape[-1]"):
                yield mistake("scale_extra", put(site, template), sentence, group="scale_extra")


def _is_root(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(_, ast.Pow(), ast.Constant(power)):
            return power in ROOTS
        case ast.Call(func):
            return name_of(func) == "sqrt"
    return False


def _size(node: ast.expr) -> ast.expr:
    """Return the size whose root *node* takes."""
    match node:
        case ast.BinOp(size):
            return size
        case ast.Call(_, [size]):
            return size
        case ast.Call(ast.Attribute(size)):
            return size
    return node


RULES = (scale, needless_scale)
