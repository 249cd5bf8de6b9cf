"""Tests commands that read the record of a class."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.course import Course
from autograder.grading.provenance import Provenance
from autograder.results import Audit, Results, Status, SubmissionResult, to_json
from autograder.sandbox.isolation import detect_capabilities

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself
Recorded = Callable[..., Path]


def test_feedback_is_packed_from_the_record(invoke: Invoke, tmp_path: Path):
    """`feedback` writes the zip of -o, with exit code 2 if a page is missing."""
    record, made = tmp_path / "r.json", tmp_path / "pages.zip"
    one = SubmissionResult(
        student="Ada_7", stage="01_tiny", status=Status.UNREADABLE, score=0.0, max_score=None
    )
    record.write_bytes(to_json(Results(course="tiny", isolation="full", submissions=(one,))))
    packed = invoke("feedback", "moodle", record, "-o", made)
    failed = invoke("feedback", "canvas", record)

    assert packed.exit_code == 0, packed.output
    assert zipfile.ZipFile(made).namelist() == ["Ada_7_assignsubmission_file_feedback.html"]
    assert (failed.exit_code, "--download" in failed.output) == (2, True)


@pytest.mark.usefixtures("lent_fork_server")
def test_a_download_goes_through_the_record_back_to_its_students(
    invoke: Invoke, module: Path, tmp_path: Path
):
    """A page is named after the submission in Canvas's folder, late or not."""
    download, record = tmp_path / "download", tmp_path / "r.json"
    download.mkdir()
    for name in ("adalovelace_11_501_tiny.py", "alanturing_LATE_12_502_tiny.py"):
        shutil.copy(module, download / name)
    level = detect_capabilities().level
    graded = invoke("grade", download, "--json", record, "--jobs", 1, "--isolation", level)
    packed = invoke("feedback", "canvas", record, "--download", download)

    assert (graded.exit_code, packed.exit_code) == (0, 0), graded.output + packed.output
    assert zipfile.ZipFile("feedback.zip").namelist() == [
        "adalovelace_11_501_feedback.html",
        "alanturing_12_502_feedback.html",
    ]


def test_two_records_are_compared(invoke: Invoke, tmp_path: Path):
    """`diff` ends with code 0 if nothing differs, 1 if something does, and 2 without a record."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    for file, points in ((old, 5.0), (new, 7.5)):
        one = SubmissionResult(
            student="ada", stage="01_tiny", status=Status.GRADED, score=points, max_score=10.0
        )
        file.write_bytes(to_json(Results(course="tiny", isolation="full", submissions=(one,))))
    same, other, none = (
        invoke("diff", old, old),
        invoke("diff", old, new),
        invoke("diff", old, tmp_path),
    )

    assert (same.exit_code, other.exit_code, none.exit_code) == (0, 1, 2)
    assert "+2.5  ada, 01_tiny: 5 → 7.5" in other.output


def test_a_grade_is_explained_from_the_record(invoke: Invoke, module: Path, recorded: Recorded):
    """`explain` finds a grade by student and, if there are several, by stage."""
    file = recorded(5.0)
    invoke("grade", module, "--json", file)
    explained, unknown = invoke("explain", file, "ada", "1"), invoke("explain", file, "eve")

    assert (explained.exit_code, unknown.exit_code) == (0, 2)
    assert "ada, 01_tiny: 5 of 10 (graded)" in explained.output
    assert "limits        import_seconds 10" in explained.output
    assert "no student 'eve'" in unknown.output


def test_a_grade_is_explained_by_name(
    invoke: Invoke, module: Path, recorded: Recorded, tmp_path: Path
):
    """With a roster the student is found by a part of the name, and the name is printed."""
    file, roster = recorded(5.0), tmp_path / "students.csv"
    roster.write_text("id,first_name,last_name\nada,Augusta,King\n")
    invoke("grade", module, "--json", file)
    explained = invoke("explain", file, "king", "--roster", roster)

    assert explained.exit_code == 0, explained.output
    assert "Augusta King (ada), 01_tiny: 5 of 10 (graded)" in explained.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(
            ["canvas", "r.json", "--gradebook"],
            "r.json has no effect with --gradebook",
            id="record",
        ),
        pytest.param(["nbgrader", "r.json", "--fill", "x"], "--fill has no effect", id="fill"),
        pytest.param(
            ["canvas", "r.json", "--scale"], "--scale has no effect without --fill", id="scale"
        ),
        pytest.param(
            ["gradescope", "r.json", "--stage", "1", "--ungraded", "zero"],
            "--stage, --ungraded have no effect on gradescope",
            id="gradescope",
        ),
        pytest.param(["--gradebook"], "--gradebook has no effect on a list", id="no-format"),
        pytest.param(["canvas", "r.json", "-o", "a", "-o", "b"], "--out is given 2", id="twice"),
    ],
)
def test_an_export_refuses_what_it_would_ignore(invoke: Invoke, words: list[str], sentence: str):
    """An argument that has no effect on the format is refused, and nothing is written."""
    result = invoke("export", *words)

    assert result.exit_code == 2
    assert sentence in result.output.replace("\n", " ")


def test_an_export_names_results_of_an_earlier_suite(invoke: Invoke, tiny: Course, tmp_path: Path):
    """If the suite has changed since, exports say whose scores are older than the suite."""
    record = tmp_path / "results.json"
    now = Provenance(tiny, "full").suite_sha256("01_tiny")
    results = [
        SubmissionResult(
            student=student,
            stage="01_tiny",
            status=Status.GRADED,
            score=5.0,
            max_score=10.0,
            audit=Audit(graded="", seconds=1.0, isolation="full", suite_sha256=suite, key="k"),
        )
        for student, suite in (("ada", now), ("bob", "an earlier one"))
    ]
    record.write_bytes(to_json(Results(course="tiny", isolation="full", submissions=results)))
    exported = invoke("export", "nbgrader", record)

    assert exported.exit_code == 0, exported.output
    assert "since these students were graded: bob. Grade" in exported.output.replace("\n", " ")
