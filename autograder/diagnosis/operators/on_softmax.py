"""Mistakes in the softmax, and in what takes its place."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.operators.rewrites import (
    Edit,
    Rewrite,
    Site,
    input_site,
    is_module,
    mistake,
    name_of,
    option,
    put,
)
from autograder.diagnosis.operators.scopes import Scope

SOFTMAX = "softmax"

OTHERS_THAN_SOFTMAX = (
    ("X", "The scores are used as weights: no softmax makes them positive and sum to one."),
    (
        "torch.sigmoid(X)",
        "Each score becomes a weight by itself; those of a row do not sum to one.",
    ),
    (
        "torch.log_softmax(X, dim=D)",
        "The logarithms of weights, none of them positive, are used as weights.",
    ),
    (
        "(lambda s: s / s.sum(dim=D, keepdim=True))(X)",
        "The scores are divided by their sum, without the exponential: a weight can be negative.",
    ),
    ("torch.exp(X)", "The exponentials of the scores are not divided by their sum."),
    (
        "torch.nn.functional.one_hot(X.argmax(dim=D), X.shape[D]).to(X.dtype)",
        "Only the key with the largest score counts; all others get the weight zero.",
    ),
)


def softmax(scope: Scope) -> Iterator[Rewrite]:
    """The softmax: over another axis, twice, or something else in its place."""
    for site in scope.calls(SOFTMAX):
        scores, dim = input_site(site), option(site.node, "dim", 1)
        if scores is None or dim is None:
            continue
        for axis, sentence in (
            (
                "-2",
                "The softmax runs over the queries, not over the keys: each column sums to one.",
            ),
            ("0", "The softmax runs over the first axis, that of queries or items, not of keys."),
            (
                "1",
                "The softmax runs over the second axis, which in a batch does not hold keys.",
            ),
        ):
            yield mistake(
                "softmax_axis",
                _around(site, scores, f"torch.softmax(X, dim={axis})", dim),
                sentence,
                group="softmax_axis",
            )
        template = "(lambda s: torch.softmax(s.flatten(), dim=0).reshape(s.shape))(X)"
        yield mistake(
            "softmax_axis",
            _around(site, scores, template, dim),
            "All weights together sum to one; those of each query must.",
        )
        for template, sentence in OTHERS_THAN_SOFTMAX:
            yield mistake("softmax_missing", _around(site, scores, template, dim), sentence)
        yield mistake("softmax_twice", put(site, "torch.softmax(OLD, dim=D)", D=dim))


def _around(site: Site, scores: Site, template: str, dim: ast.expr) -> Edit:
    """Put *template* in the place of the softmax at *site*."""
    return put(site, template, X=scores, D=dim)


def stable_softmax(scope: Scope) -> Iterator[Rewrite]:
    """The shift that keeps exponentials finite: forgotten, or that of all slices together."""
    for site in scope.of(ast.BinOp):
        node = site.node
        if isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Call):
            name = name_of(node.right.func)
            inner = node.right.func
            if name not in {"amax", "max"} or is_module(getattr(inner, "value", inner)):
                continue
            yield mistake(
                "softmax_unstable",
                put(site, "LEFT"),
                "Nothing is subtracted before the exponential, so that large scores overflow.",
            )
            for text, sentence in (
                (
                    "LEFT - LEFT.max()",
                    "The maximum of all scores is subtracted, not that of each slice.",
                ),
                ("LEFT - LEFT.mean()", "The mean is subtracted, which large scores still exceed."),
                ("LEFT / LEFT.abs().max()", "The scores are divided by the largest one."),
            ):
                yield mistake("softmax_unstable", put(site, text), sentence)


RULES = (softmax, stable_softmax)
