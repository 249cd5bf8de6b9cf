"""Tests the state of `autograder watch` after an answer, a save and a key."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.companion import CompanionAnswer
from autograder.course import COMPANION_FILE, handouts
from autograder.errors import GraderError
from autograder.reports.feedback import CheckFeedback, Message
from autograder.reports.terminal import render
from autograder.student.progress import Progress, tasks
from autograder.student.watch_screen import CHECKING, press, screen
from autograder.student.watch_state import Watch
from tests.kit.known_answers import KnownAnswers

STAGE = "04_self_attention"
FIRST = f"{STAGE}/SelfAttentionV1"


@pytest.fixture
def own(tmp_path: Path, pytestconfig: pytest.Config) -> Path:
    """A learner's folder with two stages."""
    for stage in (STAGE, "05_masked_self_attention"):
        shutil.copytree(pytestconfig.rootpath / "assignments" / stage, tmp_path / "own" / stage)
    return tmp_path / "own"


def shown(state: Watch) -> str:
    """Return the screen of *state*."""
    return render(screen(state, 80, 40), 80, colour=False)


def test_the_next_check_is_prepared(own: Path):
    """The exercise to prepare is the one that waits, or the current one if none waits."""
    checker = KnownAnswers()
    state = Watch(handouts(own), checker)
    state.begin()
    state.prepare()
    first = checker.prepared
    state.waiting.clear()
    state.prepare()

    assert first == f"{STAGE}/{state.own.stages[0].exercises[1].name}"
    assert checker.prepared == state.task.key


def test_a_finished_stage_says_what_comes_next(own: Path):
    """After a finished stage `watch` waits for a key, then shows the next open exercise."""
    course = handouts(own)
    *first, last = [task.key for task in tasks(course) if task.stage.name == STAGE]
    checker = KnownAnswers(*first, last)
    state = Watch(course, checker)
    state.check()
    finished = shown(state)
    press(state, "n")

    assert "This stage is done: Self-attention as a module" in finished
    assert "journey ███ 1.00     0.00" in finished
    assert "every row sums to one." in " ".join(finished.split())
    assert f"A bug hunt in this stage: autograder hunt {STAGE}" in finished
    assert f"Next: {course.stages[1].title}. {course.stages[1].file.goal[:20]}" in finished
    assert state.task.stage.name == "05_masked_self_attention"
    assert "05_masked_self_attention, 2 of 2 stages" in shown(state)


def test_the_last_exercise_ends_the_course(own: Path):
    """After the last exercise there is no next one, and the bar is full."""
    course = handouts(own)
    state = Watch(course, KnownAnswers(*(task.key for task in tasks(course))))
    state.check(stop_after_stage=False)

    assert "Congratulations on the whole course" in shown(state)
    assert "7 of 7 exercises" in shown(state)
    assert shown(state).count("autograder hunt") == 1


def test_a_lost_progress_file_is_made_again(own: Path):
    """Without its progress file, `watch` skips what passes, and does not stop after a stage."""
    course = handouts(own)
    every = [task.key for task in tasks(course)]
    state = Watch(course, KnownAnswers(*every[:-1]))
    state.check(stop_after_stage=False)

    assert state.task.key == every[-1]
    assert Progress.read(own).passed == set(every[:-1])


def test_a_save_in_another_stage_goes_there(own: Path):
    """After a save in a different stage, `watch` goes to the first open exercise there."""
    course = handouts(own)
    state = Watch(course, KnownAnswers())
    state.saved([course.stages[1]])

    assert state.task == tasks(course)[4]


def test_the_hidden_suite_has_a_key_where_it_is(own: Path, pytestconfig: pytest.Config):
    """In a clone the key s is listed, and its result stays until the next key."""
    inside = Watch(handouts(pytestconfig.rootpath / "assignments"), KnownAnswers())
    outside = Watch(handouts(own), KnownAnswers())
    press(inside, "s")
    hidden = shown(inside)
    press(inside, "?")
    press(outside, "?")

    assert "hidden: mix" in hidden
    assert "hidden: " not in shown(inside)
    assert "s  run the hidden suite" in shown(inside)
    assert "hidden suite" not in shown(outside)


