"""Measures the cost of a diagnosis: python -m benchmarks.diagnosis [SUBMISSIONS] [STAGE].

Grades two classes of the same size in one run: one in which every submission is right, and one in
which every submission has one of the stage's misconceptions, so that each is diagnosed.
"""

import sys
import time
from itertools import cycle, islice
from pathlib import Path

from autograder.course import Course, Stage, find_root, load
from autograder.diagnosis.misconceptions import read
from autograder.grading.grade import grade
from autograder.results import SubmissionResult
from autograder.submission import Code, Submission


def main(count: int = 200, wanted: str = "04") -> None:
    """Measure and print."""
    course = load(find_root(Path(__file__).parent))
    stage = course.stage(wanted)
    solution = stage.solution.read_text("utf-8")
    misconceptions = read(stage.misconceptions)
    wrong = islice(cycle(item.module(solution) for item in misconceptions), count)
    right_time, _ = _timed(course, stage, [solution] * count)
    wrong_time, results = _timed(course, stage, list(wrong))
    diagnosed = sum(map(_is_diagnosed, results))

    print(f"stage {stage.name}, {count} submissions each, one process")
    print(f"  all right  {right_time:7.1f} s")
    print(f"  all wrong  {wrong_time:7.1f} s, {diagnosed} of {count} with a diagnosis")
    print(f"  ratio      {wrong_time / right_time:7.2f}")


def _timed(course: Course, stage: Stage, texts: list[str]) -> tuple[float, list[SubmissionResult]]:
    """Grade *texts*; the time starts at the first result, so it excludes the start of torch."""
    submissions = [
        Submission(
            student=f"student{number:03}",
            stage=stage.name,
            code=Code(kind="module", cells=(text.encode(),), label=stage.solution.name),
        )
        for number, text in enumerate([texts[0], *texts])
    ]
    ends: list[float] = []
    results = grade(
        course, submissions, jobs=1, on_result=lambda _result: ends.append(time.perf_counter())
    )
    return ends[-1] - ends[0], list(results.submissions[1:])


def _is_diagnosed(result: SubmissionResult) -> bool:
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return any(check.diagnosis is not None for check in checks)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, *sys.argv[2:3])
