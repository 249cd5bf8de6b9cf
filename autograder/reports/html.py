"""The reports of a run as HTML pages that need no network and run no script."""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from autograder.course import Course
from autograder.errors import UsageError
from autograder.reports.class_report import build_stage_reports
from autograder.reports.feedback_builder import build_feedback
from autograder.reports.templating import render
from autograder.results import Results, SubmissionResult

MAX_NAME: Final = 60  # of a student and of a stage: some systems end names at 143 bytes


def feedback_page(course: Course, result: SubmissionResult) -> str:
    """Return the page about *result*; the first problem comes first."""
    return render("feedback.html", feedback=build_feedback(course, result))


def class_page(course: Course, results: Results) -> str:
    """Return the page about the whole run; it links to the pages named by ``page_names``."""
    stages = build_stage_reports(course, results, page_names(results.submissions))
    return render("class_report.html", course=course.file.title, results=results, stages=stages)


def write_pages(course: Course, results: Results, folder: Path) -> Path:
    """Write one page per submission and ``index.html`` into *folder*; return the index's path.

    Pages of an earlier run that have other names stay. Raises ``UsageError``.
    """
    index = folder / "index.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for result, name in zip(results.submissions, page_names(results.submissions), strict=True):
            (folder / name).write_text(feedback_page(course, result), "utf-8")
        index.write_text(class_page(course, results), "utf-8")
    except OSError as error:
        msg = f"The report can't be written: {error}."
        raise UsageError(msg) from None
    return index


def page_names(submissions: Iterable[SubmissionResult]) -> tuple[str, ...]:
    """Name the page of each submission: valid on every file system, and no two alike."""
    taken: set[str] = set()
    names = []
    for result in submissions:
        stem = f"{_slug(result.student) or 'student'}--{_slug(result.stage) or 'no-stage'}"
        name, number = stem, 1
        while name.lower() in taken:  # macOS and Windows treat Ada and ada as one name
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.lower())
        names.append(f"{name}.html")
    return tuple(names)


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", plain)[:MAX_NAME].strip("-")
