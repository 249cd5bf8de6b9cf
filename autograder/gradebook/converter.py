"""``nbgrader autograde`` on whatever was handed in, graded in the sandbox, all at once."""

import shutil
from fnmatch import fnmatch
from glob import glob
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde as NbgraderAutograde
from nbgrader.converters.base import NbGraderException

from autograder.course import LAB, Course, Stage, load
from autograder.errors import AutograderError, UsageError
from autograder.gradebook.connection import register
from autograder.gradebook.score_rows import NOTEBOOK, moment
from autograder.gradebook.work import Work, works
from autograder.submission.assemble import STAMP


class Autograde(NbgraderAutograde):
    """nbgrader's converter, for stages of the course.

    Chooses submissions by nbgrader's options, but takes a module alone, a renamed or a damaged
    notebook too; one of them never ends the run for the others.
    """

    _works: dict[str, Work]
    book: Gradebook

    def start(self) -> None:
        """Grade the assignment that was named; raises ``NbGraderException`` with what to do."""
        try:
            self._course, self._stage = self._found()
            super().start()
        except AutograderError as error:
            self.log.error("%s", error)  # noqa: TRY400  # a sentence for the instructor
            raise NbGraderException(str(error)) from error

    def work(self, student: str) -> Work:
        """Return what *student* handed in and earned."""
        return self._works[student]

    def init_notebooks(self) -> None:
        """List every folder that was handed in, whatever lies in it."""
        pattern = self._format_source(self.coursedir.assignment_id, self.coursedir.student_id)
        folders = [folder for folder in sorted(glob(pattern)) if Path(folder).is_dir()]  # noqa: PTH207  # nbgrader's pattern is a string
        if not fnmatch(NOTEBOOK, self.coursedir.notebook_id):
            folders = []
        if not folders:
            super().init_notebooks()  # says what is missing, and what was meant perhaps
        self.assignments = {folder: [f"{folder}/{LAB}"] for folder in folders}

    def convert_notebooks(self) -> None:
        """Grade all that is due, then let nbgrader go through it one by one."""
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            due = {Path(name).parent.name: Path(name) for name in self.assignments}
            due = {student: path for student, path in due.items() if self._is_due(student)}
            self.log.info("Grading %s submissions of %s", len(due), self._stage.name)
            self._works = works(self._course, self._stage, due)
            if self._works:
                master = next(iter(self._works.values())).master
                register(book, self._stage.name, master)
            self.book = book  # for all students: opening one costs more than writing a score
            super().convert_notebooks()

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Make room for what is due."""
        del assignment_id
        if student_id not in self._works:
            self.log.info("Skipping %s: graded already, see --force", student_id)
            return False
        shutil.rmtree(self._graded(student_id), ignore_errors=True)
        return True

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Set out the module beside the notebook. No other file is copied, and no link followed."""
        del assignment_id
        if not self.create_student:
            self._require(student_id)
        submission = self._works[student_id].submission
        folder = self._graded(student_id)
        folder.mkdir(parents=True)
        if submission.module is not None:
            (folder / self._stage.stub.name).write_bytes(submission.module)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Sanitize and grade; our own steps read the file, so it may be missing or damaged."""
        resources: Any = self.init_single_notebook_resources(notebook_filename)
        notebook: Any = nbformat.v4.new_notebook()
        for self._sanitizing in (True, False):
            self._init_preprocessors()
            output, resources = self.exporter.from_notebook_node(notebook, resources)
            notebook = nbformat.reads(output, as_version=4)
        self._sanitizing = True  # where nbgrader looks for the next submission
        self.write_single_notebook(output, resources)
        if stamp := resources["autograder.handed"].stamp:
            (self._graded(resources["nbgrader"]["student"]) / STAMP).write_text(stamp, "utf-8")

    def _found(self) -> tuple[Course, Stage]:
        course = load(Path(self.coursedir.root))
        name = self.coursedir.assignment_id
        for stage in course.stages:
            if stage.name == name:
                return course, stage
        msg = (
            f"{name!r} is no stage of course.toml, so no hidden suite can grade it; nbgrader "
            "itself would run students' code unprotected on this machine. "
            f"Stages: {', '.join(course.file.stages)}."
        )
        raise UsageError(msg)

    def _graded(self, student: str) -> Path:
        return Path(self._format_place(self.coursedir.autograded_directory, student))

    def _format_place(self, step: str, student: str) -> str:
        place: str = self.coursedir.format_path(step, student, self._stage.name)
        return place

    def _is_due(self, student: str) -> bool:
        """Apply nbgrader's rule: not graded yet, --force, or handed in again since."""
        if student in self.coursedir.student_id_exclude.split(","):
            return False
        graded = self._graded(student)
        if self.force or not graded.exists():
            return True
        handed_in = Path(self._format_place(self.coursedir.submitted_directory, student))
        fresh, known = _stamp(handed_in), _stamp(graded)
        return fresh is not None and known is not None and fresh > known

    def _require(self, student: str) -> None:
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            try:
                book.find_student(student)
            except MissingEntry:
                msg = f"No student with ID '{student}' exists in the database"
                self.log.error(msg)  # noqa: TRY400  # nbgrader's own words
                raise NbGraderException(msg) from None


def _stamp(folder: Path) -> Any:
    try:
        return moment((folder / STAMP).read_text("utf-8", "replace").strip())
    except OSError:
        return None
