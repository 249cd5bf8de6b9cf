"""Tests limits of processor time: the time that is charged to a worker."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.sandbox.worker_process import TICKS, CpuDeadline

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def proc(tmp_path: Path) -> Callable[..., Path]:
    """Write the files of /proc for process 7 and for this one, which have used no time at first."""

    def write(used: float = 0.0, waited: float = 0.0, own: float = 0.0) -> Path:
        ticks = round(used * TICKS)
        folder = tmp_path / "7"
        for path in (folder, tmp_path / "thread-self"):
            path.mkdir(exist_ok=True)
        (tmp_path / "thread-self" / "schedstat").write_text(f"0 {round(own * 1e9)} 1")
        (folder / "stat").write_text(f"7 (python) R {'0 ' * 10}{ticks} 0 0")
        (folder / "schedstat").write_text(f"0 {round(waited * 1e9)} 1")
        return tmp_path

    return write


def at_its_end(proc: Callable[..., Path], most: float = 1e6, **facts: float) -> CpuDeadline:
    """Return a deadline of 1000 s that the clock has passed; *facts* were measured meanwhile."""
    deadline = CpuDeadline(7, 1000.0, most, proc())
    for name in ("_start", "_deadline", "_last_deadline"):
        setattr(deadline, name, getattr(deadline, name) - 1000.0)
    deadline._before = deadline._used_and_waited()
    proc(**facts)
    return deadline


def test_a_worker_that_waited_for_a_processor_keeps_its_time(proc):
    """Time in the queue of a processor is not charged to the worker."""
    assert 890 < at_its_end(proc, used=100.0, waited=900.0).remaining() <= 900


def test_a_worker_that_is_runnable_when_it_is_looked_at_has_used_its_time(proc):
    """A worker that slept, and did not wait in a queue, has used up its time."""
    assert at_its_end(proc, used=0.1, waited=0.0).remaining() <= 0


def test_a_worker_that_waited_for_its_own_threads_has_used_its_time(proc):
    """The CPU time of a worker's threads is added up."""
    assert at_its_end(proc, used=1001.0, waited=900.0).remaining() <= 0


def test_the_clock_limits_a_worker_that_waits(proc):
    """A call that only waits ends when the submission's wall-clock time is up."""
    assert at_its_end(proc, most=1000.0, used=0.0, waited=900.0).remaining() <= 0


@pytest.mark.parametrize(
    ("facts", "least", "most"),
    [
        pytest.param({"used": 1.0, "waited": 399.0}, 1.0, 1.5, id="worker-waited"),
        pytest.param({"used": 1.0, "own": 399.0}, 1.0, 1.5, id="grader-waited"),
        pytest.param({"used": 1.0, "waited": 300.0, "own": 300.0}, 1.0, 1.0, id="both-waited"),
        pytest.param({"used": 0.0}, 400.0, 400.5, id="slept"),
        pytest.param({"used": 700.0, "waited": 390.0}, 700.0, 700.0, id="many-threads"),
        pytest.param({"used": 1500.0}, 1000.0, 1000.0, id="no-more-than-granted"),
    ],
)
def test_a_submission_is_charged_for_work_and_sleep(proc, facts, least: float, most: float):
    """The seconds in which the worker or the grading process waited are not charged."""
    deadline = CpuDeadline(7, 1000.0, 1e6, proc())
    counters, own, start = deadline._first
    deadline._first = counters, own, start - 400.0
    proc(**facts)

    assert least <= deadline.charge() <= most


def test_a_worker_that_has_ended_is_charged_the_time_of_the_clock(proc):
    """Without information in /proc, no waiting is known."""
    deadline = CpuDeadline(7, 1000.0, 1e6, proc(waited=900.0))
    counters, own, start = deadline._first
    deadline._first = counters, own, start - 400.0
    shutil.rmtree(proc() / "7")

    assert 400 <= deadline.charge() < 401


@needs_proc
def test_the_kernel_measures_how_long_a_process_waits_for_a_processor():
    """The waiting time in /proc grows when two processes share one processor."""
    processor = min(os.sched_getaffinity(0))
    spin = f"import os; os.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"
    with (
        subprocess.Popen([sys.executable, "-S", "-c", spin]) as one,  # noqa: S603  # this Python and our own line
        subprocess.Popen([sys.executable, "-S", "-c", spin]) as other,  # noqa: S603  # this Python and our own line
    ):
        deadline = CpuDeadline(one.pid, 50.0, 50.0)
        while min(deadline._used_and_waited()) < 0.05 and deadline.remaining() > 0:
            pass
        found = deadline._used_and_waited()
        one.kill()
        other.kill()

    assert min(found) >= 0.05


@needs_proc
def test_a_worker_that_sleeps_uses_its_time_up():
    """A call that sleeps is stopped when its limit has passed in wall-clock time.

    A worker gets less than a second of extra time for a start that waits for a processor.
    """
    with subprocess.Popen(["/bin/sleep", "100"]) as sleeper:
        deadline = CpuDeadline(sleeper.pid, 50.0, 1000.0)
        deadline._deadline -= 51.0
        deadline._start -= 51.0
        remaining = deadline.remaining()
        sleeper.kill()

    assert remaining <= 0


@needs_proc
def test_the_clock_decides_about_a_process_that_has_ended():
    """Without information in /proc, the limit of a process is measured in wall-clock time."""
    deadline = CpuDeadline(2**22 + 1, 5.0, 100.0)
    deadline._deadline -= 5.0
    deadline._start -= 5.0

    assert deadline.remaining() <= 0
