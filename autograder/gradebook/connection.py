"""Derives nbgrader's options from ``course.toml``, and finds its folders and database."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, quote_plus

import sqlalchemy
from nbgrader.api import Gradebook
from nbgrader.apps import NbGrader
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Application, Config

from autograder.course import ASSIGNMENTS, Course, load
from autograder.errors import UsageError, library_error

CONFIG_FILE = "nbgrader_config.py"

# The only step of nbgrader's own converter. ``SandboxedAutograde`` runs no steps.
_AUTOGRADE = ["autograder.gradebook.converter.RefuseUnprotected"]
_FEEDBACK = [
    "autograder.gradebook.feedback_cells.FeedbackGrades",
    # Otherwise a student who submits late could read the mark scheme in a friend's copy.
    "autograder.gradebook.feedback_cells.RemoveMarkScheme",
    "autograder.gradebook.feedback_cells.ShortenFeedback",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]


class NbgraderSetup:
    """A course's nbgrader configuration; raises ``UsageError`` for an unusable late plugin."""

    def __init__(self, config: Config, coursedir: CourseDirectory) -> None:
        self.config = config
        self.coursedir = coursedir
        with _config_errors(Path(coursedir.root) / CONFIG_FILE):
            self.late = AssignLatePenalties(config=config)
            self.late.init_plugin()

    @classmethod
    def of_course(cls, course: Course) -> Self:
        """Read nbgrader's configuration files for *course*; raise ``UsageError`` if one fails."""
        app = NbGrader()
        app.log_level = logging.ERROR  # hide nbgrader's messages about itself
        app.load_cwd_config = False
        app.raise_config_file_errors = True
        file = course.root / CONFIG_FILE
        set_options(app.config, file)  # they also apply if the course does not have the file
        with _config_errors(file):
            app.load_config_file()
            Application.load_config_file(app, CONFIG_FILE, path=str(course.root))
        return cls(app.config, CourseDirectory(config=app.config))

    def autograded(self, student: str, stage: str) -> Path:
        """Return the folder where formgrader looks for a graded submission."""
        step = self.coursedir.autograded_directory
        return Path(self.coursedir.format_path(step, student, stage))

    @property
    def has_gradebook(self) -> bool:
        """Whether the database exists; to open it would create the file."""
        url = _url(self.coursedir.db_url)
        is_file = url.get_backend_name() == "sqlite" and url.database
        return not is_file or Path(str(url.database)).exists()

    @property
    def shown_gradebook(self) -> str:
        """The database as messages name it, never with a password."""
        return _shown(_url(self.coursedir.db_url))

    @contextlib.contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        """Open the database; turn its errors into ``UsageError``."""
        address = self.coursedir.db_url
        url = _url(address)
        try:
            with Gradebook(address, self.coursedir.course_id) as book:
                yield book
        except sqlalchemy.exc.OperationalError as error:
            advice = _FILE_ADVICE if url.get_backend_name() == "sqlite" else _SERVER_ADVICE
            reason = _without_password(str(error.orig), url)
            msg = f"The gradebook {_shown(url)} can't be used ({reason}). {advice}"
            raise UsageError(msg) from None
        except sqlalchemy.exc.DBAPIError as error:
            reason = _without_password(str(error.orig), url)
            raise UsageError(f"The gradebook {_shown(url)} can't be read: {reason}.") from None
        except (ModuleNotFoundError, sqlalchemy.exc.NoSuchModuleError) as error:
            if incomplete := library_error(error):  # Python without SQLite
                raise incomplete from None
            reason = _without_password(str(error), url)
            msg = f"The gradebook {_shown(url)} can't be opened: {reason}. {_DRIVER_ADVICE}"
            raise UsageError(msg) from None


_FILE_ADVICE = (
    "Is it locked by another program, or was it written by an older version of nbgrader? "
    "In the second case, back it up and run `nbgrader db upgrade`."
)
_SERVER_ADVICE = (
    "Check that the server is running, and that user, password and database in "
    "c.CourseDirectory.db_url of nbgrader_config.py are right; then run the same command again. "
    "Results in the record are kept."
)
_DRIVER_ADVICE = (
    "Install the driver of the database; for PostgreSQL: pip install "
    "'attention-course-kit[server]'. An address that begins with postgresql+psycopg:// names this "
    "driver."
)


def _url(address: str) -> sqlalchemy.engine.URL:
    try:
        return sqlalchemy.engine.make_url(address)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise UsageError(
            "c.CourseDirectory.db_url in nbgrader_config.py is not the address of a database. "
            "Write, for example, postgresql://user:password@host/database, and percent-encode "
            "special characters of the password."
        ) from None


def _shown(url: sqlalchemy.engine.URL) -> str:
    """Return the file of *url*, or its user, host and database, but never its password."""
    if url.get_backend_name() == "sqlite":
        return str(url)
    place = f"{url.host or 'this machine'}{f':{url.port}' if url.port else ''}"
    user = f", user {url.username}" if url.username else ""
    return f"{url.database or '(no database)'} on {place} ({url.get_backend_name()}{user})"


def _without_password(text: str, url: sqlalchemy.engine.URL) -> str:
    """Return *text* on one line, without the password of *url* in any form."""
    plain = str(url.password or "")
    for secret in filter(None, (plain, quote(plain, safe=""), quote_plus(plain))):
        text = text.replace(secret, "***")
    return " ".join(text.split()).rstrip(".")


@contextlib.contextmanager
def _config_errors(file: Path) -> Iterator[None]:
    """Turn any exception that *file*, the instructor's code, raises into ``UsageError``."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise UsageError(f"{file} can't be used: {type(error).__name__}: {error}") from error


def set_options(config: Any, file: str | Path) -> None:
    """Set nbgrader's options for the course whose ``nbgrader_config.py`` is *file*."""
    root = Path(file).resolve().parent
    course = load(root)
    tools, path = str(Path(sys.executable).parent), os.environ.get("PATH", "")
    if tools not in path.split(os.pathsep):  # nbgrader starts ``alembic`` by its bare name
        os.environ["PATH"] = os.pathsep.join((tools, *filter(None, [path])))
    config.CourseDirectory.root = str(root)
    if not {"%", "?"}.isdisjoint(str(root)):  # nbgrader does not escape them in the address
        url = sqlalchemy.engine.URL.create("sqlite", database=str(root / "gradebook.db"))
        config.CourseDirectory.db_url = str(url)
    config.CourseDirectory.course_id = course.id
    config.CourseDirectory.release_directory = ASSIGNMENTS
    config.ClearMarkScheme.enforce_metadata = False  # the locked question contains the mark scheme
    config.Autograde.sanitize_preprocessors = _AUTOGRADE
    config.Autograde.autograde_preprocessors = _AUTOGRADE
    config.GenerateFeedback.preprocessors = _FEEDBACK
    config.ExportApp.plugin_class = "autograder.gradebook.grade_export.CsvExport"
    config.ExchangeFactory.release_feedback = "autograder.gradebook.feedback_cells.ReleaseFeedback"
