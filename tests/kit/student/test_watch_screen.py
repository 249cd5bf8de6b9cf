"""The parts of the screen of `autograder watch`."""

from pathlib import Path

import pytest

from autograder.course import Handout, handout
from autograder.reports.terminal import render
from autograder.student.progress import Progress, tasks
from autograder.student.watch_screen import exercise_list, exercise_location, progress_bar


@pytest.fixture
def own(handed_out: Path) -> Handout:
    """A learner's folder with one stage."""
    return handout(handed_out)


def test_the_bar_counts_the_exercises_that_have_passed(own: Handout):
    """An empty bar has no full block, and a full one no empty block."""
    every = {task.key for task in tasks(own)}
    empty = progress_bar(own, Progress(own.root)).plain
    full = progress_bar(own, Progress(own.root, passed=every)).plain

    assert empty == f"{'░' * 20}  0 of {len(every)} exercises"
    assert full == f"{'█' * 20}  {len(every)} of {len(every)} exercises"


def test_the_list_shows_where_the_learner_is(own: Handout):
    """Each exercise has a line, with a mark if it has passed."""
    first, second, *_ = tasks(own)
    parts = exercise_list(own, Progress(own.root, passed={first.key}), second)
    lines = [line.strip() for line in render(parts, 80, colour=False).splitlines()]

    assert f"✓ {first.exercise.name}" in lines
    assert f"· {second.exercise.name}  ← here" in lines


def test_an_exercise_is_found_by_its_file_and_line(own: Handout):
    """The learner need not search for it."""
    shown = render(exercise_location(tasks(own)[0], unwritten=True), 80, colour=False)

    assert "Write SelfAttentionV1 and save: 04_self_attention/self_attention.py, line" in shown
