"""nbgrader's autograding, step by step, without a kernel: these stand in ``nbgrader_config.py``.

They work in our converter, which grades a whole class at once, and in nbgrader's own, which knows
no modules without a notebook and comes to each submission alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties, NbGraderPreprocessor

from autograder.course import load
from autograder.gradebook.autograded_submission import finish, laid_over
from autograder.gradebook.score_rows import penalise, row_of, save
from autograder.gradebook.work import Work, works

REMARKS = "autograder.remarks"  # what there is to say about the notebook, among the resources
Step = tuple[Any, dict[str, Any]]  # a notebook and nbconvert's resources


class _Step(NbGraderPreprocessor):
    """A step that knows what the student handed in and what it earned."""

    def work(self, resources: dict[str, Any]) -> Work:
        """Return the work that the converter has graded, else grade it now."""
        student, name = resources["nbgrader"]["student"], resources["nbgrader"]["assignment"]
        converter = self.parent.parent  # a preprocessor belongs to an exporter, that to a converter
        if hasattr(converter, "work"):
            found: Work = converter.work(student)
            return found
        if "autograder.work" not in resources:
            places = converter.coursedir
            course = load(Path(places.root))
            folder = Path(places.format_path(places.submitted_directory, student, name))
            graded = works(course, course.stage(name), {student: folder})
            resources["autograder.work"] = graded[student]
        work: Work = resources["autograder.work"]
        return work


class Sanitize(_Step):
    """Lay the student's answers over the instructor's lab; nothing in the result can act."""

    def preprocess(self, nb: Any, resources: dict[str, Any]) -> Step:
        """Return the lab as formgrader may show it; the student's bytes are read anew."""
        del nb
        work = self.work(resources)
        notebook, resources[REMARKS] = laid_over(work.master, work.submission)
        return nbformat.from_dict(notebook), resources


class GradeInSandbox(_Step):
    """Set below each grade cell what the hidden suite says."""

    def preprocess(self, nb: Any, resources: dict[str, Any]) -> Step:
        """Add the cards, and hand on the scores; raises ``GraderError`` where there is no grade."""
        work = self.work(resources)
        if REMARKS not in resources:  # nbgrader's converter forgets between its two halves
            _, resources[REMARKS] = laid_over(work.master, work.submission)
        remarks = resources[REMARKS]
        handed = finish(work.stage, work.master, work.submission, work.result, dict(nb), remarks)
        resources["autograder.handed"] = handed
        return nbformat.from_dict(handed.notebook), resources


class SaveScores(_Step):
    """Write the scores of ``GradeInSandbox`` into the gradebook, as ``grade --gradebook`` does.

    Late penalties are the plugin's that nbgrader is configured with; nbgrader's own step would
    open the gradebook under another course.
    """

    def preprocess(self, nb: Any, resources: dict[str, Any]) -> Step:
        """Set scores and comments; what was given by hand stays."""
        told = resources["nbgrader"]
        handed = resources["autograder.handed"]
        late = AssignLatePenalties(parent=self.parent)
        late.init_plugin()
        with self._gradebook(told["db_url"]) as book:
            row = row_of(book, told["assignment"], told["student"], handed.stamp)
            save(book, row, handed.scores.points, handed.blank)
            penalise(row, late)
            book.db.commit()
        return nb, resources

    @contextmanager
    def _gradebook(self, url: str) -> Iterator[Gradebook]:
        """Use the gradebook that the converter holds open, else open one."""
        converter = self.parent.parent
        if not hasattr(converter, "book"):
            with Gradebook(url, converter.coursedir.course_id) as book:
                yield book
            return
        try:
            yield converter.book
        except BaseException:
            converter.book.db.rollback()  # the next student's rows are not to blame
            raise
