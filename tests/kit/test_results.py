"""Tests the result model and its JSON form."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autograder.results import (
    Audit,
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Grid,
    Outcome,
    Results,
    Settings,
    Status,
    SubmissionResult,
    add,
    from_json,
    json_parts,
    title_of,
    to_json,
)

BAD = "\x1b[31m"
HOSTILE = st.text() | st.text(alphabet="\x1b\x9b[]m0;\n \u202e\u0301\u200b\ud800é").map(
    lambda text: text * 200
)


def record_of(text: str) -> Results:
    """A record with *text* in every text field."""
    entries = ((text,) * 9,) * 9
    grid = Grid(entries, entries, entries, ((True,) * 9,) * 9, (text,) * 9, (text,) * 9)
    check = CheckResult(
        name=text, title=text, outcome=Outcome.FAILED, status=Status.WRONG_VALUE, points=0.0,
        max_points=1.0, message=text, diagnosis=Diagnosis(text, text, text, text), grid=grid,
        printed=text, given=text,
    )  # fmt: skip
    submission = SubmissionResult(
        student=text, stage=text, status=Status.GRADED, score=0.0, max_score=1.0, message=text,
        notices=(text,) * 99, ignored=(text,) * 99, exercises=(ExerciseResult.of(text, (check,)),),
        sha256=text, printed=text,
        audit=Audit(graded=text, seconds=0.0, isolation=text, suite_sha256=text, key=text),
    )  # fmt: skip
    settings = Settings(
        kit=text, kit_sha256=text, course_sha256=text, python=text, torch=text, machine=text,
        packages_sha256=text, limits={f"{number}{text}": 1.0 for number in range(99)},
    )  # fmt: skip
    return Results(course=text, isolation=text, submissions=(submission,), settings=settings)


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
    """A record that is written as JSON and read again is equal."""
    assert from_json(to_json(results)) == results


@given(HOSTILE)
def test_a_record_of_hostile_texts_survives_json(text: str):
    """A record that is made, written, read and written again has the same bytes."""
    written = to_json(record_of(text))

    assert to_json(from_json(written)) == written


def test_every_text_of_a_record_is_sanitized():
    """Every text field of a record is sanitized."""
    assert "\x1b" not in repr(record_of(BAD)).encode().decode("unicode_escape")


def test_a_changed_record_is_sanitized_as_well(results: Results):
    """A record is sanitized after `replace`, and when an edited file is read."""
    submission = replace(results.submissions[0], message=BAD + "x")
    edited = to_json(results).replace(b"Ada Lovelace", b"Ada\\u001b[2J")

    assert submission.message == "x"
    assert from_json(edited).submissions[0].student.startswith("Ada~")


def test_a_grid_is_at_most_8_by_8():
    """A grid is at most 8 by 8, which fits on a page and in a terminal."""
    grid = record_of("1.0").submissions[0].exercises[0].checks[0].grid

    assert (len(grid.yours), len(grid.yours[0]), len(grid.wrong[0]), len(grid.rows)) == (8, 8, 8, 8)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\N{PARTY POPPER}" * 10**6, id="long-characters"),
        pytest.param("\u202e" * 10**6, id="replaced-by-their-code"),
        pytest.param('"\\' * 10**6, id="escaped-in-json"),
        pytest.param("a\u0301" * 10**6, id="accents"),
    ],
)
def test_a_record_has_a_limited_size(text: str):
    """A submission takes at most about 70 KB, and each of its checks at most about 40 KB."""
    full = record_of(text).submissions[0]
    check = full.exercises[0].checks[0]
    rest = replace(full, exercises=(), notices=(text,) * 1000, ignored=(text,) * 1000)

    assert len(msgspec.json.encode(check)) < 45_000
    assert len(msgspec.json.encode(rest)) < 75_000


def test_students_that_differ_stay_different(results: Results):
    """Two spaces in a name make a different name from one; a missing name is stated."""
    (found,) = results.submissions
    names = ("Ada Lovelace", "Ada  Lovelace", "Ada\nLovelace", "x" * 99, "x" * 98, "")
    students = [replace(found, student=name).student for name in names]

    assert students[:2] == ["Ada Lovelace", "Ada  Lovelace"]
    assert students[-1] == "(no name)"
    assert len(set(students)) == len(names)


@pytest.mark.parametrize(
    ("explanation", "title"),
    [
        pytest.param("Not scaled.", "Not scaled", id="sentence"),
        pytest.param("Not scaled. Why?", "Not scaled", id="first-sentence"),
        pytest.param("It is d_k, e.g. 2, so 4.", "It is d_k, e.g. 2, so 4", id="no-full-stop"),
        pytest.param(f"Not scaled, so {'very ' * 20}wrong.", "Not scaled", id="first-clause"),
        pytest.param(f"Not {'very ' * 20}good.", f"Not {'very ' * 20}good", id="never-cut"),
    ],
)
def test_a_diagnosis_without_a_title_gets_that_of_its_explanation(explanation: str, title: str):
    """A title is a whole sentence or clause; a record without titles gets them when it is read."""
    record = json.dumps({"misconception": "a", "explanation": explanation, "hint": ""})

    assert title_of(explanation) == title
    assert msgspec.json.decode(record, type=Diagnosis).title == title


@pytest.mark.parametrize(
    ("title", "explanation", "shown"),
    [
        pytest.param("Flat", "Flat, so it fails.", ("Flat", ", so it fails."), id="begins-with-it"),
        pytest.param("No scale", "Flat.", ("No scale", ".\nFlat."), id="another-sentence"),
        pytest.param("Flat", "It is Flat.", ("It is Flat.", ""), id="inside-of-it"),
        pytest.param(
            "Either: A. Or: B", "Either: A. Or: B b.", ("Either: A. Or: B b.", ""), id="either-or"
        ),
        pytest.param(
            "Two mistakes: A. B",
            "Two here. First: A. Then: B.",
            ("Two here. First: A. Then: B.", ""),
            id="two-mistakes",
        ),
    ],
)
def test_a_headline_and_what_follows_say_nothing_twice(
    title: str, explanation: str, shown: tuple[str, str]
):
    """No sentence of the headline appears again in the explanation behind it."""
    diagnosis = Diagnosis("a", explanation, "", title)

    assert (diagnosis.headline, diagnosis.beyond_headline) == shown


def test_json_carries_words_not_numbers(results: Results):
    """Outcome and status are written in the vocabulary of docs/results.md."""
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
    """A record with an unknown format or value is refused."""
    text = to_json(results)
    assert old in text

    with pytest.raises(msgspec.ValidationError):
        from_json(text.replace(old, new, 1))


def test_an_exercise_adds_up_its_checks(results: Results):
    """Score and maximum of an exercise are the sums of its checks'."""
    exercise = results.submissions[0].exercises[0]

    assert (exercise.score, exercise.max_score) == (0.1, 0.3)


