"""Adds scores to the pages of ``nbgrader generate_feedback``, and warns if some are not final.

Scores are not final while written answers wait for a grade, or if the lab's points have changed
since the submission was graded.
"""

from typing import Any

from nbgrader.preprocessors import GetGrades


class FeedbackGrades(GetGrades):
    """Adds scores as nbgrader does, and logs a warning for each page with scores not yet final."""

    def preprocess(self, nb: Any, resources: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Add the scores to *nb*, and warn if some are not final."""
        self._waiting: list[str] = []
        self._outdated: list[str] = []
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
        if grade.manual_score is None and grade.auto_score is None:
            self._waiting.append(name)
        if points is not None and points != grade.max_score:
            self._outdated.append(name)
