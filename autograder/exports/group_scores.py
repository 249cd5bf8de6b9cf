"""Gives all members of a group the score of the group's submission."""

from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.exports.grade_table import GradeTable, StudentGrades, lms_number
from autograder.submission.roster import Groups


def share_scores(grades: GradeTable, groups: Groups) -> GradeTable:
    """Return *grades* of one stage, with a row for each member of a group that submitted.

    If several members of a group submitted, they keep their own scores. Raises ``UsageError`` for
    several stages, because the groups of other stages may differ.
    """
    if len(grades.stages) != 1:
        msg = "--groups applies to the assignment of one stage. Choose the stage with --stage."
        raise UsageError(msg)
    (stage,) = grades.stages
    rows = {row.student: row for row in grades.rows}
    submitted = [row.student for row in grades.rows if stage.name in row.scores]
    remarks = []
    for work in groups.shared(submitted, rows, lms_number):
        first, *more = [rows[student] for student in work.submitters]
        if more:
            names = ", ".join(row.shown_name for row in (first, *more))
            remarks.append(f"{work.group}: {names} submitted, so each keeps their own score")
            continue
        for student, member in work.others.items():
            row = rows.get(student) or StudentGrades(
                student=student, first_name=member.first_name, last_name=member.last_name
            )
            scores = {**row.scores, stage.name: first.scores[stage.name]}
            rows[student] = replace(row, scores=scores)
    return replace(grades, rows=tuple(rows.values()), remarks=(*grades.remarks, *remarks))
