"""Tests finding the statements that bind a name of a module."""

import ast

import pytest

from autograder.sandbox.bytecode_names import Binding, bindings, certain, compiled, flat


def bound_by(source: str) -> list[Binding]:
    """The bindings of a module with this source."""
    return [
        one
        for statement, is_nested in flat(ast.parse(source).body)
        for one in bindings(statement, compiled(statement), is_nested=is_nested)
    ]


@pytest.mark.parametrize(
    ("source", "name", "value"),
    [
        pytest.param("a = b", "a", "b", id="assignment"),
        pytest.param("a: int = b", "a", "b", id="annotated"),
        pytest.param("a = c = b", "c", "b", id="chain"),
        pytest.param("(a, c) = (b, d)", "c", "d", id="pair"),
        pytest.param("(a, [c]) = (b, [d])", "c", "d", id="pair-in-a-pair"),
    ],
)
def test_a_name_is_bound_to_a_value(source: str, name: str, value: str):
    """The binding of an assigned name holds its own value, and not that of the other names."""
    [found] = [one for one in bound_by(source) if one.name == name]

    assert ast.unparse(found.node) == value


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("a, *c = b", id="starred"),
        pytest.param("print(a := b)", id="walrus"),
        pytest.param("for a in b: pass", id="loop"),
        pytest.param("with b as a: pass", id="with"),
        pytest.param("match b:\n    case a: pass", id="match"),
        pytest.param("try: pass\nexcept b as a: pass", id="exception"),
    ],
)
def test_a_name_may_be_bound_to_a_part(source: str):
    """A name that a statement binds to a part of something has the code of the statement."""
    [found] = [one for one in bound_by(source) if one.name == "a"]

    assert "b" in found.code.co_names


@pytest.mark.parametrize(
    ("source", "is_nested"),
    [
        pytest.param("a = 1", False, id="plain"),
        pytest.param("with b: a = 1", False, id="with"),
        pytest.param("if b: a = 1", True, id="if"),
        pytest.param("try: pass\nexcept b: a = 1", True, id="except"),
        pytest.param("match b:\n    case 1: a = 1", True, id="case"),
        pytest.param("def f():\n    global a\n    a = 1", True, id="global"),
    ],
)
def test_a_binding_that_may_not_run_is_nested(source: str, is_nested: object):
    """A binding is nested unless it is in a plain statement or in the body of a `with`."""
    assert [one.is_nested for one in bound_by(source) if one.name == "a"] == [is_nested]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        pytest.param("def a(): ...\ndef a(): ...", [2], id="last-function"),
        pytest.param("class a: ...\na = a()", [1, 2], id="class-and-its-instance"),
        pytest.param("import a\nif b:\n    import a", [3], id="the-same-import"),
        pytest.param("a = b\nif c: a = None", [1], id="a-value-that-may-not-be-bound"),
        pytest.param("if b: a = c\nelse: a = d", [], id="one-of-two"),
    ],
)
def test_uses_of_a_name_certainly_refer_to_the_last_binding(source: str, lines: list[int]):
    """A name with different callables in statements that may not run has no certain binding."""
    found = [one for one in bound_by(source) if one.name == "a"]

    assert [one.line for one in certain(found)] == lines
