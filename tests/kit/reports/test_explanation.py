"""Tests that the explanation of a grade is built from the record alone."""

import pytest
from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.reports.explanation import explanation_lines, find_key, find_results, short_key
from autograder.results import Audit, Diagnosis, Outcome, Settings

AUDIT = Audit(
    graded="2026-11-22T22:44:12Z", seconds=0.25, isolation="full", suite_sha256="5f0c", key="91be"
)
SETTINGS = Settings(
    kit="0.1",
    kit_sha256="aa",
    course_sha256="bb",
    python="3.11",
    torch="2.3",
    machine="x86_64",
    packages_sha256="cc",
    limits={"call_seconds": 3.0},
)
MISTAKE = Diagnosis(misconception="squares", explanation="It was squared.", hint="Twice 3?")


def test_a_student_is_found_by_stage_or_in_all(results, submission):
    """A student is found by the name or number of a stage, or in all stages."""
    record = results(submission(), submission(stage="02_tiny"), submission(student="bert"))

    assert [one.stage for one in find_results(record, "alice")] == ["01_tiny", "02_tiny"]
    for name in ("02_tiny", "02", "2"):
        assert [one.stage for one in find_results(record, "alice", name)] == ["02_tiny"]


@pytest.mark.parametrize(
    ("student", "stage", "sentence"),
    [
        pytest.param("eve", "", "no student 'eve'", id="student"),
        pytest.param("alice", "9", "no submission of alice for '9'. It has 01_tiny", id="stage"),
    ],
)
def test_a_missing_student_is_an_error(results, submission, student, stage, sentence):
    """A student who is not in the record is an error with the names in the record."""
    with pytest.raises(UsageError, match=sentence):
        find_results(results(submission()), student, stage)


def test_a_key_from_a_page_names_one_submission(results, submission):
    """The key on a page is enough to find the submission; a student's id is not a key."""
    keys = ["ab" * 32, "cd" * 32]
    own = [submission(student=one, audit=replace(AUDIT, key=one)) for one in keys]
    record = results(*own, submission(student="abab"))

    assert find_key(record, short_key(own[1])) == [own[1]]
    assert find_key(record, keys[0]) == [own[0]]
    for text in ("abab", "ad" * 6, "cd" * 6 + "g"):
        assert find_key(record, text) == []
    assert short_key(submission()) == ""


def test_the_name_is_printed_with_the_id(results, submission):
    """The first line of an explanation has the student's name if it is known."""
    result = submission(status="unreadable")
    first = next(explanation_lines(results(result), result, "Alice Liddell"))

    assert first.startswith("Alice Liddell (alice), 01_tiny: ")


def test_every_circumstance_is_named(results, submission, check):
    """An explanation contains hashes, versions, limits, isolation and time."""
    result = submission(check(), sha256="d0d0", audit=AUDIT, ignored=("notes.txt",))
    record = replace(results(result), settings=SETTINGS)
    text = "\n".join(explanation_lines(record, result))

    for fact in (
        "alice, 01_tiny: 2 of 2 (graded)",
        "code          sha256 d0d0",
        "not graded    notes.txt",
        "graded        2026-11-22T22:44:12Z, in 0.25 s, isolation full",
        "suite         sha256 5f0c",
        "key           91be",
        "inputs        public",
        "course        tiny, sha256 bb",
        "kit           0.1, sha256 aa",
        "versions      Python 3.11, torch 2.3, x86_64",
        "packages      sha256 cc",
        "limits        call_seconds 3",
    ):
        assert fact in text


def test_every_check_has_its_points_and_the_reason(results, submission, check):
    """An explanation contains the message, the mistake, and the exercise that was replaced."""
    failed = check(Outcome.FAILED, message="Too large.\nBy 3.", diagnosis=MISTAKE)
    result = submission(failed, check(name="test_more", given="Scale"))
    lines = list(explanation_lines(results(result), result))
    start = lines.index("double: 2 of 4")

    assert [line.strip() for line in lines[start + 1 :]] == [
        "0 of 2  failed (wrong-value)  test_doubles: Twice one is two.",
        "Too large.",
        "By 3.",
        "It was squared",
        "2 of 2  passed (ok)  test_more: Twice one is two.",
        "passed with the solution's Scale",
    ]


def test_a_record_from_before_the_audit_says_so(results, submission):
    """The explanation of a record without an audit states nothing about the origin of a grade."""
    result = submission(score=None, message="The disk broke.")
    text = "\n".join(explanation_lines(results(result), result))

    assert "alice, 01_tiny: no grade" in text
    assert "The disk broke." in text
    assert "isolation full; the record is older than the audit" in text
