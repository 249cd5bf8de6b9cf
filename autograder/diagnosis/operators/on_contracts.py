"""Mistakes in comparisons, slices, checks of arguments, and in what is left unchanged."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.operators.rewrites import (
    Edit,
    Rewrite,
    Site,
    constant,
    is_module,
    leave_out,
    mistake,
    name_of,
    put,
    site_of,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import PROJECTIONS, role_of

COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=",),
    ast.LtE: ("<",),
    ast.Gt: (">=",),
    ast.GtE: (">",),
}

IN_PLACE: dict[type[ast.operator], str] = {
    ast.Div: "div_",
    ast.Mult: "mul_",
    ast.Sub: "sub_",
    ast.Add: "add_",
}


def limits(scope: Scope) -> Iterator[Rewrite]:
    """Comparisons that are off by one."""
    for site in scope.of(ast.Compare):
        if len(site.node.ops) != 1:
            continue
        if isinstance(site.holder, ast.Return) and type(site.node.ops[0]) in COMPARISONS:
            sentence = "A comparison is the wrong way round."
            question = "Which side must be the smaller one?"
            yield mistake("boundary", Edit(site, _reversed), sentence, question)
        for symbol in COMPARISONS.get(type(site.node.ops[0]), ()):
            yield mistake(
                "boundary",
                put(site, f"LEFT {symbol} RIGHT"),
                "A limit itself is on the wrong side of its comparison.",
                "What must happen exactly at the limit?",
            )


def _reversed(old: ast.Compare) -> ast.expr:
    return ast.copy_location(ast.Compare(old.comparators[0], old.ops, [old.left]), old)


def positions(scope: Scope) -> Iterator[Rewrite]:
    """Slices and ranges that are off by one."""
    cut = [one.node for one in scope.of(ast.Subscript) if role_of(one.node.value) == "mask"]
    of_masks = {id(node) for one in cut for node in ast.walk(one)}  # other parts hide other tokens
    for site in scope.of(ast.Slice):
        for part in ("lower", "upper"):
            bound = getattr(site.node, part)
            if bound is None:
                continue
            where = site_of(site, site.node, part)
            for more, which in (("- 1", "too early"), ("+ 1", "too late")):
                verb = "begins" if part == "lower" else "ends"
                sentence = f"The part that is used {verb} one position {which}."
                question = "Which positions must be used, and does the last one belong to them?"
                yield mistake("boundary", put(where, f"OLD {more}"), sentence, question)
        yield from _other_parts(site) if id(site.node) not in of_masks else ()
    yield from _counts(scope, "arange", "position")
    yield from _counts(scope, "range", "repetition")


def _counts(scope: Scope, function: str, counted: str) -> Iterator[Rewrite]:
    """Calls of *function* that leave out the first or last of what they count, or start at one."""
    for site in scope.calls(function):
        if len(site.node.args) == 1:
            for text, sentence in (
                ("FUNC(1, FIRST)", f"The first {counted} is left out."),
                ("FUNC(FIRST - 1)", f"The last {counted} is left out."),
                ("FUNC(1, FIRST + 1)", f"{counted.title()}s are counted from one, not from zero."),
            ):
                question = f"Which {counted} is the first one, and which is the last?"
                yield mistake("boundary", put(site, text), sentence, question)


def _other_parts(site: Site) -> Iterator[Rewrite]:
    """Another part of what is sliced: the rest of it, all of it, or its last entries."""
    part = site.node
    if part.lower is not None or part.upper is None:
        return
    for text, sentence in (
        ("slice(UPPER - 1, None)", "What follows is used, not what comes before."),
        ("slice(UPPER, None)", "What follows is used, not what comes before."),
        ("slice(None)", "Everything is used, not only a part."),
        ("slice(max(0, UPPER - 2), UPPER)", "Only the last two entries of a part are used."),
        ("slice(UPPER - 1, UPPER)", "Only the last entry of a part is used."),
        ("slice(None, UPPER - 2)", "The part that is used ends two positions too early."),
    ):
        question = "Which positions must be used?"
        yield mistake("boundary", put(site, text, UPPER=part.upper), sentence, question)


def optional_arguments(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that may be left out, and are used in any case or never."""
    for site in scope.of(ast.If):
        match site.node.test:
            case ast.Compare(ast.Name(name), [ast.IsNot()]) if name in scope.optional:
                test = site_of(site, site.node, "test")
                sentence = f"`{name}` is used also where the caller passes none."
                yield mistake("optional_argument", constant(test, value=True), sentence)
                sentence = f"A condition takes `{name}` for true or false: it holds many numbers."
                yield mistake("optional_argument", put(test, name), sentence)
                if role_of(ast.Name(name)) != "mask":  # of that a missing mask is the name
                    sentence = f"`{name}` has no effect."
                    yield mistake("argument_ignored", constant(test, value=False), sentence)


