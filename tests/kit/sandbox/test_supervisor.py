"""The supervisor's side: CPU-time limits, private folders and the choice of isolation."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from autograder.errors import SandboxError
from autograder.sandbox.isolation import detect_capabilities, unprivileged_owner
from autograder.sandbox.supervisor import (
    WALL_CLOCK_FACTOR,
    CpuDeadline,
    choose_isolation,
    make_private_folder,
    remove_folder,
)

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@needs_proc
def test_a_worker_that_waits_for_a_processor_keeps_its_time():
    """Time in which others use the processor is not charged."""
    deadline = CpuDeadline(os.getpid(), 1000.0)  # this process runs and has used very little of it
    deadline._deadline -= 1000.0

    assert deadline.remaining() > 900


@needs_proc
def test_a_worker_that_sleeps_uses_its_time_up():
    """A call that sleeps is stopped when its limit has passed on the clock."""
    with subprocess.Popen(["/bin/sleep", "100"]) as sleeper:
        deadline = CpuDeadline(sleeper.pid, 50.0)
        while deadline._worker_state()[0] != "S":  # it has to start before it can sleep
            pass
        deadline._deadline -= 50.0
        remaining = deadline.remaining()
        sleeper.kill()

    assert remaining <= 0


@needs_proc
def test_the_wall_clock_limits_a_worker_that_waits():
    """Whatever uses the processor, a call takes at most a multiple of its limit."""
    deadline = CpuDeadline(os.getpid(), 1000.0)
    deadline._deadline -= 1000.0
    deadline._last_deadline -= WALL_CLOCK_FACTOR * 1000.0

    assert deadline.remaining() <= 0


@needs_proc
def test_the_clock_decides_about_a_process_that_has_ended():
    """Where /proc shows nothing about a process, its limit passes on the clock."""
    deadline = CpuDeadline(2**22 + 1, 5.0)
    deadline._deadline -= 5.0

    assert deadline.remaining() <= 0


def test_a_private_folder_is_empty_and_closed_to_others():
    """Only the worker's user may enter it."""
    folder = make_private_folder()
    facts = folder.stat()
    remove_folder(folder)

    assert stat.S_IMODE(facts.st_mode) == 0o700
    assert facts.st_uid == (unprivileged_owner() or os.geteuid())
    assert not folder.exists()


def test_a_folder_without_permissions_is_removed(tmp_path: Path):
    """A submission can't keep its private folder by taking permissions away."""
    inner = tmp_path / "private" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    inner.chmod(0)
    remove_folder(tmp_path / "private")

    assert not (tmp_path / "private").exists()


def test_a_machine_without_full_isolation_needs_the_flag(monkeypatch: pytest.MonkeyPatch):
    """By default nothing less than full isolation is used; the message names the flag."""
    weak = msgspec.structs.replace(detect_capabilities(), level="process", reason="No Landlock.")
    monkeypatch.setattr("autograder.sandbox.supervisor.detect_capabilities", lambda: weak)

    assert choose_isolation("process") == "process"
    for asked in (None, "full"):
        with pytest.raises(SandboxError, match=r"No Landlock\. .*--isolation process"):
            choose_isolation(asked)


@pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason)
def test_full_isolation_refuses_a_secret_among_the_readable_folders():
    """A course inside of Python's own folders could be read by a worker."""
    assert choose_isolation(None) == "full"
    with pytest.raises(SandboxError, match="Move the course"):
        choose_isolation(None, Path(os.__file__).parent)
