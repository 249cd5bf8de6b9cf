"""Makes mistakes in arguments and results: defaults, limits, checks, returned values."""

import ast
from collections.abc import Iterator
from functools import partial
from itertools import combinations, permutations

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    constant,
    is_module,
    leave_out,
    mistake,
    mistakes,
    put,
    site_of,
)
from autograder.diagnosis.student_code import name_of
from autograder.diagnosis.vocabulary import ORDINALS, PROJECTIONS, role_of

DRAWS = ("rand", "randn")

COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}

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

NEIGHBORS = {"0": ("1", "boundary.second_entry"), "-1": ("-2", "boundary.entry_before_last")}

OTHER_COUNTS = ("FUNC(1, FIRST)", "FUNC(FIRST - 1)", "FUNC(1, FIRST + 1)")

IN_PLACE = {ast.Div: "div_", ast.Mult: "mul_", ast.Sub: "sub_", ast.Add: "add_"}

DTYPES = ("float64", "float32", "int64", "bool")


TURNED = (
    ("OLD.transpose(-2, -1)", "transposed.last_two"),
    ("OLD.transpose(0, 1)", "transposed.first_two"),
)


def results(scope: Scope) -> Iterator[Rewrite]:
    """The wrong result: an earlier step, several values, another dtype, no gradients."""
    if scope.is_constructor:
        return
    for site in scope.results:
        make, final = partial(put, site), role_of(site.node)
        for role, name in scope.by_role.items():
            if role not in {final, "mask"} and name not in scope.tensors:
                yield mistake("wrong_return.earlier", make(name), role=role)
                yield mistake("wrong_return.as_well", make(f"(OLD, {name})"), role=role)
        for name in scope.tensors:
            yield mistake("wrong_return.argument", make(name), name=name)
        for dtype in DTYPES:
            yield mistake("dtype.other", make(f"OLD.to(torch.{dtype})"), "dtype", dtype=dtype)
        yield mistake("detached.result", make("OLD.detach()"), "result")


def forms(scope: Scope) -> Iterator[Rewrite]:
    """The wrong form of the result: True and False swapped, several results in another order."""
    for site in scope.results:
        make = partial(put, site)
        if isinstance(site.node, ast.Compare):
            yield mistake("mask_inverted.booleans", make("~(OLD)"))
        count = len(site.node.elts) if isinstance(site.node, ast.Tuple) else 0
        for first, second in combinations(range(count), 2):
            order = list(range(count))
            order[first], order[second] = order[second], order[first]
            text = f"({', '.join(f'OLD[{index}]' for index in order)})"
            one, other = ORDINALS[first], ORDINALS[second]
            yield mistake("wrong_return.order", make(text), one=one, other=other)


def graph(scope: Scope) -> Iterator[Rewrite]:
    """A quantity that is detached from the graph on its way to the result."""
    if scope.is_constructor:
        return
    for role, value in scope.quantities:
        if role and role != "mask":
            only_weights = role == "scores" and "weights" in scope.by_role  # depend on them
            words = {"role": "weights" if only_weights else role}
            yield mistake("detached.quantity", put(value, "OLD.detach()"), **words)
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.Div | ast.Sub) and isinstance(site.node.right, ast.Call):
            divides = isinstance(site.node.op, ast.Div)
            key = "detached.divisor" if divides else "detached.subtracted"
            yield mistake(key, put(site_of(site, site.node, "right"), "OLD.detach()"))


