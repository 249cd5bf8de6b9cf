"""Classroom 50: ``result.json`` after ``classroom50/result/v1``.

Its schema is closed: no further key at the top, whole numbers only, ``score`` at most
``max-score``, both the sums over ``tests``; a test may carry more keys. Points are therefore
counted in hundredths, which keeps every ratio. Classroom, assignment and owner must be the
repository's; the runner hands them over in the environment. A command that ends with another exit
code than 0 is an infrastructure error there, which is right where there is no grade.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from autograder.errors import CourseError, UsageError
from autograder.exports.export_file import Exported, only, told
from autograder.results import CheckResult, Outcome, Results, SubmissionResult

FACTOR: Final = 100  # hundredths of a point
_CLOSE = 1e-6  # what `results.add` keeps of a sum
_VARIABLES: Final = {
    "classroom": ("CLASSROOM",),
    "assignment": ("ASSIGNMENT",),
    "owner": ("OWNER", "USERNAME"),
    "submission": ("SUBMISSION_TAG",),
    "commit": ("COMMIT_URL",),
    "release": ("RELEASE_URL",),
}


class Push(msgspec.Struct, frozen=True, kw_only=True):
    """What was pushed where; *datetime* is UTC, ``2026-06-01T14:32:01Z``."""

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
    """Read what the runner tells in *environ*; raises ``UsageError`` outside of one."""
    told = {
        name: next((environ[item] for item in variables if environ.get(item)), "")
        for name, variables in _VARIABLES.items()
    }
    missing = [_VARIABLES[name][0] for name, value in told.items() if not value]
    if missing:
        msg = (
            f"{', '.join(missing)} not set: this format is written inside Classroom 50's runner, "
            "which sets them. Export from autograder.py there."
        )
        raise UsageError(msg)
    return Push(
        **told,
        review=environ.get("REVIEW_URL") or told["commit"],
        datetime=datetime,
        assignment_type="group" if environ.get("ASSIGNMENT_TYPE") == "group" else "individual",
    )


def classroom50(results: Results, push: Push) -> Exported:
    """Write the one submission of *results*, points times ``FACTOR``.

    Raises ``GraderError`` where there is no grade, ``CourseError`` where a check's points are no
    whole hundredths.
    """
    result = only(results)
    tests = _tests(result)
    answer = {
        "schema": "classroom50/result/v1",
        **msgspec.structs.asdict(push),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }
    page = json.dumps(answer, ensure_ascii=False, allow_nan=False, indent=2)
    return Exported(page.encode() + b"\n", (f"Points are in hundredths: {FACTOR} are one point.",))


def _tests(result: SubmissionResult) -> list[dict[str, Any]]:
    tests = [
        _test(exercise.name, check) for exercise in result.exercises for check in exercise.checks
    ]
    if not tests:  # an empty list would be a pass of nothing
        tests = [
            {
                "test-name": result.stage or "submission",
                "passed": False,
                "score": 0,
                "max-score": whole(result.max_score or 0.0),
                "output": result.message,
            }
        ]
    return tests


def _test(exercise: str, check: CheckResult) -> dict[str, Any]:
    return {
        "test-name": f"{exercise}: {check.title}",
        "passed": check.outcome is Outcome.PASSED,
        "score": whole(check.points),
        "max-score": whole(check.max_points),
        "output": told(check),
    }


def whole(points: float) -> int:
    """Return *points* in hundredths; raises ``CourseError`` where a rest is left."""
    scaled = round(points * FACTOR)
    if abs(scaled - points * FACTOR) > _CLOSE:
        msg = f"A check is worth {points} points; Classroom 50 needs whole hundredths."
        raise CourseError(msg)
    return scaled
