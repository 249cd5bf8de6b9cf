"""Mistakes in what is returned, in torch's graph, and between the items of a batch."""

import ast
from collections.abc import Iterator
from functools import partial
from itertools import combinations

from autograder.diagnosis.operators.rewrites import (
    Rewrite,
    before,
    mistake,
    put,
    site_of,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import ORDINALS, PROJECTIONS, role_of


def results(scope: Scope) -> Iterator[Rewrite]:
    """What is returned: an earlier step, several values, another dtype, cut from the graph."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Return):
        value = site.node.value
        if value is None:
            continue
        make = partial(put, site_of(site, site.node, "value"))
        final = role_of(value)
        for role, name in scope.by_role.items():
            if role not in {final, "mask"} and name not in scope.tensors:
                yield mistake(
                    "wrong_return",
                    make(name),
                    f"The {role} are returned, not the result of the last step.",
                    f"Which step comes after the {role}?",
                )
                text = f"(OLD, {name})"
                sentence = f"The {role} are returned as well; one result is asked for."
                question = "Can the caller use your result as one tensor?"
                yield mistake("wrong_return", make(text), sentence, question)
        for name in scope.tensors:
            sentence = f"The result is `{name}` itself, unchanged."
            yield mistake("wrong_return", make(name), sentence)
        for dtype in ("float64", "float32", "int64", "bool"):
            sentence = f"The result has the dtype {dtype}, not the one that is asked for."
            yield mistake("dtype", make(f"OLD.to(torch.{dtype})"), sentence, group="dtype")
        yield mistake(
            "detached",
            make("OLD.detach()"),
            "The result is cut from the graph: no gradient flows back from it.",
            group="result",
        )


def forms(scope: Scope) -> Iterator[Rewrite]:
    """The form of the result: True and False exchanged, several results in another order."""
    for site in scope.of(ast.Return):
        value = site.node.value
        make = partial(put, site_of(site, site.node, "value"))
        if isinstance(value, ast.Compare):
            sentence = "True and False are exchanged in the result."
            question = "What does True mean here, and what does False?"
            yield mistake("mask_inverted", make("~(OLD)"), sentence, question)
        for first, second in combinations(range(_length(value)), 2):
            order = list(range(_length(value)))
            order[first], order[second] = order[second], order[first]
            text = f"({', '.join(f'OLD[{index}]' for index in order)})"
            two = f"The {ORDINALS[first]} and the {ORDINALS[second]} result"
            yield mistake("wrong_return", make(text), f"{two} are exchanged.")


def _length(value: ast.expr | None) -> int:
    return len(value.elts) if isinstance(value, ast.Tuple) else 0


def graph(scope: Scope) -> Iterator[Rewrite]:
    """A quantity that is cut from the graph on its way to the result."""
    if scope.is_constructor:
        return
    for site in scope.of(ast.Assign):
        role = role_of(site.node.targets[0])
        if role == "scores" and "weights" in scope.by_role:
            role = "weights"  # which depend on nothing else
        if role and role != "mask":
            yield mistake(
                "detached",
                put(site_of(site, site.node, "value"), "OLD.detach()"),
                f"No gradient flows back through the {role}: what they come from is never trained.",
            )
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.Div | ast.Sub) and isinstance(site.node.right, ast.Call):
            what = "divisor" if isinstance(site.node.op, ast.Div) else "number that is subtracted"
            yield mistake(
                "detached",
                put(site_of(site, site.node, "right"), "OLD.detach()"),
                f"No gradient flows back through the {what}, which depends on the input as well.",
            )


def batch(scope: Scope) -> Iterator[Rewrite]:
    """Items of a batch that are not independent."""
    if scope.is_constructor or not scope.tensors:
        return
    name = scope.tensors[0]
    first = scope.start
    for site in scope.of(ast.Assign):
        role, value = role_of(site.node.targets[0]), site_of(site, site.node, "value")
        if role in PROJECTIONS:
            text = "(lambda t: t[:1].expand_as(t) if t.ndim > 2 else t)(OLD)"
            sentence = f"The {role} of the first item of the batch stand for those of all items."
            yield mistake("batch_mixed", put(value, text), sentence)
            text = "(lambda t: t[:, :1].expand_as(t) if t.ndim > 3 else t)(OLD)"
            sentence = f"The {role} of the first head stand for those of all heads."
            yield mistake("heads_repeated", put(value, text), sentence)
    for text, sentence in (
        ("[:1]", "The first item of the batch stands for all items."),
        (".mean(0, keepdim=True)", "The items of the batch are averaged."),
    ):
        same = f"{name} = {name}{text}.expand_as({name}) if {name}.ndim > 2 else {name}"
        yield mistake("batch_mixed", before(first, same), sentence)


RULES = (results, forms, graph, batch)
