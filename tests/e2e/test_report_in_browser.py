"""Tests the pages as Chromium displays them, on a phone and on a desktop."""

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.reports.class_report import build_stage_reports
from autograder.reports.html import feedback_page, term_page
from autograder.reports.term_report import ClassList
from autograder.results import Results
from tests.kit import conftest as kit
from tests.kit.factories import MakeResults, MakeSubmission, class_page_of
from tests.kit.reports import conftest as reports

PHONE = 360
NARROW = 400
DESKTOP = 1280
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe",
)  # fmt: skip

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
SHOWN = "[...document.querySelectorAll('.submissions tbody tr:not([hidden]) th a')]"
TYPE = """
(() => {{
  const field = document.querySelector('#tools {field}');
  field.value = '{words}';
  field.dispatchEvent(new Event('input'));
}})()
"""
TROUBLES = """
[...document.querySelectorAll('td.problem')]
  .filter(item => item.textContent)
  .map(item => item.getBoundingClientRect())
  .filter(item => item.width < 280 || item.height < 12).length
"""


# The fixtures of the kit's own tests; pytest finds them among the names of this module.
write_course, tiny = kit.write_course, kit.tiny
check, submission, results = kit.check, kit.submission, kit.results
weights, diagnosis, failed_check = reports.weights, reports.diagnosis, reports.failed_check
graded_class, hostile = reports.graded_class, reports.hostile
large_class = reports.large_class


