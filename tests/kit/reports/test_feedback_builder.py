"""Tests that feedback is built from a record, with the most important problem first."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.reports.feedback import Aside, FinalGrade, GradePart, Message, NamedMistake
from autograder.reports.feedback_builder import (
    build_exercise_feedback,
    build_feedback,
    build_self_check,
)
from autograder.results import CheckResult, Diagnosis, ExerciseResult, Outcome, Status
from tests.kit.factories import MakeCheck, MakeSubmission, WriteCourse


def mistake_of(diagnosis: Diagnosis) -> tuple[NamedMistake]:
    """The block about *diagnosis*."""
    return (NamedMistake(diagnosis.headline, diagnosis.beyond_headline, diagnosis.hint),)


def test_full_marks_name_the_next_stage(
    write_course: WriteCourse, check: MakeCheck, submission: MakeSubmission
):
    """Full marks name the next stage; after the last stage, the whole course is done."""
    course = write_course(stages=("01_tiny", "02_tiny"))
    first, last = (
        build_feedback(course, submission(check(), stage=stage)) for stage in ("01_tiny", "02_tiny")
    )

    assert first.headline == "Full marks"
    assert first.next_step == "Next stage: Tiny things."
    assert last.next_step == "This was the last stage. Congratulations on the whole course!"


def test_answers_that_wait_are_no_full_marks(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """While written answers wait for a grade, the page names their points instead."""
    feedback = build_feedback(tiny, submission(check(), waiting=4.0))

    assert feedback.headline == "Every check passes"
    assert "Your written answers (4 points) are not graded yet." in feedback.encouragement


def test_a_lab_without_code_waits_for_a_person_or_was_graded_by_one(
    tiny: Course, submission: MakeSubmission
):
    """If no code was checked, the headline is about the part that a person grades."""
    lab = submission(status=Status.UNREADABLE, waiting=4.0, message="You submitted the lab.")
    part = GradePart(name="why", source="by hand", points=1.5, max_points=4.0, is_by_hand=True)
    grade = FinalGrade(
        score=1.5, max_score=14.0, penalty=0.0, checks=0.0, max_checks=0.0, parts=(part,)
    )
    waits, graded = build_feedback(tiny, lab), build_feedback(tiny, lab, grade=grade)

    assert waits.headline == "There was no code to check yet"
    assert "Your written answers (4 points) are graded by hand." in waits.encouragement
    assert graded.headline == "Graded by your instructor"


@pytest.mark.parametrize(
    ("passed", "headline"),
    [
        pytest.param(0, "A beginning", id="nothing-yet"),
        pytest.param(2, "You are on your way", id="some"),
        pytest.param(4, "Nearly there", id="most"),
    ],
)
def test_every_score_has_an_encouraging_headline(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, passed: int, headline: str
):
    """The headline depends on the share of the points."""
    checks = [check() for _ in range(passed)] + [check(Outcome.FAILED) for _ in range(5 - passed)]

    assert build_feedback(tiny, submission(*checks)).headline == headline


def test_a_grader_error_shows_no_details_to_the_student(tiny: Course, submission: MakeSubmission):
    """A student's page shows nothing of a grader's exception, which may hold a secret."""
    result = submission(status=Status.GRADER_ERROR, score=None, message="secret of the suite")
    feedback = build_feedback(tiny, result)

    assert feedback.headline == "No grade yet, and that is our fault"
    assert "secret" not in repr(feedback)


def test_a_message_is_not_repeated(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, diagnosis: Diagnosis
):
    """Checks that fail for the same reason show it once."""
    failed = check(Outcome.FAILED, message="Other values.", diagnosis=diagnosis)
    exercise = build_feedback(tiny, submission(failed, failed)).exercises[0]

    assert exercise.first.blocks == (Message("Other values."), *mistake_of(diagnosis))
    assert [item.blocks for item in exercise.later] == [
        (Aside("The mistake is the same as above."),)
    ]


def test_a_mistake_is_described_once_on_a_page(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, diagnosis: Diagnosis
):
    """The second exercise with a mistake refers to the first, except on a single card."""
    failed = check(Outcome.FAILED, message="Other values.", diagnosis=diagnosis)
    exercises = tuple(ExerciseResult.of(name, (failed,)) for name in ("v1", "v2"))
    result = submission(exercises=exercises)
    first, second = (item.first for item in build_feedback(tiny, result).exercises)
    card = build_exercise_feedback(tiny.stages[0], result, "v2")
    message = Message("Other values.")

    assert first.blocks == (message, *mistake_of(diagnosis))
    assert second.blocks == (
        message,
        Aside("The mistake is the same as in v1. The same change corrects both."),
    )
    assert card is not None
    assert card.first.blocks == first.blocks


def test_a_named_mistake_comes_before_wrong_numbers_without_a_name(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, diagnosis: Diagnosis
):
    """A student reads the name of a mistake first, before a check that only found a difference."""
    plain = check(Outcome.FAILED, title="Numbers differ.")
    named = check(Outcome.FAILED, title="Has a name.", diagnosis=diagnosis)
    error = check(Outcome.ERRORED, title="Raised.")
    [one] = build_feedback(tiny, submission(plain, error, named)).exercises
    [other] = build_feedback(tiny, submission(error, plain, named)).exercises

    assert [item.title for item in (one.first, *one.later)] == [
        "Has a name.",
        "Numbers differ.",
        "Raised.",
    ]
    assert other.first.title == "Raised."


def test_an_import_error_is_shown_once(tiny: Course, check: MakeCheck, submission: MakeSubmission):
    """An import error is shown once and not in every exercise."""
    lost = check(Outcome.SKIPPED, message="double is not defined: line 3 is broken", title="")
    feedback = build_feedback(tiny, submission(lost, message="line 3 is broken"))

    assert feedback.message == "line 3 is broken"
    assert feedback.exercises[0].first.blocks == ()


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        pytest.param([(Outcome.PASSED, Status.OK)], "complete", id="complete"),
        pytest.param(
            [(Outcome.PASSED, Status.OK), (Outcome.FAILED, Status.WRONG_VALUE)],
            "1 check left",
            id="in-part",
        ),
        pytest.param([(Outcome.FAILED, Status.WRONG_VALUE)], "in progress", id="all-wrong"),
        pytest.param(
            [(Outcome.ERRORED, Status.NOT_IMPLEMENTED)], "not written yet", id="still-the-stub"
        ),
        pytest.param(
            [(Outcome.SKIPPED, Status.IMPORT_ERROR)], "not checked yet", id="after-an-error"
        ),
    ],
)
def test_an_exercise_has_a_state_in_words(
    tiny: Course,
    check: MakeCheck,
    submission: MakeSubmission,
    outcomes: list[tuple[Outcome, Status]],
    state: str,
):
    """The state of an exercise describes in words the work that is left."""
    checks = [check(outcome, status=status) for outcome, status in outcomes]

    assert build_feedback(tiny, submission(*checks)).exercises[0].state == state


def test_hints_are_there_only_where_points_are_missing(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, failed_check: CheckResult
):
    """Three hints are shown only in exercises with missing points."""
    missing, complete = (
        build_feedback(tiny, submission(item)).exercises[0] for item in (failed_check, check())
    )

    assert [hint for _, hint in missing.hints] == [
        "How much is twice?",
        "Add it to itself.",
        "x + x",
    ]
    assert complete.hints == ()


def test_a_stage_outside_the_course_is_named(tiny: Course, submission: MakeSubmission):
    """A submission without a stage of the course contains a message about it."""
    stages = [build_feedback(tiny, submission(stage=stage)).stage for stage in ("99_gone", "")]

    assert stages == ["99_gone", "Stage unknown"]


def test_an_undefined_function_is_not_defined_yet(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """An undefined function has its own state; other skipped checks are "not checked yet"."""
    statuses = (Status.MISSING, Status.IMPORT_ERROR)
    checks = [check(Outcome.SKIPPED, status=status, message=status) for status in statuses]
    exercise = build_feedback(tiny, submission(*checks)).exercises[0]

    assert exercise.first.word == "not defined yet"
    assert exercise.later[0].word == "not checked yet"


@pytest.mark.parametrize(
    ("outcomes", "complete", "left"),
    [
        pytest.param([Outcome.PASSED] * 2, True, [], id="all-passed"),
        pytest.param([Outcome.PASSED, Outcome.FAILED], False, ["double"], id="one-failed"),
        pytest.param([], False, [], id="no-checks"),
    ],
)
def test_a_self_check_counts_checks_not_points(
    tiny: Course,
    check: MakeCheck,
    submission: MakeSubmission,
    outcomes: list[Outcome],
    complete: object,
    left: list[str],
):
    """The public suite counts checks, not points, and is not complete without any check."""
    checks = [check(outcome, points=0.0, max_points=0.0) for outcome in outcomes]
    run = build_self_check(tiny.stages[0], submission(*checks), Path("tiny.py"), hidden=False)

    assert (run.complete, [exercise.name for exercise in run.open]) == (complete, left)
    assert f"{outcomes.count(Outcome.PASSED)} of {len(outcomes)} checks pass." in run.suites


def test_a_check_that_passes_with_our_code_has_its_sentence(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, given_check: CheckResult
):
    """Such a check has its own word, and its sentence appears once."""
    checks = submission(check(), given_check, given_check)
    exercise = build_feedback(tiny, checks).exercises[0]

    assert [item.word for item in exercise.passed] == ["passed", *["passes with our half"] * 2]
    assert [bool(item.messages) for item in exercise.passed] == [False, True, False]
    assert exercise.state == "right with our half in place of yours"
    assert (exercise.complete, exercise.mark, exercise.percent) == (False, "~", 99)


def test_credit_for_laws_is_counted_apart(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, given_check: CheckResult
):
    """The page and each exercise show the points for laws, next to those with our code."""
    kept = replace(check(Outcome.FAILED), points=0.5)
    feedback = build_feedback(tiny, submission(kept, given_check))

    words = "of which 2 with our code in place of other exercises and 0.5 for properties that hold"
    assert feedback.kept == words
    assert feedback.exercises[0].kept == words


def test_a_grade_of_the_gradebook_is_the_total(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """The gradebook's grade is the total, so points for unanswered questions are missing."""
    grade = FinalGrade(score=2.0, max_score=5.0, penalty=0.0, checks=2.0, max_checks=2.0)
    feedback = build_feedback(tiny, submission(check()), name="Ada\x1b[31m\u202e", grade=grade)

    assert (feedback.score, feedback.max_score, feedback.percent) == (2.0, 5.0, 40.0)
    assert feedback.headline == "Every check passes"
    assert not feedback.full
    assert feedback.student == "Ada<U+202E>"
