"""Makes mistakes in masks: what they hide, when, and with which value."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.mistakes.rewriting import (
    Rewrite,
    Scope,
    Site,
    constant,
    input_site,
    mistake,
    mistakes,
    number_of,
    option,
    put,
    site_of,
)
from autograder.diagnosis.mistakes.scores import SOFTMAX
from autograder.diagnosis.student_code import name_of
from autograder.diagnosis.vocabulary import role_of

TRIANGLES = ("tril", "triu")

HIDES_ALL = {"softmax_axis", "mask_shifted", "mask_inverted", "mask_axis"}

INVERTED = (  # where a row is hidden altogether, they show different things
    ("X.masked_fill(~(M), float('-inf'))", "mask_inverted"),
    ("X.masked_fill(~(M), -1e9)", "mask_inverted"),
)

FILLS = (
    ("X.masked_fill(M, -10.0)", "mask_fill.low"),
    ("X.masked_fill(M, -1e9)", "mask_fill.finite"),
    ("X.masked_fill(M, 0.0)", "mask_fill.zero"),
    ("X.masked_fill(M, 1e9)", "mask_fill.large"),
    ("X.masked_fill(M, -1.0)", "mask_fill.small_negative"),
    ("X.masked_fill(M, float('inf'))", "mask_fill.infinity"),
    ("X + A", "mask_fill.added"),
    ("X + (M) * float('-inf')", "mask_fill.times_infinity"),
    ("(lambda s: s.masked_fill(s == 0, float('-inf')))(X.masked_fill(M, 0.0))", "mask_extra.zeros"),
)

SHIFTS = (  # of the diagonal of a lower triangle
    (1, "mask_shifted.one_later"),
    (-1, "mask_shifted.without_itself"),
)


def needless_mask(scope: Scope) -> Iterator[Rewrite]:
    """A causal mask where the exercise asks for none."""
    if any(True for method in scope.methods for _ in method.calls(*TRIANGLES)):
        return
    for site in scope.calls(SOFTMAX):
        if scores := input_site(site):
            text = "(lambda s: s.masked_fill(torch.ones_like(s).triu(1) == 1, float('-inf')))(OLD)"
            yield mistake("mask_extra.later", put(scores, text))


def mask(scope: Scope) -> Iterator[Rewrite]:
    """The filling of hidden scores: forgotten, late, inverted, with another value."""
    for site in scope.calls("masked_fill"):
        scores, hidden = input_site(site), option(site.node, "mask", 1)
        if scores is None or hidden is None:
            continue
        value = option(site.node, "value", 2)
        if isinstance(value, ast.Name) or number_of(value) is not None:
            continue  # such as the id of a padding, or a divisor of 1: neither hides a score
        added = hidden.left if isinstance(hidden, ast.Compare) else hidden
        fill = partial(put, site, X=scores, M=hidden, A=added)
        yield mistake("mask_missing", fill("X"))
        yield from mistakes(fill, INVERTED, "mask_inverted")
        yield from mistakes(fill, FILLS)
        turned = fill("X.masked_fill((M).transpose(-2, -1), float('-inf'))")
        yield mistake(
            "mask_axis.transposed", turned, "mask_inverted"
        )  # of a triangle it is the other
        yield mistake("batch_mixed.mask", fill("X.masked_fill((M)[:1], float('-inf'))"))
        if isinstance(scores.node, ast.Name) and scores.node.id in scope.tensors:
            edit = fill("X.masked_fill_(M, float('-inf'))")
            yield mistake("in_place.argument", edit, name=scores.node.id)
        if after := next(scope.calls(SOFTMAX), None):
            yield from _late_masks(scope, site, after, hidden)
    yield from _new_axes(scope)
    for site in scope.of(ast.Subscript):
        match site.node.slice:
            case ast.Tuple([ast.Slice(None, ast.Name() as length), ast.Slice(None, ast.Name())]):
                last = put(site, "M[-T:, :T]", M=site.node.value, T=length)
                yield mistake("mask_shifted.last_rows", last)


def _new_axes(scope: Scope) -> Iterator[Rewrite]:
    """A mask, or what it is made from, with its new axis in another place, or with none."""
    for site in scope.calls("unsqueeze") if not scope.is_constructor else ():
        is_mask = role_of(site.node.func.value) == "mask"
        if is_mask:
            yield mistake("mask_axis", put(site, "OBJECT.unsqueeze(-1)"))
        what = "the mask" if is_mask else scope.phrase(site.node.func.value) or "a tensor"
        yield mistake("mask_axis.no_new_axis", put(site, "OBJECT"), what=what)
        yield mistake("mask_axis.in_front", put(site, "OBJECT.unsqueeze(0)"), what=what)


def _late_masks(scope: Scope, site: Site, after: Site, hidden: ast.expr) -> Iterator[Rewrite]:
    test = _condition(scope, site)
    text = "OLD.masked_fill(M, 0.0)"
    if test is not None:
        text = f"({text} if TEST else OLD)"
    late = put(after, text, M=hidden, TEST=test)
    yield mistake("mask_after_softmax", (put(site, "OBJECT"), late))


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
        place = next((one for one in scope.sites if one.node is diagonal), None)
        make = partial(put, site, X=ones, D=place)
        at = number_of(diagonal) if diagonal else 0
        if place and at is None:  # of a matrix that is not square
            yield mistake("mask_shifted", constant(place, 0))
        for more, key in SHIFTS:
            shift = f"D + {more}" if at is None else at + more
            yield mistake(key, make(f"X.{name_of(call.func)}({shift})"))
        other = "triu" if lower else "tril"
        shifts = ("D", "D + 1") if at is None else (-at, 1 - at if lower else at - 1, at)
        for shift in dict.fromkeys(shifts):
            edit = make(f"X.{other}({shift})")
            yield mistake("mask_inverted.triangle", edit, "mask_inverted")
        nothing, everything = ("X", "torch.zeros_like(X)")[:: 1 if lower else -1]
        yield mistake("mask_missing", make(nothing))
        yield mistake("mask_extra.all", make(everything))
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.Mult) and is_triangle(site.node.right):
            yield mistake("mask_missing", put(site, "LEFT"))


def is_triangle(node: ast.expr) -> bool:
    """Whether *node* is a tensor of which one triangle is kept."""
    return isinstance(node, ast.Call) and name_of(node.func) in TRIANGLES


def with_large_fills(scope: Scope, rewrite: Rewrite) -> Iterator[Rewrite]:
    """Fill with a large number instead of infinity, or turn NaN into zero, as well.

    Alone, both are right, too: only with some mistakes, all that a softmax sees is hidden.
    """
    if rewrite.kind not in HIDES_ALL:
        return
    calls = [site for other in scope.methods for site in other.calls("masked_fill")]
    fills = [site_of(site, site.node.args, 1) for site in calls if len(site.node.args) > 1]
    if fills:
        edits = [put(site, "-1e9") for site in fills]
        yield rewrite._replace(edits=(*rewrite.edits, *edits))
        for site in (one for other in scope.methods for one in other.calls(SOFTMAX)):
            edit = put(site, "torch.nan_to_num(OLD)")
            yield rewrite._replace(edits=(*rewrite.edits, edit))
