"""Tests that the limits of a private folder hold for all kinds of files."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.course_file import Limits
from autograder.sandbox import namespaces
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.namespaces import make_private_folder, remove_folder, unprivileged_owner
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from tests.kit.factories import needs_open_python

needs_mount = pytest.mark.skipif(
    detect_capabilities().level != "full" or not namespaces.has_private_folders(),
    reason="this system does not let a process mount",
)
LIMITS = Limits(disk_mib=2, files=20, call_seconds=30)  # the first plot takes seconds
HIDING = b"""
import os

def deleted():
    "Write MiB into files that are deleted but open; return how many."
    files = []
    for number in range(9):
        files.append(open("deleted", "wb", buffering=0))
        os.unlink("deleted")
        try:
            files[-1].write(bytes(1 << 20))
        except OSError:
            break
    return number

def deep():
    "Nest folders beyond 4096 bytes of path; return how many there are."
    for number in range(99):
        try:
            os.mkdir("d" * 250)
        except OSError:
            return number
        os.chdir("d" * 250)

def saved():
    "Save and load as a demo does."
    import torch
    import matplotlib.pyplot as plt
    plt.plot([1, 2])
    plt.savefig("a.png")
    torch.save({"weight": torch.eye(2)}, "model.pt")
    return torch.load("model.pt")["weight"].sum().item()
"""
WITHOUT = """
import sys
from autograder.sandbox import namespaces, syscalls
def refuse(flags): raise PermissionError
syscalls.unshare = refuse
print(namespaces.has_private_folders())
"""


@pytest.fixture(scope="module")
def fork_server():
    """A fork server with a small private folder."""
    with ForkServer("full", LIMITS) as server:
        server.wait_ready()
        yield server


@pytest.fixture
def session(fork_server):
    """A module that hides files."""
    session = Session(fork_server, "hiding", (HIDING,), notebook=False)
    yield session
    session.close()


@pytest.mark.slow
@needs_mount
def test_deleted_files_count(session):
    """A file that is open keeps its bytes within the limit."""
    assert session.ask("call", name="deleted").value == LIMITS.disk_mib


@needs_mount
def test_folders_count_however_deep_they_are(session):
    """Folders count towards the limit at any depth."""
    assert session.ask("call", name="deep").value == LIMITS.files


@pytest.mark.slow
@needs_mount
@needs_open_python
def test_demos_plot_and_save():
    """The files that honest labs write fit into the default limits."""
    with ForkServer("full", Limits()) as server:
        server.wait_ready()
        session = Session(server, "hiding", (HIDING,), notebook=False)
        value = session.ask("call", name="saved").value
        session.close()

    assert value == 2.0


@pytest.mark.slow
@needs_mount
def test_nothing_is_written_to_the_disk(session):
    """The folder that the supervisor made stays empty, so a killed run leaves no bytes."""
    session.ask("call", name="saved")

    assert session._worker is not None
    assert list(session._worker.private.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs namespaces")
def test_a_system_without_namespaces_is_recognized():
    """On a system without namespaces a worker may write nothing, as `autograder doctor` reports."""
    done = subprocess.run(  # noqa: S603  # it runs our own script
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )

    assert done.stdout == "False\n", done.stderr


def test_there_is_none_off_linux(monkeypatch):
    """On other systems there is no private folder, and no error."""
    monkeypatch.setattr(sys, "platform", "darwin")

    assert namespaces.has_private_folders.__wrapped__() is False


def test_a_private_folder_is_empty_and_closed_to_others(tmp_path):
    """A private folder is empty, and only the worker's user may enter it."""
    folder = make_private_folder(tmp_path)
    facts = folder.stat()
    remove_folder(folder)

    assert stat.S_IMODE(facts.st_mode) == 0o700
    assert facts.st_uid == (unprivileged_owner() or os.geteuid())
    assert not folder.exists()


def test_a_folder_without_permissions_is_removed(tmp_path: Path):
    """A submission can't keep its private folder by taking permissions away."""
    inner = tmp_path / "private" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    inner.chmod(0)
    remove_folder(tmp_path / "private")

    assert not (tmp_path / "private").exists()
