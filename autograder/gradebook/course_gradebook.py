"""Reads and writes the gradebook of a course for the commands, also extensions."""

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace
from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment

from autograder.course import LAB, Course, Stage
from autograder.errors import UsageError
from autograder.exports.final_grade import final_grade
from autograder.exports.grade_table import GradeTable, settle_ungraded
from autograder.gradebook.autograded_notebook import written_texts
from autograder.gradebook.collection import (
    Collection,
    late_stamper,
    people_of_gradebook,
    roster_of_gradebook,
)
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.grade_export import grade_table_of_gradebook, names_of_gradebook
from autograder.gradebook.score_rows import set_late_penalty
from autograder.gradebook.writer import Writer
from autograder.reports.feedback import counted
from autograder.reports.term_report import ClassList
from autograder.results import add
from autograder.submission.collect import LazySubmissions
from autograder.submission.roster import Roster, find_student
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
            raise UsageError(
                f"{stage} has no due date to extend. "
                f'Set it: nbgrader db assignment add {stage} --duedate "2026-11-20 23:00:00 UTC"'
            )
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
        raise UsageError(
            f"{text!r} is not a valid time. Write the new due time, such as '2026-11-22 23:00 "
            "UTC' or '2026-11-22 23:00 +0100', or the additional time, such as 2d or 12h, or none."
        )
    return moment


def _submission(book: Gradebook, assignment: Assignment, student: str) -> Any:
    keys = {"assignment_id": assignment.id, "student_id": student}
    row = book.db.query(SubmittedAssignment).filter_by(**keys).one_or_none()
    if row is None:
        row = SubmittedAssignment(**keys)
        book.db.add(row)
        book.db.flush()
    return row


def _penalty(submission: SubmittedAssignment) -> float:
    return add(row.late_submission_penalty or 0.0 for row in submission.notebooks)


class CourseGradebook:
    """Reads and writes the gradebook of *course*; raises ``UsageError`` if that is impossible."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._setup = NbgraderSetup.of_course(course)

    def roster(self, files: Sequence[Path], id_column: str = "") -> Roster | None:
        """Read the roster from *files* or the gradebook; return None if neither has one.

        The database is not created here, because nothing may be written before the owners of all
        submissions are known.
        """
        if not self._setup.has_gradebook:
            return Roster.read_all(files, id_column=id_column) if files else None
        with self._setup.gradebook() as book:
            if not files:
                roster = roster_of_gradebook(book)
                return roster if roster.people else None
            known = [student.id for student in book.students]
            roster = Roster.read_all(files, known, id_column)
            # A worksheet alone finds the students of the gradebook by their addresses.
            return roster if roster.people else replace(roster, people=people_of_gradebook(book))

    def register(self, roster: Roster | None, students: Iterable[str]) -> None:
        """Copy the names of *students* from *roster*, if there is one, into the gradebook."""
        if roster is None:
            return
        people = {person.student: person for person in roster.people}
        with self._setup.gradebook() as book:
            for one in (people[student] for student in sorted(set(students) & set(people))):
                known = {
                    "first_name": one.first_name,
                    "last_name": one.last_name,
                    "email": one.email,
                    "lms_user_id": one.number,
                }
                filled = {column: value for column, value in known.items() if value}
                book.update_or_create_student(one.student, **filled)

    def stamped(self, submissions: LazySubmissions) -> tuple[LazySubmissions, list[str]]:
        """Return *submissions* with a time for each late one, and remarks."""
        stamp, remarks = late_stamper(self._course, submissions.outlines())
        return submissions.changed_by(stamp), remarks

    def writer(self, submissions: LazySubmissions) -> Writer:
        """Prepare the gradebook for *submissions*."""
        return Writer(self._course, submissions.outlines(), self._setup)

    def collection(self, stage: Stage) -> Collection:
        """Prepare nbgrader's folders for submissions of *stage*."""
        return Collection(self._setup, stage)

    def names(self) -> dict[str, str]:
        """Return the names of the students by id, without students who have no name."""
        with self._setup.gradebook() as book:
            return names_of_gradebook(book)

    def finding(self) -> tuple[bool, str]:
        """Open the gradebook; return whether that worked, and a sentence."""
        if not self._setup.has_gradebook:
            return True, "gradebook: none yet; `autograder grade --gradebook` creates it"
        try:
            with self._setup.gradebook() as book:
                students = counted(len(book.students), "student")
        except UsageError as error:
            return False, str(error)
        return True, f"gradebook {self._setup.shown_gradebook}: {students}"

    def class_list(self) -> ClassList:
        """Return all students of the gradebook with their grades, for the reports."""
        stages = {stage.name: stage for stage in self._course.stages}
        table = settle_ungraded(self.grade_table())
        return ClassList(
            names={row.student: f"{row.first_name} {row.last_name}".strip() for row in table.rows},
            grades={
                (row.student, name): final_grade(
                    score, {one.name for one in stages[name].exercises}, self._course.zone
                )
                for row in table.rows
                for name, score in row.scores.items()
                if name in stages
            },
        )

    def extend(self, student: str, stage: Stage, when: str) -> list[str]:
        """Extend the due date of *student* in *stage* to *when*; return lines on what changed."""
        return grant_extension(self._setup, student, stage.name, when, self._course.zone)

    def answers(self, student: str, stage: str) -> dict[str, str]:
        """Return the texts of the written answers that formgrader shows, by cell."""
        released = written_texts(self._course.stage(stage).assignment / LAB)
        shown = written_texts(self._setup.autograded(student, stage) / LAB)
        return {name: text for name, text in shown.items() if text != released.get(name)}

    def grade_table(self) -> GradeTable:
        """Read every score of the gradebook."""
        with self._setup.gradebook() as book:
            return grade_table_of_gradebook(book, self._course, self._setup)
