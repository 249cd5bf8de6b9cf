"""Reads and writes the gradebook of a course for the commands."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from autograder.course import LAB, Course, Stage
from autograder.errors import UsageError
from autograder.exports.final_grade import final_grade
from autograder.exports.grade_table import GradeTable, settle_ungraded
from autograder.gradebook.autograded_notebook import written_texts
from autograder.gradebook.collection import (
    Collection,
    late_stamper,
    people_of_gradebook,
    register_people,
    roster_of_gradebook,
)
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.extension import grant_extension
from autograder.gradebook.grade_export import grade_table_of_gradebook, names_of_gradebook
from autograder.gradebook.writer import Writer
from autograder.reports.feedback import counted
from autograder.reports.term_report import ClassList
from autograder.submission.collect import LazySubmissions
from autograder.submission.roster import Roster


class CourseGradebook:
    """Reads and writes the nbgrader gradebook of *course*.

    Raises ``UsageError`` if the gradebook can't be used.
    """

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
        if roster is not None:
            register_people(self._course, roster, students)

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
            return grade_table_of_gradebook(book, self._course, self._setup.coursedir)
