"""Tests every format by name, and the messages about missing data."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.formats import FORMATS, ExportRequest, find_format
from autograder.exports.grade_table import GradeTable, Score, StageColumn
from autograder.results import to_json
from tests.kit.factories import MakeCheck, MakeResults, MakeSubmission, row, table_of_rows

WORKSHEET = (
    b"Identifier,Grade,Maximum Grade,Changed,Last modified (grade)\nParticipant 1,,2,Yes,-\n"
)


@pytest.fixture
def record(
    tmp_path: Path, results: MakeResults, submission: MakeSubmission, check: MakeCheck
) -> Path:
    """A record as `autograder grade --json` writes it."""
    file = tmp_path / "results.json"
    file.write_bytes(to_json(results(submission(check(), student="ada_1"))))
    return file


@pytest.fixture
def worksheet(tmp_path: Path) -> Path:
    """A worksheet as Moodle writes it."""
    file = tmp_path / "worksheet.csv"
    file.write_bytes(WORKSHEET)
    return file


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_made_from_one_request(
    name: str, tiny: Course, record: Path, worksheet: Path
):
    """Every format makes its file from one request that has the data of all formats."""
    download = worksheet if name == "moodle" else None
    request = ExportRequest(course=tiny, record=record, download=download)

    assert FORMATS[name].make(request).content
    assert FORMATS[name].file.count(".") == 1


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_missing_is_named(name: str, tiny: Course):
    """Each format reports missing data in a sentence."""
    with pytest.raises(UsageError, match="This format needs"):
        FORMATS[name].make(ExportRequest(course=tiny))


def test_of_several_stages_one_must_be_named(tiny: Course, worksheet: Path):
    """A worksheet for one assignment needs the name of one of several stages."""
    score = Score(raw=1.0, score=1.0, max_score=2.0)
    more = (StageColumn("01_tiny", "Tiny things", 2.0), StageColumn("02_more", "More", 2.0))
    both = row("ada_1", 1.0)
    both.scores["02_more"] = score
    grades = GradeTable(stages=more, rows=(both,))
    with pytest.raises(UsageError, match="there are grades in 01_tiny, 02_more"):
        FORMATS["moodle"].make(ExportRequest(course=tiny, grades=grades, download=worksheet))


def test_the_only_stage_with_grades_needs_no_name(tiny: Course, worksheet: Path):
    """The only stage with grades is chosen without its name."""
    grades = table_of_rows(row("ada_1", 1.5), most=2.0)
    made = FORMATS["moodle"].make(ExportRequest(course=tiny, grades=grades, download=worksheet))

    assert b'"Participant 1",1.5,2,' in made.content


def test_the_gradebooks_grades_count_before_the_records(tiny: Course, record: Path):
    """The gradebook's grades come before the record's, because they contain manual scores."""
    grades = table_of_rows(row("emmy"))
    request = ExportRequest(course=tiny, record=record, grades=grades)

    assert [row.student for row in request.grade_table().rows] == ["emmy"]


def test_the_course_gives_a_stage_its_points(tiny: Course):
    """A key of `[points]` is the number or name of a stage, and 7.5 of 10 becomes 15 of 20."""
    request = ExportRequest(
        course=Course(tiny.root, replace(tiny.file, points={"1": 20.0})),
        grades=table_of_rows(row("emmy", 7.5)),
    )
    grades = request.grade_table()

    assert grades.stages[0].max_score == 20.0
    assert grades.rows[0].scores["01_tiny"].score == 15.0


def test_an_unknown_format_lists_the_known_ones():
    """An unknown format is answered with the list of formats."""
    with pytest.raises(UsageError, match=r"no format 'canvass'\. Formats: canvas, moodle"):
        find_format("canvass")


def test_a_grade_table_is_made_of_the_record(tiny: Course, record: Path):
    """A file for Canvas can be made from the record, without a gradebook."""
    request = ExportRequest(course=tiny, record=record)
    lines = find_format("canvas").make(request).content.decode().split()

    assert any(line.startswith('"ada",1,"ada_1",') for line in lines)


def test_without_record_and_gradebook_there_is_nothing_to_export(tiny: Course):
    """An export without a record and without the gradebook is refused with both options."""
    with pytest.raises(UsageError, match="needs a record or a gradebook"):
        find_format("nbgrader").make(ExportRequest(course=tiny))


def test_a_file_that_is_not_a_record_is_named(tiny: Course, tmp_path: Path):
    """A file that is not a record is refused with its name."""
    file = tmp_path / "other.json"
    file.write_text("[]")

    with pytest.raises(UsageError, match=r"other\.json is not a record"):
        find_format("gradescope").make(ExportRequest(course=tiny, record=file))


def test_a_missing_download_is_named(tiny: Course, record: Path, tmp_path: Path):
    """The message about a missing download names the file that the LMS writes."""
    request = ExportRequest(course=tiny, record=record, download=tmp_path / "gone.csv")
    with pytest.raises(UsageError, match=r"gone\.csv can't be read"):
        find_format("moodle").make(request)
