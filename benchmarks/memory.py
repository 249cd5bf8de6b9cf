"""Measures the supervisor's peak memory: python -m benchmarks.memory [sandbox] [SUBMISSIONS...].

For each number of submissions, one run grades them, another regrades them with nothing changed, a
third also writes the report, one exports the record in each format for a class, and one compares it
with itself. A quick stub replaces the sandbox: it gives each submission the real result of a
submission of the same kind, with a unique message. Everything else is the code of the command. The
last column is the memory of one more submission, from the first number of submissions to the last
one.

With ``sandbox``, the first run grades in the sandbox, and each record is compared with that of a
submission of its kind in a class of ten.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from autograder import cli
from autograder.course import find_root
from autograder.results import SubmissionResult, from_json
from autograder.stored_results import read_record
from autograder.submission import Submission

STAGE = "04"
KINDS = 10  # kinds of submissions in `write_class`
KIB = 1024
FORMATS = ("canvas", "nbgrader", "exercises")  # the others hold one submission
MEASURE = "measure"


class Measured(msgspec.Struct):
    """The time and memory of one run of the supervisor."""

    mib: float
    cpu_seconds: float
    seconds: float


class Row(NamedTuple):
    """The peak memory of one run, in MiB, and its processor time."""

    name: str
    mib: float
    cpu_seconds: float


def main(counts: list[int], *, in_sandbox: bool) -> None:
    """Measure and print; if *in_sandbox*, the sandbox grades each submission."""
    counts = counts or [1000, 10_000]
    runs = []
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="memory-") as folder:
            runs.append(_measure_class(Path(folder), count, in_sandbox=in_sandbox))
    heads = "".join(f"{count:>20,}" for count in counts)
    print(f"submissions   {heads}    one more")
    for rows in zip(*runs, strict=True):
        each = "".join(f"{row.mib:8.0f} MiB {row.cpu_seconds:5.1f} s" for row in rows)
        more = (rows[-1].mib - rows[0].mib) * KIB**2 / max(1, counts[-1] - counts[0])
        print(f"{rows[0].name:14}{each}{more:10.0f} B")


def _measure_class(home: Path, count: int, *, in_sandbox: bool) -> list[Row]:
    """Measure all runs with one class."""
    from benchmarks.kills import write_class  # noqa: PLC0415  # imports torch, which no regrade needs

    few = write_class(home / "few", STAGE, KINDS)
    grade = ("grade", few, "--json", home / "few.json")
    _run("", *grade)
    record = home / "results.json"
    grade = ("grade", write_class(home / "class", STAGE, count), "--json", record)
    first = _run("" if in_sandbox else home / "few.json", *grade)
    runs = {"grade": first, "regrade": _run("", *grade)}  # nothing is left to grade
    runs["with --report"] = _run("", *grade, "--report", home / "report")
    for name in FORMATS:
        runs[name] = _run("", "export", name, record, "--out", home / "exported")
    runs["diff"] = _run("", "diff", record, record)
    found = read_record(record).submissions
    if len(found) != count:
        sys.exit(f"The record has {len(found)} submissions, not {count}.")
    if in_sandbox:
        few_found = read_record(home / "few.json").submissions
        expected = tuple(map(_graded, few_found))
        wrong = sum(_graded(one) != expected[_number(one) % KINDS] for one in found)
        print(f"graded in {first.seconds:.0f} s, {wrong} records are not as in a class of ten")
    print(f"the record of {count:,} has {record.stat().st_size / KIB**2:.0f} MiB", flush=True)
    return [Row(name, run.mib, run.cpu_seconds) for name, run in runs.items()]


def _run(known: object, *words: object) -> Measured:
    """Run ``measure`` in a separate process."""
    course = () if "diff" in words else ("--course", find_root(Path(__file__).parent))
    command = [
        sys.executable,
        "-m",
        "benchmarks.memory",
        MEASURE,
        *map(str, (known, *words, *course)),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603  # our own command
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Measured)


def measure(known: str, *words: str) -> None:
    """Run a command in this process, the supervisor, and print its time and memory.

    The results *known* replace those of the sandbox.
    """
    if known:
        from autograder.grading import grade as grading  # noqa: PLC0415  # imports torch

        results = from_json(Path(known).read_bytes()).submissions
        grading.grade_one = lambda *arguments: _quick(results, arguments[2])
    begin = time.monotonic()
    cli.app(list(words), standalone_mode=False)
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = time.monotonic() - begin
    measured = Measured(_peak_mib(), used.ru_utime + used.ru_stime, seconds)
    print(msgspec.json.encode(measured).decode())


def _peak_mib() -> float:
    """Return this process's own peak, because that of ``getrusage`` begins with its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / KIB


def _quick(results: Sequence[SubmissionResult], one: Submission) -> SubmissionResult:
    """Return the result of a submission of the same kind, with its own message."""
    number = _number(one)
    result = results[number % KINDS]
    message = f"{result.message} This is submission {number}."
    return replace(result, student=one.student, sha256=one.sha256, message=message, audit=None)


def _graded(one: SubmissionResult) -> SubmissionResult:
    """Return the common part of submissions of one kind."""
    return replace(one, student="", sha256="", audit=None)


def _number(one: Submission | SubmissionResult) -> int:
    return int(one.student.removeprefix("student"))


if __name__ == "__main__":
    if sys.argv[1:2] == [MEASURE]:
        measure(*sys.argv[2:])
    else:
        main(
            [int(word) for word in sys.argv[1:] if word != "sandbox"],
            in_sandbox="sandbox" in sys.argv,
        )
