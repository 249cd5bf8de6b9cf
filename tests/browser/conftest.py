"""Provides a graded class, JupyterLab in its course, and Chromium to visit both."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser import formgrader
from tests.browser.server import Server, jupyter_lab
from tests.browser.submissions import ELSEWHERE, STAGE, Expected, expected, submit_class

ROOT = Path(__file__).parents[2]
COURSE = ("course.toml", "nbgrader_config.py", "solutions", "source", "assignments", "tests/hidden")
POINTS = 1.5
COMMENT = "Well seen. And what does **training** need?"
TIMEOUT = 60_000  # ms; for a busy machine, nothing else waits so long
# formgrader fails without MathJax, which nbconvert's pages load from the Internet. This one never
# finishes: formgrader would then scroll to the top during a test.
MATHJAX = "window.MathJax = {Hub: {Startup: {signal: {Interest() {}}}}}"

Run = Callable[..., str]
Photograph = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option that saves pictures of the pages."""
    parser.addoption("--shots", type=Path, metavar="DIR", help="Put pictures of the pages here.")


def pytest_configure() -> None:
    """Fail the tests without a browser, because skipped tests could look like passed ones."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a terminated run cleans up first
    if shutil.which("chromium") is None:
        msg = "These tests need Chromium, and there is none. On Debian: apt-get install chromium"
        raise pytest.UsageError(msg)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables that make Jupyter ignore the settings of this machine."""
    home = str(tmp_path_factory.mktemp("home"))
    kept = {name: text for name, text in os.environ.items() if not name.startswith("JUPYTER")}
    return kept | {"HOME": home, "IPYTHONDIR": home}


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the course."""
    root = tmp_path_factory.mktemp("course")
    for name in COURSE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / name)
    return root


@pytest.fixture(scope="session")
def run(course: Path, environment: dict[str, str]) -> Run:
    """Run a program of this Python environment in the course's folder."""

    def run(*words: str) -> str:
        done = subprocess.run(  # noqa: S603  # our own arguments
            [sys.executable, "-m", *words],
            cwd=course,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words} printed:\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def graded(course: Path, run: Run) -> Path:
    """The course after the submissions of stage 04 have been graded."""
    submit_class(course, ROOT / "examples" / "submitted")
    run("autograder", "grade", "submitted", "--stage", STAGE, "--gradebook", "--report", "reports")
    return course


@pytest.fixture(scope="session")
def alan() -> Expected:
    """The texts about the exercise in which alan's mistake costs points."""
    return expected(ROOT, "alan", "SelfAttention_v2")


@pytest.fixture(scope="session")
def server(
    graded: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """JupyterLab in the course's folder."""
    log = tmp_path_factory.mktemp("log") / "jupyterlab.txt"
    with jupyter_lab(graded, environment, log) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium; Playwright has not installed its own browser here."""
    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        yield running
        running.close()


@pytest.fixture(scope="session")
def context(browser: Browser, server: Server) -> Iterator[BrowserContext]:
    """An instructor who has logged in."""
    opened = browser.new_context(base_url=server.url, viewport={"width": 1280, "height": 960})
    opened.set_default_timeout(TIMEOUT)
    opened.route("https://cdnjs.cloudflare.com/**", lambda route: route.fulfill(body=MATHJAX))
    opened.request.get(f"/lab?token={server.token}")  # its cookie is valid for every page
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def marked(context: BrowserContext, graded: Path) -> Path:
    """The course after the instructor graded grace's first answer in formgrader, with a comment."""
    page = context.new_page()
    formgrader.open_submission(page, "grace")
    answer = formgrader.cell(page, "answer_frozen")
    for field, text, saved in (
        (answer.locator("input.score"), str(POINTS), "**/api/grade/*"),
        (answer.locator("textarea"), COMMENT, "**/api/comment/*"),
    ):
        with page.expect_response(saved):  # formgrader saves a field when it loses the focus
            field.fill(text)
            field.blur()
    page.close()
    return graded


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A browser page on which no student's script runs."""
    dialogs, requests = [], []
    page = context.new_page()
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))
    yield page
    caught = [frame.evaluate("window.pwned") for frame in page.frames]
    page.close()

    assert not any(caught), caught
    assert not dialogs
    assert not [url for url in requests if url.startswith(ELSEWHERE)]


@pytest.fixture
def photograph(page: Page, request: pytest.FixtureRequest) -> Photograph:
    """Take a picture of the page, scrolled to the element *at*, if ``--shots`` names a folder."""
    folder = request.config.getoption("shots")

    def photograph(name: str, at: str = "") -> None:
        if folder is None:
            return
        if at:
            page.locator(at).first.evaluate("item => item.scrollIntoView({block: 'center'})")
        page.screenshot(path=folder / f"{name}.png", animations="disabled")

    return photograph
