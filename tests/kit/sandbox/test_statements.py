"""Tests listing the names that statements bind, and remembering the definitions among them."""

import ast

import pytest
from torch import nn

from autograder.sandbox.statements import (
    Rebinding,
    StatementRunner,
    bound_names,
    is_definition,
)


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        pytest.param("class A(B): x = 1", ["A"], id="class"),
        pytest.param("def f(x): y = x", ["f"], id="function"),
        pytest.param("a, (b, *c) = d", ["a", "b", "c"], id="targets"),
        pytest.param("import a.b, c as d", ["a", "d"], id="import"),
        pytest.param("from a import b, c as d", ["b", "d"], id="from-import"),
        pytest.param("if x:\n    y = 1\nelse:\n    def f(): z = 2", ["y", "f"], id="branches"),
        pytest.param("with a as b: c = 1", ["b", "c"], id="with"),
        pytest.param("print([x for x in y])", [], id="comprehension"),
        pytest.param("a.b = c[0] = 1", [], id="attribute-and-item"),
        pytest.param(f"a = {'+'.join('1' * 2000)}", ["a"], id="long-sum"),
    ],
)
def test_the_names_that_a_statement_binds_are_known_without_running_it(
    statement: str, names: list[str]
):
    """Names inside functions, classes and comprehensions are not the module's."""
    (node,) = ast.parse(statement).body

    assert sorted(bound_names(node)) == sorted(names)


@pytest.mark.parametrize("depth", [1100, 2000])
def test_a_statement_that_is_nested_too_deeply_costs_itself(depth: int):
    """A statement too deep to be compiled fails alone; the flags above it still apply."""
    namespace: dict[str, object] = {}
    text = f"from __future__ import annotations\nx = {'1+' * depth}1\ndef f(x: undefined): ...\n"
    failures = list(StatementRunner(namespace).run(text.encode(), "tiny.py"))

    assert [(item.line, item.names, item.compiled) for item in failures] == [(2, ("x",), True)]
    assert callable(namespace["f"])


@pytest.mark.parametrize("depth", [6000, 100_000])
def test_a_source_that_is_nested_too_deeply_to_be_parsed_fails_with_a_sentence(depth: int):
    """A statement that is too deep to be parsed fails with a sentence, and the others run."""
    namespace: dict[str, object] = {}
    text = f"x = {'-' * depth}1\ndef f(): ...\n".encode()
    [failure] = StatementRunner(namespace).run(text, "tiny.py")

    assert (failure.line, failure.names, failure.compiled) == (1, (), False)
    assert callable(namespace["f"])
    assert str(failure.error) == "it is nested too deeply, or too long, to be read"


def test_an_instance_of_a_layer_is_not_a_definition():
    """An instance of a layer is not a definition, because it cannot be constructed."""
    found = [is_definition(value) for value in (nn.Identity, abs, lambda: 1, nn.Identity(), None)]

    assert found == [True, True, True, False, False]


def test_a_rebound_definition_is_kept_with_the_line_that_rebinds_it():
    """A statement that binds a different name, or fails, is not the line of a definition."""
    namespace: dict[str, object] = {}
    runner = StatementRunner(namespace)
    text = b"def f(): ...\nf = 3\ng = 4\nf = undefined\n"
    lines = [failure.line for failure in runner.run(text, "tiny.py")]

    assert lines == [4]
    assert list(runner.rebindings()) == [Rebinding("f", "tiny.py", 2)]
    assert (callable(runner.definitions["f"]), namespace["f"]) == (True, 3)
