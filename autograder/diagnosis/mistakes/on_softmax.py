"""Mistakes in the softmax, and in what takes its place."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.mistakes.rewriting import (
    Rewrite,
    input_site,
    is_module,
    mistake,
    name_of,
    option,
    put,
)
from autograder.diagnosis.mistakes.scopes import Scope

SOFTMAX = "softmax"

OTHERS_THAN_SOFTMAX = (
    ("X", "softmax_missing.scores"),
    ("torch.sigmoid(X)", "softmax_missing.sigmoid"),
    ("torch.log_softmax(X, dim=D)", "softmax_missing.logarithms"),
    ("(lambda s: s / s.sum(dim=D, keepdim=True))(X)", "softmax_missing.without_exponential"),
    ("torch.exp(X)", "softmax_missing.without_sum"),
    (
        "torch.nn.functional.one_hot(X.argmax(dim=D), X.shape[D]).to(X.dtype)",
        "softmax_missing.largest_score",
    ),
)
AXES = (
    ("-2", "softmax_axis.queries"),
    ("0", "softmax_axis.first"),
    ("1", "softmax_axis.second"),
)
SHIFTS = (  # LEFT are the scores from which their maximum must be subtracted
    ("LEFT", "softmax_unstable.not_shifted"),
    ("LEFT - LEFT.max()", "softmax_unstable.one_maximum"),
    ("LEFT - LEFT.mean()", "softmax_unstable.mean"),
    ("LEFT / LEFT.abs().max()", "softmax_unstable.divided"),
)


def softmax(scope: Scope) -> Iterator[Rewrite]:
    """The softmax: over another axis, twice, or something else in its place."""
    for site in scope.calls(SOFTMAX):
        scores, dim = input_site(site), option(site.node, "dim", 1)
        if scores is None or dim is None:
            continue
        make = partial(put, site, X=scores, D=dim)
        for axis, key in AXES:
            yield mistake(key, make(f"torch.softmax(X, dim={axis})"), "softmax_axis")
        template = "(lambda s: torch.softmax(s.flatten(), dim=0).reshape(s.shape))(X)"
        yield mistake("softmax_axis.together", make(template))
        for template, key in OTHERS_THAN_SOFTMAX:
            yield mistake(key, make(template))
        yield mistake("softmax_twice", put(site, "torch.softmax(OLD, dim=D)", D=dim))


def stable_softmax(scope: Scope) -> Iterator[Rewrite]:
    """The shift that keeps exponentials finite: forgotten, or that of all slices together."""
    for site in scope.of(ast.BinOp):
        node = site.node
        if isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Call):
            name = name_of(node.right.func)
            inner = node.right.func
            if name not in {"amax", "max"} or is_module(getattr(inner, "value", inner)):
                continue
            for text, key in SHIFTS:
                yield mistake(key, put(site, text))


RULES = (softmax, stable_softmax)
