"""Mistakes in masks: what they hide, when, and with which value."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.operators.on_softmax import SOFTMAX
from autograder.diagnosis.operators.rewrites import (
    Rewrite,
    Site,
    input_site,
    mistake,
    name_of,
    option,
    put,
    site_of,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import capital, role_of

TRIANGLES = ("tril", "triu")

HIDES_ALL = {"softmax_axis", "mask_shifted", "mask_inverted", "mask_axis"}

HIDING = ("float('-inf')", "-1e9")  # where a row is hidden altogether, they show different things

FILLS = {
    "-20.0": "Hidden scores are low, but not low enough: hidden tokens keep a small weight.",
    "-10.0": "Hidden scores are low, but not low enough: hidden tokens keep a small weight.",
    "0.0": "Hidden scores become zero or nearly zero, whose exponential is one: they still count.",
    "0.001": "Hidden scores become nearly zero, whose exponential is nearly one: they still count.",
    "1e9": "Hidden scores become large, not small: hidden tokens take all the weight.",
    "-1.0": "Hidden scores become a small negative number: they still count.",
    "float('inf')": "Hidden scores become plus infinity, which takes all the weight or makes NaN.",
}


def needless_mask(scope: Scope) -> Iterator[Rewrite]:
    """A causal mask where the exercise asks for none."""
    if any(True for method in scope.methods for _ in method.calls(*TRIANGLES)):
        return
    for site in scope.calls(SOFTMAX):
        if scores := input_site(site):
            text = "(lambda s: s.masked_fill(torch.ones_like(s).triu(1) == 1, float('-inf')))(OLD)"
            sentence = "Later tokens are hidden, which this exercise does not ask for."
            yield mistake("mask_extra", put(scores, text), sentence)


def mask(scope: Scope) -> Iterator[Rewrite]:
    """The filling of hidden scores: forgotten, late, inverted, with another value."""
    for site in scope.calls("masked_fill"):
        scores, hidden = input_site(site), option(site.node, "mask", 1)
        if scores is None or hidden is None:
            continue
        fill = partial(put, site, X=scores, M=hidden)
        yield mistake("mask_missing", fill("X"))
        for value in HIDING:
            text = f"X.masked_fill(~(M), {value})"
            yield mistake("mask_inverted", fill(text), group="mask_inverted")
        for value, sentence in FILLS.items():
            yield mistake("mask_fill", fill(f"X.masked_fill(M, {value})"), sentence)
        yield from _sums(scope, site, scores, hidden)
        turned = fill("X.masked_fill((M).transpose(-2, -1), float('-inf'))")
        yield mistake("mask_axis", turned, group="mask_inverted")  # of a triangle it is the other
        yield mistake(
            "batch_mixed",
            fill("X.masked_fill((M)[:1], float('-inf'))"),
            "The mask of the first item applies to all items.",
        )
        if isinstance(scores.node, ast.Name) and scores.node.id in scope.tensors:
            yield mistake(
                "in_place",
                fill("X.masked_fill_(M, float('-inf'))"),
                f"The caller's `{scores.node.id}` is overwritten.",
            )
        if after := next(scope.calls(SOFTMAX), None):
            yield from _late_masks(scope, site, after, hidden)
    yield from _new_axes(scope)


def _new_axes(scope: Scope) -> Iterator[Rewrite]:
    """A mask, or what it is made from, with its new axis in another place, or with none."""
    for site in scope.calls("unsqueeze") if not scope.is_constructor else ():
        is_mask = role_of(site.node.func.value) == "mask"
        if is_mask:
            yield mistake("mask_axis", put(site, "OBJECT.unsqueeze(-1)"))
        what = capital("the mask" if is_mask else scope.phrase(site.node.func.value) or "a tensor")
        for text, how in (("OBJECT", "no new axis"), ("OBJECT.unsqueeze(0)", "its axis in front")):
            sentence = f"{what} gets {how}, so that its entries meet those of another axis."
            question = "Which axis of the one must meet which axis of the other?"
            yield mistake("mask_axis", put(site, text), sentence, question)


def _sums(scope: Scope, site: Site, scores: Site, hidden: ast.expr) -> Iterator[Rewrite]:
    """A mask that is added, or multiplied by infinity; one that is not the caller's."""
    fill = partial(put, site, X=scores, M=hidden)
    mask = hidden.left if isinstance(hidden, ast.Compare) else hidden
    sentence = "The mask is added to the scores, which hides nothing."
    yield mistake("mask_fill", put(site, "X + A", X=scores, A=mask), sentence)
    sentence = "Zero times infinity is NaN: the product makes NaN of what must be visible."
    question = "What is 0 times infinity, and what fills positions without a product?"
    yield mistake("mask_fill", fill("X + (M) * float('-inf')"), sentence, question)
    if isinstance(mask, ast.Name) and mask.id in scope.tensors:
        sentence = f"`{mask.id}` has no effect: later tokens are hidden, whatever it holds."
        text = "(lambda s: s.masked_fill(torch.ones_like(s).tril() == 0, float('-inf')))(X)"
        yield mistake("argument_ignored", fill(text), sentence)


