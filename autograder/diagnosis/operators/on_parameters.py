"""Mistakes in one parameter or layer of several: missing, drawn or shaped otherwise, frozen."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.operators.on_layers import CREATES, NAMES
from autograder.diagnosis.operators.rewrites import (
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
from autograder.diagnosis.operators.scopes import Scope

DRAWN = ("rand", "randn", "draw")


def missing(scope: Scope) -> Iterator[Rewrite]:
    """A parameter that is not created, or under the name of another one."""
    created = _created(scope) if scope.is_constructor else []
    names = {name for name, _ in created}
    for name, site in created:
        sentence = f"`{name}` is not created."
        yield mistake("parameter_missing", leave_out(site), sentence)
        for other in sorted(names - {name}):
            edit = restate(site, f"self.{other} = NEW", NEW=site.node.value)
            sentence = f"`{other}` is set twice, and `{name}` not at all."
            yield mistake("parameter_missing", edit, sentence)
    for site in scope.of(ast.Expr):
        if scope.is_constructor and name_of(getattr(site.node.value, "func", site.node.value)) == (
            "register_buffer"
        ):
            name = ast.literal_eval(site.node.value.args[0])
            sentence = f"The buffer `{name}` is not registered."
            yield mistake("parameter_missing", leave_out(site), sentence)


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
        sentence = f"`{name}` is drawn from the {NAMES[other]} distribution."
        yield mistake("distribution", put(part, f"torch.{other}"), sentence)
    if not isinstance(node, ast.Call):
        return
    made = name_of(node.func)
    if made in {"Linear", *DRAWN} and len(node.args) > 1:
        rest = "".join(f", {one.arg}={ast.unparse(one.value)}" for one in node.keywords)
        sentence = f"The two sizes of `{name}` are exchanged."
        yield mistake("wrong_size", put(part, f"FUNC(SECOND, FIRST{rest})"), sentence)
    if made in DRAWN and len(node.args) > 1:
        sentence = f"`{name}` is drawn in the transposed shape, so that its numbers are elsewhere."
        yield mistake("draw_transposed", put(part, "FUNC(SECOND, FIRST).T"), sentence)
    if made == "Parameter":
        frozen = any(one.arg == "requires_grad" for one in node.keywords)
        sentence = f"`{name}` is frozen, although it must be trained."
        sentence = f"`{name}` is trained, although it must be frozen." if frozen else sentence
        text = f"{ast.unparse(node.func)}(FIRST, requires_grad={frozen})"
        yield mistake("parameter_kind", put(part, text), sentence)


def _frozen(site: Site, name: str) -> Iterator[Rewrite]:
    value = site.node.value
    if isinstance(value, ast.Call) and name_of(value.func) == "Linear":
        sentence = f"`{name}` is frozen, although it must be trained."
        edit = put(site_of(site, site.node, "value"), "OLD.requires_grad_(False)")
        yield mistake("parameter_kind", edit, sentence)


def all_drawn(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are drawn together in another way."""
    sites = [site for site in scope.calls(*DRAWN) if site.node.args]
    if len(sites) > 1 and all(len(site.node.args) > 1 for site in sites):
        edits = [put(site, "FUNC(SECOND, FIRST).T") for site in sites]
        sentence = (
            "The parameters are drawn in the transposed shape, so that numbers are elsewhere."
        )
        yield mistake("draw_transposed", edits, sentence)
        edits = [put(site, "FUNC(SECOND, FIRST)") for site in sites]
        sentence = "The two sizes of the parameters are exchanged."
        yield mistake("wrong_size", edits, sentence)
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
        names = [f"`{name_of(site.node.func)}`" for site in some]
        edits = [put(site, "FIRST @ FUNC.weight") for site in some]
        sentence = (
            f"The weight of {names[0]} is multiplied as it is stored; the layer transposes it."
            if len(names) == 1
            else "The weights of the layers are multiplied as they are stored; a layer "
            "transposes its weight."
        )
        yield mistake("stored_weight", edits, sentence)
        edits = [put(site, "FIRST @ FUNC.weight.T") for site in some]
        sentence = f"The bias of {names[0]} has no effect."
        sentence = sentence if len(names) == 1 else "The biases of the layers have no effect."
        yield mistake("bias_wrong", edits, sentence)


def _is_layer(call: ast.Call) -> bool:
    own = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self"
    return own and len(call.args) == 1 and "dropout" not in name_of(call.func).lower()


RULES = (missing, single, all_drawn, stored_weights)
