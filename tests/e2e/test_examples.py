"""Tests that the example class gets the results in examples/expected/.

After an intended change, write the expected results again and read the changes:

    UPDATE_EXAMPLES=1 python -m pytest tests/e2e/test_examples.py
"""

import os
from pathlib import Path

import msgspec
import msgspec.structs
import pytest

from autograder.results import SubmissionResult
from autograder.sandbox.isolation import detect_capabilities
from autograder.submission import collect

ROOT = Path(__file__).parents[2]
SUBMITTED = ROOT / "examples" / "submitted"
EXPECTED = ROOT / "examples" / "expected"
FULL = ("alan", "04_self_attention")  # kept with every message: it has diagnoses and a table
UPDATE = "UPDATE_EXAMPLES"
HOW_TO_UPDATE = f"If the change is intended: {UPDATE}=1 python -m pytest tests/e2e/test_examples.py"

pytestmark = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)


@pytest.fixture(scope="module")
def results(course, grade_class):
    """Grade the class once; return the results by student and stage."""
    graded = grade_class([*collect(SUBMITTED, course.stages)])
    by_key = {(result.student, result.stage): result for result in graded}
    if os.environ.get(UPDATE):
        write_expected(by_key)
    return by_key


def write_expected(results):
    """Write the expected results again, and remove those of students who have left."""
    for path in EXPECTED.glob("*/*"):
        path.unlink()
    for (student, stage), result in results.items():
        path = expected_path(student, stage)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(summary(result), "utf-8")
    full = msgspec.json.format(msgspec.json.encode(without_audit(results[FULL])), indent=2)
    expected_path(*FULL, ".json").write_bytes(full + b"\n")


def without_audit(result):
    """Return *result* without its times, and without digests of files that change often."""
    return msgspec.structs.replace(result, audit=None)


def expected_path(student, stage, suffix=".txt"):
    """Return the file with the expected result of *student* in *stage*."""
    return EXPECTED / student / f"{stage}{suffix}"


def summary(result):
    """Return the status and score of *result* on the first line, then one line for each check."""
    lines = [f"{result.status}  {result.score} of {result.max_score}"]
    lines += [
        f"{exercise.name}  {check.name}  {check.outcome}  {check.status}  "
        f"{check.points} of {check.max_points}  "
        f"{check.diagnosis.misconception if check.diagnosis else '-'}"
        for exercise in result.exercises
        for check in exercise.checks
    ]
    return "\n".join(lines) + "\n"


def submitted():
    """List the student and stage of each submission."""
    return sorted(folder.parts[-2:] for folder in SUBMITTED.glob("*/*") if folder.is_dir())


@pytest.mark.parametrize(
    ("student", "stage"), [pytest.param(*key, id="-".join(key)) for key in submitted()]
)
def test_is_graded_as_expected(results, student, stage):
    """Status, score, and each check's outcome, points and diagnosis are the expected ones."""
    expected = expected_path(student, stage).read_text("utf-8")

    assert summary(results[student, stage]) == expected, HOW_TO_UPDATE


def test_a_whole_result_is_as_expected(results):
    """One result is compared in full: every title, message, hint and table."""
    text = expected_path(*FULL, ".json").read_bytes()

    expected = msgspec.json.decode(text, type=SubmissionResult)

    assert without_audit(results[FULL]) == expected, HOW_TO_UPDATE


def test_every_submission_is_expected(results):
    """Each submission has one result and one file with the expected result."""
    expected = {(path.parent.name, path.stem) for path in EXPECTED.glob("*/*.txt")}

    assert set(results) == set(submitted()) == expected, HOW_TO_UPDATE
