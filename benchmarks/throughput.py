"""Measures the time per submission: python -m benchmarks.throughput [SUBMISSIONS] [STAGE].

One run measures this kit on one core, this kit on all cores, and a new interpreter that grades the
same submission, so that all numbers come from a machine under the same load.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from autograder.course import Course, Stage, find_root, load
from autograder.grading.grade import grade
from autograder.results import Results
from autograder.submission import Submission
from benchmarks.measuring import MILLISECONDS, numbered_submission, write_json


def main(count: int = 200, wanted: str = "04") -> None:
    """Measure and print."""
    course = load(find_root(Path(__file__).parent))
    stage = course.stage(wanted)
    submissions = [numbered_submission(stage, number) for number in range(count)]
    cores = len(os.sched_getaffinity(0))
    single = _measure(course, submissions, 1)
    parallel = _measure(course, submissions, cores)
    cold = min(_cold_pytest(course, stage) for _ in range(3))

    print(f"stage {stage.name}, {count} submissions, {cores} cores, isolation full")
    print(f"  one process     {single.each:8.1f} ms per submission ({single.start:.1f} s to start)")
    per_core = parallel.each * cores
    print(
        f"  {cores} processes   {parallel.each:10.1f} ms per submission, {per_core:.1f} ms per core"
    )
    print(f"  cold pytest     {cold * MILLISECONDS:8.1f} ms for one submission, without a sandbox")
    print(f"  ratio           {cold * MILLISECONDS / single.each:8.1f} times faster on one core")
    measured = {"one process": [single.each], f"{cores} processes": [parallel.each]}
    measured["cold pytest"] = [cold * MILLISECONDS]
    print(
        f"  all values: {write_json(course.root, 'throughput', measured).relative_to(course.root)}"
    )


class _Timed:
    """The time of a run: its start, and the milliseconds per submission."""

    def __init__(self, start: float, each: float) -> None:
        self.start = start
        self.each = each


def _measure(course: Course, submissions: list[Submission], jobs: int) -> _Timed:
    begin = time.perf_counter()
    ends: list[float] = []
    results = grade(
        course, submissions, jobs=jobs, on_result=lambda _result: ends.append(time.perf_counter())
    )
    _require_full_marks(results)
    return _Timed(ends[0] - begin, (ends[-1] - ends[0]) / (len(ends) - 1) * MILLISECONDS)


def _require_full_marks(results: Results) -> None:
    for result in results.submissions:
        if result.score is None or result.score != result.max_score:
            sys.exit(f"{result.student} scores {result.score}: {result.message}")


def _cold_pytest(course: Course, stage: Stage) -> float:
    """Time a grader that starts a new process: Python, torch, pytest and the same suite."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command.append(str(stage.hidden))  # it runs on the solution
    return _timed(lambda: subprocess.run(command, cwd=course.root, check=True, capture_output=True))  # noqa: S603  # our own command


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, *sys.argv[2:3])
