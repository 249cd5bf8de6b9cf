"""Configures nbgrader so that its commands and buttons grade and build this course."""

import functools
from pathlib import Path
from typing import Any

import nbgrader
from nbgrader.api import MissingEntry
from nbgrader.apps import api, autogradeapp, generateassignmentapp
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException

from autograder.authoring import release
from autograder.course import SHARED, Course, Stage, load
from autograder.errors import AutograderError, UsageError
from autograder.gradebook.autograded_submission import read_master
from autograder.gradebook.connection import NbgraderSetup, set_options
from autograder.gradebook.converter import SandboxedAutograde
from autograder.gradebook.score_rows import register


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
        with setup.gradebook() as book:
            try:
                book.find_assignment(stage.name)
            except MissingEntry:
                msg = f"No assignment called '{stage.name}' exists in the database"
                raise UsageError(msg) from None


# The converters of nbgrader that the kit replaces: the modules that import each by its name, the
# kit's own converter, and the command to use if nbgrader has no such name.
_CONVERTERS = {
    "Autograde": (
        (autogradeapp, api),
        SandboxedAutograde,
        "`autograder grade submitted --stage … --gradebook`",
    ),
    "GenerateAssignment": (
        (generateassignmentapp, api),
        BuiltAssignment,
        "`autograder release`",
    ),
}


def configure(config: Any, file: str | Path) -> None:
    """Configure nbgrader for the course whose ``nbgrader_config.py`` is *file*.

    Raises ``CourseError`` and ``UsageError``. nbgrader would only log these errors and continue
    with its default settings, so ``nbgrader_config.py`` itself ends the command.
    """
    set_options(config, file)
    for name in _CONVERTERS:
        _install_converter(name)
    _list_stages_only()


def _install_converter(name: str) -> None:
    """Make nbgrader's commands and formgrader's buttons use the kit's converter for *name*.

    nbgrader 0.9.6 has no option, entry point or plugin for the class of a converter. Its commands
    and ``NbGraderAPI`` create an object of a class that their modules import by *name*, so this
    function replaces the name in both modules. Hooks are not enough, because nbgrader ignores their
    exceptions. ``exporter_class`` is not enough either: it takes effect only after nbgrader has
    dropped the submissions without a notebook, and removed the folder of an assignment.
    """
    modules, converter, command = _CONVERTERS[name]
    for module in modules:
        if not hasattr(module, name):
            raise UsageError(
                f"nbgrader {nbgrader.__version__} no longer has {module.__name__}.{name}, which "
                f"the kit replaces. Use {command}, or nbgrader 0.9.6."
            )
        setattr(module, name, converter)


def _list_stages_only() -> None:
    """Leave the folder that all stages share out of formgrader's list of assignments.

    nbgrader takes each folder in ``source`` for an assignment, and has no option for this.
    """
    listed = api.NbGraderAPI.get_source_assignments

    @functools.wraps(listed)
    def stages(self: Any) -> set[str]:
        return set(listed(self)) - {SHARED}

    api.NbGraderAPI.get_source_assignments = stages
