"""Tests reporting small changes to a solution that no check catches."""

import ast
import functools
from pathlib import Path

import pytest

from autograder.authoring import mutation
from autograder.authoring.mutation import (
    EQUIVALENTS,
    EquivalentsFile,
    edits_in,
    mutants,
    mutants_in,
    mutate_stage,
)
from autograder.course import find_root, load
from autograder.course_file import read_toml

COURSE = load(find_root(Path(__file__).parent))

MODULE = '''
def weigh(scores, given=3):
    """Weigh."""
    ### BEGIN SOLUTION
    if given < 2:
        raise ValueError("few")
    return scores.softmax(dim=-1) / given
    ### END SOLUTION
'''.lstrip()


@pytest.mark.slow
@pytest.mark.usefixtures("lent_fork_server")
def test_what_no_check_catches_survives(tiny, monkeypatch):
    """A mutant of the factor's random draw is reported, because no check tests the draw."""
    grade = functools.partial(mutation.grade, jobs=1)  # the lent fork server has one client
    monkeypatch.setattr(mutation, "grade", grade)

    report = mutate_stage(tiny, tiny.stages[0])

    assert report.killed > 0
    assert {mutant.label for mutant in report.survived} == {
        "self.factor = nn.Parameter(torch.rand(d))  →  self.factor = nn.Parameter(torch.randn(d))"
    }


def test_copies_of_earlier_exercises_are_left_out(monkeypatch):
    """A copy gives no points, and its own stage shows what its checks catch."""
    graded = []
    monkeypatch.setattr(mutation, "_survivors", lambda *given: graded.extend(given[-1]) or [])
    mutate_stage(COURSE, COURSE.stage("19_translation"))

    assert "self.norm3 = LayerNorm(d_model)" in {one.was for one in graded}
    copied = {"self.eps = eps", "return 0.5 * x * (1 + torch.tanh(inner))"}  # gelu is a helper
    assert copied.isdisjoint({one.was for one in graded})


@pytest.mark.slow
@pytest.mark.parametrize("stage", COURSE.stages, ids=lambda stage: stage.name)
def test_each_equivalent_is_a_mutant_of_its_solution(stage):
    """Every entry of equivalents.toml is still generated from the solution, and has a reason."""
    solution = stage.solution.read_text("utf-8")
    generated = {(mutant.was, mutant.becomes) for mutant in mutants(solution, stage.name)}
    listed = read_toml(stage.hidden / EQUIVALENTS, EquivalentsFile).equivalent

    assert {(item.was, item.becomes) for item in listed} <= generated
    assert all(item.reason for item in listed)
    assert generated


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


WRITTEN = """import torch


@torch.no_grad()
def attend(queries,   keys):  # both (T, d)
    scores = (queries@keys.T)*2  # one row per query
    return torch.softmax(scores / keys.shape[-1] ** 0.5,
                         dim = -1)
"""


def test_an_edit_changes_one_line_and_nothing_else():
    """Comments, line breaks and spacing stay, so that they don't show what has been changed."""
    edits = [text for _, text in edits_in(WRITTEN, [range(1, 9)])]
    lines = WRITTEN.splitlines()

    for text in edits:
        pairs = zip(lines, text.splitlines(), strict=True)
        assert len([old for old, new in pairs if old != new]) == 1
        ast.parse(text)
    for row in (
        "    scores = (queries@keys)*2  # one row per query",
        "    scores = (queries@keys.T)/2  # one row per query",
        "    scores = (queries@keys.T)*3  # one row per query",
        "    return torch.softmax(scores * keys.shape[-1] ** 0.5,",
        "                         dim = -2)",
    ):
        assert any(row in text.splitlines() for text in edits)
    assert len(edits) == len(set(edits))


def test_an_edit_does_not_give_itself_away():
    """Parentheses around a name, and a negative zero, would show the place at a glance."""
    texts = [text for _, text in edits_in(WRITTEN, [range(1, 9)])]

    assert not [text for text in texts if "(queries)" in text or "-0" in text or "pass" in text]


def test_an_edit_is_the_same_change_as_a_mutant():
    """Each edit is one of the changes with which `mutate` tests a suite."""
    mutated = {ast.dump(ast.parse(one.text)) for one in mutants_in(WRITTEN, [range(1, 9)])}

    assert {ast.dump(ast.parse(text)) for _, text in edits_in(WRITTEN, [range(1, 9)])} <= mutated
