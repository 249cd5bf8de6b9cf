"""Tests the supervisor's handling of a fork server that does not answer."""

import copy
import socket
from pathlib import Path

import pytest

from autograder.errors import LostProcessError
from autograder.sandbox.supervisor import ForkServer
from autograder.sandbox.worker_process import Worker


@pytest.fixture
def preparing(fork_server: ForkServer) -> ForkServer:
    """A fork server that has prepared a worker for the module `tiny`."""
    server = copy.copy(fork_server)
    server._spare, server._ended = {}, []
    server.prepare("tiny", notebook=False)
    return server


def is_alive(worker: Worker) -> bool:
    """Whether the process of *worker* has not been removed."""
    return Path(f"/proc/{worker.pid}").exists()


def test_a_fork_server_that_is_gone_is_a_lost_process(fork_server: ForkServer):
    """A lost fork server is not the fault of a submission, and a new one can be started."""
    gone = copy.copy(fork_server)
    near, far = socket.socketpair()
    far.close()
    gone._controls = [near]

    with near:
        for ask in (lambda: gone.start("tiny", notebook=False), lambda: gone.end(1, 0)):
            with pytest.raises(LostProcessError, match="fork server does not answer"):
                ask()


def test_a_prepared_worker_is_used_once_and_for_its_module_only(preparing: ForkServer):
    """The next check of the module gets the prepared worker; every other check gets a new one."""
    [spare] = preparing._spare.values()
    workers = [preparing.start(name, notebook=False) for name in ("other", "tiny", "tiny")]
    for worker in workers:
        worker.remove()

    assert [worker is spare for worker in workers] == [False, True, False]


def test_a_worker_is_removed_when_nobody_waits(preparing: ForkServer):
    """While a learner waits for the answer, no time is spent on the removal of a worker."""
    worker = preparing.start("tiny", notebook=False)
    worker.is_idle = True
    worker.end()
    lives_on = is_alive(worker)
    preparing.prepare("other", notebook=False)
    [spare] = preparing._spare.values()
    spare.remove()

    assert lives_on
    assert not is_alive(worker)
    assert not worker.private.exists()


def test_at_most_one_worker_is_prepared(preparing: ForkServer):
    """When the learner goes on to a new module, the worker of the last one is removed."""
    [first] = preparing._spare.values()
    preparing.prepare("other", notebook=False)
    [second] = preparing._spare.values()
    second.remove()

    assert not is_alive(first)


def test_a_removed_worker_is_not_used_when_no_other_can_start(
    preparing: ForkServer, monkeypatch: pytest.MonkeyPatch
):
    """If the fork server is lost while it prepares, the next check does not get a dead worker."""

    def lose(*_args: object, **_options: object) -> Worker:
        msg = "the fork server is lost"
        raise LostProcessError(msg)

    monkeypatch.setattr(preparing, "_fork", lose)
    with pytest.raises(LostProcessError):
        preparing.prepare("other", notebook=False)

    assert preparing._spare == {}