def test_points_add_up_without_binary_tails():
    """The points 0.1 and 0.2 add up to 0.3."""
    assert add([0.1, 0.2]) == 0.3


def test_points_with_the_solutions_code_are_counted_apart(results: Results):
    """Points of the checks with ``given`` belong to the score."""
    result = results.submissions[0]
    failed, passed = result.exercises[0].checks
    exercise = ExerciseResult.of("transfer", (failed, passed, replace(passed, given="Below")))

    assert (exercise.score, exercise.given, exercise.right) == (0.2, 0.1, False)
    assert replace(result, exercises=(exercise, exercise)).given == 0.2
    assert result.given == 0


def test_a_field_that_is_no_longer_used_is_ignored(results: Results):
    """A record of a kit that also wrote `syntax_sha256` is read without it."""
    older = to_json(results).replace(b'"printed": ""', b'"syntax_sha256": "91be", "printed": ""')

    assert b"syntax_sha256" in older
    assert from_json(older) == results


def test_an_older_record_carries_nothing_forward(results: Results):
    """The checks of an older record have no ``given``, so it carries nothing forward."""
    older = to_json(results).replace(b',\n              "given": ""', b"")

    assert b"given" not in older
    assert from_json(older) == results


def test_an_older_record_has_no_audit(results: Results):
    """An older record has no audit, and no settings."""
    older = to_json(results).replace(b',\n      "audit": null', b"")
    older = older.replace(b',\n  "settings": null', b"")

    assert b"audit" not in older
    assert b"settings" not in older
    assert from_json(older) == results


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_record_in_parts_is_the_record(count: int):
    """A record with any contents that is written in parts is the same record."""
    one = record_of('"submissions": []\n},\n')
    results = replace(one, submissions=one.submissions * count)
    whole = msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n"

    assert b"".join(json_parts(results)) == whole
    assert from_json(whole) == results


def test_a_record_that_was_read_again_is_the_same_text(results: Results):
    """A record that was read again is the same text, even if a suite gives 2 points, not 2.0."""
    [one] = results.submissions
    whole = ExerciseResult.of("whole", (replace(one.exercises[0].checks[1], points=2),))
    record = to_json(replace(results, submissions=(replace(one, exercises=(whole,), score=2),)))

    assert b'"score": 2.0' in record
    assert to_json(from_json(record)) == record
