"""Mutation testing reports the mutants that a hidden suite does not catch."""

import functools
from pathlib import Path

import pytest

from autograder.authoring import mutation
from autograder.authoring.mutants import mutants
from autograder.authoring.mutation import EQUIVALENTS, EquivalentsFile, mutate_stage
from autograder.course import find_root, load, read_toml

COURSE = load(find_root(Path(__file__).parent))


@pytest.mark.usefixtures("lent_fork_server")
def test_what_no_check_catches_survives(tiny, monkeypatch):
    """No check of the tiny suite looks at how the factor is drawn, so that mutant is reported."""
    grade = functools.partial(mutation.grade, jobs=1)  # the lent fork server has one client
    monkeypatch.setattr(mutation, "grade", grade)

    report = mutate_stage(tiny, tiny.stages[0])

    assert report.killed > 0
    assert {mutant.label for mutant in report.survived} == {
        "self.factor = nn.Parameter(torch.rand(d))  →  self.factor = nn.Parameter(torch.randn(d))"
    }


@pytest.mark.parametrize("stage", COURSE.stages, ids=lambda stage: stage.name)
def test_each_equivalent_is_a_mutant_of_its_solution(stage):
    """Every entry of equivalents.toml is still generated from the solution, and has a reason."""
    solution = stage.solution.read_text("utf-8")
    generated = {(mutant.was, mutant.becomes) for mutant in mutants(solution, stage.name)}
    listed = read_toml(stage.hidden / EQUIVALENTS, EquivalentsFile).equivalent

    assert {(item.was, item.becomes) for item in listed} <= generated
    assert all(item.reason for item in listed)
    assert generated
