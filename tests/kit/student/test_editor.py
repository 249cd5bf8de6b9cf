"""Tests the editor that opens a learner's file."""

import pytest

from autograder.student import editor


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        pytest.param({"EDITOR": "vim"}, ["vim", "+7", "a.py"], id="vim"),
        pytest.param({"EDITOR": "emacs -nw"}, ["emacs", "-nw", "+7", "a.py"], id="with-an-option"),
        pytest.param({"VISUAL": "hx", "EDITOR": "vi"}, ["hx", "a.py:7"], id="visual-comes-first"),
        pytest.param({"EDITOR": "code -w"}, ["code", "-w", "--goto", "a.py:7"], id="vs-code"),
        pytest.param({"EDITOR": "/opt/ed"}, ["/opt/ed", "a.py"], id="unknown"),
        pytest.param({"EDITOR": "it's"}, ["it's", "a.py"], id="half-a-quotation"),
    ],
)
def test_an_editor_opens_the_file_at_the_line(environ: dict[str, str], words: list[str]):
    """Each editor gets the line in its own syntax; an unknown editor gets only the file."""
    assert editor.command(environ, "a.py", 7) == words


def test_without_a_choice_vs_code_opens_it_if_it_is_there(monkeypatch: pytest.MonkeyPatch):
    """VS Code opens a file if it is installed and no other editor is chosen."""
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    found = editor.command({}, "a.py", 0)
    monkeypatch.setattr("shutil.which", lambda _name: None)

    assert found == ["/bin/code", "a.py"]
    assert editor.command({}, "a.py", 0) is None


def test_an_editor_in_the_terminal_is_waited_for():
    """An editor that uses the terminal is recognized, because `watch` must wait for it."""
    assert editor.needs_terminal("/usr/bin/nano")
    assert not editor.needs_terminal("code")
