"""The command line: words in, words out, and exit codes that a script can trust."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from autograder import __version__
from autograder.cli import app
from autograder.course import Course
from autograder.results import Results, Status, SubmissionResult
from autograder.sandbox.isolation import detect_capabilities
from autograder.submission import Submission

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, tiny: Course) -> Invoke:
    """Run the command line within the tiny course."""
    monkeypatch.chdir(tiny.root)
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)

    def run(*words: object) -> Any:
        return CliRunner().invoke(app, [str(word) for word in words])

    return run


@pytest.fixture
def module(tmp_path: Path, solved: Submission) -> Path:
    """The solution, as a file that was handed in."""
    path = tmp_path / "tiny.py"
    path.write_bytes(solved.code.cells[0])
    return path


def test_help_does_not_wait_for_torch():
    """`--help` names the commands and imports neither torch nor pytest."""
    script = (
        "import sys\nfrom autograder.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit as end:\n    code = end.code\n"
        "print(code, 'torch' in sys.modules, 'pytest' in sys.modules)\n"
    )
    done = subprocess.run(  # noqa: S603  # this Python, on the lines above
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert "Teach attention mechanisms" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 False False"


def test_the_version_is_printed(invoke: Invoke):
    """`--version` is one line, exit code 0."""
    result = invoke("--version")

    assert (result.exit_code, result.output) == (0, f"autograder {__version__}\n")


@pytest.mark.usefixtures("lent_fork_server")
def test_a_graded_submission_is_told_and_recorded(invoke: Invoke, module: Path, tmp_path: Path):
    """Exit code 0, a row in the table, the record where --json says."""
    record = tmp_path / "results.json"
    result = invoke(
        "grade", module, "--json", record, "--jobs", 1, "--isolation", detect_capabilities().level
    )

    assert result.exit_code == 0, result.output
    assert "10 / 10" in result.output
    assert "No course secret" in result.output
    assert json.loads(record.read_bytes())["submissions"][0]["score"] == 10.0


@pytest.mark.usefixtures("lent_fork_server")
def test_a_single_submission_is_told_in_full_and_on_a_page(
    invoke: Invoke, module: Path, tmp_path: Path
):
    """With --report there is a page for the class, from which one leads to the student."""
    pages = tmp_path / "pages"
    result = invoke(
        "grade", module, "--report", pages, "--jobs", 1, "--isolation", detect_capabilities().level
    )

    assert result.exit_code == 0, result.output
    assert "Tiny things\nFeedback for" in result.output
    assert f"report: {pages / 'index.html'}" in result.output.replace("\n", "")
    assert len(list(pages.glob("*.html"))) == 2


@pytest.mark.usefixtures("lent_fork_server")
def test_a_bad_grade_is_no_failure_of_the_grader(invoke: Invoke, module: Path):
    """Exit code 0 when grading worked, whatever the grades."""
    module.write_text("while True print")
    result = invoke(
        "grade", module, "--stage", "1", "--jobs", 1, "--isolation", detect_capabilities().level
    )

    assert result.exit_code == 0, result.output
    assert "0 / 10" in result.output


def test_a_failure_of_the_grader_is_exit_code_1(
    invoke: Invoke, module: Path, monkeypatch: pytest.MonkeyPatch
):
    """A script must not take missing grades for grades."""
    failed = SubmissionResult(
        student="a", stage="01_tiny", status=Status.GRADER_ERROR, score=None, max_score=None
    )
    results = Results(course="tiny", isolation="full", submissions=(failed,))
    monkeypatch.setattr("autograder.grading.grade.grade", lambda *_given, **_options: results)
    result = invoke("grade", module)

    assert result.exit_code == 1
    assert "those submissions have no grade" in result.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(["grade", "{module}", "--stage", "9"], "no stage '9'", id="unknown-stage"),
        pytest.param(["grade", "{module}", "--json", "no/r.json"], "no folder no", id="no-folder"),
        pytest.param(["grade", "{module}", "--json", "."], ". is a folder", id="json-is-a-folder"),
        pytest.param(["grade", "{module}", "--report", "{module}"], "is a file", id="report-file"),
        pytest.param(["grade", "nothing.py"], "nothing.py", id="nothing-there"),
        pytest.param(["verify", "--stage", "9"], "no stage '9'", id="verify-unknown-stage"),
        pytest.param(["grade"], "PATH", id="no-path"),
        pytest.param(["grade", "{module}", "--isolation", "none"], "isolation", id="isolation"),
        pytest.param(["learn"], "learn", id="unknown-command"),
    ],
)
def test_a_command_that_can_not_be_served_is_exit_code_2(
    invoke: Invoke, module: Path, words: list[str], sentence: str
):
    """One plain message, no traceback."""
    result = invoke(*[word.format(module=module) for word in words])

    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_outside_of_a_course_the_option_is_named(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Who stands elsewhere reads about --course."""
    monkeypatch.chdir(tmp_path)
    result = invoke("release")

    assert result.exit_code == 2
    assert "--course" in result.output


def test_release_says_what_is_stale_builds_it_and_is_content(invoke: Invoke, tiny: Course):
    """`release --check` is exit code 1 before, 0 after `release`."""
    before = invoke("release", "--check")
    built = invoke("release")
    after = invoke("release", "--check")

    assert (before.exit_code, built.exit_code, after.exit_code) == (1, 0, 0)
    assert "tiny.py is stale" in before.output
    assert "built source/01_tiny/tiny.py" in built.output
    assert "raise NotImplementedError" in tiny.stages[0].stub.read_text()
