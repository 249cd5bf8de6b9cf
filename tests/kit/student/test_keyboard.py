"""Tests the keys of `autograder watch`; further tests of `watch` use those of Unix."""

import os
import signal
import sys
import types
from collections.abc import Iterator

import pytest

from autograder.student import watch_terminal
from autograder.student.watch_terminal import ESCAPE, UNKNOWN, UnixKeys, WindowsKeys


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The characters that a Windows console will return."""
    characters: list[str] = []
    console = types.ModuleType("msvcrt")
    console.kbhit = lambda: bool(characters)
    console.getwch = lambda: characters.pop(0)
    monkeypatch.setitem(sys.modules, "msvcrt", console)
    return characters


@pytest.fixture
def keys(typed: list[str]) -> Iterator[WindowsKeys]:  # noqa: ARG001  # installs the console
    """The keys of that console."""
    with WindowsKeys() as opened:
        yield opened


@pytest.fixture
def unix_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[UnixKeys, int]]:
    """The keys of a pseudo-terminal, and the descriptor for typing them."""
    master, slave = os.openpty()
    with open(slave, encoding="utf-8") as terminal, monkeypatch.context() as patch:  # noqa: PTH123  # the argument is a descriptor
        patch.setattr(sys, "stdin", terminal)
        with UnixKeys() as opened:
            yield opened, master
    os.close(master)


def test_a_key_is_returned_at_once(keys: WindowsKeys, typed: list[str]):
    """Two pressed keys are returned one by one, at once."""
    typed += ["h", "q"]

    assert [keys.wait(10.0), keys.wait(10.0)] == ["h", "q"]


def test_an_arrow_is_one_key(keys: WindowsKeys, typed: list[str]):
    """An arrow is one key with a name, although a console sends two characters for it."""
    typed += ["\xe0", "H", "n", "\r"]

    assert [keys.wait(10.0) for _ in range(3)] == ["up", "n", "enter"]


@pytest.mark.skipif(sys.platform == "win32", reason="a console of Windows has other keys")
def test_a_terminal_s_keys_have_names(unix_keys: tuple[UnixKeys, int]):
    """Arrows that arrive together are separate keys; a letter may have several bytes."""
    keys, master = unix_keys
    os.write(master, "\x1b[B\x1bOB\x1b[6~é\n\x7f\x1b[1;5Ax\x1b".encode())
    found = [keys.wait(10.0) for _ in range(9)]

    assert found == ["down", "down", "page down", "é", "enter", "backspace", UNKNOWN, "x", ESCAPE]


def test_another_thread_ends_the_wait(keys: WindowsKeys):
    """A save ends the wait for a key at once."""
    os.write(keys.waker, b"s")

    assert keys.wait(600.0) is None


def test_another_size_is_a_reason_to_draw(keys: WindowsKeys, monkeypatch: pytest.MonkeyPatch):
    """A new size of the terminal is noticed without a signal, as on Windows."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "10")

    assert keys.wait(10.0) == "resize"


def test_the_system_chooses(monkeypatch: pytest.MonkeyPatch, typed: list[str]):  # noqa: ARG001  # installs the console
    """The keyboard for Windows is used where there is no `termios`."""
    monkeypatch.setattr(watch_terminal.sys, "platform", "win32")

    assert isinstance(watch_terminal.keys(), WindowsKeys)


@pytest.mark.skipif(sys.platform == "win32", reason="a console of Windows sends no signals")
def test_an_interrupt_that_got_lost_is_the_next_key(unix_keys: tuple[UnixKeys, int]):
    """After Ctrl-C, the next wait ends even if Python has lost the exception."""
    keys, _ = unix_keys
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)

    assert keys.wait(10.0) == "\x03"
