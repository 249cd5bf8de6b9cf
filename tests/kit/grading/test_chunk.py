"""Tests the process that grades a chunk on a worker of a cluster."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import LostProcessError
from autograder.grading.chunk import Chunk, grade_chunk
from autograder.grading.provenance import Provenance
from autograder.results import SubmissionResult
from autograder.submission import Submission


@pytest.fixture
def chunk(tiny: Course, solved: Submission) -> Chunk:
    """One right submission, sent by a machine that is equal to this one."""
    facts = Provenance(tiny, "process").facts({solved.stage})
    return Chunk(str(tiny.root), "process", facts, (solved,))


def run(chunk: Chunk) -> subprocess.CompletedProcess[bytes]:
    """Run the process as a worker does."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "autograder.grading.chunk"],
        input=msgspec.msgpack.encode(chunk),
        capture_output=True,
        check=False,
    )


@pytest.mark.slow
def test_a_chunk_gives_lines_for_the_journal(chunk: Chunk, tiny: Course, solved: Submission):
    """Each line is a result with the key that the supervisor computes."""
    [line] = grade_chunk(msgspec.msgpack.encode(chunk)).splitlines()
    result = msgspec.json.decode(line, type=SubmissionResult)

    assert (result.student, result.score) == (solved.student, 10.0)
    assert result.audit
    assert result.audit.key == Provenance(tiny, "process").key(solved.stage, solved.digest)


@pytest.mark.parametrize("name", ["kit", "python", "torch", "course_sha256"])
def test_a_machine_that_differs_grades_nothing(chunk: Chunk, name: str):
    """The message names the first difference and both values."""
    done = run(replace(chunk, facts=chunk.facts | {name: "other"}))

    assert (done.returncode, done.stdout) == (1, b"")
    assert f"so it is not used: {name} is other here and " in done.stderr.decode()


def test_a_machine_with_another_secret_grades_nothing(
    chunk: Chunk, monkeypatch: pytest.MonkeyPatch
):
    """A different secret is named, and the message contains only digests."""
    monkeypatch.setenv("AUTOGRADER_COURSE_SECRET", "abcdefgh12345678")
    done = run(chunk)

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"the digest of the course's secret is " in done.stderr
    assert b"abcdefgh" not in done.stderr


def test_a_machine_without_the_course_names_the_folder(chunk: Chunk):
    """A worker without the course ends with the sentence about the missing file."""
    done = run(replace(chunk, course="/nowhere"))

    assert (done.returncode, done.stderr) == (1, b"/nowhere/course.toml is missing.\n")


def test_a_killed_process_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A process that was killed raises an error after which the chunk is graded again."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -9 $$\n")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))

    with pytest.raises(LostProcessError):
        grade_chunk(b"")
