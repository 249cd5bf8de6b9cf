"""The grade table: one row per student, one column per stage, a score in each cell.

It is made from a record here. The gradebook makes one from nbgrader's database, which has names,
manual scores and late penalties, too.
"""

from collections import Counter

import msgspec

from autograder.course import Course, Stage
from autograder.errors import UsageError
from autograder.results import Results, SubmissionResult


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One student's points in one stage; ``None`` where there is no grade, which is not a zero.

    *score* is *raw* less *penalty*. *exercises* are ``(score, max_score)`` by name.
    """

    raw: float | None
    score: float | None
    max_score: float | None
    penalty: float = 0.0
    exercises: dict[str, tuple[float | None, float]] = {}
    timestamp: str = ""
    duedate: str = ""


class StudentGrades(msgspec.Struct, frozen=True, kw_only=True):
    """A student, and the scores by stage; a stage that is missing was not handed in."""

    student: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    scores: dict[str, Score] = {}


class StageColumn(msgspec.Struct, frozen=True):
    """A stage; *max_score* is ``None`` where no submission could be graded."""

    name: str
    title: str
    max_score: float | None = None


class GradeTable(msgspec.Struct, frozen=True, kw_only=True):
    """All stages in the order of the course, all students, and remarks on who is missing."""

    stages: tuple[StageColumn, ...]
    rows: tuple[StudentGrades, ...]
    remarks: tuple[str, ...] = ()

    @property
    def graded(self) -> tuple[StageColumn, ...]:
        """The stages in which a student has a score: the others need no column."""
        return tuple(stage for stage in self.stages if any(self.scores(stage.name)))

    def scores(self, stage: str) -> list[tuple[StudentGrades, Score]]:
        """Return the students with a grade in *stage*, each with the score."""
        found = [(row, row.scores[stage]) for row in self.rows if stage in row.scores]
        return [(row, score) for row, score in found if score.score is not None]


def grade_table(results: Results, course: Course) -> GradeTable:
    """Lay out *results*; raises ``UsageError`` where a student has a stage twice."""
    known = {stage.name for stage in course.stages}
    found = [result for result in results.submissions if result.stage in known]
    _reject_duplicates(found)
    rows: dict[str, dict[str, Score]] = {}
    for result in found:
        rows.setdefault(result.student, {})[result.stage] = Score(
            raw=result.score,
            score=result.score,
            max_score=result.max_score,
            exercises={item.name: (item.score, item.max_score) for item in result.exercises},
        )
    remarks = (_remark(result, known) for result in results.submissions)
    return GradeTable(
        stages=tuple(_column(stage, found) for stage in course.stages),
        rows=tuple(StudentGrades(student=name, scores=scores) for name, scores in rows.items()),
        remarks=tuple(filter(None, remarks)),
    )


def _column(stage: Stage, results: list[SubmissionResult]) -> StageColumn:
    given = {result.max_score for result in results if result.stage == stage.name} - {None}
    if len(given) > 1:
        worth = " and ".join(f"{most:g}" for most in sorted(filter(None, given)))
        msg = (
            f"Stage {stage.name} is worth {worth} "
            "points in one record: its suite has changed. Grade all submissions of the stage again."
        )
        raise UsageError(msg)
    return StageColumn(stage.name, stage.title, next(iter(given), None))


def _reject_duplicates(results: list[SubmissionResult]) -> None:
    counts = Counter(f"{result.student} in {result.stage}" for result in results)
    duplicates = [name for name, count in counts.items() if count > 1]
    if duplicates:
        msg = (
            f"Handed in twice, so it is unknown which one counts: {'; '.join(duplicates)}. "
            "Remove one of each and grade again."
        )
        raise UsageError(msg)


def _remark(result: SubmissionResult, known: set[str]) -> str:
    if result.stage not in known:
        where = f"the course has no stage {result.stage!r}" if result.stage else "no stage is known"
        why = f" ({result.message})" if result.message else ""
        return f"{result.student}: not exported, {where}{why}"
    if result.score is None:
        return f"{result.student}: no grade in {result.stage}, left empty ({result.status})"
    return ""
