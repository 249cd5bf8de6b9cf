"""Runs a dask cluster on this machine for tests."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

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
        wait_until(lambda: file.is_file() and file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]
        number = ("--nworkers", self._workers, "--nthreads", 1)
        self._start("worker", self.address, *number, "--local-directory", self._home)
        wait_until(lambda: len(self.worker_pids()) == self._workers)

    def worker_pids(self) -> list[int]:
        """List the processes in which tasks run; a nanny restarts each one that dies."""
        return _children(self._processes[1].pid, b"spawn_main")

    def kill_a_worker(self) -> int:
        """End a worker that grades a chunk, with SIGKILL; return the process of the chunk."""
        for pid in self.worker_pids():
            for grading in _children(pid, b"autograder.grading.chunk"):
                os.kill(pid, signal.SIGKILL)
                return grading
        return 0

    def kill_scheduler(self) -> None:
        """End the scheduler with SIGKILL."""
        self._processes[0].kill()
        self._processes[0].wait()

    def _start(self, *words: object) -> None:
        command = [sys.executable, "-m", "dask", *map(str, words), "--no-dashboard"]
        output = (self._home / f"{words[0]}.log").open("wb")
        with output:
            process = subprocess.Popen(command, cwd=self._home, stdout=output, stderr=output)  # noqa: S603  # our own command
        self._processes.append(process)


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until *holds* is true; raise ``TimeoutError`` after a minute."""
    deadline = time.monotonic() + START_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            msg = "This took too long."
            raise TimeoutError(msg)
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
