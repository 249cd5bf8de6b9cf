"""Tests the file of an export, and CSV files in which a spreadsheet runs no formula."""

import csv
import io
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.errors import GraderError, UsageError
from autograder.exports.export_file import (
    ExportFile,
    csv_content,
    csv_id,
    csv_text,
    formula_warnings,
    is_formula,
    number,
    points,
    read_csv,
)
from autograder.exports.gradescope_results import single_submission
from autograder.results import SubmissionResult
from tests.kit.factories import FORMULAS, MakeCheck, MakeResults, MakeSubmission


def test_a_file_is_written_as_it_is(tmp_path: Path):
    """An export is written byte by byte."""
    ExportFile(b"a\r\n").write(tmp_path / "x.csv")

    assert (tmp_path / "x.csv").read_bytes() == b"a\r\n"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    """A file in a folder that does not exist is reported without a traceback."""
    with pytest.raises(UsageError, match="can't be written"):
        ExportFile(b"").write(tmp_path / "nowhere" / "x.csv")


def test_the_only_submission_is_taken(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """A format for one submission takes the only one, and refuses two."""
    only = submission(check())

    assert single_submission(results(only)) == only
    with pytest.raises(UsageError, match="the record has 2"):
        single_submission(results(only, only))


def test_no_grade_is_not_a_zero(broken: SubmissionResult, results: MakeResults):
    """A missing grade is an error in a format that could only write a zero."""
    with pytest.raises(GraderError, match=r"The grader failed for zoe: Ours\."):
        single_submission(results(broken))


@pytest.mark.parametrize("formula", FORMULAS)
def test_what_begins_like_a_formula_gets_an_apostrophe(formula: str):
    """A formula gets an apostrophe, even after spaces, in full width or behind a joiner."""
    assert csv_text(formula).startswith("'")


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("Lovelace, Ada", id="name"),
        pytest.param("a=b", id="sign-inside"),
        pytest.param("-", id="sign-alone"),
        pytest.param("O'Neill", id="apostrophe"),
        pytest.param("Zoë 李雷", id="every-script"),
        pytest.param("ada@example.org", id="address"),
    ],
)
def test_a_harmless_word_stays_as_it_is(word: str):
    """Ordinary names are not changed against formulas."""
    assert csv_text(word) == word


@pytest.mark.parametrize("make", [csv_text, csv_id])
@given(word=st.text())
def test_no_text_is_calculated(make: Callable[[str], str], word: str):
    """The first visible character of any text does not start a formula."""
    cell = unicodedata.normalize("NFKC", make(word)).strip()

    assert len(cell) < 2 or cell[0] not in "=+-@\t\r"


def test_a_formula_behind_a_semicolon_gets_an_apostrophe():
    """A spreadsheet that divides cells at semicolons finds no formula in any part."""
    assert csv_text("x;=HYPERLINK(A1&evil); -2+3;y") == "x;'=HYPERLINK(A1&evil);' -2+3;y"
    assert csv_id("ada; lovelace") == "ada; lovelace"


def test_every_text_cell_is_in_quotes():
    """Texts are in quotes, and so are ids that begin with 0; numbers and empty cells are not."""
    content = csv_content([("ada", "7.5", "", "0817", 'a "b"', "-2")])

    assert content == b'"ada",7.5,,"0817","a ""b""",-2\r\n'


def test_ids_that_differ_stay_different():
    """Ids that differ only in a space stay different."""
    assert csv_id("Ada  Lovelace") == "Ada  Lovelace"
    assert len({csv_id("a\nb"), csv_id("a b"), csv_id("a  b")}) == 3


@given(st.lists(st.lists(st.text().map(csv_text), min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_text_comes_back_through_a_reader(rows: list[list[str]]):
    """Commas, quotes and line ends stay inside their cell."""
    page = csv_content(rows).decode()

    assert list(csv.reader(io.StringIO(page, newline=""), strict=True)) == rows


@given(st.lists(st.lists(st.text(alphabet='a,;"\n é'), min_size=2, max_size=4), min_size=1))
def test_a_table_is_written_as_it_was_read(rows: list[list[str]]):
    """Another system's cells keep their line ends, quotes and byte order mark."""
    header = [["Student", "ID", "Section", "A", "B"]]
    table = read_csv(csv_content([*header, *rows], ";", bom=True), "roster")

    assert [list(row) for row in table.rows] == header + rows
    assert (table.delimiter, table.bom) == (";", True)


@pytest.mark.parametrize(
    ("value", "places", "shown"),
    [
        pytest.param(None, 2, "", id="no-grade-is-empty"),
        pytest.param(0.0, 2, "0", id="zero"),
        pytest.param(-0.0, 2, "0", id="no-negative-zero"),
        pytest.param(10.0, 2, "10", id="whole"),
        pytest.param(0.1 + 0.2, 6, "0.3", id="no-tail"),
        pytest.param(0.125, 2, "0.13", id="half-up"),
        pytest.param(2.675, 2, "2.68", id="half-as-printed"),
        pytest.param(1234.5, 2, "1234.5", id="no-exponent-no-separator"),
        pytest.param(1e-9, 6, "0", id="too-small"),
    ],
)
def test_a_number_is_plain(value: float | None, places: int, shown: str):
    """A number has no exponent, no separator of thousands and no added digits."""
    assert number(value, places) == shown


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e300])
def test_what_is_not_a_number_of_points_is_refused(value: float):
    """A value that a gradebook would read as text or zero is refused."""
    with pytest.raises(GraderError, match="not a number of points"):
        number(value)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("7.5", 7.5),
        (" 7,50 ", 7.5),
        ("10", 10.0),
        ("", None),
        ("EX", None),
        ("nan", None),
        ("1e99", None),
    ],
)
def test_points_are_read_with_comma_or_point(cell: str, value: float | None):
    """Points with a comma or a point are read, and text is refused."""
    assert points(cell) == value


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("Stüdent".encode("latin-1"), "not UTF-8", id="latin-1"),
        pytest.param("Student,ID".encode("utf-16"), "not UTF-8", id="utf-16"),
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b'Student,"ID\n', "not a CSV file", id="open-quote"),
        pytest.param(b"Grade,Max\n7,50,10,00\n", "Row 2 .* 4 cells", id="unquoted-comma"),
    ],
)
def test_a_wrong_table_is_refused_in_plain_words(content: bytes, words: str):
    """A table in the wrong form is refused with a sentence on what to do."""
    with pytest.raises(UsageError, match=words):
        read_csv(content, "roster")


def test_formulas_of_others_are_in_one_remark():
    """A single remark lists all rows whose text begins like a formula."""
    rows = [["-", "Ada"], ["=1+1", ""], ["x", "@SUM(A1)"]]

    assert [remark.partition(":")[0] for remark in formula_warnings(rows, "roster")] == [
        "rows 2, 3 of the roster"
    ]
    assert formula_warnings(rows[:1], "roster") == ()
    assert not is_formula("")
