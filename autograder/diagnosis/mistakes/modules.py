"""Makes mistakes in what a constructor makes: parameters, layers, buffers, dropout."""

import ast
from collections.abc import Iterator, Sequence
from itertools import permutations

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    before,
    is_module,
    leave_out,
    mistake,
    name_of,
    put,
    restate,
    site_of,
)
from autograder.diagnosis.vocabulary import role_of

SEEDS = (0, 1, 42, 123, 789, 1337)  # those of the documents, and common choices

DRAWS = ("rand", "randn")

CREATES = ("Linear", "Parameter", *DRAWS, "draw")

MAX_ORDERED = 3  # more have too many orders; then only pairs are swapped

NAMES = {"rand": "uniform", "randn": "normal"}

BIAS = {  # by whether an argument decides about it, and whether several layers are meant
    (False, False): "bias_wrong.layer",
    (False, True): "bias_wrong.layers",
    (True, False): "argument_ignored.bias_of_layer",
    (True, True): "argument_ignored.bias_of_layers",
}

BUFFERS = (  # in the place of a buffer V
    ("V", "parameter_kind.no_buffer"),
    ("torch.nn.Parameter(V * 1.0)", "parameter_kind.buffer_trained"),
    ("torch.nn.Parameter(V, requires_grad=False)", "parameter_kind.buffer_frozen"),
)

DRAWN = ("rand", "randn", "draw")


