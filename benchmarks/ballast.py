"""Grades a class in which replies hold useless data: python -m benchmarks.ballast.

Of 200 right submissions, 60 fill their replies up to the limit with data that the grader did not
request. Prints the peak memory of the grading processes and of the supervisor, and the time. Ends
with code 1 if one process takes more than 700 MiB, or if the results of the others differ from
those without the 60.
"""

import sys
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from autograder.course import Course, find_root, load
from autograder.results import Status, SubmissionResult
from autograder.submission import Submission
from benchmarks import hostile as measuring
from tools import hostile_submissions as hostile

CLASS_SIZE, HEAVY = 200, 60
MOST_MIB = 700.0
BALLAST = """

import os, sys
import msgspec

_worker, _protocol = (sys.modules[f"autograder.sandbox.{name}"] for name in ("worker", "protocol"))
_real, _sizes = _worker._answer, []


def _filling():
    return os.urandom(16) + bytes(_sizes.pop() << 20)


def _pack(value):
    return msgspec.msgpack.encode(value)


def _heavy(executor, batch, number, max_bytes):
    last, body = _real(executor, batch, number, max_bytes)
    request = batch.requests[last]
    if any(one.fresh for one in batch.requests[: last + 1]):
        _sizes[:] = 4, 5, 5, 0  # MiB; the first reply of a check is only another one in each
    if _sizes and body[0] == 0x83 and request.verb in VERBS:
        body = _with_ballast(body)
    return last, body


def _in_value(body, change):
    reply = msgspec.msgpack.decode(body)
    if (reply["value"] or {}).get("type") == "dict":
        change(reply["value"]["items"])
    return _pack(reply)
"""
CALLS = '\nVERBS = {"call", "forward", "gradients", "operators", "parameters"}\n'
DICTIONARIES = '\nVERBS = {"gradients", "operators"}\n'
END = "\n\n_worker._answer = _heavy\n"
KINDS = {  # where the ballast is
    "an unknown key of the reply": f"""{CALLS}
def _with_ballast(body):
    return b"\\x84" + body[1:] + _pack("ballast") + _pack(_filling())
""",
    "the first of two values": f"""{CALLS}
def _with_ballast(body):
    tensor = {{"type": "tensor", "dtype": "uint8", "shape": [1], "data": _filling()}}
    return b"\\x84" + _pack("value") + _pack(tensor) + body[1:]
""",
    "an unknown key of a dictionary": f"""{DICTIONARIES}
def _with_ballast(body):
    data = _filling()
    tensor = {{"type": "tensor", "dtype": "uint8", "shape": [len(data)], "data": data}}
    return _in_value(body, lambda items: items.update(ballast=tensor))
""",
    "names of functions that ran": f"""{DICTIONARIES}
def _with_ballast(body):
    def fill(items):
        if "functions" in items and _sizes:
            count = 40 + 100 * _sizes.pop()
            names = [f"{{os.urandom(8).hex()}}{{number:07900}}" for number in range(count)]
            items["functions"]["items"].update(dict.fromkeys(names, 1))
    return _in_value(body, fill)
""",
}


class Run(NamedTuple):
    """The records of a class by student, the peaks in MiB, and the seconds."""

    records: dict[str, SubmissionResult]
    peak_of_grading: float
    peak_of_supervisor: float
    seconds: float


def main() -> None:
    """Measure, print, and end with code 1 if a bound is broken."""
    course = load(find_root(Path(__file__).parent))
    others = measuring.honest_class(course, CLASS_SIZE - HEAVY)
    heavy = heavy_submissions(course, HEAVY)
    share = len(others) // len(heavy)
    mixed = [
        one
        for number, first in enumerate(heavy)
        for one in (first, *others[number * share : (number + 1) * share])
    ]
    mixed += others[len(heavy) * share :]
    alone, together = _graded(course, others), _graded(course, mixed)
    _print(f"{len(others)} others alone", alone)
    _print(f"{HEAVY} with ballast in {CLASS_SIZE}", together)
    for number, kind in enumerate(KINDS):
        found = [together.records[one.student] for one in heavy[number :: len(KINDS)]]
        points = {one.score for one in found}
        print(f"  ballast in {kind}: {len(found)} submissions, points {points}")
    broken = _broken(alone, together)
    print("\n".join(broken) or "Every bound is kept.")
    sys.exit(bool(broken))


def heavy_submissions(course: Course, count: int) -> list[Submission]:
    """Return right programs whose replies hold ballast, of each kind in turn."""
    solution = course.stage(hostile.STAGE).solution.read_text("utf-8")
    texts = [f"{solution}{BALLAST}{kind}{END}" for kind in KINDS.values()]
    named = enumerate(islice(cycle(texts), count))
    return [measuring.module(f"heavy {number}", text) for number, text in named]


def _graded(course: Course, class_: Sequence[Submission]) -> Run:
    results, peak, seconds = measuring.graded(course, class_)
    own, _ = measuring.memory("self")
    records = {one.student: replace(one, audit=None) for one in results.submissions}
    return Run(records, peak, own, seconds)


def _print(name: str, run: Run) -> None:
    print(
        f"{name}: peak of a grading process {run.peak_of_grading:.0f} MiB, of the supervisor "
        f"{run.peak_of_supervisor:.0f} MiB, {run.seconds:.0f} s",
        flush=True,
    )


def _broken(alone: Run, together: Run) -> list[str]:
    """List the bounds that are broken."""
    broken = [
        f"{student}: the record differs next to ballast"
        for student, record in alone.records.items()
        if together.records[student] != record
    ]
    broken += [
        f"{student}: no grade. {record.message}"
        for student, record in together.records.items()
        if record.status is Status.GRADER_ERROR
    ]
    peak = max(together.peak_of_grading, together.peak_of_supervisor)
    if peak > MOST_MIB:
        broken.append(f"One process took {peak:.0f} MiB, more than {MOST_MIB:.0f}.")
    return broken


if __name__ == "__main__":
    main()
