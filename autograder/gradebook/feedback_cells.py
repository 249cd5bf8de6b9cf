"""Shortens the page of ``nbgrader generate_feedback`` to the cells about the student."""

from pathlib import Path
from typing import Any

from nbgrader.preprocessors import ClearMarkScheme, NbGraderPreprocessor
from traitlets import List

from autograder.course import load
from autograder.errors import CourseError
from autograder.gradebook.autograded_notebook import MODULE_CELL
from autograder.gradebook.autograded_submission import read_master


class RemoveMarkScheme(ClearMarkScheme):
    """nbgrader's own step, which accepts the option that nbconvert gives every step.

    nbgrader hides it in its base class, and traitlets then prints a warning for each page.
    """

    display_data_priority: Any = List().tag(config=True)


class ShortenFeedback(NbGraderPreprocessor):
    """Leaves out the lessons, which the student has in the lab, and the module.

    A cell of a lesson that the student has changed stays, as all cells with an answer or points do.
    """

    display_data_priority: Any = List().tag(config=True)  # see above: no warning

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Remove the cells from *nb*."""
        lessons = self._lessons(resources["nbgrader"]["assignment"])
        nb.cells = [
            cell
            for cell in nb.cells
            if cell.get("id") != MODULE_CELL
            and ("nbgrader" in cell.metadata or (cell.cell_type, cell.source) not in lessons)
        ]
        return nb, resources

    def _lessons(self, stage: str) -> frozenset[tuple[str, str]]:
        """Return kind and text of each lesson of *stage*; none where its lab can't be read."""
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
