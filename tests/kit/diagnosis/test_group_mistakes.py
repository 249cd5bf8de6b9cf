"""Tests that only the stages that name a group have its mistakes."""

from pathlib import Path

import pytest

from autograder.authoring.release import sources_digest
from autograder.course import Stage, load
from autograder.course_file import GROUPS, USUAL_GROUPS
from autograder.diagnosis.group_mistakes import RULES, GroupMistakes, mistakes_of
from autograder.diagnosis.mistakes.kinds import KINDS
from autograder.diagnosis.stage_mistakes import StageMistakes

ROOT = Path(__file__).parents[3]
COURSE = load(ROOT)


def kinds_in(stage: Stage) -> set[str]:
    """Return the kinds of mistake that are made from the solution of *stage*."""
    mistakes = mistakes_of(stage, {})
    return {one.kind for name in mistakes.names for one in mistakes.of(name).rewrites}


def first(group: str, *, has: bool) -> Stage:
    """Return the first stage of the course that has *group*, or that has it not."""
    return next(stage for stage in COURSE.stages if (group in stage.kinds) is has)


@pytest.mark.parametrize("group", RULES)
def test_only_stages_with_the_group_have_its_mistakes(group: str):
    """A stage that names the group gets its kinds, in addition to the usual ones."""
    of_group = {name for name, kind in KINDS.items() if kind.group == group}

    assert kinds_in(first(group, has=True)) & of_group
    assert not kinds_in(first(group, has=False)) & of_group
    assert isinstance(mistakes_of(first(group, has=True), {}), GroupMistakes)


def test_a_stage_with_the_usual_groups_has_no_other_mistakes():
    """Such a stage has the usual mistakes alone, and its records depend on no other rules."""
    usual = next(stage for stage in COURSE.stages if stage.kinds == USUAL_GROUPS)

    assert type(mistakes_of(usual, {})) is StageMistakes
    assert sources_digest(usual) != sources_digest(first("plain", has=True))


def test_each_group_beyond_the_usual_ones_has_rules():
    """The groups that a stage can add are those that have rules."""
    assert {*RULES} == {*GROUPS} - {*USUAL_GROUPS}
