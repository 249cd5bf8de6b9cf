"""Tests Classroom 50's result.json."""

import json
import re

import pytest
from msgspec.structs import replace

from autograder.errors import CourseError, GraderError, UsageError
from autograder.exports.classroom50 import Push, classroom50, hundredths, push_of
from autograder.results import CheckResult, Outcome, SubmissionResult
from tests.factories import MakeCheck, MakeResults, MakeSubmission

RUNNER = {
    "CLASSROOM": "dl",
    "ASSIGNMENT": "tiny",
    "USERNAME": "ada",
    "SUBMISSION_TAG": "submit/2026-06-01T14-32-05Z-a1b2c3d",
    "COMMIT_URL": "https://git.example/commit/a1b2c3d",
    "RELEASE_URL": "https://git.example/releases/1",
    "REVIEW_URL": "",
}
REQUIRED = {
    "schema", "classroom", "assignment", "assignment_type", "owner", "submission", "commit",
    "release", "review", "datetime", "score", "max-score", "tests",
}  # fmt: skip


@pytest.fixture
def push() -> Push:
    """A push as the runner describes it."""
    return push_of(RUNNER, "2026-06-01T14:32:01Z")


def accepted(content: bytes) -> dict:
    """Check the schema, and the fields that the collector checks."""
    answer = json.loads(content)
    assert set(answer) == REQUIRED
    assert answer["schema"] == "classroom50/result/v1"
    assert all(answer[name] for name in REQUIRED - {"score", "max-score", "tests"})
    assert answer["assignment_type"] in {"individual", "group"}
    assert answer["submission"].startswith("submit/")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", answer["datetime"])
    for test in (answer, *answer["tests"]):
        assert type(test["score"]) is type(test["max-score"]) is int
        assert 0 <= test["score"] <= test["max-score"]
    for test in answer["tests"]:
        assert test["test-name"]
        assert type(test["passed"]) is bool
    assert answer["score"] == sum(test["score"] for test in answer["tests"])
    assert answer["max-score"] == sum(test["max-score"] for test in answer["tests"])
    return answer


def test_points_are_whole_hundredths(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults, push: Push
):
    """Points are whole hundredths with exact ratios, and a remark explains the unit."""
    checks = (
        check(points=0.15, max_points=0.15),
        check(Outcome.FAILED, max_points=0.35),
    )
    done = classroom50(results(submission(*checks)), push)
    answer = accepted(done.content)

    assert (answer["score"], answer["max-score"]) == (15, 50)
    assert [test["passed"] for test in answer["tests"]] == [True, False]
    assert done.remarks == ("Points are in hundredths: 100 of them equal one point.",)


def test_a_test_has_message_and_diagnosis(
    submission: MakeSubmission, results: MakeResults, push: Push, failed_check: CheckResult
):
    """A test may have further keys, because the collector keeps them."""
    (test,) = accepted(classroom50(results(submission(failed_check)), push).content)["tests"]

    assert test["test-name"] == "double: Twice one is two."
    assert "What is twice three?" in test["output"]


def test_an_unreadable_submission_does_not_pass(
    unread: SubmissionResult, results: MakeResults, push: Push
):
    """An unreadable submission has a failed test, because no tests would count as passed."""
    (test,) = accepted(classroom50(results(unread), push).content)["tests"]

    assert (test["passed"], test["score"], test["output"]) == (False, 0, "Nothing was submitted.")


def test_no_grade_is_not_a_file(broken: SubmissionResult, results: MakeResults, push: Push):
    """Without a grade no file is written, so the runner reports a failure."""
    with pytest.raises(GraderError, match="The grader failed"):
        classroom50(results(broken), push)


def test_a_third_of_a_point_is_refused():
    """Points that cannot be whole hundredths are refused and not rounded."""
    assert hundredths(0.1 + 0.2) == 30
    with pytest.raises(CourseError, match="whole hundredths"):
        hundredths(1 / 3)


def test_the_push_is_read_from_the_environment(push: Push):
    """The push is read from the environment, with the commit's link if there is no other."""
    assert push == Push(
        classroom="dl",
        assignment="tiny",
        owner="ada",
        submission=RUNNER["SUBMISSION_TAG"],
        commit=RUNNER["COMMIT_URL"],
        release=RUNNER["RELEASE_URL"],
        review=RUNNER["COMMIT_URL"],
        datetime="2026-06-01T14:32:01Z",
    )
    assert push_of(RUNNER | {"ASSIGNMENT_TYPE": "group"}, "") == replace(
        push, datetime="", assignment_type="group"
    )


def test_outside_of_the_runner_the_export_is_refused():
    """Outside of the runner the export is refused, with the name of the missing variable."""
    with pytest.raises(UsageError, match="CLASSROOM, SUBMISSION_TAG must be set"):
        push_of(RUNNER | {"CLASSROOM": "", "SUBMISSION_TAG": ""}, "")
