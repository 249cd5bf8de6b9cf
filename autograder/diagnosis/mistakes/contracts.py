"""Makes mistakes in arguments and results: defaults, limits, checks, returned values."""

import ast
from collections.abc import Iterator
from functools import partial
from itertools import combinations

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    constant,
    is_module,
    leave_out,
    mistake,
    name_of,
    put,
    site_of,
)
from autograder.diagnosis.vocabulary import ORDINALS, PROJECTIONS, role_of

DRAWS = ("rand", "randn")

COMMON_SIZES = (3, 4, 8, 16)

COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=",),
    ast.LtE: ("<",),
    ast.Gt: (">=",),
    ast.GtE: (">",),
}

BOUNDS = (  # of a slice
    ("lower", "OLD - 1", "boundary.begins_early"),
    ("lower", "OLD + 1", "boundary.begins_late"),
    ("upper", "OLD - 1", "boundary.ends_early"),
    ("upper", "OLD + 1", "boundary.ends_late"),
)

PARTS_OF_A_SLICE = (  # that ends before UPPER
    ("slice(None)", "boundary.everything"),
    ("slice(None, UPPER - 2)", "boundary.ends_two_early"),
)

COUNTS = {  # the mistakes of `OTHER_COUNTS`, in their order
    "arange": ("boundary.first_position", "boundary.last_position", "boundary.positions_from_one"),
    "range": (
        "boundary.first_iteration",
        "boundary.last_iteration",
        "boundary.iterations_from_one",
    ),
}

OTHER_COUNTS = ("FUNC(1, FIRST)", "FUNC(FIRST - 1)", "FUNC(1, FIRST + 1)")

IN_PLACE: dict[type[ast.operator], str] = {
    ast.Div: "div_",
    ast.Mult: "mul_",
    ast.Sub: "sub_",
    ast.Add: "add_",
}


def results(scope: Scope) -> Iterator[Rewrite]:
    """The wrong result: an earlier step, several values, another dtype, no gradients."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Return):
        value = site.node.value
        if value is None:
            continue
        make = partial(put, site_of(site, site.node, "value"))
        final = role_of(value)
        for role, name in scope.by_role.items():
            if role not in {final, "mask"} and name not in scope.tensors:
                yield mistake("wrong_return.earlier", make(name), role=role)
                yield mistake("wrong_return.as_well", make(f"(OLD, {name})"), role=role)
        for name in scope.tensors:
            yield mistake("wrong_return.argument", make(name), name=name)
        for dtype in ("float64", "float32", "int64", "bool"):
            yield mistake("dtype.other", make(f"OLD.to(torch.{dtype})"), "dtype", dtype=dtype)
        yield mistake("detached.result", make("OLD.detach()"), "result")


def forms(scope: Scope) -> Iterator[Rewrite]:
    """The wrong form of the result: True and False swapped, several results in another order."""
    for site in scope.of(ast.Return):
        value = site.node.value
        make = partial(put, site_of(site, site.node, "value"))
        if isinstance(value, ast.Compare):
            yield mistake("mask_inverted.booleans", make("~(OLD)"))
        for first, second in combinations(range(_length(value)), 2):
            order = list(range(_length(value)))
            order[first], order[second] = order[second], order[first]
            text = f"({', '.join(f'OLD[{index}]' for index in order)})"
            one, other = ORDINALS[first], ORDINALS[second]
            yield mistake("wrong_return.order", make(text), one=one, other=other)


def _length(value: ast.expr | None) -> int:
    return len(value.elts) if isinstance(value, ast.Tuple) else 0


def graph(scope: Scope) -> Iterator[Rewrite]:
    """A quantity that is detached from the graph on its way to the result."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Assign):
        role = role_of(site.node.targets[0])
        if role == "scores" and "weights" in scope.by_role:
            role = "weights"  # which depend on nothing else
        if role and role != "mask":
            edit = put(site_of(site, site.node, "value"), "OLD.detach()")
            yield mistake("detached.quantity", edit, role=role)
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.Div | ast.Sub) and isinstance(site.node.right, ast.Call):
            divides = isinstance(site.node.op, ast.Div)
            key = "detached.divisor" if divides else "detached.subtracted"
            yield mistake(key, put(site_of(site, site.node, "right"), "OLD.detach()"))


