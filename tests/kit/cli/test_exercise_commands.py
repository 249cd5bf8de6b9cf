"""Tests commands for the exercises in a learner's own folder."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli import app
from autograder.course import Course
from autograder.student.progress import Progress

Run = Callable[..., str]
DOUBLE = "01_tiny/double"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder above the learner's folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(built: Course, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in the learner's own folder."""

    def invoke(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == code, done.output
        return done.output

    invoke("start", "mine", "--course", str(built.root))
    monkeypatch.chdir(folder / "mine")
    return invoke


def test_start_says_what_it_did(built: Course, folder: Path):
    """A second start keeps the learner's changes."""
    words = ["start", "mine", "--course", str(built.root)]
    first = CliRunner().invoke(app, words)
    (folder / "mine" / "01_tiny" / "tiny.py").write_text("x = 1\n")
    second = CliRunner().invoke(app, words)

    assert first.output.startswith("mine holds your stages: ")
    assert first.output.endswith(" files added.\nNext: autograder watch mine\n")
    assert "mine holds your stages: 0 files added.\nkept your 01_tiny/tiny.py\n" in second.output


def test_next_names_the_first_open_exercise(run: Run, folder: Path):
    """`next` prints the first open exercise, or that none is left."""
    first = run("next")
    Progress(folder / "mine" / "progress.json", passed={DOUBLE, "01_tiny/Scale"}).save()
    last = run("next")

    assert first.startswith("Next: double, in Tiny things.\n01_tiny/tiny.py, line ")
    assert last.startswith("Every exercise is done. Congratulations on the whole course!\n")


def test_each_hint_says_a_little_more(run: Run):
    """Each call of `hint` shows one more hint, and a number chooses one."""
    numbers = [run("hint", *words).partition(":")[0] for words in ([], [], ["double", "1"])]

    assert numbers == [f"{DOUBLE}, hint {number} of 3" for number in (1, 2, 1)]


def test_progress_has_a_line_for_each_stage(run: Run):
    """`progress` prints a line for each stage, and a last line for the course."""
    lines = run("progress").splitlines()

    assert lines[0].startswith("· 01_tiny")
    assert lines[-1] == "0 of 2 exercises."


def test_a_reset_exercise_is_open_again(run: Run, folder: Path):
    """`reset` opens the exercise again and keeps a copy of the file."""
    module = folder / "mine" / "01_tiny" / "tiny.py"
    module.write_text("def double(x):\n    return x + x\n")
    Progress(folder / "mine" / "progress.json", passed={DOUBLE}).save()
    output = run("reset", "double")

    copies = folder / "mine" / "copies"

    assert output.startswith(f"{DOUBLE} is as you received it.\nA copy of your file: {copies}/")
    assert Progress.read(folder / "mine").passed == set()


def test_a_solution_is_for_those_who_solved_or_gave_up(run: Run, folder: Path, built: Course):
    """`solution` needs a solved exercise, or `--i-give-up`, which is remembered."""
    course = ("--course", str(built.root))
    refused = run("solution", "double", *course, code=2)
    shown = run("solution", "double", "--i-give-up", *course)

    assert "does not pass yet. Try `autograder hint 01_tiny/double` first" in refused
    assert "def double" in shown
    assert Progress.read(folder / "mine").gave_up == {DOUBLE}


NO_ROOM = OSError(errno.ENOSPC, "No space left on device")
REMARK = "This is not remembered: "


@pytest.fixture
def unwritable(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run commands in a learner's folder in which no progress can be saved."""

    def refuse(_file: Path, _content: bytes) -> None:
        raise NO_ROOM

    monkeypatch.setattr("autograder.student.progress.replace_file", refuse)
    return run


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        pytest.param(("hint",), "How much is twice?", id="hint"),
        pytest.param(("reset", "double"), "is as you received it.", id="reset"),
        pytest.param(("solution", "double", "--i-give-up"), "def double", id="solution"),
        pytest.param(("start",), "holds your stages", id="start"),
    ],
)
def test_an_answer_comes_before_what_is_not_remembered(
    unwritable: Run, built: Course, words: tuple[str, ...], answer: str
):
    """If the progress can't be saved, a command gives its answer, then one remark."""
    course = ("--course", str(built.root)) if words[0] in {"solution", "start"} else ()
    output = unwritable(*words, *course)

    assert 0 <= output.index(answer) < output.index(REMARK)
    assert output.count(REMARK) == 1


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(NO_ROOM, id="disk-full"),
        pytest.param(PermissionError(errno.EACCES, "Permission denied", "tiny.py"), id="refused"),
        pytest.param(OSError(errno.EROFS, "Read-only file system", "tiny.py"), id="read-only"),
    ],
)
@pytest.mark.parametrize("words", [("reset", "double"), ("start", "other")])
def test_a_file_that_cannot_be_written_is_one_message(
    run: Run, built: Course, monkeypatch: pytest.MonkeyPatch, error: OSError, words: tuple[str, ...]
):
    """A full disk or a read-only folder ends a command with one sentence, without a traceback."""

    def refuse(_file: Path, _content: bytes) -> None:
        raise error

    monkeypatch.setattr("autograder.student.learner_folder.replace_file", refuse)
    course = ("--course", str(built.root)) if words[0] == "start" else ()
    output = run(*words, *course, code=2)

    assert f"({error.strerror})" in output
    assert "Traceback" not in output
