"""Tests JupyterLab, in which students work and instructors open formgrader."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Photograph
from tests.browser.submissions import MALLORY, STAGE, Expected


def test_its_menu_leads_to_formgrader_and_to_the_course(page: Page, photograph: Photograph):
    """The menu of nbgrader opens formgrader in a tab, which lists the stages."""
    page.goto("/lab?reset")
    page.get_by_role("menuitem", name="Nbgrader", exact=True).click()
    page.get_by_role("menuitem", name="Formgrader", exact=True).click()
    inside = page.frame_locator("iframe")

    expect(inside.get_by_role("link", name=STAGE)).to_be_visible()
    photograph("jupyterlab_formgrader")


def test_a_lab_opens_with_its_grade_cells_locked(page: Page, photograph: Photograph):
    """Students can edit their answers, but not the cells that grade them."""
    page.goto(f"/doc/tree/assignments/{STAGE}/lab.ipynb")
    heading = page.get_by_role("heading", name="Stage 04")
    setup = page.locator(".jp-CodeCell", has_text="lab = Lab(").first
    inputs = page.locator(".jp-CodeCell", has_text="words = [").first

    expect(heading).to_be_visible()
    expect(setup.locator(".cm-content")).to_have_attribute("aria-readonly", "true")
    expect(inputs.locator(".cm-content")).not_to_have_attribute("aria-readonly", "true")
    photograph("jupyterlab_lab")


def test_a_graded_notebook_opens_with_readable_feedback(
    page: Page, alan: Expected, photograph: Photograph
):
    """JupyterLab removes some of the style; the text and the numbers stay."""
    page.goto(f"/doc/tree/autograded/alan/{STAGE}/lab.ipynb")
    mistake = page.locator("blockquote", has_text=f"{alan.mistake}.").first
    tables = page.locator(".jp-OutputArea table", has_text="journey")

    expect(mistake).to_be_attached()
    expect(tables.first).to_be_attached()
    photograph("jupyterlab_graded", at="blockquote")


def test_a_graded_hostile_notebook_runs_no_script(page: Page, photograph: Photograph):
    """Opening a graded hostile notebook from formgrader runs no script."""
    page.goto(f"/doc/tree/autograded/{MALLORY}/{STAGE}/lab.ipynb")
    answer = page.locator("p", has_text="window.pwned says hello")

    expect(answer).to_be_attached()
    photograph("jupyterlab_hostile", at="p:has-text('says hello')")
