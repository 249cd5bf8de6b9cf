"""The command-line interface: arguments, messages and exit codes."""

import importlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import typer
from typer.testing import CliRunner

from autograder import __version__, cli
from autograder.cli import app
from autograder.course import Course
from autograder.results import Results, Status, SubmissionResult, to_json
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


def test_an_only_entry_that_nothing_confirms_is_not_graded(invoke: Invoke, tmp_path: Path):
    """Exit code 1, nothing written, and the sentence says what to do."""
    class_ = tmp_path / "class"
    class_.mkdir()
    with zipfile.ZipFile(class_ / "mallory.zip", "w") as packed:
        for student in ("ada", "bob"):
            packed.writestr(f"{student}/01_tiny/tiny.py", "")
    record, pages = tmp_path / "results.json", tmp_path / "pages"
    before = sorted(Path.cwd().rglob("*"))
    result = invoke("grade", class_, "--json", record, "--report", pages)

    assert result.exit_code == 1
    assert result.output.startswith("mallory.zip, the only entry of class, looks like the hand-ins")
    assert "add --unwrap; if it is what one student handed in, add --no-unwrap" in result.output
    assert sorted(Path.cwd().rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir() if path not in {class_, Path.cwd()}] == []


@pytest.mark.usefixtures("lent_fork_server")
@pytest.mark.parametrize(
    ("option", "students"),
    [("--unwrap", ["ada", "bob"]), ("--no-unwrap", ["mallory"])],
)
def test_an_option_says_whose_an_only_entry_is(
    invoke: Invoke, tmp_path: Path, option: str, students: list[str]
):
    """The record names these students, and no others."""
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(tmp_path / "class" / "mallory.zip", "w") as packed:
        for student in ("ada", "bob"):
            packed.writestr(f"{student}/01_tiny/tiny.py", "")
    record = tmp_path / "results.json"
    options = ("--jobs", 1, "--isolation", detect_capabilities().level, "--json", record)
    result = invoke("grade", tmp_path / "class", option, "--stage", "1", *options)

    assert result.exit_code == 0, result.output
    found = json.loads(record.read_bytes())["submissions"]
    assert [item["student"] for item in found] == students


@pytest.mark.usefixtures("lent_fork_server")
def test_a_bad_grade_is_no_failure_of_the_grader(invoke: Invoke, module: Path):
    """Exit code 0 when grading worked, whatever the grades."""
    module.write_text("while True print")
    result = invoke(
        "grade", module, "--stage", "1", "--jobs", 1, "--isolation", detect_capabilities().level
    )

    assert result.exit_code == 0, result.output
    assert "0 / 10" in result.output


def giving(*results: SubmissionResult) -> Callable[..., Results]:
    """Make a grader that gives *results*, without a sandbox."""

    def grade_each(
        _course: Course, _submissions: object, on_result: Callable[..., None], **_options: object
    ) -> Results:
        for number, result in enumerate(results):
            on_result(number, result)
        return Results(course="tiny", isolation="full", submissions=())

    return grade_each


def test_a_failure_of_the_grader_is_exit_code_1(
    invoke: Invoke, module: Path, monkeypatch: pytest.MonkeyPatch
):
    """A script must not read missing grades as grades."""
    failed = SubmissionResult(
        student="a", stage="01_tiny", status=Status.GRADER_ERROR, score=None, max_score=None
    )
    monkeypatch.setattr("autograder.grading.grade.grade_each", giving(failed))
    result = invoke("grade", module)

    assert result.exit_code == 1
    assert "those submissions have no grade" in result.output


Recorded = Callable[..., Path]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recorded:
    """Let the grader give ada some points, without a sandbox; return the record's place."""

    def give(points: float) -> Path:
        ada = SubmissionResult(
            student="ada", stage="01_tiny", status=Status.GRADED, score=points, max_score=10.0
        )
        monkeypatch.setattr("autograder.grading.grade.grade_each", giving(ada))
        return tmp_path / "results.json"

    return give


def test_a_regrade_says_whose_scores_changed(invoke: Invoke, module: Path, recorded: Recorded):
    """Compared with the record that is overwritten."""
    first = invoke("grade", module, "--json", recorded(5.0))
    again = invoke("grade", module, "--json", recorded(7.5))
    same = invoke("grade", module, "--json", recorded(7.5))

    assert "graded before" not in first.output
    assert "1 of 1 earlier scores changed: ada, 01_tiny: 5 → 7.5 (+2.5)." in (again.output)
    assert "0 of 1 earlier scores changed." in same.output


