"""Tests that code of this process is interrupted in time, and that earlier timers are restored."""

import contextlib
import signal
import threading
import time

import pytest

from autograder.suite.alarm import alarm, ticking

LATE = 1000.0  # seconds; such a timer does not ring in a test


class RingError(BaseException):
    """The exception that the alarms of these tests raise."""


def ring(_frame) -> None:
    """Raise in the code that runs."""
    raise RingError


def work(until) -> None:
    """Use processor time until *until* returns true, or for a few seconds in a test that fails."""
    for _ in range(5_000_000):
        if until():
            return


def test_a_loop_is_interrupted():
    """The exception arises in the middle of the loop."""
    with pytest.raises(RingError), alarm(ring, processor=0.02, again=0.02):
        work(lambda: False)


def test_an_interrupt_that_raises_nothing_comes_again():
    """Code continues after an interrupt that raises nothing, and the interrupt comes again."""
    rings = []
    with alarm(rings.append, processor=0.01, again=0.01):
        work(lambda: len(rings) > 2)

    assert len(rings) > 2


def test_code_that_waits_is_interrupted_by_the_clock():
    """Code that waits takes no processor time, so the clock interrupts it."""
    with pytest.raises(RingError), alarm(ring, processor=LATE, clock=0.02, again=0.02):
        time.sleep(60)


def test_an_alarm_does_not_ring_inside_another():
    """Only the innermost alarm rings, even when the outer one is due before."""
    rings = []
    with alarm(rings.append, processor=0, again=0), alarm(ring, processor=LATE, again=LATE):
        rings.clear()  # it may have rung before the other began
        work(lambda: rings)
        inside = list(rings)

    assert inside == []


def test_the_timer_and_handler_from_before_are_set_again():
    """After the last alarm, the timer and the handler of other code are the same as before."""
    handler = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LATE, LATE)
    try:
        with alarm(ring, processor=LATE, again=LATE):
            pass
        left, same = signal.getitimer(signal.ITIMER_REAL), signal.getsignal(signal.SIGALRM)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)

    assert left == pytest.approx((LATE, LATE), abs=1.0)
    assert same is ring


def test_alarms_share_a_timer_that_ticks():
    """The timer that one block needs is not set again for the alarms in it, and they ring."""
    with ticking():
        handler = signal.getsignal(signal.SIGALRM)
        with pytest.raises(RingError), alarm(ring, processor=0.02, again=0.02):
            work(lambda: False)
        after = signal.getitimer(signal.ITIMER_REAL)[0], signal.getsignal(signal.SIGALRM)

    assert 0 < after[0] < LATE
    assert after[1] is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_alarm_that_rang_is_over():
    """An alarm whose exception left its block does not ring in the code after it."""
    with ticking():
        with contextlib.suppress(RingError), alarm(ring, processor=0.01, again=0.01):
            work(lambda: False)
        end = time.thread_time() + 0.05
        work(lambda: time.thread_time() > end)


def test_an_alarm_rings_after_one_inside():
    """An outer alarm counts the time of the block of an inner one."""
    rings = []
    with alarm(rings.append, processor=0.01, again=0.01):
        with alarm(ring, processor=LATE, again=LATE):
            pass
        work(lambda: rings)

    assert rings


def test_an_early_signal_is_ignored():
    """A signal that arrives before the time of an alarm does not ring it."""
    with alarm(ring, processor=LATE, again=LATE):
        signal.raise_signal(signal.SIGALRM)


def test_a_late_signal_is_ignored():
    """A signal that arrives after the end of the block has no effect."""
    with alarm(ring, processor=LATE, again=LATE):
        pass
    signal.raise_signal(signal.SIGALRM)

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


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
    """Only the main thread gets signals, so no timer is set for other threads."""
    found = []

    def look() -> None:
        with alarm(ring, processor=LATE, again=LATE):
            found.append(signal.getitimer(signal.ITIMER_REAL))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert found == [(0.0, 0.0)]
