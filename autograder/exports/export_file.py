"""The file that an export makes, and what formats for a single submission share."""

import json
from pathlib import Path
from typing import Any

import msgspec

from autograder.errors import GraderError, UsageError
from autograder.results import CheckResult, Results, Status, SubmissionResult


class ExportFile(msgspec.Struct, frozen=True):
    """The content of a file, and remarks: which students got no cell, and why."""

    content: bytes
    remarks: tuple[str, ...] = ()

    def write(self, file: Path) -> None:
        """Write the content to *file*; raises ``UsageError`` where that is impossible."""
        try:
            file.write_bytes(self.content)
        except OSError as error:
            msg = f"{file} can't be written: {error.strerror}."
            raise UsageError(msg) from error


def single_submission(results: Results) -> SubmissionResult:
    """Return the one submission of *results*, for formats that hold one.

    Raises ``UsageError`` where there are more or none, and ``GraderError`` where there is no grade,
    because such a format can only express that as a zero.
    """
    if len(results.submissions) != 1:
        msg = (
            f"This format holds one submission, the record has {len(results.submissions)}. "
            "Grade one submission at a time, and export each record."
        )
        raise UsageError(msg)
    result = results.submissions[0]
    if result.score is None:
        internal = result.status is Status.GRADER_ERROR
        failed = "The grader failed" if internal else "There is no grade"
        msg = f"{failed} for {result.student}: {result.message or 'no reason given'}"
        raise GraderError(msg)
    return result


def feedback_text(check: CheckResult) -> str:
    """Return what the student reads about *check*, in plain text; empty where there is nothing."""
    parts = [check.message]
    if check.diagnosis is not None:
        parts += [check.diagnosis.title + check.diagnosis.beyond_title, check.diagnosis.hint]
    return "\n\n".join(filter(None, parts))


def json_file(answer: dict[str, Any], *remarks: str) -> ExportFile:
    """Encode *answer* as indented UTF-8 JSON; raises ``ValueError`` for NaN and infinities."""
    page = json.dumps(answer, ensure_ascii=False, allow_nan=False, indent=2)
    return ExportFile(page.encode() + b"\n", remarks)
