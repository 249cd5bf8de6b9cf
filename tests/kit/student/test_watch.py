"""Tests `autograder watch` in a real pseudo-terminal."""

import contextlib
import shutil
import signal
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.student import learner_folder
from autograder.student.progress import Progress
from tests.kit.pseudo_terminal import PseudoTerminal

STAGE = "04_self_attention"
LOOP = "def SelfAttentionV1(dimension_inputs, dimension_outputs):\n    while True:\n        pass\n"
FIRST = f"{STAGE}/SelfAttentionV1"


@pytest.fixture
def own(tmp_path: Path, pytestconfig: pytest.Config) -> Path:
    """A learner's folder with two stages, one of which is newer in the course."""
    handout, newer = tmp_path / "handout", "05_masked_self_attention"
    for stage in (STAGE, newer):
        shutil.copytree(pytestconfig.rootpath / "assignments" / stage, handout / stage)
    own = learner_folder.start(handout, tmp_path / "own").folder
    with (handout / newer / "masked_self_attention.py").open("a") as stub:
        stub.write("# newer\n")
    return own


@pytest.fixture
def terminal(own: Path) -> Iterator[PseudoTerminal]:
    """`autograder watch` in that folder."""
    with contextlib.closing(PseudoTerminal(own)) as opened:
        yield opened


def first_exercise(solution: str, stub: str) -> str:
    """Return the module in which the first exercise is solved, and nothing else."""
    return stub.replace(part(stub), part(solution), 1)


def part(text: str) -> str:
    """Return the first class of the module of stage 04."""
    return text[text.index("class SelfAttentionV1") : text.index("class SelfAttention_v1")]


def test_a_learner_goes_from_one_exercise_to_the_next(
    terminal: PseudoTerminal, own: Path, solution: str
):
    """`watch` leads from a wrong answer, with its name and hints, to the next exercise."""
    module = own / STAGE / "self_attention.py"
    right = first_exercise(solution, module.read_text("utf-8"))
    terminal.read_until("Write SelfAttentionV1 and save")
    begun = "\n".join(terminal.visible)
    terminal.save(module, right.replace(" / keys.shape[-1] ** 0.5", ""))
    wrong = terminal.read_until("The scores are not divided by")
    terminal.type("h")
    terminal.read_until("Hint 1 of 3")
    terminal.type("h")
    hinted = terminal.read_until("Hint 2 of 3")
    terminal.save(module, right)
    passed = terminal.read_until("Write SelfAttention_v1 and save")
    terminal.type("q")

    assert terminal.ended() == 0
    assert "The course is newer than your folder (1 file)." in begun
    assert wrong.index("It looks like this") < wrong.index("With the documented matrices")
    assert "Hint 3" not in hinted
    assert "✓ SelfAttentionV1 passes." in passed
    progress = Progress.read(own)
    assert (progress.passed, progress.hints) == ({FIRST}, {FIRST: 2})
    assert terminal.shown.startswith("\r\nYour progress is in")  # below the keys
    assert termios.tcgetattr(terminal.slave) == terminal.before


@pytest.mark.slow
def test_it_survives_what_happens_to_a_file(terminal: PseudoTerminal, own: Path):
    """`watch` survives incomplete and missing files and loops; Ctrl-C restores the terminal."""
    module = own / STAGE / "self_attention.py"
    terminal.read_until("Write SelfAttentionV1 and save")
    terminal.save(module, "def half(")
    terminal.read_until("never closed")
    terminal.shown = ""
    module.unlink()
    terminal.read_until("self_attention.py is not in 04_self_attention/")
    terminal.save(module, LOOP)
    terminal.read_until("did not finish")
    terminal.shown = ""
    terminal.resize(24, 40)
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.read_until("did not finish")
    terminal.process.send_signal(signal.SIGINT)

    assert terminal.ended() == 0
    assert "Traceback" not in terminal.shown
    assert termios.tcgetattr(terminal.slave) == terminal.before
