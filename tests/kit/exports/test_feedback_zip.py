"""Tests the zip of feedback pages: the names for Canvas and Moodle, and the pages."""

import io
import re
import zipfile
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.feedback_zip import (
    FeedbackRequest,
    download_names,
    feedback_zip,
    final_grade,
)
from autograder.exports.grade_table import GradeTable, Score, StageColumn, StudentGrades
from autograder.results import Results
from tests.kit.factories import HOSTILE_TEXTS, MakeCheck, MakeResults, MakeSubmission
from tests.kit.importers import canvas_reads, moodle_reads

CANVAS = ("lovelaceada_101_555_tiny.py", "turingalan_LATE_102_556_tiny-1.ipynb")
MOODLE = ("Ada Lovelace_101_assignsubmission_file_/tiny.py", "Alan_102_assignsubmission_file/x.py")
SCORE = Score(
    raw=6.0,
    score=5.0,
    max_score=8.0,
    penalty=1.0,
    exercises={"double": (2.0, 2.0), "why": (1.5, 3.0), "sketch": (None, 3.0)},
    timestamp="2026-11-21 09:30:00",
    duedate="2026-11-20 23:00:00",
)


@pytest.fixture
def graded(results: MakeResults, submission: MakeSubmission, check: MakeCheck) -> Results:
    """Two students whose ids came from a download."""
    names = ("lovelaceada_101", "turingalan_102")
    return results(*(submission(check(), student=name) for name in names))


@pytest.fixture
def moodle_class(results: MakeResults, submission: MakeSubmission, check: MakeCheck) -> Results:
    """Two students whose ids came from Moodle."""
    names = ("Ada Lovelace_101", "Alan_102")
    return results(*(submission(check(), student=name) for name in names))


@pytest.fixture
def grades() -> GradeTable:
    """A gradebook in which ada has a late submission, a written answer and one that waits."""
    ada = StudentGrades(
        student="lovelaceada_101",
        first_name="Ada",
        last_name="Lovelace",
        scores={"01_tiny": SCORE},
    )
    return GradeTable(
        stages=(StageColumn("01_tiny", "Tiny things", 8.0),),
        rows=(ada,),
        remarks=("lovelaceada_101, 01_tiny: 1 answer waits.", "ada, 02_x: 1 answer waits."),
    )


def pages(content: bytes) -> dict[str, str]:
    """The pages of a zip by their names."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_canvas_finds_every_student_by_the_names(tiny: Course, graded: Results):
    """Names for Canvas contain the user and the file of the download, late or not."""
    made = feedback_zip(tiny, graded, FeedbackRequest(platform="canvas", download=CANVAS))

    assert [*map(canvas_reads, pages(made.content))] == [("101", "555"), ("102", "556")]
    assert made.remarks == ()


def test_canvas_attaches_the_page_to_the_module(tiny: Course, graded: Results):
    """For Canvas, the page is attached to the student's module, for any order of files."""
    download = ("lovelaceada_101_554_a.txt", "lovelaceada_101_553_lab.ipynb", *CANVAS)
    made = feedback_zip(tiny, graded, FeedbackRequest(platform="canvas", download=download))

    assert canvas_reads(next(iter(pages(made.content)))) == ("101", "555")


def test_canvas_needs_its_download(tiny: Course, graded: Results):
    """A zip for Canvas needs the download, because only the download has the number of the file."""
    with pytest.raises(UsageError, match="--download"):
        feedback_zip(tiny, graded, FeedbackRequest(platform="canvas"))


def test_moodle_finds_every_student_by_the_ids_alone(tiny: Course, moodle_class: Results):
    """Moodle's folders end in the participants' numbers."""
    made = feedback_zip(tiny, moodle_class, FeedbackRequest(platform="moodle"))

    found = [*map(moodle_reads, pages(made.content))]
    assert found == [("101", "feedback.html"), ("102", "feedback.html")]


def test_canvas_names_come_from_the_download_where_ids_differ(
    tiny: Course, results: MakeResults, submission: MakeSubmission, check: MakeCheck
):
    """The download gives Canvas's names even if a roster gave the record the course's ids."""
    request = FeedbackRequest(platform="canvas", download=CANVAS[:1], identify=lambda _name: "s101")
    made = feedback_zip(tiny, results(submission(check(), student="s101")), request)

    assert [*map(canvas_reads, pages(made.content))] == [("101", "555")]


