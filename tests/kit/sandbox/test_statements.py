"""Tests listing the names that statements bind, and remembering the definitions among them."""

import ast

import pytest
from torch import nn

from autograder.sandbox.notebook_magics import bound_names, read_parts
from autograder.sandbox.statements import (
    FailedStatement,
    Rebinding,
    StatementRunner,
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
    failures = list(StatementRunner(namespace).run(read_parts(text.encode()), "tiny.py"))

    assert [(item.line, item.names, item.compiled) for item in failures] == [(2, ("x",), True)]
    assert callable(namespace["f"])


@pytest.mark.parametrize("depth", [6000, 100_000])
def test_a_source_that_is_nested_too_deeply_to_be_parsed_fails_with_a_sentence(depth: int):
    """A statement that is too deep to be parsed fails with a sentence, and the others run."""
    namespace: dict[str, object] = {}
    text = f"x = {'-' * depth}1\ndef f(): ...\n".encode()
    [failure] = StatementRunner(namespace).run(read_parts(text), "tiny.py")

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
    lines = [failure.line for failure in runner.run(read_parts(text), "tiny.py")]

    assert lines == [4]
    assert list(runner.rebindings()) == [Rebinding("f", "tiny.py", 2)]
    assert (callable(runner.definitions["f"]), namespace["f"]) == (True, 3)


def run(text: str, **settings: object) -> tuple[dict[str, object], list[FailedStatement]]:
    """Run *text*; return its names and its failures."""
    namespace: dict[str, object] = {}
    parts = read_parts(text.encode())
    runner = StatementRunner(namespace, sources=[parts], **settings)
    return namespace, list(runner.run(parts, "tiny.py"))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def f(x: Missing) -> int: return 1", id="a-name-without-import"),
        pytest.param("def f(x: int['b t']): return 1", id="no-such-index"),
        pytest.param("class f:\n    y: Missing\n    def __new__(cls, x: f): return 1", id="class"),
        pytest.param("x: Missing = 1\ndef f(y): return x", id="variable"),
    ],
)
def test_a_definition_whose_annotations_alone_fail_runs_without_them(text: str):
    """An annotation that this Python can't evaluate costs nothing, and is reported."""
    namespace, [failure] = run(text)

    assert namespace["f"](2) == 1
    assert (failure.ran, failure.line) == (True, 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("@jaxtyped(typechecker=None)\ndef f(x): return 1", id="called"),
        pytest.param("@jaxtyped.strict\ndef f(x): return 1", id="attribute"),
        pytest.param(
            "class f:\n    @jaxtyped\n    def __new__(cls, x):\n        return 1", id="method"
        ),
        pytest.param(
            "def f(x):\n    def g(y: jaxtyped['a']): return 1\n    return g(x)", id="inner-function"
        ),
    ],
)
def test_a_package_that_is_missing_here_costs_no_decorator_and_no_annotation(text: str):
    """Type checkers add nothing to a result, so a definition runs without them."""
    namespace, failures = run(f"from no_such_package import jaxtyped\n{text}")

    assert namespace["f"](2) == 1
    assert [failure.line for failure in failures] == [1]


def test_an_error_that_is_not_in_an_annotation_stays():
    """A definition that fails in any other way is reported with its first error."""
    namespace, [failure] = run("class A(Missing):\n    x: Other = 1\n")

    assert (failure.ran, str(failure.error)) == (False, "name 'Missing' is not defined")
    assert "A" not in namespace


def test_a_statement_may_await():
    """A notebook may use ``await`` outside of functions."""
    namespace, failures = run("import asyncio\nasync def f(): return 3\nx = await f()\n")

    assert (namespace["x"], failures) == (3, [])


def test_the_names_of_a_notebook_are_known():
    """``display`` and ``get_ipython`` need no import, and a definition may replace them."""
    namespace, failures = run("get_ipython().system('ls')\ndef f(): display(1)\nf()\nIn, Out, _\n")

    assert failures == []
    assert "display" not in namespace


def test_only_what_definitions_need_runs_after_a_statement_that_was_left_out():
    """Later demonstrations are left out; imports, definitions and their values run."""
    text = (
        "a = 1\nloop()\nimport math\nT = 2\nmask = [T] * 2\nlater = train()\n"
        "print(later)\ndef f(): return mask\nf.name = 'f'\nfor _ in f(): pass\ng = f\n"
    )
    started: list[int] = []
    namespace, failures = run(text, report=started.append, left_out=(2,))

    assert [(one.line, one.error, one.number) for one in failures] == [(2, None, 2)]
    assert started == [1, 3, 4, 5, 8, 9, 11]
    assert namespace["g"]() == [2, 2]
