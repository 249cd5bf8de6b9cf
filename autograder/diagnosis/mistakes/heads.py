"""Makes mistakes in heads, in the axes of new shapes, and between the items of a batch."""

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    before,
    input_site,
    mistake,
    mistakes,
    option,
    put,
    site_of,
    swapped,
    transposed,
)
from autograder.diagnosis.student_code import name_of
from autograder.diagnosis.vocabulary import ORDINALS, PROJECTIONS, axis_of, counted, role_of

OTHER_AXES = ((0, 1), (1, 2), (0, 2), (1, 3), (2, 3), (-2, -1))

TOGETHER = (  # of the results H of heads, which must be concatenated along the axis D
    ("torch.stack(H, dim=0)", "concat_axis.own_axis"),
    ("torch.stack(H, dim=-1)", "concat_axis.own_axis"),
    ("sum(H)", "heads_mixed.added"),
    ("sum(H) / len(H)", "heads_mixed.averaged"),
    ("torch.cat(H[::-1], dim=D)", "heads_mixed.reversed"),
    ("torch.stack(H, dim=-1).flatten(-2)", "heads_mixed.interleaved"),
    ("torch.cat([H[0]] * len(H), dim=D)", "heads_repeated.first"),
)

JOINED = (  # of a tensor (..., heads, features) whose last two axes must become one
    ("OBJECT", "heads_mixed.not_joined"),
    ("OBJECT.sum(-2)", "heads_mixed.sum_left"),
    ("OBJECT.flip(-2).flatten(-2)", "heads_mixed.joined_in_reverse"),
    ("OBJECT.transpose(-2, -1).flatten(-2)", "heads_mixed.alternate"),
)

FIRST_ITEM = "(lambda t: t[:1].expand_as(t) if t.ndim > 2 else t)(OLD)"


def axes(scope: Scope) -> Iterator[Rewrite]:
    """Axes that are not swapped, only reshaped, or swapped with the wrong ones."""
    for site in scope.of((ast.Call, ast.Attribute)):
        tensor = transposed(site.node)
        if tensor is None or scope.is_constructor:
            continue
        what = scope.phrase(tensor)
        of = f" of {what}" if what else ""
        make = partial(put, site)
        two = f"{_pair(site.node)}{of}"
        yield mistake("transposed.not_exchanged", make("OBJECT"), what=two)
        yield mistake("reshaped.only", make("OBJECT.reshape(OLD.shape)"), what=two)
        for axes in OTHER_AXES:
            edit = make("OBJECT.transpose({}, {})".format(*axes))
            one, other = (ORDINALS[axis] for axis in axes)
            group = f"other axes {of}"
            yield mistake("transposed.other_axes", edit, group, of=of, one=one, other=other)
    for site in scope.of(ast.Assign):
        match transposed(site.node.value):
            case ast.Call(ast.Attribute(source)) as shaped if _is_cut(shaped):
                what = role_of(site.node.targets[0]) or "features"
                edit = put(site_of(site, site.node, "value"), "CUT", CUT=source)
                yield mistake("heads_mixed.not_split", edit, what=what)
    swaps = [site for site in scope.calls("transpose") if _is_cut(site.node.func.value)]
    if len(swaps) > 1:
        all_cut = [put(site, "OBJECT.reshape(OLD.shape)") for site in swaps]
        yield mistake("reshaped.heads", all_cut)
    yield from _splits(scope)


def _splits(scope: Scope) -> Iterator[Rewrite]:
    """Heads that get every H-th feature, where features are split, joined, or both."""
    cuts, joins = [], []
    for site in scope.calls("view", "reshape"):
        if site.node.args and isinstance(site.node.args[-1], ast.BinOp):
            joins.append(put(site_of(site, site.node.func, "value"), "OLD.transpose(-2, -1)"))
            yield mistake("heads_mixed.alternate", joins[-1])
        if len(site.node.args) == 4:  # noqa: PLR2004  # items, tokens, heads, features
            parts = dict(zip("ABCD", site.node.args, strict=True))
            cuts.append(put(site, "OBJECT.view(A, B, D, C).transpose(-1, -2)", **parts))
            yield mistake("reshaped.neighbours", cuts[-1], "interleaved heads")
    if len(cuts) > 1:
        yield mistake("reshaped.neighbours", cuts, "interleaved heads")
        yield mistake("reshaped.neighbours", [*cuts, *joins], "interleaved heads")


def _pair(node: ast.expr) -> str:
    """Name the two axes that are swapped: those of a matrix, or those with the two numbers."""
    match node:
        case ast.Call(ast.Attribute(), args) if [axis_of(one)[:3] for one in args] == ["the"] * 2:
            one, other = map(axis_of, args)
            return f"{one.removesuffix(' axis')} and {other}"
        case ast.Attribute():
            return "the two axes"
    return "the axes of tokens and features"


def _is_cut(node: ast.expr | None) -> bool:
    """Whether *node* is a tensor in a new shape."""
    return isinstance(node, ast.Call) and name_of(node.func) in {"view", "reshape"}


def heads(scope: Scope) -> Iterator[Rewrite]:
    """The results of heads, concatenated along the wrong axis or in the wrong order."""
    for site in scope.calls("cat", "concat"):
        parts = input_site(site)
        dim = option(site.node, "dim", 1)
        if parts is None or dim is None:
            continue
        for axis in (0, 1, -2):
            edit = put(site, f"torch.cat(H, dim={axis})", H=parts)
            words = {"axis": ORDINALS[axis], "right": axis_of(dim)}
            yield mistake("concat_axis.other_axis", edit, "concat_axis", **words)
        yield from mistakes(partial(put, site, H=parts, D=dim), TOGETHER)


def new_shapes(scope: Scope) -> Iterator[Rewrite]:
    """A new shape with its sizes in the wrong order, or no new shape."""
    for site in scope.calls("view", "reshape"):
        call = site.node
        if not isinstance(call.func, ast.Attribute):
            continue
        what = scope.phrase(call.func.value)
        of = f" of {what}" if what else ""
        for first in range(len(call.args) - 1):
            one, other = map(counted, call.args[first : first + 2])
            key = "sizes_exchanged.counts" if one and other else "sizes_exchanged.sizes"
            edit = Edit(site, partial(swapped, first))
            yield mistake(key, edit, of=of, one=one, other=other)
        last = call.args[-1] if call.args else None
        if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Mult):  # heads and features
            yield from mistakes(partial(put, site), JOINED)
        else:
            yield mistake("heads_mixed.not_cut", put(site, "OBJECT"), of=of)


def scores_of_one_item(scope: Scope) -> Iterator[Rewrite]:
    """Scores and weights of one item that are used for all items."""
    yield from _of_first_item(scope, ("scores", "weights"), "batch_mixed.quantity")


def one_item(scope: Scope) -> Iterator[Rewrite]:
    """Quantities of one item of a batch that are used for all items."""
    if scope.is_constructor or not scope.tensors:
        return
    yield from _of_first_item(scope, PROJECTIONS)
    name = scope.tensors[0]
    same = f"{name} = {name}[:1].expand_as({name}) if {name}.ndim > 2 else {name}"
    yield mistake("batch_mixed.first", before(scope.start, same))


def _of_first_item(scope: Scope, roles: Sequence[str], group: str = "") -> Iterator[Rewrite]:
    for role, value in (one for one in scope.quantities if one[0] in roles):
        yield mistake("batch_mixed.quantity", put(value, FIRST_ITEM), group, role=role)
