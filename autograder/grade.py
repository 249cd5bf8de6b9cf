"""Grading a class: submissions in, one record out, whatever the submissions are."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from typing import Literal

from autograder.course import Course
from autograder.errors import CourseError, GraderError, SandboxError, UsageError
from autograder.results import Results, SubmissionResult
from autograder.sandbox.confine import Isolation
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import Zygote, choose_isolation
from autograder.submission import Submission
from autograder.suite.judging import Judge, with_judge
from autograder.suite.probe import course_secret
from autograder.suite.records import failed_grading, unreadable

OnResult = Callable[[SubmissionResult], None]
_Seat = tuple[Judge, Zygote, int]
_seat: _Seat | None = None  # set once in each forked grading process, before its first submission


def grade(
    course: Course,
    submissions: Sequence[Submission],
    *,
    isolation: str | None = None,
    jobs: int | None = None,
    diagnose: bool = True,
    on_result: OnResult = lambda _result: None,
) -> Results:
    """Grade *submissions*; results stand in their order.

    Raises ``SandboxError`` and ``CourseError``.
    """
    level = choose_isolation(isolation, course.root)
    wanted = {submission.stage for submission in submissions if submission.code is not None}
    stages = [stage for stage in course.stages if stage.name in wanted]
    if stages:
        work = partial(_grade_all, course, submissions, level, jobs or cores(), on_result)
        graded = with_judge(course, stages, work, diagnose=diagnose)
    else:
        graded = [_told(unreadable(submission), on_result) for submission in submissions]
    secret: Literal["public", "secret"] = "secret" if course_secret(course.root) else "public"
    return Results(
        course=course.id, isolation=level, submissions=tuple(graded), hidden_inputs=secret
    )


def judge_one(
    judge: Judge, zygote: Zygote, submission: Submission, user: int = 0, exercise: str = ""
) -> SubmissionResult:
    """Grade one submission in the sandbox, or one *exercise* of it.

    A fault of ours becomes a record without a grade.
    """
    if submission.code is None:
        return unreadable(submission)
    stage = judge.course.stage(submission.stage)
    session = Session(
        zygote,
        stage.module,
        submission.code.cells,
        notebook=submission.code.kind == "notebook",
        user=user,
    )
    try:
        return judge.judge(submission, session, exercise)
    except (CourseError, SandboxError, UsageError):
        raise  # no submission can be graded
    except Exception as error:  # noqa: BLE001  # our bug, GraderError or not; others are unaffected
        return failed_grading(submission, error)
    finally:
        session.close()


def _grade_all(
    course: Course,
    submissions: Sequence[Submission],
    isolation: Isolation,
    jobs: int,
    on_result: OnResult,
    judge: Judge,
) -> list[SubmissionResult]:
    jobs = max(1, min(jobs, len(submissions)))
    with Zygote(isolation, course.limits, users=jobs) as zygote:
        if jobs > 1 and hasattr(os, "fork"):
            return _in_processes(judge, zygote, submissions, jobs, on_result)
        zygote.wait_ready()
        return [_told(judge_one(judge, zygote, item), on_result) for item in submissions]


def _in_processes(
    judge: Judge, zygote: Zygote, submissions: Sequence[Submission], jobs: int, on_result: OnResult
) -> list[SubmissionResult]:
    """Share the class among forks of this process, which have suites and torch loaded already."""
    seats = get_context("fork").SimpleQueue()
    for user in range(jobs):
        seats.put(user)
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=get_context("fork"),
        initializer=_take_seat,
        initargs=(judge, zygote, seats),
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


def _take_seat(judge: Judge, zygote: Zygote, seats: "object") -> None:
    global _seat  # noqa: PLW0603  # a forked process has no other place to keep what it was given
    user = seats.get()  # type: ignore[attr-defined]  # a SimpleQueue, whose type is private
    zygote.wait_ready(user)
    _seat = (judge, zygote, user)


def _in_seat(submission: Submission) -> SubmissionResult:
    if _seat is None:
        msg = "a grading process was asked before it was ready"
        raise GraderError(msg)
    judge, zygote, user = _seat
    return judge_one(judge, zygote, submission, user)


def _told(result: SubmissionResult, on_result: OnResult) -> SubmissionResult:
    on_result(result)
    return result


def cores() -> int:
    """Count the processor cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
