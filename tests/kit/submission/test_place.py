"""Only regular files are read: no link is followed, no FIFO waited for."""

import os
import socket

import pytest

from autograder.errors import UsageError
from autograder.submission import collect
from autograder.submission.files import UnusableFile, read_regular
from autograder.submission.folder import MAX_DEPTH, MAX_ENTRIES, open_folder

LINK = "is a link or no ordinary file and was not opened. Hand in the file itself."


@pytest.fixture
def secret(tmp_path):
    """A file outside that no submission may bring in."""
    path = tmp_path / "solution" / "self_attention.py"
    path.parent.mkdir()
    path.write_bytes(b"the solution")
    return path


def _no_code(submissions):
    return all(one.code is None for one in submissions)


def test_does_not_follow_a_linked_module(collected, write, class_, secret):
    """The module's name does not help a link to the solution."""
    write("alice/notes.txt")
    (class_ / "alice" / "self_attention.py").symlink_to(secret)

    [submission] = collected(class_)

    assert submission.code is None
    assert submission.stage == "02_self_attention"
    assert submission.problem == f"self_attention.py {LINK}"


def test_does_not_follow_a_linked_stage_folder(collected, write, class_, secret):
    """The stage is reported as missing, and the link as the reason."""
    write("alice/01_averaging/averaging.py")
    (class_ / "alice" / "02_self_attention").symlink_to(secret.parent)

    averaging, submission = collected(class_)

    assert averaging.code is not None
    assert submission.stage == "02_self_attention"
    assert submission.code is None
    assert submission.notices == (f"02_self_attention {LINK}",)


@pytest.mark.parametrize("name", ["alice", "alice.py", "alice.zip"])
def test_does_not_follow_a_link_in_a_class(collected, write, class_, secret, attention, name):
    """A linked folder, file or archive is that student's problem."""
    write("bob/self_attention.py")
    (class_ / name).symlink_to(secret.parent if name == "alice" else secret)

    alice, bob = collected(class_, attention)

    assert (alice.student, alice.problem) == ("alice", f"{name} {LINK}")
    assert bob.code is not None


@pytest.mark.parametrize("name", ["solution", "solution/self_attention.py"])
def test_refuses_a_link_as_path(stages, class_, tmp_path, secret, name):
    """The shell may have found it where a student planted it."""
    assert secret.exists()
    (class_ / "link.py").symlink_to(tmp_path / name)

    with pytest.raises(UsageError, match=r"links are not followed\. Name the folder or the file"):
        collect(class_ / "link.py", stages)


def test_survives_a_loop(collected, write, class_):
    """A link to the folder above, or to itself, ends nowhere."""
    write("alice/self_attention.py")
    (class_ / "alice" / "up").symlink_to(class_)
    (class_ / "alice" / "self").symlink_to("self")

    [submission] = collected(class_ / "alice")

    assert submission.code is not None
    assert submission.ignored == ("self", "up")


def test_does_not_wait_for_a_fifo(collected, write, class_):
    """Nobody will ever write into it."""
    write("alice/notes.txt")
    os.mkfifo(class_ / "alice" / "self_attention.py")

    [submission] = collected(class_)

    assert submission.problem == f"self_attention.py {LINK}"


def test_does_not_open_a_socket(collected, write, class_, monkeypatch):
    """Sockets are no files either."""
    write("alice/notes.txt")
    monkeypatch.chdir(class_ / "alice")  # a socket's path may have 108 bytes at most
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("self_attention.py")

        submissions = collected(class_)

    assert _no_code(submissions)


def test_does_not_follow_a_link_planted_after_the_look(write, class_, secret):
    """The kernel refuses what became a link since."""
    write("alice/self_attention.py")
    [found] = open_folder(class_ / "alice").files
    (class_ / "alice" / "self_attention.py").unlink()
    (class_ / "alice" / "self_attention.py").symlink_to(secret)

    with pytest.raises(UnusableFile, match="is a link"):
        found.read(100)


def test_reports_a_file_that_vanished(class_):
    """What the system says is passed on."""
    with pytest.raises(
        UnusableFile, match=r"gone.py could not be read \(No such file or directory\)"
    ):
        read_regular(class_ / "gone.py", 100)


def test_reports_a_file_that_may_not_be_read(collected, write, monkeypatch):
    """A file of another user is a problem, not an end."""
    path = write("alice/self_attention.py")
    refused = PermissionError(13, "Permission denied")

    def refuse(*_arguments, **_keywords):
        raise refused

    monkeypatch.setattr(os, "open", refuse)
    [submission] = collected(path)

    assert submission.problem == (
        "self_attention.py could not be read (Permission denied). Copy it anew or hand it in again."
    )


def test_finds_the_module_among_thousands_of_files(collected, write, class_):
    """The walk is bounded, says so, and looks at code first."""
    for number in range(MAX_ENTRIES + 10):
        write(f"alice/{number}.png", b"")
    write("alice/self_attention.py")

    [submission] = collected(class_ / "alice")

    assert submission.code is not None
    assert "more than 2000 files" in submission.notices[0]
    assert submission.ignored[-1] == f"... and {MAX_ENTRIES - 51} more"


def test_bounds_the_depth(write, class_):
    """What lies below is named, not entered."""
    write("alice/" + "d/" * (MAX_DEPTH + 5) + "self_attention.py")

    bundle = open_folder(class_ / "alice")

    assert bundle.files == ()
    assert bundle.faults == ("The folder d lies too deep and was not opened. Flatten it.",)
