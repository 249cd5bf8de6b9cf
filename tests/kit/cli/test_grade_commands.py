"""Tests commands that read submissions: messages, files and exit codes."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace

from autograder.cli.inputs import find_stages
from autograder.course import Course, load
from autograder.results import Results, Status, SubmissionResult, to_json
from autograder.sandbox.isolation import detect_capabilities
from autograder.stored_results import read_record

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself
Recorded = Callable[..., Path]


@pytest.mark.usefixtures("lent_fork_server")
def test_a_graded_submission_is_printed_and_recorded(invoke: Invoke, module: Path, tmp_path: Path):
    """Grading has exit code 0, prints a row, and writes the record to the path of --json."""
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
    assert len(list(pages.glob("*.html"))) == 3


def test_a_download_with_a_foreign_name_is_not_graded(invoke: Invoke, tmp_path: Path):
    """If one name is not the platform's, the exit code is 1, and nothing is written."""
    class_ = tmp_path / "class"
    class_.mkdir()
    for name in ("ada_1_9_tiny.py", "bob_2_8_tiny.py", "tiny.py", "notes.txt"):
        (class_ / name).write_text("")
    record, pages = tmp_path / "results.json", tmp_path / "pages"
    result = invoke("grade", class_, "--json", record, "--report", pages)

    assert result.exit_code == 1
    assert "2 names are as Canvas makes them, but not notes.txt and tiny.py." in result.output
    assert "add --from canvas" in result.output
    assert not record.exists()
    assert not pages.exists()


@pytest.mark.usefixtures("lent_fork_server")
def test_an_option_names_the_platform(invoke: Invoke, tmp_path: Path):
    """With --from, the names that are not the platform's are left out."""
    class_ = tmp_path / "class"
    class_.mkdir()
    for name in ("ada_1_9_tiny.py", "bob_2_8_tiny.py", "notes.txt"):
        (class_ / name).write_text("")
    record = tmp_path / "results.json"
    options = ("--jobs", 1, "--isolation", detect_capabilities().level, "--json", record)
    result = invoke("grade", class_, "--from", "canvas", "--stage", "1", *options)

    assert result.exit_code == 0, result.output
    found = json.loads(record.read_bytes())["submissions"]
    assert [item["student"] for item in found] == ["ada_1", "bob_2"]
    assert "Not submissions, so not read: notes.txt" in result.output


@pytest.mark.usefixtures("lent_fork_server")
def test_a_bad_grade_is_not_a_failure_of_the_grader(invoke: Invoke, module: Path):
    """The exit code is 0 when grading worked, even for bad grades."""
    module.write_text("while True print")
    result = invoke(
        "grade", module, "--stage", "1", "--jobs", 1, "--isolation", detect_capabilities().level
    )

    assert result.exit_code == 0, result.output
    assert "0 / 10" in result.output


def test_a_failure_of_the_grader_is_exit_code_1(
    invoke: Invoke, module: Path, give_results: Callable[..., None]
):
    """A grader error has exit code 1, so that a script does not use the missing grade."""
    failed = SubmissionResult(
        student="a", stage="01_tiny", status=Status.GRADER_ERROR, score=None, max_score=None
    )
    give_results(failed)
    result = invoke("grade", module)

    assert result.exit_code == 1
    assert "the affected submissions have no grade" in result.output


def test_a_regrade_says_whose_scores_changed(invoke: Invoke, module: Path, recorded: Recorded):
    """A regrade lists the changed scores, compared with the record that it overwrites."""
    first = invoke("grade", module, "--json", recorded(5.0))
    again = invoke("grade", module, "--json", recorded(7.5))
    same = invoke("grade", module, "--json", recorded(7.5))

    assert "graded before" not in first.output
    assert "1 of 1 earlier scores changed: ada, 01_tiny: 5 → 7.5 (+2.5)." in (again.output)
    assert "0 of 1 earlier scores changed." in same.output


