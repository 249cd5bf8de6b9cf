"""Tests the edits that make one piece of code of another."""

import ast

import pytest

from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.rewriting import Rewrite

RIGHT = """
def wanted(x, n=2):
    y = x + n
    if n > 2:
        y = helper(y)
        y = y * n
    return y
"""
CHANGES = [
    pytest.param("x + n", "x - n", 1, id="an-operator"),
    pytest.param("n=2", "n=3", 1, id="a-default"),
    pytest.param("helper(y)", "helper(y, n)", 1, id="another-argument"),
    pytest.param("    return y\n", "    y = y + 1\n    return y\n", 1, id="a-new-statement"),
    pytest.param("    return y\n", "", 1, id="no-return"),
    pytest.param("    y = x + n\n", "", 1, id="a-missing-statement"),
    pytest.param("y = helper(y)\n        y = y * n", "pass", 2, id="fewer-statements"),
    pytest.param("def wanted(x, n=2)", "def wanted(x, n=2, m=3)", 1, id="other-arguments"),
]


def plain(text: str) -> str:
    """Return *text* without blocks that always run, and without statements that do nothing."""
    lines, depth = [], []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        depth = [one for one in depth if one < indent]
        if line.strip() == "if True:":
            depth.append(indent)
        elif line.strip() != "pass":
            lines.append(line[4 * len(depth) :])
    return "\n".join(lines)


@pytest.mark.parametrize(("old", "new", "count"), CHANGES)
def test_edits_make_the_wrong_code_of_the_right_one(old: str, new: str, count: int):
    """Only the smallest different places are edited, so that others can be edited, too."""
    code, wrong = (
        ExerciseCode(text, "wanted", ["wanted"]) for text in (RIGHT, RIGHT.replace(old, new))
    )
    edits = code.edits_for(wrong)
    made = code.text([Rewrite("wrong", {}, edits)])

    assert len(edits) == count
    assert plain(made) == plain(wrong.text([]))
    assert ast.parse(made)


def test_code_with_another_helper_has_no_edits():
    """A misconception that calls another helper changes more than the same code."""
    helpers = "def one(x): ...\ndef two(x): ...\n"
    code, wrong = (
        ExerciseCode(f"{helpers}def wanted(x):\n    return {name}(x)", "wanted", ["wanted"])
        for name in ("one", "two")
    )

    assert code.edits_for(wrong) == ()


@pytest.mark.parametrize(
    ("right", "one", "other", "both"),
    [
        ("-x.mean()", "x.mean()", "-x.sum()", "x.sum()"),
        ("x.mean()", "-x.mean()", "x.sum()", "-x.sum()"),
        ("f(x + n)", "[f(x + n) for n in x]", "f(x - n)", "[f(x - n) for n in x]"),
    ],
)
def test_a_change_around_another_one_keeps_it(right: str, one: str, other: str, both: str):
    """A mistake in an expression stays in it when the second mistake moves or wraps it."""
    code, outer, inner, wanted = (
        ExerciseCode(f"def wanted(x, n):\n    return {text}", "wanted", ["wanted"])
        for text in (right, one, other, both)
    )
    rewrites = [Rewrite("wrong", {}, code.edits_for(wrong)) for wrong in (outer, inner)]

    assert code.text(rewrites) == code.text(rewrites[::-1]) == wanted.text([])
    assert code.text([]).endswith(f"return {right}")


def test_a_statement_can_be_added_next_to_one_that_changes():
    """An added statement keeps the one next to it, which another mistake may replace."""
    code, longer, other = (
        ExerciseCode(f"def wanted(x):\n    {body}", "wanted", ["wanted"])
        for body in ("return x", "x = x + 1; return x", "return 2 * x")
    )
    one, two = (Rewrite("wrong", {}, code.edits_for(wrong)) for wrong in (longer, other))

    assert one.places.isdisjoint(two.places)
    assert plain(code.text([one, two])) == plain(code.text([two, one]))
    assert plain(code.text([one, two])) == "def wanted(x):\n    x = x + 1\n    return 2 * x"
