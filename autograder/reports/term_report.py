"""Summarizes the term: a row for each student over all stages, and the commonest mistakes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from autograder.reports.class_report import StageReport, SubmissionRow
from autograder.reports.feedback import FinalGrade
from autograder.results import add
from autograder.sanitize import MAX_WORD, line

Key = tuple[str, str]  # the student and the stage
MOST_MISTAKES: Final = 12


@dataclass(frozen=True, kw_only=True)
class ClassList:
    """The names, grades and groups of the students, which are not in the record.

    *names* maps ids to names, and *grades* has the grades in the gradebook. *groups* maps a stage
    to its group members, each with the member who submitted for the group.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    grades: Mapping[Key, FinalGrade] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def name_of(self, student: str) -> str:
        """Return the name of *student*, or the id if the name is unknown."""
        return line(self.names.get(student, ""), MAX_WORD) or student


class TermCell(msgspec.Struct, frozen=True, kw_only=True):
    """One student's points in one stage; without a *page*, nothing was submitted."""

    page: str = ""
    score: float | None = None
    max_score: float | None = None
    marks: tuple[str, ...] = ()
    lacks_lab: bool = False


class TermRow(msgspec.Struct, frozen=True, kw_only=True):
    """A student's points in each stage, their sum, and what was *missing*."""

    student: str
    name: str
    cells: tuple[TermCell, ...]
    missing: tuple[str, ...]
    total: float
    max_total: float


class MistakeTrend(msgspec.Struct, frozen=True):
    """A mistake, with the number of students who made it in each stage."""

    title: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """The number of students and stages."""
        return sum(self.counts)


class TermReport(msgspec.Struct, frozen=True):
    """The stages that have results, the students, and the commonest mistakes."""

    stages: tuple[StageReport, ...]
    rows: tuple[TermRow, ...]
    trends: tuple[MistakeTrend, ...]
    has_grades: bool


def build_term_report(stages: Sequence[StageReport], people: ClassList) -> TermReport:
    """Summarize all *stages* that were recognized; students without results have a row, too."""
    known = tuple(stage for stage in stages if stage.name)
    found = {stage.name: {row.student: row for row in stage.rows} for stage in known}
    students = {
        *people.names,
        *(row.student for stage in stages for row in stage.rows),
        *(student for student, _ in people.grades),
        *(student for members in people.groups.values() for student in members),
    }
    worth = [_worth(stage, people) for stage in known]
    rows = (_row(student, known, found, worth, people) for student in students)
    return TermReport(
        known,
        tuple(sorted(rows, key=lambda row: (row.name.casefold(), row.student))),
        tuple(_trends(known)),
        bool(people.grades),
    )


def _row(
    student: str,
    stages: Sequence[StageReport],
    found: Mapping[str, Mapping[str, SubmissionRow]],
    worth: Sequence[float],
    people: ClassList,
) -> TermRow:
    cells = []
    for stage in stages:
        submitter = people.groups.get(stage.name, {}).get(student, student)
        own = found[stage.name].get(student)
        shared = None if own else found[stage.name].get(submitter)
        grade = people.grades.get((student if own else submitter, stage.name))
        cell = _cell(own or shared, grade)
        if shared:
            mark = f"group of {people.name_of(submitter)}"
            cell = msgspec.structs.replace(cell, marks=(mark, *cell.marks))
        cells.append(cell)
    limits = (cell.max_score or most for cell, most in zip(cells, worth, strict=True))
    return TermRow(
        student=student,
        name=people.name_of(student),
        cells=tuple(cells),
        missing=tuple(_missing(cells, stages)),
        total=add(cell.score or 0.0 for cell in cells),
        max_total=add(limits),
    )


def _worth(stage: StageReport, people: ClassList) -> float:
    limits = [grade.max_score for (_, name), grade in people.grades.items() if name == stage.name]
    limits += [row.max_score for row in stage.rows]
    return max((most or 0.0 for most in limits), default=0.0)


def _cell(row: SubmissionRow | None, grade: FinalGrade | None) -> TermCell:
    if row is None:
        marks = ("extension",) if grade and grade.extended else ()
        return TermCell(marks=marks)
    return TermCell(
        page=row.page,
        score=grade.score if grade else (row.score if row.max_score else None),
        max_score=grade.max_score if grade else row.max_score,
        marks=tuple(_marks(row, grade)),
        lacks_lab=row.lacks_lab,
    )


def _marks(row: SubmissionRow, grade: FinalGrade | None) -> Iterable[str]:
    if grade.is_late if grade else row.is_late:
        yield f"late, \N{MINUS SIGN}{grade.penalty:g}" if grade and grade.penalty else "late"
    if grade and grade.extended:
        yield "extension"
    if grade.waits if grade else row.waiting:
        yield "answers wait"
    if grade and grade.is_changed:
        yield "changed by hand"
    if row.review:
        yield "review"


def _missing(cells: Sequence[TermCell], stages: Sequence[StageReport]) -> Iterable[str]:
    for cell, stage in zip(cells, stages, strict=True):
        if not cell.page:
            yield stage.title
        elif cell.score is None:
            yield f"{stage.title}: no grade"
        elif cell.lacks_lab:
            yield f"{stage.title}: no lab"


def _trends(stages: Sequence[StageReport]) -> list[MistakeTrend]:
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for number, stage in enumerate(stages):
        for mistake in stage.mistakes:
            counts[mistake.title][number] += mistake.students
    trends = [
        MistakeTrend(title, tuple(found[number] for number in range(len(stages))))
        for title, found in counts.items()
    ]
    return sorted(trends, key=lambda trend: (-trend.total, trend.title))[:MOST_MISTAKES]
