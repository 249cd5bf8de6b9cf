"""Builds the grade table: one row per student, one column per stage, a score in each cell.

This module makes the table from a record. The gradebook makes it from nbgrader's database, which
also has names, manual scores and late penalties. Exports match the students of the table with the
rows of a file from an LMS.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from autograder.course import Course, Stage
from autograder.errors import UsageError
from autograder.results import Results, Status, SubmissionResult, add
from autograder.sanitize import name_and_id
from autograder.submission.files import in_sentence
from autograder.submission.names import MAX_STUDENT, comparison_key
from autograder.submission.roster import Groups

_NUMBER = re.compile(r".*_(\d+)(?P<changed>~[0-9a-f]{8})?", re.DOTALL)


class CellGrade(msgspec.Struct, frozen=True, kw_only=True):
    """One cell's points: *manual* replaces *automatic*, which is 0 for a blank answer."""

    automatic: float | None = None
    manual: float | None = None
    extra: float = 0.0
    comment: str = ""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One student's points in one stage; ``None`` means that there is no grade, not a zero.

    *score* is *raw* minus *penalty*. *exercises* maps names to ``(score, max_score)``, and *cells*
    has the parts of these scores, which only the gradebook knows. If nothing of the submission
    could be graded, *is_ungraded* is true, and ``settle_ungraded`` decides whether its points
    count. Times are in UTC; *extended* is the due date with an extension.
    """

    raw: float | None
    score: float | None
    max_score: float | None
    penalty: float = 0.0
    exercises: Mapping[str, tuple[float | None, float]] = {}
    cells: Mapping[str, CellGrade] = {}
    timestamp: str = ""
    duedate: str = ""
    extended: str = ""
    is_ungraded: bool = False


class StudentGrades(msgspec.Struct, frozen=True, kw_only=True):
    """A student with the scores by stage; a missing stage was not submitted."""

    student: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    scores: dict[str, Score] = {}

    @property
    def shown_name(self) -> str:
        """The student's name and id, or only the id."""
        return name_and_id(f"{self.first_name} {self.last_name}".strip(), self.student)

    def has_score(self, stage: "StageColumn") -> bool:
        """Return whether the student has a grade in *stage*."""
        return stage.name in self.scores and self.scores[stage.name].score is not None


class StageColumn(msgspec.Struct, frozen=True):
    """A stage; *max_score* is ``None`` if no submission could be graded."""

    name: str
    title: str
    max_score: float | None = None


class GradeTable(msgspec.Struct, frozen=True, kw_only=True):
    """All stages in the order of the course, all students, and remarks about missing students."""

    stages: tuple[StageColumn, ...]
    rows: tuple[StudentGrades, ...]
    remarks: tuple[str, ...] = ()

    @property
    def graded(self) -> tuple[StageColumn, ...]:
        """The stages in which some student has a score; the others need no column."""
        return tuple(stage for stage in self.stages if any(self.scores(stage.name)))

    def scores(self, stage: str) -> Iterator[tuple[StudentGrades, Score]]:
        """Yield the students with a grade in *stage*, each with the score."""
        found = ((row, row.scores[stage]) for row in self.rows if stage in row.scores)
        return ((row, score) for row, score in found if score.score is not None)


def grade_table(results: Results, course: Course) -> GradeTable:
    """Make the table of *results*; raise ``UsageError`` if a student has a stage twice."""
    given: dict[str, set[float]] = {stage.name: set() for stage in course.stages}
    rows: dict[str, dict[str, Score]] = defaultdict(dict)
    duplicates: list[str] = []
    remarks: list[str] = []
    for result in results.submissions:
        remarks += filter(None, [_remark(result, given)])
        if result.stage not in given:
            continue
        given[result.stage] |= set() if result.max_score is None else {result.max_score}
        if result.stage in rows[result.student]:
            duplicates.append(f"{result.student} in {result.stage}")
        rows[result.student][result.stage] = _score(result)
    if duplicates:
        raise UsageError(
            "Some students have two submissions, and it is unknown which one counts: "
            f"{'; '.join(dict.fromkeys(duplicates))}. Remove one submission of each student "
            "and grade again."
        )
    return GradeTable(
        stages=tuple(_column(stage, given[stage.name]) for stage in course.stages),
        rows=tuple(StudentGrades(student=name, scores=scores) for name, scores in rows.items()),
        remarks=tuple(remarks),
    )


