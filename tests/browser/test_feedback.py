"""Tests feedback for students and exports for the LMS, after the manual grading."""

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import COMMENT, Photograph, Run
from tests.browser.submissions import FROZEN, MALLORY, STAGE, Expected, armed

LABEL = f"{STAGE}/answer_frozen (max 2)"


@pytest.fixture(scope="module")
def feedback(marked: Path, run: Run) -> Path:
    """The feedback of the whole class."""
    run("nbgrader", "generate_feedback", STAGE, "--force")
    return marked / "feedback"


def address(feedback: Path, student: str) -> str:
    """Return the address of the feedback for *student*."""
    return (feedback / student / STAGE / "lab.html").as_uri()


def test_feedback_holds_the_score_and_the_comment_by_hand(
    page: Page, feedback: Path, photograph: Photograph
):
    """The feedback renders the instructor's comment as Markdown, below the student's answer."""
    page.goto(address(feedback, "grace"))
    answer = page.locator(".nbgrader_cell", has_text=FROZEN.replace("`", ""))

    expect(page.locator("h4")).to_contain_text("Score: 11.5 / 14.0")
    expect(answer).to_contain_text("Score: 1.5 / 2.0")
    expect(answer.locator(".panel-footer")).to_contain_text(COMMENT.replace("*", ""))
    expect(answer.locator(".panel-footer strong")).to_have_text("training")
    photograph("feedback_marked", at=".panel-footer")


def test_feedback_names_the_mistake(
    page: Page, feedback: Path, alan: Expected, photograph: Photograph
):
    """The feedback page shows the same text as formgrader, in sections that open."""
    page.goto(address(feedback, "alan"))
    hint = page.get_by_text(alan.hint).first

    expect(page.locator("blockquote").first).to_contain_text(f"It looks like this: {alan.mistake}.")
    expect(hint).to_be_hidden()
    nudge = page.locator("details").filter(has=hint).locator("summary", has_text="A first nudge")
    nudge.first.click()
    expect(hint).to_be_visible()
    photograph("feedback_mistake", at="blockquote")


@pytest.mark.parametrize("student", ["ada", "alan", "emmy", "grace", MALLORY])
def test_feedback_holds_no_mark_scheme(feedback: Path, student: str):
    """Feedback holds no mark scheme, because students who submit later may read it."""
    text = (feedback / student / STAGE / "lab.html").read_text("utf-8")

    assert "Question 1 (2 points)" in text
    assert "MARK SCHEME" not in text
    assert "Typical partial answers" not in text


def test_a_hostile_submission_is_text_in_its_feedback(
    page: Page, feedback: Path, photograph: Photograph
):
    """The scripts of a hostile submission are text in its feedback; see the ``page`` fixture."""
    page.goto(address(feedback, MALLORY))

    expect(page.get_by_text("window.pwned says hello.")).to_be_visible()
    expect(page.get_by_text("raised ValueError").first).to_be_attached()
    assert armed(page) == []
    photograph("feedback_hostile", at="p:has-text('says hello')")


def test_a_hostile_submission_is_text_in_the_reports(page: Page, graded: Path):
    """The pages that ``grade --report`` writes show a hostile submission as text."""
    reports = sorted((graded / "reports").glob("*.html"))
    assert len(reports) == len(["index", "term"]) + 5

    for report in reports:
        page.goto(report.as_uri())
        assert not page.evaluate("window.pwned")
        assert armed(page) == []


def test_the_traps_of_the_hostile_submission_work(context: BrowserContext, graded: Path, run: Run):
    """In plain nbconvert the hostile submission's scripts run, so these tests can fail."""
    notebook = graded / "submitted" / MALLORY / STAGE / "lab.ipynb"
    run("nbconvert", "--to", "html", str(notebook), "--output-dir", "naive")
    page = context.new_page()
    page.goto((graded / "naive" / "lab.html").as_uri())
    caught = set(page.evaluate("window.pwned"))
    page.close()

    assert {"answer", "output", "own cell", "svg"} <= caught


def test_exports_hold_the_score_by_hand(marked: Path, run: Run, alan: Expected):
    """The manual score is in nbgrader's export and in the kit's, which has a row per exercise."""
    run("nbgrader", "export", "--to", "grades.csv")
    run("autograder", "export", "exercises", "--gradebook", "-o", "exercises.csv")
    grades, exercises = (
        {line["student_id"]: line for line in csv.DictReader(io.StringIO(text))}
        for text in (
            (marked / name).read_text("utf-8-sig") for name in ("grades.csv", "exercises.csv")
        )
    )

    assert grades["grace"]["score"] == "11.5"
    assert grades["alan"]["score"] == alan.score
    assert exercises["grace"][LABEL] == "1.5"
    assert exercises["ada"][LABEL] == "0"
