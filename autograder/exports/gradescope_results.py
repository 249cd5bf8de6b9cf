"""Gradescope: ``results.json``, one submission at a time.

After its autograder specification: a top-level ``score``, which counts in place of the tests' sum;
``tests`` with ``score``, ``max_score``, ``status``, ``name``, ``number``, ``output`` and
``visibility`` (``visible``, ``hidden``, ``after_due_date``, ``after_published``; while a test is
hidden until later, students don't see their total). Formats are ``text`` throughout, so nothing is
read as HTML or Markdown. Standard output stays the instructor's. There is no way to say “no grade”
but to write no file: then Gradescope reports that the autograder failed.
"""

import json
from typing import Any, Literal

from autograder.exports.export_file import Exported, only, told
from autograder.results import FORMAT_VERSION, CheckResult, Outcome, Results, SubmissionResult

Visibility = Literal["visible", "hidden", "after_due_date", "after_published"]


def gradescope(results: Results, visibility: Visibility = "visible") -> Exported:
    """Write the one submission of *results*, every check with *visibility*.

    The record already obeys the course's ``[reveal]``: it tells of hidden inputs what students may
    know. Raises ``GraderError`` where there is no grade.
    """
    result = only(results)
    answer: dict[str, Any] = {
        "score": result.score,
        "output": _output(result),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "tests": [
            _test(f"{i}.{j}", exercise.name, check, visibility)
            for i, exercise in enumerate(result.exercises, 1)
            for j, check in enumerate(exercise.checks, 1)
        ],
        "extra_data": {
            "format_version": FORMAT_VERSION,
            "course": results.course,
            "stage": result.stage,
            "status": result.status,
            "isolation": results.isolation,
            "hidden_inputs": results.hidden_inputs,
            "sha256": result.sha256,
        },
    }
    page = json.dumps(answer, ensure_ascii=False, allow_nan=False, indent=2)
    return Exported(page.encode() + b"\n")


def _test(number: str, exercise: str, check: CheckResult, visibility: Visibility) -> dict[str, Any]:
    return {
        "name": f"{exercise}: {check.title}",
        "number": number,
        "status": "passed" if check.outcome is Outcome.PASSED else "failed",
        "score": check.points,
        "max_score": check.max_points,
        "output": told(check),
        "output_format": "text",
        "visibility": visibility,
    }


def _output(result: SubmissionResult) -> str:
    taken = [f"Not taken: {', '.join(result.ignored)}"] if result.ignored else []
    return "\n".join(part for part in (result.message, *result.notices, *taken) if part)
