"""Builds feedback from a record, the most important problem first, also as plain text."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import indent
from typing import Final

from msgspec.structs import replace

from autograder.course import Course, Stage
from autograder.course_file import HINT_LABELS, Exercise
from autograder.reports.explanation import short_key
from autograder.reports.feedback import (
    GIVEN,
    HOLDS,
    LEAD,
    PASSED,
    PRACTICE,
    UNWRITTEN,
    WRONG,
    Aside,
    Block,
    CheckFeedback,
    ExerciseFeedback,
    Feedback,
    FinalGrade,
    Message,
    NamedMistake,
    Printed,
    SelfCheckFeedback,
    Tables,
    Title,
    counted,
    grading_note,
    kept_points,
)
from autograder.reports.tensor_tables import tensor_tables
from autograder.results import CheckResult, ExerciseResult, Outcome, Status, SubmissionResult
from autograder.sanitize import MAX_SENTENCE, line

MARKS: Final = {
    Outcome.PASSED: (PASSED, "passed"),
    Outcome.FAILED: (WRONG, "not right yet"),
    Outcome.ERRORED: ("!", "ended with an error"),
    Outcome.SKIPPED: ("·", "not checked yet"),
}
NEARLY: Final = 0.8  # the share of points from which the headline is "Nearly there"


def build_feedback(
    course: Course,
    result: SubmissionResult,
    *,
    name: str = "",
    grade: FinalGrade | None = None,
) -> Feedback:
    """Build the feedback for the student called *name*; *grade* is the gradebook's total."""
    stage = next((stage for stage in course.stages if stage.name == result.stage), None)
    headline, encouragement = _headline(result)
    more = grade.score != grade.max_score if grade else result.waiting
    if more and _is_full(result):
        headline = "Every check passes"  # "Full marks" would contradict the total
        rest = (
            "The total includes more than these checks."
            if grade
            else f"Your written answers ({result.waiting:g} points) are not graded yet."
        )
        encouragement = f"Every exercise is right. Well done! {rest}"
    is_checked = result.score is not None and bool(result.max_score)
    if not is_checked and result.status is not Status.GRADER_ERROR:
        headline, encouragement = _without_code(result, grade) or (headline, encouragement)
    internal = result.status is Status.GRADER_ERROR  # such a message is for the instructor
    return Feedback(
        student=line(name, MAX_SENTENCE) or result.student,  # a group has several names
        stage=stage.title if stage else result.stage or "Stage unknown",
        course=course.file.title,
        score=grade.score if grade else result.score,
        max_score=grade.max_score if grade else result.max_score,
        headline=headline,
        encouragement=encouragement,
        message="" if internal else result.message,
        next_step=_next_step(course, stage) if stage and _is_full(result) else "",
        exercises=_exercises(stage, result, is_page=True),
        notices=result.notices,
        ignored=result.ignored,
        sha256=result.sha256,
        kept=""
        if grade and (grade.changed or grade.penalty)
        else kept_points(result.given, result.credited),
        grade=grade,
        key=(key := short_key(result)),
        second_look=course.file.second_looks.replace("{key}", key) if key else "",
    )


def build_exercise_feedback(
    stage: Stage, result: SubmissionResult, name: str
) -> ExerciseFeedback | None:
    """Build the feedback on the exercise *name* only; None if it is not in *result*."""
    exercises = _exercises(stage, replace(result, message=""))
    return next((item for item in exercises if item.name == name), None)


def build_self_check(
    stage: Stage,
    result: SubmissionResult,
    file: Path,
    *,
    hidden: bool,
    points: float = 0.0,
    hidden_points: float = 0.0,
    hidden_is_here: bool = False,
    only: str = "",
) -> SelfCheckFeedback:
    """Build the feedback on a student's own run on *file*; for points, see ``grading_note``."""
    checks = [check for exercise in result.exercises for check in exercise.checks]
    passed = sum(check.outcome is Outcome.PASSED for check in checks)
    count = f"{passed} of {len(checks)} checks pass."
    note = grading_note(points=points, hidden_points=hidden_points, is_here=hidden_is_here)
    ran = f"The public checks of {only} ran" if only else "The public suite ran"
    public = f"{ran}: {count} {note if stage.file.graded else PRACTICE}"
    return SelfCheckFeedback(
        stage=stage.title,
        file=file,
        hidden=hidden,
        message=result.message,
        printed=result.printed,
        exercises=_exercises(stage, result),
        notices=result.notices,
        suites=f"The public suite and the hidden suite ran: {count}" if hidden else public,
        only=only,
    )


