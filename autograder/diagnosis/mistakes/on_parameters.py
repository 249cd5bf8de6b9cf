"""Mistakes in one parameter or layer of several: missing, drawn or shaped otherwise, frozen."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.mistakes.modules import CREATES, NAMES
from autograder.diagnosis.mistakes.rewriting import (
    Rewrite,
    Site,
    is_module,
    leave_out,
    mistake,
    name_of,
    put,
    restate,
    site_of,
)
from autograder.diagnosis.mistakes.scopes import Scope

DRAWN = ("rand", "randn", "draw")


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
    """One parameter or layer that is drawn, shaped or frozen otherwise than the others."""
    for name, site in _drawn(scope):
        inside = {id(node) for node in ast.walk(site.node.value)}
        for part in (one for one in scope.sites if id(one.node) in inside):
            yield from _otherwise(part, name)
        yield from _frozen(site, name)


def _drawn(scope: Scope) -> Iterator[tuple[str, Site]]:
    for site in scope.of(ast.Assign):
        calls = (one for one in ast.walk(site.node.value) if isinstance(one, ast.Call))
        if any(name_of(one.func) in CREATES for one in calls):
            yield name_of(site.node.targets[0]), site


def _otherwise(part: Site, name: str) -> Iterator[Rewrite]:
    """Change one part of the value that the parameter *name* gets."""
    node = part.node
    if isinstance(node, ast.Attribute) and node.attr in NAMES and is_module(node.value):
        other = next(one for one in NAMES if one != node.attr)
        edit = put(part, f"torch.{other}")
        yield mistake("distribution.parameter", edit, name=name, other=NAMES[other])
    if not isinstance(node, ast.Call):
        return
    made = name_of(node.func)
    if made in {"Linear", *DRAWN} and len(node.args) > 1:
        rest = "".join(f", {one.arg}={ast.unparse(one.value)}" for one in node.keywords)
        edit = put(part, f"FUNC(SECOND, FIRST{rest})")
        yield mistake("wrong_size.parameter", edit, name=name)
    if made in DRAWN and len(node.args) > 1:
        edit = put(part, "FUNC(SECOND, FIRST).T")
        yield mistake("draw_transposed.parameter", edit, name=name)
    if made == "Parameter":
        frozen = any(one.arg == "requires_grad" for one in node.keywords)
        key = "parameter_kind.one_trained" if frozen else "parameter_kind.one_frozen"
        text = f"{ast.unparse(node.func)}(FIRST, requires_grad={frozen})"
        yield mistake(key, put(part, text), name=name)


def _frozen(site: Site, name: str) -> Iterator[Rewrite]:
    value = site.node.value
    if isinstance(value, ast.Call) and name_of(value.func) == "Linear":
        edit = put(site_of(site, site.node, "value"), "OLD.requires_grad_(False)")
        yield mistake("parameter_kind.one_frozen", edit, name=name)


def all_drawn(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are drawn together in another way."""
    sites = [site for site in scope.calls(*DRAWN) if site.node.args]
    if len(sites) > 1 and all(len(site.node.args) > 1 for site in sites):
        edits = [put(site, "FUNC(SECOND, FIRST).T") for site in sites]
        yield mistake("draw_transposed.parameters", edits)
        edits = [put(site, "FUNC(SECOND, FIRST)") for site in sites]
        yield mistake("wrong_size.parameters", edits)
    if len(sites) > 1:
        count = len(sites)
        shape = ", ".join(map(ast.unparse, sites[0].node.args))
        shape = shape if len(sites[0].node.args) > 1 else f"*{shape}"
        first = f"(_drawn := FUNC({count}, {shape}))[0]"
        texts = [first, *(f"_drawn[{index}]" for index in range(1, count))]
        edits = [put(site, text) for site, text in zip(sites, texts, strict=True)]
        yield mistake("draw_at_once", edits)


def stored_weights(scope: Scope) -> Iterator[Rewrite]:
    """The weight of a layer, used as it is stored, or without its bias."""
    if scope.is_constructor or scope.owner is None:
        return
    layers = [site for site in scope.of(ast.Call) if _is_layer(site.node)]
    alone = [[site] for site in layers]
    for some in (*alone, layers) if len(layers) > 1 else alone:
        several, name = len(some) > 1, name_of(some[0].node.func)
        edits = [put(site, "FIRST @ FUNC.weight") for site in some]
        key = "stored_weight.layers" if several else "stored_weight.layer"
        yield mistake(key, edits, layer=name)
        edits = [put(site, "FIRST @ FUNC.weight.T") for site in some]
        key = "bias_wrong.unused_biases" if several else "bias_wrong.unused_bias"
        yield mistake(key, edits, layer=name)


def _is_layer(call: ast.Call) -> bool:
    own = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self"
    return own and len(call.args) == 1 and "dropout" not in name_of(call.func).lower()


RULES = (missing, single, all_drawn, stored_weights)
