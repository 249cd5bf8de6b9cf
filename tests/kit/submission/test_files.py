"""Tests that only regular files are read, without links, and that names cannot forge lines."""

import os
import socket
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.submission.files import (
    MAX_SHOWN,
    UnusableFile,
    is_hidden_or_generated,
    read_regular,
    visible,
)
from autograder.submission.place import open_folder
from tests.kit.submission.conftest import LINK


def test_does_not_follow_a_linked_module(collected, write, class_, secret):
    """A link to the solution is refused, even where it has the module's name."""
    write("alice/notes.txt")
    (class_ / "alice" / "self_attention.py").symlink_to(secret)

    [submission] = collected(class_)

    assert submission.code is None
    assert submission.stage == "02_self_attention"
    assert submission.problem == f"self_attention.py {LINK}"


def test_does_not_wait_for_a_fifo(collected, write, class_):
    """A FIFO is refused, because reading it would wait forever."""
    write("alice/notes.txt")
    os.mkfifo(class_ / "alice" / "self_attention.py")

    [submission] = collected(class_)

    assert submission.problem == f"self_attention.py {LINK}"


def test_does_not_open_a_socket(collected, write, class_, monkeypatch):
    """A socket is refused and not opened."""
    write("alice/notes.txt")
    monkeypatch.chdir(class_ / "alice")  # a socket's path may have 108 bytes at most
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("self_attention.py")

        submissions = collected(class_)

    assert all(submission.code is None for submission in submissions)


def test_does_not_follow_a_link_planted_after_the_look(write, class_, secret):
    """The kernel refuses a file that was replaced by a link."""
    write("alice/self_attention.py")
    [found], _ = open_folder(class_ / "alice")
    (class_ / "alice" / "self_attention.py").unlink()
    (class_ / "alice" / "self_attention.py").symlink_to(secret)

    with pytest.raises(UnusableFile, match="is a link"):
        found.read(100)


def test_reports_a_file_that_vanished(class_):
    """The message about a file that vanished contains the system's reason."""
    with pytest.raises(
        UnusableFile, match=r"gone.py could not be read \(No such file or directory\)"
    ):
        read_regular(class_ / "gone.py", 100)


def test_reports_a_file_that_may_not_be_read(collected, write, monkeypatch):
    """A file that the grader may not read is a problem of that submission, not an error."""
    path = write("alice/self_attention.py")
    refused = PermissionError(13, "Permission denied")

    def refuse(*_arguments, **_keywords):
        raise refused

    monkeypatch.setattr(os, "open", refuse)
    [submission] = collected(path)

    assert submission.problem == (
        "self_attention.py could not be read (Permission denied). Copy it again or submit it again."
    )


@pytest.mark.parametrize(
    ("path", "is_left_out"),
    [
        pytest.param("work/self_attention.py", False, id="module"),
        pytest.param(".git/HEAD", True, id="hidden-folder"),
        pytest.param("__pycache__/self_attention.pyc", True, id="bytecode"),
        pytest.param("__MACOSX/self_attention.py", True, id="macos"),
        pytest.param("work/Thumbs.db", True, id="windows"),
    ],
)
def test_leaves_hidden_and_generated_files_out(path, is_left_out):
    """Files that programs leave behind are not the student's."""
    assert is_hidden_or_generated(PurePosixPath(path)) == is_left_out


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("self_attention.py", "self_attention.py", id="plain"),
        pytest.param("Jürgen 日本.py", "Jürgen 日本.py", id="letters"),
        pytest.param("a\nb\r.py", r"a\nb\r.py", id="newline"),
        pytest.param("\x1b[2Jx", r"\x1b[2Jx", id="ansi"),
        pytest.param("x\u202eyp.exe", r"x\u202eyp.exe", id="bidi"),
        pytest.param("x\udcff", r"x\udcff", id="undecodable"),
        pytest.param("<b>x</b>", "<b>x</b>", id="html-is-the-report's"),
    ],
)
def test_makes_names_visible(name, shown):
    """Unprintable characters are written as escapes."""
    assert visible(name) == shown


@given(name=st.text(max_size=300))
def test_is_always_safe_to_print(name):
    """The label of a file is safe to print, for any name."""
    assert visible(name).isprintable()
    assert len(visible(name)) <= MAX_SHOWN
