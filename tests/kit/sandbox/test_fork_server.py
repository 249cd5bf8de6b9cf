"""Tests the fork server: how workers start and end, and how it ends itself."""

import errno
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autograder.course_file import Limits
from autograder.errors import GraderError
from autograder.sandbox import fork_server as fork_server_module
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.supervisor import ForkServer

SECONDS = 20.0  # a machine may be busy; without the kill the processes would never end
SUPERVISOR = """
import sys

from autograder.course_file import Limits
from autograder.sandbox.supervisor import ForkServer
from autograder.sandbox.protocol import Batch, Request, framed, pack

with ForkServer(sys.argv[1], Limits()) as fork_server:
    fork_server.wait_ready()
    worker = fork_server.start("endless", notebook=False)
    worker.wire._connection.setblocking(True)
    endless = Request(verb="run", cells=(b"while True: pass",))
    worker.wire._connection.sendall(framed(pack(Batch((endless,))), 1))
    print(fork_server._process.pid, worker.pid, flush=True)
    sys.stdin.read()
"""


INHERITING = """
import os, sys

from autograder.course_file import Limits
from autograder.sandbox.supervisor import ForkServer

CODE = b'''
import os, sys
def inherited():
    server = f"/proc/{os.getppid()}"
    links = [f"{server}/fd/{name}" for name in os.listdir(f"{server}/fd")]
    return [
        sorted(os.environ),
        [os.readlink(link) for link in links if os.path.islink(link)],
        sys.path[0],
        os.getppid(),
    ]
'''
opened = open(sys.argv[1])
with ForkServer.of_own_code(Limits()) as fork_server:
    from autograder.sandbox.session import Session  # it imports torch
    fork_server.wait_ready()
    session = Session(fork_server, "module", (CODE,), notebook=False)
    reply = session.ask("call", name="inherited")
    session.close()
print(reply.problem, type(fork_server._process).__name__, reply.value)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is a new process")
def test_a_fork_for_own_code_keeps_nothing_open(tmp_path: Path):
    """Environment, open files and the current folder stay with the process that started it."""
    secret = tmp_path / "open.txt"
    secret.touch()
    done = subprocess.run(  # noqa: S603  # this Python and our own lines
        [sys.executable, "-c", INHERITING, str(secret)],
        env={**os.environ, "AUTOGRADER_COURSE_SECRET": "x", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("None _Fork ")
    assert "OMP_NUM_THREADS" in done.stdout
    assert "AUTOGRADER_COURSE_SECRET" not in done.stdout
    assert str(tmp_path) not in done.stdout
    assert done.stdout.count("socket:") == 1


def test_a_process_with_threads_starts_a_new_one():
    """A process with threads starts a new one, because a fork would inherit their locks."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    with ForkServer.of_own_code(Limits()) as fork_server:
        is_new = isinstance(fork_server._process, subprocess.Popen)
    stop.set()
    thread.join()

    assert is_new


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has pidfd_open")
@pytest.mark.parametrize("isolation", ["process", "full"])
def test_an_endless_loop_ends_with_its_supervisor(isolation: str):
    """After SIGKILL, fork server and worker end, although the worker reads no message."""
    if isolation == "full" and detect_capabilities().level != "full":
        pytest.skip("full isolation is not available here")
    with subprocess.Popen(  # noqa: S603  # this Python and our own lines
        [sys.executable, "-c", SUPERVISOR, isolation],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as supervisor:
        assert supervisor.stdout is not None
        watched = [os.pidfd_open(int(pid)) for pid in supervisor.stdout.readline().split()]
        supervisor.send_signal(signal.SIGKILL)

    left = [pidfd for pidfd in watched if not select.select([pidfd], [], [], SECONDS)[0]]
    for pidfd in watched:
        os.close(pidfd)

    assert left == []


def test_a_worker_has_a_separate_process_until_it_is_ended(fork_server: ForkServer):
    """A worker ends by SIGKILL, and ending it again does nothing."""
    worker = fork_server.start("tiny", notebook=False)
    process = Path(f"/proc/{worker.pid}")

    assert process.exists()
    assert worker.end() == -signal.SIGKILL
    assert not process.exists()
    assert worker.end() == 0


def test_a_fork_server_that_does_not_start_is_an_error_of_the_grader():
    """A fork server that does not start is an error of the grader."""
    with ForkServer("process", Limits()) as fork_server:
        fork_server._process.kill()

        with pytest.raises(GraderError, match="does not answer"):
            fork_server.wait_ready()


def test_a_worker_that_does_not_end_holds_nobody_up(monkeypatch: pytest.MonkeyPatch):
    """A killed worker that the kernel does not end delays others only briefly."""
    monkeypatch.setattr(fork_server_module, "END_SECONDS", 0.01)
    monkeypatch.setattr("os.kill", lambda _pid, _signal: None)
    monkeypatch.setattr("os.waitpid", lambda _pid, _flags: (0, 0))

    assert fork_server_module._end_worker(4711).exit_code == -signal.SIGKILL


def test_a_disk_that_is_full_costs_no_grade(
    monkeypatch: pytest.MonkeyPatch, fork_server: ForkServer
):
    """A private folder that can't be made is an ``OSError``, which becomes `grader-error`."""

    def full(*_given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("autograder.sandbox.supervisor.make_private_folder", full)

    with pytest.raises(OSError, match="No space left"):
        fork_server.start("module", notebook=False)
    monkeypatch.undo()
    assert fork_server.start("module", notebook=False).end() == -signal.SIGKILL
