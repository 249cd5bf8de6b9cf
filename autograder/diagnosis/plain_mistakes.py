"""Makes mistakes in plain Python: loops with an index, lists, dictionaries, choices by a key.

Only the stages with the group "plain" have them, so the records of other stages do not depend on
this file.
"""

import ast
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    constant,
    mistake,
    mistakes,
    put,
    site_of,
)
from autograder.diagnosis.student_code import name_of

CHOICES = {"max": "min", "min": "max"}
WORDS = {"max": "largest", "min": "smallest"}
SAME_VALUE = (  # other entries with the largest value, in the place of max(FIRST, key=K)
    ("FUNC(reversed(list(FIRST)), key=K)", "tie_order.last"),
    ("FUNC(sorted(FIRST), key=K)", "tie_order"),
    ("FUNC(sorted(FIRST, reverse=True), key=K)", "tie_order"),
)


def indexes(scope: Scope) -> Iterator[Rewrite]:
    """A `while` loop whose index moves too little, or that ends before the last position."""
    for loop in scope.of(ast.While):
        inside = {id(node) for node in ast.walk(loop.node)}
        for site in scope.of(ast.AugAssign):
            match site.node:
                case ast.AugAssign(ast.Name(), ast.Add(), ast.Constant(int(step))) if step > 1:
                    if id(site.node) in inside:
                        less = constant(site_of(site, site.node, "value"), 1)
                        yield mistake("step_too_small", less)
        match loop.node.test:
            case ast.Compare(_, [ast.Lt()], [limit]):
                end = site_of(loop, loop.node.test.comparators, 0)
                is_length = isinstance(limit, ast.Call) and name_of(limit.func) == "len"
                key = "loop_end.early" if is_length else "loop_end.round"
                yield mistake(key, put(end, "OLD - 1"))


def entries(scope: Scope) -> Iterator[Rewrite]:
    """Lists whose entries are appended as a list, parts in another order, numbers off by one."""
    for site in scope.calls("extend"):
        if isinstance(site.node.func, ast.Attribute) and len(site.node.args) == 1:
            name = site_of(site, site.node, "func")
            yield mistake("list_of_lists", put(name, "OBJECT.append"))
    for site in scope.of(ast.BinOp):
        if not isinstance(site.node.op, ast.Add) or isinstance(site.node.right, ast.Constant):
            continue
        if isinstance(site.node.left, ast.Constant):
            if type(site.node.left.value) is int:
                yield mistake("numbered_wrong", put(site, "LEFT + RIGHT + 1"))
                yield mistake("numbered_wrong", put(site, "LEFT + RIGHT - 1"))
        else:
            yield mistake("joined_in_other_order", put(site, "RIGHT + LEFT"))
    for site in scope.of(ast.Assign):
        match site.node:
            case ast.Assign([ast.Subscript(entry)], ast.BinOp(kept, ast.Add(), more)):
                if name_of(entry) in {getattr(one, "id", "") for one in ast.walk(kept)}:
                    value = site_of(site, site.node, "value")
                    yield mistake("entry_overwritten", put(value, "MORE", MORE=more))


def choices(scope: Scope) -> Iterator[Rewrite]:
    """The wrong one of several entries is chosen by a key."""
    for site in scope.calls(*CHOICES):
        key = next((one.value for one in site.node.keywords if one.arg == "key"), None)
        if isinstance(site.node.func, ast.Name) and key is not None and site.node.args:
            yield from mistakes(partial(put, site, K=key), SAME_VALUE, "tie_order")
            name, other = site.node.func.id, CHOICES[site.node.func.id]
            words = {"old": WORDS[name], "new": WORDS[other]}
            yield mistake("wrong_choice.other", put(site, f"{other}(FIRST, key=K)", K=key), **words)


def rounds(scope: Scope) -> Iterator[Rewrite]:
    """Loops in the other order, or over different entries only."""
    for site in scope.of(ast.For):
        place = site_of(site, site.node, "iter")
        yield mistake("order_reversed", put(place, "reversed(list(OLD))"))
        yield mistake("counted_once", put(place, "dict.fromkeys(OLD)"))


def counts(scope: Scope) -> Iterator[Rewrite]:
    """Numbers in an argument that have no effect, because every entry counts once."""
    for site in scope.calls("values"):
        owner = getattr(site.node.func, "value", None)
        if isinstance(owner, ast.Name) and owner.id in scope.arguments:
            ones = put(site, "[1 for _ in OLD]")
            yield mistake("counts_ignored.argument", ones, name=owner.id)
    for loop in scope.of(ast.For):
        for argument, name in _zipped(loop.node):
            added = [one for one in scope.of(ast.Name) if _is_added(one, name)]
            if argument in scope.arguments and added:
                edits = [constant(one, 1) for one in added]
                yield mistake("counts_ignored.argument", edits, name=argument)


