"""Renders HTML that needs no network: the pages of a run, and the card of an exercise.

The class report runs one script of the kit, which its policy allows by its hash. The script sorts
and filters tables, which can be read without it, too. No other page runs a script.

A card is a fragment for a notebook. It has no style sheet and inherits its colors, because many
programs show notebooks, some with dark themes. It stays readable if a viewer removes its style
attributes. Templates escape all values, and an undefined name in a template is an error.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import UsageError
from autograder.reports.class_report import (
    LEAST_EACH,
    LEAST_SUBMISSIONS,
    NO_GUESSES,
    OPEN_MISTAKES,
    Guesses,
    StageReport,
    build_stage_reports,
)
from autograder.reports.feedback import LEAD, ExerciseFeedback, FinalGrade, percent
from autograder.reports.feedback_builder import build_feedback
from autograder.reports.page_names import page_names
from autograder.reports.similar import COPIES, OPEN_PAIRS, similar_pairs
from autograder.reports.term_report import ClassList, build_term_report
from autograder.results import Results, SubmissionResult
from autograder.stored_results import scores_of

GENERATOR: Final = '<meta name="generator" content="autograder">'
TERM_PAGE: Final = "term.html"
NOBODY: Final = ClassList()
_HEAD_BYTES: Final = 1000  # of a page, in which the generator is named


def feedback_page(
    course: Course,
    result: SubmissionResult,
    *,
    name: str = "",
    grade: FinalGrade | None = None,
) -> str:
    """Return the page about *result*; *name* replaces the id, *grade* is the gradebook's."""
    return render("feedback.html", feedback=build_feedback(course, result, name=name, grade=grade))


def class_page(course: Course, results: Results, stages: Sequence[StageReport]) -> str:
    """Return the page about all results, with links to the students' pages."""
    return render(
        "class_report.html",
        course=course.file.title,
        results=results,
        stages=stages,
        least_submissions=LEAST_SUBMISSIONS,
        least_each=LEAST_EACH,
        open_mistakes=OPEN_MISTAKES,
        copies=COPIES,
        open_pairs=OPEN_PAIRS,
        **_script_and_hash(),
    )


def term_page(course: Course, stages: Sequence[StageReport], people: ClassList) -> str:
    """Return the page with a row for each student over all *stages*."""
    report = build_term_report(stages, people)
    values = _script_and_hash()
    return render("term_report.html", course=course.file.title, term=report, **values)


def _script_and_hash() -> dict[str, str]:
    file = resources.files("autograder.reports") / "templates" / "class_report.js"
    script = Markup(file.read_text("utf-8"))  # noqa: S704  # a file of the kit
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"script": script, "script_hash": f"sha256-{digest}"}


def write_pages(
    course: Course,
    results: Results,
    folder: Path,
    people: ClassList = NOBODY,
    guesses: Guesses = NO_GUESSES,
) -> Path:
    """Write a page for each submission and two for the class into *folder*.

    Return the path of the class report, which shows the *guesses*, and the pairs that
    `autograder copies` has found. Pages of an earlier report about
    other results are removed.
    Raises ``UsageError`` if a file can't be written.
    """
    index = folder / "index.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pages = page_names(scores_of(results))
        for file, result in zip(pages, results.submissions, strict=True):
            grade = people.grades.get((result.student, result.stage))
            name = people.names.get(result.student, "")
            page = feedback_page(course, result, name=name, grade=grade)
            (folder / file).write_text(page, "utf-8")
        stages = [
            replace(stage, pairs=similar_pairs(folder / COPIES / stage.name))
            for stage in build_stage_reports(course, results, people.names, guesses)
        ]
        index.write_text(class_page(course, results, stages), "utf-8")
        (folder / TERM_PAGE).write_text(term_page(course, stages, people), "utf-8")
        for name in other_pages(folder, pages):
            (folder / name).unlink()
    except OSError as error:
        where = error.filename or folder
        raise UsageError(f"{where} can't be written: {error.strerror}.") from None
    return index


def other_pages(folder: Path, pages: Iterable[str]) -> list[str]:
    """Return the names of the pages in *folder* that the kit wrote and that are not in *pages*."""
    known = {*pages, "index.html", TERM_PAGE}
    files = sorted(folder.glob("*.html")) if folder.is_dir() else []
    return [file.name for file in files if file.name not in known and _is_own_page(file)]


def _is_own_page(file: Path) -> bool:
    with file.open("rb") as stream:
        return GENERATOR.encode() in stream.read(_HEAD_BYTES)


def exercise_card(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Return *exercise* as a card, with *points* if they count, and with *note* at the end."""
    return render("exercise_card.html", exercise=exercise, points=points, note=note)


def render(template: str, **values: object) -> str:
    """Fill a template in ``templates/`` with *values*."""
    return _environment().get_template(template).render(values)


def breakable(name: str) -> Markup:
    """Return *name* with possible line breaks after its underscores."""
    return Markup("_<wbr>").join(name.split("_"))  # `join` escapes the parts


_GENERATOR: Final = Markup(GENERATOR)  # noqa: S704  # a text of the kit
_CODE: Final = re.compile(r"`([^`\n]+)`")


def code(text: str) -> Markup:
    """Return *text* with each part between two backticks as code, and everything escaped."""
    parts = _CODE.split(text)
    marked = (Markup("<code>{}</code>").format(one) if at % 2 else escape(one)
              for at, one in enumerate(parts))  # fmt: skip
    return Markup("").join(marked)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autograder.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"GENERATOR": _GENERATOR, "percent": percent, "LEAD": LEAD}
    environment.filters["g"] = "{:g}".format  # 7.5, not 7.50, and 10, not 10.0
    environment.filters["breakable"] = breakable
    environment.filters["code"] = code
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment
