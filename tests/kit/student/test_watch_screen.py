"""Tests the parts of the screen of `autograder watch`."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.companion import CompanionAnswer
from autograder.course import Handout, handout
from autograder.reports.exercise_screen import Rank, fit, kept, optional, spaced, whole
from autograder.reports.terminal import render
from autograder.student.progress import Progress, tasks
from autograder.student.watch_screen import (
    companion_text,
    exercise_location,
    progress_bar,
    stage_picture,
)


@pytest.fixture
def own(handed_out: Path) -> Handout:
    """A learner's folder with one stage."""
    return handout(handed_out)


def test_the_bar_is_full_only_when_every_exercise_passes(own: Handout):
    """An empty bar has no full block, and a full bar has no empty block."""
    every = {task.key for task in tasks(own)}
    most = every - {tasks(own)[0].key}
    empty, nearly, full = (
        progress_bar(SimpleNamespace(own=own, progress=Progress(own.root, passed=passed))).plain
        for passed in (set(), most, every)
    )

    assert empty == f"{'░' * 20}  0 of {len(every)} exercises"
    assert "░" in nearly
    assert full == f"{'█' * 20}  {len(every)} of {len(every)} exercises"


def test_an_exercise_is_found_by_its_file_and_line(own: Handout, monkeypatch: pytest.MonkeyPatch):
    """The path begins at the current folder if the file is in it, and is a link."""
    task = tasks(own)[0]
    elsewhere = render(whole([*exercise_location(task, 31, unwritten=True)]), 200, colour=False)
    monkeypatch.chdir(own.root)
    inside = render(whole([*exercise_location(task, 31, unwritten=True)]), 200, colour=False)
    coloured = render(whole([*exercise_location(task, 31, unwritten=True)]), 200, colour=True)

    assert f"Write SelfAttentionV1 and save: {task.stage.stub}, line" in elsewhere
    assert "Write SelfAttentionV1 and save: self_attention.py, line" in inside
    assert f";{task.stage.stub.as_uri()}\x1b\\self_attention.py" in coloured.replace("\x1b[1m", "")


def test_an_exercise_to_write_shows_its_minutes_and_difficulty(own: Handout):
    """The line that names the lab has the minutes and the difficulty of the exercise."""
    task = tasks(own)[0]
    shown = render(whole([*exercise_location(task, 31, unwritten=True)]), 200, colour=False)
    later = render(whole([*exercise_location(task, 31, unwritten=False)]), 200, colour=False)
    effort = task.exercise.effort

    assert re.fullmatch(r"[●○]{3} \d+ min", effort)
    assert f"{effort}  The lab explains it: " in shown
    assert effort not in later


def test_a_picture_that_does_not_fit_keeps_its_first_rows_or_gives_way_to_a_note(own: Handout):
    """On a screen with too few rows, a note names the key that shows the picture."""
    weights = ((1.0,) * 6,) * 6
    parts = [*stage_picture(own.stages[0], weights, 80), kept("keys")]
    high, low, lowest = (render(fit(parts, 80, rows), 80, colour=False) for rows in (20, 8, 4))
    note = "The picture has more rows than fit here: press d"

    assert "The result of your code:" in high
    assert "press d" not in high
    assert "journey ███ 1.00" in low
    assert "step ███ 1.00" not in low
    assert "The result of your code:" not in lowest
    assert note in low
    assert note in lowest


def test_a_small_screen_still_shows_what_the_learner_s_code_writes(own: Handout):
    """The text stays when its sentences do not fit, and the picture gives way to it."""
    says = "A sentence that is long enough for two rows of such a narrow screen."
    answer = CompanionAnswer(((says, "hvv"), (says, "the text"), (says, "")), 0.5, name="teller")
    picture = stage_picture(own.stages[0], ((1.0,) * 6,) * 6, 50)
    text = companion_text(SimpleNamespace(companion=answer), 50)
    parts = [kept("This stage is done"), *picture, *text, kept("keys")]
    rows = [render(fit(parts, 50, size), 50, colour=False) for size in (12, 6, 3)]

    assert says.split(maxsplit=1)[0] in rows[0]
    assert [says.split(maxsplit=1)[0] in one for one in rows[1:]] == [False, False]
    assert ["  the text" in one for one in rows] == [True, True, False]
    assert "press w" in rows[2]


def test_a_picture_stays_longer_than_bar_heading_and_its_meaning(own: Handout):
    """When a stage is done, the picture is what the learner has worked for."""
    weights = ((1.0,) * 6,) * 6
    around = [optional(Rank.HEADING, "heading"), spaced(Rank.BAR, "bar")]
    parts = [*around, *stage_picture(own.stages[0], weights, 80), kept("keys")]
    meaning = own.stages[0].file.picture.meaning[:30]
    high, low = (render(fit(parts, 80, rows), 80, colour=False) for rows in (13, 10))

    for words in ("heading", "bar", "press d"):
        assert words not in high + low
    assert meaning in high
    assert meaning not in low
    assert "The result of your code:" in low
