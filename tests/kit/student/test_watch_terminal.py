"""Tests the terminal of `autograder watch`."""

import os
import sys
from collections.abc import Callable, Iterator

import pytest
from rich.text import Text

from autograder.errors import UsageError
from autograder.student.watch_terminal import Terminal


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Terminal]]:
    """Open a terminal for `watch`, whose output pytest captures."""
    master, slave = os.openpty()
    with open(slave, encoding="utf-8") as keys:  # noqa: PTH123  # the argument is a descriptor

        def make(**options: bool) -> Terminal:
            monkeypatch.setattr(sys, "stdin", keys)
            monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
            return Terminal(**options)

        yield make
    os.close(master)


def test_without_a_terminal_it_says_so():
    """`watch` refuses to run in a pipe, because a pipe has no keys."""
    with pytest.raises(UsageError, match="needs a terminal"):
        Terminal()


@pytest.mark.parametrize(("options", "term"), [({"plain": True}, "xterm"), ({}, "dumb")])
def test_a_plain_terminal_gets_lines_without_control_characters(
    options: dict[str, bool],
    term: str,
    opened: Callable[..., Terminal],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    """With --plain and for TERM=dumb, each new screen is appended once, without an escape."""
    monkeypatch.setenv("TERM", term)
    terminal = opened(**options)
    for words in ("one", "one", "two"):
        terminal.show(lambda _width, _rows, words=words: [Text(words, style="bold")])
    terminal.replace_last_row("Checking …")
    printed = capsys.readouterr().out

    assert printed == "\none\n\ntwo\nChecking …\n"


def test_a_screen_replaces_the_one_before(
    opened: Callable[..., Terminal],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    """Elsewhere a screen clears the terminal first."""
    monkeypatch.setenv("TERM", "xterm")
    opened().show(lambda _width, _rows: [Text("one")])

    assert capsys.readouterr().out == "\x1b[H\x1b[2Jone"
