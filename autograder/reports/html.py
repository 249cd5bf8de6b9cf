"""Renders HTML that needs no network: the pages of a run, the card of an exercise.

The class report runs one script, our own, which its policy allows by its hash; the script sorts and
filters tables that can also be read without it. No other page runs a script.

A card is a fragment for a notebook. It has no style sheet and inherits its colours, because many
programs show notebooks, some in dark themes; it stays readable if a viewer removes its style
attributes. Templates escape everything, and an undefined name in one is an error.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from autograder.course import Course
from autograder.errors import UsageError
from autograder.reports.check_statistics import LEAST_EACH, LEAST_SUBMISSIONS
from autograder.reports.class_report import OPEN_MISTAKES, build_stage_reports
from autograder.reports.feedback import ExerciseFeedback, FinalGrade, percent
from autograder.reports.feedback_builder import build_feedback
from autograder.reports.page_names import PageNames
from autograder.results import Results, SubmissionResult
from autograder.stored_results import scores_of

NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})


def feedback_page(
    course: Course,
    result: SubmissionResult,
    *,
    name: str = "",
    grade: FinalGrade | None = None,
) -> str:
    """Return the page about *result*; the first problem comes first.

    *name* is the student's name, shown instead of the id; *grade* comes from the gradebook.
    """
    return render("feedback.html", feedback=build_feedback(course, result, name=name, grade=grade))


def class_page(course: Course, results: Results, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the page about the whole run; it links to the pages named by ``PageNames``.

    *names* are the students' names by their ids, as far as they are known.
    """
    return "".join(class_page_parts(course, results, names))


def class_page_parts(
    course: Course, results: Results, names: Mapping[str, str] = NO_NAMES
) -> Iterator[str]:
    """Yield the page of ``class_page`` in parts, of which none is much longer than a row."""
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        _environment()
        .get_template("class_report.html")
        .generate(
            course=course.file.title,
            results=results,
            stages=list(build_stage_reports(course, results, names)),
            least_submissions=LEAST_SUBMISSIONS,
            least_each=LEAST_EACH,
            open_mistakes=OPEN_MISTAKES,
            script=script,
            script_hash=f"sha256-{digest}",
        )
    )


def write_pages(
    course: Course, results: Results, folder: Path, names: Mapping[str, str] = NO_NAMES
) -> Path:
    """Write one page per submission and ``index.html`` into *folder*; return the index's path.

    *names* as in ``class_page``. Pages of an earlier run that have other names stay. Raises
    ``UsageError``.
    """
    index = folder / "index.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pages = PageNames(scores_of(results))
        for number, result in enumerate(results.submissions):
            page = feedback_page(course, result, name=names.get(result.student, ""))
            (folder / pages.of(number, result)).write_text(page, "utf-8")
        with index.open("w", encoding="utf-8") as stream:
            stream.writelines(class_page_parts(course, results, names))
    except OSError as error:
        msg = f"The report can't be written: {error}."
        raise UsageError(msg) from None
    return index


def exercise_card(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Lay out *exercise* as a card; with *points* where they count, and *note* below it."""
    return render("exercise_card.html", exercise=exercise, points=points, note=note)


def exercise_card_text(exercise: ExerciseFeedback, *, points: bool, note: str = "") -> str:
    """Return the card in plain lines, for terminals, logs and viewers without HTML."""
    first = exercise.first
    mark = first.mark if first else "✓"
    carried = f", {exercise.carried}" if exercise.carried else ""
    earned = f" {exercise.score:g} of {exercise.max_score:g} points{carried}." if points else ""
    lines = [f"{mark} {exercise.name}: {exercise.state}.{earned}"]
    if first and not exercise.unwritten:
        lines += [first.title, first.message] if first.message else [first.title]
        if first.diagnosis:
            mistake = f"It looks like this: {first.mistake}{first.diagnosis.beyond_headline}"
            lines += [mistake, first.diagnosis.hint]
        if first.printed:
            lines += ["Printed by your code:", indent(first.printed, "  ")]
    if exercise.printed:
        lines += ["Printed by your code:", indent(exercise.printed, "  ")]
    lines += [check.message for check in exercise.passed if check.message]
    return "\n".join([*lines, note] if note else lines)


def render(template: str, **values: object) -> str:
    """Fill *template* of ``templates/``."""
    return _environment().get_template(template).render(values)


def breakable(name: str) -> Markup:
    """Let a browser break a long name after its underscores."""
    return Markup("_<wbr>").join(name.split("_"))  # join escapes what it joins


def _script() -> Markup:
    """Return the script of the class report, which is ours and so needs no escaping."""
    file = resources.files("autograder.reports") / "templates" / "class_report.js"
    return Markup(file.read_text("utf-8"))  # noqa: S704  # it contains no text of anybody else


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autograder.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["percent"] = percent
    environment.filters["g"] = "{:g}".format  # 7.5, not 7.50, and 10, not 10.0
    environment.filters["breakable"] = breakable
    return environment
