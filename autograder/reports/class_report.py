"""The class report: scores, misconceptions, and submissions that need manual review."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Final

from autograder.course import Course
from autograder.reports.class_table import first_problem
from autograder.reports.feedback import mistake_name, percent
from autograder.results import Results, Status, SubmissionResult

MANUAL_REVIEW: Final = frozenset(
    {
        Status.BAD_OUTPUT,
        Status.CRASHED,
        Status.GRADER_ERROR,
        Status.OUT_OF_DISK,
        Status.OUT_OF_MEMORY,
        Status.TIMEOUT,
        Status.UNREADABLE,
    }
)
BINS: Final = (
    *(f"{low} to {low + 9}" for low in range(0, 100, 10)),
    "100",
)  # full marks have a bar of their own
MAX_MISTAKES: Final = 12  # of one stage; rarer ones are on the students' pages


@dataclass(frozen=True)
class HistogramBar:
    """How many submissions earned a share of the points, drawn *height* of 100 high."""

    label: str
    count: int
    height: float


@dataclass(frozen=True)
class ExerciseShare:
    """How many submissions earned all points of an exercise."""

    name: str
    full: int
    of: int
    percent: float


@dataclass(frozen=True)
class MistakeCount:
    """A misconception, and how many students and checks it was found in."""

    name: str
    explanation: str
    students: int
    checks: int


@dataclass(frozen=True)
class SubmissionRow:
    """One submission in the table."""

    student: str
    page: str
    status: str
    score: float | None
    max_score: float | None
    percent: float
    problem: str
    needs_review: bool


@dataclass(frozen=True)
class StageReport:
    """How one stage went."""

    name: str
    title: str
    facts: tuple[tuple[str, str], ...]
    bars: tuple[HistogramBar, ...]
    exercises: tuple[ExerciseShare, ...]
    mistakes: tuple[MistakeCount, ...]
    rows: tuple[SubmissionRow, ...]

    @property
    def review(self) -> tuple[SubmissionRow, ...]:
        """The submissions that need manual review."""
        return tuple(row for row in self.rows if row.needs_review)


def build_stage_reports(
    course: Course, results: Results, pages: Sequence[str]
) -> list[StageReport]:
    """Sum up each stage in the order of the course; *pages* are the submissions' pages."""
    titles = {stage.name: stage.title for stage in course.stages}
    order = list(titles)
    paged: dict[str, list[tuple[SubmissionResult, str]]] = defaultdict(list)
    for result, page in zip(results.submissions, pages, strict=True):
        paged[result.stage].append((result, page))
    known = sorted(paged, key=lambda name: order.index(name) if name in order else len(order))
    return [_stage(titles.get(name, ""), paged[name]) for name in known]


def _stage(title: str, paged: Sequence[tuple[SubmissionResult, str]]) -> StageReport:
    submissions = [result for result, _ in paged]
    name = submissions[0].stage
    return StageReport(
        name=name,
        title=title or name or "Stage unknown",
        facts=_facts(submissions),
        bars=_bars(submissions),
        exercises=_exercises(submissions),
        mistakes=_mistakes(submissions),
        rows=tuple(_row(result, page) for result, page in paged),
    )


def _shares(submissions: Sequence[SubmissionResult]) -> list[float]:
    """Percent of the points, of every submission that could be graded."""
    return [percent(item.score, item.max_score) for item in submissions
            if item.score is not None and item.max_score]  # fmt: skip


def _facts(submissions: Sequence[SubmissionResult]) -> tuple[tuple[str, str], ...]:
    shares = _shares(submissions)
    graded = (
        (
            ("full marks", str(sum(share == 100 for share in shares))),  # noqa: PLR2004  # percent
            ("median", f"{median(shares):.0f} %"),
            ("mean", f"{mean(shares):.0f} %"),
        )
        if shares
        else ()
    )
    return (("submissions", str(len(submissions))), ("graded", str(len(shares))), *graded)


def _bars(submissions: Sequence[SubmissionResult]) -> tuple[HistogramBar, ...]:
    counts = Counter(int(share // 10) for share in _shares(submissions))
    most = max(counts.values(), default=0)
    if not most:
        return ()
    return tuple(
        HistogramBar(label, counts[index], round(100 * counts[index] / most, 1))
        for index, label in enumerate(BINS)
    )


def _exercises(submissions: Sequence[SubmissionResult]) -> tuple[ExerciseShare, ...]:
    full: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for exercise in (item for result in submissions for item in result.exercises):
        seen[exercise.name] += 1
        full[exercise.name] += exercise.score == exercise.max_score
    return tuple(
        ExerciseShare(name, full[name], count, percent(full[name], count))
        for name, count in seen.items()
    )


def _mistakes(submissions: Sequence[SubmissionResult]) -> tuple[MistakeCount, ...]:
    """Count by explanation: the same mistake in `v1` and `v2` of a module is one mistake."""
    seen: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for result in submissions:
        for check in (check for exercise in result.exercises for check in exercise.checks):
            if check.diagnosis is not None:
                named = (result.student, mistake_name(check.diagnosis.misconception))
                seen[check.diagnosis.explanation].append(named)
    mistakes = (
        MistakeCount(
            name=min((name for _, name in found), key=lambda name: (len(name), name)),
            explanation=explanation,
            students=len({student for student, _ in found}),
            checks=len(found),
        )
        for explanation, found in seen.items()
    )
    ranked = sorted(mistakes, key=lambda item: (-item.students, -item.checks, item.name))
    return tuple(ranked[:MAX_MISTAKES])


def _row(result: SubmissionResult, page: str) -> SubmissionRow:
    return SubmissionRow(
        student=result.student,
        page=page,
        status=result.status,
        score=result.score,
        max_score=result.max_score,
        percent=percent(result.score or 0.0, result.max_score or 0.0),
        problem=first_problem(result),
        needs_review=result.status in MANUAL_REVIEW,
    )
