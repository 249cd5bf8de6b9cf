"""Tests the group of all commands: its list, its errors and exit codes."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.core import TyperCommand
from typer.main import get_group

from autograder import __main__ as program
from autograder import __version__
from autograder.cli.command_group import MODULES, SUMMARIES, learners_overview, load_command
from autograder.course import Course

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself
FIND_COURSE = "autograder.cli.inputs.find_course"


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

    assert "Check exercises" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 False False"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize(("name", "mode"), [("grade", 0o600), ("bundle", 0o600), ("hint", 0o644)])
def test_files_about_persons_are_for_their_owner(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mode: int
):
    """Records, pages and bundles are for their owner only, and files for learners as usual."""
    file = tmp_path / "file"
    command = TyperCommand(name, callback=file.touch)
    monkeypatch.setattr("autograder.cli.command_group.load_command", lambda _name: command)
    before = os.umask(0o022)
    try:
        result = invoke(name)
        after = os.umask(before)
    finally:
        os.umask(before)

    assert result.exit_code == 0, result.output
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert after == 0o022


def test_ctrl_c_during_the_imports_prints_nothing(monkeypatch: pytest.MonkeyPatch):
    """Ctrl-C before a command runs ends the program with exit code 130, without a traceback."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "_run", interrupted)
    with pytest.raises(SystemExit) as end:
        program.main()

    assert end.value.code == 130


@pytest.mark.parametrize(
    ("before", "during"),
    [
        pytest.param(signal.default_int_handler, signal.SIG_DFL, id="usual"),
        pytest.param(signal.SIG_IGN, signal.SIG_IGN, id="ignored-by-the-shell"),
    ],
)
def test_ctrl_c_ends_the_imports_at_once_and_a_command_by_an_exception(
    monkeypatch: pytest.MonkeyPatch, before: Any, during: Any
):
    """No code of Python runs for Ctrl-C until the command line is loaded; then it is as before."""
    seen = []

    class Module:
        """The module of the command line while it is imported."""

        @property
        def app(self) -> Callable[[], None]:
            seen.append(signal.getsignal(signal.SIGINT))
            return lambda: seen.append(signal.getsignal(signal.SIGINT))

    monkeypatch.setitem(sys.modules, "autograder.cli", Module())
    usual = signal.signal(signal.SIGINT, before)
    try:
        program.main()
    finally:
        signal.signal(signal.SIGINT, usual)

    assert seen == [during, before]


def test_ctrl_c_ends_the_import_of_torch_at_once(monkeypatch: pytest.MonkeyPatch):
    """No exception is raised inside of torch's own code, which may lose it and go on slowly."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    seen = []

    class Finder:
        """Notes how Ctrl-C is handled when torch is imported."""

        def find_spec(self, name: str, *_others: object) -> None:
            if name == "torch":
                seen.append(signal.getsignal(signal.SIGINT))

    monkeypatch.setattr(sys, "argv", ["autograder", "check"])
    monkeypatch.setattr(sys, "meta_path", [Finder()])  # which finds nothing
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setitem(sys.modules, "autograder.cli", SimpleNamespace(app=lambda: None))
    try:
        program.main()
    finally:
        signal.signal(signal.SIGINT, usual)

    assert seen == [signal.SIG_DFL]


def test_without_a_command_a_learner_sees_their_own(invoke: Invoke):
    """`autograder` alone prints the learners' commands, in a terminal of 80 columns and 24 rows."""
    result = invoke()
    lines = result.output.splitlines()

    assert result.exit_code == 0
    assert result.output.rstrip() == learners_overview()
    assert len(lines) <= 24
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [*SUMMARIES["Learners"]]
    assert "verify" not in result.output
    assert "autograder --help" in lines[-1]


def test_the_version_is_printed(invoke: Invoke):
    """`--version` prints one line and ends with exit code 0."""
    result = invoke("--version")

    assert (result.exit_code, result.output) == (0, f"autograder {__version__}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(["grade", "{module}", "--stage", "9"], "no stage '9'", id="unknown-stage"),
        pytest.param(
            ["grade", "{module}", "--json", "no/r.json"], "The folder no for", id="no-folder"
        ),
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
    """A wrong command prints one plain message, without a traceback."""
    result = invoke(*[word.format(module=module) for word in words])

    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output


@pytest.mark.slow
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
    without_extras,
    tiny: Course,
    module: Path,
    words: list[str],
    command: str,
    library: str,
    extra: str,
):
    """A missing library is reported with the command that installs it, exit code 2."""
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
    library: str, extra: str, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
):
    """Every optional library belongs to an extra, even if only a submodule is imported."""
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(FIND_COURSE, lambda _: import_module(f"{library}.part"))
    result = invoke("grade", "nothing.py")

    assert result.exit_code == 2
    assert result.stderr == (
        f"`autograder grade` needs {library}: pip install 'attention-course-kit[{extra}]'\n"
    )


