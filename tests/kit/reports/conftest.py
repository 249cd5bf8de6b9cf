"""A class that was graded, as a record; and a browser to look at its pages."""

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.results import (
    CheckResult,
    Diagnosis,
    Grid,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)

TOKENS = ("Your", "journey", "starts", "with", "one", "step")
HOSTILE = (
    "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "</style></title></textarea><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% include 'x' %}<a href='javascript:alert(1)'>x</a>",
    "\x1b[2J\x1b[31m\x1b]52;c;aGk=\x07\x9b1mALL TESTS PASSED",
    "[red]x[/red] [link=http://a]y[/link] :smile:",
    '=HYPERLINK("http://a")',
    "../../etc/passwd\x00.html",
    "\u202egnp.exe\u2066\ud800",
    "x" * 1_000_000,
    "<b>\n" * 250_000,
    "e" + "\u0301" * 1_000_000,
)
PHONE = 360
DESKTOP = 1280
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe",
)  # fmt: skip

MakeCheck = Callable[..., CheckResult]
MakeSubmission = Callable[..., SubmissionResult]
MakeResults = Callable[..., Results]


@pytest.fixture
def weights() -> Grid:
    """Attention weights of six tokens, wrong in the row of the second one."""
    expected = tuple(tuple(f"{0.1 + 0.01 * (i + j):.4f}" for j in range(6)) for i in range(6))
    yours = (expected[0], ("0.9000",) * 6, *expected[2:])
    wrong = tuple((i == 1,) * 6 for i in range(6))
    difference = tuple(("0.7000" if i == 1 else "0.0000",) * 6 for i in range(6))
    return Grid(expected, yours, difference, wrong, TOKENS, TOKENS)


@pytest.fixture
def diagnosis() -> Diagnosis:
    """A mistake by name."""
    return Diagnosis("forgets_to_scale", "The scores are not scaled.", "How long are the vectors?")


@pytest.fixture
def trouble(check: MakeCheck, weights: Grid, diagnosis: Diagnosis) -> CheckResult:
    """A failed check with everything that a check can say."""
    return check(
        Outcome.FAILED,
        title="The weights are the documented ones.",
        message="double(inputs) differs in 6 of 36 entries, by up to 0.7000.",
        diagnosis=diagnosis,
        grid=weights,
    )


@pytest.fixture
def graded_class(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults, trouble: CheckResult
) -> Results:
    """A small class: one complete, two with the same mistake, one unreadable, one of our own."""
    return results(
        submission(check(), student="ada"),
        submission(
            check(), trouble, student="alan", notices=("cell 7 raised",), ignored=("a.txt",)
        ),
        submission(trouble, student="emmy"),
        submission(student="ruth", status=Status.UNREADABLE, message="Nothing was handed in."),
        submission(student="zoe", status=Status.GRADER_ERROR, score=None, message="Ours."),
    )


@pytest.fixture
def hostile(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults, weights: Grid
) -> Results:
    """A class whose every text tries to be more than text."""
    checks = (
        check(
            Outcome.FAILED,
            title=f"{text} title",
            message=f"{text} message",
            diagnosis=Diagnosis(text, f"{text} explanation", f"{text} hint"),
            grid=replace(weights, rows=(text,) * 6, yours=((text,) * 6,) * 6),
        )
        for text in HOSTILE
    )
    return results(
        *(
            submission(
                item, student=text, message=text, notices=(text,) * 500, ignored=(text,) * 500
            )
            for text, item in zip(HOSTILE, checks, strict=True)
        )
    )


class Browser:
    """Chromium behind a pipe: it measures pages on which no script may run."""

    def __init__(self, profile: Path) -> None:
        plumbing = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null'  # Chromium reads 3 and writes 4
        command = [shutil.which("chromium") or "", *FLAGS, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(  # noqa: S603  # our own words
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
        """Lay *page* out at exactly *width* pixels, with every fold open if so wished."""
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
    """A running Chromium, where one is installed."""
    if shutil.which("chromium") is None:
        pytest.skip("no chromium here to lay pages out")
    running = Browser(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()
