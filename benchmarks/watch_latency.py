"""Measures `watch` from save to answer, and a cold `check`: python -m benchmarks.watch_latency.

Linux only: processor time is read from /proc.
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
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAGE = "04_self_attention"
END = b"q quit"  # the last words of every screen
SAVES = 20
COLD = 3


def main(saves: int = SAVES) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / STAGE
        shutil.copytree(ROOT / "assignments" / STAGE, folder)
        seconds, processor = _saves(folder, saves)
        cold = [_cold_check(folder) for _ in range(COLD)]
    print(f"watch, {saves} saves of {STAGE}, from save to answer:")
    print(f"  median {statistics.median(seconds):.3f} s, worst {max(seconds):.3f} s")
    print(f"  processor {processor / saves:.3f} s for each")
    print(f"check, cold: {statistics.median(cold):.2f} s of processor time (median of {COLD})")


def _saves(folder: Path, saves: int) -> tuple[list[float], float]:
    """Save wrong answers in turn; return the seconds of each, and all processor seconds."""
    module = folder / "self_attention.py"
    solution = (ROOT / "solutions" / STAGE / "self_attention.py").read_text("utf-8")
    wrong = [
        solution.replace("scores / keys.shape[-1] ** 0.5", instead, 1)
        for instead in ("scores", "scores * 2")
    ]
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "autograder", "watch"]
    process = subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave)  # noqa: S603  # this Python
    try:
        _wait_for_screen(master)
        before = _processor_seconds(process.pid)
        seconds = []
        for number in range(saves):
            time.sleep(0.3)  # as between two saves; the work of the last save ends in this time
            start = time.perf_counter()
            module.write_text(wrong[number % 2], "utf-8")
            _wait_for_screen(master)
            seconds.append(time.perf_counter() - start)
        processor = _processor_seconds(process.pid) - before
        os.write(master, b"q")
        process.wait(10)
    finally:
        process.kill()
    return seconds, processor


def _wait_for_screen(master: int) -> None:
    shown = b""
    while END not in shown:
        if not select.select([master], [], [], 60)[0]:
            sys.exit("watch does not answer")
        shown += os.read(master, 65536)


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
