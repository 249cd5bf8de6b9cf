"""The class: its table in the terminal, scores, misconceptions, submissions to review."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, median
from typing import Final

import msgspec
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from autograder.course import Course
from autograder.reports.check_statistics import CheckStatistics, check_statistics
from autograder.reports.feedback import counted, percent
from autograder.reports.similar import SimilarGroup, similar_groups
from autograder.results import Diagnosis, Outcome, Results, Status, SubmissionResult, add
from autograder.sanitize import MAX_WORD, line

MANUAL_REVIEW: Final = (
    Status.BAD_OUTPUT, Status.CRASHED, Status.GRADER_ERROR, Status.IMPORT_ERROR,
    Status.OUT_OF_DISK, Status.OUT_OF_MEMORY, Status.TIMEOUT, Status.UNREADABLE,
)  # fmt: skip
_NO_PACKAGE: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]{1,80})'")
# What `submission` says where a lab was handed in and the module was not.
_NO_MODULE: Final = re.compile(r"handed in the lab\b|the code cells of lab[^/]{0,80} were graded")
# Full marks have a bar of their own.
BINS: Final = (*(f"{low} to {low + 9}" for low in range(0, 100, 10)), "100")
MAX_ROWS: Final = 500  # of one table in the terminal
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
    """One submission in the table; *review* is why it needs manual review, if it does.

    *name* is the student's where it is known, else the id.
    """

    student: str
    name: str
    page: str
    status: Status
    score: float | None
    max_score: float | None
    problem: str
    carried: float
    review: tuple[str, ...] = ()

    @property
    def states(self) -> str:
        """The words by which the report filters."""
        if self.score is None or not self.max_score:
            state = "none"
        else:
            state = "full" if self.score == self.max_score else "open"
        return f"{state} review" if self.review else state


class StageReport(msgspec.Struct, frozen=True):
    """How one stage went."""

    title: str
    facts: list[tuple[str, str]]
    bars: list[HistogramBar]
    exercises: list[ExerciseShare]
    checks: list[CheckStatistics]
    mistakes: list[MistakeCount]
    similar: list[SimilarGroup]
    rows: list[SubmissionRow]

    @property
    def review(self) -> list[SubmissionRow]:
        """The submissions that need manual review."""
        return [row for row in self.rows if row.review]


def build_stage_reports(
    course: Course, results: Results, pages: Sequence[str], names: Mapping[str, str]
) -> list[StageReport]:
    """Sum up each stage in the order of the course; *pages* are the submissions' pages.

    *names* are the students' names by their ids, as far as they are known.
    """
    titles = {stage.name: stage.title for stage in course.stages}
    paged: dict[str, list[tuple[SubmissionResult, str]]] = defaultdict(list)
    for result, page in zip(results.submissions, pages, strict=True):
        paged[result.stage].append((result, page))
    stages = dict.fromkeys((*titles, *paged))  # stages of no course come last
    return [
        _stage(titles.get(name) or name, paged[name], names) for name in stages if name in paged
    ]


def _stage(
    title: str, paged: Sequence[tuple[SubmissionResult, str]], names: Mapping[str, str]
) -> StageReport:
    submissions = [result for result, _ in paged]
    return StageReport(
        title=title or "Stage unknown",
        facts=_facts(submissions),
        bars=_bars(submissions),
        exercises=_exercises(submissions),
        checks=check_statistics(submissions),
        mistakes=_mistakes(submissions),
        similar=similar_groups(submissions),
        rows=[
            SubmissionRow(
                student=item.student,
                name=line(names.get(item.student, ""), MAX_WORD) or item.student,
                page=page,
                status=item.status,
                score=item.score,
                max_score=item.max_score,
                problem=first_problem(item),
                carried=item.carried,
                review=tuple(_review_reasons(item)),
            )
            for item, page in paged
        ],
    )


def _review_reasons(result: SubmissionResult) -> Iterator[str]:
    """Say why a person should look at *result*: nothing was graded, or less than was written."""
    if result.status in MANUAL_REVIEW:
        yield first_problem(result)
    said = "\n".join((result.message, *result.notices))
    if _NO_MODULE.search(said):
        yield "a lab was handed in without its module"
    messages = (check.message for exercise in result.exercises for check in exercise.checks)
    missing = dict.fromkeys(_NO_PACKAGE.findall("\n".join((said, *messages))))
    if missing:
        yield f"not installed here: {', '.join(missing)}"


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


def class_tables(results: Results, width: int) -> Iterator[Table]:
    """Lay out one row per submission, at most *width* wide: student, stage, points, first problem.

    A large class has several tables, which look like one: rich takes some KiB for each row.
    """
    found = results.submissions
    title = f"{counted(len(found), 'submission')}, isolation {results.isolation}"
    students, stages, points = _widths(found, width) if len(found) > MAX_ROWS else (None,) * 3
    for first in range(0, max(1, len(found)), MAX_ROWS):
        is_first = first == 0
        table = Table(
            title=title if is_first else None,
            title_justify="left",
            show_header=is_first,
            box=None,
            pad_edge=False,
        )
        table.add_column("student", overflow="fold", width=students)
        table.add_column("stage", overflow="fold", width=stages)
        table.add_column("points", justify="right", no_wrap=True, width=points)
        table.add_column("first problem", overflow="fold", ratio=1)
        for result in found[first : first + MAX_ROWS]:
            stage, problem = Text(result.stage or "?"), Text(first_problem(result))
            table.add_row(Text(result.student), stage, _points(result), problem)
        yield table


def _widths(submissions: Sequence[SubmissionResult], width: int) -> tuple[int, int, int]:
    """Return the widths of the columns of students, stages and points in all tables."""
    most = width // 4  # a longer name is folded
    students = max(cell_len(result.student) for result in submissions)
    stages = max(cell_len(result.stage) for result in submissions)
    lines = (part for result in submissions for part in _points(result).plain.split("\n"))
    return (
        min(max(students, len("student")), most),
        min(max(stages, len("stage")), most),
        max(len("points"), *map(cell_len, lines)),
    )


def first_problem(result: SubmissionResult) -> str:
    """Describe the first problem in one line; empty where there is none."""
    if result.status is not Status.GRADED:
        return f"{result.status}: {_first_line(result.message)}"
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.outcome is not Outcome.PASSED:
                text = check.diagnosis.explanation if check.diagnosis else check.message
                return f"{exercise.name}: {_first_line(text)}"
    return ""


def _points(result: SubmissionResult) -> Text:
    if result.score is None or result.max_score is None:
        return Text("none", style="red" if result.status is Status.GRADER_ERROR else "yellow")
    full = result.score == result.max_score
    carried = f"\n{result.carried:g} carried" if result.carried else ""
    return Text(f"{result.score:g} / {result.max_score:g}{carried}", "green" if full else "")


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0]
