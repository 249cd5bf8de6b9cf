"""Code of this process is interrupted in time, and what was set before is set again."""

import signal
import threading
import time

import pytest

from autograder.suite.alarm import alarm

LATE = 1000.0  # seconds; such a timer does not ring in a test


class RingError(BaseException):
    """The exception that the alarms of these tests raise."""


def ring(_frame) -> None:
    """Raise in the code that runs."""
    raise RingError


def work(until) -> None:
    """Use processor time until *until* returns true, or for some seconds in a test that fails."""
    for _ in range(5_000_000):
        if until():
            return


def test_a_loop_is_interrupted():
    """The exception arises in the middle of the loop."""
    with pytest.raises(RingError), alarm(ring, processor=0.02, again=0.02):
        work(lambda: False)


def test_an_interrupt_that_raises_nothing_comes_again():
    """Code continues after an interrupt that raises nothing, and it comes again."""
    rings = []
    with alarm(rings.append, processor=0.01, again=0.01):
        work(lambda: len(rings) > 2)

    assert len(rings) > 2


def test_code_that_waits_is_interrupted_by_the_clock():
    """Code that waits takes no processor time, so the clock interrupts it."""
    with pytest.raises(RingError), alarm(ring, processor=LATE, clock=0.02, again=0.02):
        time.sleep(60)


def test_an_alarm_goes_on_after_one_inside():
    """After an alarm inside, the outer handler and timer are the same as before."""
    rings = []
    with alarm(rings.append, processor=LATE, again=LATE):
        handler = signal.getsignal(signal.SIGPROF)
        with alarm(ring, processor=LATE / 2, again=LATE):
            inner = signal.getitimer(signal.ITIMER_PROF)[0]
        left = signal.getitimer(signal.ITIMER_PROF)
        same = signal.getsignal(signal.SIGPROF) == handler

    assert inner < LATE * 0.6 < left[0]
    assert left[1] == pytest.approx(LATE)
    assert same
    assert rings == []


def test_an_alarm_rings_after_one_inside():
    """An outer alarm counts the time of the block of an inner one."""
    rings = []
    with alarm(rings.append, processor=0.01, again=0.01):
        with alarm(ring, processor=LATE, again=LATE):
            pass
        work(lambda: rings)

    assert rings


def test_the_signal_of_another_timer_is_ignored():
    """The signal of another timer does not ring this alarm."""
    with alarm(ring, processor=LATE, again=LATE):
        signal.raise_signal(signal.SIGPROF)


def test_a_late_signal_is_ignored():
    """A signal that arrives after the end of the block has no effect."""
    with alarm(ring, processor=LATE, again=LATE):
        pass
    signal.raise_signal(signal.SIGPROF)

    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_torch_is_not_interrupted_while_it_collects_garbage():
    """No alarm interrupts a garbage collection, where Python would drop the exception."""

    def gc_callback() -> None:
        end = time.thread_time() + 0.05
        while time.thread_time() < end:  # here, as torch's own is written in C
            pass

    with alarm(ring, processor=0.01, again=0.01):
        gc_callback()
        with pytest.raises(RingError):
            work(lambda: False)


def test_another_thread_is_not_interrupted():
    """Only the main thread gets signals, so no timer is set for another one."""
    found = []

    def look() -> None:
        with alarm(ring, processor=LATE, again=LATE):
            found.append(signal.getitimer(signal.ITIMER_PROF))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert found == [(0.0, 0.0)]
