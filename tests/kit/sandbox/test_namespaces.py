"""Tests that a worker has its own process numbers and leaves no trace in access times."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.course_file import Limits
from autograder.sandbox import namespaces
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from autograder.sandbox.tensors import decode

needs_namespace = pytest.mark.skipif(
    detect_capabilities().level != "full" or not namespaces.has_process_numbers(),
    reason="this system does not let a process make a PID namespace",
)
LOOKING = b"""
import os, threading

def advance():
    "Advance the kernel's counters as far as a worker can."
    for _ in range(50):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    try:
        os.pipe()
    except PermissionError:
        pass

def look():
    "Read the numbers that a worker gets from the kernel."
    found = [os.getpid(), os.getppid(), os.getsid(0), os.getpgid(0), threading.get_native_id()]
    found += [os.readlink(f"/proc/{name}") for name in ("self", "thread-self")]
    return found + [number for number in range(2, 40_000) if os.path.exists(f"/proc/{number}")]

def pipe():
    return os.pipe()
"""
# Runs where access times are recorded, as on a new system; the folder belongs to Python's own.
READING = """
import os, sys
from pathlib import Path
from autograder.sandbox import isolation, landlock, namespaces, syscalls

file = Path(sys.argv[1])
syscalls.unshare(namespaces.NEW_MOUNTS)
syscalls.mount("none", "/", "", 1 << 18 | 1 << 14)
syscalls.mount("none", str(file.parent), "tmpfs", 0, "")
syscalls.mount("none", str(file.parent), "", 32 | 1 << 24)  # MS_REMOUNT, MS_STRICTATIME
file.write_text("text")
os.utime(file, (1000, 1000))

def read_in_fork(prepare):
    if not (pid := os.fork()):
        prepare()
        file.read_text()
        os._exit(0)
    os.waitpid(pid, 0)
    return file.stat().st_atime > 1000

print(read_in_fork(namespaces.enter_mounts), read_in_fork(lambda: None))
"""


@pytest.fixture(scope="module")
def fork_server():
    """A fork server with full isolation."""
    with ForkServer("full", Limits()) as server:
        server.wait_ready()
        yield server


def asked(fork_server: ForkServer, *names: str) -> object:
    """Call functions of a new worker; return the last answer."""
    session = Session(fork_server, "looking", (LOOKING,), notebook=False)
    try:
        replies = [session.ask("call", name=name) for name in names]
    finally:
        session.close()
    assert replies[-1].problem is None, replies[-1].problem
    return decode(replies[-1].value, lambda _handle: None)


@needs_namespace
def test_process_numbers_are_the_same_in_every_worker(fork_server):
    """A worker can't tell a later one anything by advancing the kernel's counter of numbers."""
    first = asked(fork_server, "look")
    second = asked(fork_server, "advance", "look")
    third = asked(fork_server, "look")

    assert first[:7] == [1, 0, 1, 1, 1, "1", "1/task/1"]
    assert third == first
    assert second[:7] == first[:7]
    assert set(second[7:]) <= set(range(2, 60))


@needs_namespace
def test_a_worker_makes_no_pipe(fork_server):
    """The number of a pipe's file comes from a counter that all processes share."""
    with pytest.raises(AssertionError, match="PermissionError"):
        asked(fork_server, "pipe")


@needs_namespace
def test_an_ordinary_fork_has_a_number_of_the_machine(monkeypatch):
    """Without PID namespaces, a worker is an ordinary fork, and its parent has its number."""
    monkeypatch.setattr(namespaces, "has_process_numbers", lambda: False)
    pid = namespaces.fork_apart()
    if not pid:
        os._exit(os.getppid() != namespaces.parent_of_fork(os.getppid()))

    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or namespaces.access_times() != "unchanged",
    reason="needs root, which may mount",
)
def test_reading_changes_no_access_time(tmp_path: Path):
    """A worker's reading leaves no trace, although the same reading by others does."""
    done = subprocess.run(  # noqa: S603  # this Python and our own lines
        [sys.executable, "-c", READING, str(tmp_path / "file")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "False True\n"


def test_files_are_read_beforehand_where_access_times_change(tmp_path: Path, monkeypatch):
    """Where the kernel refuses that, each file, folder and link has been read on the same day."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("text")
    (tmp_path / "link").symlink_to("folder")
    read: list[tuple[str, int]] = []
    monkeypatch.setattr(namespaces, "access_times", lambda: "set before")
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result([0] * 10))
    monkeypatch.setattr(
        namespaces, "_read", lambda path: read.append((path, stat.S_IFMT(os.lstat(path).st_mode)))
    )
    namespaces.read_before.__wrapped__((str(tmp_path), str(tmp_path / "folder")))

    assert sorted(read) == [
        (str(tmp_path), stat.S_IFDIR),
        (str(tmp_path / "folder"), stat.S_IFDIR),
        (str(tmp_path / "folder" / "file"), stat.S_IFREG),
        (str(tmp_path / "link"), stat.S_IFLNK),
    ]


def test_an_ordinary_user_has_the_same_numbers():
    """An ordinary user forks twice, because only root can leave a PID namespace again."""
    if not namespaces.has_process_numbers():
        pytest.skip("this system does not let a process make a PID namespace")
    pid = namespaces._fork_twice()
    if not pid:
        os._exit(os.getpid() + 10 * os.getppid())

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
