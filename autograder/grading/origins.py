"""Reports wrong copies of earlier exercises by the checks of the stages that they come from.

The stage with the copy has few checks of it. They decide whether it is right; those of its own
stage describe what is wrong with it.
"""

from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import CourseError, UsageError
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import CheckResult, ExerciseResult, Outcome, Status, SubmissionResult
from autograder.sandbox.session import Session
from autograder.submission import Submission

UNWRITTEN = {Status.NOT_IMPLEMENTED, Status.MISSING, Status.IMPORT_ERROR}


def report_copies(
    runner: SuiteRunner, submission: Submission, session: Session, result: SubmissionResult
) -> SubmissionResult:
    """Replace the results of wrong copies by those of their own stages, which give no points.

    A copy keeps its result if its stage is not here, if all checks there pass, or if its own checks
    alone name the mistake.
    """
    stage = runner.course.stage(submission.stage)
    copies = {one.name: one.copied_from for one in stage.exercises if one.copied_from}
    exercises = []
    for one in result.exercises:
        found: tuple[CheckResult, ...] = ()
        if one.name in copies and _is_wrong(one.checks):
            found = _of_origin(runner, submission, session, copies[one.name], one.name)
        is_better = _is_wrong(found) and (_is_named(found) or not _is_named(one.checks))
        exercises.append(ExerciseResult.of(one.name, found, one.uses) if is_better else one)
    return replace(result, exercises=tuple(exercises))


def _is_wrong(checks: tuple[CheckResult, ...]) -> bool:
    failed = [one for one in checks if one.outcome is not Outcome.PASSED]
    return bool(failed) and UNWRITTEN.isdisjoint(one.status for one in failed)


def _is_named(checks: tuple[CheckResult, ...]) -> bool:
    return any(one.diagnosis for one in checks)


def _of_origin(
    runner: SuiteRunner, submission: Submission, session: Session, origin: str, exercise: str
) -> tuple[CheckResult, ...]:
    """Run the checks of *exercise* in the stage *origin*; empty if it is not here."""
    if origin not in runner.origins:
        runner.origins[origin] = _opened(runner, origin)
    source = runner.origins[origin]
    if source is None:
        return ()
    found = source.grade_submission(replace(submission, stage=origin), session, exercise)
    return tuple(
        replace(one, title=f"{one.title} (A check of {origin}.)", points=0.0, max_points=0.0)
        for each in found.exercises
        for one in each.checks
        if one.outcome is not Outcome.SKIPPED  # it needs an exercise that is not copied
    )


def _opened(runner: SuiteRunner, origin: str) -> SuiteRunner | None:
    """Open the suite of *origin* until *runner* ends; None if it is not here or can't be used.

    Nothing needs it then: the stage with the copy has checks of it, too.
    """
    try:
        course = runner.course.around(origin)
        if course is None:
            return None
        public = runner.is_public
        suites = open_suites(
            course if public else _without_values(course),
            [course.stage(origin)],
            public=public,
            diagnose=runner.diagnoses,
        )
        return runner.opened.enter_context(suites)
    except (CourseError, UsageError):
        return None


def _without_values(course: Course) -> Course:
    """Return *course*, which shows no value: the submission has met hidden inputs by now."""
    reveal = replace(course.reveal, documented_values=False)
    return replace(course, file=replace(course.file, reveal=reveal))
