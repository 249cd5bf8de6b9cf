"""Tests that each layer of protection works alone, with the others switched off."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace

from autograder import course as courses
from autograder.course import MARKERS
from autograder.grading.suite_runner import open_suites
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.namespaces import unprivileged_owner
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from autograder.suite import documented

LOADED = courses.load(Path(__file__).parents[2])
GRADING = replace(LOADED.grading, right_neighbours=False)  # a second run would end the worker
COURSE = replace(LOADED, file=replace(LOADED.file, grading=GRADING))
STAGE = COURSE.stage("04_self_attention")
OWN_WORDS = "these words are in the module of the student"
LONG = 30  # characters of a line that no other program holds by chance
SAMPLE = 8  # secrets of each kind; each needs a search of about a hundred megabytes

pytestmark = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)

LANDLOCK_ALONE = """
import json, os, sys, tempfile
from pathlib import Path
from autograder.sandbox import landlock, syscalls
from autograder.sandbox.isolation import readable_roots
paths = json.loads(sys.argv[1]) + [f"/proc/{os.getppid()}/{name}" for name in ("environ", "mem")]
syscalls.prctl(38, 1)  # no_new_privs
landlock.restrict(map(Path, readable_roots()), [Path(tempfile.mkdtemp())])
for path in paths:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
        print("read", path)
    except PermissionError:
        print("refused")
"""
FILTER_ALONE = """
import os, socket, subprocess, sys
from autograder.sandbox import seccomp, syscalls
syscalls.prctl(38, 1)  # no_new_privs
seccomp.load(seccomp.encoded(syscalls.machine(), os.getpid()))
open("/proc/self/stat").read()  # files are open to it
attempts = (
    os.fork,
    lambda: os.execv("/bin/true", ["true"]),
    lambda: os.posix_spawn("/bin/true", ["true"], {}),
    lambda: subprocess.run(["/bin/true"]),
    lambda: socket.socket(socket.AF_INET),
    lambda: socket.socket(socket.AF_UNIX),
    socket.socketpair,
    lambda: os.kill(os.getppid(), 0),
)
for attempt in attempts:
    try:
        print("done", attempt())
    except PermissionError:
        print("refused")
"""


def lines_printed(script: str, *arguments: str) -> list[str]:
    """Run *script* in a separate process."""
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=COURSE.root, capture_output=True, text=True, check=False)  # noqa: S603  # it runs our own script
    return done.stdout.splitlines() or [done.stderr]


def test_landlock_alone_protects_the_secrets(tmp_path):
    """With Landlock alone, no file of the course or of another process can be read."""
    secret = tmp_path / ".course-secret"
    secret.write_text("a secret")
    paths = [secret, STAGE.solution, STAGE.hidden_suite, STAGE.documented, STAGE.misconceptions]
    paths += [STAGE.hidden, COURSE.root, Path.home()]

    printed = lines_printed(LANDLOCK_ALONE, json.dumps(list(map(str, paths))))

    assert printed == ["refused"] * (len(paths) + 2)


def test_the_filter_alone_stops_programs_processes_and_sockets():
    """The system-call filter alone forbids programs, forks, sockets and signals."""
    assert lines_printed(FILTER_ALONE) == ["refused"] * 8


@pytest.fixture(scope="module")
def memories() -> Iterator[dict[str, list[bytes]]]:
    """Pieces of the memory of a worker after grading, and of its fork server."""
    source = f"WORDS = {OWN_WORDS!r}\n".encode() + (STAGE.hidden / "hollow.py").read_bytes()
    code = Code(kind="module", cells=(source,), label="self_attention.py")
    with (
        open_suites(COURSE, [STAGE], diagnose=False) as runner,
        ForkServer("full", COURSE.limits) as fork_server,
    ):
        fork_server.wait_ready()
        session = Session(fork_server, STAGE.module, code.cells, notebook=False)
        submission = Submission(student="x", stage=STAGE.name, code=code)
        runner.grade_submission(submission, session)
        yield {
            "worker": memory_of(session._worker.pid),
            "fork server": memory_of(fork_server._process.pid),
        }
        session.close()


def memory_of(pid: int) -> list[bytes]:
    """Read everything that process *pid* can write to: its heap, its stacks, its data."""
    pieces = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text("utf-8").splitlines():
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            if line.split()[1].startswith("rw"):
                memory.seek(start)
                pieces.append(memory.read(end - start))
    return pieces


def solution_lines() -> list[bytes]:
    """The longest lines of the solution."""
    begin, end = MARKERS
    parts = STAGE.solution.read_text("utf-8").split(begin)[1:]
    written = {line.strip() for part in parts for line in part.split(end)[0].splitlines()}
    hollow = (STAGE.hidden / "hollow.py").read_text("utf-8")
    secret = sorted((line for line in written if line not in hollow), key=len, reverse=True)
    return [line.encode() for line in secret if len(line) > LONG][:SAMPLE]


def hidden_names() -> list[bytes]:
    """The names of the checks that grade."""
    suite = STAGE.hidden_suite.read_text("utf-8")
    found = [line.split("(")[0] for line in suite.splitlines() if line.startswith("def test_")]
    return [name.removeprefix("def ").encode() for name in found][:SAMPLE]


def documented_values() -> list[bytes]:
    """The first rows of the documented values, as bytes of tensors."""
    tensors = documented.read(COURSE.documented).values()
    computed = [one.tensor for one in tensors if STAGE.name in one.stage and one.drawn != "given"]
    rows = [tensor.flatten()[:4].to(torch.float32) for tensor in computed]
    return [row.numpy().tobytes() for row in rows][:SAMPLE]


@pytest.mark.slow
@pytest.mark.skipif(unprivileged_owner() is None, reason="only root may read a worker's memory")
@pytest.mark.parametrize("process", ["worker", "fork server"])
@pytest.mark.parametrize("secrets", [solution_lines, hidden_names, documented_values])
def test_no_secret_is_in_the_memory_of(memories, process, secrets):
    """The memory holds no line of the solution, no hidden check and no documented value."""
    wanted = secrets()

    assert wanted
    assert not [one for one in wanted for piece in memories[process] if one in piece]


@pytest.mark.slow
@pytest.mark.skipif(unprivileged_owner() is None, reason="only root may read a worker's memory")
def test_the_search_finds_what_is_there(memories):
    """The search of the memory finds a student's own words only in the worker."""
    found = {
        name: any(OWN_WORDS.encode() in piece for piece in pieces)
        for name, pieces in memories.items()
    }

    assert found == {"worker": True, "fork server": False}
