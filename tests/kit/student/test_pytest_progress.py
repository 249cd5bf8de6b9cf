"""Tests that plain `pytest` in a learner's folder counts as progress."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.grading.pytest_session import INI
from autograder.sandbox.supervisor import ForkServer
from autograder.student import learner_folder
from autograder.student.progress import PROGRESS_FILE, Progress

STAGE = "01_tiny"
ONE = f"{STAGE}/double"
BOTH = {ONE, f"{STAGE}/Scale"}


@pytest.fixture
def own(built_course, tmp_path: Path) -> Path:
    """A learner's folder whose only stage is solved."""
    course = built_course(STAGE)
    folder = learner_folder.start(course.root, tmp_path / "own").folder
    (folder / STAGE / "tiny.py").write_bytes(course.stages[0].solution.read_bytes())
    return folder


@pytest.fixture
def run(own: Path, lent_fork_server: ForkServer) -> Callable[..., Progress]:  # noqa: ARG001  # used instead of a new one
    """Run `pytest` on the stage; return the progress in the folder."""

    def run_pytest(*words: str, suite: str = "") -> Progress:
        sys.modules.pop("test_public", None)
        quiet = ["-p", "no:terminal", "-p", "no:faulthandler", "-p", "no:cacheprovider"]
        target = f"{own / STAGE / 'test_public.py'}{suite}"
        pytest.main([*quiet, "-c", str(INI), "--rootdir", str(own), target, *words])
        return Progress.read(own)

    return run_pytest


def test_what_passes_counts_and_what_fails_does_not(run: Callable[..., Progress], own: Path):
    """A whole run notes each exercise, and that the stage was checked."""
    solved = run()
    module = own / STAGE / "tiny.py"
    module.write_text(module.read_text("utf-8").replace("2 * x", "3 * x"), "utf-8")
    outdated = solved.is_outdated(learner_folder.find(own).stages[0])
    broken = run()

    assert solved.passed == BOTH
    assert outdated
    assert broken.passed == BOTH - {ONE}
    assert not broken.is_outdated(learner_folder.find(own).stages[0])


@pytest.mark.parametrize("selection", [("-k", "documented"), ("-k", "unseen")])
def test_a_part_of_the_checks_proves_nothing(run: Callable[..., Progress], selection):
    """An exercise counts only if all its checks ran."""
    assert ONE not in run(*selection).passed


def test_a_folder_without_progress_gets_none(run: Callable[..., Progress], own: Path):
    """An unpacked hand-out has no progress file, and `pytest` writes none."""
    (own / PROGRESS_FILE).unlink()
    run()

    assert not (own / PROGRESS_FILE).exists()
