"""Makes the pages of ``nbgrader generate_feedback``, and releases them through the exchange.

The pages have the cells about the student, and scores. Scores are not final while written answers
wait for a grade, or if the lab's points have changed since the submission was graded.
"""

import glob
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeReleaseFeedback
from nbgrader.preprocessors import (
    AssignLatePenalties,
    ClearMarkScheme,
    GetGrades,
    NbGraderPreprocessor,
)
from traitlets import List

from autograder.course import load
from autograder.errors import CourseError
from autograder.gradebook.autograded_notebook import MODULE_CELL
from autograder.gradebook.autograded_submission import read_master
from autograder.gradebook.score_rows import set_late_penalty
from autograder.submission.assemble import STAMP


class RemoveMarkScheme(ClearMarkScheme):
    """Removes the mark scheme as nbgrader does, and accepts an option that nbconvert sets.

    nbconvert sets this option for every step. nbgrader's base class hides the option, so traitlets
    would print a warning for each page.
    """

    display_data_priority: Any = List().tag(config=True)


class ShortenFeedback(NbGraderPreprocessor):
    """Removes the module, and the lesson cells that the student already has in the lab.

    Lesson cells that the student has changed are kept, and so are all cells with an answer or
    points.
    """

    display_data_priority: Any = List().tag(config=True)  # prevents a warning, as above

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Remove the module and the unchanged lesson cells from *nb*."""
        lessons = self._lessons(resources["nbgrader"]["assignment"])
        nb.cells = [
            cell
            for cell in nb.cells
            if cell.get("id") != MODULE_CELL
            and ("nbgrader" in cell.metadata or (cell.cell_type, cell.source) not in lessons)
        ]
        return nb, resources

    def _lessons(self, stage: str) -> frozenset[tuple[str, str]]:
        course = load(Path(self.config.CourseDirectory.root))
        known = {item.name: item for item in course.stages}
        try:
            cells = read_master(known[stage])["cells"] if stage in known else []
        except CourseError:
            return frozenset()
        return frozenset(
            (cell["cell_type"], cell["source"])
            for cell in cells
            if "nbgrader" not in cell["metadata"]
        )


class FeedbackGrades(GetGrades):
    """Adds scores as nbgrader does, and logs a warning for each page with scores not yet final."""

    def preprocess(self, nb: Any, resources: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Add the scores to *nb*, and warn if some are not final."""
        self._waiting: list[str] = []
        self._outdated: list[str] = []
        self._late = AssignLatePenalties(config=self.config)
        self._late.init_plugin()
        made: tuple[Any, dict[str, Any]] = super().preprocess(nb, resources)
        page = f"{self.student_id}, {self.assignment_id}"
        if self._waiting:
            self.log.warning(
                "%s: not graded by hand yet, so the page shows 0 points: %s. "
                "Grade the answers in formgrader, then run this command again with --force.",
                page,
                ", ".join(self._waiting),
            )
        if self._outdated:
            self.log.warning(
                "%s: graded with different points for %s. "
                "Grade the submission again before you return the page.",
                page,
                ", ".join(self._outdated),
            )
        return made

    def _get_score(self, cell: Any, resources: dict[str, Any]) -> None:
        name = cell.metadata.nbgrader["grade_id"]
        points = cell.metadata.nbgrader.get("points")
        super()._get_score(cell, resources)
        keys = (name, self.notebook_id, self.assignment_id, self.student_id)
        grade = self.gradebook.find_grade(*keys)
        if grade.notebook.late_submission_penalty is not None:  # manual scores change the points
            set_late_penalty(grade.notebook, self._late)
        if grade.manual_score is None and grade.auto_score is None:
            self._waiting.append(name)
        if points is not None and points != grade.max_score:
            self._outdated.append(name)


# nbgrader reads both files to release a page. Only the exchange creates the secret.
_OF_THE_EXCHANGE = ("submission_secret.txt", STAMP)


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Releases feedback to those who used the exchange; nbgrader's class would stop at others."""

    src_path: str  # a glob pattern, which nbgrader sets before it calls ``copy_files``

    def copy_files(self) -> None:
        """Release the pages of students who used the exchange, and list the others."""
        outside = []
        for folder in sorted(map(Path, glob.glob(self.src_path))):  # noqa: PTH207  # an absolute pattern
            if all((folder / name).is_file() for name in _OF_THE_EXCHANGE):
                self.src_path = glob.escape(str(folder))
                super().copy_files()
            else:
                outside.append(str(folder.relative_to(self.coursedir.root)))
        if outside:
            self.log.warning(
                "Not submitted through the exchange, which cannot return a page without its "
                "secret; return these pages in a different way: %s",
                ", ".join(outside),
            )
