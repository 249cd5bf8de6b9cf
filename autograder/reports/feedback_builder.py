"""From a record to the words about it, the first thing to put right first."""

from collections.abc import Sequence
from typing import Final

from autograder.course import Course, Stage
from autograder.reports.feedback import ExerciseFeedback, Feedback, Finding, mistake_name
from autograder.reports.tensor_table import panels
from autograder.results import CheckResult, ExerciseResult, Outcome, Status, SubmissionResult
from autograder.sanitize import sanitize

HINTS: Final = ("A first nudge", "A stronger hint", "Nearly the answer")
WORDS: Final = {
    Outcome.PASSED: ("✓", "passed"),
    Outcome.FAILED: ("✗", "not right yet"),
    Outcome.ERRORED: ("!", "broke off"),
    Outcome.SKIPPED: ("·", "not reached"),
}
UNWRITTEN: Final = ("·", "not written yet")
OUR_FAULT: Final = (
    "The grader broke down while it looked at your work. Your code is not to blame, and no points "
    "are lost. If this page stays as it is, please tell your instructor."
)
NEARLY: Final = 0.8  # from here on the page speaks of what is left, below of what is done


def compose(course: Course, result: SubmissionResult) -> Feedback:
    """Choose the words about *result*."""
    stage = _stage(course, result.stage)
    result = sanitize(result)
    headline, encouragement = _opening(result)
    ours = result.status is Status.GRADER_ERROR  # its message is for the instructor
    return Feedback(
        student=result.student,
        stage=stage.title if stage else result.stage or "Stage unknown",
        course=course.file.title,
        score=result.score,
        max_score=result.max_score,
        headline=headline,
        encouragement=encouragement,
        message="" if ours else result.message,
        next_step=_next_step(course, stage) if stage and _full(result) else "",
        exercises=tuple(
            _exercise(number, item, _hints(stage, item.name), result.message)
            for number, item in enumerate(result.exercises, start=1)
        ),
        notices=result.notices,
        ignored=result.ignored,
        sha256=result.sha256,
    )


def compose_exercise(stage: Stage, result: SubmissionResult, name: str) -> ExerciseFeedback | None:
    """Choose the words about the exercise *name* alone; None if *result* does not tell of it."""
    result = sanitize(result)
    for number, item in enumerate(result.exercises, start=1):
        if item.name == name:
            return _exercise(number, item, _hints(stage, name), told="")
    return None


def _opening(result: SubmissionResult) -> tuple[str, str]:
    if result.status is Status.GRADER_ERROR:
        return "No grade yet, and that is our fault", OUR_FAULT
    if result.score is None or not result.max_score:
        return (
            "There was nothing to grade yet",
            "That is usually quick to put right. What the grader found stands below.",
        )
    done = sum(item.score == item.max_score for item in result.exercises)
    count = f"{done} of {_counted(len(result.exercises), 'exercise')} complete"
    if _full(result):
        return "Full marks", "Everything holds. Well done!"
    if result.score >= NEARLY * result.max_score:
        return "Nearly there", f"{count}. What is left is small; begin with the first."
    if result.score > 0:
        return "You are on your way", f"{count}. Take one thing at a time, the first one first."
    return (
        "A beginning",
        "No points yet, and that happens to everyone. One small fix often brings back many.",
    )


def _full(result: SubmissionResult) -> bool:
    return bool(result.max_score) and result.score == result.max_score


def _next_step(course: Course, stage: Stage) -> str:
    after = course.stages[course.stages.index(stage) + 1 :]
    if after:
        return f"Next stage: {after[0].title}."
    return "This was the last stage. Congratulations on the whole course!"


def _stage(course: Course, name: str) -> Stage | None:
    return next((stage for stage in course.stages if stage.name == name), None)


def _hints(stage: Stage | None, name: str) -> tuple[str, ...]:
    known = {exercise.name: exercise.hints for exercise in stage.exercises} if stage else {}
    return known.get(name, ())


def _exercise(
    number: int, result: ExerciseResult, hints: tuple[str, ...], told: str
) -> ExerciseFeedback:
    troubles = [check for check in result.checks if check.outcome is not Outcome.PASSED]
    findings = _findings(troubles, told)
    passed = [check for check in result.checks if check.outcome is Outcome.PASSED]
    return ExerciseFeedback(
        number=number,
        name=result.name,
        score=result.score,
        max_score=result.max_score,
        state=_state(result, troubles),
        first=findings[0] if findings else None,
        later=tuple(findings[1:]),
        passed=tuple(_findings(passed, told)),
        hints=tuple(zip(HINTS, hints, strict=False)) if troubles else (),
    )


def _state(result: ExerciseResult, troubles: Sequence[CheckResult]) -> str:
    if not troubles:
        return "complete"
    if any(check.outcome is Outcome.PASSED for check in result.checks):
        return f"{_counted(len(troubles), 'check')} left"
    statuses = {check.status for check in troubles}
    if statuses == {Status.NOT_IMPLEMENTED}:
        return "not written yet"
    return "not reached" if {check.outcome for check in troubles} == {Outcome.SKIPPED} else "begun"


def _findings(checks: Sequence[CheckResult], told: str) -> list[Finding]:
    """Tell *checks* after the submission's own message, *told*, which some of them repeat."""
    said: set[str] = set()
    known: set[str] = set()
    findings = []
    for check in checks:
        mistake = check.diagnosis.misconception if check.diagnosis else ""
        unwritten = check.status is Status.NOT_IMPLEMENTED
        mark, word = UNWRITTEN if unwritten else WORDS[check.outcome]
        again = check.message in said or (told and told in check.message)
        findings.append(
            Finding(
                title=check.title,
                mark=mark,
                word=word,
                points=check.points,
                max_points=check.max_points,
                message="" if again else check.message,
                mistake=mistake_name(mistake),
                diagnosis=None if mistake in known else check.diagnosis,
                same_mistake=mistake in known,
                panels=panels(check.grid) if check.grid else (),
            )
        )
        said.add(check.message)
        known |= {mistake} - {""}
    return findings


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