def test_moodle_names_come_from_the_download_where_ids_differ(
    tiny: Course, results: MakeResults, submission: MakeSubmission, check: MakeCheck
):
    """The names for Moodle are those of the download, with and without `_` at the end."""
    run = results(*(submission(check(), student=name) for name in ("s1", "s2")))
    students = {"Ada Lovelace_101": "s1", "Alan_102": "s2"}
    request = FeedbackRequest(
        platform="moodle", download=MOODLE, identify=lambda name: students[name.student]
    )
    made = feedback_zip(tiny, run, request)

    assert [moodle_reads(name)[0] for name in pages(made.content)] == ["101", "102"]


def test_an_underscore_in_a_name_does_not_hide_the_number(
    tiny: Course, results: MakeResults, submission: MakeSubmission, check: MakeCheck
):
    """An underscore in a name does not move the number that Moodle reads."""
    run = results(submission(check(), student="a_b <i>_103"))
    made = feedback_zip(tiny, run, FeedbackRequest(platform="moodle"))

    assert [*map(moodle_reads, pages(made.content))] == [("103", "feedback.html")]


def test_who_is_not_in_the_download_is_named(tiny: Course, graded: Results):
    """A student who is not in the download is listed, and all others get their pages."""
    made = feedback_zip(tiny, graded, FeedbackRequest(platform="canvas", download=CANVAS[:1]))

    assert made.remarks == ("turingalan_102: not found in the download, no page packed",)
    assert len(pages(made.content)) == 1


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_a_zip_without_a_page_is_an_error(
    platform: str, tiny: Course, results: MakeResults, submission: MakeSubmission, check: MakeCheck
):
    """A zip without a page is an error, because it would look like a success."""
    request = FeedbackRequest(platform=platform, download=("notes.txt",))

    with pytest.raises(UsageError, match="--download"):
        feedback_zip(tiny, results(submission(check(), student="ada")), request)


def test_a_record_of_several_stages_needs_a_choice(
    tiny: Course, results: MakeResults, submission: MakeSubmission, check: MakeCheck
):
    """A record of several stages needs a choice, because an assignment is one stage."""
    run = results(submission(check()), submission(check()))

    with pytest.raises(UsageError, match="Some students have two pages"):
        feedback_zip(tiny, run, FeedbackRequest(platform="moodle"))
    with pytest.raises(UsageError, match="--stage"):
        feedback_zip(tiny, results(), FeedbackRequest(platform="moodle"))


def test_a_page_has_the_gradebooks_total_and_its_parts(
    tiny: Course, graded: Results, grades: GradeTable
):
    """A page has the name, written points, waiting answers, penalty and lateness."""
    request = FeedbackRequest(platform="canvas", download=CANVAS, grades=grades)
    made = feedback_zip(tiny, graded, request)
    page = pages(made.content)["lovelaceada_101_555_feedback.html"]

    for words in (
        "Feedback for <bdi>Ada Lovelace</bdi>", "<strong>5</strong> of 8 points",
        "Submitted 2026-11-21 09:30 UTC, 10 h 30 min after the deadline",
        "2 / 2", "1.5 / 3", "not graded yet", "\N{MINUS SIGN}1", "<strong>5 / 8</strong>",
        "Every check passes",
    ):  # fmt: skip
        assert words in page
    assert "Everything is right" not in page
    assert made.remarks == (
        "lovelaceada_101, 01_tiny: 1 answer waits.",
        "turingalan_102: not in the gradebook, so the page has no total",
    )


def test_a_name_of_the_roster_goes_before_the_gradebooks(
    tiny: Course, graded: Results, grades: GradeTable
):
    """The name in the roster replaces the name in the gradebook."""
    request = FeedbackRequest(
        platform="canvas", download=CANVAS, grades=grades, names={"lovelaceada_101": "A. L."}
    )
    made = feedback_zip(tiny, graded, request)

    assert (
        "Feedback for <bdi>A. L.</bdi>" in pages(made.content)["lovelaceada_101_555_feedback.html"]
    )


