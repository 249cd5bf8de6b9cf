"""Measures the processor time of a worker from outside, and reports when it is used up."""

import os
import time
from pathlib import Path

WATCH_SECONDS = 0.05  # how often the time of a long call is measured


class CpuDeadline:
    """The time limit for the calls of a worker, independent of the machine's load.

    The time that the worker waited for a processor, as the kernel measures it, is not counted. At
    most *most* seconds of clock time may pass. Without /proc, all time counts.
    """

    def __init__(self, pid: int, seconds: float, most: float, proc: Path = Path("/proc")) -> None:
        self.seconds = seconds
        self._process = proc, str(pid)
        self._last_deadline = time.monotonic() + most
        self._calls = 0
        self.renew()

    @property
    def granted(self) -> float:
        """The seconds that were granted to all calls so far."""
        return self.seconds * self._calls

    def renew(self) -> None:
        """Start the time of the next call."""
        self._calls += 1
        self._before: tuple[float, float] | None = None
        self._start = time.monotonic()
        self._deadline = min(self._start + self.seconds, self._last_deadline)

    def remaining(self) -> float:
        """Return the seconds until the next check of the worker; at 0 its time is used up."""
        now = time.monotonic()
        if self._before is None and now >= min(self._start + WATCH_SECONDS, self._deadline):
            self._before = self._used_and_waited()  # most calls have returned by now
        if self._before is not None and now >= self._deadline:
            used, waited = (
                after - before
                for after, before in zip(self._used_and_waited(), self._before, strict=True)
            )
            if used < self.seconds:  # otherwise it waited for its own threads
                self._deadline = min(self._start + self.seconds + waited, self._last_deadline)
        return self._deadline - now

    def _used_and_waited(self) -> tuple[float, float]:
        """Return the processor seconds of all threads, and the waiting seconds of the first one."""
        folder = Path(*self._process)
        try:
            stat = (folder / "stat").read_text("ascii", "replace")
            fields = stat.rpartition(")")[2].split()
            waited = (folder / "schedstat").read_text("ascii").split()[1]
            ticks = int(fields[11]) + int(fields[12])
            return ticks / os.sysconf("SC_CLK_TCK"), int(waited) / 1e9
        except (OSError, IndexError, ValueError):  # not Linux, or the worker has just ended
            return 0.0, 0.0