def arguments(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that have no effect."""
    defaults = scope.node.args.defaults
    names = [arg.arg for arg in scope.node.args.args][len(scope.node.args.args) - len(defaults) :]
    for name, default in zip(names, defaults, strict=True):
        if not isinstance(default, ast.Constant):
            continue
        loads = [site for site in scope.of(ast.Name) if site.node.id == name]
        for value in (default.value, *_other_values(default.value)):
            if loads and default.value is not None:
                edits = [constant(site, value) for site in loads]
                group = f"{name} is {value}"
                yield mistake("argument_ignored.constant", edits, group, name=name)
    yield from _handed_on(scope)
    for site in scope.of(ast.IfExp):
        tested = [node.id for node in ast.walk(site.node.test) if isinstance(node, ast.Name)]
        if tested and tested[0] in scope.arguments:
            for part in (site.node.body, site.node.orelse):
                edit = put(site, "PART", PART=part)
                yield mistake("argument_ignored.constant", edit, name=tested[0])
            parts = {"A": site.node.orelse, "T": site.node.test, "B": site.node.body}
            swap = put(site, "A if T else B", **parts)
            yield mistake("check_wrong.cases", swap, name=tested[0])


def _handed_on(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that are not passed, so that another function uses its default."""
    for site in scope.of(ast.Call):
        args = site.node.args
        for count in range(1, len(args)):
            last = args[-count]
            if not isinstance(last, ast.Name) or last.id not in scope.arguments:
                break
            less = Edit(site, partial(_with_fewer, count))
            rest = {ast.unparse(one) for one in args[:-count]}
            key = "wrong_size.one_for_two" if last.id in rest else "argument_ignored.not_passed"
            yield mistake(key, less, name=last.id)
    for name in scope.numbers:
        loads = [site for site in scope.of(ast.Name) if site.node.id == name]
        if scope.is_constructor and "dropout" in name and loads and not any(scope.calls("Dropout")):
            edits = [constant(site, 0.0) for site in loads]
            yield mistake("argument_ignored.dropout", edits, "nothing is dropped", name=name)


def _with_fewer(count: int, old: ast.Call) -> ast.expr:
    new = ast.Call(old.func, old.args[:-count], old.keywords)
    return ast.copy_location(new, old)


def _other_values(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1)
    if isinstance(value, str) and value in DRAWS:
        return (DRAWS[1 - DRAWS.index(value)],)
    return ()


def _other_sizes(value: object) -> tuple[object, ...]:
    return COMMON_SIZES if isinstance(value, int) and not isinstance(value, bool) else ()


def limits(scope: Scope) -> Iterator[Rewrite]:
    """Comparisons that are off by one."""
    for site in scope.of(ast.Compare):
        if len(site.node.ops) != 1:
            continue
        for symbol in COMPARISONS.get(type(site.node.ops[0]), ()):
            yield mistake("boundary.limit", put(site, f"LEFT {symbol} RIGHT"))


def positions(scope: Scope) -> Iterator[Rewrite]:
    """Slices and ranges that are off by one."""
    cut = [one.node for one in scope.of(ast.Subscript) if role_of(one.node.value) == "mask"]
    of_masks = {id(node) for one in cut for node in ast.walk(one)}  # other parts hide other tokens
    for site in scope.of(ast.Slice):
        for part, text, key in BOUNDS:
            if getattr(site.node, part) is not None:
                yield mistake(key, put(site_of(site, site.node, part), text))
        yield from _other_parts(site) if id(site.node) not in of_masks else ()
    for site in scope.calls(*COUNTS):
        for text, key in zip(OTHER_COUNTS, COUNTS[name_of(site.node.func)], strict=True):
            if len(site.node.args) == 1:
                yield mistake(key, put(site, text))


def _other_parts(site: Site) -> Iterator[Rewrite]:
    """Another part of the sliced tensor: the rest, all of it, or its last entries."""
    part = site.node
    if part.lower is None and part.upper is not None:
        for text, key in PARTS_OF_A_SLICE:
            yield mistake(key, put(site, text, UPPER=part.upper))


def optional_arguments(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that may be left out, and are used in any case or never."""
    for site in scope.of(ast.If):
        match site.node.test:
            case ast.Compare(ast.Name(name), [ast.IsNot()]) if name in scope.optional:
                test = site_of(site, site.node, "test")
                yield mistake("optional_argument.always", constant(test, value=True), name=name)
                if role_of(ast.Name(name)) != "mask":  # of that a missing mask is the name
                    yield mistake("argument_ignored.alone", constant(test, value=False), name=name)


def checks(scope: Scope) -> Iterator[Rewrite]:
    """Checks of arguments that are missing, incomplete or the wrong way round."""
    for site in scope.of(ast.If):
        node = site.node
        if not (node.body and isinstance(node.body[-1], ast.Raise)):
            continue
        subject = _subject(scope, node.test)
        one, many = subject or ("", "values")
        group, missing = f"check_wrong {subject}", f"check_missing {subject}"
        key = "check_missing.value" if subject else "check_missing"
        yield mistake(key, leave_out(site), missing, what=one)
        test = site_of(site, node, "test")
        yield mistake("check_wrong.refused", constant(test, value=True), group, what=many)
        yield mistake("check_wrong.reversed", put(test, "not (OLD)"), group, what=many)


def _subject(scope: Scope, test: ast.expr) -> tuple[str, str] | None:
    """Name the subject of *test*, one and many: values or sizes of arguments, or their content."""
    names = [node.id for node in ast.walk(test) if isinstance(node, ast.Name)]
    for name in names:
        if name in scope.arguments:
            return f"value of `{name}`", f"values of `{name}`"
    for source in filter(None, map(scope.sources.get, names)):
        for node in ast.walk(source):
            if isinstance(node, ast.Name) and node.id in scope.arguments:
                what = "size" if ".shape" in ast.unparse(source) else "value"
                return f"{what} of `{node.id}`", f"{what}s of `{node.id}`"
    return None


def effects(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that are changed, and statements without effect."""
    for site in scope.of(ast.BinOp):
        left, name = site.node.left, IN_PLACE.get(type(site.node.op))
        if isinstance(left, ast.Name) and left.id in scope.tensors and name:
            edit, group = put(site, f"LEFT.{name}(RIGHT)"), f"{left.id} is overwritten"
            yield mistake("in_place.argument", edit, group, name=left.id)
    for site in scope.of(ast.Expr):
        if isinstance(site.node.value, ast.Call) and not scope.is_constructor:
            call = site.node.value
            target = call.func.value if isinstance(call.func, ast.Attribute) else None
            name = name_of(target) if target is not None and not is_module(target) else ""
            key = "step_missing.unchanged" if name else "step_missing"
            yield mistake(key, leave_out(site), name=name)
            yield from _sources(scope, site)


def _sources(scope: Scope, site: Site) -> Iterator[Rewrite]:
    """The wrong one of parallel attributes is in an argument at *site*, or two are swapped."""
    found = [one for one in _parallel(scope) if _inside(one, scope) is site.node]
    others = [one for one in _parallel(scope) if _inside(one, scope) is not site.node]
    for one in found:
        for name in sorted({other.node.attr for other in others} - {one.node.attr}):
            was, edit = one.node.attr, put(one, f"OBJECT.{name}")
            yield mistake("projection_exchanged.attribute", edit, name=name, right=was)
            for other in others:
                if other.node.attr == name and name > was:
                    edits = (edit, put(other, f"OBJECT.{was}"))
                    yield mistake("projection_exchanged.names", edits, one=was, other=name)


def _parallel(scope: Scope) -> list[Site]:
    """List the attributes that are arguments of statements, each a projection's."""
    return [
        one
        for one in scope.of(ast.Attribute)
        if role_of(ast.Name(one.node.attr)) in PROJECTIONS and _inside(one, scope) is not None
    ]


def _inside(site: Site, scope: Scope) -> ast.Expr | None:
    """Return the statement whose arguments contain the node at *site*."""
    for other in scope.of(ast.Expr):
        call = other.node.value
        if isinstance(call, ast.Call) and any(
            node is site.node for arg in call.args for node in ast.walk(arg)
        ):
            return other.node  # type: ignore[no-any-return]  # a place holds any node
    return None


def forms_of_results(scope: Scope) -> Iterator[Rewrite]:
    """Nothing is returned, or the result with other axes."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Return):
        if site.node.value is None:
            continue
        make = partial(put, site_of(site, site.node, "value"))
        yield mistake("nothing_returned", make("None"))
        if isinstance(site.node.value, ast.Tuple):
            continue
        edit, group = make("OLD.transpose(-2, -1)"), "transposed result"
        yield mistake("transposed.last_two", edit, group)
        yield mistake("transposed.first_two", make("OLD.transpose(0, 1)"), group)
