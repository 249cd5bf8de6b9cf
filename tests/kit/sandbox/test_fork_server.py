"""A supervisor that is killed, such as a notebook's kernel, leaves no process behind."""

import os
import select
import signal
import subprocess
import sys

import pytest

from autograder.sandbox.isolation import probe

SECONDS = 20.0  # a machine may be busy; an orphan would stay for good
SUPERVISOR = """
import sys

from autograder.course import Limits
from autograder.sandbox.supervisor import ForkServer, private_folder
from autograder.sandbox.protocol import Request, pack

with ForkServer(sys.argv[1], Limits()) as fork_server:
    fork_server.wait_ready()
    worker = fork_server.start("endless", notebook=False, private=private_folder())
    worker._wire.setblocking(True)
    worker._wire.sendall(pack(Request(number=1, verb="run", cells=(b"while True: pass",))))
    print(fork_server._process.pid, worker._pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pidfd_open is Linux's")
@pytest.mark.parametrize("isolation", ["process", "full"])
def test_an_endless_loop_ends_with_its_supervisor(isolation: str):
    """After SIGKILL, fork server and worker are gone, although the worker never looks up."""
    if isolation == "full" and probe().level != "full":
        pytest.skip("full isolation can't be had here")
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
