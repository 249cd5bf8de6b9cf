"""Every format by name; a new one is a new file and one line here."""

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.canvas import canvas
from autograder.exports.classroom50 import Push, classroom50
from autograder.exports.export_file import Exported
from autograder.exports.grade_table import GradeTable, grade_table
from autograder.exports.gradescope_results import Visibility, gradescope
from autograder.exports.junit import junit
from autograder.exports.moodle import moodle
from autograder.exports.nbgrader_csv import exercises_csv, nbgrader_csv
from autograder.results import Results

_Value = TypeVar("_Value")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to export, and what was asked; each format takes what it needs."""

    grades: GradeTable | None = None  # the gradebook's; else it is made of the record
    results: Results | None = None
    course: Course | None = None
    download: bytes | None = None
    stage: str = ""
    grade_column: str = ""
    visibility: Visibility = "visible"
    push: Push | None = None

    def grade_table(self) -> GradeTable:
        """Return the sheet, with the one stage that was asked for, or all."""
        grades = self.grades
        if grades is None and self.results is not None and self.course is not None:
            grades = grade_table(self.results, self.course)
        grades = _given(grades, "a record or a gradebook")
        stages = tuple(item for item in grades.stages if self.stage in {"", item.name})
        return msgspec.structs.replace(grades, stages=stages)

    def the_record(self) -> Results:
        """Return the record: a gradebook knows no checks."""
        return _given(self.results, "a record, as `autograder grade --json` writes it")

    def the_stage(self) -> str:
        """Return the stage that was asked for, or the only one with grades."""
        graded = [stage.name for stage in self.grade_table().graded]
        wanted = self.stage or (graded[0] if len(graded) == 1 else None)
        return _given(wanted, f"one stage (--stage); there are grades in {', '.join(graded)}")


class Format(msgspec.Struct, frozen=True):
    """How a format is made, what its file is called, and which download it fills in."""

    file: str
    about: str
    make: Callable[[Request], Exported]
    fills: str = ""


FORMATS: Final = {
    "canvas": Format(
        "canvas.csv",
        "Canvas gradebook; fills in an exported one, or makes one",
        lambda ask: canvas(ask.grade_table(), ask.download),
        "the gradebook exported from Canvas (optional)",
    ),
    "moodle": Format(
        "moodle.csv",
        "Moodle's offline grading worksheet, filled in, one stage",
        lambda ask: moodle(
            ask.grade_table(),
            _given(ask.download, "the worksheet downloaded from Moodle"),
            ask.the_stage(),
            ask.grade_column,
        ),
        "the worksheet downloaded from Moodle",
    ),
    "nbgrader": Format(
        "grades.csv",
        "the columns of `nbgrader export`",
        lambda ask: nbgrader_csv(ask.grade_table()),
    ),
    "exercises": Format(
        "exercises.csv",
        "one row a student, one column an exercise",
        lambda ask: exercises_csv(ask.grade_table()),
    ),
    "gradescope": Format(
        "results.json",
        "Gradescope, one submission",
        lambda ask: gradescope(ask.the_record(), ask.visibility),
    ),
    "classroom50": Format(
        "result.json",
        "Classroom 50, one submission",
        lambda ask: classroom50(
            ask.the_record(), _given(ask.push, "what its runner says about the push")
        ),
    ),
    "junit": Format(
        "junit.xml",
        "JUnit XML, a suite each submission",
        lambda ask: junit(ask.the_record()),
    ),
}


def _given(value: _Value | None, what: str) -> _Value:
    if value is None:
        msg = f"This format needs {what}."
        raise UsageError(msg)
    return value
