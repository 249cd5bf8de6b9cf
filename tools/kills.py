"""Kills processes of a run at random moments.

Supervisor, grading processes, fork servers and workers get SIGKILL; the same command is run until
it is done. The moments are drawn from a fixed seed.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.reports.difference import compare, difference_lines
from autograder.results import from_json, to_json
from tools.records import without_times

ROLES = ("supervisor", "worker", "grading process", "fork server")
POLL_SECONDS = 0.005
END_SECONDS = 20.0  # to wait for the end of a killed run's processes; a busy machine needs several
SEED = 123


@dataclass
class Disturbed:
    """The events until the class was graded."""

    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    rounds: int = 0  # the class was graded as a whole, and the run restarted for more kills
    wrong_records: int = 0
    left_processes: int = 0
    left_files: list[str] = field(default_factory=list)


@dataclass
class Scene:
    """A class to be graded, and the folder of its runs."""

    course: Path
    class_: Path
    home: Path

    @property
    def record(self) -> Path:
        """The path of the record."""
        return self.home / "out" / "results.json"

    def start(self) -> "subprocess.Popen[bytes]":
        """Start a run, whose temporary files are in a separate folder."""
        temporary = self.home / "tmp"
        self.record.parent.mkdir(exist_ok=True)
        temporary.mkdir(exist_ok=True)
        temporary.chmod(0o711)  # a worker passes through it
        words = ("-m", "autograder", "grade", self.class_, "--json", self.record)
        return subprocess.Popen(  # noqa: S603  # our own command
            [sys.executable, *map(str, words), "--course", str(self.course), "--jobs", "2"],
            cwd=self.course,
            env=os.environ | {"TMPDIR": str(temporary)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def graded(self) -> bytes:
        """Return the record without its times."""
        return to_json(without_times(from_json(self.record.read_bytes())))

    def forget(self) -> None:
        """Remove the record and its journal."""
        for path in self.record.parent.iterdir():
            path.unlink()

    def left(self) -> list[str]:
        """List the files that no run should leave."""
        own = {self.record, self.record.with_name(self.record.name + ".journal")}
        found = [*(self.home / "tmp").iterdir(), *self.record.parent.iterdir()]
        return [str(path) for path in found if path not in own]


def undisturbed(scene: Scene) -> bytes:
    """Return the record of an undisturbed run."""
    code = scene.start().wait()
    if code:
        sys.exit(f"The undisturbed run ended with exit code {code}.")
    graded = scene.graded()
    scene.forget()
    return graded


def disturb(scene: Scene, expected: bytes, roles: Sequence[str], pause: float) -> Disturbed:
    """Grade the class; kill one process of each of *roles* after at most *pause* seconds each."""
    happened, left = Disturbed(), deque(roles)
    draw = random.Random(SEED)  # noqa: S311  # the same moments each time
    seen: set[int] = set()
    while True:
        run = scene.start()
        happened.runs += 1
        while run.poll() is None:
            if not left:
                run.wait()
            elif _kill(_wait_for(run, left[0], draw.uniform(0, pause), draw, seen)):
                happened.kills[left.popleft()] += 1
        if happened.runs > 2 * len(roles) + 10:
            sys.exit(f"The command was run {happened.runs} times and has not graded all.")
        if run.returncode:
            continue
        happened.rounds += 1
        if (graded := scene.graded()) != expected:
            happened.wrong_records += 1
            for line in difference_lines(compare(from_json(expected), from_json(graded))):
                print(line)
        if not left:
            break
        scene.forget()
    happened.left_processes = _count_left(seen)
    happened.left_files = scene.left()
    return happened


def _kill(pid: int) -> bool:
    """Kill a process; return whether there was one, because it may have ended meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        if pid:
            os.kill(pid, signal.SIGKILL)
            return True
    return False


def _wait_for(
    run: "subprocess.Popen[bytes]", role: str, pause: float, draw: random.Random, seen: set[int]
) -> int:
    """Return a process of *role* after *pause* seconds, or once there is one; 0: the run ended."""
    time.sleep(pause)
    while run.poll() is None:
        found = processes(run.pid)
        seen.update(pid for pids in found.values() for pid in pids)
        if pids := found[role]:
            return draw.choice(pids)
        time.sleep(POLL_SECONDS)
    return 0


def processes(supervisor: int) -> dict[str, list[int]]:
    """Return the processes of a run by their role."""
    parents = _parents()
    children = [pid for pid, parent in parents.items() if parent == supervisor]
    servers = [pid for pid in children if _is_fork_server(pid)]
    return {
        "supervisor": [supervisor],
        "fork server": servers,
        "grading process": [pid for pid in children if pid not in servers],
        "worker": [pid for pid, parent in parents.items() if parent in servers],
    }


def _parents() -> dict[int, int]:
    """Return the parent of each process that still runs."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if fields[0] != "Z":
            found[int(folder.name)] = int(fields[1])
    return found


def _is_fork_server(pid: int) -> bool:
    try:
        return b"autograder.sandbox.fork_server" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _count_left(seen: set[int]) -> int:
    """Count the processes of all runs that have not ended in time."""
    deadline = time.monotonic() + END_SECONDS
    while (left := seen & _parents().keys()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return len(left)
