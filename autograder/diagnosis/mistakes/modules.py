"""Mistakes in what a constructor makes: parameters, layers, buffers."""

import ast
from collections.abc import Iterator, Sequence
from itertools import permutations

from autograder.diagnosis.mistakes.rewriting import (
    Rewrite,
    Site,
    before,
    is_module,
    mistake,
    name_of,
    put,
    restate,
    site_of,
)
from autograder.diagnosis.mistakes.scopes import Scope

SEEDS = (0, 1, 42, 123, 789, 1337)  # those of the documents, and common choices

DRAWS = ("rand", "randn")

CREATES = ("Linear", "Parameter", *DRAWS, "draw")

MAX_ORDERED = 3  # all orders of more are too many; then only pairs are exchanged

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
    ("torch.nn.Parameter(V * 1.0, requires_grad=False)", "parameter_kind.buffer_frozen"),
)


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
            ("torch.ones", "distribution.ones"),
            ("(lambda *s: 2 * torch.rand(*s) - 1)", "distribution.symmetric"),
            ("(lambda *s: 0.02 * torch.randn(*s))", "distribution.narrow"),
        ):
            if found:
                edits = [put(site, text) for site in found]
                yield mistake(key, edits, other=NAMES[other])
    if scope.is_constructor or any(map(_creates, scope.locals.values())):
        yield from _seeds(scope, "seeded_inside.once")
    elif scope.owner is not None:
        yield from _seeds(scope, "seeded_inside.each_call")


def _seeds(scope: Scope, key: str) -> Iterator[Rewrite]:
    for seed in SEEDS:
        first = scope.start if not scope.is_constructor else scope.after_super
        yield mistake(key, before(first, f"torch.default_generator.manual_seed({seed})"))
    drawn = [site for site in scope.of(ast.Assign) if _creates(site.node.value)]
    for seed in SEEDS if len(drawn) > 1 else ():
        text = f"torch.default_generator.manual_seed({seed})"
        edits = [before(site, text) for site in drawn]
        yield mistake("seeded_inside.each_parameter", edits)


def kinds_of_parameters(scope: Scope) -> Iterator[Rewrite]:
    """A parameter, a buffer and a plain tensor that stand in for one another."""
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
    """Modules that torch does not find, that are one and the same, or that are frozen."""
    for site in scope.calls("ModuleList"):
        yield mistake("parameter_kind.heads", put(site, "FIRST"))
    for site in scope.of(ast.ListComp):
        if scope.is_constructor:
            same = put(site, "[E] * len(R)", E=site.node.elt, R=site.node.generators[0].iter)
            yield mistake("heads_repeated.module", same)
    layers = list(scope.calls("Linear"))
    if layers:
        edits = [put(site, "OLD.requires_grad_(False)") for site in layers]
        yield mistake("parameter_kind.layers_frozen", edits)


def biases_and_sizes(scope: Scope) -> Iterator[Rewrite]:
    """Layers with a bias that they must not have, without one, or with exchanged sizes."""
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


RULES = (order, draws, kinds_of_parameters, biases_and_sizes)
