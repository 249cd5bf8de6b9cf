"""Tests that `watch` shows the name and the question of each mistake in three terminal sizes."""

import contextlib
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from autograder.course import find_root, load
from tests.kit.pseudo_terminal import PseudoTerminal
from tools import fresh_mistakes
from tools.fresh_mistakes import Program

COURSE = load(find_root(Path(__file__)))
SIZES = ((24, 80), (15, 60), (50, 100))
NAMED = "It looks like this:"
WRONG = [one for one in fresh_mistakes.programs() if len(one.mistakes) == 1]
ONE = next(one for one in WRONG if one.stage == COURSE.stages[1].name)
PER_STAGE = 8
HUNDRED = [
    one
    for stage in COURSE.stages
    for one in [one for one in WRONG if one.stage == stage.name][:PER_STAGE]
][:100]
LATE_STAGES = [stage.name for stage in COURSE.stages if stage.name >= "11"]
LATE = [one for name in LATE_STAGES for one in [one for one in WRONG if one.stage == name][:2]]


@pytest.fixture(
    params=[SIZES[0], *(pytest.param(size, marks=pytest.mark.slow) for size in SIZES[1:])],
    ids=lambda size: f"{size[1]}x{size[0]}",
)
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    """The rows and columns of a terminal."""
    return request.param


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A learner's folder with every stage as it was received."""
    for stage in COURSE.stages:
        shutil.copytree(stage.assignment, tmp_path / stage.name)
    return tmp_path


def play(own: Path, size: tuple[int, int], programs: Sequence[Program]) -> Iterator[list[str]]:
    """Save each program in turn; yield the rows of the screen with the answer."""
    with contextlib.closing(PseudoTerminal(own, size=size)) as terminal:
        terminal.read_screen("not written yet")
        for program in programs:
            stage = COURSE.stage(program.stage)
            solution = stage.solution.read_text("utf-8")
            name = program.mistakes[0].exercise
            terminal.save(own / stage.name / stage.stub.name, f"{solution}\n\n{program.code}")
            here, there = rf"^[✗!] {name}\b", rf"now:[^.]*\b{name}\b"
            screen = "\n".join(terminal.read_screen(f"{here}|{there}"))
            if not re.search(here, screen, re.MULTILINE):
                terminal.type("n")  # another exercise uses it, and is on the screen
            yield terminal.read_screen(here)


def lacks(screen: list[str]) -> str:
    """Describe what is missing on a screen with a name; empty if the question is below the name."""
    said = " ".join(" ".join(screen).split())
    return "" if NAMED not in said or "?" in said.partition(NAMED)[2] else said


def test_name_and_question_of_a_mistake_are_on_the_screen(own: Path, size: tuple[int, int]):
    """The name of a mistake and its question are visible in each of three terminal sizes."""
    [screen] = play(own, size, [ONE])

    assert lacks(screen) == ""
    assert NAMED in "\n".join(screen)


@pytest.mark.slow
def test_the_screens_of_the_late_stages_have_names_questions_and_one_row_of_keys(own: Path):
    """In each stage from 11 on, two mistakes are on their screens as in the early stages."""
    screens = list(play(own, SIZES[0], LATE))
    named = [screen for screen in screens if NAMED in "\n".join(screen)]
    last = [[row for row in screen if row.strip()][-1] for screen in screens]

    assert {one.stage for one in LATE} == {*LATE_STAGES}
    assert [found for screen in screens if (found := lacks(screen))] == []
    assert len(named) >= len(LATE) * 3 // 4
    assert all(row.startswith("h hint") and row.endswith("q quit") for row in last)


@pytest.mark.nightly  # two minutes for each size; the test above plays one mistake
def test_name_and_question_of_a_hundred_mistakes_are_on_the_screen(
    own: Path, size: tuple[int, int]
):
    """Every screen shows the exercise; nine of ten mistakes have a name, with its question."""
    screens = list(play(own, size, HUNDRED))
    named = [screen for screen in screens if NAMED in "\n".join(screen)]

    assert len(screens) == len(HUNDRED)
    assert [found for screen in screens if (found := lacks(screen))] == []
    assert len(named) >= len(HUNDRED) * 9 // 10
