"""The command-line interface: arguments, messages and exit codes."""

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from autograder import __version__, cli
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
def test_a_graded_submission_is_printed_and_recorded(invoke: Invoke, module: Path, tmp_path: Path):
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
def test_a_single_submission_is_printed_in_full_and_has_a_page(
    invoke: Invoke, module: Path, tmp_path: Path
):
    """With --report there is a page for the class, which links to the student's page."""
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
    """A script must not read missing grades as grades."""
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
def test_a_wrong_command_is_exit_code_2(
    invoke: Invoke, module: Path, words: list[str], sentence: str
):
    """One plain message, no traceback."""
    result = invoke(*[word.format(module=module) for word in words])

    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_outside_of_a_course_the_message_names_the_option(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In another folder the message names --course."""
    monkeypatch.chdir(tmp_path)
    result = invoke("release")

    assert result.exit_code == 2
    assert "--course" in result.output


def test_release_lists_what_is_stale_and_builds_it(invoke: Invoke, tiny: Course):
    """`release --check` is exit code 1 before, 0 after `release`."""
    before = invoke("release", "--check")
    built = invoke("release")
    after = invoke("release", "--check")

    assert (before.exit_code, built.exit_code, after.exit_code) == (1, 0, 0)
    assert "tiny.py is stale" in before.output
    assert "built source/01_tiny/tiny.py" in built.output
    assert "raise NotImplementedError" in tiny.stages[0].stub.read_text()


def without_extras(folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
    """Run the command line in *folder* as if no extra was installed."""
    script = (
        "import sys\nfrom autograder.cli import EXTRAS, app\n"
        "sys.modules.update(dict.fromkeys(EXTRAS))\napp(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  # this Python, on the lines above


@pytest.mark.parametrize(
    ("words", "command"),
    [
        pytest.param(["grade", "{module}", "--gradebook"], "grade --gradebook", id="grade"),
        pytest.param(["export", "nbgrader", "--gradebook"], "export --gradebook", id="export"),
    ],
)
def test_a_command_that_lacks_a_library_names_the_extra(
    tiny: Course, module: Path, words: list[str], command: str
):
    """One line that can be copied, exit code 2."""
    done = without_extras(tiny.root, *[word.format(module=module) for word in words])

    assert (done.returncode, done.stderr) == (
        2,
        f"`autograder {command}` needs nbgrader: pip install 'attention-course-kit[instructor]'\n",
    )


@pytest.mark.parametrize(
    ("library", "extra"),
    [
        ("matplotlib", "lab"),
        ("jupyterlab", "lab"),
        ("nbgrader", "instructor"),
        ("nbformat", "instructor"),
        ("distributed", "cluster"),
    ],
)
def test_every_optional_library_belongs_to_an_extra(
    library: str, extra: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Also where one of its submodules is imported."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(typer.Exit) as end, cli._errors_as_messages("grade"):
        importlib.import_module(f"{library}.part")

    assert end.value.exit_code == 2
    assert capsys.readouterr().err == (
        f"`autograder grade` needs {library}: pip install 'attention-course-kit[{extra}]'\n"
    )


@pytest.mark.parametrize("name", ["numpyy", "nbgrader_of_mine", "autograder.gone"])
def test_any_other_missing_module_keeps_its_traceback(name: str):
    """It is a bug of ours or of the course; no extra would help."""
    with pytest.raises(ModuleNotFoundError, match=name), cli._errors_as_messages("grade"):
        importlib.import_module(name)


def test_check_needs_no_optional_library(tmp_path: Path, pytestconfig: pytest.Config):
    """A student installs the kit without extras."""
    folder = tmp_path / "01_dot_product_attention"
    shutil.copytree(pytestconfig.rootpath / "assignments" / folder.name, folder)
    done = without_extras(folder, "check")

    assert (done.returncode, done.stderr) == (1, "")
    assert "The public suite ran: 0 of" in done.stdout
