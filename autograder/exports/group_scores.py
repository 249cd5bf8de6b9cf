"""Gives all members of a group the score of the group's submission."""

from collections import defaultdict
from collections.abc import Iterator

from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.exports.grade_table import GradeTable, StudentGrades, lms_number
from autograder.submission.groups import Groups, Member


def share_scores(grades: GradeTable, groups: Groups) -> GradeTable:
    """Return *grades* of one stage, with a row for each member of a group that submitted.

    If several members of a group submitted, they keep their own scores. Raises ``UsageError`` for
    several stages, because the groups of other stages may differ.
    """
    if len(grades.stages) != 1:
        msg = "--groups applies to the assignment of one stage. Choose the stage with --stage."
        raise UsageError(msg)
    (stage,) = grades.stages
    people = [(row, groups.find(row.student, lms_number(row.student))) for row in grades.rows]
    known = {member.student: row for row, member in people if member}
    submitted: dict[str, list[StudentGrades]] = defaultdict(list)
    for row, member in people:
        if member and stage.name in row.scores:
            submitted[member.group].append(row)
    rows = {row.student: row for row in grades.rows}
    remarks = []
    for group, own in submitted.items():
        if len(own) > 1:
            names = ", ".join(row.shown_name for row in own)
            remarks.append(f"{group}: {names} submitted, so each keeps their own score")
            continue
        score = own[0].scores[stage.name]
        for row in _others(groups.members(group), known, own[0]):
            rows[row.student] = replace(row, scores={**row.scores, stage.name: score})
    return replace(grades, rows=tuple(rows.values()), remarks=(*grades.remarks, *remarks))


def _others(
    members: list[Member], known: dict[str, StudentGrades], own: StudentGrades
) -> Iterator[StudentGrades]:
    """Yield the rows of all *members* except *own*, and new rows for members without one."""
    for member in members:
        row = known.get(member.student) or StudentGrades(
            student=member.student, first_name=member.first_name, last_name=member.last_name
        )
        if row.student != own.student:
            yield row
