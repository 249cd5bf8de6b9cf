"""Writes ``result.json`` for Classroom 50, in the format ``classroom50/result/v1``.

Its schema allows no other keys at the top and only whole numbers, so points are in hundredths.
``score`` is at most ``max-score``; both are the sums over ``tests``. The runner provides classroom,
assignment and owner, which must be those of the repository. The runner treats a nonzero exit code
as an infrastructure error, which is correct if there is no grade.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from autograder.errors import CourseError, UsageError
from autograder.exports.export_file import (
    ExportFile,
    feedback_text,
    json_file,
    single_submission,
    zero_remarks,
)
from autograder.results import Outcome, Results, SubmissionResult

_CLOSE = 1e-6  # the largest rounding error of `results.add`
_VARIABLES: Final = {
    "classroom": ("CLASSROOM",),
    "assignment": ("ASSIGNMENT",),
    "owner": ("OWNER", "USERNAME"),
    "submission": ("SUBMISSION_TAG",),
    "commit": ("COMMIT_URL",),
    "release": ("RELEASE_URL",),
}


class Push(msgspec.Struct, frozen=True, kw_only=True):
    """One push of a student; *datetime* is UTC, ``2026-06-01T14:32:01Z``."""

    classroom: str
    assignment: str
    owner: str
    submission: str
    commit: str
    release: str
    review: str
    datetime: str
    assignment_type: Literal["individual", "group"] = "individual"


def push_of(environ: Mapping[str, str], datetime: str) -> Push:
    """Read the runner's variables from *environ*; raise ``UsageError`` if any is not set."""
    values = {
        name: next((environ[item] for item in variables if environ.get(item)), "")
        for name, variables in _VARIABLES.items()
    }
    missing = [_VARIABLES[name][0] for name, value in values.items() if not value]
    if missing:
        msg = (
            f"{', '.join(missing)} must be set. Classroom 50's runner sets them: export this "
            "format from autograder.py in the runner."
        )
        raise UsageError(msg)
    return Push(
        **values,
        review=environ.get("REVIEW_URL") or values["commit"],
        datetime=datetime,
        assignment_type="group" if environ.get("ASSIGNMENT_TYPE") == "group" else "individual",
    )


def classroom50(results: Results, push: Push) -> ExportFile:
    """Return the file for the only submission of *results*, with points in hundredths.

    Raises ``GraderError`` if there is no grade, and ``CourseError`` if the points of a check are
    not whole hundredths.
    """
    result = single_submission(results)
    tests = _tests(result)
    answer = {
        "schema": "classroom50/result/v1",
        **msgspec.structs.asdict(push),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }
    return json_file(
        answer, "Points are in hundredths: 100 of them equal one point.", *zero_remarks(result)
    )


def _tests(result: SubmissionResult) -> list[dict[str, Any]]:
    tests = [
        {
            "test-name": f"{exercise.name}: {check.title}",
            "passed": check.outcome is Outcome.PASSED,
            "score": hundredths(check.points),
            "max-score": hundredths(check.max_points),
            "output": feedback_text(check),
        }
        for exercise in result.exercises
        for check in exercise.checks
    ]
    if tests:
        return tests
    failed = {  # an empty list would count as passed
        "test-name": result.stage or "submission",
        "passed": False,
        "score": 0,
        "max-score": hundredths(result.max_score or 0.0),
        "output": result.message,
    }
    return [failed]


def hundredths(points: float) -> int:
    """Return *points* in hundredths; raise ``CourseError`` if that is not a whole number."""
    scaled = round(points * 100)
    if abs(scaled - points * 100) > _CLOSE:
        msg = f"A check is worth {points} points; Classroom 50 needs whole hundredths of a point."
        raise CourseError(msg)
    return scaled
