"""The whole class on one page: how it went, where it went wrong, and who needs a person."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Final

from autograder.course import Course
from autograder.reports.class_table import trouble
from autograder.reports.feedback import mistake_name, percent
from autograder.reports.page_names import page_names
from autograder.reports.templating import render
from autograder.results import Results, Status, SubmissionResult
from autograder.sanitize import sanitize

ASK_A_PERSON: Final = frozenset(
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
)  # full marks stand apart
MAX_MISTAKES: Final = 12  # of one stage; what a single student did once is on that student's page


@dataclass(frozen=True)
class Bar:
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
class Mistake:
    """A misconception, how many checks named it, and how many students it took."""

    name: str
    explanation: str
    students: int
    checks: int


@dataclass(frozen=True)
class Line:
    """One submission in the table."""

    student: str
    page: str
    status: str
    score: float | None
    max_score: float | None
    percent: float
    trouble: str
    ask: bool


@dataclass(frozen=True)
class StageReport:
    """How one stage went."""

    name: str
    title: str
    facts: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    exercises: tuple[ExerciseShare, ...]
    mistakes: tuple[Mistake, ...]
    lines: tuple[Line, ...]

    @property
    def ask(self) -> tuple[Line, ...]:
        """The submissions that the grader can't settle alone."""
        return tuple(line for line in self.lines if line.ask)


def class_report(course: Course, results: Results) -> str:
    """Write the page about the run; it links to the pages named by ``page_names``."""
    stages = _stages(course, results)
    return render("class_report.html", course=course.file.title, results=results, stages=stages)


def _stages(course: Course, results: Results) -> list[StageReport]:
    titles = {stage.name: stage.title for stage in course.stages}
    order = list(titles)
    paged: dict[str, list[tuple[SubmissionResult, str]]] = defaultdict(list)
    for result, page in zip(results.submissions, page_names(results.submissions), strict=True):
        paged[result.stage].append((sanitize(result), page))
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
        lines=tuple(_line(result, page) for result, page in paged),
    )


def _shares(submissions: Sequence[SubmissionResult]) -> list[float]:
    """Percent of the points, of every submission that could be judged."""
    return [percent(item.score, item.max_score) for item in submissions
            if item.score is not None and item.max_score]  # fmt: skip


def _facts(submissions: Sequence[SubmissionResult]) -> tuple[tuple[str, str], ...]:
    shares = _shares(submissions)
    judged = (
        (
            ("full marks", str(sum(share == 100 for share in shares))),  # noqa: PLR2004  # percent
            ("median", f"{median(shares):.0f} %"),
            ("mean", f"{mean(shares):.0f} %"),
        )
        if shares
        else ()
    )
    return (("submissions", str(len(submissions))), ("judged", str(len(shares))), *judged)


def _bars(submissions: Sequence[SubmissionResult]) -> tuple[Bar, ...]:
    counts = Counter(int(share // 10) for share in _shares(submissions))
    most = max(counts.values(), default=0)
    if not most:
        return ()
    return tuple(
        Bar(label, counts[place], round(100 * counts[place] / most, 1))
        for place, label in enumerate(BINS)
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


def _mistakes(submissions: Sequence[SubmissionResult]) -> tuple[Mistake, ...]:
    """Count by explanation: what `v1` and `v2` of a module get wrong alike is one mistake."""
    seen: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for result in submissions:
        for check in (check for exercise in result.exercises for check in exercise.checks):
            if check.diagnosis is not None:
                named = (result.student, mistake_name(check.diagnosis.misconception))
                seen[check.diagnosis.explanation].append(named)
    mistakes = (
        Mistake(
            name=min((name for _, name in told), key=lambda name: (len(name), name)),
            explanation=explanation,
            students=len({student for student, _ in told}),
            checks=len(told),
        )
        for explanation, told in seen.items()
    )
    ranked = sorted(mistakes, key=lambda item: (-item.students, -item.checks, item.name))
    return tuple(ranked[:MAX_MISTAKES])


def _line(result: SubmissionResult, page: str) -> Line:
    return Line(
        student=result.student,
        page=page,
        status=result.status,
        score=result.score,
        max_score=result.max_score,
        percent=percent(result.score or 0.0, result.max_score or 0.0),
        trouble=trouble(result),
        ask=result.status in ASK_A_PERSON,
    )
