"""One export from the command line: files in, one file out."""

import datetime as dt
import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from autograder.course import Course
from autograder.errors import UsageError
from autograder.exports.classroom50 import Push, push_of
from autograder.exports.export_file import Exported
from autograder.exports.formats import FORMATS, Request
from autograder.exports.grade_table import GradeTable
from autograder.results import Results, from_json


class Asked(NamedTuple):
    """What the instructor asked for."""

    form: str
    record: Path | None
    fill: Path | None
    stage: str
    grade_column: str


def export(course: Course, asked: Asked, grades: GradeTable | None) -> Exported:
    """Make the file; *sheet* is the gradebook's where that is to be exported.

    Raises ``UsageError`` and ``GraderError``.
    """
    if asked.form not in FORMATS:
        msg = f"There is no format {asked.form!r}. Formats: {', '.join(FORMATS)}."
        raise UsageError(msg)
    results = None if asked.record is None else _record(asked.record)
    request = Request(
        grades=grades,
        results=results,
        course=course,
        download=None if asked.fill is None else _read(asked.fill),
        stage=asked.stage,
        grade_column=asked.grade_column,
        push=_push() if asked.form == "classroom50" else None,
    )
    return FORMATS[asked.form].make(request)


def write(file: Path, content: bytes) -> None:
    """Write *file*; raises ``UsageError`` where that can't be."""
    try:
        file.write_bytes(content)
    except OSError as error:
        msg = f"{file} can't be written: {error.strerror}."
        raise UsageError(msg) from error


def _record(file: Path) -> Results:
    try:
        return from_json(_read(file))
    except msgspec.MsgspecError as error:
        msg = f"{file} is no record of `autograder grade --json`: {error}."
        raise UsageError(msg) from error


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        msg = f"{file} can't be read: {error.strerror}."
        raise UsageError(msg) from error


def _push() -> Push:
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return push_of(os.environ, now)
