import os
import subprocess
import sys

import pytest

from autograder.sandbox.supervisor import WALL_CLOCK_FACTOR, _CpuDeadline

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_a_worker_that_is_kept_waiting_keeps_its_time():
    """Time that others held the processor is not charged: a busy machine fails no right answer."""
    clock = _CpuDeadline(
        os.getpid(), 1000.0
    )  # this process runs, and has used next to nothing of it
    clock._deadline -= 1000.0

    assert clock.left() > 900


def test_a_worker_that_sleeps_uses_its_time_up():
    """A call that waits for nothing is stopped when the clock on the wall says so."""
    with subprocess.Popen(["/bin/sleep", "100"]) as sleeper:
        clock = _CpuDeadline(sleeper.pid, 50.0)
        while clock._read()[0] != "S":  # it has to start before it can sleep
            pass
        clock._deadline -= 50.0
        left = clock.left()
        sleeper.kill()

    assert left <= 0


def test_patience_ends():
    """Whatever holds the processor, a call takes so many times its limit at most."""
    clock = _CpuDeadline(os.getpid(), 1000.0)
    clock._deadline -= 1000.0
    clock._last -= WALL_CLOCK_FACTOR * 1000.0

    assert clock.left() <= 0


def test_a_process_that_is_gone_has_no_time():
    """Where nothing can be read of a process, the clock on the wall decides."""
    clock = _CpuDeadline(2**22 + 1, 5.0)
    clock._deadline -= 5.0

    assert clock.left() <= 0
