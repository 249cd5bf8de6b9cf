"""The record: frozen inside, JSON at the door."""

import json

import msgspec
import pytest

from autograder.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Outcome,
    Results,
    Status,
    SubmissionResult,
    add,
    from_json,
    to_json,
)


@pytest.fixture
def results() -> Results:
    """A run of one submission with one failed and one passed check."""
    failed = CheckResult(
        name="test_context",
        title="Seeded with 123, …",
        outcome=Outcome.FAILED,
        status=Status.WRONG_VALUE,
        points=0.0,
        max_points=0.2,
        message="differs",
        diagnosis=Diagnosis("forgets_to_scale", "It is not scaled.", "By which root?"),
    )
    passed = CheckResult(
        name="test_shape", title="t", outcome=Outcome.PASSED, status=Status.OK, points=0.1,
        max_points=0.1,
    )  # fmt: skip
    submission = SubmissionResult(
        student="Ada Lovelace",
        stage="04_self_attention",
        status=Status.GRADED,
        score=0.1,
        max_score=0.3,
        exercises=(ExerciseResult.of("SelfAttention_v1", (failed, passed)),),
    )
    return Results(course="attention", isolation="full", submissions=(submission,))


def test_the_record_survives_json(results: Results):
    """What is written is what is read."""
    assert from_json(to_json(results)) == results


def test_json_carries_words_not_numbers(results: Results):
    """Outcome and status stand in the file as the vocabulary of docs/results.md."""
    record = json.loads(to_json(results))
    check = record["submissions"][0]["exercises"][0]["checks"][0]

    assert record["format_version"] == 1
    assert (check["outcome"], check["status"]) == ("failed", "wrong-value")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b'"format_version": 1', b'"format_version": 2', id="unknown-version"),
        pytest.param(b'"failed"', b'"perhaps"', id="unknown-outcome"),
        pytest.param(b'"score": 0.1', b'"score": "much"', id="score-is-text"),
    ],
)
def test_a_record_of_another_kind_is_refused(results: Results, old: bytes, new: bytes):
    """A reader never guesses at a record that it does not know."""
    text = to_json(results)
    assert old in text

    with pytest.raises(msgspec.ValidationError):
        from_json(text.replace(old, new, 1))


def test_an_exercise_adds_up_its_checks(results: Results):
    """Score and maximum of an exercise are the sums of its checks'."""
    exercise = results.submissions[0].exercises[0]

    assert (exercise.score, exercise.max_score) == (0.1, 0.3)


def test_points_add_up_without_binary_tails():
    """0.1 + 0.2 is 0.3 in a gradebook."""
    assert add([0.1, 0.2]) == 0.3
