"""The class report: scores, misconceptions, and submissions that need manual review."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import mean, median
from typing import Final

import msgspec

from autograder.course import Course
from autograder.reports.class_table import first_problem
from autograder.reports.feedback import percent
from autograder.results import Diagnosis, Results, Status, SubmissionResult, add

MANUAL_REVIEW: Final = (
    Status.BAD_OUTPUT, Status.CRASHED, Status.GRADER_ERROR, Status.OUT_OF_DISK,
    Status.OUT_OF_MEMORY, Status.TIMEOUT, Status.UNREADABLE,
)  # fmt: skip
# Full marks have a bar of their own.
BINS: Final = (*(f"{low} to {low + 9}" for low in range(0, 100, 10)), "100")
MAX_MISTAKES: Final = 12  # of one stage; rarer ones are on the students' pages


class HistogramBar(msgspec.Struct, frozen=True):
    """How many submissions earned a share of the points, drawn *height* of 100 high."""

    label: str
    count: int
    height: float


class ExerciseShare(msgspec.Struct, frozen=True):
    """How many submissions earned all points of an exercise."""

    name: str
    full: int
    of: int


class MistakeCount(msgspec.Struct, frozen=True):
    """A misconception, and how many students and checks it was found in."""

    title: str
    beyond_title: str
    students: int
    checks: int


class SubmissionRow(msgspec.Struct, frozen=True):
    """One submission in the table."""

    student: str
    page: str
    status: Status
    score: float | None
    max_score: float | None
    problem: str
    carried: float


class StageReport(msgspec.Struct, frozen=True):
    """How one stage went."""

    title: str
    facts: list[tuple[str, str]]
    bars: list[HistogramBar]
    exercises: list[ExerciseShare]
    mistakes: list[MistakeCount]
    rows: list[SubmissionRow]

    @property
    def review(self) -> list[SubmissionRow]:
        """The submissions that need manual review."""
        return [row for row in self.rows if row.status in MANUAL_REVIEW]


def build_stage_reports(
    course: Course, results: Results, pages: Sequence[str]
) -> list[StageReport]:
    """Sum up each stage in the order of the course; *pages* are the submissions' pages."""
    titles = {stage.name: stage.title for stage in course.stages}
    paged: dict[str, list[tuple[SubmissionResult, str]]] = defaultdict(list)
    for result, page in zip(results.submissions, pages, strict=True):
        paged[result.stage].append((result, page))
    names = dict.fromkeys((*titles, *paged))  # stages of no course come last
    return [_stage(titles.get(name) or name, paged[name]) for name in names if name in paged]


def _stage(title: str, paged: Sequence[tuple[SubmissionResult, str]]) -> StageReport:
    submissions = [result for result, _ in paged]
    return StageReport(
        title=title or "Stage unknown",
        facts=_facts(submissions),
        bars=_bars(submissions),
        exercises=_exercises(submissions),
        mistakes=_mistakes(submissions),
        rows=[
            SubmissionRow(
                student=item.student,
                page=page,
                status=item.status,
                score=item.score,
                max_score=item.max_score,
                problem=first_problem(item),
                carried=item.carried,
            )
            for item, page in paged
        ],
    )


def _shares(submissions: Sequence[SubmissionResult]) -> list[float]:
    """Percent of the points, of every submission that could be graded."""
    return [percent(item.score, item.max_score) for item in submissions
            if item.score is not None and item.max_score]  # fmt: skip


def _facts(submissions: Sequence[SubmissionResult]) -> list[tuple[str, str]]:
    shares = _shares(submissions)
    facts = [("submissions", str(len(submissions))), ("graded", str(len(shares)))]
    if shares:
        full = sum(share == 100 for share in shares)  # noqa: PLR2004  # percent
        facts += [
            ("full marks", str(full)),
            ("median", f"{median(shares):.0f} %"),
            ("mean", f"{mean(shares):.0f} %"),
        ]
    carried = add(item.carried for item in submissions)
    return [*facts, ("points carried forward", f"{carried:g}")] if carried else facts


def _bars(submissions: Sequence[SubmissionResult]) -> list[HistogramBar]:
    counts = Counter(int(share // 10) for share in _shares(submissions))
    if not counts:
        return []
    most = max(counts.values())
    return [
        HistogramBar(label, counts[index], round(100 * counts[index] / most, 1))
        for index, label in enumerate(BINS)
    ]


def _exercises(submissions: Sequence[SubmissionResult]) -> list[ExerciseShare]:
    full: dict[str, list[bool]] = defaultdict(list)
    for exercise in (item for result in submissions for item in result.exercises):
        full[exercise.name].append(exercise.score == exercise.max_score)
    return [ExerciseShare(name, sum(found), len(found)) for name, found in full.items()]


def _mistakes(submissions: Sequence[SubmissionResult]) -> list[MistakeCount]:
    """Count by explanation: the same mistake in `v1` and `v2` of a module is one mistake."""
    seen: dict[str, list[tuple[str, Diagnosis]]] = defaultdict(list)
    for result in submissions:
        for check in (check for exercise in result.exercises for check in exercise.checks):
            if check.diagnosis is not None:
                named = (result.student, check.diagnosis)
                seen[check.diagnosis.explanation].append(named)
    mistakes = (
        MistakeCount(
            title=found[0][1].title,
            beyond_title=found[0][1].beyond_title,
            students=len({student for student, _ in found}),
            checks=len(found),
        )
        for found in seen.values()
    )
    ranked = sorted(mistakes, key=lambda item: (-item.students, -item.checks, item.title))
    return ranked[:MAX_MISTAKES]
