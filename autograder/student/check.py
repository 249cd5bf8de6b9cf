"""A student's own run: the suites that are there, on one file, confined as far as any machine can.

``process`` guards against accidents only, and needs to: the code is the student's own.
"""

from pathlib import Path
from typing import NamedTuple

from autograder.course import Course, Stage
from autograder.errors import CourseError, GraderError, UsageError
from autograder.results import CheckResult, ExerciseResult, Outcome, Status, SubmissionResult
from autograder.sandbox.supervisor import ForkServer
from autograder.student.target import Place
from autograder.submission import Submission, collect


class Report(NamedTuple):
    """What was checked, by the public suite and perhaps the *hidden* one, and how it went."""

    file: Path
    stage: Stage
    hidden: bool
    result: SubmissionResult

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """Every check that ran, or should have."""
        return tuple(check for exercise in self.result.exercises for check in exercise.checks)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        return bool(self.checks) and all(is_done(exercise) for exercise in self.result.exercises)


def is_done(exercise: ExerciseResult) -> bool:
    """Whether every check of *exercise* passed: in the public suite points say nothing."""
    return all(check.outcome is Outcome.PASSED for check in exercise.checks)


def check(place: Place) -> Report:
    """Check the file at *place*; raises ``UsageError`` if its suite can't be used."""
    stage = place.stage
    submission = next(collect(place.file, place.public.stages, stage))
    if submission.code is None:
        raise UsageError(submission.problem)
    limits = (place.course or place.public).limits
    with ForkServer("process", limits) as fork_server:  # first: it imports torch while we do
        results = [check_with_suite(place.public, submission, fork_server, public=True)]
        if place.course:
            results.append(check_with_suite(place.course, submission, fork_server, public=False))
    for result in results:
        if result.status is Status.GRADER_ERROR:
            raise GraderError(result.message)
    return Report(place.file, stage, len(results) > 1, _merged(stage, results))


def check_with_suite(
    course: Course,
    submission: Submission,
    fork_server: ForkServer,
    *,
    public: bool,
    exercise: str = "",
) -> SubmissionResult:
    """Judge *submission*, or one *exercise* of it, in a worker of *fork_server*.

    Raises ``UsageError`` if the public suite can't be used.
    """
    from autograder.grading.grade import grade_one  # noqa: PLC0415  # imports torch
    from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # imports torch

    stage = course.stage(submission.stage)
    try:
        with open_suites(course, [stage], public=public) as runner:
            fork_server.wait_ready()
            return grade_one(runner, fork_server, submission, exercise=exercise)
    except CourseError as error:
        if public:
            raise UsageError(_unusable(stage, error)) from None
        raise


def _merged(stage: Stage, results: list[SubmissionResult]) -> SubmissionResult:
    """Put the checks of all suites under their exercises, in the order of *stage*."""
    checks: dict[str, tuple[CheckResult, ...]] = {item.name: () for item in stage.exercises}
    for result in results:
        for exercise in result.exercises:
            checks[exercise.name] = checks.get(exercise.name, ()) + exercise.checks
    exercises = tuple(ExerciseResult.of(name, found) for name, found in checks.items() if found)
    first = results[0]
    return SubmissionResult(
        student=first.student,
        stage=first.stage,
        status=first.status,
        score=None,
        max_score=None,
        message=first.message,
        notices=first.notices,
        exercises=exercises,
    )


def _unusable(stage: Stage, error: CourseError) -> str:
    why = str(error).strip().rpartition("\n")[2].removeprefix("E ").strip()  # pytest's last word
    return (
        f"{stage.public_suite} can't be used as it is ({why}). "
        "Put the file that you received back in its place."
    )
