"""Tests the limits of this process: memory, processor time, and the life of its parent."""

import signal
import subprocess
import sys
from pathlib import Path

import autograder


def test_a_process_that_computes_too_long_is_ended():
    """The system ends a process that exceeds its limit of processor time."""
    script = "from autograder.sandbox.process_limits import limit_processor_time\n"
    script += "limit_processor_time(0.1)\n"
    command = [sys.executable, "-c", script + "while True: pass"]
    done = subprocess.run(command, cwd=Path(autograder.__file__).parents[1], check=False)  # noqa: S603  # it runs our own script

    assert done.returncode == -signal.SIGXCPU