def order(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are created in another order."""
    created = [site for site in scope.of(ast.Assign) if _creates(site.node.value)]
    created = [site for site in created if site.holder is scope.node.body and _drawn_name(site)]
    names = [_drawn_name(site) for site in created]
    for wanted in _orders(len(created)):
        listed = ", ".join(f"`{names[index]}`" for index in wanted)
        edits = [
            restate(site, "NEW", NEW=created[index].node)
            for site, index in zip(created, wanted, strict=True)
            if site is not created[index]
        ]
        yield mistake("creation_order.listed", edits, names=listed)


def _orders(count: int) -> Iterator[Sequence[int]]:
    right = tuple(range(count))
    if count <= MAX_ORDERED:
        yield from (one for one in permutations(right) if one != right)
        return
    for one in permutations(right):
        moved = [index for index in right if one[index] != index]
        if len(moved) == 2 or one == right[::-1] or one == (right[-1], *right[:-1]):  # noqa: PLR2004  # a pair
            yield one


def _creates(value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Call) and name_of(node.func) in CREATES for node in ast.walk(value)
    )


def _drawn_name(site: Site) -> str:
    target = site.node.targets[0]
    return name_of(target) if isinstance(target, ast.Attribute | ast.Name) else ""


def draws(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are drawn from another distribution, in other shapes, or by another seed."""
    for name, other in (DRAWS, DRAWS[::-1]):
        sites = list(scope.of(ast.Attribute))
        found = [site for site in sites if site.node.attr == name and is_module(site.node.value)]
        for text, key in (
            (f"torch.{other}", "distribution.other"),
            ("torch.zeros", "distribution.zeros"),
            ("(lambda *s: 0.02 * torch.randn(*s))", "distribution.narrow"),
        ):
            if found:
                edits = [put(site, text) for site in found]
                yield mistake(key, edits, other=NAMES[other])
    if scope.is_constructor or any(map(_creates, scope.locals.values())):
        first = scope.after_super if scope.is_constructor else scope.start
        for seed in SEEDS:
            edit = before(first, f"torch.default_generator.manual_seed({seed})")
            yield mistake("seeded_inside.once", edit)


def kinds_of_parameters(scope: Scope) -> Iterator[Rewrite]:
    """A parameter, a buffer or a plain tensor in the place of another of them."""
    parameters = list(scope.calls("Parameter"))
    if parameters:
        frozen = any(
            keyword.arg == "requires_grad" for site in parameters for keyword in site.node.keywords
        )
        key = "parameter_kind.trained" if frozen else "parameter_kind.frozen"
        text = f"torch.nn.Parameter(FIRST, requires_grad={frozen})"
        yield mistake(key, [put(site, text) for site in parameters])
        yield mistake("parameter_kind.plain", [put(site, "FIRST") for site in parameters])
    for site in scope.of(ast.Expr):
        call = site.node.value
        if isinstance(call, ast.Call) and name_of(call.func) == "register_buffer":
            first, value = call.args
            name = first.value if isinstance(first, ast.Constant) else ""
            if not isinstance(name, str) or not name:
                continue
            for text, key in BUFFERS:
                edit = restate(site, f"self.{name} = {text}", V=value)
                yield mistake(key, edit, name=name)
    yield from _modules(scope)


def _modules(scope: Scope) -> Iterator[Rewrite]:
    """Modules that torch does not find, or that are one and the same."""
    for site in scope.calls("ModuleList"):
        yield mistake("parameter_kind.heads", put(site, "FIRST"))
    for site in scope.of(ast.ListComp):
        if scope.is_constructor:
            same = put(site, "[E] * len(R)", E=site.node.elt, R=site.node.generators[0].iter)
            yield mistake("heads_repeated.module", same)


def biases_and_sizes(scope: Scope) -> Iterator[Rewrite]:
    """Layers with a bias that they must not have, without one, or with swapped sizes."""
    layers = list(scope.calls("Linear"))
    biased = [site for site in layers if any(one.arg == "bias" for one in site.node.keywords)]
    plain = [site for site in layers if site not in biased]
    ignored = [
        one.value.id
        for site in biased
        for one in site.node.keywords
        if isinstance(one.value, ast.Name)
    ]
    for value, how in (("True", "a bias"), ("False", "no bias")):
        for some in (biased, plain, *([site] for site in layers)):
            usable = [site for site in some if len(site.node.args) > 1]
            if not usable:
                continue
            edits = [put(site, f"torch.nn.Linear(FIRST, SECOND, bias={value})") for site in usable]
            group = f"{ignored[0]} is {value}" if ignored and some is biased else ""
            ignores = ignored and some[0] in biased
            key = BIAS[bool(ignores), len(some) > 1]
            words = {"layer": _layer_name(scope, some[0]), "how": how, "name": (*ignored, "")[0]}
            yield mistake(key, edits, group, **words)
    if usable := [site for site in layers if len(site.node.args) > 1]:
        edits = [
            put(site_of(site, site.node.args, index), "NEW", NEW=site.node.args[1 - index])
            for site in usable
            for index in (0, 1)
        ]
        yield mistake("wrong_size.layers", edits)


def _layer_name(scope: Scope, site: Site) -> str:
    for other in scope.of(ast.Assign):
        if other.node.value is site.node:
            return _drawn_name(other)
    return "A layer"


def dropout(scope: Scope) -> Iterator[Rewrite]:
    """Dropout: missing, always on, on something else, or without the new scale."""
    for site in scope.of(ast.Call):
        call = site.node
        if "dropout" not in name_of(call.func).lower() or not call.args:
            continue
        if scope.is_constructor:
            continue
        drop = put(site, "FIRST")
        yield mistake("dropout_missing", drop, "nothing is dropped")
        again = f"torch.nn.functional.dropout(FIRST, {ast.unparse(call.func)}.p, training=True)"
        yield mistake("dropout_always", put(site, again))
        yield from _misplaced(scope, call, drop)


def _misplaced(scope: Scope, call: ast.Call, drop: Edit) -> Iterator[Rewrite]:
    for place, key, role in _places(scope):
        edits = (drop, put(place, "DROP(OLD)", DROP=call.func))
        yield mistake(key, edits, f"dropout on {role}", role=role)


def _places(scope: Scope) -> Iterator[tuple[Site, str, str]]:
    """Yield the other quantities that dropout may be applied to."""
    for result in scope.of(ast.Return):
        if result.node.value is not None:
            place = site_of(result, result.node, "value")
            yield place, "dropout_misplaced.result", "result"
    for step in scope.of(ast.Assign):
        role = role_of(step.node.targets[0])
        if role in {"queries", "keys", "values", "context vectors", "scores"}:
            yield site_of(step, step.node, "value"), "dropout_misplaced.quantity", role


def missing(scope: Scope) -> Iterator[Rewrite]:
    """A parameter that is not created, or under the name of another one."""
    created = _created(scope) if scope.is_constructor else []
    names = {name for name, _ in created}
    for name, site in created:
        yield mistake("parameter_missing.not_created", leave_out(site), name=name)
        for other in sorted(names - {name}):
            edit = restate(site, f"self.{other} = NEW", NEW=site.node.value)
            yield mistake("parameter_missing.set_twice", edit, name=name, other=other)
    for site in scope.of(ast.Expr):
        if scope.is_constructor and name_of(getattr(site.node.value, "func", site.node.value)) == (
            "register_buffer"
        ):
            name = ast.literal_eval(site.node.value.args[0])
            yield mistake("parameter_missing.buffer", leave_out(site), name=name)


def _created(scope: Scope) -> list[tuple[str, Site]]:
    """List the parameters, layers and modules that the constructor sets, by name."""
    found = []
    for site in scope.of(ast.Assign):
        target, calls = site.node.targets[0], ast.walk(site.node.value)
        makes = any(isinstance(one, ast.Call) and _is_made(one) for one in calls)
        if isinstance(target, ast.Attribute) and makes:
            found.append((target.attr, site))
    return found


def _is_made(call: ast.Call) -> bool:
    return name_of(call.func) in {*CREATES, "Dropout", "ModuleList"}


def single(scope: Scope) -> Iterator[Rewrite]:
    """One parameter or layer with swapped sizes."""
    for name, site in _drawn(scope):
        inside = {id(node) for node in ast.walk(site.node.value)}
        for part in scope.calls("Linear", *DRAWN):
            if id(part.node) in inside and len(part.node.args) > 1:
                rest = "".join(
                    f", {one.arg}={ast.unparse(one.value)}" for one in part.node.keywords
                )
                edit = put(part, f"FUNC(SECOND, FIRST{rest})")
                yield mistake("wrong_size.parameter", edit, name=name)


def _drawn(scope: Scope) -> Iterator[tuple[str, Site]]:
    for site in scope.of(ast.Assign):
        calls = (one for one in ast.walk(site.node.value) if isinstance(one, ast.Call))
        if any(name_of(one.func) in CREATES for one in calls):
            yield name_of(site.node.targets[0]), site


def all_drawn(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are drawn together in another way."""
    sites = [site for site in scope.calls(*DRAWN) if site.node.args]
    if len(sites) > 1:
        count = len(sites)
        shape = ", ".join(map(ast.unparse, sites[0].node.args))
        shape = shape if len(sites[0].node.args) > 1 else f"*{shape}"
        first = f"(_drawn := FUNC({count}, {shape}))[0]"
        texts = [first, *(f"_drawn[{index}]" for index in range(1, count))]
        edits = [put(site, text) for site, text in zip(sites, texts, strict=True)]
        yield mistake("draw_at_once", edits)
