"""Tests Gradescope's results.json."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.errors import GraderError, UsageError
from autograder.exports.gradescope_results import gradescope
from autograder.results import (
    CheckResult,
    ExerciseResult,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)
from tests.kit.factories import MakeCheck, MakeResults, MakeSubmission

TOP = {
    "score", "execution_time", "output", "output_format", "test_output_format",
    "test_name_format", "visibility", "stdout_visibility", "extra_data", "tests", "leaderboard",
}  # fmt: skip
TEST = {
    "score", "max_score", "status", "name", "name_format", "number", "output", "output_format",
    "tags", "visibility", "extra_data",
}  # fmt: skip
FORMATS = {"text", "html", "simple_format", "md", "ansi"}
VISIBILITIES = {"visible", "hidden", "after_due_date", "after_published"}


def refuse(constant: str) -> None:
    """Results with NaN or infinity are refused, because JSON cannot contain them."""
    raise AssertionError(constant)


def accepted(content: bytes) -> dict:
    """Check the documented format: known keys, a score, known values."""
    answer = json.loads(content, parse_constant=refuse)
    assert set(answer) <= TOP
    assert isinstance(answer["score"], int | float)
    assert answer["stdout_visibility"] in VISIBILITIES
    for test in answer["tests"]:
        assert set(test) <= TEST
        assert test["status"] in {"passed", "failed"}
        assert test["output_format"] in FORMATS
        assert test["visibility"] in VISIBILITIES
        assert 0 <= test["score"] <= test["max_score"]
    return answer


def test_every_check_is_a_test(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults, failed_check: CheckResult
):
    """Each check is a test with its points and number, and plain text."""
    answer = accepted(gradescope(results(submission(check(), failed_check))).content)

    assert answer["score"] == 2.0
    assert [(test["number"], test["status"], test["score"]) for test in answer["tests"]] == [
        ("1.1", "passed", 2.0),
        ("1.2", "failed", 0.0),
    ]
    assert answer["tests"][1]["name"] == "double: Twice one is two."
    assert answer["tests"][1]["output"] == (
        "It differs.\n\nThe numbers were squared.\n\nWhat is twice three?"
    )


def test_the_file_says_how_it_was_graded(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Isolation and format are in the extra data; only the instructor sees standard output."""
    answer = accepted(gradescope(results(submission(check()))).content)

    assert answer["extra_data"]["isolation"] == "full"
    assert answer["extra_data"]["format_version"] == 1
    assert answer["stdout_visibility"] == "hidden"


def test_tests_are_visible_after_the_due_date(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Results on hidden inputs wait for the due date, unless the instructor asks otherwise."""
    run = results(submission(check()))
    by_default = accepted(gradescope(run).content)
    at_once = accepted(gradescope(run, "visible").content)

    assert (by_default["visibility"], at_once["visibility"]) == ("visible", "visible")
    assert by_default["tests"][0]["visibility"] == "after_due_date"
    assert at_once["tests"][0]["visibility"] == "visible"


def test_a_mistake_is_described_once(
    submission: MakeSubmission, results: MakeResults, failed_check: CheckResult
):
    """The first test with a mistake describes it, and the others name that test."""
    answer = accepted(gradescope(results(submission(failed_check, failed_check))).content)
    outputs = [test["output"] for test in answer["tests"]]

    assert outputs[0].count("The numbers were squared.") == 1
    assert outputs[1] == "It differs.\n\nThe mistake is the same as in test 1.1."


def test_an_unreadable_submission_is_a_zero_with_a_reason(
    unread: SubmissionResult, results: MakeResults
):
    """An unreadable submission has 0 points, a message, and a remark for the instructor."""
    made = gradescope(results(unread))
    answer = accepted(made.content)

    assert (answer["score"], answer["tests"]) == (0.0, [])
    assert answer["output"] == "Nothing was submitted."
    assert "ruth: nothing could be graded" in made.remarks[0]


def test_no_grade_is_not_a_file(broken: SubmissionResult, results: MakeResults):
    """Without a grade no file is written, and Gradescope reports that the autograder failed."""
    with pytest.raises(GraderError, match=r"The grader failed for zoe: Ours\."):
        gradescope(results(broken))


@pytest.mark.parametrize("count", [0, 2])
def test_exactly_one_submission_is_required(
    count: int, submission: MakeSubmission, results: MakeResults
):
    """Results for Gradescope hold exactly one submission."""
    with pytest.raises(UsageError, match=f"the record has {count}"):
        gradescope(results(*[submission()] * count))


@given(st.text(), st.floats(0, 100))
def test_any_text_makes_strict_json(words: str, points: float):
    """Any text makes JSON without NaN, escape sequences or lone surrogates."""
    passed = CheckResult(
        name="t", title=words, outcome=Outcome.PASSED, status=Status.OK,
        points=points, max_points=points, message=words,
    )  # fmt: skip
    result = SubmissionResult(
        student=words, stage="s", status=Status.GRADED, score=points, max_score=points,
        message=words, notices=(words,), ignored=(words,),
        exercises=(ExerciseResult.of(words, (passed,)),),
    )  # fmt: skip
    record = Results(course="c", isolation="full", submissions=(result,))
    answer = accepted(gradescope(record).content)

    assert "\x1b" not in answer["output"] + answer["tests"][0]["output"]


def test_what_has_no_json_is_refused(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Points that JSON cannot hold, such as NaN, are refused."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        gradescope(results(submission(check(points=float("nan")))))
