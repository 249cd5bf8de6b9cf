"""Tests the editor that opens a learner's file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.student import editor, folder_files


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        pytest.param({"EDITOR": "vim"}, ["vim", "+7", "a.py"], id="vim"),
        pytest.param({"EDITOR": "emacs -nw"}, ["emacs", "-nw", "+7", "a.py"], id="with-an-option"),
        pytest.param({"VISUAL": "hx", "EDITOR": "vi"}, ["hx", "a.py:7"], id="visual-comes-first"),
        pytest.param({"EDITOR": "code -w"}, ["code", "-w", "--goto", "a.py:7"], id="vs-code"),
        pytest.param({"EDITOR": "cursor"}, ["cursor", "--goto", "a.py:7"], id="cursor"),
        pytest.param({"EDITOR": "codium"}, ["codium", "--goto", "a.py:7"], id="vscodium"),
        pytest.param(
            {"VISUAL": "code-insiders"}, ["code-insiders", "--goto", "a.py:7"], id="insiders"
        ),
        pytest.param({"EDITOR": "/opt/ed"}, ["/opt/ed", "a.py"], id="unknown"),
        pytest.param({"EDITOR": "it's"}, ["it's", "a.py"], id="half-a-quotation"),
    ],
)
def test_an_editor_opens_the_file_at_the_line(environ: dict[str, str], words: list[str]):
    """Each editor gets the line in its own syntax; an unknown editor gets only the file."""
    assert editor.command(environ, "a.py", 7) == words


@pytest.mark.parametrize(
    ("installed", "words"),
    [
        pytest.param({"code", "vi"}, ["/bin/code", "--goto", "a.py:7"], id="vs-code"),
        pytest.param({"codium", "nano"}, ["/bin/codium", "--goto", "a.py:7"], id="vscodium"),
        pytest.param({"nano", "vi"}, ["/bin/nano", "+7", "a.py"], id="nano"),
        pytest.param({"vi"}, ["/bin/vi", "+7", "a.py"], id="vi"),
        pytest.param(set(), None, id="none"),
    ],
)
def test_without_a_choice_an_installed_editor_opens_it(
    monkeypatch: pytest.MonkeyPatch, installed: set[str], words: list[str] | None
):
    """VS Code and its relatives come first, then the editors of the terminal."""
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name in installed else None)

    assert editor.command({}, "a.py", 7) == words


def test_an_editor_in_the_terminal_is_waited_for():
    """An editor that uses the terminal is recognized, because `watch` must wait for it."""
    assert editor.needs_terminal("/usr/bin/nano")
    assert not editor.needs_terminal("code")


def test_the_settings_of_vs_code_are_valid(tmp_path: Path):
    """The test explorer uses this interpreter, and not the copies of stages."""
    files = folder_files.vscode_files("/opt/python")
    settings = json.loads(files[Path(".vscode/settings.json")])

    assert settings["python.defaultInterpreterPath"] == "/opt/python"
    assert settings["python.testing.pytestEnabled"] is True
    assert settings["python.testing.pytestArgs"][0] == "."
    for folder in ("hunt", "copies", ".originals"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_copy.py").write_text("raise SystemExit\n")
    (tmp_path / "test_stage.py").write_text("def test_one(): pass\n")
    command = [sys.executable, "-m", "pytest", *settings["python.testing.pytestArgs"]]
    done = subprocess.run(  # noqa: S603  # this Python
        [*command, "-q", "-p", "no:cacheprovider", "-p", "no:autograder"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout
    assert json.loads(files[Path(".vscode/extensions.json")])["recommendations"]