def test_in_time_is_not_late():
    """A page mentions no deadline if the work was in time, and no time if none is known."""
    grade = final_grade(Score(raw=1.0, score=1.0, max_score=1.0, timestamp="x"), ())

    assert (grade.submitted, grade.late, grade.written) == ("", "", ())


MARKED = "after the deadline, as Canvas marks it"
DUE, SECOND = "2026-11-20 23:00:00", "2026-11-20 23:00:01"


@pytest.mark.parametrize(
    ("time", "extended", "phrases"),
    [
        pytest.param(SECOND, "", ("", MARKED), id="mark"),
        pytest.param(
            SECOND,
            "2026-11-23 23:00:00",
            (
                "",
                f"{MARKED} (your own deadline is 2026-11-24 00:00 CET)",
            ),
            id="mark-and-extension",
        ),
        pytest.param(
            "2026-11-22 10:00:00",
            "2026-11-23 23:00:00",
            ("2026-11-22 11:00 CET", "within your extension to 2026-11-24 00:00 CET"),
            id="in-time-by-extension",
        ),
        pytest.param(
            "2026-11-22 10:00:00",
            "2026-11-21 23:00:00",
            ("2026-11-22 11:00 CET", "11 h after your extended deadline"),
            id="late-in-spite-of-extension",
        ),
        pytest.param(
            "2026-11-22 10:00:00",
            "",
            ("2026-11-22 11:00 CET", "1 d 11 h after the deadline"),
            id="late",
        ),
    ],
)
def test_a_page_states_only_times_that_are_known(
    time: str, extended: str, phrases: tuple[str, str]
):
    """A late mark states no time, an extension counts, and times are in the course's zone."""
    score = Score(raw=1.0, score=1.0, max_score=1.0, timestamp=time, duedate=DUE, extended=extended)
    grade = final_grade(score, (), ZoneInfo("Europe/Berlin"))

    assert (grade.submitted, grade.late) == phrases


def test_the_same_record_gives_the_same_bytes(tiny: Course, moodle_class: Results):
    """The same record makes the same zip, which contains no current time."""
    request = FeedbackRequest(platform="moodle")
    first, second = (feedback_zip(tiny, moodle_class, request).content for _ in range(2))

    assert first == second


def test_no_name_in_a_zip_leads_out_of_it(
    tiny: Course, results: MakeResults, submission: MakeSubmission, check: MakeCheck
):
    """A hostile name with a number becomes a plain file name, and no page is active."""
    texts = [text for text in HOSTILE_TEXTS if len(text) < 60]  # longer ids lose their number
    ids = [f"{text}_{number}" for number, text in enumerate(texts, 1)]
    run = results(*(submission(check(), student=name) for name in ids))
    download = [f"../<b>_{number}_assignsubmission_file_/x" for number in range(1, 4)]
    made = feedback_zip(tiny, run, FeedbackRequest(platform="moodle", download=download))

    assert len(pages(made.content)) == len(texts)
    for name, page in pages(made.content).items():
        assert re.fullmatch(r"[\w .-]+_\d+_assignsubmission_file_feedback\.html", name)
        assert not re.search(r"<script|<img|<svg|<a href='", page)


def test_a_download_is_a_folder(tmp_path: Path):
    """The download may be the folder as it was unpacked."""
    for name in CANVAS:
        (tmp_path / name).touch()

    assert set(CANVAS) == set(download_names(tmp_path))


def test_a_download_is_a_zip_or_a_folder_that_holds_it(tmp_path: Path):
    """The download may be a zip, or a folder that contains it, such as `downloaded/`."""
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w") as archive:
        for name in CANVAS:
            archive.writestr(name, "")

    assert set(CANVAS) == set(download_names(tmp_path / "submissions.zip"))
    assert set(CANVAS) <= set(download_names(tmp_path))


def test_a_download_that_is_none_is_an_error(tmp_path: Path):
    """A path that is not a download is an error that contains the path."""
    (tmp_path / "a.txt").touch()

    for name in ("a.txt", "missing"):
        with pytest.raises(UsageError, match=name):
            download_names(tmp_path / name)
