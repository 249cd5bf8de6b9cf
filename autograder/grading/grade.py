"""Grades a class: one result for each submission, even a broken one."""

import gc
import os
import signal
import sys
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait

from msgspec.structs import replace

from autograder.course import Course
from autograder.course_file import Isolation, Limits
from autograder.errors import (
    CourseError,
    GraderError,
    LostProcessError,
    SandboxError,
    UsageError,
    lacks_memory,
    require_memory,
)
from autograder.grading.origins import report_copies
from autograder.grading.outcomes import failed_grading, unreadable, with_earlier_texts
from autograder.grading.provenance import Provenance
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Results, SubmissionResult
from autograder.sandbox.isolation import choose_isolation
from autograder.sandbox.process_limits import (
    MIB,
    limit_memory,
    limit_processor_time,
    return_freed_memory,
)
from autograder.sandbox.session import Session
from autograder.sandbox.spawned_workers import Workers
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission
from autograder.submission.collect import stages_with_code

STOP_SECONDS = 10.0  # to wait until a grading process has ended its worker, before it is killed
SIGNAL_SECONDS = 0.5  # how often to check for Ctrl-C, which another thread may receive
DIED = (
    "The process that graded this submission ended twice, the second time while it graded "
    "nothing else. The submission may have needed more memory (grader_mib in course.toml) or "
    "time (grader_seconds)."
)

GradeInSandbox = Callable[..., SubmissionResult]  # takes a submission and a client's number
OnResult = Callable[[int, SubmissionResult], object]
# Runs in a fork; gets its number, its end of the pipe, and the pipes of the parent.
Serve = Callable[[int, Connection, Sequence[Connection]], None]


def grade(
    course: Course,
    submissions: Sequence[Submission],
    *,
    isolation: str | None = None,
    jobs: int | None = None,
    diagnose: bool = True,
    on_result: Callable[[SubmissionResult], object] = lambda _result: None,
    python: str | None = None,
) -> Results:
    """Grade *submissions* as ``grade_each`` does, and return all results in order."""
    found: dict[int, SubmissionResult] = {}

    def keep(index: int, result: SubmissionResult) -> None:
        found[index] = result
        on_result(result)

    run = grade_each(
        course,
        submissions,
        keep,
        isolation=isolation,
        jobs=jobs,
        diagnose=diagnose,
        python=python,
    )
    return replace(run, submissions=tuple(found[index] for index in range(len(submissions))))


def grade_each(
    course: Course,
    submissions: Sequence[Submission],
    on_result: OnResult,
    *,
    isolation: str | None = None,
    jobs: int | None = None,
    diagnose: bool = True,
    python: str | None = None,
) -> Results:
    """Grade *submissions* one after another, and pass each result to *on_result*.

    Each submission is read when its turn comes. *on_result* gets the index of the submission, too.
    Return the record without results. *isolation* is by default that of ``course.toml``. *python*
    is the interpreter of the fork server. Raises ``SandboxError``, and ``CourseError``, for example
    if a solution of the course does not earn all points.
    """
    level = choose_isolation(isolation or course.grading.isolation, course.root)
    provenance = Provenance(course, level, diagnose=diagnose)
    wanted = stages_with_code(submissions)
    stages = [stage for stage in course.stages if stage.name in wanted]
    if stages:
        with open_suites(course, stages, diagnose=diagnose) as runner:
            class_ = Class(submissions, provenance, on_result)
            _grade_all(runner, class_, level, jobs or cores(), python or sys.executable)
    else:
        for index, one in enumerate(submissions):
            on_result(index, provenance.begin(one)(unreadable(one)))
    return provenance.record(())


def grade_one(
    runner: SuiteRunner,
    fork_server: Workers,
    submission: Submission,
    client: int = 0,
    exercise: str = "",
    *,
    quiet: bool = False,
) -> SubmissionResult:
    """Grade one submission, or one *exercise* of it, in the sandbox.

    An error of the grader becomes a result without a grade. Raises ``LostProcessError`` if a new
    process should try again. If a worker was killed, the submission is graded once more, because
    the system kills processes when memory is short, and correct code must not lose points for it.
    With *quiet*, an earlier grading may have sent hidden inputs, so no text of the code is quoted.
    """
    grade_once = partial(_grade_once, runner, fork_server, submission, client, exercise)
    result, was_killed = grade_once(quiet=quiet)
    if was_killed:
        return with_earlier_texts(grade_once(quiet=True)[0], result)
    return result


def _grade_once(
    runner: SuiteRunner,
    fork_server: Workers,
    submission: Submission,
    client: int,
    exercise: str,
    *,
    quiet: bool,
) -> tuple[SubmissionResult, bool]:
    """Return the result of *submission*, and whether a worker was killed."""
    code = submission.code
    if code is None:
        return unreadable(submission), False
    stage, notebook = runner.course.stage(submission.stage), code.kind == "notebook"
    session = Session(
        fork_server, stage.module, code.cells, notebook=notebook, client=client, quiet=quiet
    )
    try:
        result = runner.grade_submission(submission, session, exercise)
        result = report_copies(runner, submission, session, result)
    except (CourseError, SandboxError, UsageError, LostProcessError):
        raise  # not caused by this submission
    except Exception as error:  # noqa: BLE001  # a bug of the kit must not stop the other submissions
        require_memory(error)
        result = failed_grading(submission, error)
    finally:
        session.close()
    if session.lost is not None:  # a check may have caught it
        raise session.lost
    return result, session.was_killed


