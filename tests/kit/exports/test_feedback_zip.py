"""Tests the zip of feedback pages: the names for Canvas and Moodle, and the pages."""

import io
import re
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.feedback_zip import (
    FeedbackRequest,
    download_names,
    feedback_zip,
)
from autograder.exports.grade_table import (
    CellGrade,
    GradeTable,
    Score,
    StageColumn,
    StudentGrades,
)
from autograder.results import Results
from autograder.submission.roster import Groups, Member
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
        remarks=("01_tiny: 1 answer waits: lovelaceada_101.", "02_x: 1 answer waits: ada."),
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

    assert made.remarks == ("Not found in the download, no page packed: turingalan_102",)
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
        "01_tiny: 1 answer waits: lovelaceada_101.",
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


def group(*members: str) -> Groups:
    """Return one group in Canvas, whose members have these numbers."""
    each = {
        number: Member(student=f"s{number}", group="Team 1", first_name=f"N{number}")
        for number in members
    }
    return Groups(by_number=each, by_identifier={})


def test_canvas_gets_one_page_for_a_whole_group(
    tiny: Course, results: MakeResults, submission: MakeSubmission, check: MakeCheck
):
    """Canvas shows the page of one member to the group, so it is for all of them by name."""
    run = results(submission(check(), student="lovelaceada_101"))
    request = FeedbackRequest(
        platform="canvas", download=CANVAS[:1], groups=group("101", "102", "103")
    )
    made = feedback_zip(tiny, run, request)
    ((name, page),) = pages(made.content).items()

    assert canvas_reads(name) == ("101", "555")
    assert "Feedback for <bdi>N101, N102, N103</bdi>" in page
    [remark] = made.remarks
    assert remark.startswith("1 page for 3 students: Canvas shows")


def test_moodle_gets_a_page_for_each_member_of_a_group(
    tiny: Course, results: MakeResults, submission: MakeSubmission, check: MakeCheck
):
    """In Moodle each member has a page, and a line names a member who is not in the download."""
    run = results(submission(check(), student="Ada Lovelace_101"))
    request = FeedbackRequest(platform="moodle", download=MOODLE, groups=group("101", "102", "103"))
    made = feedback_zip(tiny, run, request)

    assert [moodle_reads(name)[0] for name in pages(made.content)] == ["101", "102"]
    assert made.remarks == ("Not found in the download, no page packed: s103",)


def test_members_who_each_submitted_have_separate_pages(tiny: Course, graded: Results):
    """If two members of a group submitted, each has a page, and a line says what Canvas does."""
    request = FeedbackRequest(platform="canvas", download=CANVAS, groups=group("101", "102"))
    made = feedback_zip(tiny, graded, request)

    assert len(pages(made.content)) == 2
    [remark] = made.remarks
    assert remark.startswith("Team 1: lovelaceada_101, turingalan_102 submitted, so each has a")
    assert remark.endswith("Canvas shows each of their pages to the whole group")


def test_a_page_has_the_instructors_comment_and_the_answer(tiny: Course, graded: Results):
    """Text from formgrader is on the page as text, and is never markup."""
    why = {"why": CellGrade(manual=1.5, comment="See <b>section 3</b>.")}
    ada = StudentGrades(student="lovelaceada_101", scores={"01_tiny": replace(SCORE, cells=why)})
    request = FeedbackRequest(
        platform="canvas",
        download=CANVAS[:1],
        grades=GradeTable(stages=(StageColumn("01_tiny", "Tiny things", 8.0),), rows=(ada,)),
        answers=lambda student, stage: {"why": f"{student} in {stage}: 2 < 3."},
    )
    (page,) = pages(feedback_zip(tiny, graded, request).content).values()

    assert "See &lt;b&gt;section 3&lt;/b&gt;." in page
    assert "lovelaceada_101 in 01_tiny: 2 &lt; 3." in page
    assert "graded by your instructor" in page


def test_an_override_is_marked_where_the_exercise_is_shown(tiny: Course, graded: Results):
    """The table of exercises and the card say what the instructor gives."""
    cells = {"double": CellGrade(automatic=1.68, manual=2.0)}
    score = Score(raw=2.0, score=2.0, max_score=2.0, exercises={"double": (2.0, 2.0)}, cells=cells)
    ada = StudentGrades(student="lovelaceada_101", scores={"01_tiny": score})
    request = FeedbackRequest(
        platform="canvas",
        download=CANVAS[:1],
        grades=GradeTable(stages=(StageColumn("01_tiny", "Tiny things", 2.0),), rows=(ada,)),
    )
    (page,) = pages(feedback_zip(tiny, graded, request).content).values()

    assert "; your instructor gives 2</span>" in page
    assert "changed by your instructor to 2 of 2" in page
    assert "+0.32" in page
