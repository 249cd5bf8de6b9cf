"""Measures the cost of one more submission of each stage: python -m benchmarks.stages [STAGE...].

Right submissions are the solution; wrong ones are ten of the stage's misconceptions, each submitted
twice. Only the second submission counts, because the first one loads the wrong programs that it is
compared with. The run uses one grading process with isolation `full`, and each number is the
processor time of all its processes.
"""

import json
import os
import statistics
import sys
from pathlib import Path

from autograder.course import Course, Stage, find_root, load
from autograder.diagnosis.misconceptions import read
from autograder.grading.grade import grade
from autograder.results import SubmissionResult
from autograder.submission import Submission
from benchmarks.measuring import MILLISECONDS, cpu_below, numbered_submission

RIGHT = 9
WRONG = 10
MILLION = 1_000_000
SECONDS_OF_AN_HOUR = 3600


def main(wanted: list[str]) -> None:
    """Measure and print."""
    course = load(find_root(Path(__file__).parent))
    stages = [course.stage(name) for name in wanted] or course.stages
    costs: dict[str, tuple[float, float]] = {}
    print(f"{'processor time of one more':30}   right   wrong")
    for stage in stages:
        right, wrong = _right(stage), _wrong(stage)
        costs[stage.name] = (_cost(course, right, 1), _cost(course, wrong, len(wrong) // 2 - 1))
        each = f"{costs[stage.name][0]:5.0f} ms{costs[stage.name][1]:5.0f} ms"
        print(f"{stage.name:30}{each}", flush=True)  # remains if the run is stopped
    means = [statistics.mean(column) for column in zip(*costs.values(), strict=True)]
    print(f"{'mean':30}{means[0]:5.0f} ms{means[1]:5.0f} ms")
    hours = MILLION * statistics.mean(means) / MILLISECONDS / SECONDS_OF_AN_HOUR
    print(f"a million of these, half of them right: {hours:.0f} hours of one core")
    out = Path("build/benchmarks/stages.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(costs, indent=2) + "\n")
    print(f"every number: {out}")


def _cost(course: Course, class_: list[Submission], first: int) -> float:
    """Return the milliseconds of one submission after the submission *first*."""
    seen: list[float] = []

    def look(_result: SubmissionResult) -> None:
        seen.append(cpu_below(os.getpid()))

    grade(course, class_, jobs=1, on_result=look)
    return (seen[-1] - seen[first]) / (len(seen) - 1 - first) * MILLISECONDS


def _right(stage: Stage) -> list[Submission]:
    return [numbered_submission(stage, number) for number in range(RIGHT)]


def _wrong(stage: Stage) -> list[Submission]:
    text, known = stage.solution.read_text("utf-8"), read(stage.misconceptions)
    chosen = known[:: max(1, len(known) // WRONG)][:WRONG]
    texts = [mistake.module(text) for mistake in chosen] * 2
    return [numbered_submission(stage, number, wrong) for number, wrong in enumerate(texts)]


if __name__ == "__main__":
    main(sys.argv[1:])
