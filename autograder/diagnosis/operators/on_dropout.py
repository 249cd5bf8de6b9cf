"""Mistakes in dropout: missing, always on, on something else, or without the new scale."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.operators.rewrites import (
    Edit,
    Rewrite,
    Site,
    mistake,
    name_of,
    put,
    site_of,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import role_of


def dropout(scope: Scope) -> Iterator[Rewrite]:
    """Dropout: missing, always on, on something else, or without the new scale."""
    for site in scope.of(ast.Call):
        call = site.node
        if "dropout" not in name_of(call.func).lower() or not call.args:
            continue
        if scope.is_constructor:
            keep = put(site_of(site, call.args, 0), "1 - OLD")
            sentence = "The probability of being kept is used as that of being dropped."
            yield mistake(
                "dropout_not_rescaled",
                keep,
                sentence,
                "Is it the probability of losing a weight or of keeping it?",
            )
            continue
        drop = put(site, "FIRST")
        yield mistake("dropout_missing", drop, group="nothing is dropped")
        again = f"torch.nn.functional.dropout(FIRST, {ast.unparse(call.func)}.p, training=True)"
        yield mistake("dropout_always", put(site, again))
        kept = f"OLD * (1 - {ast.unparse(call.func)}.p if self.training else 1)"
        yield mistake("dropout_not_rescaled", put(site, kept))
        yield from _misplaced(scope, call, drop)


def _misplaced(scope: Scope, call: ast.Call, drop: Edit) -> Iterator[Rewrite]:
    for place, what in _places(scope):
        sentence = f"Dropout applies to {what}; it belongs to the attention weights."
        edits = (drop, put(place, "DROP(OLD)", DROP=call.func))
        group = f"dropout on {what.split(',')[0]}"
        yield mistake("dropout_misplaced", edits, sentence, group=group)


def _places(scope: Scope) -> Iterator[tuple[Site, str]]:
    """Yield what else dropout may be applied to."""
    for softmax in scope.calls("softmax"):
        if softmax.node.args:
            yield site_of(softmax, softmax.node.args, 0), "the scores, before the softmax"
    for filled in scope.calls("masked_fill"):
        yield site_of(filled, filled.node.func, "value"), "the scores, before the mask"
    for result in scope.of(ast.Return):
        if result.node.value is not None:
            yield site_of(result, result.node, "value"), "the result"
    for step in scope.of(ast.Assign):
        role = role_of(step.node.targets[0])
        if role in {"queries", "keys", "values", "context vectors", "scores"}:
            yield site_of(step, step.node, "value"), f"the {role}"


RULES = (dropout,)