def test_a_full_disk_is_noticed_before_the_grading(
    invoke: Invoke, module: Path, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """Nobody waits for grades that could not be kept."""
    file = recorded(5.0)
    monkeypatch.setattr("autograder.disk.TemporaryFile", full_disk)
    for words in (["--json", file], ["--report", file.with_name("pages")]):
        result = invoke("grade", module, *words)

        assert result.exit_code == 2
        assert "Nothing was graded, as " in result.output
        assert "No space left on device" in result.output


def full_disk(*_given: object, **_options: object) -> NoReturn:
    """Fail as a full disk does."""
    raise OSError(28, "No space left on device")


def test_a_disk_that_fills_up_meanwhile_keeps_record_and_table(
    invoke: Invoke, module: Path, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """The earlier record stays whole, the new one is where there is space; exit code 1."""
    file = recorded(5.0)
    file.write_text("the earlier one")
    monkeypatch.setattr("autograder.disk.TemporaryDirectory", full_once())
    result = invoke("grade", module, "--json", file)
    kept = re.search(r"The record of this run is (\S+)\.\n", result.output)

    assert result.exit_code == 1
    assert "5 / 10" in result.output
    assert "results.json can't be written: No space left on device." in result.output
    assert file.read_text() == "the earlier one"
    assert kept is not None
    assert json.loads(Path(kept[1]).read_bytes())["submissions"][0]["score"] == 5.0


def full_once() -> Callable[..., Any]:
    """Make temporary folders, but for the first one, where the disk is full."""
    folders: Iterator[Callable[..., Any]] = chain([full_disk], repeat(TemporaryDirectory))

    def make(*given: object, **options: object) -> Any:
        return next(folders)(*given, **options)

    return make


def test_a_gradebook_that_fails_after_the_grading_loses_nothing(
    invoke: Invoke, module: Path, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """Without --json, the record is kept all the same; no traceback, and the table is shown."""
    recorded(5.0)
    writer = SimpleNamespace(write=lambda *_given: full_disk(), registered=())
    monkeypatch.setattr("autograder.gradebook.course_gradebook.Writer", lambda *_given: writer)
    result = invoke("grade", module, "--gradebook")

    assert result.exit_code == 1
    assert "5 / 10" in result.output
    assert "No space left on device" in result.output
    assert "The gradebook has none of these grades. The record of this run is" in result.output


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


def test_feedback_is_packed_from_the_record(invoke: Invoke, tmp_path: Path):
    """The zip is where -o says; without a student's page the exit code is 2."""
    record, made = tmp_path / "r.json", tmp_path / "pages.zip"
    one = SubmissionResult(
        student="Ada_7", stage="01_tiny", status=Status.UNREADABLE, score=0.0, max_score=None
    )
    record.write_bytes(to_json(Results(course="tiny", isolation="full", submissions=(one,))))
    packed = invoke("feedback", "moodle", record, "-o", made)
    failed = invoke("feedback", "canvas", record)

    assert packed.exit_code == 0, packed.output
    assert zipfile.ZipFile(made).namelist() == ["Ada_7_assignsubmission_file_feedback.html"]
    assert (failed.exit_code, "--download" in failed.output) == (2, True)


@pytest.mark.usefixtures("lent_fork_server")
def test_a_download_goes_through_the_record_back_to_its_students(
    invoke: Invoke, module: Path, tmp_path: Path
):
    """Graded from Canvas's folder, the page is named after the hand-in, late mark or not."""
    download, record = tmp_path / "download", tmp_path / "r.json"
    download.mkdir()
    for name in ("adalovelace_11_501_tiny.py", "alanturing_LATE_12_502_tiny.py"):
        shutil.copy(module, download / name)
    level = detect_capabilities().level
    graded = invoke("grade", download, "--json", record, "--jobs", 1, "--isolation", level)
    packed = invoke("feedback", "canvas", record, "--download", download)

    assert (graded.exit_code, packed.exit_code) == (0, 0), graded.output + packed.output
    assert zipfile.ZipFile("feedback.zip").namelist() == [
        "adalovelace_11_501_feedback.html",
        "alanturing_12_502_feedback.html",
    ]


def without_extras(folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
    """Run the command line in *folder* as if no extra was installed."""
    script = (
        "import sys\nfrom autograder.cli import EXTRAS, app\n"
        "sys.modules.update(dict.fromkeys(EXTRAS))\napp(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  # this Python, on the lines above


@pytest.mark.parametrize(
    ("words", "command", "library", "extra"),
    [
        pytest.param(
            ["grade", "{module}", "--gradebook"],
            *("grade --gradebook", "nbgrader", "instructor"),
            id="grade",
        ),
        pytest.param(
            ["export", "nbgrader", "--gradebook"],
            *("export --gradebook", "nbgrader", "instructor"),
            id="export",
        ),
        pytest.param(
            ["grade", "{module}", "--cluster", "tcp://127.0.0.1:1"],
            *("grade", "distributed", "cluster"),
            id="cluster",
        ),
    ],
)
def test_a_command_that_lacks_a_library_names_the_extra(
    tiny: Course, module: Path, words: list[str], command: str, library: str, extra: str
):
    """One line that can be copied, exit code 2; nothing is graded."""
    done = without_extras(tiny.root, *[word.format(module=module) for word in words])

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"`autograder {command}` needs {library}: pip install 'attention-course-kit[{extra}]'"
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


def test_two_records_are_compared(invoke: Invoke, tmp_path: Path):
    """Exit code 0 where nothing differs, 1 where something does, 2 where there is no record."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    for file, points in ((old, 5.0), (new, 7.5)):
        one = SubmissionResult(
            student="ada", stage="01_tiny", status=Status.GRADED, score=points, max_score=10.0
        )
        file.write_bytes(to_json(Results(course="tiny", isolation="full", submissions=(one,))))
    same, other, none = (
        invoke("diff", old, old),
        invoke("diff", old, new),
        invoke("diff", old, tmp_path),
    )

    assert (same.exit_code, other.exit_code, none.exit_code) == (0, 1, 2)
    assert "+2.5  ada, 01_tiny: 5 → 7.5" in other.output


def test_a_grade_is_explained_from_the_record(invoke: Invoke, module: Path, recorded: Recorded):
    """By student and, if there are several, by stage."""
    file = recorded(5.0)
    invoke("grade", module, "--json", file)
    explained, unknown = invoke("explain", file, "ada", "1"), invoke("explain", file, "eve")

    assert (explained.exit_code, unknown.exit_code) == (0, 2)
    assert "ada, 01_tiny: 5 of 10 (graded)" in explained.output
    assert "limits        import_seconds 10" in explained.output
    assert "no student 'eve'" in unknown.output


@pytest.mark.usefixtures("lent_fork_server")
def test_a_regrade_with_nothing_changed_needs_no_sandbox(
    invoke: Invoke, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It prints and writes the same; --fresh grades again."""
    record, words = tmp_path / "r.json", ("--jobs", 1, "--isolation", detect_capabilities().level)
    first = invoke("grade", module, "--json", record, *words)
    text = record.read_bytes()
    graded: list[object] = []
    real = sys.modules["autograder.grading.grade"].grade_each
    monkeypatch.setattr(
        "autograder.grading.grade.grade_each",
        lambda *given, **options: graded.append(given) or real(*given, **options),
    )
    again = invoke("grade", module, "--json", record, *words)
    kept = record.read_bytes()
    fresh = invoke("grade", module, "--json", record, "--fresh", *words)

    assert (first.exit_code, again.exit_code, fresh.exit_code) == (0, 0, 0)
    assert kept == text
    assert len(graded) == 1
    assert "0 of 1 earlier scores changed." in again.output


def test_a_regrade_with_nothing_changed_imports_no_torch(tiny: Course, module: Path):
    """It is done before torch would be imported."""
    script = (
        "import sys\nfrom autograder.cli import app\n"
        "try:\n    app(sys.argv[1:])\nexcept SystemExit as end:\n    code = end.code\n"
        "print(code, 'torch' in sys.modules)\n"
    )
    level = detect_capabilities().level
    words = ["grade", str(module), "--json", "r.json", "--jobs", "1", "--isolation", level]
    runs = [
        subprocess.run(  # noqa: S603  # this Python, on the lines above
            [sys.executable, "-c", script, *words],
            cwd=tiny.root, capture_output=True, text=True, check=True,
        )
        for _ in range(2)
    ]  # fmt: skip

    assert [run.stdout.splitlines()[-1] for run in runs] == ["0 True", "0 False"]


def test_ctrl_c_says_that_nothing_is_lost(
    invoke: Invoke, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The same command goes on."""

    def interrupt(*_given: object, **_options: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("autograder.grading.grade.grade_each", interrupt)
    result = invoke("grade", module, "--json", tmp_path / "r.json")

    assert result.exit_code != 0
    assert "the same command goes on there" in result.output.replace("\n", " ")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write")
def test_a_read_only_folder_is_noticed_before_the_grading(invoke: Invoke, module: Path):
    """For root, too."""
    result = invoke("grade", module, "--json", "/proc/results.json")

    assert result.exit_code == 2
    assert "Nothing was graded, as /proc can't be written" in result.output
