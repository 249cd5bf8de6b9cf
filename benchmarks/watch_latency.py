"""Measures the response times of `watch`: python -m benchmarks.watch_latency.

Linux only: processor time is read from /proc. A cold command finds no file of this environment in
the memory of the operating system.
"""

import os
import pty
import resource
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.sandbox.spawned_workers import VARIABLE

ROOT = Path(__file__).parents[1]
STAGE = "04_self_attention"
BEGUN = b"Checking"  # the first words after a save
END = b"q quit"  # the last words of every screen
SAVES = 20
COLD = 3
# Seconds between saves: meanwhile the other exercises are checked, or a new process loads torch.
PAUSE = {"fork": 2.0, "spawn": 5.0}


class Watch:
    """`autograder watch` in a terminal."""

    def __init__(self, process: "subprocess.Popen[bytes]", master: int) -> None:
        self.process = process
        self._master = master

    def wait_for(self, words: bytes, after: bytes = b"") -> None:
        """Read until *words* are shown after *after*."""
        shown = b""
        while words not in shown.partition(after)[2] if after else words not in shown:
            if not select.select([self._master], [], [], 60)[0]:
                sys.exit("watch does not answer")
            shown += os.read(self._master, 65536)

    def forget(self) -> None:
        """Read all that is shown already."""
        while select.select([self._master], [], [], 0)[0]:
            os.read(self._master, 65536)

    def quit(self) -> None:
        """Press the key that ends `watch`, and read the rest of its output."""
        os.write(self._master, b"q")
        while self.process.poll() is None:
            if select.select([self._master], [], [], 0.05)[0]:
                os.read(self._master, 65536)


def main(saves: int = SAVES) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / STAGE
        shutil.copytree(ROOT / "assignments" / STAGE, folder)
        for cold in (False, True):
            letters = [_first_letter(folder, cold=cold) for _ in range(COLD)]
            kind = "cold" if cold else "warm"
            print(f"first letter, {kind}: {_median(letters)} (median of {COLD})")
        for workers in PAUSE:
            seconds, processor = _saves(folder, saves, workers)
            print(f"watch, {saves} saves of {STAGE}, from save to answer ({workers}):")
            print(f"  median {_median(seconds)}, worst {max(seconds):.3f} s")
            print(f"  processor {processor / saves:.3f} s for each")
        cold_checks = [_cold_check(folder) for _ in range(COLD)]
    print(f"check: {statistics.median(cold_checks):.2f} s of processor time (median of {COLD})")


def _median(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.3f} s"


@contextmanager
def _watch(folder: Path, workers: str = "fork") -> Iterator[Watch]:
    """Start `watch` in *folder*."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "autograder", "watch"]
    process = subprocess.Popen(  # noqa: S603  # this Python
        command,
        cwd=folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, VARIABLE: workers},
    )
    try:
        yield Watch(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


def _first_letter(folder: Path, *, cold: bool) -> float:
    """Return the seconds from the command to the first letter on the screen."""
    if cold:
        _forget_files(Path(sys.prefix))
        _forget_files(Path(os.__file__).parent)
    start = time.perf_counter()
    with _watch(folder) as watch:
        watch.wait_for(b"Loading torch")
        seconds = time.perf_counter() - start
        watch.wait_for(END)
        watch.quit()
    return seconds


def _forget_files(folder: Path) -> None:
    """Ask the operating system to drop the files below *folder* from its memory."""
    for path in folder.rglob("*"):
        if path.is_file():
            opened = os.open(path, os.O_RDONLY)
            os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(opened)


def _saves(folder: Path, saves: int, workers: str) -> tuple[list[float], float]:
    """Save wrong answers in turn; return the seconds of each, and all processor seconds."""
    module = folder / "self_attention.py"
    solution = (ROOT / "solutions" / STAGE / "self_attention.py").read_text("utf-8")
    wrong = [
        solution.replace("scores / keys.shape[-1] ** 0.5", instead, 1)
        for instead in ("scores", "scores * 2")
    ]
    with _watch(folder, workers) as watch:
        watch.wait_for(END)
        before = _processor_seconds(watch.process.pid)
        seconds = []
        for number in range(saves):
            time.sleep(PAUSE[workers])  # until the work after the last save ends
            watch.forget()
            start = time.perf_counter()
            module.write_text(wrong[number % 2], "utf-8")
            watch.wait_for(END, after=BEGUN)
            seconds.append(time.perf_counter() - start)
        processor = _processor_seconds(watch.process.pid) - before
        watch.quit()
    return seconds, processor


def _processor_seconds(pid: int) -> float:
    """Add up the processor time of a process, of its children, and of those that they reaped."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    own = sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    return own + sum(_processor_seconds(int(child)) for child in children)


def _cold_check(folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "autograder", "check"]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)  # noqa: S603  # this Python
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
