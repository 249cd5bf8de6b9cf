"""Builds the files for students in ``nbgrader generate_assignment``, as ``autograder release``."""

from pathlib import Path

from nbgrader.api import MissingEntry
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException

from autograder.authoring import release
from autograder.course import Course, Stage, load
from autograder.errors import AutograderError, UsageError
from autograder.gradebook.autograded_submission import read_master
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.registration import register


class BuiltAssignment(GenerateAssignment):
    """Replaces nbgrader's converter: builds a stage of the course, and registers its lab.

    nbgrader would remove the folder of the stage first, with records that take minutes to compute
    and with edited modules. Folders in ``source/`` that are not a stage are left to nbgrader.
    """

    def start(self) -> None:
        """Build the chosen stage; log an error and raise ``NbGraderException`` if it fails."""
        try:
            course = load(Path(self.coursedir.root))
            names = {stage.name: stage for stage in course.every_stage if stage.lab.is_file()}
            stage = names.get(self.coursedir.assignment_id)
            if stage is None:
                super().start()
            elif stage.assignment.exists() and not self.force:
                self.log.info("Skipping existing assignment: %s", stage.assignment)
            else:
                self._build(course, stage)
        except AutograderError as error:
            self.log.error("%s", error)  # noqa: TRY400  # the message is enough; no traceback
            raise NbGraderException(str(error)) from error

    def _build(self, course: Course, stage: Stage) -> None:
        """Write the files for students, and register the lab in the gradebook."""
        setup = NbgraderSetup(self.config, self.coursedir)
        if not (self.create_assignment or self.no_database):
            self._require_assignment(setup, stage)
        for path in release.build(course, [stage], self.log.info):
            self.log.info("Built %s", path)
        for problem in release.kept(course, [stage]):
            raise UsageError(problem)
        if not self.no_database:
            with setup.gradebook() as book:
                register(book, stage.name, read_master(stage))
        self.set_permissions(stage.name, ".")

    def _require_assignment(self, setup: NbgraderSetup, stage: Stage) -> None:
        """Raise ``UsageError`` if the gradebook does not have the assignment."""
        with setup.gradebook() as book:
            try:
                book.find_assignment(stage.name)
            except MissingEntry:
                msg = f"No assignment called '{stage.name}' exists in the database"
                raise UsageError(msg) from None
