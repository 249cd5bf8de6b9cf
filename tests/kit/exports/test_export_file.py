"""The file that an export makes, and what formats for a single submission share."""

from pathlib import Path

import pytest

from autograder.errors import GraderError, UsageError
from autograder.exports.export_file import ExportFile, feedback_text, single_submission
from autograder.results import CheckResult, Outcome, SubmissionResult
from tests.factories import MakeCheck, MakeResults, MakeSubmission


def test_a_file_is_written_as_it_is(tmp_path: Path):
    """Byte by byte."""
    ExportFile(b"a\r\n").write(tmp_path / "x.csv")

    assert (tmp_path / "x.csv").read_bytes() == b"a\r\n"


def test_a_file_that_can_not_be_written_is_named(tmp_path: Path):
    """No traceback for a folder that does not exist."""
    with pytest.raises(UsageError, match="can't be written"):
        ExportFile(b"").write(tmp_path / "nowhere" / "x.csv")


def test_the_only_submission_is_taken(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Two would need two files."""
    only = submission(check())

    assert single_submission(results(only)) == only
    with pytest.raises(UsageError, match="the record has 2"):
        single_submission(results(only, only))


def test_no_grade_is_no_zero(broken: SubmissionResult, results: MakeResults):
    """A format for one submission could only write a zero."""
    with pytest.raises(GraderError, match=r"The grader failed for zoe: Ours\."):
        single_submission(results(broken))


def test_the_text_of_a_check_is_message_and_diagnosis(check: MakeCheck, failed_check: CheckResult):
    """Each in a paragraph of its own; a check that passed has none."""
    assert feedback_text(failed_check) == (
        "It differs.\n\nThe numbers were squared.\n\nWhat is twice three?"
    )
    assert feedback_text(check(Outcome.PASSED)) == ""