def test_a_full_disk_is_noticed_before_the_grading(
    invoke: Invoke, module: Path, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """A full disk is reported before the grading."""
    file = recorded(5.0)
    monkeypatch.setattr("autograder.disk.TemporaryFile", full_disk)
    for words in (["--json", file], ["--report", file.with_name("pages")]):
        result = invoke("grade", module, *words)

        assert result.exit_code == 2
        assert "Nothing was graded because " in result.output
        assert "No space left on device" in result.output


def full_disk(*_given: object, **_options: object) -> NoReturn:
    """Fail as a full disk does."""
    raise OSError(28, "No space left on device")


def test_a_disk_that_fills_up_meanwhile_keeps_record_and_table(
    invoke: Invoke, module: Path, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """On a full disk the earlier record stays, and the new record is written elsewhere."""
    file = recorded(5.0)
    earlier = to_json(Results(course="tiny", isolation="full", submissions=()))
    file.write_bytes(earlier)
    monkeypatch.setattr("autograder.disk.TemporaryDirectory", full_once())
    result = invoke("grade", module, "--json", file)
    kept = re.search(r"The record of this run is (\S+)\.\n", result.output)

    assert result.exit_code == 1
    assert "5 / 10" in result.output
    assert "results.json can't be written: No space left on device." in result.output
    assert file.read_bytes() == earlier
    assert kept is not None
    assert json.loads(Path(kept[1]).read_bytes())["submissions"][0]["score"] == 5.0


def full_once() -> Callable[..., Any]:
    """Make temporary folders, except the first, which is on a full disk."""
    folders: Iterator[Callable[..., Any]] = chain([full_disk], repeat(TemporaryDirectory))

    def make(*given: object, **options: object) -> Any:
        return next(folders)(*given, **options)

    return make


@pytest.mark.slow
def test_a_gradebook_that_fails_after_the_grading_loses_nothing(
    invoke: Invoke, module: Path, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    """If the gradebook fails after grading, the record is kept and the table is shown."""
    recorded(5.0)
    writer = SimpleNamespace(write=lambda *_given: full_disk(), registered=())
    monkeypatch.setattr("autograder.gradebook.course_gradebook.Writer", lambda *_given: writer)
    result = invoke("grade", module, "--gradebook")

    assert result.exit_code == 1
    assert "5 / 10" in result.output
    assert "No space left on device" in result.output
    assert "These grades are not in the gradebook. The record of this run is" in result.output


@pytest.mark.usefixtures("lent_fork_server")
def test_a_regrade_with_nothing_changed_needs_no_sandbox(
    invoke: Invoke, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A regrade without changes prints and writes the same; --fresh grades again."""
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


@pytest.mark.slow
def test_a_regrade_with_nothing_changed_imports_no_torch(tiny: Course, module: Path):
    """A regrade without changes ends before torch is imported."""
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
    """After Ctrl-C a message states that the same command resumes the run."""

    def interrupt(*_given: object, **_options: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("autograder.grading.grade.grade_each", interrupt)
    result = invoke("grade", module, "--json", tmp_path / "r.json")

    assert result.exit_code != 0
    assert "run the same command again to resume" in result.output.replace("\n", " ")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write")
def test_a_read_only_folder_is_noticed_before_the_grading(invoke: Invoke, module: Path):
    """A read-only folder is reported before grading begins, for root too."""
    result = invoke("grade", module, "--json", "/proc/results.json")

    assert result.exit_code == 2
    assert "Nothing was graded because /proc can't be written" in result.output


def write_record(file: Path, *students: str) -> Path:
    """Write a record with a result of each of *students*, and return its path."""
    results = tuple(
        SubmissionResult(
            student=student, stage="01_tiny", status=Status.GRADED, score=5.0, max_score=10.0
        )
        for student in students
    )
    file.write_bytes(to_json(Results(course="tiny", isolation="full", submissions=results)))
    return file


def students_of(record: Path) -> list[str]:
    """Return the ids in *record*."""
    return [one["student"] for one in json.loads(record.read_bytes())["submissions"]]


def test_a_record_keeps_whom_a_run_did_not_grade(invoke: Invoke, module: Path, recorded: Recorded):
    """Grading one file replaces its result and keeps all others; a line says how many."""
    file = write_record(recorded(7.5), "bob", "ada")
    result = invoke("grade", module, "--json", file)

    assert result.exit_code == 0, result.output
    assert students_of(file) == ["bob", "ada"]
    assert "1 other results were kept" not in result.output
    assert "1 other result was kept" in result.output
    assert "5 → 7.5" in result.output


def test_a_class_run_names_results_without_a_submission(
    invoke: Invoke, give_results: Callable[..., None], tmp_path: Path
):
    """A run of the class says who is in the record only, and how to remove the result."""
    file = write_record(tmp_path / "results.json", "ada", "bob")
    give_results(*read_record(file).submissions[:1], replace(read_record(file).submissions[0],
                 student="eve"))  # fmt: skip
    class_ = tmp_path / "class"
    for student in ("ada", "eve"):
        (class_ / student / "01_tiny").mkdir(parents=True)
        (class_ / student / "01_tiny" / "tiny.py").write_text("")
    result = invoke("grade", class_, "--stage", "1", "--json", file)

    assert "not among these submissions: bob." in result.output.replace("\n", " ")
    assert "--forget bob" in result.output


def test_forget_removes_one_student_from_the_record_and_the_report(invoke: Invoke, tmp_path: Path):
    """`grade --forget` without a path removes a result; nothing is graded."""
    file, pages = write_record(tmp_path / "results.json", "ada", "bob"), tmp_path / "pages"
    result = invoke("grade", "--json", file, "--forget", "bob", "--report", pages)
    again = invoke("grade", "--json", file, "--forget", "bob")

    assert result.exit_code == 0, result.output
    assert "forgotten: bob, 01_tiny" in result.output
    assert students_of(file) == ["ada"]
    assert {path.name for path in pages.iterdir()} == {
        "index.html", "term.html", "review.csv", "ada--01-tiny.html",
    }  # fmt: skip
    assert (again.exit_code, "no student 'bob'" in again.output) == (2, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(["--fresh"], "--fresh has no effect without --json", id="fresh"),
        pytest.param(
            ["--cluster-course", "x"], "--cluster-course has no effect without", id="cluster"
        ),
        pytest.param(["--forget", "bob"], "--forget has no effect without --json", id="forget"),
        pytest.param(["--jobs", 1, "--jobs", 2], "--jobs is given 2 times", id="twice"),
        pytest.param(["--json", "no.json", "--forget", "x"], "nothing to forget", id="no-record"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    invoke: Invoke, module: Path, words: list[str], sentence: str
):
    """An option without effect, and a second value of one option, are refused before grading."""
    result = invoke("grade", module, *words)

    assert result.exit_code == 2
    assert sentence in result.output.replace("\n", " ")


def test_the_stage_of_a_run_is_repeatable():
    """Names of stages come from several options or from one with commas, in the course's order."""
    course = load(Path(__file__).parents[3])

    found = find_stages(course, ["7", "04,01", "4"], graded=True)
    assert [stage.name[:2] for stage in found] == ["01", "04", "07"]