def results(scope: Scope) -> Iterator[Rewrite]:
    """A list that is returned as it was, or without its first or last entry."""
    lists = [arg.arg for arg in scope.node.args.args if (arg.type_comment or "")[:5] == "list["]
    typed = [one.node for one in scope.of(ast.AnnAssign)]
    made = dict(scope.sources) | {name_of(one.target): one.value for one in typed}
    for site in scope.results:
        make = partial(put, site)
        for name in lists:
            yield mistake("wrong_return.unchanged", make(f"list({name})"), "unchanged", name=name)
        if isinstance(made.get(name_of(site.node)), ast.List):
            yield mistake("wrong_return.without", make("OLD[1:]"), one="first")
            yield mistake("wrong_return.without", make("OLD[:-1]"), one="last")


def texts(scope: Scope) -> Iterator[Rewrite]:
    """A text without the white space at its ends."""
    given = scope.node.args.args if scope.node.name[0] != "_" else ()  # none of helpers
    for name in (arg.arg for arg in given if arg.type_comment == "str"):
        for method in ("strip", "rstrip", "lstrip"):
            ends = [put(one, f"{name}.{method}()") for one in scope.loads(name)]
            yield mistake("ends_lost.named", ends, name=name)


def _zipped(loop: ast.For) -> Iterator[tuple[str, str]]:
    """Yield the names over which a loop runs in parallel, each with the name of its entries."""
    match loop:
        case ast.For(ast.Tuple(targets), ast.Call(ast.Name("zip"), sources)):
            for source, target in zip(sources, targets, strict=False):
                if isinstance(source, ast.Name) and isinstance(target, ast.Name):
                    yield source.id, target.id


def _is_added(site: Site, name: str) -> bool:
    """Whether the variable at *site* is *name*, as the second term of a sum."""
    is_term = isinstance(site.holder, ast.AugAssign | ast.BinOp) and site.key in {"value", "right"}
    return site.node.id == name and is_term and isinstance(site.holder.op, ast.Add)


def options(scope: Scope) -> Iterator[Rewrite]:
    """Calls without one of their keyword arguments."""
    for site in scope.of(ast.Call):
        for keyword in site.node.keywords if name_of(site.node.func) != "zip" else ():
            if keyword.arg is not None:
                less = Edit(site, partial(_without, keyword.arg))
                yield mistake("option_missing.named", less, name=keyword.arg)


def _without(name: str, call: ast.Call) -> ast.Call:
    kept = [one for one in call.keywords if one.arg != name]
    return ast.copy_location(ast.Call(call.func, call.args, kept), call)


def parts(scope: Scope) -> Iterator[Rewrite]:
    """Entries that must be left out."""
    for site in scope.of(ast.comprehension):
        if site.node.ifs:
            without = ast.comprehension(site.node.target, site.node.iter, [], site.node.is_async)
            yield mistake("filter_missing", put(site, "NEW", NEW=without))


def cases(scope: Scope) -> Iterator[Rewrite]:
    """Cases with the same label, and entries that stay next to those that replace them."""
    inside = {id(part) for site in scope.of(ast.Return) for part in ast.walk(site.node)}
    constants = [site for site in scope.of(ast.Constant) if id(site.node) in inside]
    labels = [one for one in constants if isinstance(one.holder, ast.Return | ast.IfExp)]
    for same in _merged(list(dict.fromkeys(site.node.value for site in labels))):
        yield mistake("cases_alike", [constant(site, same[site.node.value]) for site in labels])
    for site in scope.of(ast.If):
        match site.node:
            case ast.If(_, [ast.Expr(ast.Call() as call), *_], [ast.Expr(ast.Call(_, [old])), *_]):
                if name_of(call.func) == "append":
                    new = site_of(site, site.node.body[0], "value")
                    for text in ("OBJECT.extend([KEPT, FIRST])", "OBJECT.extend([FIRST, KEPT])"):
                        yield mistake("entry_kept", put(new, text, KEPT=old))


def _merged(labels: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the ways in which some of three or more cases get the label of an earlier one."""
    numbers = range(len(labels))
    for chosen in product(numbers, repeat=len(labels)) if len(labels) in {3, 4} else ():
        is_earlier = all(chosen[one] == one <= own for own, one in enumerate(chosen))
        if is_earlier and chosen != (*numbers,):
            yield {label: labels[one] for label, one in zip(labels, chosen, strict=True)}


RULES = (indexes, entries, choices, rounds, counts, options, parts, cases, results, texts)
