"""Summarizes a class: a table for the terminal, scores, mistakes, and submissions to review."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import mean, median
from typing import Final

import msgspec
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from autograder.course import Course
from autograder.reports.check_statistics import CheckStatistics, CheckTally
from autograder.reports.class_mistakes import MistakeCount, MistakeTally
from autograder.reports.feedback import counted, percent
from autograder.reports.manual_review import first_problem, lacks_lab, review_reasons
from autograder.reports.page_names import PageNames
from autograder.reports.similar import SimilarCode, SimilarGroup
from autograder.results import Results, Status, SubmissionResult, add
from autograder.sanitize import MAX_WORD, line, name_and_id
from autograder.stored_results import scores_of

# Full marks have their own bar.
BINS: Final = (*(f"{low} to {low + 9}" for low in range(0, 100, 10)), "100")
MAX_ROWS: Final = 500  # of one table in the terminal
OPEN_MISTAKES: Final = 10  # shown for one stage; rarer ones are folded


class HistogramBar(msgspec.Struct, frozen=True):
    """The number of submissions in a range of points; *height* is that of the bar, at most 100."""

    label: str
    count: int
    height: float


class ExerciseShare(msgspec.Struct, frozen=True):
    """The number of submissions with all points of an exercise."""

    name: str
    full: int
    of: int


class SubmissionRow(msgspec.Struct, frozen=True):
    """One submission in the table; *review* is the reason for a manual review, if any.

    *name* is the student's name, or the id if the name is unknown.
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
    lacks_lab: bool = False

    @property
    def states(self) -> str:
        """The words that the report's filters use."""
        if self.score is None or not self.max_score:
            state = "none"
        else:
            state = "full" if self.score == self.max_score else "open"
        more = (["review"] if self.review else []) + (["nolab"] if self.lacks_lab else [])
        return " ".join([state, *more])


class StageRows:
    """The rows of one stage, each made from its result only when it is needed."""

    def __init__(
        self,
        submissions: Sequence[SubmissionResult],
        indices: Sequence[int],
        pages: PageNames,
        names: Mapping[str, str],
    ) -> None:
        self._submissions = submissions
        self._indices = indices
        self._pages = pages
        self._names = names

    def __iter__(self) -> Iterator[SubmissionRow]:
        return map(self.row, range(len(self._indices)))

    def results(self) -> Iterator[SubmissionResult]:
        """Yield the result of each row."""
        return map(self.result, range(len(self._indices)))

    def result(self, number: int) -> SubmissionResult:
        """Return the result of row *number*."""
        return self._submissions[self._indices[number]]

    def row(self, number: int) -> SubmissionRow:
        """Return row *number*."""
        item = self.result(number)
        return SubmissionRow(
            student=item.student,
            name=line(self._names.get(item.student, ""), MAX_WORD) or item.student,
            page=self._pages.of(self._indices[number], item),
            status=item.status,
            score=item.score,
            max_score=item.max_score,
            problem=first_problem(item),
            carried=item.carried,
            review=tuple(review_reasons(item)),
            lacks_lab=lacks_lab(item),
        )


class StageReport(msgspec.Struct, frozen=True):
    """The results of one stage; *review* are the numbers of the rows that need manual review."""

    title: str
    facts: list[tuple[str, str]]
    bars: list[HistogramBar]
    exercises: list[ExerciseShare]
    checks: list[CheckStatistics]
    mistakes: list[MistakeCount]
    similar: list[SimilarGroup]
    review: Sequence[int]
    rows: StageRows


def build_stage_reports(
    course: Course, results: Results, names: Mapping[str, str]
) -> Iterator[StageReport]:
    """Yield a summary of each stage, in the order of the course; read one result at a time.

    *names* maps ids to the known names of students.
    """
    titles = {stage.name: stage.title for stage in course.stages}
    pages = PageNames(scores_of(results))
    indices: dict[str, array[int]] = defaultdict(partial(array, "L"))
    for index, score in enumerate(scores_of(results)):
        indices[score.stage].append(index)
    for name in dict.fromkeys((*titles, *indices)):  # stages that are not in the course come last
        if name in indices:
            rows = StageRows(results.submissions, indices[name], pages, names)
            yield _stage(titles.get(name) or name, rows)


