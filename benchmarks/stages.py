"""Measures what one more submission of each stage costs: python -m benchmarks.stages [STAGE...].

Right submissions are the solution; wrong ones are ten of the stage's misconceptions, each handed in
twice, of which the second time counts: the first one loads the wrong programs that it is compared
with. One grading process, processor time of all processes of the run, isolation full.
"""

import json
import statistics
import sys
from pathlib import Path

from autograder.course import Course, Stage, find_root, load
from autograder.diagnosis.misconceptions import read
from autograder.grading.grade import grade
from autograder.results import SubmissionResult
from autograder.submission import Code, Submission
from benchmarks.cluster import MILLISECONDS, spent

RIGHT = 9
WRONG = 10


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
        print(f"{stage.name:30}{each}", flush=True)  # of a run that is stopped, this is left
    means = [statistics.mean(column) for column in zip(*costs.values(), strict=True)]
    print(f"{'mean':30}{means[0]:5.0f} ms{means[1]:5.0f} ms")
    out = Path("build/benchmarks/stages.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(costs, indent=2) + "\n")
    print(f"every number: {out}")


def _cost(course: Course, class_: list[Submission], first: int) -> float:
    """Return the milliseconds of one of those that come after the submission *first*."""
    seen: list[float] = []

    def look(_result: SubmissionResult) -> None:
        seen.append(spent([]).processor)

    grade(course, class_, jobs=1, on_result=look)
    return (seen[-1] - seen[first]) / (len(seen) - 1 - first) * MILLISECONDS


def _right(stage: Stage) -> list[Submission]:
    text = stage.solution.read_text("utf-8")
    return [_submission(stage, number, text) for number in range(RIGHT)]


def _wrong(stage: Stage) -> list[Submission]:
    text, known = stage.solution.read_text("utf-8"), read(stage.misconceptions)
    chosen = known[:: max(1, len(known) // WRONG)][:WRONG]
    texts = [mistake.module(text) for mistake in chosen] * 2
    return [_submission(stage, number, wrong) for number, wrong in enumerate(texts)]


def _submission(stage: Stage, number: int, text: str) -> Submission:
    """Make a submission that differs from every other."""
    code = f"{text}\n\nSTUDENT = {number}\n".encode()
    return Submission(
        student=f"student{number:03}",
        stage=stage.name,
        code=Code(kind="module", cells=(code,), label=stage.solution.name),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
