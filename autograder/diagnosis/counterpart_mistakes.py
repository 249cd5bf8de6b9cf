"""Makes mistakes in which a part is replaced by its counterpart: the last entry by the first one.

Only the stages with the group "counterpart" have them, so the records of other stages do not depend
on this file.
"""

import ast
from collections.abc import Iterator
from functools import partial
from itertools import pairwise, permutations, product

from autograder.diagnosis.mistakes.contracts import entries
from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    mistake,
    put,
    site_of,
)
from autograder.diagnosis.student_code import name_of
from autograder.diagnosis.vocabulary import PROJECTIONS, role_of

ENDS = {"0": ("-1", "wrong_end.last"), "-1": ("0", "wrong_end.first")}  # the other end of an axis
QUANTIFIERS = {"all": ("any", "all_any.one"), "any": ("all", "all_any.all")}
EQUAL = {ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in"}
INVERTED = EQUAL | {ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">"}
ONE_CONDITION = dict.fromkeys(("LEFT", "RIGHT"), "wrong_operation.one_condition")
OPERATIONS: dict[type[ast.operator], dict[str, str]] = {  # that `reductions` does not exchange
    ast.Add: {"RIGHT": "wrong_operation.no_first_term"},
    ast.Sub: {
        "RIGHT - LEFT": "wrong_operation.reversed_difference",
        "LEFT": "wrong_operation.no_difference",
    },
    ast.Mult: {"RIGHT": "wrong_operation.no_first_factor"},
    ast.Div: {"RIGHT / LEFT": "wrong_operation.reversed_quotient"},
    ast.BitOr: {"LEFT & RIGHT": "wrong_operation.and_for_or", **ONE_CONDITION},
    ast.BitAnd: {"LEFT | RIGHT": "wrong_operation.or_for_and", **ONE_CONDITION},
}
DTYPES = ("float32", "int64", "bool")
EXTREMES = {"max": "min", "argmax": "argmin", "maximum": "minimum"}
EXTREMES |= {other: name for name, other in EXTREMES.items()}


def ends(scope: Scope) -> Iterator[Rewrite]:
    """The first entry of an axis for the last one, and the reverse."""
    for place in entries(scope):
        text, key = ENDS.get(ast.unparse(place.node), ("", ""))
        if text:
            yield mistake(key, put(place, text))


def halves(scope: Scope) -> Iterator[Rewrite]:
    """The beginning of a part for its end, and the reverse."""
    written = (one.node for one in scope.of(ast.Subscript) if isinstance(one.node.ctx, ast.Store))
    stores = {id(part) for node in written for part in ast.walk(node.slice)}
    for site in scope.of(ast.Slice):
        used = "wrong_end.written" if id(site.node) in stores else "wrong_end.part"
        match site.node:
            case ast.Slice(ast.UnaryOp(ast.USub(), size), None, None):
                yield mistake(used, put(site, "slice(None, SIZE)", SIZE=size))
            case ast.Slice(None, ast.expr() as size, None) if not isinstance(size, ast.UnaryOp):
                yield mistake(used, put(site, "slice(-(SIZE), None)", SIZE=size))


def conditions(scope: Scope) -> Iterator[Rewrite]:
    """Conditions that hold for one entry or for all, or in the opposite case."""
    ends = {id(site.node.test) for site in scope.of((ast.If, ast.While))}  # of other rules
    returned = {id(site.node.value) for site in scope.of(ast.Return)}
    for site in scope.calls(*QUANTIFIERS):
        other, key = QUANTIFIERS[name_of(site.node.func)]
        yield mistake(key, Edit(site, partial(_renamed, other)))
    for site in scope.of(ast.Compare):
        is_plain = len(site.node.ops) == 1 and type(site.node.ops[0]) in INVERTED
        if is_plain and id(site.node) not in ends | returned:
            inverted = INVERTED[type(site.node.ops[0])]
            key = "mask_inverted.booleans" if _is_mask(site.holder) else "condition_inverted"
            yield mistake(key, put(site, f"LEFT {inverted} RIGHT"))


def _is_mask(node: object) -> bool:
    return isinstance(node, ast.Assign) and name_of(node.targets[0]).endswith("mask")


def _renamed(name: str, call: ast.Call) -> ast.Call:
    """Return the *call* of another function or method."""
    owner = getattr(call.func, "value", None)
    func = ast.Attribute(owner, name, ast.Load()) if owner else ast.Name(name, ast.Load())
    return ast.fix_missing_locations(
        ast.copy_location(ast.Call(func, call.args, call.keywords), call)
    )


def operations(scope: Scope) -> Iterator[Rewrite]:
    """Two numbers or conditions in the other order, or of which the first one has no effect."""
    slices = [site.node for site in scope.of(ast.Slice)]
    bounds = {id(bound) for one in slices for bound in (one.lower, one.upper)}
    bounds |= {id(site.node.slice) for site in scope.of(ast.Subscript)}
    for site in scope.of(ast.BinOp):
        node = site.node
        is_factor = isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant)
        if id(node) in bounds or is_factor:  # of constant factors, another rule speaks
            continue
        for text, key in OPERATIONS.get(type(node.op), {}).items():
            name = getattr(node.left, "id", "")
            if isinstance(node.op, ast.Add) and name in scope.argument_names:
                yield mistake("wrong_operation.no_first_term_named", put(site, text), name=name)
            elif not (isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant)):
                yield mistake(key, put(site, text))
    for site in scope.of(ast.BoolOp):
        both = isinstance(site.node.op, ast.And)
        key = "wrong_operation.or_for_and" if both else "wrong_operation.and_for_or"
        other = ast.BoolOp(ast.Or() if both else ast.And(), site.node.values)
        yield mistake(key, put(site, "NEW", NEW=ast.copy_location(other, site.node)))


