"""Tests the price of a mistake that is the only fault of an exercise."""

import pytest
from msgspec.structs import replace

from autograder.course_file import Grading
from autograder.diagnosis.mistakes.kinds import KINDS
from autograder.diagnosis.slip_finder import Slip
from autograder.grading.slip_prices import GradedExercise, computes, priced
from autograder.results import CheckResult, Diagnosis, ExerciseResult, Outcome, Status

SCALE = "The scores are not divided."
NAMED = Diagnosis("scale_missing", SCALE, "By what?")
HALF = Grading(slip_credit=0.5)


def passed(points: float = 1.0) -> CheckResult:
    """A check that passed."""
    name = "test_passes"
    return CheckResult(
        name=name,
        title=name,
        outcome=Outcome.PASSED,
        status=Status.OK,
        points=points,
        max_points=points,
    )


def failed(points: float = 2.0, name: str = "test_scale") -> CheckResult:
    """A check that fails by a wrong value."""
    return CheckResult(
        name=name,
        title=name,
        outcome=Outcome.FAILED,
        status=Status.WRONG_VALUE,
        points=0.0,
        max_points=points,
        message="It differs.",
        diagnosis=NAMED,
    )


def slip(*sentences: str, ids: tuple[str, ...] = ("scale_missing",)) -> Slip:
    """The slip behind ``test_scale``."""
    return Slip(frozenset(ids), frozenset(sentences or (SCALE,)), frozenset({"test_scale"}))


def exercise(name: str, *checks: CheckResult, by: Slip | None) -> GradedExercise:
    """An exercise whose checks fail by one slip, or by something else."""
    return GradedExercise(ExerciseResult.of(name, checks), by)


def test_a_check_that_one_slip_fails_keeps_a_share_of_its_points():
    """The message of a check that fails because of a slip states the points it keeps, and why."""
    [result] = priced([exercise("Head", passed(), failed(), by=slip())], HALF)

    assert result.score == 2
    assert result.credited == 1
    assert result.checks[1].outcome is Outcome.FAILED
    assert result.checks[1].message == (
        "It differs.\nYou keep 1 of 2 points: this mistake is all that is wrong in Head."
    )


@pytest.mark.parametrize(
    "graded",
    [
        pytest.param(exercise("Head", failed(), by=None), id="without-a-name"),
        pytest.param(
            exercise("Head", failed(), failed(name="test_order"), by=slip()), id="another-failure"
        ),
        pytest.param(
            exercise("Head", failed(), by=slip(ids=("weights_equal",))), id="computes-nothing"
        ),
        pytest.param(
            exercise("Head", failed(), by=slip(ids=("scale_missing", "weights_equal"))),
            id="may-compute-nothing",
        ),
    ],
)
def test_a_mistake_that_is_not_one_slip_keeps_nothing(graded: GradedExercise):
    """A second failure, or a mistake that leaves out the computation, gives no credit."""
    assert priced([graded], HALF) == (graded.result,)


def test_another_order_of_arguments_takes_no_credit_of_a_slip():
    """The check of the order keeps nothing; the other check mentions the order in its message."""
    graded = exercise("Head", failed(1, "test_order"), failed(), by=slip())
    [result] = priced([graded._replace(other_order=["test_order"])], HALF)

    assert [check.points for check in result.checks] == [0, 1]
    assert "apart from the order of the constructor's arguments, this" in result.checks[1].message


def test_a_course_may_give_no_credit():
    """With `slip_credit = 0`, a slip loses all points of its checks."""
    graded = exercise("Head", failed(), by=slip())

    assert priced([graded], Grading(slip_credit=0.0)) == (graded.result,)


def test_the_same_slip_costs_once_where_it_costs_most():
    """The same slip costs points in one exercise; the other one passes, given that slip."""
    small, large = priced(
        [exercise("Small", failed(1), by=slip()), exercise("Large", failed(3), by=slip())], HALF
    )

    assert small.score == 1
    assert large.score == 1.5
    assert small.checks[0].outcome is Outcome.PASSED
    assert small.checks[0].given == "Large"
    assert small.checks[0].diagnosis == NAMED
    assert "costs points in Large" in small.checks[0].message


def test_of_exercises_in_which_it_costs_as_much_the_first_one_loses_points():
    """If a slip costs as much in two exercises, the first one loses points."""
    first, second = priced(
        [exercise("First", failed(), by=slip()), exercise("Second", failed(), by=slip())], HALF
    )

    assert (first.score, second.score) == (1, 2)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(slip("The mask is inverted.", ids=("mask_inverted",)), id="another-kind"),
        pytest.param(slip("Divided by the number of tokens."), id="another-sentence"),
    ],
)
def test_different_slips_cost_in_each_exercise(other: Slip):
    """Two slips of one kind with different sentences cost points in each exercise."""
    results = priced(
        [exercise("First", failed(), by=slip()), exercise("Second", failed(), by=other)], HALF
    )

    assert [result.score for result in results] == [1, 1]


def test_slips_that_may_be_different_mistakes_cost_in_each_exercise():
    """A slip with two possible names costs points in each exercise: it may be two mistakes."""
    either = slip(SCALE, "The softmax is missing.", ids=("scale_missing", "softmax_missing"))
    results = priced(
        [exercise("First", failed(), by=either), exercise("Second", failed(), by=either)], HALF
    )

    assert [result.score for result in results] == [1, 1]


def test_a_course_may_let_the_same_slip_cost_in_each_exercise():
    """`same_mistake_once = false` makes a repeated mistake cost points in each exercise."""
    graded = [exercise("First", failed(), by=slip()), exercise("Second", failed(), by=slip())]
    strict = Grading(same_mistake_once=False)

    assert [result.score for result in priced(graded, strict)] == [1, 1]


@pytest.mark.parametrize(
    ("by", "points"),
    [pytest.param(slip(), 0.5, id="one-slip"), pytest.param(None, 0.0, id="without-a-name")],
)
def test_withheld_points_are_given_back_where_one_slip_is_all_that_is_wrong(
    by: Slip | None, points: float
):
    """A law was withheld because no check on hidden inputs passes; the slip is the reason."""
    law = replace(passed(0.5), points=0.0, message="This is right, but it does not count yet.")
    [result] = priced([exercise("Head", law, failed(), by=by)], HALF)

    assert result.checks[0].points == points
    assert bool(result.checks[0].message) == (by is None)


@pytest.mark.parametrize(
    ("kind", "explanation", "expected"),
    [
        pytest.param("scale_missing", SCALE, True, id="a-missing-step"),
        pytest.param("weights_equal", "All weights are equal.", False, id="a-mean"),
        pytest.param(
            "wrong_return",
            "The weights are returned as well; only one result must be returned.",
            True,
            id="one-result-too-many",
        ),
        pytest.param(
            "wrong_return",
            "The weights are returned; the result of the last step must be returned.",
            False,
            id="an-early-step",
        ),
    ],
)
def test_what_is_returned_shows_whether_the_result_is_computed(
    kind: str, explanation: str, *, expected: bool
):
    """A mistake that leaves the computation out is not a slip."""
    assert computes(kind, explanation) == expected
    assert kind in KINDS


def test_a_rule_that_was_not_looked_at_gets_no_credit():
    """A check that ends at the wrong answer has not tested the rule about a forbidden function."""
    slip_in = slip()._replace(unproved=frozenset({"test_scale"}))
    first, second = priced(
        [exercise("First", failed(), by=slip_in), exercise("Second", failed(), by=slip_in)], HALF
    )

    assert (first.score, second.score) == (0, 0)
