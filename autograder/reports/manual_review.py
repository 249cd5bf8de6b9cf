"""Lists the reasons why an instructor should read a submission."""

import re
from collections.abc import Iterator
from typing import Final

from autograder.results import Outcome, Status, SubmissionResult

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
_NO_PACKAGE: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]{1,80})'")
# Notices of `submission` about a lab that was submitted without its module.
_NO_MODULE: Final = re.compile(r"submitted the lab\b|the code cells of lab[^/]{0,80} were graded")
# Notices of `submission` about a choice among several files.
_SEVERAL_FILES: Final = re.compile(r"\d+ (?:attempts were submitted|files are named)\b")
# Python's message if the sandbox refuses a system call or a file outside the private folder.
_REFUSED: Final = re.compile(r"PermissionError: (?:\[Errno \d+\] )?([^()\n]{1,120})")
# A statement that does not compile, perhaps because it is written for a newer Python.
_NOT_VALID: Final = re.compile(
    r"^((?:cell \d+, )?line \d+ is not valid Python [\d.]+): ", re.MULTILINE
)
# A notice of `submission` about answers that a person must look for.
_ANSWERS: Final = re.compile(r".* for your instructor, who reads the file\.$", re.DOTALL)
# The notice of `submission` about missing written answers.
_NO_LAB: Final = re.compile(r"No lab\.ipynb was submitted\b")
MAX_REFUSED: Final = 3  # listed for one submission


def review_reasons(result: SubmissionResult) -> Iterator[str]:
    """Yield the reasons why an instructor should read *result*.

    Such reasons are parts that were not graded, and forbidden operations.
    """
    if result.status in MANUAL_REVIEW:
        yield first_problem(result)
    said = "\n".join((result.message, *result.notices))
    if _NO_MODULE.search(said):
        yield "a lab was submitted without its module"
    yield from filter(_SEVERAL_FILES.match, result.notices)
    yield from filter(_ANSWERS.match, result.notices)
    yield from _limits(result)
    messages = (check.message for exercise in result.exercises for check in exercise.checks)
    whole = "\n".join((said, *messages))
    yield from (
        f"{text}; a newer one may read it" for text in dict.fromkeys(_NOT_VALID.findall(said))
    )
    refused = list(dict.fromkeys(text.strip(" .") for text in _REFUSED.findall(whole)))
    if refused:
        yield f"the sandbox refused: {'; '.join(refused[:MAX_REFUSED])}"
    missing = dict.fromkeys(_NO_PACKAGE.findall(whole))
    if missing:
        yield f"not installed here: {', '.join(missing)}"


def lacks_lab(result: SubmissionResult) -> bool:
    """Return whether the lab is missing, so that written answers count as missing."""
    return any(map(_NO_LAB.match, result.notices))


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