def test_keys_move_list_and_check_again(own: Path):
    """A passed exercise that is shown again stays on the screen; l closes the list."""
    course = handouts(own)
    checker = KnownAnswers(FIRST)
    state = Watch(course, checker)
    state.check()
    press(state, "p")
    again = shown(state)
    press(state, "l")
    listed = shown(state)
    press(state, "l")

    assert "✓ SelfAttentionV1 passes." in again
    assert re.search(r"> ✓ SelfAttentionV1  \S+ \d+ min  ← here", listed)
    assert "· transfer_weights" in listed
    assert shown(state) == again
    press(state, "n")
    assert state.task.exercise.name == "SelfAttention_v1"


def finish_checking(state: Watch) -> None:
    """Check all exercises that wait."""
    while state.waiting:
        state.check_next()


def test_what_passed_before_and_fails_now_is_named_and_not_counted(own: Path):
    """After a save, the screen names an exercise that passed before and now fails."""
    course = handouts(own)
    every = [task.key for task in tasks(course)]
    checker = KnownAnswers(*every)
    state = Watch(course, checker)
    state.begin()
    finish_checking(state)
    checker.right -= {every[1]}
    state.go(tasks(course)[0])
    state.saved([course.stages[0]])
    answer = shown(state)
    finish_checking(state)

    assert "✓ SelfAttentionV1 passes." in answer
    assert state.task.key == every[1]
    assert "SelfAttention_v1 passed before." in shown(state)
    assert "6 of 7 exercises" in shown(state)
    assert Progress.read(own).passed == {*every} - {every[1]}


def test_the_keys_say_until_when_other_exercises_are_checked(own: Path):
    """In a small terminal too, the screen shows that exercises are still to be checked."""
    course = handouts(own)
    state = Watch(course, KnownAnswers())
    state.begin()
    small = render(screen(state, 60, 8), 60, colour=False)
    changes = []
    while state.waiting:
        assert CHECKING in shown(state)
        changes.append(state.check_next())

    assert f"{CHECKING} · h hint" in small
    assert "q quit" in small.splitlines()[-1]
    assert changes == [False] * (len(course.stages[0].exercises) - 2) + [True]
    assert CHECKING not in shown(state)


def test_a_save_in_another_stage_leaves_nothing_unchecked(own: Path):
    """Exercises that wait when a different stage is saved are checked after those of that stage."""
    course = handouts(own)
    every = [task.key for task in tasks(course)]
    state = Watch(course, KnownAnswers(*every))
    state.saved([course.stages[0]])
    state.check_next()
    state.saved([course.stages[1]])
    finish_checking(state)

    assert Progress.read(own).passed == {*every}
    assert not any(state.progress.is_outdated(stage) for stage in course.stages)


def test_a_file_that_is_saved_during_its_last_check_is_checked_by_the_next_watch(own: Path):
    """If `watch` ends before it has seen a save, the next `watch` checks the file again."""
    course = handouts(own)
    module = course.stages[0].stub
    checker = KnownAnswers()
    state = Watch(course, checker)
    state.begin()
    while len(state.waiting) > 1:
        state.check_next()
    answer = checker.check
    checker.check = lambda task: (module.write_text("changed = 1\n", "utf-8"), answer(task))[1]
    state.check_next()

    assert Progress.read(own).is_outdated(course.stages[0])


def test_after_a_pass_the_saved_file_goes_on_before_another_that_broke(own: Path):
    """The break in the other stage stays named on the screen, and n goes there."""
    course = handouts(own)
    every = [task.key for task in tasks(course)]
    there = next(key for key in every if not key.startswith(STAGE))
    checker = KnownAnswers(there)
    state = Watch(course, checker)
    state.saved([course.stages[1]])
    checker.right = {FIRST}
    state.saved([course.stages[1]])
    finish_checking(state)
    state.saved([course.stages[0]])

    assert state.task.key == every[1]
    assert f"This passed before and fails now: {there}" in " ".join(shown(state).split())
    press(state, "n")
    assert state.task.key == there