def cores() -> int:
    """Count the processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Class:
    """The submissions of a run; *on_result* gets the index and the result of each."""

    def __init__(
        self, submissions: Sequence[Submission], provenance: Provenance, on_result: OnResult
    ) -> None:
        self._submissions = submissions
        self._provenance = provenance
        self._on_result = on_result
        self._is_done = bytearray(len(submissions))

    def __len__(self) -> int:
        return len(self._submissions)

    def left(self, besides: Collection[int]) -> "array[int]":
        """List the indices of submissions without a result, except those in *besides*."""
        indices = (index for index, is_done in enumerate(self._is_done) if not is_done)
        return array("L", (index for index in indices if index not in besides))

    def begin(self, index: int) -> tuple[Submission, Callable[[SubmissionResult], None]]:
        """Read a submission; return it and the function that takes its result."""
        submission = self._submissions[index]
        with_audit = self._provenance.begin(submission)

        def add(result: SubmissionResult) -> None:
            self._is_done[index] = True
            self._on_result(index, result if result.audit else with_audit(result))

        # The grading process does not need the other files, which are read later.
        return replace(submission, lab=None, stamp=None, secret=None), add


def _grade_all(
    runner: SuiteRunner, class_: Class, isolation: Isolation, jobs: int, python: str
) -> None:
    """Grade the class; a submission whose grading process died is graded once more, alone."""
    left, suspects = class_.left(()), list[int]()
    while left or suspects:
        alone = not left
        indices: Sequence[int] = left or [suspects.pop()]
        count = max(1, min(jobs, len(indices)))
        with ForkServer(isolation, runner.course.limits, count, python) as fork_server:
            if len(left) == len(class_):  # the first time, while the fork server imports torch
                runner.require_right_solutions()
            for client in range(count):
                fork_server.wait_ready(client)
            in_sandbox = partial(grade_one, runner, fork_server, quiet=alone)
            died = _grade_in_processes(in_sandbox, runner.course.limits, class_, indices, count)
        for index in died if alone else ():
            submission, add = class_.begin(index)
            add(failed_grading(submission, GraderError(DIED)))
        suspects += () if alone else died
        left = class_.left(suspects)


def _grade_in_processes(
    grade_in_sandbox: GradeInSandbox,
    limits: Limits,
    class_: Class,
    indices: Sequence[int],
    jobs: int,
) -> list[int]:
    """Grade in forks of this process, which has already loaded the suites and torch.

    Return the indices of submissions whose fork died. The other forks continue.
    """
    if not hasattr(os, "fork"):
        for index in indices:
            submission, add = class_.begin(index)
            add(grade_in_sandbox(submission))
        return []
    grade_in_fork = partial(grade_from_pipe, grade_in_sandbox, limits)
    waiting, died = iter(indices), list[int]()
    busy: dict[Connection, tuple[int, Callable[[SubmissionResult], None]]] = {}
    with _forks(jobs, grade_in_fork) as pipes:
        idle = list(pipes)
        while True:
            for pipe, index in zip(tuple(idle), waiting, strict=False):
                idle.remove(pipe)
                submission, add = class_.begin(index)
                busy[pipe] = index, add
                with suppress(OSError):  # the fork has died; `receive` reports it
                    pipe.send(submission)
            if not busy:
                return died
            for pipe in busy.keys() & wait(list(busy), SIGNAL_SECONDS):
                index, add = busy.pop(pipe)
                if result := receive(pipe):
                    idle.append(pipe)
                    add(result)
                else:
                    died.append(index)


@contextmanager
def _forks(jobs: int, serve: Serve) -> Iterator[list[Connection]]:
    """Run *serve* in *jobs* forks of this process; yield the pipes to them, then end them.

    *serve* gets the number of the fork, its end of the pipe, and the pipes of this process.
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


def grade_from_pipe(
    grade_in_sandbox: GradeInSandbox,
    limits: Limits,
    client: int,
    pipe: Connection,
    inherited: Sequence[Connection] = (),
) -> None:
    """Grade the submissions that arrive, until the parent closes the pipe or dies."""
    gc.freeze()  # collections skip the 200,000 objects of torch and the suites
    return_freed_memory()
    limit_memory(limits.grader_mib * MIB)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the worker ends, too
    for other in inherited:  # open copies would hide from other forks that the parent has died
        other.close()
    with suppress(EOFError, OSError, KeyboardInterrupt):  # the parent closed the pipe or died
        while True:
            submission = pipe.recv()
            limit_processor_time(limits.grader_seconds)
            answer: SubmissionResult | BaseException
            try:
                answer = grade_in_sandbox(submission, client)
            except BaseException as error:  # noqa: BLE001  # the parent raises it
                if isinstance(error, LostProcessError) or lacks_memory(error):
                    return  # the parent starts a new process, which grades it again
                answer = error
            pipe.send(answer)
            if isinstance(answer, KeyboardInterrupt):  # SIGTERM
                return


def receive(pipe: Connection) -> SubmissionResult | None:
    """Return a fork's result, or ``None`` if the fork has died; raise the fork's exception."""
    try:
        answer: SubmissionResult | BaseException = pipe.recv()
    except (EOFError, OSError):
        return None
    if isinstance(answer, BaseException):
        raise answer
    return answer
