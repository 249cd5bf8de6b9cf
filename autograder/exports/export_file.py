"""What an export is: a file's bytes, and what its reader should know about it."""

import msgspec

from autograder.errors import GraderError, UsageError
from autograder.results import CheckResult, Results, Status, SubmissionResult
from autograder.sanitize import sanitize


class Exported(msgspec.Struct, frozen=True):
    """A file to write, and remarks: whoever got no cell, and why."""

    content: bytes
    remarks: tuple[str, ...] = ()


def only(results: Results) -> SubmissionResult:
    """Return the one submission of *results*, harmless.

    For formats that hold one submission: raises ``UsageError`` where there are more or none, and
    ``GraderError`` where there is no grade, because such a format can't say so except by a zero.
    """
    if len(results.submissions) != 1:
        msg = (
            f"This format holds one submission, the record has {len(results.submissions)}. "
            "Grade one submission at a time, and export each record."
        )
        raise UsageError(msg)
    result = sanitize(results.submissions[0])
    if result.score is None:
        failed = (
            "The grader failed" if result.status is Status.GRADER_ERROR else "There is no grade"
        )
        msg = f"{failed} for {result.student}: {result.message or 'no reason given'}"
        raise GraderError(msg)
    return result


def told(check: CheckResult) -> str:
    """Say what the student reads about *check*, in plain text; empty where there is nothing."""
    parts = [check.message]
    if check.diagnosis is not None:
        parts += [check.diagnosis.explanation, check.diagnosis.hint]
    return "\n\n".join(part for part in parts if part)