def checks(scope: Scope) -> Iterator[Rewrite]:
    """Checks of arguments that are missing, incomplete or the wrong way round."""
    for site in scope.of(ast.If):
        node = site.node
        if not (node.body and isinstance(node.body[-1], ast.Raise)):
            continue
        subject = _subject(scope, node.test)
        wrong = f"A wrong {subject[0]}" if subject else ""
        right = f"Right {subject[1]} are" if subject else "Right values are"
        group = f"check_wrong {subject}"
        sentence = wrong and f"{wrong} is not refused."
        missing = f"check_missing {subject}"
        yield mistake("check_missing", leave_out(site), sentence, group=missing)
        test = site_of(site, node, "test")
        sentence = f"{right} refused."
        always = constant(test, value=True)
        yield mistake("check_wrong", always, sentence, group=group)
        sentence = f"{right} refused, and wrong ones are not."
        reversed_check = put(test, "not (OLD)")
        yield mistake("check_wrong", reversed_check, sentence, group=group)
        for other in scope.calls("any", "all"):
            if other.node is node.test and isinstance(other.node.func, ast.Attribute):
                sentence = "A check of arguments takes a whole tensor for one condition."
                question = "Is the question about one entry, or about each of them?"
                yield mistake("check_wrong", put(other, "OBJECT"), sentence, question)
        for other in scope.of((ast.BoolOp, ast.BinOp)):
            inside = any(item is other.node for item in ast.walk(node.test))
            if inside and isinstance(getattr(other.node, "op", None), ast.BitOr | ast.Or):
                for index in (0, 1):
                    sentence = f"Some wrong {subject[1] if subject else 'values'} are not refused."
                    edit = Edit(other, partial(_part, index))
                    yield mistake("check_missing", edit, sentence, group=missing)


def _subject(scope: Scope, test: ast.expr) -> tuple[str, str] | None:
    """Say what *test* is about, one and many: values or sizes of arguments, or what they hold."""
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


def _part(index: int, old: ast.BoolOp | ast.BinOp) -> ast.expr:
    return old.values[index] if isinstance(old, ast.BoolOp) else (old.left, old.right)[index]


def effects(scope: Scope) -> Iterator[Rewrite]:
    """Arguments that are changed, and statements without effect."""
    for site in scope.of(ast.BinOp):
        left, name = site.node.left, IN_PLACE.get(type(site.node.op))
        if isinstance(left, ast.Name) and left.id in scope.tensors and name:
            sentence = f"The caller's `{left.id}` is overwritten."
            yield mistake("in_place", put(site, f"LEFT.{name}(RIGHT)"), sentence, group=sentence)
    for site in scope.of(ast.Expr):
        if isinstance(site.node.value, ast.Call) and not scope.is_constructor:
            call = site.node.value
            target = call.func.value if isinstance(call.func, ast.Attribute) else None
            name = name_of(target) if target is not None and not is_module(target) else ""
            sentence = f"`{name}` stays as it was." if name else ""
            yield mistake("step_missing", leave_out(site), sentence)
            yield from _sources(scope, site)


def _sources(scope: Scope, site: Site) -> Iterator[Rewrite]:
    """Another of the parallel attributes stands in an argument of *call*, or two are exchanged."""
    found = [one for one in _parallel(scope) if _inside(one, scope) is site.node]
    yield from _targets(scope, site)
    others = [one for one in _parallel(scope) if _inside(one, scope) is not site.node]
    for one in found:
        for name in sorted({other.node.attr for other in others} - {one.node.attr}):
            was = one.node.attr
            sentence = f"`{name}` is used where `{was}` must be."
            yield mistake("projection_exchanged", put(one, f"OBJECT.{name}"), sentence)
            for other in others:
                if other.node.attr == name and name > was:
                    edits = (put(one, f"OBJECT.{name}"), put(other, f"OBJECT.{was}"))
                    sentence = f"`{was}` and `{name}` are exchanged."
                    yield mistake("projection_exchanged", edits, sentence)


def _targets(scope: Scope, site: Site) -> Iterator[Rewrite]:
    """Another of the parallel attributes is written in the place of that of *site*."""
    target = _written(site)
    before = (one for one in scope.of(ast.Expr) if one.node.lineno < site.node.lineno)
    others = filter(None, map(_written, before))  # of a later one nothing is seen
    for name in sorted({other.node.attr for other in others}) if target else ():
        if target is not None and target.node.attr != name:
            sentence = f"`{name}` is written twice, and `{target.node.attr}` not at all."
            yield mistake("projection_exchanged", put(target, f"OBJECT.{name}"), sentence)


def _written(site: Site) -> Site | None:
    """Return the place of the projection's attribute that the statement at *site* writes into."""
    func = getattr(site.node.value, "func", None)
    target = getattr(func, "value", None)
    if isinstance(target, ast.Attribute) and role_of(ast.Name(target.attr)) in PROJECTIONS:
        return Site(func, "value", site.depth + 2)
    return None


def _parallel(scope: Scope) -> list[Site]:
    """List the attributes that are arguments of statements, each a projection's."""
    return [
        one
        for one in scope.of(ast.Attribute)
        if role_of(ast.Name(one.node.attr)) in PROJECTIONS and _inside(one, scope) is not None
    ]


def _inside(site: Site, scope: Scope) -> ast.Expr | None:
    """Return the statement in whose arguments the node at *site* stands."""
    for other in scope.of(ast.Expr):
        call = other.node.value
        if isinstance(call, ast.Call) and any(
            node is site.node for arg in call.args for node in ast.walk(arg)
        ):
            return other.node  # type: ignore[no-any-return]  # a place holds any node
    return None


RULES = (limits, positions, optional_arguments, checks, effects)
