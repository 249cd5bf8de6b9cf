"""Tests the student's copy: the zip and the installed package, in an empty folder."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.pseudo_terminal import PseudoTerminal

ROOT = Path(__file__).parents[2]
STAGE = "04_self_attention"
# What `pip install attention-course-kit` does not install, and the clone of this test.
ABSENT = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"IPython", "jupyterlab", "matplotlib", "nbgrader"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
TEST = """
import torch
from self_attention import SelfAttention_v2

def test_shape():
    assert SelfAttention_v2(3, 2)(torch.ones(4, 3)).shape == (4, 2)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder with the unpacked zip in it, and the package installed elsewhere."""
    place = tmp_path_factory.mktemp("student")
    archive = shutil.make_archive(str(place / "handout"), "zip", ROOT / "assignments")
    shutil.unpack_archive(archive, place / "course")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "autograder", place / "site" / "autograder", ignore=ignored)
    (place / "site" / "sitecustomize.py").write_text(ABSENT)
    return place / "course"


def environment(copy: Path) -> dict[str, str]:
    """Return an environment in which the installed package comes first."""
    return {"PYTHONPATH": str(copy.parent / "site"), "COLUMNS": "100"}


def run(copy: Path, *words: str, code: int = 0) -> str:
    """Run a command in the copy; return what it printed."""
    done = subprocess.run(  # noqa: S603  # this Python, our own words
        [sys.executable, "-P", "-m", "autograder", *words],
        cwd=copy,
        env=os.environ | environment(copy),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_neither_solutions_nor_hidden_suites_are_there(copy: Path):
    """The zip contains only stubs, and commands that need more report this."""
    run(copy, "start")
    names = {path.name for path in copy.rglob("*") if path.is_file()}
    stubs = list(copy.rglob("self_attention.py"))

    assert not names & {"documented.toml", "misconceptions.py", "test_self_attention.py"}
    assert all("raise NotImplementedError" in stub.read_text() for stub in stubs)
    assert "no solutions here" in run(copy, "solution", "dot_product", code=2)
    assert "your instructor keeps it" in run(copy, "check", "4", "--hidden", code=2)


@pytest.mark.slow
def test_the_commands_of_a_learner_work_alone(copy: Path):
    """start, next, hint, check and progress need only the student's copy."""
    assert "Next: autograder watch" in run(copy, "start")
    assert "start_here.py, line" in run(copy, "next")
    assert "mix, hint 1 of 3:" in run(copy, "hint")
    assert "Next: dot_product." in run(copy, "check", "1", code=1)
    assert "exercises, about" in run(copy, "progress")


@pytest.mark.slow
def test_watch_and_hunt_work_alone(copy: Path):
    """A stage is finished, its picture is shown, and a bug hunt begins in it."""
    run(copy, "start")
    own = copy / "my-work"
    solution = (ROOT / "solutions" / STAGE / "self_attention.py").read_text("utf-8")
    (own / STAGE / "self_attention.py").write_text(solution.replace(" ** 0.5", "", 3))
    with contextlib.closing(PseudoTerminal(own / STAGE, environment(copy))) as terminal:
        terminal.read_until("✗ SelfAttentionV1")
        terminal.save(own / STAGE / "self_attention.py", solution)
        finished = terminal.read_until("every row sums to one.")
        terminal.type("q")
        assert terminal.ended() == 0
    begun = run(copy, "hunt", "4", code=1)
    hunted = own / "hunt" / STAGE
    (hunted / "test_hunt.py").write_text(TEST)

    assert "This stage is done" in finished
    assert "Answer with: autograder hunt 4 --answer NUMBER" in begun
    assert (hunted / "self_attention.py").read_text() != solution
    assert not (hunted / "picture.png").exists()
