"""Grades the submissions of a class in the sandbox, for ``nbgrader autograde``."""

import contextlib
import datetime as dt
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import partial
from glob import glob
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn, get_args

from nbgrader.api import MissingEntry
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum

from autograder.course import Course, Stage, load
from autograder.course_file import Isolation
from autograder.errors import AutograderError, UsageError
from autograder.gradebook.autograded_submission import text_of
from autograder.gradebook.collection import note_unreadable_time
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.score_rows import NOTEBOOK
from autograder.gradebook.writer import Writer
from autograder.reports.feedback import counted
from autograder.sandbox.isolation import choose_isolation
from autograder.submission import Submission, collect_one
from autograder.submission.assemble import STAMP, note_answers
from autograder.submission.files import SubmittedFile, read_regular
from autograder.times import parse_time

LESS_ISOLATION = (
    'To grade with less isolation, write `c.Autograde.isolation = "process"` at the end of '
    'nbgrader_config.py, or `isolation = "process"` below [grading] in course.toml.'
)


class SandboxedAutograde(Autograde):
    """Replaces nbgrader's converter, and grades stages of the course in the sandbox.

    It selects submissions by nbgrader's options, but also accepts a module without a notebook, or a
    renamed or damaged notebook. A failure in one submission does not affect the others.
    """

    isolation = Enum(
        get_args(Isolation),
        default_value=None,
        allow_none=True,
        help="How strictly student code is confined (default: course.toml's, else full).",
    ).tag(config=True)

    def start(self) -> None:
        """Grade the chosen assignment; log an error and raise ``NbGraderException`` if it fails."""
        try:
            course, stage = self._find_stage()
            folders = self._find_folders()
            with contextlib.chdir(self.coursedir.root):  # where nbgrader runs its hooks
                self._grade(course, stage, folders)
        except AutograderError as error:
            self.log.error("%s", error)  # noqa: TRY400  # the message is enough; no traceback
            raise NbGraderException(str(error)) from error

    def _find_stage(self) -> tuple[Course, Stage]:
        course = load(Path(self.coursedir.root))
        name = self.coursedir.assignment_id
        for stage in course.stages:
            if stage.name == name:
                return course, stage
        raise UsageError(
            f"{name!r} is not a stage of course.toml, so no hidden suite can grade it, and "
            "nbgrader itself would run students' code unprotected on this machine. Make it a "
            "stage (`autograder new-stage`), or grade it in a folder with its own configuration "
            f"(docs/course.md). Stages: {', '.join(course.file.stages)}."
        )

    def _find_folders(self) -> dict[str, Path]:
        stage, chosen = self.coursedir.assignment_id, self.coursedir.student_id
        pattern = self._format_source(re.escape(stage), "(?P<student>.*)", escape=True)
        folders = {
            match["student"]: Path(folder)
            for folder in sorted(glob(self._format_source(stage, chosen)))  # noqa: PTH207  # nbgrader's pattern is a string
            if Path(folder).is_dir() and (match := re.fullmatch(pattern, folder))
        }
        if not folders or not fnmatch(NOTEBOOK, self.coursedir.notebook_id):
            self.init_notebooks()  # raises, and suggests similar names
            msg = f"The notebook of a stage is {NOTEBOOK!r}, not {self.coursedir.notebook_id!r}."
            raise UsageError(msg)
        return folders

    def _grade(self, course: Course, stage: Stage, folders: Mapping[str, Path]) -> None:
        from autograder.grading.grade import grade  # noqa: PLC0415  # imports torch

        setup = NbgraderSetup(self.config, self.coursedir)
        due = [student for student in folders if self._is_due(setup, stage, student, course.zone)]
        failures: dict[str, Exception] = {}
        submissions: list[Submission] = []
        for student in due:
            try:
                self._require_student(setup, student)
                found = collect_one(folders[student], student, stage, course.stages)
                found = note_answers(found, [stage])
                submissions.append(note_unreadable_time(found, course.zone))
            except UsageError as error:
                failures[student] = error
        if submissions:
            level = self._choose_isolation(course)
            self.log.info(
                "Grading %s submissions of %s, isolation %s", len(submissions), stage.name, level
            )
            writer = Writer(course, submissions, setup)
            results = grade(course, submissions, isolation=level).submissions
            written = writer.write_each(submissions, results)
            for submission in submissions:
                self.run_pre_convert_hook()
                if (failure := next(written)) is not None:
                    failures[submission.student] = failure
                    continue
                self.set_permissions(stage.name, submission.student)
                self.run_post_convert_hook()
            for remark in writer.remarks():
                self.log.warning("%s", remark)
        if failures:
            self._fail(stage, failures)

    def _choose_isolation(self, course: Course) -> Isolation:
        """Return the isolation from nbgrader's configuration, or from *course* if it sets none."""
        level = choose_isolation(
            self.isolation or course.grading.isolation, course.root, LESS_ISOLATION
        )
        if level != "full":
            self.log.warning(
                "Isolation %s: student code can read and write your files (docs/security.md)", level
            )
        return level

    def _is_due(self, setup: NbgraderSetup, stage: Stage, student: str, zone: dt.tzinfo) -> bool:
        """Whether *student* is not graded yet, or submitted again, or ``--force`` was given."""
        if student in self.coursedir.student_id_exclude.split(","):
            return False
        graded = setup.autograded(student, stage.name)
        if self.force or not graded.exists():
            return True
        new = _read_timestamp(Path(self._format_source(stage.name, student)), zone)
        old = _read_timestamp(graded, zone)
        if new is not None and old is not None and new > old:
            return True
        self.log.info("Skipping %s: graded already, see --force", student)
        return False

    def _require_student(self, setup: NbgraderSetup, student: str) -> None:
        if self.create_student:
            return
        with setup.gradebook() as book:
            try:
                book.find_student(student)
            except MissingEntry:
                raise UsageError(f"No student with ID '{student}' exists in the database") from None

    def _fail(self, stage: Stage, failures: Mapping[str, Exception]) -> NoReturn:
        for student, error in failures.items():
            is_expected = isinstance(error, AutograderError | OSError)
            self.log.error(
                "There was an error processing assignment '%s' for student '%s': %s",
                stage.name,
                student,
                error,
                exc_info=None if is_expected else error,
            )
        count = counted(len(failures), "submission")
        raise NbGraderException(f"Not graded: {count} of {stage.name}.")


class RefuseUnprotected(NbGraderPreprocessor):
    """Refuses to grade: nbgrader runs this step if ``SandboxedAutograde`` is not installed."""

    def preprocess(self, nb: Any, resources: dict[str, Any]) -> NoReturn:
        """Raise ``NbGraderException``."""
        del nb, resources
        raise NbGraderException(
            "nbgrader's own autograder would run students' code unprotected on this machine, so "
            "it is switched off in this course. Run it in the folder of nbgrader_config.py, or "
            "use `autograder grade submitted --stage … --gradebook`."
        )


def _read_timestamp(folder: Path, zone: dt.tzinfo) -> dt.datetime | None:
    read = partial(read_regular, folder / STAMP)
    file = SubmittedFile(path=PurePosixPath(STAMP), label=STAMP, read=read)
    return parse_time(text_of(file), zone)
