"""From what was seen of a submission to its record, and the sentences about the whole of it."""

from autograder.results import ExerciseResult, Status, SubmissionResult, add
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import Problem
from autograder.sandbox.session import Session
from autograder.submission import Submission

MAX_NOTICES = 20  # failing cells that are told; a notebook may have hundreds


def unreadable(submission: Submission) -> SubmissionResult:
    """Return the record of a submission that holds nothing to judge."""
    return record(submission, Status.UNREADABLE, submission.problem, (), ())


def failed_grading(submission: Submission, error: Exception) -> SubmissionResult:
    """Return the record of a submission at which the grader itself failed: no grade."""
    return SubmissionResult(
        student=submission.student,
        stage=submission.stage,
        status=Status.GRADER_ERROR,
        score=None,
        max_score=None,
        message=f"The grader failed, not the student; there is no grade. {error}",
        sha256=submission.sha256,
    )


def record(
    submission: Submission,
    status: Status,
    message: str,
    exercises: tuple[ExerciseResult, ...],
    notices: tuple[str, ...],
) -> SubmissionResult:
    """Add up what a submission earned."""
    return SubmissionResult(
        student=submission.student,
        stage=submission.stage,
        status=status,
        score=add(exercise.score for exercise in exercises),
        max_score=add(exercise.max_score for exercise in exercises) if exercises else None,
        message=message,
        notices=submission.notices + notices,
        ignored=submission.ignored,
        exercises=exercises,
        sha256=submission.sha256,
    )


def opening(session: Session) -> Fault | None:
    """Import the submission; return what kept it from being used at all."""
    try:
        session.open()
    except Fault as fault:
        return fault
    return None


def missing(session: Session, name: str) -> Fault | None:
    """Say why exercise *name* can't be judged, if it can't."""
    try:
        if session.ask("has", name=name).value is True:
            return None
    except Fault as fault:
        return fault
    if session.problems and not session.notebook:
        what = _told(session.problems[0])
        public = f"{name} was not reached: importing your file stopped above it."
        return Fault(Status.IMPORT_ERROR, f"{name} was not reached: {what}", public=public)
    return Fault(Status.MISSING, f"{name} is not defined in your file.")


def overall(session: Session, opened: Fault | None) -> tuple[Status, str]:
    """Return the status of the whole submission, and a sentence where there is trouble."""
    if opened is not None:
        return opened.status, opened.message
    if session.problems and not session.notebook:
        return Status.IMPORT_ERROR, _told(session.problems[0])
    return Status.GRADED, ""


def notices_of(session: Session) -> tuple[str, ...]:
    """Tell which cells of a notebook failed and were passed over."""
    if not session.notebook:
        return ()
    return tuple(_told(problem) for problem in session.problems[:MAX_NOTICES])


def _told(problem: Problem) -> str:
    code = f" ({problem.code})" if problem.code else ""
    text = problem.text.strip().partition("\n")[0][:200]
    if problem.place.startswith("cell "):
        return f"{problem.place}, line {problem.line} raised {problem.type}: {text}{code}"
    return (
        f"line {problem.line} raised {problem.type} while your file was imported, "
        f"and nothing below it was read: {text}{code}"
    )
