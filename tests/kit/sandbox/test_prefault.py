"""Tests learning the pages that a fork writes to, and copying them in one call."""

import json
import platform
import subprocess
import sys

import pytest

from autograder.sandbox import prefault

POPULATES = sys.platform == "linux" and tuple(map(int, platform.release().split(".")[:2])) >= (
    5,
    14,
)
# In a new process: pytest has threads.
SCRIPT = """
import ctypes, json, mmap, os, resource, sys
from autograder.sandbox import prefault, syscalls

PAGES, WRITTEN = 600, range(100, 500, 4)
memory = mmap.mmap(-1, PAGES * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))

def write(pages):
    for page in pages:
        memory[page * mmap.PAGESIZE] = 1

def faults(before=lambda: None):
    reading, writing = os.pipe()
    if not os.fork():
        before()
        count = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        write(WRITTEN)
        count = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - count
        os.write(writing, str(count).encode())
        os._exit(0)
    os.wait()
    return int(os.read(reading, 100))

if sys.argv[1] == "one-by-one":
    syscalls.populate_all = lambda ranges: False
write(range(PAGES))
learned = prefault.learn(lambda: write(WRITTEN))
found = [(at - start) // mmap.PAGESIZE for at, _ in prefault._RANGE.iter_unpack(learned)]
found = [page for page in found if 0 <= page < PAGES]
print(json.dumps([found == list(WRITTEN), faults(), faults(lambda: prefault.copy_now(learned))]))
"""


@pytest.mark.skipif(not POPULATES, reason="this kernel copies no pages beforehand")
@pytest.mark.parametrize("way", ["in-one-call", "one-by-one"])
def test_a_fork_copies_at_once_what_another_has_written_to(way: str):
    """A fork writes without page faults to pages that an earlier fork has written to."""
    done = subprocess.run(  # noqa: S603  # this Python and our own lines
        [sys.executable, "-c", SCRIPT, way], capture_output=True, text=True, check=True
    )
    is_learned, faults, faults_then = json.loads(done.stdout)

    assert is_learned
    assert faults >= 100
    assert faults_then < 20


def test_without_a_list_of_its_memory_nothing_is_learned(monkeypatch: pytest.MonkeyPatch):
    """Without /proc, as on macOS, no pages are learned."""

    def unknown() -> None:
        raise FileNotFoundError

    monkeypatch.setattr(prefault, "mappings", unknown)

    assert prefault.learn(lambda: None) == b""


def test_where_nothing_is_learned_nothing_is_copied(monkeypatch: pytest.MonkeyPatch):
    """On macOS, which lacks these system calls, workers start without them."""
    monkeypatch.delattr("os.pidfd_open", raising=False)

    prefault.copy_now(b"")
