"""Tests that checks and requests are stopped at their limits, and that timers are restored."""

import contextlib
import gc
import os
import signal
import sys
import threading
import time
from functools import partial

import pytest

from autograder.grading.pytest_session import CHECK
from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.suite import in_process, limits
from autograder.suite.limits import (
    SHIELDED,
    OutOfTimeError,
    alarm,
    limit_check,
    limit_request,
    ticking,
)

LATE = 1000.0  # seconds; such a timer does not ring in a test
PATIENCE = 50_000_000  # turns of a loop; a few seconds, so that a test that fails ends as well
WORK = f"""
def work(then=lambda: None):
    try:
        for _ in range({PATIENCE}):
            pass
    finally:
        then()
"""


# The timer that serves all limits


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


# A request to the course's own code


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
    with pytest.raises(OutOfTimeError), limit_request(0.1, 512):
        loop_that_catches_once()


def test_a_program_that_only_waits_is_stopped():
    """A program that only waits is stopped, although it takes no processor time."""
    with pytest.raises(OutOfTimeError), limit_request(0.02, 512):
        time.sleep(60)


def compute(seconds: float) -> None:
    """Use processor time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_the_time_of_other_threads_does_not_count(monkeypatch: pytest.MonkeyPatch):
    """Time that torch spends in its own threads does not count, however busy the machine is."""
    monkeypatch.setattr("autograder.suite.limits.WAITING", 1000)
    thread = threading.Thread(target=compute, args=(0.4,))

    with limit_request(0.2, 512):
        thread.start()
        thread.join()

    assert not thread.is_alive()


def test_the_timer_of_a_check_stops_nothing():
    """A late signal of a check's timer does not stop the course's own code."""
    with limit_request(5.0, 512):
        os.kill(os.getpid(), signal.SIGALRM)
        compute(0.01)


def test_no_garbage_is_collected_meanwhile():
    """Limited code is not charged for a garbage collection of this process."""
    with limit_request(5.0, 512):
        assert not gc.isenabled()

    assert gc.isenabled()


def test_nothing_rings_afterwards():
    """The timers are off after the end of the block."""
    with limit_request(0.05, 512):
        pass

    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory")
def test_a_large_allocation_is_refused():
    """An allocation above the limit raises MemoryError, and a later one that fits does not."""
    with limit_request(5.0, 64), pytest.raises(MemoryError):
        bytearray(1 << 30)

    assert len(bytearray(1 << 27)) == 1 << 27


# A check


def function_of(module: str, name: str, source: str = WORK):
    """The function *name* as if *module* had defined it."""
    namespace = {"__name__": module}
    exec(source, namespace)  # noqa: S102  # the text is in this file
    return namespace[name]


def in_a_check(call):
    """Call it where pytest would call a check."""
    module, name = CHECK
    function_of(module, name, f"def {name}(call): call()")(call)


@pytest.fixture(autouse=True)
def quick_ticks(monkeypatch):
    """Look more often than a grader does."""
    monkeypatch.setattr(limits, "CHECK_TICK_SECONDS", 0.02)


def test_a_check_without_time_left_is_ended():
    """A check without time left ends even in a loop without requests."""
    with pytest.raises(Fault) as caught, limit_check(lambda: 0.0, CHECK):
        in_a_check(function_of("test_stage", "work"))

    assert caught.value.status is Status.TIMEOUT


def test_a_check_with_time_left_goes_on():
    """A check with time left is not interrupted."""
    done = []
    with limit_check(lambda: 1.0, CHECK):
        in_a_check(partial(function_of("test_stage", "work"), lambda: done.append(True)))

    assert done


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(SHIELDED))
def test_a_request_is_answered_to_its_end(module):
    """A check whose time is up ends after the request, so that other data stays intact."""
    answered = []
    answer = function_of(module, "work")

    def check() -> None:
        answer(lambda: answered.append(True))
        function_of("test_stage", "work")()

    with pytest.raises(Fault), limit_check(lambda: 0.0, CHECK):
        in_a_check(check)

    assert answered


def test_the_runner_itself_is_never_ended():
    """The time limit raises no exception outside of a check."""
    with limit_check(lambda: 0.0, CHECK):
        function_of("test_stage", "work")()


def test_in_another_thread_only_requests_end_a_check():
    """Only the main thread gets signals, and elsewhere nothing is raised."""
    ended = []

    def grade() -> None:
        with limit_check(lambda: 0.0, CHECK):
            in_a_check(lambda: ended.append(True))

    thread = threading.Thread(target=grade)
    thread.start()
    thread.join()

    assert ended


def test_the_shielded_modules_and_the_hook_exist():
    """The modules that no time limit may interrupt exist under their listed names."""
    module, name = CHECK

    assert hasattr(pytest.importorskip(module), name)
    assert in_process.__name__ in SHIELDED
    for shielded in SHIELDED:
        pytest.importorskip(shielded)


def test_garbage_is_collected_rarely_only_in_the_block():
    """Python's own threshold applies again after the block."""
    usual = gc.get_threshold()
    with limits.rarely_collected():
        inside = gc.get_threshold()

    assert inside[0] == limits.MANY_OBJECTS
    assert gc.get_threshold() == usual
