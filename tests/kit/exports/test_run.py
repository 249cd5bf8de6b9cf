"""One export from the command line: what it takes, and what it says when something is missing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.run import Asked, export, write
from autograder.results import CheckResult, Results, SubmissionResult, to_json

MakeCheck = Callable[..., CheckResult]
MakeSubmission = Callable[..., SubmissionResult]
MakeResults = Callable[..., Results]


@pytest.fixture
def record(
    tmp_path: Path, results: MakeResults, submission: MakeSubmission, check: MakeCheck
) -> Path:
    """A record as `autograder grade --json` leaves it."""
    file = tmp_path / "results.json"
    file.write_bytes(to_json(results(submission(check()))))
    return file


def asked(form: str, record: Path | None = None, **more: object) -> Asked:
    """Ask for *form*, with nothing else unless it is named."""
    return Asked(
        **({"form": form, "record": record, "fill": None, "stage": "", "grade_column": ""} | more)
    )


def test_an_unknown_format_is_told_with_those_there_are(tiny: Course):
    """A typing error names the formats."""
    with pytest.raises(UsageError, match=r"no format 'canvass'\. Formats: canvas, moodle"):
        export(tiny, asked("canvass"), None)


def test_a_sheet_is_made_of_the_record(tiny: Course, record: Path):
    """Canvas' file needs no gradebook."""
    lines = export(tiny, asked("canvas", record), None).content.decode().split()

    assert any(line.startswith("ada,") for line in lines)


def test_without_record_and_gradebook_there_is_nothing_to_export(tiny: Course):
    """The message says what is needed."""
    with pytest.raises(UsageError, match="needs a record or a gradebook"):
        export(tiny, asked("nbgrader"), None)


def test_a_file_that_is_no_record_is_named(tiny: Course, tmp_path: Path):
    """Whatever else lies there is told by name."""
    file = tmp_path / "other.json"
    file.write_text("[]")

    with pytest.raises(UsageError, match=r"other\.json is no record"):
        export(tiny, asked("junit", file), None)


def test_a_download_that_is_not_there_is_named(tiny: Course, record: Path, tmp_path: Path):
    """The LMS's file is looked for where it was said to be."""
    with pytest.raises(UsageError, match=r"gone\.csv can't be read"):
        export(tiny, asked("moodle", record, fill=tmp_path / "gone.csv"), None)


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path):
    """No traceback for a folder that is not there."""
    with pytest.raises(UsageError, match="can't be written"):
        write(tmp_path / "nowhere" / "x.csv", b"")