@pytest.mark.parametrize("name", ["numpyy", "nbgrader_of_mine", "autograder.gone"])
def test_any_other_missing_module_keeps_its_traceback(
    name: str, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
):
    """A missing module that no extra provides is a bug, and keeps its traceback."""
    monkeypatch.setattr(FIND_COURSE, lambda _: import_module(name))
    result = invoke("grade", "nothing.py")

    assert isinstance(result.exception, ModuleNotFoundError)
    assert name in str(result.exception)


@pytest.mark.parametrize(
    ("name", "panel", "summary"),
    [
        pytest.param(name, panel, summary, id=name)
        for panel, summaries in SUMMARIES.items()
        for name, summary in summaries.items()
    ],
)
def test_the_list_and_the_help_of_a_command_agree(
    name: str, panel: str, summary: str, invoke: Invoke
):
    """Each command's line in the list is the command's own help."""
    paragraph = load_command(name).help.partition("\n\n")[0]
    listed = invoke("--help").stdout

    assert " ".join(paragraph.split()) == summary
    assert listed.index(panel) < listed.index(f"│ {name} ")


def test_every_command_is_listed():
    """Every command of a module is in the list, because no other can be called."""
    defined = {
        module: set(get_group(import_module(f"autograder.cli.{module}").app).commands)
        for module in MODULES
    }

    assert defined == {module: set(names) for module, names in MODULES.items()}
    assert sorted(chain(*SUMMARIES.values())) == sorted(chain(*MODULES.values()))


def test_a_misspelt_command_is_suggested(invoke: Invoke):
    """A misspelled command is answered with the right name."""
    assert "Did you mean 'grade'?" in invoke("grad").output


@pytest.mark.parametrize("words", [["next"], ["export"], ["diff", "a", "b"], ["grade", "no.py"]])
def test_a_command_imports_what_it_needs(words: list[str]):
    """These commands import neither torch nor nbgrader, which take seconds."""
    script = (
        "import sys\nfrom autograder.cli import app\n"
        "try:\n    app(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print('torch' in sys.modules, 'nbgrader' in sys.modules)\n"
    )
    done = subprocess.run(  # noqa: S603  # this Python, on the lines above
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "False False"


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "gbk", "ascii", "latin-1"])
def test_no_encoding_of_stdout_ends_a_command(tmp_path: Path, encoding: str):
    """Marks that an encoding lacks are replaced by ASCII, differently for right and wrong."""
    script = (
        "from autograder.cli.output import tolerate_any_encoding\n"
        "tolerate_any_encoding()\nprint('✓ right ✗ wrong … → 🙂')\n"
    )
    (tmp_path / "print_marks.py").write_text(script, "utf-8")
    done = subprocess.run(  # noqa: S603  # this Python, on the lines above
        [sys.executable, tmp_path / "print_marks.py"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=True,
    )

    assert done.stdout.startswith(b"+ right x wrong ")


@pytest.mark.parametrize(
    "command", [("doctor",), ("check", "1"), ("grade", "tiny.py"), ("verify",)]
)
@pytest.mark.parametrize(
    "source",
    [
        "raise OSError('[WinError 126] fbgemm.dll')",
        "raise PermissionError(13, 'Access is denied', 'torch.dll')",
        "None.lost",
    ],
)
def test_a_torch_that_cannot_be_loaded_is_one_message(
    built: Course, tmp_path: Path, command: tuple[str, ...], source: str
):
    """Commands that need torch say that it can't be loaded and what to do, without a traceback."""
    (tmp_path / "libraries").mkdir()
    (tmp_path / "libraries" / "torch.py").write_text(source)
    (built.root / "tiny.py").write_text("")
    done = subprocess.run(  # noqa: S603  # this Python, with the words above
        [sys.executable, "-m", "autograder", *command],
        cwd=built.root,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "libraries")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "torch can't be loaded" in done.stderr
