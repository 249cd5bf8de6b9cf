"""Stores one student's extension for a stage in nbgrader's database."""

import datetime as dt
import re
from typing import Any, Final

from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment

from autograder.errors import UsageError
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.grade_export import names_of_gradebook
from autograder.gradebook.score_rows import set_late_penalty
from autograder.results import add
from autograder.submission.roster import find_student
from autograder.times import parse_time, shown_duration, shown_time

NONE: Final = "none"
_DURATION = re.compile(r"\+?(?P<number>\d{1,4}) ?(?P<unit>d|h)(?:ays?|ours?)?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def grant_extension(
    setup: NbgraderSetup, student: str, stage: str, when: str, zone: dt.tzinfo = dt.UTC
) -> list[str]:
    """Extend the due date of *student*, an id or a name, for *stage*; return lines on what changed.

    Times are read and printed in *zone*.

    *when* is described in ``parse_extension``. Raises ``UsageError`` if the student is unknown, the
    stage has no due date, or *when* is not valid.
    """
    with setup.gradebook() as book:
        assignment = book.db.query(Assignment).filter_by(name=stage).one_or_none()
        if assignment is None or assignment.duedate is None:
            msg = (
                f"{stage} has no due date to extend. "
                f'Set it: nbgrader db assignment add {stage} --duedate "2026-11-20 23:00:00 UTC"'
            )
            raise UsageError(msg)
        students = [item.id for item in book.db.query(Student)]
        person = find_student(student, students, names_of_gradebook(book))
        extension = parse_extension(when, assignment.duedate, zone)
        submission = _submission(book, assignment, person)
        before = _penalty(submission)
        submission.extension = extension
        for row in submission.notebooks:
            set_late_penalty(row, setup.late)
        due, after = submission.duedate, _penalty(submission)
        if extension is None and not submission.notebooks:
            book.db.delete(submission)  # the row was there for the extension only
        book.db.commit()
    later = f", {shown_duration(extension)} after the class" if extension else ", as for the class"
    lines = [f"{person}, {stage}: due {shown_time(due, zone)}{later}."]
    points = f"{before:g} point{'s' * (before != 1)}"
    changed = f"The late penalty changed from {points} to {after:g}."
    return [*lines, changed] if before != after else lines


def parse_extension(when: str, due: dt.datetime, zone: dt.tzinfo = dt.UTC) -> dt.timedelta | None:
    """Return the time from *due*, in UTC, to *when*, or None if *when* is "none".

    *when* is a time, a day or a duration. A day ends at the time of day of *due* in *zone*. Raises
    ``UsageError`` if *when* has another form or is not after *due*.
    """
    text = when.strip().lower()
    if text == NONE:
        return None
    duration = _DURATION.fullmatch(text)
    if duration is not None:
        count = int(duration["number"])
        found = dt.timedelta(days=count) if duration["unit"] == "d" else dt.timedelta(hours=count)
    else:
        found = _time(when.strip(), due, zone) - due
    if found <= dt.timedelta(0):
        msg = f"{when!r} is not after the due date of the class, {shown_time(due, zone)}."
        raise UsageError(msg)
    return found


def _time(text: str, due: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    if _DAY.fullmatch(text):
        text = f"{text} {due.replace(tzinfo=dt.UTC).astimezone(zone):%H:%M:%S}"
    moment = parse_time(text, zone)
    if moment is None:
        msg = (
            f"{text!r} is not a valid time. Write the new due time, such as '2026-11-22 23:00 "
            "UTC' or '2026-11-22 23:00 +0100', or the additional time, such as 2d or 12h, or none."
        )
        raise UsageError(msg)
    return moment


def _submission(book: Gradebook, assignment: Assignment, student: str) -> Any:
    """Return the student's row, which is added if nothing has been submitted yet."""
    keys = {"assignment_id": assignment.id, "student_id": student}
    row = book.db.query(SubmittedAssignment).filter_by(**keys).one_or_none()
    if row is None:
        row = SubmittedAssignment(**keys)
        book.db.add(row)
        book.db.flush()
    return row


def _penalty(submission: SubmittedAssignment) -> float:
    return add(row.late_submission_penalty or 0.0 for row in submission.notebooks)
