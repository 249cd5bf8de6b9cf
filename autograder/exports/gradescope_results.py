"""Writes ``results.json`` for Gradescope, one submission at a time.

A top-level ``score`` replaces the sum of the tests. Every test is visible, because the record
contains only texts that the course reveals. All formats are ``text``, so nothing is interpreted as
HTML or Markdown. Only the instructor sees standard output. The only way to express “no grade” is to
write no file; Gradescope then reports that the autograder failed.
"""

from typing import Any

from autograder.exports.export_file import (
    ExportFile,
    json_file,
    single_submission,
    zero_remarks,
)
from autograder.reports.plain import check_text
from autograder.results import FORMAT_VERSION, CheckResult, Outcome, Results, SubmissionResult


def gradescope(results: Results) -> ExportFile:
    """Return the file for the only submission of *results*.

    Raises ``GraderError`` if there is no grade.
    """
    result = single_submission(results)
    answer = {
        "score": result.score,
        "output": _output(result),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            _test(f"{i}.{j}", exercise.name, check)
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
    return json_file(answer, *zero_remarks(result))


def _test(number: str, exercise: str, check: CheckResult) -> dict[str, Any]:
    return {
        "name": f"{exercise}: {check.title}",
        "number": number,
        "status": "passed" if check.outcome is Outcome.PASSED else "failed",
        "score": check.points,
        "max_score": check.max_points,
        "output": check_text(check),
        "output_format": "text",
        "visibility": "visible",
    }


def _output(result: SubmissionResult) -> str:
    unused = [f"Not used: {', '.join(result.ignored)}"] if result.ignored else []
    return "\n".join(part for part in (result.message, *result.notices, *unused) if part)
