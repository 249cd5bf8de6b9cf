"""How a check's or a submission's end becomes a result with its points and sentences."""

from msgspec.structs import replace

from autograder.course import Reveal
from autograder.results import (
    MAX_NOTICES,
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Outcome,
    Status,
    SubmissionResult,
    add,
)
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import Problem
from autograder.sandbox.session import Session
from autograder.submission import Submission
from autograder.suite.checks import CollectedCheck, WrongAnswer


class CheckOutcome:
    """Builds the result of one check; *reveal* says how much of it students may read."""

    def __init__(self, check: CollectedCheck, reveal: Reveal) -> None:
        self.check = check
        self._reveal = reveal

    def passed(self) -> CheckResult:
        """Give full points."""
        return self._result(Outcome.PASSED, Status.OK, "", self.check.spec.points)

    def carried(self, given: str) -> CheckResult:
        """Give full points: the mistake is in the exercise *given*, not in this one."""
        message = f"Right, given your {given}: mend that first."
        passed = self._result(Outcome.PASSED, Status.OK, message, self.check.spec.points)
        return replace(passed, given=given)

    def skipped(self, fault: Fault) -> CheckResult:
        """Give no points: something that the check needs is missing."""
        return self._result(Outcome.SKIPPED, fault.status, self._visible(fault))

    def unusable(self) -> CheckResult:
        """Give no points: the check raised an error on this answer, but not on the solution's."""
        exercise = self.check.spec.exercise
        message = f"The answer can't be used: it is not of the kind that {exercise} returns."
        return self._result(Outcome.FAILED, Status.BAD_OUTPUT, message)

    def failed(self, error: BaseException) -> CheckResult | None:
        """Give no points and say why; ``None`` unless *error* is certainly the student's fault."""
        if isinstance(error, WrongAnswer):
            result = self._result(Outcome.FAILED, error.status, self._visible(error))
            return replace(result, grid=error.grid) if self._shows_values else result
        if isinstance(error, Fault):
            return self._result(Outcome.ERRORED, error.status, self._visible(error))
        return None

    def add_diagnosis(self, result: CheckResult, diagnosis: Diagnosis | None) -> CheckResult:
        """Add the mistake's name, unless the course reveals nothing about hidden checks."""
        return result if self._shows_nothing else replace(result, diagnosis=diagnosis)

    @property
    def _shows_nothing(self) -> bool:
        return self.check.spec.layer.hidden and self._reveal.hidden_checks == "nothing"

    @property
    def _shows_values(self) -> bool:
        return self._reveal.documented_values and not self.check.spec.layer.hidden

    def _visible(self, error: WrongAnswer | Fault) -> str:
        """Return as much of the message as the course reveals."""
        if self._shows_nothing:
            return ""
        return error.message if self._shows_values else error.public

    def _result(
        self, outcome: Outcome, status: Status, message: str, points: float = 0.0
    ) -> CheckResult:
        return CheckResult(
            name=self.check.name,
            title=self.check.title,
            outcome=outcome,
            status=status,
            points=points,
            max_points=self.check.spec.points,
            message=message,
        )


def unreadable(submission: Submission) -> SubmissionResult:
    """Return the result of a submission that contains nothing to grade."""
    return submission_result(submission, Status.UNREADABLE, submission.problem, (), ())


def failed_grading(submission: Submission, error: Exception) -> SubmissionResult:
    """Return the result of a submission on which the grader itself failed: no grade."""
    return SubmissionResult(
        student=submission.student,
        stage=submission.stage,
        status=Status.GRADER_ERROR,
        score=None,
        max_score=None,
        message=f"The grader failed, not the student; there is no grade. {error}",
        sha256=submission.sha256,
    )


def submission_result(
    submission: Submission,
    status: Status,
    message: str,
    exercises: tuple[ExerciseResult, ...],
    notices: tuple[str, ...],
) -> SubmissionResult:
    """Return the result of a submission, with the sums of its points."""
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


def import_submission(session: Session) -> Fault | None:
    """Import the submission; return the fault if nothing of it can be used."""
    try:
        session.open()
    except Fault as fault:
        return fault
    return None


def missing_exercise(session: Session, name: str) -> Fault | None:
    """Return why exercise *name* can't be graded, if it can't."""
    try:
        if session.ask("has", name=name).value is True:
            return None
    except Fault as fault:
        return fault
    if session.problems and not session.notebook:
        problem = describe_problem(session.problems[0])
        public = f"{name} was not reached: importing your file stopped above it."
        return Fault(Status.IMPORT_ERROR, f"{name} was not reached: {problem}", public=public)
    return Fault(Status.MISSING, f"{name} is not defined in your file.")


def submission_status(session: Session, import_fault: Fault | None) -> tuple[Status, str]:
    """Return the status of the whole submission, and a sentence if there is a problem."""
    if import_fault is not None:
        return import_fault.status, import_fault.message
    if session.problems and not session.notebook:
        return Status.IMPORT_ERROR, describe_problem(session.problems[0])
    return Status.GRADED, ""


def notices_of(session: Session) -> tuple[str, ...]:
    """Describe the first cells of a notebook that failed; those after them ran all the same."""
    problems = session.problems[:MAX_NOTICES] if session.notebook else ()
    return tuple(map(describe_problem, problems))


def describe_problem(problem: Problem) -> str:
    """Say where importing a module or running a cell raised, and what."""
    code = f" ({problem.code})" if problem.code else ""
    text = problem.text.strip().partition("\n")[0][:200]
    if problem.place.startswith("cell "):
        return f"{problem.place}, line {problem.line} raised {problem.type}: {text}{code}"
    return (
        f"line {problem.line} raised {problem.type} while your file was imported, "
        f"and nothing below it was read: {text}{code}"
    )