def _headline(result: SubmissionResult) -> tuple[str, str]:
    if result.status is Status.GRADER_ERROR:
        return "No grade yet, and that is our fault", (
            "The grader failed while it graded your work. Your code is not the reason, and no "
            "points are lost. If this page does not change, please inform your instructor."
        )
    if result.score is None or not result.max_score:
        nothing = "There was nothing to grade yet"
        return nothing, "Usually there is a quick fix. The results of the grader are below."
    done = sum(item.right for item in result.exercises)
    count = f"{done} of {counted(len(result.exercises), 'exercise')} complete"
    if _is_full(result):
        return "Full marks", "Everything is right. Well done!"
    if result.score >= NEARLY * result.max_score:
        return "Nearly there", f"{count}. Only a few problems are left; start with the first one."
    if result.score > 0:
        return "You are on your way", (
            f"{count}. Solve one problem at a time; start with the first one."
        )
    comfort = "No points yet. This happens to everyone."
    return "A beginning", f"{comfort} One small fix often brings many points."


def _without_code(result: SubmissionResult, grade: FinalGrade | None) -> tuple[str, str] | None:
    """Return the headline if no code was checked but a person grades, or will grade, the rest."""
    if grade and any(part.is_by_hand and part.points is not None for part in grade.parts):
        return "Graded by your instructor", "No code could be checked. The reason is below."
    if result.waiting:
        points = f"Your written answers ({result.waiting:g} points) are graded by hand."
        return "There was no code to check yet", f"{points} The reason is below."
    return None


def _is_full(result: SubmissionResult) -> bool:
    return bool(result.max_score) and result.score == result.max_score


def _next_step(course: Course, stage: Stage) -> str:
    after = course.stages[course.stages.index(stage) + 1 :]
    if after:
        return f"Next stage: {after[0].title}."
    return "This was the last stage. Congratulations on the whole course!"


def _exercises(
    stage: Stage | None, result: SubmissionResult, *, is_page: bool = False
) -> tuple[ExerciseFeedback, ...]:
    """Build the feedback on all exercises; a page describes each mistake only where it is first."""
    asked = {exercise.name: exercise for exercise in stage.exercises} if stage else {}
    places: dict[str, str] = {}
    return tuple(
        _exercise(number, item, asked.get(item.name), result.message, places if is_page else {})
        for number, item in enumerate(result.exercises, start=1)
    )


def _exercise(
    number: int,
    result: ExerciseResult,
    asked: Exercise | None,
    shown: str,
    places: dict[str, str],
) -> ExerciseFeedback:
    problems = [check for check in result.checks if check.outcome is not Outcome.PASSED]
    passed = [check for check in result.checks if check.outcome is Outcome.PASSED]
    found = list(_checks(_most_useful_first(problems), shown, result.name, places))
    hints = asked.ladder_at(found[0].name)[1] if asked and found else ()
    return ExerciseFeedback(
        number=number,
        name=result.name,
        score=result.score,
        max_score=result.max_score,
        state=_state(result, problems),
        first=found[0] if found else None,
        later=tuple(found[1:]),
        passed=tuple(_checks(passed, shown, result.name, {})),
        hints=tuple(zip(HINT_LABELS, filter(None, hints), strict=False)),
        given=_given(result),
        kept=kept_points(result.given, result.credited),
        uses=result.uses,
        needs=tuple(dict.fromkeys(name for check in problems for name in check.needs)),
    )


def _most_useful_first(problems: list[CheckResult]) -> list[CheckResult]:
    """Move a named mistake to the front: on some machines, the first failed check has no name."""
    if problems and problems[0].outcome is Outcome.FAILED and problems[0].diagnosis is None:
        has_name = (bool(check.diagnosis and check.diagnosis.misconception) for check in problems)
        first = next((number for number, named in enumerate(has_name) if named), 0)
        return [problems[first], *problems[:first], *problems[first + 1 :]]
    return problems


