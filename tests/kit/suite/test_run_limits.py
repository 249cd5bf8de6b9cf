"""Tests that the course's own code is stopped at its limits of time and memory."""

import gc
import os
import signal
import sys
import threading
import time

import pytest

from autograder.suite.run_limits import OutOfTimeError, limited


def loop_that_catches_once() -> None:
    """Run for ever, even after the first exception."""
    try:
        while True:
            pass
    except OutOfTimeError:
        while True:
            pass


def test_an_endless_loop_is_stopped():
    """An endless loop that catches every exception is stopped, because the timer rings again."""
    with pytest.raises(OutOfTimeError), limited(0.1, 512):
        loop_that_catches_once()


def test_a_program_that_only_waits_is_stopped():
    """A program that only waits is stopped, although it takes no processor time."""
    with pytest.raises(OutOfTimeError), limited(0.02, 512):
        time.sleep(60)


def compute(seconds: float) -> None:
    """Use processor time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_the_time_of_other_threads_does_not_count(monkeypatch: pytest.MonkeyPatch):
    """Time that torch spends in its own threads does not count, however busy the machine is."""
    monkeypatch.setattr("autograder.suite.run_limits.WAITING", 1000)
    thread = threading.Thread(target=compute, args=(0.4,))

    with limited(0.2, 512):
        thread.start()
        thread.join()

    assert not thread.is_alive()


def test_the_timer_of_a_check_stops_nothing():
    """A late signal of a check's timer does not stop the course's own code."""
    with limited(5.0, 512):
        os.kill(os.getpid(), signal.SIGALRM)
        compute(0.01)


def test_no_garbage_is_collected_meanwhile():
    """Limited code is not charged for a garbage collection of this process."""
    with limited(5.0, 512):
        assert not gc.isenabled()

    assert gc.isenabled()


def test_nothing_rings_afterwards():
    """The timers are off after the end of the block."""
    with limited(0.05, 512):
        pass

    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory")
def test_a_large_allocation_is_refused():
    """An allocation above the limit raises MemoryError, and a later one that fits does not."""
    with limited(5.0, 64), pytest.raises(MemoryError):
        bytearray(1 << 30)

    assert len(bytearray(1 << 27)) == 1 << 27
