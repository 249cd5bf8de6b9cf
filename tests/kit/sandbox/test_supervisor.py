"""Tests the supervisor's handling of a fork server that does not answer."""

import copy
import socket

import pytest

from autograder.errors import LostProcessError
from autograder.sandbox.supervisor import ForkServer


def test_a_fork_server_that_is_gone_is_a_lost_process(fork_server: ForkServer):
    """A lost fork server is not the fault of a submission, and its user can start a new one."""
    gone = copy.copy(fork_server)
    near, far = socket.socketpair()
    far.close()
    gone._controls = [near]

    with near:
        for ask in (lambda: gone.start("tiny", notebook=False), lambda: gone.end(1, 0)):
            with pytest.raises(LostProcessError, match="fork server does not answer"):
                ask()
