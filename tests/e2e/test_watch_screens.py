"""`watch` in a small terminal: of each mistake the name and the question are visible."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.course import find_root, load
from tests.e2e import fresh_mistakes
from tests.e2e.fresh_mistakes import Program
from tests.kit.pseudo_terminal import PseudoTerminal

COURSE = load(find_root(Path(__file__)))
SIZES = ((24, 80),)
WRONG = [one for one in fresh_mistakes.programs() if len(one.mistakes) == 1]
FEW = [next(one for one in WRONG if one.stage == stage.name) for stage in COURSE.stages[1:4]]


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[1]}x{size[0]}")
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    """The rows and columns of a terminal."""
    return request.param


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A learner's folder with every stage as it was received."""
    for stage in COURSE.stages:
        shutil.copytree(stage.assignment, tmp_path / stage.name)
    return tmp_path


def play(
    own: Path, size: tuple[int, int], programs: list[Program]
) -> Iterator[tuple[Program, str]]:
    """Save each program in turn; yield it with the screen that answers."""
    with contextlib.closing(PseudoTerminal(own, size=size)) as terminal:
        terminal.read_until("not written yet")
        for program in programs:
            stage = COURSE.stage(program.stage)
            solution = stage.solution.read_text("utf-8")
            name = program.mistakes[0].exercise
            terminal.save(own / stage.name / stage.stub.name, f"{solution}\n\n{program.code}")
            yield program, terminal.read_until(f"✗ {name}")


def assert_fits(screen: str, size: tuple[int, int]) -> None:
    """Check the last screen: it is not higher than the terminal, and shows name and question."""
    rows = screen.rpartition("✗ ")[2].replace("\r", "").split("\n")

    assert len(rows) <= size[0]
    if "It looks like this" in screen:
        said = " ".join(" ".join(rows).split())
        assert "It looks like this: " in said
        assert "?" in said.partition("It looks like this: ")[2]


def test_name_and_question_of_a_mistake_are_on_the_screen(own: Path, size: tuple[int, int]):
    """No row of the answer has scrolled away."""
    for _program, screen in play(own, size, FEW):
        assert_fits(screen, size)
