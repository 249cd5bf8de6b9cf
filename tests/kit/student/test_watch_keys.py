"""Tests the keys of `autograder watch`."""

import shutil
from pathlib import Path

import pytest

from autograder.course import handouts
from autograder.reports.terminal import render
from autograder.student.progress import Progress, tasks
from autograder.student.watch_screen import KEYS, key_row, press, screen
from autograder.student.watch_state import Watch
from tests.kit.known_answers import KnownAnswers

STAGE = "04_self_attention"
FIRST = f"{STAGE}/SelfAttentionV1"


@pytest.fixture
def own(handed_out: Path, tmp_path: Path) -> Path:
    """A learner's folder with one stage, and the originals that a reset restores."""
    originals = tmp_path / "own" / ".originals" / STAGE
    shutil.copytree(handed_out, tmp_path / "own" / STAGE)
    shutil.copytree(handed_out, originals)
    return tmp_path / "own"


def watch(own: Path, *right: str) -> Watch:
    """Return `watch` in the folder *own*, where the exercises *right* pass."""
    state = Watch(handouts(own), KnownAnswers(*right))
    state.begin()
    return state


def shown(state: Watch) -> str:
    """Return the screen of *state* as one line."""
    return " ".join(render(screen(state, 80, 24), 80, colour=False).split())


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("ahead", ["", "Checking other exercises …"])
def test_the_keys_are_one_row(width: int, ahead: str):
    """The row below a screen never wraps, and ends with the way out."""
    row = key_row(width, ahead)

    assert len(row) <= width
    assert row.startswith(ahead[:width])
    assert width < len(ahead) + len(" · q quit") or row.endswith("q quit")


def test_the_question_mark_lists_every_key_with_an_effect(own: Path):
    """Outside a clone there is no hidden suite and no model answer, and their keys are absent."""
    state = watch(own)
    press(state, "?")
    listed = shown(state)

    assert all((row.sentence in listed) == row.offered(state) for row in KEYS)
    assert "the model answer" not in listed
    press(state, "?")
    assert "The keys of this screen" not in shown(state)


def test_enter_goes_to_the_selected_exercise(own: Path):
    """In the list, arrows select and Enter goes there; Esc stays at the current exercise."""
    state = watch(own)
    for key in ("l", "down", "down", "escape"):
        press(state, key)
    stayed = state.task.exercise.name
    for key in ("l", "down", "down", "enter"):
        press(state, key)

    assert stayed == "SelfAttentionV1"
    assert state.task.exercise.name == handouts(own).stages[0].exercises[2].name
    assert state.listing is None


def test_a_key_of_an_exercise_means_the_selected_one_in_the_list(own: Path):
    """The keys h and x in the list go to the selected exercise, and act there."""
    state = watch(own)
    for key in ("l", "down", "h"):
        press(state, key)
    hinted = shown(state)
    for key in ("l", "down", "x"):
        press(state, key)

    assert "SelfAttention_v1" in hinted
    assert "Hint 1 of 3" in hinted
    assert f"Reset {handouts(own).stages[0].exercises[2].name} to the version" in shown(state)


def test_a_reset_asks_first(own: Path):
    """Only y resets the exercise; a copy of the file is kept, and the exercise is to do again."""
    stub = handouts(own).stages[0].stub
    mine = stub.read_text("utf-8").replace("raise NotImplementedError", "pass")
    stub.write_text(mine, "utf-8")
    state = watch(own, FIRST)
    state.go(tasks(state.own)[0])
    press(state, "x")
    asked = shown(state)
    press(state, "n")
    kept = stub.read_text("utf-8")
    state.checker.right.clear()
    press(state, "x")
    press(state, "y")

    assert "Reset SelfAttentionV1 to the version that you received?" in asked
    assert kept == mine
    assert "raise NotImplementedError" in stub.read_text("utf-8")
    [copy] = (own / "copies" / STAGE).iterdir()
    assert copy.read_text("utf-8") == mine
    assert f"A copy of your file: copies/{STAGE}/" in shown(state)
    assert Progress.read(own).passed == set()
    assert state.has_new_files


def test_the_model_answer_waits_for_a_pass(own: Path, pytestconfig: pytest.Config):
    """In a clone, v shows the solution of an exercise once the learner's code passes."""
    root = own.parent
    shutil.copy(pytestconfig.rootpath / "course.toml", root)
    for folder in ("source", "solutions"):
        shutil.copytree(pytestconfig.rootpath / folder, root / folder)
    state = watch(own, FIRST)
    press(state, "v")
    early = shown(state)
    state.go(tasks(state.own)[0])
    press(state, "v")

    assert "The model answer is shown once your code passes." in early
    assert "The model answer of SelfAttentionV1:" in shown(state)
    assert "class SelfAttentionV1" in shown(state)
    narrow = render(screen(state, 50, 40), 50, colour=False)
    assert [row for row in narrow.splitlines()[2:-2] if row and row[0] not in "@c "] == []


def test_a_fourth_hint_has_an_answer(own: Path):
    """After the last hint, h says that all are shown."""
    state = watch(own)
    for _ in range(4):
        press(state, "h")

    assert "Hint 3 of 3" in shown(state)
    assert "All 3 hints are shown." in shown(state)


def test_pages_turn_both_ways(own: Path):
    """Space turns to the next page and b back; any other key closes the pages."""
    state = watch(own)
    state.answer = state.answer._replace(feedback=None, message="\n".join(map(str, range(99))))
    press(state, "d")
    pages = []
    for key in (" ", "down", "b", "up"):
        press(state, key)
        pages.append(state.page)
    press(state, "h")

    assert pages == [1, 2, 1, 0]
    assert state.paged == ""
    assert state.progress.hints == {FIRST: 1}


def test_ctrl_c_ends_watch_while_the_learner_types(own: Path):
    """While a search is typed, q is a letter, and Ctrl-C quits."""
    state = watch(own)
    for key in ("l", "/", "q"):
        press(state, key)
    typed = state.is_over
    press(state, "\x03")

    assert not typed
    assert state.is_over