def _stage(title: str, rows: StageRows) -> StageReport:
    """Summarize a stage; read each result once, and those with equal code again."""
    shares, carried = array("d"), 0.0  # the percentages of all graded submissions
    count, without_lab, review = 0, 0, array("L")
    exercises: dict[str, list[int]] = {}
    checks, mistakes, code = CheckTally(), MistakeTally(), SimilarCode()
    for count, result in enumerate(rows.results(), 1):
        if result.score is not None and result.max_score:
            shares.append(percent(result.score, result.max_score))
        without_lab += lacks_lab(result)
        if any(review_reasons(result)):
            review.append(count - 1)
        for exercise in result.exercises:
            full = exercises.setdefault(exercise.name, [0, 0])
            full[0] += exercise.score == exercise.max_score
            full[1] += 1
        carried = add((carried, result.carried))
        checks.add(result)
        mistakes.add(count - 1, result)
        code.add(count - 1, result)
    return StageReport(
        title=title or "Stage unknown",
        facts=_facts(count, shares, carried, without_lab),
        bars=_bars(shares),
        exercises=[ExerciseShare(name, full, of) for name, (full, of) in exercises.items()],
        checks=checks.statistics(),
        mistakes=mistakes.most_common(),
        similar=code.groups(rows.result),
        review=review,
        rows=rows,
    )


def _facts(
    count: int, shares: Sequence[float], carried: float, without_lab: int
) -> list[tuple[str, str]]:
    facts = [("submissions", str(count)), ("graded", str(len(shares)))]
    if shares:
        full = sum(share == 100 for share in shares)  # noqa: PLR2004  # the share is in percent
        facts += [
            ("full marks", str(full)),
            ("median", f"{median(shares):.0f} %"),
            ("mean", f"{mean(shares):.0f} %"),
        ]
    facts += [("points carried forward", f"{carried:g}")] if carried else []
    return [*facts, ("without written answers", str(without_lab))] if without_lab else facts


def _bars(shares: Sequence[float]) -> list[HistogramBar]:
    counts = Counter(int(share // 10) for share in shares)
    if not counts:
        return []
    most = max(counts.values())
    return [
        HistogramBar(label, counts[index], round(100 * counts[index] / most, 1))
        for index, label in enumerate(BINS)
    ]


def missing_labs(results: Results) -> Iterator[str]:
    """Yield, for each stage, a sentence on the submissions without a lab and written answers."""
    found: dict[str, int] = defaultdict(int)
    for result in results.submissions:
        found[result.stage] += lacks_lab(result)
    for stage, number in found.items():
        if number:
            have = f"{counted(number, 'submission')} {'has' if number == 1 else 'have'}"
            yield f"{stage}: {have} no lab.ipynb, so the written answers count as missing."


def class_tables(
    results: Results, width: int, names: Mapping[str, str] | None = None
) -> Iterator[Table]:
    """Yield tables, at most *width* wide, with student, stage, points and first problem.

    *names* maps ids to the known names of students. A large class gets several tables, which look
    like one, because rich needs some KiB for each row.
    """
    found = results.submissions
    title = f"{counted(len(found), 'submission')}, isolation {results.isolation}"
    who = partial(_name_and_id, names=names or {})
    students, stages, points = _widths(found, width, who) if len(found) > MAX_ROWS else (None,) * 3
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
            table.add_row(Text(who(result.student)), stage, _points(result), problem)
        yield table


def _name_and_id(student: str, names: Mapping[str, str]) -> str:
    return name_and_id(names.get(student, ""), student)


def _widths(
    submissions: Sequence[SubmissionResult], width: int, who: Callable[[str], str]
) -> tuple[int, int, int]:
    """Return the widths of the columns of students, stages and points in all tables."""
    most = width // 4  # longer names are folded
    students, stages, points = (len(head) for head in ("student", "stage", "points"))
    for result in submissions:
        students = max(students, cell_len(who(result.student)))
        stages = max(stages, cell_len(result.stage))
        points = max(points, *map(cell_len, _points(result).plain.split("\n")))
    return min(students, most), min(stages, most), points


def _points(result: SubmissionResult) -> Text:
    if result.score is None or result.max_score is None:
        return Text("none", style="red" if result.status is Status.GRADER_ERROR else "yellow")
    full = result.score == result.max_score
    carried = f"\n{result.carried:g} carried" if result.carried else ""
    return Text(f"{result.score:g} / {result.max_score:g}{carried}", "green" if full else "")
