"""Shortens the pages of ``nbgrader generate_feedback`` to the cells about the student."""

from pathlib import Path
from typing import Any

from nbgrader.preprocessors import ClearMarkScheme, NbGraderPreprocessor
from traitlets import List

from autograder.course import load
from autograder.errors import CourseError
from autograder.gradebook.autograded_notebook import MODULE_CELL
from autograder.gradebook.autograded_submission import read_master


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
        """Return the kind and text of each lesson cell of *stage*; empty without a readable lab."""
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