def test_a_broken_exercise_of_this_stage_comes_first(own: Path):
    """The exercises of the current stage are listed before those of other stages."""
    course = handouts(own)
    state = Watch(course, KnownAnswers())
    here, *near = [task for task in tasks(course) if task.stage.name == STAGE]
    far = [task for task in tasks(course) if task.stage.name != STAGE]
    state.task, state.broken = here, [*far, near[-1]]

    assert f"fail now: {near[-1].exercise.name}, " in " ".join(shown(state).split())


def test_work_on_one_exercise_is_not_left_for_another_that_broke(own: Path):
    """An exercise that broke is listed below the current one, and n goes to it."""
    course = handouts(own)
    every = [task.key for task in tasks(course)]
    checker = KnownAnswers(*every[:1])
    state = Watch(course, checker)
    state.begin()
    checker.right.clear()
    state.saved([course.stages[0]])
    finish_checking(state)
    named = shown(state)
    press(state, "n")

    assert "✗ This passed before and fails now: SelfAttentionV1. Press n." in named
    assert state.task.key == every[0]


def test_an_exercise_that_broke_is_named_until_it_passes_again(own: Path):
    """An exercise that broke stays on the screen after a second save in which it fails again."""
    course = handouts(own)
    warning = "This passed before and fails now: SelfAttentionV1."
    checker = KnownAnswers(FIRST)
    state = Watch(course, checker)
    state.begin()
    checker.right.clear()
    screens = []
    for right in ((), (), (FIRST,)):
        checker.right = {*right}
        state.saved([course.stages[0]])
        finish_checking(state)
        screens.append(shown(state))

    assert [warning in text for text in screens] == [True, True, False]


@pytest.mark.parametrize("text", [pytest.param(None, id="missing"), "{damaged", "[]"])
def test_a_lost_progress_file_is_written_again_while_watch_runs(own: Path, text: str | None):
    """A lost or damaged progress file is reported and written again, with all that passed."""
    course = handouts(own)
    state = Watch(course, KnownAnswers(FIRST))
    state.begin()
    file = Progress.read(own).file
    file.unlink() if text is None else file.write_text(text)
    state.saved([course.stages[0]])

    assert "progress.json was missing or damaged." in shown(state)
    assert FIRST in Progress.read(own).passed


def test_a_folder_that_is_gone_keeps_the_exercise(own: Path):
    """If the folder is gone, no key writes anything, and the exercise stays on the screen."""
    course = handouts(own)
    checker = KnownAnswers(FIRST)
    state = Watch(course, checker)
    state.begin()
    checker.right.clear()
    state.saved([course.stages[0]])
    finish_checking(state)
    warned = shown(state)
    before = state.task
    own.rename(own.with_name("elsewhere"))
    state.saved(course.stages[::-1])
    press(state, "h")

    assert "passed before" in warned
    assert "passed before" not in shown(state)
    assert state.task == before
    assert not own.exists()
    assert not state.waiting


@pytest.mark.parametrize("rows", [8, 15, 24])
@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_screen_has_more_rows_than_the_terminal(own: Path, rows: int, width: int):
    """An exercise, its list and its details all fit, and end with the keys."""
    course = handouts(own)
    state = Watch(course, KnownAnswers(FIRST))
    state.begin()
    for key in ("r", "l", "d", "h"):
        press(state, key)
        lines = render(screen(state, width, rows), width, colour=False).splitlines()

        assert len(lines) <= rows
        assert "q quit" in " ".join(lines[-3:])


def test_a_pass_always_says_what_comes_next(own: Path):
    """A revisited exercise names the next open one; n goes there."""
    course = handouts(own)
    state = Watch(course, KnownAnswers(FIRST))
    state.begin()
    press(state, "p")
    again = shown(state)
    press(state, "n")

    assert "Next: SelfAttention_v1. Press n to go on." in again
    assert state.task.exercise.name == "SelfAttention_v1"


def test_a_folder_that_cannot_be_written_does_not_end_watch(own: Path, monkeypatch):
    """Answers and hints are shown if the progress can't be saved, and a line says so."""

    def refuse(file: Path, _content: bytes) -> None:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr("autograder.student.progress.replace_file", refuse)
    state = Watch(handouts(own), KnownAnswers(FIRST))
    state.begin()
    after_check = shown(state)
    press(state, "h")

    assert "This is not remembered:" in after_check
    answer, _, note = shown(state).partition("This is not remembered:")
    assert "Hint 1 of" in answer
    assert "can't be written" in note
    assert FIRST in state.progress.passed
    assert state.progress.hints == {state.task.key: 1}


