"""Makes mistakes in what a constructor makes: parameters, layers, buffers, dropout."""

import ast
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    before,
    expression,
    is_module,
    leave_out,
    mistake,
    put,
    restate,
    site_of,
    swapped,
)
from autograder.diagnosis.student_code import name_of

SEEDS = (0, 1, 42, 123, 789, 1337)  # those of the documents, and common choices

DRAWS = ("rand", "randn")

CREATES = ("Linear", "Parameter", *DRAWS, "draw")

OTHER_DRAWS = (  # in the place of a function that draws
    ("OTHER", "distribution.other"),
    ("torch.zeros", "distribution.zeros"),
    ("(lambda *s: 0.02 * torch.randn(*s))", "distribution.narrow"),
)

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

DROPPED = ("result", "queries", "keys", "values", "context vectors", "scores")

DRAWN = ("rand", "randn", "draw")


def order(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are created in another order."""
    created = [site for site in scope.of(ast.Assign) if _makes(site.node.value)]
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
    """Yield the orders in which two are swapped, or which are reversed or turned."""
    right = [*range(count)]
    for one, other in combinations(right, 2):
        pair = {one: other, other: one}
        yield [pair.get(index, index) for index in right]
    if count > 2:  # noqa: PLR2004  # more than a pair
        yield from (right[-1:] + right[:-1], right[1:] + right[:1])
    if count > 3:  # noqa: PLR2004  # of three, that is a swap
        yield right[::-1]


def _makes(value: ast.expr, names: Sequence[str] = CREATES) -> bool:
    """Whether *value* contains a call of one of *names*."""
    return any(
        isinstance(node, ast.Call) and name_of(node.func) in names for node in ast.walk(value)
    )


def _drawn_name(site: Site) -> str:
    target = site.node.targets[0]
    return name_of(target) if isinstance(target, ast.Attribute | ast.Name) else ""


def draws(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are drawn from another distribution, in other shapes, or by another seed."""
    for name, other in (DRAWS, DRAWS[::-1]):
        sites = (site for site in scope.of(ast.Attribute) if site.node.attr == name)
        found = [site for site in sites if is_module(site.node.value)]
        for text, key in OTHER_DRAWS if found else ():
            edits = [put(site, text, OTHER=expression(f"torch.{other}")) for site in found]
            yield mistake(key, edits, other=NAMES[other])
    samples = any(map(_makes, scope.locals.values())) or any(scope.calls("multinomial"))
    if scope.is_constructor or samples:
        first = scope.after_super if scope.is_constructor else scope.start
        for seed in SEEDS:
            edit = before(first, f"torch.default_generator.manual_seed({seed})")
            yield mistake("seeded_inside.once", edit)


def first_values(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that start with ones in the place of zeros, or the reverse."""
    for site in scope.of(ast.Assign) if scope.is_constructor else ():
        inside = {id(node) for node in ast.walk(site.node.value)}
        for one, other in (("zeros", "ones"), ("ones", "zeros")):
            for call in (each for each in scope.calls(one) if id(each.node) in inside):
                edit = put(site_of(call, call.node, "func"), f"torch.{other}")
                words = {"name": _drawn_name(site), "other": other}
                yield mistake("distribution.first_values", edit, **words)


def kinds_of_parameters(scope: Scope) -> Iterator[Rewrite]:
    """A parameter, a buffer or a plain tensor in the place of another of them."""
    parameters = list(scope.calls("Parameter"))
    if parameters:
        frozen = any(
            one.arg == "requires_grad" for site in parameters for one in site.node.keywords
        )
        key = "parameter_kind.trained" if frozen else "parameter_kind.frozen"
        text = f"torch.nn.Parameter(FIRST, requires_grad={frozen})"
        yield mistake(key, [put(site, text) for site in parameters])
        yield mistake("parameter_kind.plain", [put(site, "FIRST") for site in parameters])
    for site, name, value in _buffers(scope):
        for text, key in BUFFERS:
            edit = restate(site, f"self.{name} = {text}", V=value)
            yield mistake(key, edit, name=name)
    for site in scope.calls("ModuleList"):
        yield mistake("parameter_kind.heads", put(site, "FIRST"))
    for site in scope.of(ast.ListComp):
        if scope.is_constructor:
            same = put(site, "[E] * len(R)", E=site.node.elt, R=site.node.generators[0].iter)
            yield mistake("heads_repeated.module", same)


def _buffers(scope: Scope) -> Iterator[tuple[Site, str, ast.expr]]:
    """Yield the statements that register a buffer, each with its name and its value."""
    for site in scope.of(ast.Expr):
        match site.node.value:
            case ast.Call(func, [ast.Constant(str(name)), value]) if (
                name_of(func) == "register_buffer"
            ):
                yield site, name, value


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
    """Dropout: missing, always on, on something else, or with the wrong probability."""
    for site in scope.calls("Dropout") if scope.is_constructor else ():
        yield mistake("dropout_rate", put(site, "FUNC(1 - FIRST)"))
    for site in scope.of(ast.Call) if not scope.is_constructor else ():
        call = site.node
        if "dropout" not in name_of(call.func).lower() or not call.args:
            continue
        drop = put(site, "FIRST")
        yield mistake("dropout_missing", drop, "nothing is dropped")
        again = f"torch.nn.functional.dropout(FIRST, {ast.unparse(call.func)}.p, training=True)"
        yield mistake("dropout_always", put(site, again))
        for role, place in [*(("result", one) for one in scope.results), *scope.quantities]:
            key = "dropout_misplaced.result" if role == "result" else "dropout_misplaced.quantity"
            edits = (drop, put(place, "DROP(OLD)", DROP=call.func))
            if role == "result":
                yield mistake("dropout_misplaced.as_well", edits[1:])
            if role in DROPPED:
                yield mistake(key, edits, f"dropout on {role}", role=role)


def missing(scope: Scope) -> Iterator[Rewrite]:
    """A parameter that is not created, or under the name of another one."""
    created = _created(scope) if scope.is_constructor else []
    names = {name for name, _ in created}
    for name, site in created:
        yield mistake("parameter_missing.not_created", leave_out(site), name=name)
        for other in sorted(names - {name}):
            edit = restate(site, f"self.{other} = NEW", NEW=site.node.value)
            yield mistake("parameter_missing.set_twice", edit, name=name, other=other)
    for site, name, _ in _buffers(scope):
        yield mistake("parameter_missing.buffer", leave_out(site), name=name)


def _created(scope: Scope) -> list[tuple[str, Site]]:
    """List the parameters, layers and modules that the constructor sets, by name."""
    assigned = [(site.node.targets[0], site) for site in scope.of(ast.Assign)]
    return [
        (target.attr, site)
        for target, site in assigned
        if isinstance(target, ast.Attribute)
        and _makes(site.node.value, (*CREATES, "Dropout", "ModuleList"))
    ]


def single(scope: Scope) -> Iterator[Rewrite]:
    """One parameter or layer with swapped sizes."""
    for site in (one for one in scope.of(ast.Assign) if _makes(one.node.value)):
        inside = {id(node) for node in ast.walk(site.node.value)}
        for part in scope.calls("Linear", *DRAWN):
            if id(part.node) in inside and len(part.node.args) > 1:
                edit, name = Edit(part, partial(swapped, 0)), name_of(site.node.targets[0])
                yield mistake("wrong_size.parameter", edit, name=name)


def all_drawn(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are drawn together in another way."""
    sites = [site for site in scope.calls(*DRAWN) if site.node.args]
    if len(sites) > 1:
        count = len(sites)
        sizes = [*map(ast.unparse, sites[0].node.args)]
        shape = ", ".join(sizes) if len(sizes) > 1 else f"*{sizes[0]}"
        first = f"(_drawn := FUNC({count}, {shape}))[0]"
        texts = [first, *(f"_drawn[{index}]" for index in range(1, count))]
        edits = [put(site, text) for site, text in zip(sites, texts, strict=True)]
        yield mistake("draw_at_once", edits)
        *others, last = sizes
        wide = ", ".join((*others, f"{count} * ({last})"))
        first = f"(_drawn := FUNC({wide}).chunk({count}, dim=-1))[0]"
        edits = [put(sites[0], first), *edits[1:]]
        yield mistake("draw_at_once", edits)