def arguments(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that have no effect."""
    for name, default in zip(scope.optional, scope.node.args.defaults, strict=True):
        own = default.value if isinstance(default, ast.Constant) else None
        for value in (own, *_other_values(own)) if own is not None else ():
            edits = [constant(site, value) for site in scope.loads(name)]
            if edits:
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
            name = _argument(scope, args[-count])
            if not name:
                break
            if name not in map(ast.unparse, args[:-count]):  # a size that is passed twice
                less = Edit(site, partial(_with_fewer, count))
                callee = name_of(site.node.func)
                yield mistake("argument_ignored.not_passed", less, name=name, callee=callee)
    for name in scope.numbers:
        edits = [constant(site, 0.0) for site in scope.loads(name)]
        if scope.is_constructor and "dropout" in name and edits and not any(scope.calls("Dropout")):
            yield mistake("argument_ignored.dropout", edits, "nothing is dropped", name=name)


def _argument(scope: Scope, value: ast.expr) -> str:
    """Return the argument that *value* is, or the optional one from which it is computed, or ""."""
    match value, scope.locals.get(getattr(value, "id", "")):
        case ast.Name(name), _ if name in scope.arguments:
            return name
        case _, ast.IfExp(ast.Compare(ast.Name(name), [ast.Is()])) if name in scope.optional:
            return name
    return ""


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


def limits(scope: Scope) -> Iterator[Rewrite]:
    """Comparisons that are off by one."""
    for site in scope.of(ast.Compare):
        symbol = COMPARISONS.get(type(site.node.ops[0]))
        if len(site.node.ops) == 1 and symbol:
            yield mistake("boundary.limit", put(site, f"LEFT {symbol} RIGHT"))


def positions(scope: Scope) -> Iterator[Rewrite]:
    """Slices and ranges that are off by one."""
    cut = [one.node for one in scope.of(ast.Subscript) if role_of(one.node.value) == "mask"]
    of_masks = {id(node) for one in cut for node in ast.walk(one)}  # other parts hide other tokens
    sized = (one.node for one in scope.of(ast.Subscript) if name_of(one.node.value) == "shape")
    of_shapes = {id(one.slice) for one in sized}  # such a part selects no positions
    for site in (one for one in scope.of(ast.Slice) if id(one.node) not in of_shapes):
        for part, text, key in BOUNDS:
            if getattr(site.node, part) is not None:
                yield mistake(key, put(site_of(site, site.node, part), text))
        if site.node.lower is None and site.node.upper and id(site.node) not in of_masks:
            yield from mistakes(partial(put, site, UPPER=site.node.upper), PARTS_OF_A_SLICE)
    for place in entries(scope):
        text, key = NEIGHBORS.get(ast.unparse(place.node), ("", ""))
        if text:
            yield mistake(key, put(place, text))


def counts(scope: Scope) -> Iterator[Rewrite]:
    """Ranges that begin late, end early or take other steps."""
    for site in scope.calls(*COUNTS):
        make, keys = partial(put, site), COUNTS[name_of(site.node.func)]
        match site.node.args:
            case [_]:
                yield from mistakes(make, zip(OTHER_COUNTS, keys, strict=True))
            case [first, last]:
                yield mistake(keys[0], make("FUNC(A + 1, B)", A=first, B=last))
                yield mistake(keys[1], make("FUNC(A, B - 1)", A=first, B=last))
            case [ast.Constant(0), _, ast.Constant(2)]:
                yield mistake("boundary.steps_of_one", make("FUNC(SECOND // 2)"))
            case [ast.Constant(0), last, step]:
                yield mistake(keys[0], make("FUNC(C, B, C)", B=last, C=step))
                yield mistake(keys[1], make("FUNC(0, B - C, C)", B=last, C=step))


def entries(scope: Scope) -> Iterator[Site]:
    """Yield the places of the indexes and slices with which a value, but no size, is read."""
    for site in scope.of(ast.Subscript):
        part, value = site.node.slice, site.node.value
        source = scope.locals.get(name_of(value), value)
        if isinstance(site.node.ctx, ast.Store) or ".shape" in ast.unparse(source):
            continue
        if isinstance(part, ast.Tuple):
            yield from (site_of(site, part.elts, number) for number in range(len(part.elts)))
        else:
            yield site_of(site, site.node, "slice")


def optional_arguments(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that may be left out, and are used in any case or never."""
    for site in scope.of(ast.If):
        test = site_of(site, site.node, "test")
        match test.node:
            case ast.Compare(ast.Name(name), [ast.Is()]) if name in scope.optional:
                yield mistake("argument_ignored.alone", constant(test, value=True), name=name)
            case ast.Compare(ast.Name(name), [ast.IsNot()]) if name in scope.optional:
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


def sources(scope: Scope) -> Iterator[Rewrite]:
    """The wrong one of parallel attributes is in an argument of a statement, or two are swapped."""
    calls = [one.node.value for one in scope.of(ast.Expr) if isinstance(one.node.value, ast.Call)]
    of = {id(node): call for call in calls for arg in call.args for node in ast.walk(arg)}
    places = (one for one in scope.of(ast.Attribute) if id(one.node) in of)
    found = [one for one in places if role_of(ast.Name(one.node.attr)) in PROJECTIONS]
    for one, other in permutations(found, 2) if not scope.is_constructor else ():
        was, name = one.node.attr, other.node.attr
        if of[id(one.node)] is not of[id(other.node)] and name != was:
            edit = put(one, f"OBJECT.{name}")
            yield mistake("projection_exchanged.attribute", edit, name=name, right=was)
            if name > was:
                edits = (edit, put(other, f"OBJECT.{was}"))
                yield mistake("projection_exchanged.names", edits, one=was, other=name)


def forms_of_results(scope: Scope) -> Iterator[Rewrite]:
    """Nothing is returned, or the result with other axes."""
    if scope.is_constructor:
        return
    for site in scope.results:
        yield mistake("nothing_returned", put(site, "None"))
        if not isinstance(site.node, ast.Tuple):
            yield from mistakes(partial(put, site), TURNED, "transposed result")
