"""Writes ``results.json`` for Gradescope, one submission at a time.

A top-level ``score`` replaces the sum of the tests. Tests are visible after the due date, because
with unlimited submissions their results would show what the hidden inputs are; Gradescope then
hides the score until the due date, too. A message about the files is visible at once. All formats
are ``text``, so nothing is interpreted as HTML or Markdown. Only the instructor sees standard
output. The only way to express “no grade” is to write no file; Gradescope then reports that the
autograder failed.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal

from msgspec.structs import replace

from autograder.errors import GraderError, UsageError
from autograder.exports.export_file import ExportFile
from autograder.reports.feedback_builder import check_text
from autograder.results import (
    FORMAT_VERSION,
    CheckResult,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)

Visibility = Literal["after_due_date", "after_published", "visible"]


def gradescope(results: Results, visibility: Visibility = "after_due_date") -> ExportFile:
    """Return the file for the only submission; raise ``GraderError`` if there is no grade."""
    result = single_submission(results)
    answer = {
        "score": result.score,
        "output": _output(result),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": list(_tests(result, visibility)),
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
    page = json.dumps(answer, ensure_ascii=False, allow_nan=False, indent=2).encode() + b"\n"
    if result.status is not Status.UNREADABLE:
        return ExportFile(page)
    remark = f"{result.student}: nothing could be graded, so this format writes 0 points."
    return ExportFile(page, (remark,))


def single_submission(results: Results) -> SubmissionResult:
    """Return the only submission of *results*; raise an error if there is none with a grade."""
    if len(results.submissions) != 1:
        raise UsageError(
            "This format has room for one submission, but the record has "
            f"{len(results.submissions)}. "
            "Grade one submission at a time, and export each record."
        )
    result = results.submissions[0]
    if result.score is None:
        internal = result.status is Status.GRADER_ERROR
        failed = "The grader failed" if internal else "There is no grade"
        raise GraderError(f"{failed} for {result.student}: {result.message or 'no reason given'}")
    return result


def _tests(result: SubmissionResult, visibility: Visibility) -> Iterator[dict[str, Any]]:
    """Yield each check as a test; only the first one with a mistake describes it."""
    places: dict[str, str] = {}  # the number of the test that describes a mistake
    for i, exercise in enumerate(result.exercises, 1):
        for j, check in enumerate(exercise.checks, 1):
            number = f"{i}.{j}"
            known = check.diagnosis and places.setdefault(check.diagnosis.explanation, number)
            again = ""
            if known and known != number:
                check = replace(check, diagnosis=None)  # noqa: PLW2901  # without the repetition
                again = f"The mistake is the same as in test {known}."
            text = "\n\n".join(filter(None, (check_text(check), again)))
            yield _test(number, exercise.name, check, text) | {"visibility": visibility}


def _test(number: str, exercise: str, check: CheckResult, output: str) -> dict[str, Any]:
    return {
        "name": f"{exercise}: {check.title}",
        "number": number,
        "status": "passed" if check.outcome is Outcome.PASSED else "failed",
        "score": check.points,
        "max_score": check.max_points,
        "output": output,
        "output_format": "text",
    }


def _output(result: SubmissionResult) -> str:
    unused = [f"Not used: {', '.join(result.ignored)}"] if result.ignored else []
    return "\n".join(part for part in (result.message, *result.notices, *unused) if part)
