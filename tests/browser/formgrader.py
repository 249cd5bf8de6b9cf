"""Drives formgrader's pages as an instructor does."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.submissions import STAGE


def row(page: Page, name: str) -> Locator:
    """Find the row of a table that has a cell with exactly *name* in it, once it has loaded."""
    return page.locator("tr", has=page.locator("td").get_by_text(name, exact=True))


def score(page: Page, name: str, shown: str) -> None:
    """Wait until the row of *name* shows *shown* as the score."""
    expect(row(page, name).locator(".score")).to_have_text(shown)


def show_names(page: Page) -> None:
    """Press the button that shows the students' names in the rows loaded so far."""
    expect(page.locator("a.name-hidden").first).to_be_visible()
    page.get_by_role("button", name="Show All Names").click()


def open_submission(page: Page, student: str) -> None:
    """Click through the manual grading to the submission of *student*, and wait for the scores."""
    page.goto("/formgrader/gradebook")
    page.get_by_role("link", name=STAGE).click()
    page.get_by_role("link", name="lab", exact=True).click()
    show_names(page)
    with page.expect_response("**/api/comments?*"), page.expect_response("**/api/grades?*"):
        page.get_by_role("link", name=student, exact=True).click()


def cell(page: Page, name: str) -> Locator:
    """Find the box of the graded cell *name*."""
    return page.locator(".nbgrader_cell", has=page.locator(f"#{name}"))


def feedback(page: Page, name: str) -> Locator:
    """Find the autograder's feedback below the grade cell *name*."""
    title = page.locator("code", has_text=re.compile(f"^{name}$"))
    return page.locator(".output_html > div", has=page.locator("p strong", has=title))


def autograde(page: Page, student: str) -> str:
    """Press the button that grades *student* again; return what formgrader logged."""
    page.goto(f"/formgrader/manage_submissions/{STAGE}")
    row(page, student).locator(".autograde a").click()
    modal = page.locator("#success-modal, #error-modal")
    expect(modal.locator(".modal-title")).to_have_text("Success")
    log = modal.locator("pre").inner_text()
    modal.get_by_role("button", name="OK").click()
    expect(modal).to_have_count(0)
    return log
