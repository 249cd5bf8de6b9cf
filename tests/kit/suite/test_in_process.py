"""Tests running the course's own code in this process."""

from pathlib import Path

import pytest
import torch

from autograder.errors import CourseError
from autograder.sandbox.faults import Fault
from autograder.suite.in_process import MEMORY_MIB, LocalChannel, solution_channel
from autograder.suite.student_proxy import Student

SOURCE = b"""
import warnings
import torch

def weights(x):
    print("printed")
    warnings.warn("warned")
    return torch.softmax(x @ x.T, dim=-1)

def stopped():
    raise KeyboardInterrupt

def large():
    return torch.empty(1 << 60)

def without_gradients():
    torch.set_grad_enabled(False)
"""


def test_prints_and_warnings_of_the_code_are_dropped(capsys: pytest.CaptureFixture[str]):
    """Output and warnings of the code are dropped."""
    answer = Student(LocalChannel("own", SOURCE)).call("weights", torch.eye(2))

    assert answer.shape == (2, 2)
    assert capsys.readouterr() == ("", "")


def test_code_that_cannot_be_imported_is_the_courses_fault():
    """Code that cannot be imported is a CourseError with the module."""
    with pytest.raises(CourseError, match="module broken can't be imported"):
        LocalChannel("broken", b"1 / 0")


def test_ctrl_c_is_not_an_answer():
    """Ctrl-C while the code runs is raised, because it comes from the instructor."""
    with pytest.raises(KeyboardInterrupt):
        Student(LocalChannel("own", SOURCE)).call("stopped")


def test_a_lack_of_memory_is_not_an_answer_of_the_code():
    """If memory runs out, this process is at fault, because the course's code needs little."""
    with pytest.raises(MemoryError):
        Student(LocalChannel("own", SOURCE)).call("large")
    with pytest.raises(MemoryError):
        LocalChannel("own", b"raise MemoryError\n")


def test_gradients_stay_on_after_code_that_switches_them_off():
    """Gradients are on again after code that turned them off."""
    Student(LocalChannel("own", SOURCE)).call("without_gradients")

    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        pytest.param(2 * MEMORY_MIB, Fault, id="it-had-its-share"),
        pytest.param(MEMORY_MIB / 2, MemoryError, id="this-process-had-less-left"),
    ],
)
def test_a_wrong_program_may_need_too_much_memory(
    room: float, expected: type[Exception], monkeypatch: pytest.MonkeyPatch
):
    """Too much memory has its own result, unless this process itself had too little."""
    monkeypatch.setattr("autograder.suite.in_process.room_for_memory", lambda: room)
    wrong = LocalChannel("wrong", SOURCE, LocalChannel("own", SOURCE))

    with pytest.raises(expected):
        Student(wrong).call("large")


def test_the_limit_of_a_wrong_program_is_not_that_of_this_process():
    """Memory that a program keeps counts only towards its own limit."""
    code = b"""
import torch
kept = []
def grow():
    while True:
        kept.append(torch.empty(1 << 25))
"""
    wrong = LocalChannel("wrong", code, LocalChannel("own", SOURCE))

    reply = wrong.ask("call", name="grow")

    assert reply.problem is not None
    assert reply.problem.kind == "out-of-memory"


def test_a_missing_solution_is_the_courses_fault(tmp_path: Path):
    """A missing solution is a CourseError with the file."""
    with pytest.raises(CourseError, match=r"tiny\.py is missing"):
        solution_channel(tmp_path / "tiny.py")
