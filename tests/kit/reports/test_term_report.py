"""Tests the page of the term: a row for each student over all stages, and the trend of mistakes."""

from collections.abc import Callable

import pytest

from autograder.course import Course
from autograder.reports.class_report import build_stage_reports
from autograder.reports.feedback import FinalGrade, GradePart
from autograder.reports.html import code, term_page
from autograder.reports.term_report import ClassList, TermReport, build_term_report
from autograder.results import LATE, Flag, FlagKind, Outcome, Status
from tests.kit.factories import MakeCheck, MakeResults, MakeSubmission

Build = Callable[..., TermReport]


@pytest.fixture
def build(
    tiny: Course, results: MakeResults, submission: MakeSubmission, check: MakeCheck
) -> Build:
    """Report ada in two stages and bob, who is late and without a lab, in one."""

    def make(**people: object) -> TermReport:
        no_lab = Flag(FlagKind.NO_LAB, "No lab.ipynb was submitted")
        run = results(
            submission(check(points=2.0), student="ada", stage="01_tiny"),
            submission(check(points=2.0), student="ada", stage="02_more"),
            submission(
                check(Outcome.FAILED), student="bob", stage="01_tiny", notices=(LATE,),
                flags=(no_lab,),
            ),
        )  # fmt: skip
        known = ClassList(**people)
        return build_term_report(list(build_stage_reports(tiny, run, known.names)), known)

    return make


def test_each_student_has_one_row_over_all_stages(build: Build):
    """A row has the points of each stage, late marks, and what is missing."""
    ada, bob = build().rows

    assert [cell.score for cell in ada.cells] == [2.0, 2.0]
    assert (ada.total, ada.max_total, ada.missing) == (4.0, 4.0, ())
    assert [bool(cell.page) for cell in bob.cells] == [True, False]
    assert bob.cells[0].marks == ("late",)
    assert bob.missing == ("Tiny things: no lab", "02_more")


def test_a_student_who_submitted_nothing_has_a_row(build: Build):
    """A student of the roster without a submission lacks every stage."""
    rows = {row.student: row for row in build(names={"cy": "Cy Young"}).rows}

    assert rows["cy"].name == "Cy Young"
    assert len(rows["cy"].missing) == 2
    assert rows["cy"].max_total == 4.0


def test_the_points_are_those_of_the_gradebook(build: Build):
    """With a gradebook, totals, extensions, penalties and changes by hand are in the row."""
    parts = (GradePart(name="why", source="not graded yet", points=None, max_points=2.0),)
    grade = FinalGrade(
        score=1.5, max_score=4.0, penalty=0.2, checks=2.0, max_checks=2.0, parts=parts,
        changed={"double": 1.7}, is_late=True, extended=True,
    )  # fmt: skip
    ada = build(grades={("ada", "01_tiny"): grade}).rows[0]

    assert (ada.total, ada.max_total) == (3.5, 6.0)
    assert ada.cells[0].marks == (
        "late, \N{MINUS SIGN}0.2", "extension", "answers wait", "changed by hand",
    )  # fmt: skip


def test_a_member_of_a_group_has_the_points_of_the_group(build: Build):
    """A member without a submission has the points and the page of the one who submitted."""
    rows = {row.student: row for row in build(groups={"01_tiny": {"eve": "ada"}}).rows}

    assert rows["eve"].cells[0].score == 2.0
    assert rows["eve"].cells[0].marks == ("group of ada",)
    assert rows["eve"].missing == ("02_more",)


def test_mistakes_are_counted_by_stage(
    tiny: Course, results: MakeResults, submission: MakeSubmission, failed_check
):
    """The trend has the number of students with a mistake in each stage, the commonest first."""
    run = results(
        *(submission(failed_check, student=name, stage="01_tiny") for name in ("ada", "bob")),
        submission(failed_check, student="ada", stage="02_more"),
    )
    report = build_term_report(list(build_stage_reports(tiny, run, {})), ClassList())

    assert [trend.counts for trend in report.trends] == [(2, 1)]


def test_the_page_escapes_names_and_has_no_grade_of_an_unreadable_submission(
    tiny: Course, results: MakeResults, submission: MakeSubmission
):
    """A name is never markup, and a submission without a grade is not a zero."""
    run = results(submission(student="ada", status=Status.UNREADABLE))
    people = ClassList(names={"ada": "<b>Ada</b>"})
    page = term_page(tiny, list(build_stage_reports(tiny, run, people.names)), people)

    assert "&lt;b&gt;Ada" in page
    assert ">none</a>" in page
    assert "no grade" in page


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("use `x < y` here", "use <code>x &lt; y</code> here"),
        ("a ` alone and <i>", "a ` alone and &lt;i&gt;"),
        ("`a` and `b`", "<code>a</code> and <code>b</code>"),
        ("", ""),
    ],
)
def test_backticks_are_code(text: str, html: str):
    """A part between backticks is code; everything is escaped."""
    assert code(text) == html
