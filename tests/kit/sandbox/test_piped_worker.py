"""Tests the process of a worker without fork."""

import subprocess
import sys

from autograder.sandbox.fork_server import serve_pipes
from autograder.sandbox.protocol import HEADER
from autograder.sandbox.worker import CONFINED


def test_it_reports_that_it_is_ready_and_ends_with_its_supervisor():
    """The standard output of the process holds only messages, and the end of its input ends it."""
    name = serve_pipes.__name__
    start = f"from {serve_pipes.__module__} import {name}; {name}()"
    done = subprocess.run(  # noqa: S603  # this Python, a line of ours
        [sys.executable, "-c", start], input=HEADER.pack(0, 0, 0), capture_output=True, check=False
    )

    assert done.returncode == 0
    assert done.stdout in {CONFINED, b""}  # the input may end first
    assert b"most recent call first" in done.stderr
