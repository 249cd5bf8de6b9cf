"""Makes mistakes in steps and sizes: missing, needless or wrong ones."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    before,
    block,
    constant,
    input_site,
    leave_out,
    mistake,
    put,
    restate,
    site_of,
)
from autograder.diagnosis.mistakes.scores import SOFTMAX
from autograder.diagnosis.student_code import name_of
from autograder.diagnosis.vocabulary import (
    COUNTED,
    ORDINALS,
    PROJECTIONS,
    axis_of,
    other_axes,
    role_of,
)

FIXED_SIZES = (2, 3, 4)  # those of the documents, and common choices

FIXED_SHARES = (0.5, 0.1, 0.2)

FIXED_AXES = (-1, 0, 1)


FUNCTIONS = {"log": "logarithm", "tanh": "hyperbolic tangent", "sigmoid": "sigmoid"}

CONVERSIONS = ("as_tensor", "tensor", "stack")


def extra_steps(scope: Scope) -> Iterator[Rewrite]:
    """A softmax that the exercise does not ask for."""
    if scope.is_constructor:
        return
    if scope.tensors and not any(scope.calls(SOFTMAX)):
        for value in scope.results:
            if not isinstance(value.node, ast.Tuple):
                yield mistake("softmax_extra", put(value, "torch.softmax(OLD, dim=-1)"))


def fixed_sizes(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that are replaced by a fixed number."""
    for name in (one for one in scope.plain if one not in scope.optional):
        shares = "dropout" in name
        numbers = FIXED_SHARES if shares else FIXED_AXES if name == "dim" else FIXED_SIZES
        for number in numbers:
            if edits := [constant(site, number) for site in scope.loads(name)]:
                yield mistake("argument_ignored.alone", edits, f"{name} is fixed", name=name)


def other_sizes(scope: Scope) -> Iterator[Rewrite]:
    """Sizes that come from another axis."""
    for site in scope.of(ast.BinOp):
        left = site.node.left
        if isinstance(site.node.op, ast.FloorDiv) and isinstance(left, ast.Subscript):
            for axis in (0, 1):
                edit = put(site, f"SHAPE[{axis}] // RIGHT", SHAPE=left.value)
                yield _from_axis(edit, left, axis, "A size")
    for site in scope.of(ast.Assign):
        value, name = site.node.value, name_of(site.node.targets[0])
        sized = isinstance(value, ast.Subscript) and name_of(value.value) == "shape"
        if not sized or not isinstance(value.slice, ast.Constant | ast.UnaryOp):
            continue
        make = partial(put, site_of(site, site.node, "value"))
        what = f"`{name}`" if name in scope.argument_names else "A size"
        what = f"The number of {COUNTED[name]}" if name in COUNTED else what
        for axis in other_axes(value.slice, (0, 1, -1)):
            edit = make(f"SHAPE[{axis}]", SHAPE=value.value)
            yield _from_axis(edit, value, axis, what)


def _from_axis(edit: Edit, size: ast.Subscript, axis: int, what: str) -> Rewrite:
    words = {"what": what, "axis": ORDINALS[axis], "right": axis_of(size.slice)}
    return mistake("size_of_another_axis.read", edit, **words)


def axes(scope: Scope) -> Iterator[Rewrite]:
    """A softmax, or a sum that keeps its axis, without the axis."""
    for site in scope.calls(SOFTMAX):
        if scores := input_site(site):
            yield mistake("axis_missing.softmax", put(site, "torch.softmax(X)", X=scores))


def swapped_arguments(scope: Scope) -> Iterator[Rewrite]:
    """Two arguments of torch's functions that are swapped."""
    for site in scope.calls("masked_fill"):
        if len(site.node.args) > 1:
            edit = put(site, "OBJECT.masked_fill(SECOND, FIRST)")
            yield mistake("arguments_exchanged.masked_fill", edit)


