"""Tests formgrader, in which an instructor reviews a class and grades answers by hand."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import COMMENT, POINTS, Photograph
from tests.browser.formgrader import (
    autograde,
    cell,
    feedback,
    open_submission,
    row,
    score,
    show_names,
)
from tests.browser.submissions import FROZEN, MALLORY, STAGE, Expected, armed


def test_the_stage_is_listed_with_its_submissions(page: Page, photograph: Photograph):
    """All stages of the course are listed, and five students have submitted this one."""
    page.goto("/formgrader/manage_assignments")

    expect(row(page, STAGE).locator(".num-submissions")).to_have_text("5")
    expect(row(page, "10_split_heads").locator(".num-submissions")).to_have_text("0")
    photograph("manage_assignments")


def test_every_submission_is_listed_with_its_score(
    page: Page, alan: Expected, photograph: Photograph
):
    """Written answers wait to be graded by hand; without a notebook, nothing waits."""
    page.goto(f"/formgrader/manage_submissions/{STAGE}")

    score(page, "ada", "10 / 14")
    score(page, "alan", f"{alan.shown} / 14")
    score(page, "emmy", "10 / 14")
    score(page, MALLORY, "0 / 14")
    expect(row(page, "ada").locator(".status")).to_have_text("needs manual grading")
    expect(row(page, "emmy").locator(".status")).to_have_text("graded")
    photograph("manage_submissions")


def test_the_gradebook_separates_code_from_written_answers(
    page: Page, alan: Expected, photograph: Photograph
):
    """The list shows points, waiting answers and failed tests; names are hidden at first."""
    page.goto(f"/formgrader/gradebook/{STAGE}/lab")
    show_names(page)
    wrong = row(page, "alan")

    expect(wrong.locator(".code-score")).to_have_text(f"{alan.shown} / 10")
    expect(wrong.locator(".written-score")).to_have_text("0 / 4")
    expect(wrong.locator(".tests-failed .glyphicon-ok")).to_be_visible()
    expect(row(page, "ada").locator(".tests-failed .glyphicon-ok")).to_have_count(0)
    photograph("gradebook")


def test_a_submission_shows_the_mistake_by_name(page: Page, alan: Expected, photograph: Photograph):
    """Below the grade cell are the expected and the returned tensor, and the mistake's name."""
    open_submission(page, "alan")
    shown = feedback(page, "SelfAttention_v2")

    expect(cell(page, "SelfAttention_v2").locator("input.score")).to_have_attribute(
        "placeholder", alan.points
    )
    expect(shown).to_contain_text(f"It looks like this: {alan.mistake}.")
    expected, yours = shown.locator("table").all()[:2]
    expect(expected).to_contain_text("Expected")
    expect(expected.get_by_role("row", name="journey")).to_contain_text("-0.0748")
    expect(yours).to_contain_text("Yours")
    expect(yours.get_by_role("row", name="journey").locator("u")).to_have_text(
        ["-0.0740", "0.0716"]
    )
    photograph("submission_mistake", at="blockquote")


def test_an_answer_is_below_its_question_and_the_mark_scheme(page: Page, photograph: Photograph):
    """Question, mark scheme and answer are visible, and the score's field asks for a score."""
    open_submission(page, "ada")
    answer = cell(page, "answer_frozen")
    question = page.locator(".text_cell", has_text="Question 1 (2 points)")

    expect(question).to_contain_text("BEGIN MARK SCHEME")
    expect(answer).to_contain_text(FROZEN.replace("`", ""))
    expect(answer.locator("input.score")).to_have_class("score tabbable needs_manual_grade")
    assert question.bounding_box()["y"] < answer.bounding_box()["y"]
    photograph("submission_answer", at="#answer_frozen")


@pytest.mark.usefixtures("marked")
def test_a_score_and_a_comment_by_hand_are_saved(page: Page, photograph: Photograph):
    """A score and a comment are still shown when the page is opened again, and in the list."""
    open_submission(page, "grace")
    answer = cell(page, "answer_frozen")

    expect(answer.locator("input.score")).to_have_value(str(POINTS))
    expect(answer.locator("textarea")).to_have_value(COMMENT)
    photograph("submission_marked", at="#answer_frozen")
    page.goto(f"/formgrader/manage_submissions/{STAGE}")
    score(page, "grace", "11.5 / 14")


def test_its_button_grades_again_and_keeps_manual_scores(
    page: Page, marked: Path, photograph: Photograph
):
    """Grading again builds the same notebook, keeps the score and asks for no second review."""
    notebook = marked / "autograded" / "grace" / STAGE / "lab.ipynb"
    before = notebook.stat().st_ino, notebook.read_bytes()

    log = autograde(page, "grace")

    assert f"Grading 1 submissions of {STAGE}" in log
    assert notebook.stat().st_ino != before[0]
    assert notebook.read_bytes() == before[1]
    score(page, "grace", "11.5 / 14")
    photograph("autograded_again")
    open_submission(page, "grace")
    answer = cell(page, "answer_frozen")
    expect(answer.locator("input.score")).to_have_value(str(POINTS))
    expect(answer.locator("textarea")).to_have_value(COMMENT)
    expect(answer.get_by_role("button", name="Resolve")).to_be_hidden()


def test_its_button_runs_a_hostile_module_in_the_sandbox(page: Page, graded: Path):
    """A hostile module that formgrader's button grades cannot write into the course's folder."""
    log = autograde(page, MALLORY)

    assert f"Grading 1 submissions of {STAGE}" in log
    assert not (graded / "owned").exists()
    score(page, MALLORY, "0 / 14")


def test_a_hostile_submission_is_text(page: Page, photograph: Photograph):
    """A hostile submission's scripts, links and pictures are text; see the ``page`` fixture."""
    open_submission(page, MALLORY)

    expect(cell(page, "answer_frozen")).to_contain_text("window.pwned says hello. <")
    expect(cell(page, "answer_starting_weights")).to_contain_text("style>body {display: none}")
    expect(page.locator(".text_cell", has_text="push('raw')")).to_be_visible()
    expect(page.locator(".output_html", has_text="push('output')")).to_have_count(0)
    assert armed(page) == []
    photograph("submission_hostile", at="#answer_frozen")
