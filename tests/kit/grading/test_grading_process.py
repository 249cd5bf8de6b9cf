"""Tests that a grading process answers requests from a pipe and ends with its parent."""

import gc
import os
from collections.abc import Callable, Iterator
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import pytest

from autograder.course_file import Limits
from autograder.errors import CourseError, LostProcessError
from autograder.grading.grade import grade_from_pipe, receive

Start = Callable[[], tuple[Connection, BaseProcess]]
ANSWERS = {
    "right": lambda: "graded",
    "frozen": gc.get_freeze_count,
    "raise": lambda: (_ for _ in ()).throw(CourseError("The suite is wrong.")),
    "lose": lambda: (_ for _ in ()).throw(LostProcessError),
    "starve": lambda: (_ for _ in ()).throw(MemoryError),
    "die": lambda: os._exit(3),
}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def grade(submission: str, _client: int) -> object:
    """Replace the sandbox."""
    return ANSWERS[submission]()


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a grading process; yields this side of its pipe, too."""
    started: list[BaseProcess] = []

    def fork() -> tuple[Connection, BaseProcess]:
        pipe, other_end = Pipe()
        arguments = (grade, Limits(), 0, other_end, [pipe])
        process = get_context("fork").Process(target=grade_from_pipe, args=arguments)
        process.start()
        other_end.close()
        started.append(process)
        return pipe, process

    yield fork
    for process in started:
        process.kill()
        process.join()


def test_it_answers_each_submission_until_the_pipe_is_closed(start: Start):
    """A grading process answers until its pipe is closed, and its errors are raised here."""
    pipe, process = start()
    pipe.send("right")
    first = receive(pipe)
    pipe.send("raise")
    with pytest.raises(CourseError, match=r"The suite is wrong\."):
        receive(pipe)
    pipe.close()
    process.join()

    assert (first, process.exitcode) == ("graded", 0)


@pytest.mark.parametrize(("submission", "code"), [("die", 3), ("lose", 0), ("starve", 0)])
def test_a_process_that_has_ended_gives_no_result(start: Start, submission: str, code: int):
    """A process that ended for any reason gives no result, so a new process grades."""
    pipe, process = start()
    pipe.send(submission)
    result = receive(pipe)
    process.join()

    assert (result, process.exitcode) == (None, code)


def test_what_it_inherits_is_looked_at_by_no_collection(start: Start):
    """No garbage collection visits the objects that a grading process inherits."""
    pipe, _ = start()
    pipe.send("frozen")

    assert receive(pipe) > 0


def test_sigterm_ends_it(start: Start):
    """SIGTERM ends a grading process, even while it waits."""
    pipe, process = start()
    pipe.send("right")
    receive(pipe)  # it has set its signals
    process.terminate()
    process.join()

    assert process.exitcode == 0
