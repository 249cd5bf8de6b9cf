"""Runs the suites that are available on a student's own file."""

from msgspec.structs import replace

from autograder.course import Course, Stage
from autograder.errors import CourseError, GraderError, UsageError
from autograder.reports.feedback import SelfCheckFeedback
from autograder.reports.feedback_builder import build_self_check
from autograder.results import CheckResult, ExerciseResult, Status, SubmissionResult
from autograder.sandbox.supervisor import ForkServer
from autograder.student.target import CheckTarget
from autograder.submission import Submission, collect


def check(target: CheckTarget) -> SelfCheckFeedback:
    """Check the file of *target*; raises ``UsageError`` if its suite can't be used."""
    stage = target.stage
    submission = next(collect(target.file, target.public.stages, stage))
    if submission.code is None:
        raise UsageError(submission.problem)
    limits = (target.course or target.public).limits
    # `process` guards against accidents on any machine, and the code is the student's own.
    with ForkServer("process", limits) as fork_server:  # first: it imports torch while we do
        results = [check_with_suite(target.public, submission, fork_server, public=True)]
        if target.course:
            results.append(check_with_suite(target.course, submission, fork_server, public=False))
    merged = _merge(stage, results)
    from autograder.suite import public_record  # noqa: PLC0415  # imports torch

    record = public_record.read(stage.public_record)
    return build_self_check(
        stage,
        merged,
        target.file,
        hidden=target.course is not None,
        points=record.points,
        hidden_points=record.hidden_points,
        hidden_is_here=target.hidden_is_here,
    )


def check_with_suite(
    course: Course, submission: Submission, server: ForkServer, *, public: bool, exercise: str = ""
) -> SubmissionResult:
    """Grade *submission*, or one *exercise* of it, in a worker of *server*.

    Raises ``UsageError`` if the public suite can't be used, and ``GraderError`` without a result.
    """
    from autograder.grading.grade import grade_one  # noqa: PLC0415  # imports torch
    from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # imports torch

    stage = course.stage(submission.stage)
    try:
        with open_suites(course, [stage], public=public) as runner:
            server.wait_ready()
            result = grade_one(runner, server, submission, exercise=exercise)
    except CourseError as error:
        if public:
            # The last line of pytest's report says why.
            why = str(error).strip().rpartition("\n")[2].removeprefix("E ").strip()
            msg = (
                f"{stage.public_suite} can't be used as it is ({why}). "
                "Replace it by the file that you received."
            )
            raise UsageError(msg) from None
        raise
    if result.status is Status.GRADER_ERROR:
        raise GraderError(result.message)
    return result


def _merge(stage: Stage, results: list[SubmissionResult]) -> SubmissionResult:
    """Put the checks of all suites under their exercises, in the order of *stage*."""
    checks: dict[str, tuple[CheckResult, ...]] = {item.name: () for item in stage.exercises}
    for result in results:
        for exercise in result.exercises:
            checks[exercise.name] = checks.get(exercise.name, ()) + exercise.checks
    exercises = tuple(ExerciseResult.of(name, found) for name, found in checks.items() if found)
    return replace(results[0], score=None, max_score=None, exercises=exercises)
