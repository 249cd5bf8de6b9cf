"""The fork server: how workers start and end, and how it ends itself."""

import os
import select
import signal
import subprocess
import sys

import pytest

from autograder.course import Limits
from autograder.errors import GraderError
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.protocol import Request
from autograder.sandbox.supervisor import ForkServer

SECONDS = 20.0  # a machine may be busy; without the kill the processes would never end
SUPERVISOR = """
import sys

from autograder.course import Limits
from autograder.sandbox.supervisor import ForkServer
from autograder.sandbox.protocol import Request, pack

with ForkServer(sys.argv[1], Limits()) as fork_server:
    fork_server.wait_ready()
    worker = fork_server.start("endless", notebook=False)
    worker.connection.setblocking(True)
    worker.connection.sendall(pack(Request(number=1, verb="run", cells=(b"while True: pass",))))
    print(fork_server._process.pid, worker.pid, flush=True)
    sys.stdin.read()
"""


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


def test_a_worker_has_a_process_of_its_own_until_it_is_ended(fork_server: ForkServer):
    """Its end is a SIGKILL; ending it again does nothing."""
    worker = fork_server.start("tiny", notebook=False)
    cell = b"import os\ndef pid(): return os.getpid()"
    worker.ask(Request(number=1, verb="run", cells=(cell,)), seconds=20.0)
    pid = worker.ask(Request(number=2, verb="call", name="pid"), seconds=20.0).value

    assert pid == worker.pid
    assert worker.end() == -signal.SIGKILL
    assert worker.end() == 0


def test_a_fork_server_that_does_not_start_is_an_error_of_the_grader():
    """No submission is blamed for it."""
    with ForkServer("process", Limits()) as fork_server:
        fork_server._process.kill()

        with pytest.raises(GraderError, match="does not answer"):
            fork_server.wait_ready()