def scale(grades: GradeTable, points: Mapping[str, float]) -> GradeTable:
    """Multiply the scores of the stages in *points*, so that each stage is worth these points."""
    factors = {
        stage.name: points[stage.name] / stage.max_score
        for stage in grades.stages
        if stage.max_score and stage.name in points
    }

    def scaled(scores: Mapping[str, Score]) -> dict[str, Score]:
        return {
            stage: _scaled(score, factors[stage]) if stage in factors else score
            for stage, score in scores.items()
        }

    stages = tuple(
        replace(stage, max_score=points[stage.name]) if stage.name in factors else stage
        for stage in grades.stages
    )
    rows = tuple(replace(row, scores=scaled(row.scores)) for row in grades.rows)
    return replace(grades, stages=stages, rows=rows)


def _scaled(score: Score, factor: float) -> Score:
    def times(points: float | None) -> float | None:
        return None if points is None else add((points * factor,))

    return replace(
        score,
        raw=times(score.raw),
        score=times(score.score),
        max_score=times(score.max_score),
        penalty=add((score.penalty * factor,)),
        exercises={
            name: (times(earned), add((most * factor,)))
            for name, (earned, most) in score.exercises.items()
        },
    )


def settle_ungraded(
    grades: GradeTable, *, zero: bool = False, option: str = "--ungraded zero"
) -> GradeTable:
    """Remove the scores of ungradable submissions, or count them as *zero*, with remarks."""
    remarks = []
    for stage in grades.stages:
        given = ((row, row.scores.get(stage.name)) for row in grades.rows)
        found = [row for row, score in given if score and score.is_ungraded]
        if found:
            which = "one submission" if len(found) == 1 else f"{len(found)} submissions"
            cells = "0 is written" if zero else f"the cell stays empty ({option} writes 0)"
            names = ", ".join(row.shown_name for row in found)
            remarks.append(
                f"{stage.name}: in {which} no exercise could be graded, so {cells}: {names}"
            )
    rows = grades.rows if zero else tuple(map(_without_ungraded, grades.rows))
    return replace(grades, rows=rows, remarks=(*grades.remarks, *remarks))


def _without_ungraded(row: StudentGrades) -> StudentGrades:
    if not any(score.is_ungraded for score in row.scores.values()):
        return row
    scores = {
        stage: replace(score, raw=None, score=None) if score.is_ungraded else score
        for stage, score in row.scores.items()
    }
    return replace(row, scores=scores)


def _score(result: SubmissionResult) -> Score:
    return Score(
        raw=result.score,
        score=result.score,
        max_score=result.max_score,
        exercises={item.name: (item.score, item.max_score) for item in result.exercises},
        is_ungraded=result.status is Status.UNREADABLE,
    )


def _column(stage: Stage, given: set[float]) -> StageColumn:
    if len(given) > 1:
        worth = " and ".join(f"{most:g}" for most in sorted(given))
        raise UsageError(
            f"Stage {stage.name} is worth {worth} points in different submissions of the "
            "record: its suite has changed. Grade all submissions of the stage again."
        )
    return StageColumn(stage.name, stage.title, next(iter(given), None))


def _remark(result: SubmissionResult, known: Collection[str]) -> str:
    if result.stage not in known:
        where = f"the course has no stage {result.stage!r}" if result.stage else "no stage is known"
        why = f" ({result.message})" if result.message else ""
        return f"{result.student}: not exported, {where}{why}"
    if result.score is None:
        return f"{result.student}: no grade in {result.stage}, left empty ({result.status})"
    return ""


