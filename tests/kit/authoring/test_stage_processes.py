"""Tests dividing the stages of a course among processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from autograder.authoring import recording
from autograder.authoring.recording import in_processes
from autograder.course import Stage, load
from autograder.errors import CourseError

ENDLESS = """
import os, sys
from pathlib import Path
from autograder.authoring import recording
from autograder.course import load

def work(stages):
    os.write(1, f"{os.getpid()}\\n".encode())  # at once: two processes may write
    while True: pass

recording.cores = lambda: 2
recording.in_processes(work, load(Path(sys.argv[1])).stages)
"""
COURSE = load(Path(__file__).parents[3])


def name_them(stages: Sequence[Stage]) -> tuple[int, list[str]]:
    """Return the process and the names of its stages."""
    return os.getpid(), [stage.name for stage in stages]


def refuse(stages: Sequence[Stage]) -> None:
    """Raise for one of the stages."""
    if COURSE.stages[0] in stages:
        msg = f"{COURSE.stages[0].name} is wrong."
        raise CourseError(msg)


@pytest.mark.parametrize("count", [1, 3])
def test_each_stage_is_in_one_part(count: int, monkeypatch: pytest.MonkeyPatch):
    """The stages are divided into one part for each core."""
    monkeypatch.setattr(recording, "cores", lambda: count)
    parts = in_processes(name_them, COURSE.stages)

    assert len(parts) == count
    assert sorted(name for _, part in parts for name in part) == [
        stage.name for stage in COURSE.stages
    ]
    assert (os.getpid() in {pid for pid, _ in parts}) == (count == 1)


def test_an_error_in_a_process_is_raised():
    """An error in a process is raised in the main process with the same words."""
    with pytest.raises(CourseError, match=f"{COURSE.stages[0].name} is wrong"):
        in_processes(refuse, COURSE.stages)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a signal that only Linux sends")
def test_no_process_outlives_the_command():
    """An endless loop of a stage ends with the command, however the command ends."""
    arguments = [sys.executable, "-c", ENDLESS, str(COURSE.root)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as command:  # noqa: S603  # our own command
        assert command.stdout is not None
        try:
            pids = [int(command.stdout.readline()) for _ in range(2)]
        finally:
            command.send_signal(signal.SIGKILL)

    until = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not run."""
    status = Path(f"/proc/{pid}/stat")
    return status.is_file() and status.read_text().rpartition(")")[2].split()[0] != "Z"
