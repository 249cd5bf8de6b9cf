"""Tests the list of submissions that need manual review, as a CSV file."""

from autograder.exports.csv_files import review_csv
from autograder.results import Flag, FlagKind
from tests.kit.factories import MakeCheck, MakeResults, MakeSubmission
from tests.kit.importers import cells


def test_each_reason_is_a_row(results: MakeResults, submission: MakeSubmission, check: MakeCheck):
    """A submission has a row for each reason, and none without one; no text is a formula."""
    flags = (Flag(FlagKind.REFUSED, "tried to open a socket"), Flag(FlagKind.NO_MODULE, "=1+1"))
    run = results(submission(check(), student="ada"), submission(check(), student="b", flags=flags))
    head, *rows = cells(review_csv(run, {"b": "Bo, B."}).content)

    assert head == ["student", "name", "stage", "points", "reason", "page"]
    assert [row[:3] for row in rows] == [["b", "Bo, B.", "01_tiny"]] * 2
    assert [row[4] for row in rows] == ["tried to open a socket", "'=1+1"]
    assert rows[0][5] == "b--01-tiny.html"
