"""Measures the supervisor's peak memory: python -m benchmarks.memory [judge] [SUBMISSIONS...].

For each number of submissions, one run grades them, another regrades them with nothing changed, one
exports the record, and one compares it with itself. A quick judge takes the place of the sandbox:
it gives each submission the real result of another one of its kind, with a message of its own.
Everything else is the command. The last line says what one more submission takes, from the first
number of submissions to the last one.

With ``judge``, the first run judges in the sandbox, and each record is compared with that of a
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
KINDS = 10  # of submissions, in `write_class`
KIB = 1024
MEASURE = "measure"


class Measured(msgspec.Struct):
    """What one run of the supervisor took."""

    mib: float
    cpu_seconds: float
    seconds: float


class Sizes(NamedTuple):
    """The peak memory of the runs with one class, in MiB; *record* is the size of its file."""

    grade: float
    regrade: float
    export: float
    diff: float
    record: float


def main(counts: list[int], *, judge: bool) -> None:
    """Measure and print; *judge* says whether the sandbox judges each submission."""
    print(
        "submissions      grade   processor    regrade   processor     export       diff   record"
    )
    counts = counts or [1000, 10_000]
    sizes = []
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="memory-") as folder:
            sizes.append(_measure_class(Path(folder), count, judge=judge))
    if len(sizes) > 1:
        more = (counts[-1] - counts[0]) / KIB
        slopes = [(last - first) / more for first, last in zip(sizes[0], sizes[-1], strict=True)]
        each = (
            f"{name} {slope:.1f} KiB" for name, slope in zip(Sizes._fields, slopes, strict=True)
        )
        print(f"one submission more takes: {', '.join(each)}")


def _measure_class(home: Path, count: int, *, judge: bool) -> Sizes:
    """Measure and print one line."""
    from benchmarks.kills import write_class  # noqa: PLC0415  # imports torch, which no regrade needs

    few = write_class(home / "few", STAGE, KINDS)
    grade = ("grade", few, "--json", home / "few.json")
    _run("", *grade)
    record = home / "results.json"
    grade = ("grade", write_class(home / "class", STAGE, count), "--json", record)
    first = _run("" if judge else home / "few.json", *grade)
    again = _run("", *grade)  # nothing is left to be judged
    export = _run("", "export", "canvas", record, "--out", home / "canvas.csv")
    diff = _run("", "diff", record, record)
    sizes = Sizes(first.mib, again.mib, export.mib, diff.mib, record.stat().st_size / KIB**2)
    found = read_record(record).submissions
    if len(found) != count:
        sys.exit(f"The record has {len(found)} submissions, not {count}.")
    if judge:
        few_found = read_record(home / "few.json").submissions
        wrong = sum(_judged(one) != _judged(few_found[_number(one) % KINDS]) for one in found)
        print(f"judged in {first.seconds:.0f} s, {wrong} records are not as in a class of ten")
    print(
        f"{count:11,}{sizes.grade:7.0f} MiB{first.cpu_seconds:10.1f} s"
        f"{sizes.regrade:7.0f} MiB{again.cpu_seconds:10.1f} s"
        f"{sizes.export:7.0f} MiB{sizes.diff:7.0f} MiB{sizes.record:5.0f} MiB",
        flush=True,
    )
    return sizes


def _run(known: object, *words: object) -> Measured:
    """Run ``measure`` in a process of its own."""
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
    """Run a command in this process, the supervisor, and print what that took.

    Results *known* take the place of the sandbox's.
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
    """Return this process's own peak; that of ``getrusage`` begins with its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / KIB


def _quick(results: Sequence[SubmissionResult], one: Submission) -> SubmissionResult:
    """Return the result of a submission of the same kind, with a message of its own."""
    number = _number(one)
    result = results[number % KINDS]
    message = f"{result.message} This is submission {number}."
    return replace(result, student=one.student, sha256=one.sha256, message=message, audit=None)


def _judged(one: SubmissionResult) -> SubmissionResult:
    """Return what submissions of a kind have in common."""
    return replace(one, student="", sha256="", syntax_sha256="", audit=None)


def _number(one: Submission | SubmissionResult) -> int:
    return int(one.student.removeprefix("student"))


if __name__ == "__main__":
    if sys.argv[1:2] == [MEASURE]:
        measure(*sys.argv[2:])
    else:
        main([int(word) for word in sys.argv[1:] if word != "judge"], judge="judge" in sys.argv)