def without_gradients(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are overwritten where torch records gradients."""
    for site in scope.of(ast.With):
        yield mistake("in_place.parameters", Edit(site, lambda old: block(old.body)))


def returns_in_loops(scope: Scope) -> Iterator[Rewrite]:
    """The last statement, a `return`, is indented into a loop before it."""
    last = scope.node.body[-1]
    if isinstance(last, ast.Return) and last.value is not None:
        end = next(one for one in scope.of(ast.Return) if one.node is last)
        for site in scope.of((ast.For, ast.While)):
            longer = Edit(site, partial(_longer, last))
            yield mistake("return_in_loop", (longer, leave_out(end)))


def _longer(last: ast.stmt, loop: ast.For | ast.While) -> ast.For | ast.While:
    """Return a loop that also runs the statement *last*."""
    changed = {**dict(ast.iter_fields(loop)), "body": [*loop.body, last]}
    return ast.copy_location(type(loop)(**changed), loop)


def turned_calls(scope: Scope) -> Iterator[Rewrite]:
    """Two layers or functions of which each gets the result of the other, in the other order."""
    assigned = {
        name_of(site.node.targets[0]): site_of(site, site.node, "value")
        for site in scope.of(ast.Assign)
    }
    for site in (one for one in scope.of(ast.Call) if len(one.node.args) == 1):
        first = site_of(site, site.node.args, 0)
        place = assigned.get(name_of(first.node), first)
        match place.node:
            case ast.Call(inner, [_]) if _are_given(scope, inner, site.node.func):
                edits = (put(place, "FIRST"), put(site, "INNER(OLD)", INNER=inner))
                words = {"one": name_of(inner), "other": name_of(site.node.func)}
                yield mistake("steps_exchanged.calls", edits, **words)


def _are_given(scope: Scope, *nodes: ast.expr) -> bool:
    """Whether each is an argument, or an attribute of ``self`` that is not a projection."""
    return all(
        name_of(one) in scope.arguments
        or (name_of(getattr(one, "value", one)) == "self" and role_of(one) not in PROJECTIONS)
        for one in nodes
    )


def missing_parts(scope: Scope) -> Iterator[Rewrite]:
    """Functions that are not applied, and parentheses that are missing."""
    for site in scope.calls(*FUNCTIONS):
        if source := input_site(site):
            what = FUNCTIONS[name_of(site.node.func)]
            yield mistake("step_missing.function", put(site, "X", X=source), what=what)
    for site in scope.of(ast.BinOp):
        if _unparenthesized(site.node) is not site.node:
            yield mistake("wrong_operation.parentheses", Edit(site, _unparenthesized))


def _unparenthesized(old: ast.expr) -> ast.expr:
    """Return the expression that has no parentheses around a sum, if *old* needs them."""
    match old:
        case ast.BinOp(first, ast.Mult() as by, ast.BinOp(left, ast.Add() | ast.Sub() as op, last)):
            return ast.BinOp(ast.BinOp(first, by, left), op, last)
        case ast.BinOp(
            ast.BinOp(first, ast.Add() | ast.Sub() as op, left), ast.Mult() | ast.Div() as by, last
        ):
            return ast.BinOp(first, op, ast.BinOp(left, by, last))
    return old


def other_entries(scope: Scope) -> Iterator[Rewrite]:
    """Entries that are taken along the last or the first axis instead of the second one."""
    found: dict[str, list[Edit]] = {"(..., INDEX)": [], "INDEX": []}
    for site in scope.of(ast.Subscript):
        match site.node.slice:
            case ast.Tuple([ast.Slice(None, None, None), index]) if type(index) is not ast.Slice:
                for text, edits in found.items():
                    edits.append(put(site_of(site, site.node, "slice"), text, INDEX=index))
    for edits in found.values():
        for some in [[one] for one in edits] + ([edits] if len(edits) > 1 else []):
            yield mistake("wrong_axis.index", some)


def terms_of_sums(scope: Scope) -> Iterator[Rewrite]:
    """A term that is added after a layer and not before it, or an earlier value of a term."""
    for site in scope.of(ast.Call):
        match site.node:
            case ast.Call(func, [ast.BinOp(left, ast.Add(), right)]) if _are_given(scope, func):
                for kept, given in ((left, right), (right, left)):
                    edit = put(site, "KEPT + FUNC(GIVEN)", KEPT=kept, GIVEN=given)
                    yield mistake("step_misplaced.layer", edit, layer=name_of(func))
    sums = [site for site in scope.of(ast.BinOp) if isinstance(site.node.op, ast.Add)]
    for site in scope.of(ast.Assign):
        match site.node:
            case ast.Assign([ast.Name(name)], ast.BinOp(ast.Name(old), ast.Add())) if name == old:
                rest = site.holder[site.key + 1 :] if isinstance(site.holder, list) else []
                later = {id(node) for one in rest for node in ast.walk(one)}
                for one in sums:
                    if id(one.node) in later and getattr(one.node.left, "id", "") == name:
                        stale = put(site_of(one, one.node, "left"), "_earlier")
                        edits = (before(site, f"_earlier = {name}"), stale)
                        yield mistake("step_misplaced.earlier", edits)


def late_terms(scope: Scope) -> Iterator[Rewrite]:
    """A term that is added after a loop which must use the sum."""
    for site in scope.of(ast.Assign):
        match site.node:
            case ast.Assign([ast.Name(name)], ast.BinOp(_, ast.Add(), term)):
                loop = next((one for one in scope.of(ast.For) if _follows(one, site)), None)
                if loop and isinstance(site.holder, list):
                    text = f"if True:\n    OLD\n    {name} = {name} + TERM"
                    edits = (
                        put(site_of(site, site.node, "value"), "LEFT"),
                        restate(loop, text, TERM=term),
                    )
                    yield mistake("step_misplaced", edits)


def _follows(loop: Site, site: Site) -> bool:
    return loop.holder is site.holder and loop.key == site.key + 1


def skipped_rounds(scope: Scope) -> Iterator[Rewrite]:
    """A loop that is not over a range begins late or ends early."""
    for site in scope.of(ast.For):
        iterated = site.node.iter
        if not (isinstance(iterated, ast.Call) and name_of(iterated.func) == "range"):
            place = site_of(site, site.node, "iter")
            yield mistake("boundary.first_iteration", put(place, "list(OLD)[1:]"))
            yield mistake("boundary.last_iteration", put(place, "list(OLD)[:-1]"))