class Companion(KnownAnswers):
    """A checker whose companion answers at once, or raises."""

    def __init__(self, *passing: str, error: str = "") -> None:
        super().__init__(*passing)
        self.error = error
        self.asked: list[tuple[set[str], str]] = []

    def companion(self, passed: set[str], stage: str = "", prompt: str = "") -> CompanionAnswer:
        """Remember what was asked, and answer at once."""
        self.asked.append(({*passed}, stage + prompt))
        if self.error:
            raise GraderError(self.error)
        return CompanionAnswer((("It says:", "a text"),), 0.25, name="teller")


def test_a_finished_stage_shows_the_companion(own: Path):
    """It is asked after the first screen, with what has passed and the finished stage."""
    course = handouts(own)
    mine = [task.key for task in tasks(course) if task.stage.name == STAGE]
    checker = Companion(*mine)
    state = Watch(course, checker)
    state.check()
    first, due = shown(state), state.to_tell
    state.tell()

    assert due == STAGE
    assert "It says:" not in first
    assert checker.asked == [({*mine}, STAGE)]
    assert "  a text\nYour code does 25 % of the teller's work." in shown(state)
    assert not state.to_tell


def test_a_companion_that_fails_is_a_notice(own: Path):
    """The stage is finished all the same."""
    course = handouts(own)
    state = Watch(course, Companion(*(task.key for task in tasks(course)), error="It is broken"))
    state.check()
    state.tell()

    assert "It is broken" in shown(state)
    assert "This stage is done" in shown(state)


def test_the_key_w_shows_the_companion_where_there_is_one(own: Path):
    """Without one the key has no effect and is not listed."""
    (own / "course").mkdir()
    (own / "course" / COMPANION_FILE).touch()
    checker = Companion()
    state = Watch(handouts(own), checker)
    press(state, "w")
    with_one = shown(state)
    press(state, "?")
    listed = shown(state)
    (own / "course" / COMPANION_FILE).unlink()
    without = Watch(handouts(own), checker)
    press(without, "?")

    assert "  a text" in with_one
    assert checker.asked == [(set(), "")]
    assert "companion" in listed
    assert "companion" not in shown(without)


def test_the_next_watch_continues_where_the_last_one_was_left(own: Path):
    """A learner who began in another stage is there again; at the first one nothing is noted."""
    course = handouts(own)
    state = Watch(course, KnownAnswers())
    state.leave()
    first = Progress.read(own).at
    there = tasks(course)[5]
    state.go(there)
    state.leave()

    assert first == ""
    assert Watch(course, KnownAnswers()).task == there


def test_a_dependency_that_is_not_right_is_named_first(own: Path):
    """The screen names a wrong exercise that this one uses, unless it waits for its own check."""
    course = handouts(own)
    text = "class SelfAttentionV1: pass\nclass SelfAttention_v1:\n    one = SelfAttentionV1\n"
    course.stages[0].stub.write_text(text, "utf-8")
    state = Watch(course, KnownAnswers(), tasks(course)[1])
    state.begin()
    waiting = shown(state)
    finish_checking(state)

    assert "It uses" not in waiting
    assert "It uses SelfAttentionV1, which fails checks, so look there first." in shown(state)
    assert shown(state).index("It uses") < shown(state).index("This must hold: A sentence.")


def test_the_editor_opens_at_the_line_of_an_error(own: Path):
    """The footer and the key o have the line of the exception, else that of the exercise."""
    state = Watch(handouts(own), KnownAnswers())
    state.begin()
    press(state, "o")
    begin = state.to_open
    first = CheckFeedback("A.", "!", "ended", 0.0, 1.0, (Message("f raised E in line 7: x"),))
    state.answer = state.answer._replace(feedback=replace(state.answer.feedback, first=first))
    press(state, "o")

    assert begin is not None
    assert begin[1] > 7
    assert state.to_open == (begin[0], 7)
    assert "self_attention.py, line 7" in shown(state)