def terms(scope: Scope) -> Iterator[Rewrite]:
    """A term with the opposite sign, or one from a layer that is not added."""
    for site in scope.of(ast.UnaryOp):
        if isinstance(site.node.op, ast.USub) and isinstance(site.holder, ast.Assign):
            term = put(site, "TERM", TERM=site.node.operand)
            yield mistake("wrong_operation.sign", term, "sign")
    for site in scope.of(ast.BinOp):
        for term, rest in ((site.node.left, "RIGHT"), (site.node.right, "LEFT")):
            is_layer = isinstance(term, ast.Call) and _is_own(term.func)
            if is_layer and isinstance(site.node.op, ast.Add):
                yield mistake("layer_unused.term", put(site, rest), layer=name_of(term.func))


def functions(scope: Scope) -> Iterator[Rewrite]:
    """The smallest for the largest, parts that must be stacked, and axes that are split wrongly."""
    for site in scope.calls("stack"):
        yield mistake("new_axis_missing", Edit(site, partial(_renamed, "cat")))
    for site in scope.calls(*EXTREMES):
        name = name_of(site.node.func)
        if site.node.args and isinstance(site.node.args[0], ast.GeneratorExp):
            yield mistake("wrong_end.first_only", put(site, "next(FIRST)"))
        of_tensor = isinstance(site.node.func, ast.Attribute) and name == "max"
        if not of_tensor and not any(one.arg == "key" for one in site.node.keywords):
            old, new = ("maximum", "minimum")[:: 1 if "max" in name else -1]
            edit = Edit(site, partial(_renamed, EXTREMES[name]))
            yield mistake("wrong_reduction.other", edit, old=old, new=new)
    apart = []
    for site in scope.calls("unflatten"):
        match site.node.args:
            case [ast.UnaryOp(), ast.Tuple([ast.Name(name), _])]:  # the last axis
                text = f"OBJECT.unflatten(-1, (-1, {name})).transpose(-2, -1)"
                apart.append(mistake("sizes_exchanged.apart", put(site, text), "apart", name=name))
    yield from apart
    if len(apart) > 1:
        yield apart[0]._replace(edits=tuple(edit for one in apart for edit in one.edits))


def shifts(scope: Scope) -> Iterator[Rewrite]:
    """Two sequences that must be shifted against one another, and are equal."""
    first = [site for site in scope.of(ast.List) if _is_added(site.node, 1)]
    last = [site for site in scope.of(ast.List) if _is_added(site.node, 0)]
    both = (first, last, 0, "shift_missing.front"), (last, first, 1, "shift_missing.end")
    for sites, others, end, key in both:
        for site in sites:
            name = name_of(site.node.elts[end])
            rest = put(site, "[REST]", REST=site.node.elts[1 - end])
            yield mistake("shift_missing.left_out", rest, name=name)
            for other in others:
                yield mistake(key, put(site, "SAME", SAME=other.node), name=name)
                added = name_of(other.node.elts[1 - end])
                text = f"[{added}, *OLD]" if end else f"[*OLD, {added}]"
                yield mistake("shift_missing.added", put(site, text), name=added)


def _is_added(node: ast.List, starred: int) -> bool:
    """Whether a list is an argument and the entries of another list, which are at *starred*."""
    if len(node.elts) != 2:  # noqa: PLR2004  # an entry, and the others
        return False
    added = node.elts[1 - starred]
    return isinstance(node.elts[starred], ast.Starred) and isinstance(added, ast.Name)


def arguments(scope: Scope) -> Iterator[Rewrite]:
    """Another whole number among the arguments, or two of them swapped everywhere."""
    if scope.is_constructor:
        return
    every = [*scope.node.args.args]
    numbers = [one.arg for one in every if one.type_comment == "int" and one.arg in scope.arguments]
    for right, name in permutations(numbers, 2):
        if len({one.partition("_")[0] if "_" in one else "" for one in (right, name)}) > 1:
            continue  # such as a number of steps for an id
        for site in scope.loads(right):
            edit, group = put(site, name), f"operand_repeated {name} {right}"
            yield mistake("operand_repeated.argument", edit, group, name=name, right=right)
        both = scope.loads(right, name)
        if right < name and {one.node.id for one in both} == {right, name}:
            edits: list[Edit] = [put(one, name if one.node.id == right else right) for one in both]
            one, other = sorted((right, name), key=numbers.index)
            yield mistake("numbers_exchanged.named", edits, one=one, other=other)


