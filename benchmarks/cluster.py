"""Measures a cluster of dask on this machine: python -m benchmarks.cluster [SUBMISSIONS] [ROUNDS].

In each of three rounds, the same honest class is graded by 1 and 2 grading processes of this
machine, and by 1, 2 and 4 workers of a cluster whose scheduler and workers are also processes of
this machine. Prints the median cost of one more submission after the first quarter of the class, so
that start-up does not count: the processor time of all processes of the run, of the supervisor and
of the scheduler, and the wall-clock time, which means little on a busy machine. The records must be
equal except for the times. All numbers are written to build/benchmarks/cluster.json.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from msgspec.structs import replace

from autograder.course import Course, find_root, load
from autograder.results import Results, SubmissionResult, to_json
from autograder.submission import Submission
from benchmarks.measuring import MILLISECONDS, numbered_submission

STAGE = "04"
START_SECONDS = 60.0  # for a scheduler or a worker to start on a busy machine
END_SECONDS = 20.0  # to wait for the end of processes
POLL_SECONDS = 0.05


class DaskCluster:
    """Runs a scheduler and *workers* on 127.0.0.1, each as a process, until ``close``."""

    def __init__(self, home: Path, workers: int) -> None:
        self.address = ""
        self._home = home
        self._workers = workers
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._start_all()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, then the scheduler."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start_all(self) -> None:
        file = self._home / "scheduler.json"
        file.unlink(missing_ok=True)
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file)
        _wait_until(lambda: file.is_file() and file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]
        number = ("--nworkers", self._workers, "--nthreads", 1)
        self._start("worker", self.address, *number, "--local-directory", self._home)
        _wait_until(lambda: len(self.worker_pids()) == self._workers)

    def worker_pids(self) -> list[int]:
        """List the processes in which tasks run; a nanny restarts each one that dies."""
        return _children(self._processes[1].pid, b"spawn_main")

    @property
    def pids(self) -> list[int]:
        """The scheduler, and the process that starts the workers."""
        return [process.pid for process in self._processes]

    def kill_scheduler(self) -> None:
        """End the scheduler with SIGKILL."""
        self._processes[0].kill()
        self._processes[0].wait()

    def wait_for_end_of(self, module: str) -> int:
        """Return how many processes of *module* below the workers have not ended in time."""
        deadline = time.monotonic() + END_SECONDS
        while left := sum(len(_children(pid, module.encode())) for pid in self.worker_pids()):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
        return left

    def _start(self, *words: object) -> None:
        command = [sys.executable, "-m", "dask", *map(str, words), "--no-dashboard"]
        output = (self._home / f"{words[0]}.log").open("wb")
        with output:
            process = subprocess.Popen(command, cwd=self._home, stdout=output, stderr=output)  # noqa: S603  # our own command
        self._processes.append(process)


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            sys.exit("The cluster did not start.")
        time.sleep(POLL_SECONDS)


def _children(parent: int, mark: bytes) -> list[int]:
    """List the processes below *parent* whose command line holds *mark*."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and mark in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


class Cost(NamedTuple):
    """The cost of one more submission, in milliseconds."""

    processor: float  # of all processes
    supervisor: float  # of the process that runs the command only
    scheduler: float  # of the cluster's scheduler only
    clock: float


def main(count: int = 60, rounds: int = 3) -> None:
    """Measure and print."""
    course = load(find_root(Path(__file__).parent))
    class_ = [numbered_submission(course.stage(STAGE), number) for number in range(count)]
    costs: dict[str, list[Cost]] = {}
    records = set()
    with tempfile.TemporaryDirectory(prefix="cluster-") as folder:
        for _ in range(rounds):
            for name, workers, jobs in _MODES:
                cost, record = _measure(course, class_, Path(folder), workers, jobs)
                costs.setdefault(name, []).append(cost)
                records.add(record)
    if len(records) != 1:
        sys.exit("The records differ.")
    _report(course, count, costs)


_TICKS = os.sysconf("SC_CLK_TCK")
_NOTHING = Cost(0.0, 0.0, 0.0, 0.0)
# The name of a run, its workers, and its grading processes if it has no workers.
_MODES = (
    ("local, 1 process", 0, 1),
    ("dask, 1 worker", 1, 0),
    ("local, 2 processes", 0, 2),
    ("dask, 2 workers", 2, 0),
    ("dask, 4 workers", 4, 0),
)


def _measure(
    course: Course, class_: list[Submission], home: Path, workers: int, jobs: int
) -> tuple[Cost, bytes]:
    """Grade the class once; return its cost, and the record without its times."""
    from autograder.grading import cluster, grade  # noqa: PLC0415  # imports torch
    from tools.records import without_times  # noqa: PLC0415  # imports torch

    seen: list[Cost] = []
    first, last = len(class_) // 4, len(class_) - 1
    with DaskCluster(home, workers) if workers else nullcontext() as dask:
        pids = dask.pids if dask else []
        grade_all: Callable[..., Results] = (
            partial(cluster.grade_each, address=dask.address)
            if dask
            else partial(grade.grade_each, jobs=jobs)
        )
        found: dict[int, SubmissionResult] = {}

        def look(index: int, result: SubmissionResult) -> None:
            seen.append(spent(pids) if len(seen) in {first, last} else _NOTHING)
            found[index] = result

        run = grade_all(course, class_, look)
        results = replace(run, submissions=tuple(found[index] for index in range(len(class_))))
    each = (
        (end - begin) / (last - first) * MILLISECONDS
        for begin, end in zip(seen[first], seen[last], strict=True)
    )
    return Cost(*each), to_json(without_times(results))


def spent(pids: list[int]) -> Cost:
    """Return the seconds so far, of this process and of those of a cluster."""
    parents, own, all_ = {}, {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
            own[int(folder.name)] = sum(map(int, fields[11:13])) / _TICKS
            all_[int(folder.name)] = sum(map(int, fields[11:15])) / _TICKS  # and of ended children
    below = {os.getpid(), *pids}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return Cost(
        sum(all_.get(pid, 0) for pid in below),
        own[os.getpid()],
        own[pids[0]] if pids else 0.0,
        time.monotonic(),
    )


def _report(course: Course, count: int, costs: dict[str, list[Cost]]) -> None:
    medians = {
        name: Cost(*(statistics.median(values) for values in zip(*runs, strict=True)))
        for name, runs in costs.items()
    }
    base = medians[_MODES[0][0]]
    print(
        f"{count} submissions of {course.stage(STAGE).name}, {os.cpu_count()} cores; one more costs"
    )
    print(f"{'':22}processor time    supervisor   scheduler   on the clock")
    for name, cost in medians.items():
        ratio = f"{cost.processor / base.processor:.2f} times"
        print(
            f"  {name:20}{cost.processor:6.1f} ms {ratio}{cost.supervisor:9.1f} ms"
            f"{cost.scheduler:9.1f} ms{cost.clock:12.1f} ms"
        )
    out = Path("build/benchmarks/cluster.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    runs = {name: [one._asdict() for one in each] for name, each in costs.items()}
    out.write_text(
        json.dumps({"stage": STAGE, "submissions": count, "runs": runs}, indent=2) + "\n"
    )
    print(f"  every number: {out}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
