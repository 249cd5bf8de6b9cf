import ast

import pytest

from autograder.authoring import markers
from autograder.authoring.mutants import mutants
from autograder.authoring.mutation import EQUIVALENTS, EquivalentsFile, read_toml, try_stage
from autograder.course import find_root, load

MODULE = '''
def weigh(scores, given=3):
    """Weigh."""
    ### BEGIN SOLUTION
    if given < 2:
        raise ValueError("few")
    return scores.softmax(dim=-1) / given
    ### END SOLUTION
'''.lstrip()


@pytest.fixture(scope="module")
def course(pytestconfig):
    """The course itself."""
    return load(find_root(pytestconfig.rootpath))


def changes(text=MODULE):
    """Return each mutant's change in one line."""
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
    """What stands outside the solution regions is no student's, and stays."""
    given = next(
        node for node in ast.walk(ast.parse(MODULE)) if isinstance(node, ast.arguments)
    ).defaults[0]
    texts = [mutant.text for mutant in mutants(MODULE, "weigh.py")]

    assert given.value == 3
    assert all("given=3" in text for text in texts)


def test_no_mutant_comes_twice():
    """Two ways to the same text are one mutant."""
    texts = [mutant.text for mutant in mutants(MODULE, "weigh.py")]

    assert len(texts) == len(set(texts))


def test_what_no_check_notices_is_said(tiny):
    """A suite without a check on some line lets its mutants survive, and the trial names them."""
    trial = try_stage(tiny, tiny.stages[0])

    assert trial.killed > 0
    assert {mutant.label for mutant in trial.survived} == {
        "self.factor = nn.Parameter(torch.rand(d))  →  self.factor = nn.Parameter(torch.randn(d))"
    }


def test_each_explained_mutant_is_one_of_its_solution(course):
    """What equivalents.toml lists is still made from the solution: nothing there is stale."""
    for stage in course.stages:
        solution = stage.solution.read_text("utf-8")
        made = {(mutant.was, mutant.becomes) for mutant in mutants(solution, stage.name)}
        listed = read_toml(stage.hidden / EQUIVALENTS, EquivalentsFile).equivalent

        assert {(item.was, item.becomes) for item in listed} <= made
        assert all(item.reason for item in listed)
        assert markers.regions(solution, stage.name)
