"""Tests exercises that are checked one after another in one process."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autograder.course import handout
from autograder.student.progress import Task, tasks
from autograder.student.warm_checker import WarmChecker


@pytest.fixture
def own(handed_out: Path, solution: str) -> list[Task]:
    """The exercises of a stage that is done."""
    (handed_out / "self_attention.py").write_text(solution)
    return tasks(handout(handed_out))


@pytest.fixture
def checker(
    own: list[Task], lent_fork_server: object, monkeypatch: pytest.MonkeyPatch
) -> Iterator[WarmChecker]:
    """A checker of that stage."""
    monkeypatch.setattr(
        "autograder.student.warm_checker.own_workers", lambda _limits: lent_fork_server
    )
    with closing(WarmChecker(handout(own[0].stage.source))) as opened:
        yield opened


def test_an_exercise_is_checked_again_after_a_save(checker: WarmChecker, own: list[Task]):
    """After a save, the open suite checks the new file."""
    module = own[0].stage.stub
    right = checker.check(own[0]).feedback
    module.write_text(module.read_text("utf-8").replace("dim=-1)", "dim=-2)"))
    wrong = checker.check(own[0]).feedback

    assert right is not None
    assert right.first is None
    assert wrong is not None
    assert wrong.first is not None


def test_a_missing_module_is_a_message(checker: WarmChecker, own: list[Task]):
    """The message about a missing module contains the command that restores it."""
    own[0].stage.stub.unlink()
    answer = checker.check(own[0])

    assert answer.feedback is None
    assert "autograder reset" in answer.message


def test_a_prepared_check_gives_the_same_answer(checker: WarmChecker, own: list[Task]):
    """After an answer, the next check starts with a worker that is ready."""
    checker.check(own[0])
    checker.prepare(own[0])
    module = own[0].stage.stub
    module.write_text(module.read_text("utf-8").replace("dim=-1)", "dim=-2)"))
    wrong = checker.check(own[0]).feedback

    assert wrong is not None
    assert wrong.first is not None
