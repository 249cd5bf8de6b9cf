"""nbgrader's database: opened once, told what the labs hold, written one student at a time."""

import contextlib
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps import NbGrader
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Application, Config

from autograder.authoring.lab_notebook import Notebook
from autograder.course import Course
from autograder.errors import UsageError
from autograder.gradebook.config import configure
from autograder.gradebook.score_rows import NOTEBOOK

CONFIG_FILE = "nbgrader_config.py"
_KINDS = ("grade", "solution", "task")


class NbgraderSetup:
    """nbgrader as this course has set it up: where things lie, what lateness costs, settings."""

    def __init__(self, course: Course) -> None:
        app = NbGrader()
        app.log_level = logging.ERROR  # what nbgrader says about itself is not for graders
        app.load_cwd_config = False
        app.raise_config_file_errors = True
        file = course.root / CONFIG_FILE
        configure(app.config, file)  # a course without the file has its settings all the same
        try:
            app.load_config_file()
            Application.load_config_file(app, CONFIG_FILE, path=str(course.root))
            self.late = AssignLatePenalties(config=app.config)
            self.late.init_plugin()
        except Exception as error:
            msg = f"{file} can't be used: {type(error).__name__}: {error}"
            raise UsageError(msg) from error
        self.config: Config = app.config
        self.places = CourseDirectory(config=self.config)

    def autograded(self, student: str, stage: str) -> Path:
        """Return where formgrader looks for what was graded."""
        return Path(self.places.format_path(self.places.autograded_directory, student, stage))

    @contextlib.contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        """Open the database; what is wrong with it becomes a ``UsageError``."""
        try:
            with Gradebook(self.places.db_url, self.places.course_id) as book:
                yield book
        except sqlalchemy.exc.OperationalError as error:
            msg = (
                f"The gradebook {self.places.db_url} can't be used ({error.orig}). "
                "Is it locked by another program, or from an older nbgrader? "
                "For the latter, back it up and run `nbgrader db upgrade`."
            )
            raise UsageError(msg) from error
        except sqlalchemy.exc.DatabaseError as error:
            msg = f"The gradebook {self.places.db_url} can't be read: {error.orig}."
            raise UsageError(msg) from error


def register(book: Gradebook, stage: str, master: Notebook) -> bool:
    """Tell the gradebook of the lab of *stage* where it does not know it so; True if it was told.

    Scores that are there stay. Raises ``UsageError`` where cells came or went although there are
    submissions: nbgrader can't have that.
    """
    if _knows(book, stage, master):
        return False
    book.update_or_create_assignment(stage)
    _refuse_other_cells(book, stage, master)
    kernel = json.dumps(master["metadata"]["kernelspec"])
    book.update_or_create_notebook(NOTEBOOK, stage, kernelspec=kernel)
    for cell in master["cells"]:
        if "nbgrader" in cell["metadata"]:
            _register_cell(book, stage, cell, cell["metadata"]["nbgrader"])
    return True


def _refuse_other_cells(book: Gradebook, stage: str, master: Notebook) -> None:
    """Forget a lab with other cells where nobody has handed it in yet, else raise."""
    try:
        notebook = book.find_notebook(NOTEBOOK, stage)
    except MissingEntry:
        return
    known, wanted = _kinds_known(notebook), _kinds(master)
    if known == wanted:
        return
    if notebook.submissions:
        msg = (
            f"The lab of {stage} has other cells than the gradebook, which has submissions "
            f"already: {', '.join(sorted({name for name, _ in known ^ wanted}))}. "
            "Put the cells back, or begin a new gradebook."
        )
        raise UsageError(msg)
    book.remove_notebook(NOTEBOOK, stage)


def _register_cell(book: Gradebook, stage: str, cell: dict[str, Any], told: dict[str, Any]) -> None:
    place = (told["grade_id"], NOTEBOOK, stage)
    kind = cell["cell_type"]
    if told["grade"]:
        book.update_or_create_grade_cell(*place, max_score=told["points"], cell_type=kind)
    if told["solution"]:
        book.update_or_create_solution_cell(*place)
    if told["task"]:
        book.update_or_create_task_cell(*place, max_score=told["points"], cell_type=kind)
    facts = {"cell_type": kind, "source": cell["source"], "checksum": told["checksum"]}
    book.update_or_create_source_cell(*place, locked=told["locked"], **facts)


def _knows(book: Gradebook, stage: str, master: Notebook) -> bool:
    try:
        notebook = book.find_notebook(NOTEBOOK, stage)
    except MissingEntry:
        return False
    told = {cell.name: cell.checksum for cell in notebook.source_cells}
    points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
    is_same = points == _points(master) and _kinds_known(notebook) == _kinds(master)
    return is_same and told == _checksums(master)


def _checksums(master: Notebook) -> dict[str, str]:
    return {told["grade_id"]: told["checksum"] for told in _told(master)}


def _points(master: Notebook) -> dict[str, float]:
    return {told["grade_id"]: told["points"] for told in _told(master) if "points" in told}


def _kinds(master: Notebook) -> set[tuple[str, str]]:
    """Return the name of each cell beside each thing that nbgrader keeps of it."""
    kinds = {(told["grade_id"], kind) for told in _told(master) for kind in _KINDS if told[kind]}
    return kinds | {(told["grade_id"], "source") for told in _told(master)}


def _kinds_known(notebook: Any) -> set[tuple[str, str]]:
    return {
        (cell.name, kind)
        for kind in (*_KINDS, "source")
        for cell in getattr(notebook, f"{kind}_cells")
    }


def _told(master: Notebook) -> Iterator[dict[str, Any]]:
    for cell in master["cells"]:
        if "nbgrader" in cell["metadata"]:
            yield cell["metadata"]["nbgrader"]
