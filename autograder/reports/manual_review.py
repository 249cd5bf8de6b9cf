"""Lists the reasons why an instructor should read a submission."""

from collections.abc import Iterator
from typing import Final

from autograder.results import FlagKind, Outcome, Status, SubmissionResult

MANUAL_REVIEW: Final = (
    Status.BAD_OUTPUT, Status.CRASHED, Status.GRADER_ERROR, Status.IMPORT_ERROR,
    Status.OUT_OF_DISK, Status.OUT_OF_MEMORY, Status.TIMEOUT, Status.UNREADABLE,
)  # fmt: skip
# Phrases about exercises that exceeded a limit.
_LIMITS: Final = {
    Status.TIMEOUT: "did not end in time",
    Status.CRASHED: "ended the process",
    Status.OUT_OF_MEMORY: "used too much memory",
    Status.OUT_OF_DISK: "wrote too much to the disk",
}


def review_reasons(result: SubmissionResult) -> Iterator[str]:
    """Yield the reasons why an instructor should read *result*.

    Such reasons are parts that were not graded, and code that the grader can't read.
    """
    if result.status in MANUAL_REVIEW:
        yield first_problem(result)
    yield from (flag.text for flag in result.flags if flag.kind is not FlagKind.NO_LAB)
    yield from _limits(result)


def lacks_lab(result: SubmissionResult) -> bool:
    """Return whether the lab is missing, so that written answers count as missing."""
    return any(flag.kind is FlagKind.NO_LAB for flag in result.flags)


def first_problem(result: SubmissionResult) -> str:
    """Describe the first problem in one line; empty if there is none."""
    if result.status is not Status.GRADED:
        return f"{result.status}: {_first_line(result.message)}"
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.outcome is not Outcome.PASSED:
                text = check.diagnosis.explanation if check.diagnosis else check.message
                return f"{exercise.name}: {_first_line(text)}"
    return ""


def _limits(result: SubmissionResult) -> Iterator[str]:
    """Yield sentences about exercises that exceeded a limit, unless the whole submission did."""
    if result.status in _LIMITS:
        return
    for status, how in _LIMITS.items():
        names = [
            exercise.name
            for exercise in result.exercises
            if any(check.status is status for check in exercise.checks)
        ]
        if names:
            yield f"{', '.join(names)} {how}"


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0]
