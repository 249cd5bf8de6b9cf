"""Measures the supervisor's peak memory: python -m benchmarks.memory [judge] [SUBMISSIONS...].

For each number of submissions, one run grades them and another regrades them with nothing changed.
A quick judge takes the place of the sandbox: it gives each submission the real result of another
one of its kind, with a message of its own. Everything else is `autograder grade --json`.

With ``judge``, the first run judges in the sandbox, and each record is compared with that of a
submission of its kind in a class of ten.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec.structs import replace

from autograder import cli
from autograder.course import find_root
from autograder.results import SubmissionResult, from_json
from autograder.submission import Submission

STAGE = "04"
KINDS = 10  # of submissions, in `write_class`
KIB = 1024


class Measured(msgspec.Struct):
    """What one run of the supervisor took."""

    mib: float
    cpu_seconds: float
    seconds: float


def main(counts: list[int], *, judge: bool) -> None:
    """Measure and print; *judge* says whether the sandbox judges each submission."""
    from benchmarks.kills import write_class  # noqa: PLC0415  # imports torch, which no regrade needs

    print("submissions   first run: peak   processor   regrade: peak   processor   record")
    for count in counts or [100, 1000, 10_000]:
        with tempfile.TemporaryDirectory(prefix="memory-") as folder:
            home = Path(folder)
            few = write_class(home / "few", STAGE, KINDS)
            _run("real", few, home / "few.json")
            class_ = write_class(home / "class", STAGE, count)
            record = home / "results.json"
            known = () if judge else (home / "few.json",)
            first = _run("real" if judge else "quick", class_, record, *known)
            again = _run("real", class_, record)  # nothing is left to be judged
            size = record.stat().st_size / KIB**2
            found = from_json(record.read_bytes()).submissions
            few_found = from_json((home / "few.json").read_bytes()).submissions
        if len(found) != count:
            sys.exit(f"The record has {len(found)} submissions, not {count}.")
        if judge:
            wrong = sum(_judged(one) != _judged(few_found[_number(one) % KINDS]) for one in found)
            print(f"judged in {first.seconds:.0f} s, {wrong} records are not as in a class of ten")
        print(
            f"{count:11,}   {first.mib:11.0f} MiB   {first.cpu_seconds:7.1f} s   "
            f"{again.mib:9.0f} MiB   {again.cpu_seconds:7.1f} s   {size:4.0f} MiB"
        )


def _run(*words: object) -> Measured:
    """Run ``measure`` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", *map(str, words)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603  # our own command
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Measured)


def measure(class_: str, record: str, known: str = "") -> None:
    """Grade in this process, the supervisor, and print what that took; *known* are the results."""
    if known:
        from autograder.grading import grade as grading  # noqa: PLC0415  # imports torch

        results = from_json(Path(known).read_bytes()).submissions
        grading.grade_one = lambda *words: _quick(results, words[2])
    begin = time.monotonic()
    course = str(find_root(Path(__file__).parent))
    words = ["grade", class_, "--json", record, "--course", course]
    cli.app(words, standalone_mode=False)
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = time.monotonic() - begin
    measured = Measured(_peak_mib(), used.ru_utime + used.ru_stime, seconds)
    print(msgspec.json.encode(measured).decode())


def _peak_mib() -> float:
    """Return this process's own peak; that of ``getrusage`` begins with its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / KIB


def _quick(results: tuple[SubmissionResult, ...], one: Submission) -> SubmissionResult:
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
    if sys.argv[1:2] in (["real"], ["quick"]):
        measure(*sys.argv[2:])
    else:
        main([int(word) for word in sys.argv[1:] if word != "judge"], judge="judge" in sys.argv)
