"""Tests the list of exercises, in which a learner selects one."""

import shutil
from pathlib import Path

import pytest

from autograder.course import handouts
from autograder.reports.terminal import render
from autograder.student.exercise_list import ExerciseList
from autograder.student.progress import Progress, tasks

STAGES = ("04_self_attention", "05_masked_self_attention", "13_positions")


@pytest.fixture
def listing(tmp_path: Path, pytestconfig: pytest.Config) -> ExerciseList:
    """The list of three stages: the first exercise passes, and the learner is at the second."""
    for stage in STAGES:
        shutil.copytree(pytestconfig.rootpath / "assignments" / stage, tmp_path / stage)
    own = handouts(tmp_path)
    first, second, *_ = tasks(own)
    return ExerciseList(own, Progress(tmp_path, passed={first.key}), second)


def drawn(listing: ExerciseList, rows: int = 40) -> list[str]:
    """Return the lines of the list in a terminal of 80 columns."""
    return render(listing.lines(80, rows), 80, colour=False).splitlines()


def selected(listing: ExerciseList, rows: int = 40) -> str:
    """Return the selected line."""
    return next(line for line in drawn(listing, rows) if "  > " in line)


def test_it_opens_at_the_current_exercise(listing: ExerciseList):
    """The learner's exercise is selected, and each exercise that passes has a mark."""
    assert "SelfAttention_v1" in selected(listing)
    assert selected(listing).endswith("← here")
    assert any("✓ SelfAttentionV1" in line for line in drawn(listing))


@pytest.mark.parametrize("rows", [3, 8, 40])
def test_the_selected_exercise_is_always_visible(listing: ExerciseList, rows: int):
    """Up, down and the page keys move the selection, and no window has too many rows."""
    seen = []
    for key in ("home", "down", "down", "page down", "end", "down", "page up", "up", "home", "up"):
        assert listing.press(key)
        assert listing.selected.exercise.name in selected(listing, rows)
        assert len(drawn(listing, rows)) <= rows
        seen.append(listing.shown.index(listing.selected))

    last = len(listing.shown) - 1
    assert seen == [0, 1, 2, 12, last, last, last - 10, last - 11, 0, 0]


def test_a_search_selects_what_matches(listing: ExerciseList):
    """Letters narrow the list by stage and name; backspace widens it, and Esc ends the search."""
    for key in "/ROT":
        listing.press(key)
    names = [task.exercise.name for task in listing.shown]
    position = drawn(listing)[-1]
    for key in ("x", "y"):
        listing.press(key)
    nothing = drawn(listing)
    for key in ("backspace",) * 5:
        listing.press(key)
    everything = len(listing.shown)
    listing.press("escape")

    assert names
    assert all("rot" in name.lower() for name in names)
    assert f"Search: ROT_  1 of {len(names)} exercises" in position
    assert nothing == ["Search: ROTxy_  No exercise matches."]
    assert everything == len(listing.shown)
    assert not listing.is_searching


def test_letters_of_a_search_are_not_keys(listing: ExerciseList):
    """While the learner types, q, t and x are letters, and arrows still select."""
    listing.press("/")

    assert all(listing.press(key) for key in ("q", "t", "x", "backspace", "backspace", "down"))
    assert listing.query == "q"
    assert not listing.press("enter")


def test_what_is_to_do_can_be_shown_alone(listing: ExerciseList):
    """The key t hides what passes; the selection stays on an exercise that is shown."""
    listing.press("home")
    listing.press("t")

    assert not any("✓ SelfAttentionV1" in line for line in drawn(listing))
    assert "SelfAttention_v1" in selected(listing)
    assert drawn(listing)[-1].endswith("all to do")
    listing.press("t")
    assert any("✓ SelfAttentionV1" in line for line in drawn(listing))
