"""Mistakes in dropout: missing, always on, on something else, or without the new scale."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Site,
    mistake,
    name_of,
    put,
    site_of,
)
from autograder.diagnosis.mistakes.scopes import Scope
from autograder.diagnosis.mistakes.vocabulary import role_of


def dropout(scope: Scope) -> Iterator[Rewrite]:
    """Dropout: missing, always on, on something else, or without the new scale."""
    for site in scope.of(ast.Call):
        call = site.node
        if "dropout" not in name_of(call.func).lower() or not call.args:
            continue
        if scope.is_constructor:
            keep = put(site_of(site, call.args, 0), "1 - OLD")
            yield mistake("dropout_not_rescaled.kept", keep)
            continue
        drop = put(site, "FIRST")
        yield mistake("dropout_missing", drop, "nothing is dropped")
        again = f"torch.nn.functional.dropout(FIRST, {ast.unparse(call.func)}.p, training=True)"
        yield mistake("dropout_always", put(site, again))
        kept = f"OLD * (1 - {ast.unparse(call.func)}.p if self.training else 1)"
        yield mistake("dropout_not_rescaled", put(site, kept))
        yield from _misplaced(scope, call, drop)


def _misplaced(scope: Scope, call: ast.Call, drop: Edit) -> Iterator[Rewrite]:
    for place, key, role in _places(scope):
        edits = (drop, put(place, "DROP(OLD)", DROP=call.func))
        yield mistake(key, edits, f"dropout on {role}", role=role)


def _places(scope: Scope) -> Iterator[tuple[Site, str, str]]:
    """Yield what else dropout may be applied to."""
    for softmax in scope.calls("softmax"):
        if softmax.node.args:
            place = site_of(softmax, softmax.node.args, 0)
            yield place, "dropout_misplaced.before_softmax", "scores"
    for filled in scope.calls("masked_fill"):
        place = site_of(filled, filled.node.func, "value")
        yield place, "dropout_misplaced.before_mask", "scores"
    for result in scope.of(ast.Return):
        if result.node.value is not None:
            place = site_of(result, result.node, "value")
            yield place, "dropout_misplaced.result", "result"
    for step in scope.of(ast.Assign):
        role = role_of(step.node.targets[0])
        if role in {"queries", "keys", "values", "context vectors", "scores"}:
            yield site_of(step, step.node, "value"), "dropout_misplaced.quantity", role


RULES = (dropout,)
