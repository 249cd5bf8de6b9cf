"""The pages as Chromium lays them out, on a phone and on a desktop."""

from pathlib import Path

import pytest

from autograder.course import Course
from autograder.reports.class_report import class_report
from autograder.reports.html import feedback
from autograder.results import Results
from tests.kit.reports.conftest import DESKTOP, PHONE, Browser

OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
CUT_OFF = """
[...document.querySelectorAll('main *, header *, footer *')]
  .filter(item => !item.closest('.scroll, .unseen'))
  .filter(item => item.getBoundingClientRect().right > window.innerWidth
                  || item.getBoundingClientRect().left < 0)
  .map(item => item.outerHTML.slice(0, 80))
"""
RED = "+getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"
SCROLLS = """
[...document.querySelectorAll('.scroll')]
  .filter(item => item.scrollWidth > item.clientWidth)
  .map(item => {
    item.scrollLeft = 1e6;
    const last = item.querySelector('tbody tr:last-child td:last-child').getBoundingClientRect();
    return item.tabIndex === 0 && last.right <= item.getBoundingClientRect().right + 1;
  })
"""


@pytest.fixture
def pages(tiny: Course, graded_class: Results, hostile: Results) -> list[str]:
    """Every page of an ordinary class and of a hostile one."""
    return [
        page
        for run in (graded_class, hostile)
        for page in (class_report(tiny, run), *(feedback(tiny, item) for item in run.submissions))
    ]


@pytest.mark.parametrize(
    "width", [pytest.param(PHONE, id="phone"), pytest.param(DESKTOP, id="desk")]
)
def test_no_page_is_wider_than_its_window(browser: Browser, pages: list[str], width: int):
    """With everything unfolded, no part reaches beyond the window but inside a box that scrolls."""
    for page in pages:
        browser.show(page, width, unfold=True)

        assert browser.value("window.innerWidth") == width
        assert browser.value(OVERFLOW) <= 0
        assert browser.value(CUT_OFF) == []


def test_a_grid_that_is_too_wide_for_a_phone_scrolls_to_its_last_entry(
    browser: Browser, tiny: Course, graded_class: Results
):
    """Inside its own box, with a finger or from the keyboard."""
    browser.show(feedback(tiny, graded_class.submissions[1]), PHONE, unfold=True)
    scrolls = browser.value(SCROLLS)

    assert scrolls
    assert all(scrolls)


def test_the_measure_notices_what_is_too_wide(browser: Browser, pages: list[str]):
    """The two tests above can fail."""
    wide = pages[0].replace("<h2", '<p style="width: 500px">wide</p><h2', 1)
    browser.show(wide, PHONE)

    assert browser.value(OVERFLOW) > 0
    assert browser.value(CUT_OFF)


def test_the_page_takes_the_readers_scheme(browser: Browser, pages: list[str]):
    """Dark paper at night."""
    reds = []
    for dark in (False, True):
        browser.show(pages[0], DESKTOP, dark=dark)
        reds.append(browser.value(RED))

    assert reds[0] > 200
    assert reds[1] < 50


def test_a_page_can_be_photographed(browser: Browser, pages: list[str], tmp_path: Path):
    """To look at: `pytest --basetemp` keeps the pictures."""
    for width in (PHONE, DESKTOP):
        browser.show(pages[2], width)
        browser.photograph(tmp_path / f"{width}.png")

        assert (tmp_path / f"{width}.png").read_bytes().startswith(b"\x89PNG")


def test_no_script_of_a_page_would_run(browser: Browser, pages: list[str]):
    """The policy holds even where escaping had failed; without the policy it does run."""
    page = pages[0].replace("<h2", "<script>document.title = 'ran'</script><h2", 1)
    titles = []
    for text in (page, page.replace("http-equiv", "name")):
        browser.show(text, PHONE)
        titles.append(browser.value("document.title"))

    assert titles == ["Tiny: class report", "ran"]
