"""Explains a grade to the instructor who must justify it."""

import re
from collections.abc import Iterator
from typing import Final

from autograder.errors import UsageError
from autograder.results import CheckResult, Results, SubmissionResult
from autograder.sanitize import name_and_id

KEY: Final = 12  # characters of a key on a page; enough to distinguish all submissions of a course
_KEY: Final = re.compile(rf"[0-9a-f]{{{KEY},64}}")


def find_results(results: Results, student: str, stage: str = "") -> list[SubmissionResult]:
    """Return the results of *student*, of one *stage* if given; or raise ``UsageError``."""
    own = [one for one in results.submissions if one.student == student]
    found = [one for one in own if not stage or _is_called(one.stage, stage)]
    if not own:
        raise UsageError(f"There is no student {student!r} in the record.")
    if not found:
        stages = ", ".join(one.stage or "an unknown stage" for one in own)
        msg = f"The record has no submission of {student} for {stage!r}. It has {stages}."
        raise UsageError(msg)
    return found


def short_key(result: SubmissionResult) -> str:
    """Return the start of the key of *result*, which its page shows; empty in an old record."""
    return result.audit.key[:KEY] if result.audit else ""


def find_key(results: Results, text: str) -> list[SubmissionResult]:
    """Return the results whose key begins with *text*; none if it cannot be a key."""
    if not _KEY.fullmatch(text):
        return []
    return [one for one in results.submissions if one.audit and one.audit.key.startswith(text)]


def explanation_lines(results: Results, result: SubmissionResult, name: str = "") -> Iterator[str]:
    """Explain *result* of the record *results*; *name* is the student's name."""
    score = "no grade" if result.score is None else f"{result.score:g} of {result.max_score or 0:g}"
    who = name_and_id(name, result.student)
    yield f"{who}, {result.stage or 'unknown stage'}: {score} ({result.status})"
    yield from (f"  {text}" for text in (result.message, *result.notices) if text)
    yield from _circumstances(results, result)
    for exercise in result.exercises:
        yield ""
        yield f"{exercise.name}: {exercise.score:g} of {exercise.max_score:g}"
        for check in exercise.checks:
            yield from _check_lines(check)


def _circumstances(results: Results, result: SubmissionResult) -> Iterator[str]:
    yield f"  code          sha256 {result.sha256 or '(none)'}"
    if result.ignored:
        yield f"  not graded    {', '.join(result.ignored)}"
    if audit := result.audit:
        yield f"  graded        {audit.graded}, in {audit.seconds:g} s, isolation {audit.isolation}"
        yield f"  suite         sha256 {audit.suite_sha256}"
        yield f"  key           {audit.key}"
    else:
        yield f"  graded        isolation {results.isolation}; the record is older than the audit"
    run = results.run_of(result.student, result.stage)
    yield f"  inputs        {run.hidden_inputs}"
    if settings := run.settings:
        yield f"  course        {results.course}, sha256 {settings.course_sha256}"
        yield f"  kit           {settings.kit}, sha256 {settings.kit_sha256}"
        yield (
            f"  versions      Python {settings.python}, torch {settings.torch}, {settings.machine}"
        )
        yield f"  packages      sha256 {settings.packages_sha256}"
        limits = (f"{name} {value:g}" for name, value in settings.limits.items())
        yield f"  limits        {', '.join(limits)}"


def _check_lines(check: CheckResult) -> Iterator[str]:
    points = f"{check.points:g} of {check.max_points:g}"
    yield f"  {points:>12}  {check.outcome} ({check.status})  {check.name}: {check.title}"
    reasons = [check.message]
    if check.diagnosis is not None:
        reasons.append(check.diagnosis.title)
    if check.given:
        reasons.append(f"passed with the solution's {check.given}")
    for text in filter(None, reasons):
        yield from (f"{'':16}{line}" for line in text.splitlines())


def _is_called(stage: str, wanted: str) -> bool:
    number = stage.partition("_")[0]
    return wanted == stage or (number.isdigit() and wanted.isdigit() and int(number) == int(wanted))
