"""Grading a class: submissions in, one record out, whatever the submissions are."""

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Literal

from autograder.course import Course
from autograder.errors import CourseError, GraderError, SandboxError, UsageError
from autograder.grading.outcomes import failed_grading, unreadable
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Results, SubmissionResult
from autograder.sandbox.isolation import Isolation
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer, choose_isolation
from autograder.submission import Submission
from autograder.suite.hidden_inputs import course_secret

OnResult = Callable[[SubmissionResult], None]
_Seat = tuple[SuiteRunner, ForkServer, int]
_seat: _Seat | None = None  # set once in each forked grading process, before its first submission


def grade(
    course: Course,
    submissions: Sequence[Submission],
    *,
    isolation: str | None = None,
    jobs: int | None = None,
    diagnose: bool = True,
    on_result: OnResult = lambda _result: None,
    python: str | None = None,
) -> Results:
    """Grade *submissions*; results stand in their order.

    *python* is the interpreter that the fork server, and so every worker, is started with.
    Raises ``SandboxError`` and ``CourseError``.
    """
    level = choose_isolation(isolation, course.root)
    wanted = {submission.stage for submission in submissions if submission.code is not None}
    stages = [stage for stage in course.stages if stage.name in wanted]
    if stages:
        with open_suites(course, stages, diagnose=diagnose) as runner:
            python = python or sys.executable
            graded = _grade_all(runner, submissions, level, jobs or cores(), on_result, python)
    else:
        graded = [_told(unreadable(submission), on_result) for submission in submissions]
    secret: Literal["public", "secret"] = "secret" if course_secret(course.root) else "public"
    return Results(
        course=course.id, isolation=level, submissions=tuple(graded), hidden_inputs=secret
    )


def grade_one(
    runner: SuiteRunner,
    fork_server: ForkServer,
    submission: Submission,
    client: int = 0,
    exercise: str = "",
) -> SubmissionResult:
    """Grade one submission in the sandbox, or one *exercise* of it.

    A fault of ours becomes a record without a grade.
    """
    if submission.code is None:
        return unreadable(submission)
    stage = runner.course.stage(submission.stage)
    session = Session(
        fork_server,
        stage.module,
        submission.code.cells,
        notebook=submission.code.kind == "notebook",
        client=client,
    )
    try:
        return runner.grade_submission(submission, session, exercise)
    except (CourseError, SandboxError, UsageError):
        raise  # no submission can be graded
    except Exception as error:  # noqa: BLE001  # our bug, GraderError or not; others are unaffected
        return failed_grading(submission, error)
    finally:
        session.close()


def _grade_all(
    runner: SuiteRunner,
    submissions: Sequence[Submission],
    isolation: Isolation,
    jobs: int,
    on_result: OnResult,
    python: str,
) -> list[SubmissionResult]:
    jobs = max(1, min(jobs, len(submissions)))
    limits = runner.course.limits
    with ForkServer(isolation, limits, clients=jobs, python=python) as fork_server:
        if jobs > 1 and hasattr(os, "fork"):
            return _in_processes(runner, fork_server, submissions, jobs, on_result)
        fork_server.wait_ready()
        return [_told(grade_one(runner, fork_server, item), on_result) for item in submissions]


def _in_processes(
    runner: SuiteRunner,
    fork_server: ForkServer,
    submissions: Sequence[Submission],
    jobs: int,
    on_result: OnResult,
) -> list[SubmissionResult]:
    """Share the class among forks of this process, which have suites and torch loaded already."""
    seats = get_context("fork").SimpleQueue()
    for client in range(jobs):
        seats.put(client)
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=get_context("fork"),
        initializer=_take_seat,
        initargs=(runner, fork_server, seats),
    )
    done: dict[int, SubmissionResult] = {}
    with pool:
        futures: dict[Future[SubmissionResult], int] = {
            pool.submit(_in_seat, submission): index for index, submission in enumerate(submissions)
        }
        for future in as_completed(futures):
            done[futures[future]] = _told(_result(future, submissions[futures[future]]), on_result)
    return [done[index] for index in range(len(submissions))]


def _result(future: Future[SubmissionResult], submission: Submission) -> SubmissionResult:
    try:
        return future.result()
    except BrokenProcessPool:
        ended = GraderError("A grading process was ended from outside, perhaps for its memory.")
        return failed_grading(submission, ended)


def _take_seat(runner: SuiteRunner, fork_server: ForkServer, seats: "object") -> None:
    global _seat  # noqa: PLW0603  # a forked process has no other place to keep what it was given
    client = seats.get()  # type: ignore[attr-defined]  # a SimpleQueue, whose type is private
    fork_server.wait_ready(client)
    _seat = (runner, fork_server, client)


def _in_seat(submission: Submission) -> SubmissionResult:
    if _seat is None:
        msg = "a grading process was asked before it was ready"
        raise GraderError(msg)
    runner, fork_server, client = _seat
    return grade_one(runner, fork_server, submission, client)


def _told(result: SubmissionResult, on_result: OnResult) -> SubmissionResult:
    on_result(result)
    return result


def cores() -> int:
    """Count the processor cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
