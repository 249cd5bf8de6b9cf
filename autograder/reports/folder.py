"""The reports of a run as files: the only report that touches a disk."""

from pathlib import Path

from autograder.course import Course
from autograder.reports.class_report import class_report
from autograder.reports.html import feedback
from autograder.reports.page_names import page_names
from autograder.results import Results

INDEX = "index.html"


def write(course: Course, results: Results, folder: Path) -> Path:
    """Write one page per submission and ``index.html`` into *folder*; return the index's path.

    Pages of an earlier run that bear other names stay. Raises ``OSError``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for result, name in zip(results.submissions, page_names(results.submissions), strict=True):
        (folder / name).write_text(feedback(course, result), "utf-8")
    index = folder / INDEX
    index.write_text(class_report(course, results), "utf-8")
    return index
