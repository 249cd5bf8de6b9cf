"""Grades a class: one result for each submission, whatever the submissions are."""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait

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

SIGNAL_SECONDS = 0.5  # another thread may get Ctrl-C, and then nothing wakes this one
STOP_SECONDS = 10.0  # for a grading process to end its worker; then it is killed
DIED = "A grading process was ended from outside, perhaps because of its memory."

OnResult = Callable[[SubmissionResult], None]
GradeInSandbox = Callable[..., SubmissionResult]  # of a submission and the number of the client


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
    """Grade *submissions*; the results are in their order.

    *on_result* is called with each result at once; *python* is the interpreter that starts the
    fork server. Raises ``SandboxError`` and ``CourseError``.
    """
    level = choose_isolation(isolation, course.root)
    wanted = {submission.stage for submission in submissions if submission.code is not None}
    stages = [stage for stage in course.stages if stage.name in wanted]
    if stages:
        with open_suites(course, stages, diagnose=diagnose) as runner:
            executable = python or sys.executable
            results = _grade_all(runner, submissions, level, jobs or cores(), on_result, executable)
    else:
        results = [unreadable(submission) for submission in submissions]
        for result in results:
            on_result(result)
    return Results(
        course=course.id,
        isolation=level,
        submissions=tuple(results),
        hidden_inputs="secret" if course_secret(course.root) else "public",
    )


def grade_one(
    runner: SuiteRunner,
    fork_server: ForkServer,
    submission: Submission,
    client: int = 0,
    exercise: str = "",
) -> SubmissionResult:
    """Grade one submission in the sandbox, or one *exercise* of it.

    A fault of ours becomes a result without a grade.
    """
    if submission.code is None:
        return unreadable(submission)
    stage = runner.course.stage(submission.stage)
    code, notebook = submission.code, submission.code.kind == "notebook"
    session = Session(fork_server, stage.module, code.cells, notebook=notebook, client=client)
    try:
        return runner.grade_submission(submission, session, exercise)
    except (CourseError, SandboxError, UsageError):
        raise  # no submission can be graded
    except Exception as error:  # noqa: BLE001  # our bug, GraderError or not; others are unaffected
        return failed_grading(submission, error)
    finally:
        session.close()


def cores() -> int:
    """Count the processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _grade_all(
    runner: SuiteRunner,
    submissions: Sequence[Submission],
    isolation: Isolation,
    jobs: int,
    on_result: OnResult,
    python: str,
) -> list[SubmissionResult]:
    jobs = max(1, min(jobs, len(submissions))) if hasattr(os, "fork") else 1
    results: dict[int, SubmissionResult] = {}

    def add(index: int, result: SubmissionResult) -> None:
        results[index] = result
        on_result(result)

    while left := [index for index in range(len(submissions)) if index not in results]:
        limits = runner.course.limits  # this repeats only if every grading process has died
        with ForkServer(isolation, limits, jobs, python) as fork_server:
            for client in range(jobs):
                fork_server.wait_ready(client)
            grade_in_sandbox = partial(grade_one, runner, fork_server)
            if jobs > 1:
                _grade_in_processes(grade_in_sandbox, submissions, left, jobs, add)
            else:
                for index in left:
                    add(index, grade_in_sandbox(submissions[index]))
    return [results[index] for index in range(len(submissions))]


def _grade_in_processes(
    grade_in_sandbox: GradeInSandbox,
    submissions: Sequence[Submission],
    indices: Sequence[int],
    jobs: int,
    add: Callable[[int, SubmissionResult], None],
) -> None:
    """Grade in forks of this process, which has loaded suites and torch already.

    A fork that dies costs the submission that it was grading; the others continue, if any is left.
    """
    waiting = deque(indices)
    busy: dict[Connection, int] = {}
    with _forks(jobs, partial(_serve, grade_in_sandbox, submissions)) as pipes:
        idle = list(pipes)
        while busy or (idle and waiting):
            while idle and waiting:
                pipe = idle.pop()
                busy[pipe] = waiting.popleft()
                with suppress(OSError):  # the fork has died, as `_receive` will find
                    pipe.send(busy[pipe])
            for pipe in busy.keys() & wait(list(busy), SIGNAL_SECONDS):
                index = busy.pop(pipe)
                result = _receive(pipe)
                if result:
                    idle.append(pipe)
                add(index, result or failed_grading(submissions[index], GraderError(DIED)))


@contextmanager
def _forks(
    jobs: int, serve: Callable[[int, Connection, Sequence[Connection]], None]
) -> Iterator[list[Connection]]:
    """Fork this process *jobs* times to run *serve*; yield the pipes to the forks, then end them.

    *serve* gets the number of the fork, its end of its pipe, and the pipes of this process.
    """
    processes = []
    pipes: list[Connection] = []
    try:
        for number in range(jobs):
            pipe, other_end = Pipe()
            pipes.append(pipe)
            arguments = (number, other_end, pipes)
            process = get_context("fork").Process(target=serve, args=arguments, daemon=True)
            process.start()
            processes.append(process)
            other_end.close()
        yield pipes
    except BaseException:
        for process in processes:
            process.terminate()
        raise
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.join(STOP_SECONDS)
            process.kill()
            process.join()


def _serve(
    grade_in_sandbox: GradeInSandbox,
    submissions: Sequence[Submission],
    client: int,
    pipe: Connection,
    inherited: Sequence[Connection],
) -> None:
    """Grade the submissions whose indices arrive, until the parent closes the pipe or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then terminates
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # raises, so that the worker ends too
    for other in inherited:  # while a copy is open here, no fork notices that the parent died
        other.close()
    with suppress(EOFError, OSError, KeyboardInterrupt):  # the parent closed the pipe, or died
        while True:
            submission = submissions[pipe.recv()]
            answer: SubmissionResult | BaseException
            try:
                answer = grade_in_sandbox(submission, client)
            except BaseException as error:  # noqa: BLE001  # the parent raises it
                answer = error
            pipe.send(answer)


def _receive(pipe: Connection) -> SubmissionResult | None:
    """Return a fork's result, or ``None`` if it has died; raises what the fork raised."""
    try:
        answer: SubmissionResult | BaseException = pipe.recv()
    except (EOFError, OSError):
        return None
    if isinstance(answer, BaseException):
        raise answer
    return answer
