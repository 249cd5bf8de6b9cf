"""The words about one submission."""

import pytest

from autograder.course import Course
from autograder.reports.feedback_builder import compose
from autograder.results import CheckResult, Diagnosis, Outcome, Status
from tests.kit.conftest import WriteCourse
from tests.kit.reports.conftest import MakeCheck, MakeSubmission


def test_full_marks_name_the_next_stage(
    write_course: WriteCourse, check: MakeCheck, submission: MakeSubmission
):
    """After the last stage the whole course is done."""
    course = write_course(stages=("01_tiny", "02_tiny"))
    first, last = (
        compose(course, submission(check(), stage=stage)) for stage in ("01_tiny", "02_tiny")
    )

    assert first.headline == "Full marks"
    assert first.next_step == "Next stage: Tiny things."
    assert last.next_step == "This was the last stage. Congratulations on the whole course!"


@pytest.mark.parametrize(
    ("passed", "headline"),
    [
        pytest.param(0, "A beginning", id="nothing-yet"),
        pytest.param(2, "You are on your way", id="some"),
        pytest.param(4, "Nearly there", id="most"),
    ],
)
def test_every_score_meets_a_friendly_word(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, passed: int, headline: str
):
    """What is done is seen before what is missing."""
    checks = [check() for _ in range(passed)] + [check(Outcome.FAILED) for _ in range(5 - passed)]

    assert compose(tiny, submission(*checks)).headline == headline


def test_our_own_fault_is_called_so_and_keeps_its_details_from_the_student(
    tiny: Course, submission: MakeSubmission
):
    """A grader's exception may hold what a student must not see."""
    result = submission(status=Status.GRADER_ERROR, score=None, message="secret of the suite")
    feedback = compose(tiny, result)

    assert feedback.headline == "No grade yet, and that is our fault"
    assert "secret" not in repr(feedback)


def test_what_was_said_is_not_said_again(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, diagnosis: Diagnosis
):
    """Four checks that fail for one reason tell it once."""
    failed = check(Outcome.FAILED, message="Other values.", diagnosis=diagnosis)
    exercise = compose(tiny, submission(failed, failed)).exercises[0]

    assert exercise.first.diagnosis == diagnosis
    assert [(item.message, item.diagnosis, item.same_mistake) for item in exercise.later] == [
        ("", None, True)
    ]


def test_an_import_that_failed_is_told_once(
    tiny: Course, check: MakeCheck, submission: MakeSubmission
):
    """Every exercise below the failing line would repeat it."""
    lost = check(Outcome.SKIPPED, message="double was not reached: line 3 raised", title="")
    feedback = compose(tiny, submission(lost, message="line 3 raised"))

    assert feedback.message == "line 3 raised"
    assert feedback.exercises[0].first.message == ""


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        pytest.param([(Outcome.PASSED, Status.OK)], "complete", id="complete"),
        pytest.param(
            [(Outcome.PASSED, Status.OK), (Outcome.FAILED, Status.WRONG_VALUE)],
            "1 check left",
            id="in-part",
        ),
        pytest.param([(Outcome.FAILED, Status.WRONG_VALUE)], "begun", id="all-wrong"),
        pytest.param(
            [(Outcome.ERRORED, Status.NOT_IMPLEMENTED)], "not written yet", id="still-the-stub"
        ),
        pytest.param([(Outcome.SKIPPED, Status.IMPORT_ERROR)], "not reached", id="below-an-error"),
    ],
)
def test_an_exercise_has_a_state_in_words(
    tiny: Course,
    check: MakeCheck,
    submission: MakeSubmission,
    outcomes: list[tuple[Outcome, Status]],
    state: str,
):
    """How far it has come, beside its points."""
    checks = [check(outcome, status=status) for outcome, status in outcomes]

    assert compose(tiny, submission(*checks)).exercises[0].state == state


def test_hints_are_there_only_where_points_are_missing(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, trouble: CheckResult
):
    """Three of rising strength."""
    missing, complete = (
        compose(tiny, submission(item)).exercises[0] for item in (trouble, check())
    )

    assert [hint for _, hint in missing.hints] == [
        "How much is twice?",
        "Add it to itself.",
        "x + x",
    ]
    assert complete.hints == ()


def test_a_stage_that_is_not_of_the_course_is_still_told(tiny: Course, submission: MakeSubmission):
    """As is a submission whose stage could not be told."""
    stages = [compose(tiny, submission(stage=stage)).stage for stage in ("99_gone", "")]

    assert stages == ["99_gone", "Stage unknown"]