class Browser:
    """Controls Chromium through a pipe, and measures pages on which no script may run."""

    def __init__(self, profile: Path) -> None:
        plumbing = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null'  # Chromium reads 3 and writes 4
        command = [shutil.which("chromium") or "", *FLAGS, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(  # noqa: S603  # our own command
            ["/bin/sh", "-c", plumbing, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._write, self._read = self._process.stdin, self._process.stdout
        self._rest = b""
        self._number = 0
        self._session = ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]

    def show(self, page: str, width: int, *, dark: bool = False, unfold: bool = False) -> None:
        """Lay *page* out at exactly *width* pixels, with every fold open if *unfold*."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=False,
        )
        self._ask("Page.navigate", url="about:blank")  # the last page's policy goes with it
        frame = self._ask("Page.getFrameTree")["frameTree"]["frame"]["id"]
        self._ask("Page.setDocumentContent", frameId=frame, html=page)
        if unfold:
            self.value("document.querySelectorAll('details').forEach(item => item.open = true)")

    def value(self, expression: str) -> object:
        """Evaluate JavaScript from outside the page, where its policy does not reach."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def photograph(self, path: Path) -> None:
        """Write the whole page, however long, as a PNG."""
        answer = self._ask("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def close(self) -> None:
        """Let Chromium end by itself."""
        self._session = ""
        self._ask("Browser.close")
        self._process.wait()
        self._write.close()
        self._read.close()

    def _ask(self, method: str, **parameters: object) -> dict:
        self._number += 1
        question = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            question["sessionId"] = self._session
        self._write.write(json.dumps(question).encode() + b"\0")
        while True:  # events come in between
            answer = json.loads(self._receive())
            if answer.get("id") == self._number:
                return answer["result"]

    def _receive(self) -> bytes:
        while b"\0" not in self._rest:
            piece = self._read.read(1 << 16)
            if not piece:
                msg = "Chromium ended before it answered"
                raise EOFError(msg)
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return message


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A running Chromium, if one is installed."""
    if shutil.which("chromium") is None:
        pytest.skip("no chromium here to lay pages out")
    running = Browser(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture
def pages(tiny: Course, graded_class: Results, hostile: Results) -> list[str]:
    """Every page of an ordinary class and of a hostile one."""
    return [
        page
        for run in (graded_class, hostile)
        for page in (
            class_page_of(tiny, run),
            *(feedback_page(tiny, item) for item in run.submissions),
        )
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "width", [pytest.param(PHONE, id="phone"), pytest.param(DESKTOP, id="desktop")]
)
def test_no_page_is_wider_than_its_window(browser: Browser, pages: list[str], width: int):
    """With every fold open, only boxes that scroll are wider than the window."""
    for page in pages:
        browser.show(page, width, unfold=True)

        assert browser.value("window.innerWidth") == width
        assert browser.value(OVERFLOW) <= 0
        assert browser.value(CUT_OFF) == []


def test_a_grid_that_is_too_wide_for_a_phone_scrolls_to_its_last_entry(
    browser: Browser, tiny: Course, graded_class: Results
):
    """On a phone a wide grid scrolls inside its own box, by touch or keyboard."""
    browser.show(feedback_page(tiny, graded_class.submissions[1]), PHONE, unfold=True)
    scrolls = browser.value(SCROLLS)

    assert scrolls
    assert all(scrolls)


def test_the_measure_notices_what_is_too_wide(browser: Browser, pages: list[str]):
    """The measure of the two tests above finds a part that is too wide."""
    wide = pages[0].replace("<h2", '<p style="width: 500px">wide</p><h2', 1)
    browser.show(wide, PHONE)

    assert browser.value(OVERFLOW) > 0
    assert browser.value(CUT_OFF)


def test_the_page_takes_the_readers_scheme(browser: Browser, pages: list[str]):
    """The background is dark in the reader's dark scheme."""
    reds = []
    for dark in (False, True):
        browser.show(pages[0], DESKTOP, dark=dark)
        reds.append(browser.value(RED))

    assert reds[0] > 200
    assert reds[1] < 50


def test_the_page_of_the_term_has_room_for_words(
    browser: Browser, tiny: Course, results: MakeResults, submission: MakeSubmission
):
    """However many stages there are, the last column has room for words, and the table scrolls."""
    run = results(*(submission(student="ada", stage=f"{n:02}_a_long_title") for n in range(12)))
    people = ClassList(names={"ada": "Ada", "bob": "Bob"})
    page = term_page(tiny, list(build_stage_reports(tiny, run, people.names)), people)
    browser.show(page, DESKTOP)
    widths = browser.value(
        "[...document.querySelectorAll('td.small')].map(td => td.getBoundingClientRect().width)"
    )

    assert len(widths) == 2
    assert min(widths) > 200
    assert browser.value(OVERFLOW) <= 0
    assert all(browser.value(SCROLLS))


def test_a_page_can_be_photographed(browser: Browser, pages: list[str], tmp_path: Path):
    """Each page can be saved as a picture; `pytest --basetemp` keeps the files."""
    for width in (PHONE, DESKTOP):
        browser.show(pages[2], width)
        browser.photograph(tmp_path / f"{width}.png")

        assert (tmp_path / f"{width}.png").read_bytes().startswith(b"\x89PNG")


def test_no_script_of_a_page_would_run(browser: Browser, pages: list[str]):
    """The policy blocks a script that was not escaped; without the policy the script runs."""
    page = pages[0].replace("<h2", "<script>document.title = 'ran'</script><h2", 1)
    titles = []
    for text in (page, page.replace("http-equiv", "name")):
        browser.show(text, PHONE)
        titles.append(browser.value("document.title"))

    assert titles == ["Tiny: class report", "ran"]


@pytest.fixture
def report(browser: Browser, tiny: Course, large_class: Results) -> Browser:
    """The class report of 300 students, on a desktop."""
    names = {item.student: f"Student {300 - at}" for at, item in enumerate(large_class.submissions)}
    browser.show(class_page_of(tiny, large_class, names), DESKTOP)
    return browser


def test_the_report_sorts_numbers_as_numbers_and_names_as_words(report: Browser):
    """A click on a head sorts the report, and a second click reverses the order."""
    heads = "[...document.querySelectorAll('.submissions thead button')]"
    points = "[...document.querySelectorAll('.submissions td.number')].map(td => td.dataset.value)"
    report.value(f"{heads}[0].click()")
    first = report.value(f"{SHOWN}.slice(0, 3).map(item => item.textContent)")
    report.value(f"{heads}[2].click(), {heads}[2].click()")
    scores = [float(score) for score in report.value(points) if score]

    assert first == ["Student 1", "Student 2", "Student 3"]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 10


def test_the_report_is_filtered_and_searched(report: Browser):
    """Filters find reviews, names and mistakes, and the number of rows is shown."""
    every = report.value(f"{SHOWN}.length")
    report.value(TYPE.format(field="select", words="review"))
    review = report.value(f"{SHOWN}.length")
    report.value(TYPE.format(field="select", words=""))
    report.value(TYPE.format(field="input", words="S123 student"))

    assert (every, review) == (300, 6)
    assert report.value(f"{SHOWN}.map(item => item.textContent)") == ["Student 177"]
    assert report.value("document.querySelector('#tools p').textContent") == (
        "1 of 300 submissions shown"
    )


def test_without_its_script_the_report_can_be_read(
    browser: Browser, tiny: Course, large_class: Results
):
    """Without its script the report shows all rows, and no control that needs the script."""
    page = class_page_of(tiny, large_class).replace('"use strict"', '"changed"', 1)
    browser.show(page, DESKTOP)

    assert browser.value(f"{SHOWN}.length") == 300
    assert browser.value("document.querySelector('#tools').hidden") is True
    assert browser.value("document.querySelectorAll('button').length") == 0


@pytest.mark.slow
@pytest.mark.parametrize("width", [PHONE, NARROW, DESKTOP])
def test_a_large_class_fits_its_window(
    browser: Browser, tiny: Course, large_class: Results, width: int, tmp_path: Path
):
    """A large class fits the window, on a phone too, and nothing is cut off."""
    browser.show(class_page_of(tiny, large_class), width, unfold=True)
    browser.photograph(tmp_path / f"large-{width}.png")

    assert browser.value(OVERFLOW) <= 0
    assert browser.value(CUT_OFF) == []
    assert browser.value(TROUBLES) == 0
