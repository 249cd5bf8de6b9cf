"""Mutants are small changes inside the solution regions of a module."""

import ast

import pytest

from autograder.authoring.mutants import mutants

MODULE = '''
def weigh(scores, given=3):
    """Weigh."""
    ### BEGIN SOLUTION
    if given < 2:
        raise ValueError("few")
    return scores.softmax(dim=-1) / given
    ### END SOLUTION
'''.lstrip()


def changes(text=MODULE):
    """Return the change of each mutant in one line."""
    return [mutant.label for mutant in mutants(text, "weigh.py")]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("/ given  →  return scores.softmax(dim=-1) * given", id="operator"),
        pytest.param("→  return scores.softmax(dim=-1)", id="operand-dropped"),
        pytest.param("→  return scores.softmax(dim=-2) / given", id="constant"),
        pytest.param("→  return scores.softmax() / given", id="argument-dropped"),
        pytest.param("→  return scores.log_softmax(dim=-1) / given", id="another-name"),
        pytest.param("if given < 2:  →  if given <= 2:", id="comparison"),
        pytest.param("raise ValueError('few')  →  pass", id="statement-dropped"),
    ],
)
def test_a_mutant_is_one_small_change(change: str):
    """Operators, operands, constants, arguments, names, comparisons and statements are changed."""
    assert any(change in found for found in changes())


def test_only_what_students_write_is_changed():
    """Code outside the solution regions is not the student's and stays the same."""
    given = next(
        node for node in ast.walk(ast.parse(MODULE)) if isinstance(node, ast.arguments)
    ).defaults[0]
    texts = [mutant.text for mutant in mutants(MODULE, "weigh.py")]

    assert given.value == 3
    assert all("given=3" in text for text in texts)


def test_no_mutant_occurs_twice():
    """Two changes with the same result are one mutant."""
    texts = [mutant.text for mutant in mutants(MODULE, "weigh.py")]

    assert len(texts) == len(set(texts))
