"""Mistakes in queries, keys and values: which one is used, and what it is made from."""

import ast
from collections.abc import Iterator
from itertools import combinations

from autograder.diagnosis.operators.rewrites import (
    Rewrite,
    Site,
    mistake,
    name_of,
    put,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import PROJECTIONS, is_parameter, role_of


def projections(scope: Scope) -> Iterator[Rewrite]:
    """One of queries, keys and values used for another, or the inputs for one of them."""
    if scope.is_constructor:
        return
    shapes = {id(site.node.value) for site in scope.of(ast.Attribute) if site.node.attr == "shape"}
    tensors = {str(role): name for role, name in scope.by_role.items() if role in PROJECTIONS}
    names = (*scope.tensors, *scope.locals)
    matrices = {role_of(ast.Name(name)): name for name in names if is_parameter(name)}
    for site in scope.of(ast.Name):
        role = role_of(site.node)
        known = matrices if is_parameter(site.node.id) else tensors
        loaded = isinstance(site.node.ctx, ast.Load) and id(site.node) not in shapes
        if role not in known or not loaded:
            continue
        others = [(other, name) for other, name in known.items() if other != role]
        for other, name in others:
            yield mistake(
                "projection_exchanged",
                put(site, name),
                f"The {other} are used where the {role} must be.",
                _question(role),
                group=f"{other} for {role}",
            )
        inputs = [name for name in scope.tensors if not role_of(ast.Name(name))]
        for name in inputs if known[role] not in scope.tensors else ():
            yield mistake(
                "projection_missing",
                put(site, name),
                f"`{name}` itself is used where the {role} must be.",
                group=f"inputs for {role}",
            )


def _question(role: str) -> str:
    return {
        "queries": "Which of the three stands for the token that asks?",
        "keys": "With what is a query compared?",
        "values": "What do the weights mix?",
    }[role]


def layers(scope: Scope) -> Iterator[Rewrite]:
    """A layer that is skipped, or exchanged with another one; another input of a layer."""
    if scope.is_constructor or scope.owner is None:
        return
    found = [site for site in _uses_of_layers(scope) if role_of(site.node) in PROJECTIONS]
    for one, other in combinations(found, 2):
        roles = role_of(one.node), role_of(other.node)
        if roles[0] != roles[1]:
            left, right = one.node, other.node
            yield mistake(
                "projection_exchanged",
                (
                    put(one, "NEW", NEW=right),
                    put(other, "NEW", NEW=left),
                ),
                *_exchange(*roles),
            )
            yield from _other_layers(scope, one, other)
    for site in scope.of(ast.Call):
        call = site.node
        own = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self"
        if own and len(call.args) == 1 and "dropout" not in name_of(call.func).lower():
            role = role_of(call)
            name = name_of(call.func)
            kind = "projection_missing" if role in PROJECTIONS else "layer_unused"
            sentence = (
                f"`{name}` has no effect: what goes in comes out unchanged."
                if kind == "layer_unused"
                else f"The inputs themselves are the {role}: `{name}` has no effect."
            )
            group = f"inputs for {role}" if role in PROJECTIONS else ""
            yield mistake(kind, put(site, "FIRST"), sentence, group=group)
    yield from _other_inputs(scope)


def _other_layers(scope: Scope, one: Site, other: Site) -> Iterator[Rewrite]:
    """One of two layers makes both quantities, from different inputs."""
    calls = {id(site.node.func): site.node.args for site in scope.of(ast.Call)}
    given = [ast.unparse(calls.get(id(site.node), [])) for site in (one, other)]
    if given[0] == given[1]:
        return  # then one quantity is used for the other
    for site, instead in ((one, other), (other, one)):
        used, unused = name_of(instead.node), name_of(site.node)
        sentence = f"`{used}` makes the {role_of(site.node)} as well: `{unused}` has no effect."
        edit = put(site, "NEW", NEW=instead.node)
        yield mistake("projection_exchanged", edit, sentence)


def _exchange(one: str, other: str) -> tuple[str, str, str]:
    """Say that two projections are exchanged: what is said and asked, and the group."""
    group = f"exchange {' '.join(sorted((one, other), reverse=True))}"
    if {one, other} != {"queries", "keys"}:
        return f"The {one} and the {other} are exchanged.", "", group
    sentence = "The queries and the keys are exchanged: row i of the scores belongs to key i."
    return sentence, "Which query does row i of the scores belong to?", group


def _other_inputs(scope: Scope) -> Iterator[Rewrite]:
    """Another argument goes into a projection."""
    tensors = [name for name in scope.tensors if name not in scope.optional]
    for site in scope.of(ast.Name):
        if site.node.id not in tensors or not isinstance(site.node.ctx, ast.Load):
            continue
        for name in tensors:
            if name != site.node.id:
                yield mistake(
                    "operand_repeated",
                    put(site, name),
                    f"`{name}` is used where `{site.node.id}` must be.",
                    f"What is `{site.node.id}` for?",
                    group=f"operand_repeated {name} {site.node.id}",
                )


def inputs(scope: Scope) -> Iterator[Rewrite]:
    """Two arguments that are exchanged."""
    for one, other in combinations(scope.tensors, 2):
        sites = [site for site in scope.of(ast.Name) if site.node.id in {one, other}]
        sites = [site for site in sites if isinstance(site.node.ctx, ast.Load)]
        edits = [put(site, other if site.node.id == one else one) for site in sites]
        if {site.node.id for site in sites} == {one, other}:
            roles = [role_of(ast.Name(name)) for name in (one, other)]
            words = _exchange(*roles) if all(roles) else (f"`{one}` and `{other}` are exchanged.",)
            yield mistake("projection_exchanged", edits, *words)


def _uses_of_layers(scope: Scope) -> Iterator[Site]:
    for site in scope.of(ast.Attribute):
        if ast.unparse(site.node.value) == "self" and isinstance(site.node.ctx, ast.Load):
            yield site


RULES = (projections, layers, inputs)
