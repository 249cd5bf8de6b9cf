"""Lists all export formats by name; a new format needs a new file and a line here."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.canvas import canvas
from autograder.exports.csv_files import exercises_csv, nbgrader_csv
from autograder.exports.export_file import ExportFile
from autograder.exports.grade_table import (
    GradeTable,
    grade_table,
    scale,
    settle_ungraded,
    share_scores,
)
from autograder.exports.gradescope_results import gradescope
from autograder.exports.moodle import moodle
from autograder.results import Results
from autograder.stored_results import read_record
from autograder.submission.roster import Groups

_Value = TypeVar("_Value")


class ExportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The instructor's request for an export; each format uses the fields that it needs.

    *record* is a record and *download* a file from an LMS. *grades* is the gradebook's table;
    without it, the table is made from the record. If nothing of a submission could be graded, its
    cell is empty, or 0 with *ungraded_is_zero*. With *groups*, one submission counts for all
    members of a group. *scale* converts scores to the points of the assignment in the download.
    """

    course: Course
    record: Path | None = None
    download: Path | None = None
    grades: GradeTable | None = None
    stages: tuple[str, ...] = ()  # all, if empty
    grade_column: str = ""
    ungraded_is_zero: bool = False
    groups: Groups | None = None
    scale: bool = False

    def grade_table(self) -> GradeTable:
        """Return the grades of the requested stage, or of all stages."""
        grades = self.grades
        if grades is None and self.record is not None:
            grades = grade_table(self.results(), self.course)
        grades = _required(grades, "a record or a gradebook")
        wanted = self.stages
        stages = tuple(item for item in grades.stages if not wanted or item.name in wanted)
        others = tuple(f"{item.name}: " for item in grades.stages if item not in stages)
        remarks = tuple(text for text in grades.remarks if not text.startswith(others))
        chosen = msgspec.structs.replace(grades, stages=stages, remarks=remarks)
        points = {
            self.course.stage(name).name: most for name, most in self.course.file.points.items()
        }
        chosen = scale(chosen, points) if points else chosen
        shared = share_scores(chosen, self.groups) if self.groups else chosen
        return settle_ungraded(shared, zero=self.ungraded_is_zero)

    def results(self) -> Results:
        """Return the record, for formats that need checks, which a gradebook lacks."""
        return read_record(
            _required(self.record, "a record, as `autograder grade --json` writes it")
        )

    def lms_download(self) -> bytes | None:
        """Return the content of the file that was downloaded from the LMS."""
        try:
            return self.download.read_bytes() if self.download else None
        except OSError as error:
            raise UsageError(f"{self.download} can't be read: {error.strerror}.") from error


_TABLE: Final = frozenset({"--gradebook", "--stage", "--groups", "--ungraded"})


class ExportFormat(msgspec.Struct, frozen=True):
    """The function, the file name and the purpose of a format, and the options that it *uses*."""

    file: str
    about: str
    make: Callable[[ExportRequest], ExportFile]
    uses: frozenset[str] = _TABLE


def find_format(name: str) -> ExportFormat:
    """Return the format called *name*; raise ``UsageError`` with all names if it is unknown."""
    if name not in FORMATS:
        raise UsageError(f"There is no format {name!r}. Formats: {', '.join(FORMATS)}.")
    return FORMATS[name]


def _moodle(request: ExportRequest) -> ExportFile:
    grades = request.grade_table()
    worksheet = _required(request.lms_download(), "the worksheet downloaded from Moodle (--fill)")
    graded = [stage.name for stage in grades.graded]
    found = request.stages or graded
    stage = found[0] if len(found) == 1 else None
    known = f"one stage (--stage); there are grades in {', '.join(graded)}"
    return moodle(
        grades,
        worksheet,
        _required(stage, known),
        request.grade_column,
        to_points=request.scale,
    )


FORMATS: Final = {
    "canvas": ExportFormat(
        "canvas.csv",
        "Canvas gradebook; fills in an exported one, or makes one",
        lambda request: canvas(
            request.grade_table(), request.lms_download(), to_points=request.scale
        ),
        _TABLE | {"--fill", "--scale"},
    ),
    "moodle": ExportFormat(
        "moodle.csv",
        "Moodle's offline grading worksheet, filled in, one stage",
        _moodle,
        _TABLE | {"--fill", "--scale", "--grade-column"},
    ),
    "nbgrader": ExportFormat(
        "grades.csv",
        "the columns of `nbgrader export`",
        lambda request: nbgrader_csv(request.grade_table()),
    ),
    "exercises": ExportFormat(
        "exercises.csv",
        "one row per student, one column per exercise",
        lambda request: exercises_csv(request.grade_table()),
    ),
    "gradescope": ExportFormat(
        "results.json",
        "Gradescope, one submission",
        lambda request: gradescope(request.results()),
        frozenset(),
    ),
}


def _required(value: _Value | None, what: str) -> _Value:
    if value is None:
        raise UsageError(f"This format needs {what}.")
    return value
