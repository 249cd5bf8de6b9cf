"""Mistakes in what a constructor makes: parameters, layers, buffers."""

import ast
from collections.abc import Iterator, Sequence
from itertools import permutations

from autograder.diagnosis.operators.rewrites import (
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
from autograder.diagnosis.operators.scopes import Scope

SEEDS = (0, 1, 42, 123, 789, 1337)  # those of the documents, and common choices

DRAWS = ("rand", "randn")

CREATES = ("Linear", "Parameter", *DRAWS, "draw")

MAX_ORDERED = 3  # all orders of more are too many; then only pairs are exchanged

NAMES = {"rand": "uniform", "randn": "normal"}


def order(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are created in another order."""
    created = [site for site in scope.of(ast.Assign) if _creates(site.node.value)]
    created = [site for site in created if site.holder is scope.node.body and _drawn_name(site)]
    names = [_drawn_name(site) for site in created]
    for wanted in _orders(len(created)):
        listed = ", ".join(f"`{names[index]}`" for index in wanted)
        yield mistake(
            "creation_order",
            [
                restate(site, "NEW", NEW=created[index].node)
                for site, index in zip(created, wanted, strict=True)
                if site is not created[index]
            ],
            f"The parameters are created in another order ({listed}), so with the same seed they "
            "get other numbers.",
        )


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
        for text, what in (
            (f"torch.{other}", f"the {NAMES[other]} distribution"),
            ("torch.zeros", "nothing: all of them are zero"),
            ("torch.ones", "nothing: all of them are one"),
            ("(lambda *s: 2 * torch.rand(*s) - 1)", "the uniform distribution between -1 and 1"),
            ("(lambda *s: 0.02 * torch.randn(*s))", "a narrow normal distribution"),
        ):
            if found:
                edits = [put(site, text) for site in found]
                yield mistake("distribution", edits, f"The parameters are drawn from {what}.")
    if scope.is_constructor or any(map(_creates, scope.locals.values())):
        yield from _seeds(scope, "A seed is set inside, so the caller's seed has no effect.")
    elif scope.owner is not None:
        yield from _seeds(
            scope,
            "Each call sets torch's seed, so random numbers repeat.",
        )


def _seeds(scope: Scope, sentence: str) -> Iterator[Rewrite]:
    for seed in SEEDS:
        first = scope.start if not scope.is_constructor else scope.after_super
        yield mistake(
            "seeded_inside", before(first, f"torch.default_generator.manual_seed({seed})"), sentence
        )
    drawn = [site for site in scope.of(ast.Assign) if _creates(site.node.value)]
    if len(drawn) > 1:
        for seed in SEEDS:
            yield mistake(
                "seeded_inside",
                [before(site, f"torch.default_generator.manual_seed({seed})") for site in drawn],
                "Torch's generator is seeded again before each parameter, so that they are equal.",
            )


def kinds_of_parameters(scope: Scope) -> Iterator[Rewrite]:
    """A parameter, a buffer and a plain tensor that stand in for one another."""
    parameters = list(scope.calls("Parameter"))
    if parameters:
        frozen = any(
            keyword.arg == "requires_grad" for site in parameters for keyword in site.node.keywords
        )
        sentence = "The parameters are trained, although they must be frozen."
        if not frozen:
            sentence = "The parameters are frozen, although they must be trained."
        text = f"torch.nn.Parameter(FIRST, requires_grad={frozen})"
        yield _all(parameters, "parameter_kind", text, sentence)
        sentence = "The weights are not registered as parameters; plain tensors, for one, are not."
        yield _all(parameters, "parameter_kind", "FIRST", sentence)
    for site in scope.of(ast.Expr):
        call = site.node.value
        if isinstance(call, ast.Call) and name_of(call.func) == "register_buffer":
            first, value = call.args
            name = first.value if isinstance(first, ast.Constant) else ""
            if not isinstance(name, str) or not name:
                continue
            for text, sentence in (
                (
                    "V",
                    f"There is no buffer `{name}`; an attribute does not move with its module.",
                ),
                ("torch.nn.Parameter(V * 1.0)", f"`{name}` is a parameter, which torch trains."),
                (
                    "torch.nn.Parameter(V * 1.0, requires_grad=False)",
                    f"`{name}` is a frozen parameter, not a buffer.",
                ),
            ):
                edit = restate(site, f"self.{name} = {text}", V=value)
                yield mistake("parameter_kind", edit, sentence)
    yield from _modules(scope)


def _modules(scope: Scope) -> Iterator[Rewrite]:
    """Modules that torch does not find, that are one and the same, or that are frozen."""
    for site in scope.calls("ModuleList"):
        sentence = (
            "The heads are not registered in the module; those in a plain list, for one, are not."
        )
        yield mistake("parameter_kind", put(site, "FIRST"), sentence)
    for site in scope.of(ast.ListComp):
        if scope.is_constructor:
            same = put(site, "[E] * len(R)", E=site.node.elt, R=site.node.generators[0].iter)
            sentence = "All heads are one and the same module, so that they share their weights."
            yield mistake("heads_repeated", same, sentence)
    layers = list(scope.calls("Linear"))
    if layers:
        sentence = "The layers are frozen, although they must be trained."
        yield _all(layers, "parameter_kind", "OLD.requires_grad_(False)", sentence)


def _all(sites: Sequence[Site], kind: str, text: str, sentence: str) -> Rewrite:
    return mistake(kind, [put(site, text) for site in sites], sentence)


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
    for value in ("True", "False"):
        for some in (biased, plain, *([site] for site in layers)):
            if not some:
                continue
            who = "Layers have" if len(some) > 1 else f"`{_layer_name(scope, some[0])}` has"
            how = "a bias" if value == "True" else "no bias"
            ignores = ignored and some[0] in biased
            sentence = f"{who} {how}, unlike documented."
            sentence = f"{who} {how}, whatever `{ignored[0]}` is." if ignores else sentence
            kind = "argument_ignored" if ignores else "bias_wrong"
            text = f"torch.nn.Linear(FIRST, SECOND, bias={value})"
            usable = [site for site in some if len(site.node.args) > 1]
            if usable:
                group = f"{ignored[0]} is {value}" if ignored and some is biased else ""
                edits = [put(site, text) for site in usable]
                yield mistake(kind, edits, sentence, group=group)
    if usable := [site for site in layers if len(site.node.args) > 1]:
        edits = [
            put(site_of(site, site.node.args, index), "NEW", NEW=site.node.args[1 - index])
            for site in usable
            for index in (0, 1)
        ]
        sentence = "The sizes of the layers' inputs and outputs are exchanged."
        yield mistake("wrong_size", edits, sentence)


def _layer_name(scope: Scope, site: Site) -> str:
    for other in scope.of(ast.Assign):
        if other.node.value is site.node:
            return _drawn_name(other)
    return "A layer"


RULES = (order, draws, kinds_of_parameters, biases_and_sizes)
