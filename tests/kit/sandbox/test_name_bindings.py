"""Tests finding the statements that bind a name."""

import ast

import pytest

from autograder.sandbox.name_bindings import (
    Binding,
    children,
    local_names,
    module_bindings,
    walk,
)


def bindings(source: str) -> list[Binding]:
    """The bindings of a module with this source."""
    return list(module_bindings(ast.parse(source).body))


@pytest.mark.parametrize(
    ("source", "name", "value"),
    [
        pytest.param("a = b", "a", "b", id="assignment"),
        pytest.param("a: int = b", "a", "b", id="annotated"),
        pytest.param("a = c = b", "c", "b", id="chain"),
        pytest.param("(a, c) = (b, d)", "c", "d", id="pair"),
        pytest.param("print(a := b)", "a", "b", id="walrus"),
        pytest.param("for a in (b,): pass", "a", "b", id="loop-over-one"),
    ],
)
def test_a_name_is_bound_to_an_expression(source: str, name: str, value: str):
    """A binding holds the expression itself."""
    found = {item.name: item for item in bindings(source)}

    assert found[name].is_exact
    assert ast.unparse(found[name].value) == value


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("a, *c = b", id="starred"),
        pytest.param("for a in b: pass", id="loop"),
        pytest.param("with b as a: pass", id="with"),
        pytest.param("match b:\n    case a: pass", id="match"),
        pytest.param("a = 1\na += b", id="augmented"),
        pytest.param("try: pass\nexcept ValueError as a: pass", id="exception"),
    ],
)
def test_a_name_is_bound_to_a_part(source: str):
    """A name that is bound to a part is not bound to the whole expression."""
    assert any(item.name == "a" and not item.is_exact for item in bindings(source))


@pytest.mark.parametrize(
    ("source", "name", "dotted"),
    [
        pytest.param("import torch.nn", "torch", "torch", id="package"),
        pytest.param("import torch.nn as n", "n", "torch.nn", id="renamed"),
        pytest.param("from torch import nn as n", "n", "torch.nn", id="from"),
        pytest.param("from torch import *", "*", "torch", id="star"),
        pytest.param("from . import helpers", "helpers", "..helpers", id="relative"),
    ],
)
def test_an_import_binds_a_dotted_name(source: str, name: str, dotted: str):
    """An import has no value, and its name with dots."""
    [found] = bindings(source)

    assert (found.name, found.imported, found.value) == (name, dotted, None)


@pytest.mark.parametrize(
    ("source", "is_nested"),
    [
        pytest.param("a = 1", False, id="plain"),
        pytest.param("with b: a = 1", False, id="with"),
        pytest.param("if b: a = 1", True, id="if"),
        pytest.param("def f():\n    global a\n    a = 1", True, id="global"),
    ],
)
def test_a_binding_that_may_not_run_is_nested(source: str, is_nested: object):
    """A binding is nested unless it is in a plain statement or in the body of a `with`."""
    assert next(item for item in bindings(source) if item.name == "a").is_nested is is_nested


def test_the_names_of_a_scope_are_its_own():
    """The names of an inner function, or of a scope around it, do not belong to a scope."""
    body = ast.parse(
        "global g\ng = a = 1\nfrom torch import exp\ndef f(): b = 1\n[c for c in [d := 1]]"
    ).body

    assert local_names(body) == {"a": "", "exp": "torch.exp", "f": "", "d": ""}


def test_a_walk_visits_what_holds_something():
    """A walk visits each node once, except operators and contexts."""
    tree = ast.parse("x = a + b")

    assert {type(node).__name__ for node in walk(tree)} == {"Module", "Assign", "Name", "BinOp"}
    assert children(tree) == tree.body
