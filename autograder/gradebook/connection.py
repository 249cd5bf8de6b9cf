"""nbgrader as a course has configured it, and the connection to its database."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import sqlalchemy
from nbgrader.api import Gradebook
from nbgrader.apps import NbGrader
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Application, Config

from autograder.course import Course
from autograder.errors import UsageError
from autograder.gradebook.options import set_options

CONFIG_FILE = "nbgrader_config.py"


class NbgraderSetup:
    """nbgrader as a course has configured it: its folders, its database, its late penalties.

    Raises ``UsageError`` where its plugin for late penalties can't be used.
    """

    def __init__(self, config: Config, coursedir: CourseDirectory) -> None:
        self.config = config
        self.coursedir = coursedir
        with _config_errors(Path(coursedir.root) / CONFIG_FILE):
            self.late = AssignLatePenalties(config=config)
            self.late.init_plugin()

    @classmethod
    def of_course(cls, course: Course) -> Self:
        """Read the files that configure nbgrader for *course*; raises ``UsageError``."""
        app = NbGrader()
        app.log_level = logging.ERROR  # nbgrader's messages about itself are not for graders
        app.load_cwd_config = False
        app.raise_config_file_errors = True
        file = course.root / CONFIG_FILE
        set_options(app.config, file)  # they hold for a course without the file, too
        with _config_errors(file):
            app.load_config_file()
            Application.load_config_file(app, CONFIG_FILE, path=str(course.root))
        return cls(app.config, CourseDirectory(config=app.config))

    def autograded(self, student: str, stage: str) -> Path:
        """Return the folder where formgrader looks for a graded submission."""
        step = self.coursedir.autograded_directory
        return Path(self.coursedir.format_path(step, student, stage))

    @contextlib.contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        """Open the database; what is wrong with it becomes a ``UsageError``."""
        url = self.coursedir.db_url
        try:
            with Gradebook(url, self.coursedir.course_id) as book:
                yield book
        except sqlalchemy.exc.OperationalError as error:
            msg = (
                f"The gradebook {url} can't be used ({error.orig}). "
                "Is it locked by another program, or from an older nbgrader? "
                "For the latter, back it up and run `nbgrader db upgrade`."
            )
            raise UsageError(msg) from error
        except sqlalchemy.exc.DatabaseError as error:
            msg = f"The gradebook {url} can't be read: {error.orig}."
            raise UsageError(msg) from error


@contextlib.contextmanager
def _config_errors(file: Path) -> Iterator[None]:
    """Turn whatever *file* raises into a ``UsageError``; it is code of the instructor's own."""
    try:
        yield
    except (Exception, SystemExit) as error:
        msg = f"{file} can't be used: {type(error).__name__}: {error}"
        raise UsageError(msg) from error
