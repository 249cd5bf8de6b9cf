"""Shows an author why a submission gets its diagnosis, with all explanations that were tried."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from autograder.course import Course, Stage
from autograder.diagnosis.live import Tried
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import SubmissionResult
from autograder.sandbox.isolation import choose_isolation
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission


class Trial(NamedTuple):
    """The result of a submission, and the explanations that were tried, the best first."""

    result: SubmissionResult
    tried: Sequence[Tried]


def diagnose_file(course: Course, stage: Stage, path: Path) -> Trial:
    """Grade the module or notebook at *path* as a submission of *stage*.

    Raises ``CourseError``, ``SandboxError`` and, if the file can't be read, ``OSError``.
    """
    code = Code(kind="module", cells=(path.read_bytes(),), label=path.name)
    submission = Submission(student=path.stem, stage=stage.name, code=code)
    level = choose_isolation(course.grading.isolation, course.root)
    with (
        ForkServer(level, course.limits) as fork_server,
        open_suites(course, [stage]) as runner,
    ):
        fork_server.wait_ready()
        diagnostician = runner.diagnostician(stage)
        diagnostician.source.lists_refusals = True
        result = grade_one(runner, fork_server, submission)
        best = sorted(
            diagnostician.source.tried,
            key=lambda one: (one.exercise, -one.explained, one.name, one.explanation),
        )
    return Trial(result, best)


def lines_of(trial: Trial) -> list[str]:
    """Describe a trial: for each exercise, the diagnosis and the explanations that were tried."""
    lines = []
    for exercise in trial.result.exercises:
        named = {
            check.diagnosis.misconception: None for check in exercise.checks if check.diagnosis
        }
        lost = exercise.max_score - exercise.score
        lines.append(f"{exercise.name}: {lost:g} points lost, named: {', '.join(named) or '-'}")
        tried = [one for one in trial.tried if one.exercise == exercise.name]
        lines += [f"  {_share(one)}  {one.name}: {one.explanation}" for one in tried]
        if lost and not named and not tried:
            lines.append("  No known mistake has these results.")
    return lines


def _share(tried: Tried) -> str:
    """Return how many checks an explanation explains, or why it is not said."""
    if tried.lacking:
        return f"not said, because the source lacks {tried.lacking!r}:"
    return f"{tried.explained:2} of {tried.failed:2}"
