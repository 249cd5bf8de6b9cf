"""Tests the dotted names that code uses, read from its bytecode."""

import pytest

from autograder.sandbox.bytecode_names import MAX_NAME, ModuleNames, imports, mentions, operations


def names_in(source: str, **aliases: str) -> dict[str, bool]:
    """Return the names that a source uses, and whether each object is only called."""
    names = ModuleNames(frozenset({"own", *aliases}), aliases)
    return {one.name: one.is_called for one in mentions(compile(source, "", "exec"), names)}


@pytest.mark.parametrize(
    ("source", "name", "is_called"),
    [
        pytest.param("F.softmax(x)", "torch.nn.functional.softmax", True, id="called"),
        pytest.param("keep(F.softmax)", "torch.nn.functional.softmax", False, id="passed-on"),
        pytest.param("own.part", "own", False, id="own-object"),
        pytest.param("x[0].exp()", "?.exp", True, id="of-a-result"),
        pytest.param("(x or y).exp()", "?.exp", True, id="of-one-of-two"),
        pytest.param("x.part.exp = 1", "x.part.exp", False, id="attribute-that-is-set"),
        pytest.param("x.exp += 1", "x.exp", False, id="attribute-that-grows"),
        pytest.param("(F\n .exp\n (x))", "torch.nn.functional.exp", True, id="on-three-lines"),
        pytest.param("getattr(F, 'exp')", "torch.nn.functional.exp", False, id="text"),
        pytest.param("getattr(a @ b, 'exp')", "?.exp", False, id="text-of-a-result"),
        pytest.param("getattr(F, 'exp', x.y)", "torch.nn.functional.exp", False, id="default"),
        pytest.param("getattr(F, *names)", "torch.nn.functional.(computed)", False, id="starred"),
        pytest.param("methodcaller('exp', -1)(x)", "?.exp", False, id="methodcaller"),
        pytest.param("F.__dict__['exp'](x)", "?.exp", True, id="table"),
        pytest.param("eval('x')", "?.(computed)", False, id="computed"),
        pytest.param("keep(getattr)", "?.(computed)", False, id="a-lookup-that-is-passed-on"),
        pytest.param("match x:\n    case A(exp=y): pass", "?.exp", False, id="pattern"),
    ],
)
def test_each_way_to_use_a_name_is_a_mention(source: str, name: str, is_called: object):
    """The object of a name that is called at once is not passed on."""
    assert names_in(source, F="torch.nn.functional")[name] is is_called


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def f(exp): return exp", id="parameter"),
        pytest.param("[exp for exp in x]", id="variable-of-a-comprehension"),
        pytest.param("def f():\n    exp = 1\n    return lambda: exp", id="variable-around-it"),
        pytest.param("class A:\n    def f(self): return self.exp", id="own-attribute"),
        pytest.param("'exp'", id="text"),
    ],
)
def test_a_variable_is_not_an_import_of_the_same_name(source: str):
    """A name that Python resolves to a variable or an attribute is not the imported object."""
    assert "torch.exp" not in names_in(source, exp="torch.exp")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return exp(x)", id="function"),
        pytest.param("return [exp(y) for y in x]", id="comprehension"),
        pytest.param("return (lambda y: exp(y))(x)", id="lambda"),
        pytest.param("def g(y): return exp(y)\n    return g(x)", id="function-inside"),
    ],
)
def test_an_import_in_a_function_is_followed(body: str):
    """A name that a function imports keeps its dotted name in the functions inside it."""
    assert "torch.exp" in names_in(f"def f(x):\n    from torch import exp\n    {body}")


@pytest.mark.parametrize(
    ("source", "name", "dotted"),
    [
        pytest.param("import torch.nn", "torch", "torch", id="package"),
        pytest.param("import torch.nn.functional as F", "F", "torch.nn.functional", id="renamed"),
        pytest.param("from torch import nn as n", "n", "torch.nn", id="from"),
        pytest.param("from torch import *", "*", "torch", id="star"),
        pytest.param("from . import helpers", "helpers", "..helpers", id="relative"),
    ],
)
def test_an_import_binds_a_dotted_name(source: str, name: str, dotted: str):
    """An import gives a name the module or object with a dotted name."""
    found = imports(operations(compile(source, "", "exec")))

    assert [(one, other) for one, other, _ in found] == [(name, dotted)]


def test_the_names_of_a_class_are_those_that_it_reads():
    """The names that the compiler itself reads in each class are left out."""
    assert names_in("class A(own):\n    x = own.y") == {"own": False, "own.y": False}


def test_a_long_chain_is_computed():
    """A very long chain of attributes is not shown, and may be any name."""
    found = names_in("x." + ".".join(["exp"] * MAX_NAME))

    assert found == {"?.(computed)": False}