def _late_masks(scope: Scope, site: Site, after: Site, hidden: ast.expr) -> Iterator[Rewrite]:
    test = _condition(scope, site)
    for value, sentence in (
        ("0.0", ""),
        (
            "float('-inf')",
            "Minus infinity comes after the softmax: nothing turns it into zero.",
        ),
    ):
        text = f"OLD.masked_fill(M, {value})"
        if test is not None:
            text = f"({text} if TEST else OLD)"
        late = put(after, text, M=hidden, TEST=test)
        yield mistake("mask_after_softmax", (put(site, "OBJECT"), late), sentence)


def _condition(scope: Scope, site: Site) -> ast.expr | None:
    """Return the condition under which the node at *site* runs."""
    for other in scope.of(ast.If):
        if any(node is site.node for part in other.node.body for node in ast.walk(part)):
            return other.node.test  # type: ignore[no-any-return]  # a place holds any node
    return None


def triangle(scope: Scope) -> Iterator[Rewrite]:
    """The triangle of a causal mask: shifted, the other one, or none."""
    for site in scope.calls(*TRIANGLES):
        call = site.node
        ones, diagonal = input_site(site), option(call, "diagonal", 1)
        if ones is None:
            continue
        lower = name_of(call.func) == "tril"
        at = ast.literal_eval(diagonal) if isinstance(diagonal, ast.Constant) else 0
        make = partial(put, site, X=ones)
        for more, sentence in (
            (1, "Each token also sees the one after it."),
            (
                -1,
                "Each token is hidden from itself, so that nothing is left for the first one.",
            ),
            (2, "Each token also sees the two after it."),
            (-2, "Each token is hidden from itself and from the one before it."),
        ):
            text = f"X.{name_of(call.func)}({at + more})"
            yield mistake("mask_shifted", make(text), sentence)
        other = "triu" if lower else "tril"
        for shift in dict.fromkeys((-at, 1 - at if lower else at - 1, at)):
            yield mistake(
                "mask_inverted",
                make(f"X.{other}({shift})"),
                "The mask is the wrong triangle: tokens see the later ones, not the earlier ones.",
                group="mask_inverted",
            )
        nothing, everything = ("X", "torch.zeros_like(X)")[:: 1 if lower else -1]
        yield mistake("mask_missing", make(nothing))
        sentence = "All tokens are hidden: the triangle leaves nothing visible."
        yield mistake("mask_extra", make(everything), sentence)
        only = "X.tril().triu()" if lower else "X - X.tril().triu()"
        yield mistake("mask_extra", make(only), "Each token sees only itself.")
        if lower:
            yield from _forms(site)
    for site in scope.of(ast.Return):
        if isinstance(site.node.value, ast.Compare):
            yield from _forms(site_of(site, site.node, "value"))
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.Mult) and is_triangle(site.node.right):
            yield mistake("mask_missing", put(site, "LEFT"))


def _forms(site: Site) -> Iterator[Rewrite]:
    """A mask of zeros and minus infinity, or one that is mirrored."""
    text = "torch.zeros((OLD).shape).masked_fill((OLD) == 0, float('-inf'))"
    yield mistake("mask_form", put(site, text))
    sentence = "The mask is mirrored: its columns are in the reverse order."
    yield mistake("mask_inverted", put(site, "(OLD).flip(-1)"), sentence)


def is_triangle(node: ast.expr) -> bool:
    """Whether *node* is a tensor of which one triangle is kept."""
    return isinstance(node, ast.Call) and name_of(node.func) in TRIANGLES


def with_large_fills(scope: Scope, rewrite: Rewrite) -> Iterator[Rewrite]:
    """Fill with a large number instead of infinity as well: alone, that is right too.

    With some mistakes, all that a softmax sees is hidden; only then do the two differ.
    """
    calls = [site for other in scope.methods for site in other.calls("masked_fill")]
    fills = [site_of(site, site.node.args, 1) for site in calls if len(site.node.args) > 1]
    if fills and rewrite.kind in HIDES_ALL:
        edits = [put(site, "-1e9") for site in fills]
        yield rewrite._replace(edits=(*rewrite.edits, *edits))


RULES = (needless_mask, mask, triangle)
