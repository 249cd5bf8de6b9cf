"""Compares a grade with its floor: python -m benchmarks.floor [SUBMISSIONS] [STAGE].

The floor is the same checks on the same code in one process, without any isolation. One run
alternates between it and grading with isolation `process` and `full`. Each number is the processor
time of all processes for one submission, the median of several rounds.

Most submissions are copies of the solution, so that the floor runs the same code. A check that has
passed does not run again for the same replies, so different programs take more time: the last row
is for the solution and its variants in turn.
"""

import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from autograder.course import Stage, find_root, load
from autograder.course_file import Isolation
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission
from autograder.suite.in_process import LocalChannel
from benchmarks.measuring import (
    MILLISECONDS,
    cpu_of_tree,
    numbered_submission,
    right_programs,
    write_json,
)

ROUNDS = 5
WARM = 3  # submissions before the first round
LEVELS: tuple[Isolation, ...] = ("process", "full")
FLOOR = "the same checks in one process"


def main(count: int = 50, wanted: str = "04") -> None:
    """Measure and print."""
    course = load(find_root(Path(__file__).parent))
    stage = course.stage(wanted)
    each = max(1, count // ROUNDS)
    with ExitStack() as opened:
        runner = opened.enter_context(open_suites(course, [stage]))
        runner.require_right_solutions()
        ways: dict[str, Callable[[Submission], None]] = {FLOOR: partial(_check_here, runner, stage)}
        pids = dict[str, int]()
        for level in LEVELS:
            server = opened.enter_context(ForkServer(level, course.limits))
            server.wait_ready()
            ways[f"isolation {level}"] = partial(_grade, runner, server)
            pids[f"isolation {level}"] = server.pid
        programs = right_programs(stage)
        different = f"full, {len(programs)} different programs"
        ways[different], pids[different] = ways["isolation full"], pids["isolation full"]
        for way in ways.values():
            for number in range(max(WARM, len(programs))):
                way(numbered_submission(stage, number, programs[number % len(programs)]))
        measured = {name: list[float]() for name in ways}
        for number in range(ROUNDS):
            for name, way in ways.items():
                copied = programs if name == different else programs[:1]
                batch = [
                    numbered_submission(stage, number * each + one, copied[one % len(copied)])
                    for one in range(each)
                ]
                measured[name].append(_cpu(way, batch, pids.get(name)) / each * MILLISECONDS)
    print(f"stage {stage.name}, {each * ROUNDS} submissions, processor time for one")
    floor = statistics.median(measured[FLOOR])
    for name, values in measured.items():
        median = statistics.median(values)
        print(f"  {name:32} {median:8.1f} ms {median / floor:6.2f} times")
    print(f"  all values: {write_json(course.root, 'floor', measured).relative_to(course.root)}")


def _cpu(way: Callable[[Submission], None], batch: list[Submission], pid: int | None) -> float:
    """Return the seconds that this process and the tree of *pid* need for *batch*."""
    before = time.process_time() + (cpu_of_tree(pid) if pid else 0.0)
    for submission in batch:
        way(submission)
    return time.process_time() + (cpu_of_tree(pid) if pid else 0.0) - before


def _check_here(runner: SuiteRunner, stage: Stage, submission: Submission) -> None:
    """Import the submission into this process, and run every check on it."""
    code = submission.code.cells[0] if submission.code else b""
    channel = LocalChannel(stage.module, code)
    for check in runner.checks(stage.name):
        error = runner.run(check.item, channel).error
        if error is not None:
            sys.exit(f"{check.name}: {error}")


def _grade(runner: SuiteRunner, server: ForkServer, submission: Submission) -> None:
    result = grade_one(runner, server, submission)
    if result.score is None or result.score != result.max_score:
        sys.exit(f"{result.student} scores {result.score}: {result.message}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, *sys.argv[2:3])