class RosterRow(msgspec.Struct, frozen=True):
    """One row of a download: the number in the LMS, other identifiers, and names."""

    row: int
    number: str
    identifiers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def match_students(
    students: Sequence[StudentGrades], roster: Sequence[RosterRow], file: str
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the row of each student with exactly one row in *file*, and remarks on the others.

    Identifiers include the number at the end of an id that came from a download's name. If they
    point to different rows, there is no match. Names count only if no identifier matches.
    """
    index = _RosterIndex(roster)
    found = {student.student: _matching_rows(student, index) for student in students}
    claims = Counter(rows[0] for rows in found.values() if len(rows) == 1)
    remarks = {who: _match_remark(who, rows, claims, file) for who, rows in found.items()}
    matched = {who: rows[0] for who, rows in found.items() if rows and not remarks[who]}
    told = [*filter(None, remarks.values())]
    if absent := [who for who in found if not found[who]]:
        told.append(f"Not found in the {file}, not exported: {in_sentence(absent)}")
    return matched, tuple(told)


def nothing_matched(students: Sequence[StudentGrades], rows: Mapping[str, int], file: str) -> str:
    """Return a sentence if none of *students*, who all have scores, has a row in *file*, or ""."""
    if rows:
        return ""
    if not students:
        return f"There is no score to write into the {file}; nothing was written. Grade first."
    count = f"the {len(students)} students" if len(students) > 1 else "the students"
    return (
        f"The {file} contains none of {count} with a score; nothing was written. Is it from "
        "this course? `autograder collect --roster` gives students the ids of that file."
    )


def lms_number(student: str) -> str:
    """Return the LMS number in the id *student*, 123 in ``lovelaceada_123``; empty without one."""
    match = _NUMBER.fullmatch(student)
    if match is None or (match["changed"] and len(student) >= MAX_STUDENT):
        return ""  # a shortened id may lack the last digits of its number
    return match[1]


def comparable(text: str) -> str:
    """Return a key of *text* that ignores case, the encoding of accents, and extra spaces."""
    return " ".join(comparison_key(text).split())


class _RosterIndex:
    """The rows of a roster by number, identifier and name."""

    def __init__(self, roster: Sequence[RosterRow]) -> None:
        self.numbers: dict[str, set[int]] = defaultdict(set)
        self.identifiers: dict[str, set[int]] = defaultdict(set)
        self.names: dict[str, set[int]] = defaultdict(set)
        for entry in roster:
            self.numbers[entry.number].add(entry.row)
            for text in entry.identifiers:
                self.identifiers[comparable(text)].add(entry.row)
            for text in entry.names:
                self.names[comparable(text)].add(entry.row)


def _matching_rows(student: StudentGrades, roster: _RosterIndex) -> list[int]:
    number = lms_number(student.student)
    identifiers = {comparable(student.student), comparable(student.email)} - {""}
    rows = set(roster.numbers.get(number, ())) if number else set()
    rows = rows.union(*(roster.identifiers.get(text, ()) for text in identifiers))
    if rows:
        return sorted(rows)
    first, last = student.first_name, student.last_name
    full_names = {comparable(f"{last}, {first}"), comparable(f"{first} {last}")} - {",", ""}
    names = {comparable(student.student), *full_names}
    return sorted(rows.union(*(roster.names.get(text, ()) for text in names)))


def _match_remark(student: str, rows: list[int], claims: Counter[int], file: str) -> str:
    if len(rows) > 1:
        lines = ", ".join(str(row + 1) for row in rows)
        return f"{student}: could be any of rows {lines} of the {file}, not exported"
    if rows and claims[rows[0]] > 1:
        return f"{student}: row {rows[0] + 1} of the {file} fits two students, not exported"
    return ""


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