def _state(result: ExerciseResult, problems: Sequence[CheckResult]) -> str:
    if not problems:
        given = _given(result)
        return f"right with our {given} in place of yours" if given else "complete"
    if any(check.outcome is Outcome.PASSED for check in result.checks):
        return f"{counted(len(problems), 'check')} left"
    if all(map(_is_unwritten, problems)):
        return UNWRITTEN
    skipped = {check.outcome for check in problems} == {Outcome.SKIPPED}
    return MARKS[Outcome.SKIPPED][1] if skipped else "in progress"


def _given(result: ExerciseResult) -> str:
    """Name the exercises that the solution replaced when some checks of *result* passed."""
    return next((check.given for check in result.checks if check.given), "")


def _checks(
    checks: Sequence[CheckResult], shown: str, exercise: str, places: dict[str, str]
) -> Iterator[CheckFeedback]:
    """Build the feedback on *checks* without what *shown* says, or *places* has in an exercise."""
    messages, mistakes = {""}, set[str]()
    for check in checks:
        # A skipped check would only repeat a message about the whole file.
        is_repeated = check.message in messages or (
            shown and (shown in check.message or check.outcome is Outcome.SKIPPED)
        )
        place = ""
        if check.diagnosis and check.diagnosis.misconception in mistakes:
            place = "above"
        elif check.diagnosis:
            described = places.setdefault(check.diagnosis.explanation, exercise)
            place = f"in {described}" if described != exercise else ""
        blocks = check_blocks(replace(check, message="") if is_repeated else check, place)
        mark, word = _mark(check)
        yield CheckFeedback(
            check.title, mark, word, check.points, check.max_points, tuple(blocks), check.name
        )
        messages.add(check.message)
        mistakes |= {check.diagnosis.misconception} - {""} if check.diagnosis else set()


def check_blocks(check: CheckResult, place: str = "") -> Iterator[Block]:
    """Yield the blocks about *check*; its mistake is described already in *place*, if any."""
    if check.message:
        yield Message(check.message)
    if place:
        more = " The same change corrects both." if place.startswith("in ") else ""
        yield Aside(f"The mistake is the same as {place}.{more}")
    elif check.diagnosis:
        found = check.diagnosis
        yield NamedMistake(found.headline, found.beyond_headline, found.hint)
    if check.grid:
        yield Tables(tensor_tables(check.grid))
    if check.printed:
        yield Printed(check.printed)


def _is_unwritten(check: CheckResult) -> bool:
    """Whether nothing is written yet, as opposed to a ``raise`` that was left in the code."""
    return check.status is Status.NOT_IMPLEMENTED and check.diagnosis is None


def _mark(check: CheckResult) -> tuple[str, str]:
    if check.given:
        return GIVEN, f"passes with our {check.given}"
    if _is_unwritten(check):
        return "·", UNWRITTEN
    if check.outcome is Outcome.SKIPPED and check.status is Status.MISSING:
        return "·", "not defined yet"
    return MARKS[check.outcome]


def exercise_text(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Return *exercise* as lines, with *points* if they count, and with *note* at the end."""
    earned = f" {exercise.points}." if points else ""
    messages = [block for check in exercise.passed for block in check.messages]
    blocks = (*exercise.problem, *exercise.printed, *messages)
    lines = [f"{exercise.mark} {exercise.name}: {exercise.state}.{earned}"]
    lines += [line for block in blocks for line in _lines(block)]
    return "\n".join([*lines, note] if note else lines)


def check_text(check: CheckResult) -> str:
    """Return the feedback on *check* as paragraphs; empty if there is none."""
    return "\n\n".join(line for block in check_blocks(check) for line in _lines(block, lead=""))


def _lines(block: Block, lead: str = LEAD) -> list[str]:
    match block:
        case Title(text):
            return [f"{HOLDS}{text}"]
        case Message(text) | Aside(text):
            return [text]
        case NamedMistake(name, more, question):
            return list(filter(None, (f"{lead}{name}{more}", question)))
        case Printed(text, title):
            return [title, indent(text, "  ")]
        case Tables():
            return []  # a table needs letters of one width
