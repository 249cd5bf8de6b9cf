"""Tests that a worker can't find out what an earlier worker did, in another submission or run.

Each worker lists all numbers that it can read. Between two lists, a third worker changes all that
it can. The file system records access times here, as on a new system.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from autograder.course_file import Limits
from autograder.sandbox import namespaces
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from autograder.sandbox.tensors import decode

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        detect_capabilities().level != "full"
        or os.geteuid() != 0
        or namespaces.access_times() != "unchanged",
        reason="needs root, which may mount a file system that records access times",
    ),
]

PROGRAM = '''
import json, os, threading, torch
from pathlib import Path

# Nobody else changes these. `__path__` also leads below a folder that only root may enter.
FILES = sorted(Path(torch.__path__[0]).glob("include/*.h"))[:8]

def look():
    """Return each number that does not only measure time or memory."""
    found = {name: getattr(os, name)() for name in ("getpid", "getppid", "getpgrp", "cpu_count")}
    found |= {"tid": threading.get_native_id(), "session": os.getsid(0), "open": _descriptors()}
    for name, paths in (("files", FILES), ("folders", FILES[0].parents[:3])):
        facts = [path.stat() for path in paths]
        found[name] = [(one.st_ino, one.st_size, one.st_nlink, one.st_atime_ns) for one in facts]
    found["numbers"] = [number for number in range(3, 40_000) if os.path.exists(f"/proc/{number}")]
    found["links"] = [os.readlink(f"/proc/{name}") for name in ("self", "thread-self")]
    found["private"] = [os.listdir("."), os.stat(".").st_ino, os.statvfs(".")[:8]]
    Path("own").touch()
    found["next file"] = os.stat("own").st_ino
    os.unlink("own")
    return json.dumps(found)

def _descriptors():
    """Return the kind of each descriptor; its number is that of a process that no code makes."""
    return [os.fstat(number).st_mode for number in range(4)]

def change():
    for path in (*FILES, *FILES[0].parents):
        try:
            path.is_dir() and list(path.iterdir()) or path.read_bytes()
            os.readlink(path)
        except OSError:
            pass
    for number in range(100):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        Path(f"file{number}").touch()
        for make in (os.pipe, os.getrandom, lambda: os.memfd_create("a"), lambda: os.eventfd(1)):
            try:
                make()
            except (OSError, TypeError):
                pass
'''
SCRIPT = """
import json, sys
from autograder.course_file import Limits
from autograder.sandbox import namespaces, syscalls
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from autograder.sandbox.tensors import decode

syscalls.unshare(namespaces.NEW_MOUNTS)
syscalls.mount("none", "/", "", 1 << 18 | 1 << 14)  # private
syscalls.mount("none", "/", "", 32 | 4096 | 1 << 24)  # remounted with strict access times
program = (sys.stdin.read().encode(),)
found = []

def ask(session, name):
    reply = session.ask("call", name=name)
    assert reply.problem is None, reply.problem
    return decode(reply.value, lambda _handle: None)

for _run in range(2):
    with ForkServer("full", Limits(call_seconds=20.0)) as fork_server:
        fork_server.wait_ready()
        for _submission in range(2):
            session = Session(fork_server, "program", program, notebook=False)
            for _worker in range(2):
                found.append(ask(session, "look"))
                session.close()
                ask(session, "change")
                session.close()
print(json.dumps(found))
"""


CACHE_PROGRAM = """
import resource, torch
from pathlib import Path

FILES = sorted(Path(torch.__path__[0]).glob("include/ATen/ops/*.h"))[:64]

def leave():
    [path.read_bytes() for path in FILES[::2]]

def look():
    blocks = [resource.getrusage(resource.RUSAGE_SELF).ru_inblock]
    for path in FILES:
        path.read_bytes()
        blocks.append(resource.getrusage(resource.RUSAGE_SELF).ru_inblock)
    return [after - before for before, after in zip(blocks, blocks[1:])]
"""


def test_files_that_are_in_memory_carry_no_bit():
    """Once all files are in memory, a worker can't see which of them an earlier one has read."""
    for path in sorted(Path(torch.__path__[0]).glob("include/ATen/ops/*.h"))[:64]:
        path.read_bytes()
    with ForkServer("full", Limits(call_seconds=20.0)) as fork_server:
        fork_server.wait_ready()
        for verb in ("leave", "look"):
            session = Session(fork_server, "cache", (CACHE_PROGRAM.encode(),), notebook=False)
            reply = session.ask("call", name=verb)
            session.close()

    assert reply.problem is None
    assert decode(reply.value, int) == [0] * 64


def test_a_worker_leaves_no_trace():
    """All workers read the same numbers, in one submission, in two of them, and in two runs."""
    done = subprocess.run(  # noqa: S603  # this Python and our own lines
        [sys.executable, "-c", SCRIPT], input=PROGRAM, capture_output=True, text=True, check=False
    )

    assert not done.stderr, done.stderr
    found = [json.loads(text) for text in json.loads(done.stdout)]
    assert found[1:4] == [found[0]] * 3
    assert found[5:] == [found[4]] * 3
    # The fork server itself looks into the folders of a path when it starts.
    one, other = ({**numbers, "folders": []} for numbers in (found[0], found[4]))
    assert one == other
