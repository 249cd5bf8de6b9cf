"""Tests the limits of this process: memory, processor time, and the life of its parent."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import autograder
from autograder.sandbox.process_limits import (
    MIB,
    limit_memory,
    limit_processor_time,
    return_freed_memory,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="macOS does not enforce the limits")


def end_of(limit: Callable, value: float, code: str) -> "subprocess.CompletedProcess[str]":
    """Run *code* in a process that has set *limit*."""
    script = f"from {limit.__module__} import {limit.__name__}\n{limit.__name__}({value})\n{code}"
    root = Path(autograder.__file__).parents[1]
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)  # noqa: S603  # our own script


def test_a_process_that_computes_too_long_is_ended():
    """The system ends a process that exceeds its limit of processor time."""
    assert end_of(limit_processor_time, 0.1, "while True: pass").returncode == -signal.SIGXCPU


def test_a_process_that_needs_too_much_memory_gets_none():
    """A process gets the memory of its limit, and an exception if it asks for more."""
    ended = end_of(limit_memory, 64 * MIB, "bytearray(1 << 24)\nbytearray(1 << 28)")

    assert "line 4" in ended.stderr
    assert "MemoryError" in ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt and /proc belong to Linux")
def test_freed_memory_is_given_back():
    """After large blocks are freed, a process holds none of their memory."""
    code = (
        "from pathlib import Path\n"
        f"from {return_freed_memory.__module__} import return_freed_memory\n"
        "def held(): return int(Path('/proc/self/statm').read_text().split()[1]) * 4096\n"
        "return_freed_memory()\n"
        "before = held()\n"
        "blocks = [b'x' * (1 << 22) for _ in range(20)]\n"
        "full = held()\n"
        "del blocks\n"
        "print(full - before > 70 << 20, held() - before < 10 << 20)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603  # our own script

    assert ran.stdout == "True True\n"