def layers(scope: Scope) -> Iterator[Rewrite]:
    """A layer whose name differs in its first part or its number, in one place or in all."""
    calls = [site for one in scope.methods for site in one.of(ast.Call)]
    names = sorted({site.node.func.attr for site in calls if _is_own(site.node.func)})
    called = [site_of(site, site.node, "func") for site in scope.of(ast.Call)]
    for right, name in permutations(names, 2):
        sites = [one for one in called if _is_own(one.node) and one.node.attr == right]
        if not _alike(right, name) or not sites or (name[-1].isdigit() and right < name):
            continue  # an earlier layer is used again, rarely a later one
        for some in [[one] for one in sites] + ([sites] if len(sites) > 1 else []):
            edits, group = [put(one, f"self.{name}") for one in some], f"layers {name} {right}"
            yield mistake("operand_repeated.argument", edits, group, name=name, right=right)
    yield from _second_inputs(scope)


def _second_inputs(scope: Scope) -> Iterator[Rewrite]:
    """A layer that gets its first input twice, in one place or in all."""
    first = next(iter(scope.arguments), "")
    found: dict[str, list[Edit]] = {}
    for site in scope.of(ast.Call):
        match site.node:
            case ast.Call(func, [_, ast.Name(right), *_]) if _is_own(func):
                found.setdefault(right, []).append(put(site, "FUNC(FIRST, FIRST)"))
    for right in sorted({*scope.arguments} & found.keys() - {first}):
        edits = found[right]
        for some in [[one] for one in edits] + ([edits] if len(edits) > 1 else []):
            yield mistake("operand_repeated.argument", some, name=first, right=right)


def _is_own(node: ast.expr) -> bool:
    """Whether *node* is an attribute of ``self`` other than a projection of attention."""
    own = isinstance(node, ast.Attribute) and name_of(node.value) == "self"
    return own and role_of(node) not in PROJECTIONS


def _alike(one: str, other: str) -> bool:
    """Whether two names differ in their number only, or in the part before the first ``_``."""
    if one.rstrip("0123456789") == other.rstrip("0123456789"):
        return True
    (_, *rest), (_, *others) = one.split("_"), other.split("_")
    return bool(rest) and rest == others


def results(scope: Scope) -> Iterator[Rewrite]:
    """One of several results with another dtype, or a result with the opposite sign."""
    for site in scope.results:
        if any(isinstance(one.node.op, ast.USub) for one in scope.of(ast.UnaryOp)):
            yield mistake("wrong_return.sign", put(site, "-(OLD)"), "sign of all")
        parts = len(site.node.elts) if isinstance(site.node, ast.Tuple) else 0
        for index, dtype in product(range(parts), DTYPES):
            edit = put(site_of(site, site.node.elts, index), f"OLD.to(torch.{dtype})")
            yield mistake("dtype.other", edit, "dtype", dtype=dtype)


def steps(scope: Scope) -> Iterator[Rewrite]:
    """Two steps that change the same value, in the other order."""
    for holder in {id(site.holder): site for site in scope.of(ast.Assign)}.values():
        block = holder.holder
        found = [number for number, node in enumerate(block) if _changes(node)]
        for first, second in pairwise(found):
            if name_of(block[first].targets[0]) == name_of(block[second].targets[0]):
                yield mistake("steps_exchanged", _turned(holder, block, first, second))


def rounds(scope: Scope) -> Iterator[Rewrite]:
    """A loop over the first or the last entry only."""
    for site in scope.of(ast.For):
        place = site_of(site, site.node, "iter")
        yield mistake("wrong_end.first_round", put(place, "list(OLD)[:1]"))
        yield mistake("wrong_end.last_round", put(place, "list(OLD)[-1:]"))


def _changes(node: ast.stmt) -> bool:
    """Whether a statement gives a variable a new value that depends on its old one."""
    match node:
        case ast.Assign([ast.Name(name)], value):
            return any(getattr(one, "id", "") == name for one in ast.walk(value))
    return False


def _turned(near: Site, block: list[ast.stmt], first: int, second: int) -> list[Edit]:
    """Return the edits that put the statement *second*, and what it needs, before *first*.

    The statements between two steps prepare the second one, those before the first one that step.
    """
    start = first
    while start and isinstance(block[start - 1], ast.Assign) and not _changes(block[start - 1]):
        start -= 1
    new = [*block[first + 1 : second + 1], *block[start : first + 1]]
    place = near._replace
    return [
        Edit(place(key=start + number), partial(_other, node)) for number, node in enumerate(new)
    ]


def _other(new: ast.stmt, _old: ast.stmt) -> ast.stmt:
    return new


RULES = (
    *(ends, halves, conditions, operations, terms, functions, shifts, arguments, layers, results),
    *(steps, rounds),
)
