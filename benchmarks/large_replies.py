"""Measures the memory of the largest replies in each stage: python -m benchmarks.large_replies.

The solution of a stage answers the first request of each check with one value that is as large as
a check may have, of each kind of `VALUES` in turn. Each stage is graded in a new process, and each
number is the peak memory of the grading process in MiB. Stages may be named, and ``kinds=WORD``
selects kinds. Ends with code 1 if a process takes more than 700 MiB, or if a submission gets no
grade.
"""

import gc
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.course import Course, Stage, find_root, load
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import Status
from autograder.sandbox.process_limits import return_freed_memory
from autograder.sandbox.supervisor import ForkServer
from benchmarks.ballast import MOST_MIB
from benchmarks.hostile import memory, module

FILLING = """

import os, sys
import msgspec

_worker, _protocol = (sys.modules[f"autograder.sandbox.{name}"] for name in ("worker", "protocol"))
_answer, _pack_reply, _left = _worker._answer, _worker.pack_reply, []
_SIZE = 15_800_000


def _tensor(dtype, size):
    data = os.urandom(16) + bytes(_SIZE - 16)
    return _protocol.TensorValue(dtype=dtype, shape=(_SIZE // size,), data=data)


def _large():
    p = _protocol
    return (VALUE)


def _heavy(executor, batch, number, max_bytes):
    if any(one.fresh for one in batch.requests):
        _left[:] = [1]
    return _answer(executor, batch, number, max_bytes)


def _with_large(reply, *limits):
    value = reply.value
    if _left and reply.problem is None and not isinstance(value, (bool, type(None))):
        if isinstance(value, _protocol.DictValue) and "output" in value.items:
            _left.pop()
            value = _protocol.DictValue({**value.items, "output": _large()})
        elif isinstance(value, (_protocol.TensorValue, _protocol.ListValue, _protocol.TupleValue,
                                _protocol.TextValue, _protocol.MappingValue, int, float)):
            _left.pop()
            value = _large()
        reply = msgspec.structs.replace(reply, value=value)
    return _pack_reply(reply, *limits)


_worker._answer, _worker.pack_reply = _heavy, _with_large
"""
VALUES = {
    "float32": '_tensor("float32", 4)',
    "uint8": '_tensor("uint8", 1)',
    "float16": '_tensor("float16", 2)',
    "complex": '_tensor("complex64", 8)',
    "bytes": "p.BytesValue(os.urandom(16) + bytes(_SIZE))",
    "text": 'p.TextValue(b"some words " * (_SIZE // 11))',
    "texts": 'p.ListValue((p.TextValue(b"some words " * 68),) * 9_000 + ("words",) * 1_000)',
    "numbers": "p.ListValue((0.5,) * 19_900)",
    "integers": "p.ListValue((p.IntegerValue(bytes(790) + b'1'),) * 6_600)",
    "pairs": 'p.MappingValue(((p.TextValue(b"some words " * 140), 1.5),) * 4_900)',
}


def main(words: Sequence[str]) -> None:
    """Measure each stage, or those of *words*, and end with code 1 if a bound is broken."""
    course = load(find_root(Path(__file__).parent))
    kinds = [one.removeprefix("kinds=") for one in words if one.startswith("kinds=")] or [*VALUES]
    names = [one for one in words if "=" not in one] or [one.name for one in course.stages]
    print("| stage | " + " | ".join(kinds) + " |\n" + "|---" * (len(kinds) + 1) + "|", flush=True)
    failed = False
    for name in names:
        if len(names) > 1:
            command = [sys.executable, "-m", "benchmarks.large_replies", name]
            command += [f"kinds={kind}" for kind in kinds]
            done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  # our own command
            print("\n".join(done.stdout.splitlines()[2:]) or done.stderr, flush=True)
            failed |= done.returncode != 0
        else:
            failed |= not _measured(course, course.stage(name), kinds)
    sys.exit(failed)


def _measured(course: Course, stage: Stage, kinds: Sequence[str]) -> bool:
    """Print the peaks of *stage*, and whether each is within the bound and has a grade."""
    text, peaks, is_right = stage.solution.read_text("utf-8"), list[float](), True
    with (
        open_suites(course, [stage]) as runner,
        ForkServer("full", course.limits) as fork_server,
    ):
        fork_server.wait_ready()
        gc.freeze()  # as a grading process does
        return_freed_memory()
        for kind in kinds:
            Path("/proc/self/clear_refs").write_text("5")  # the highest memory is counted again
            code = text + FILLING.replace("VALUE)", f"{VALUES[kind]})")
            result = grade_one(runner, fork_server, module(kind, code, stage))
            peaks.append(memory("self")[0])
            is_right &= result.status is not Status.GRADER_ERROR and peaks[-1] <= MOST_MIB
    print(f"| {stage.name} | " + " | ".join(f"{peak:.0f}" for peak in peaks) + " |")
    return is_right


if __name__ == "__main__":
    main(sys.argv[1:])
