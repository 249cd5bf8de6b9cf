"""Every format by name."""

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.classroom50 import Push
from autograder.exports.formats import FORMATS, Request
from autograder.exports.grade_table import GradeTable, Score, StageColumn, grade_table
from tests.kit.exports.conftest import MakeCheck, MakeResults, MakeSubmission, row, sheet_of_rows

WORKSHEET = (
    b"Identifier,Grade,Maximum Grade,Changed,Last modified (grade)\nParticipant 1,,2,Yes,-\n"
)
PUSH = Push(
    classroom="c", assignment="a", owner="o", submission="submit/1", commit="c", release="r",
    review="v", datetime="2026-06-01T14:32:01Z",
)  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_made_from_one_request(
    name: str, tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """What it needs is in there."""
    record = results(submission(check(), student="ada_1"))
    download = WORKSHEET if name == "moodle" else None
    ask = Request(grades=grade_table(record, tiny), results=record, download=download, push=PUSH)

    assert FORMATS[name].make(ask).content
    assert FORMATS[name].file.count(".") == 1


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_missing_is_asked_for(name: str):
    """In a sentence, by every format."""
    with pytest.raises(UsageError, match="This format needs"):
        FORMATS[name].make(Request())


def test_of_several_stages_one_must_be_named():
    """A worksheet holds one assignment."""
    score = Score(raw=1.0, score=1.0, max_score=2.0)
    more = (StageColumn("01_tiny", "Tiny things", 2.0), StageColumn("02_more", "More", 2.0))
    both = row("ada_1", 1.0)
    both.scores["02_more"] = score
    ask = Request(grades=GradeTable(stages=more, rows=(both,)), download=WORKSHEET)
    with pytest.raises(UsageError, match="there are grades in 01_tiny, 02_more"):
        FORMATS["moodle"].make(ask)


def test_the_only_stage_with_grades_needs_no_name():
    """There is nothing to choose."""
    assert Request(grades=sheet_of_rows(row("ada"))).the_stage() == "01_tiny"
