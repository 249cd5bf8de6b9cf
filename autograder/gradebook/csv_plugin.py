"""``nbgrader export``, with names that hold commas quoted and formulas that stay text."""

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from autograder.course import Course, load
from autograder.exports.grade_table import GradeTable, Score
from autograder.exports.nbgrader_csv import nbgrader_csv
from autograder.gradebook.grade_export import grade_table_of_gradebook


class CsvExport(CsvExportPlugin):
    """nbgrader's own columns and options: a row for each student in each assignment."""

    def export(self, gradebook: Gradebook) -> None:
        """Write ``grades.csv``, or what ``--to`` names; what was not handed in is 0, as ever."""
        grades = grade_table_of_gradebook(gradebook, self._course())
        stages = {str(name) for name in self.assignment}
        students = {str(name) for name in self.student}
        chosen = replace(
            grades,
            stages=tuple(item for item in grades.stages if not stages or item.name in stages),
            rows=tuple(row for row in grades.rows if not students or row.student in students),
        )
        file = Path(self.to or "grades.csv")
        due = {item.name: str(item.duedate or "") for item in gradebook.assignments}
        file.write_bytes(nbgrader_csv(with_zeros(chosen, due)).content)
        self.log.info("Exported grades to %s", file)
        for remark in chosen.remarks:
            self.log.warning("%s", remark)

    def _course(self) -> Course:
        return load(Path(self.parent.coursedir.root))


def with_zeros(grades: GradeTable, due: Mapping[str, str]) -> GradeTable:
    """Give 0 in every stage to who handed in nothing there, as nbgrader's export does.

    *due* are the stages' due dates.
    """
    nothing = {
        stage.name: Score(
            raw=0.0, score=0.0, max_score=stage.max_score, duedate=due.get(stage.name, "")
        )
        for stage in grades.stages
    }
    rows = tuple(replace(row, scores={**nothing, **row.scores}) for row in grades.rows)
    return replace(grades, rows=rows)
