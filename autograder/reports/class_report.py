"""Summarizes a class: its table in the terminal, scores, misconceptions, submissions to review."""

import re
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
from autograder.reports.feedback import counted, percent
from autograder.reports.page_names import PageNames
from autograder.reports.similar import SimilarCode, SimilarGroup
from autograder.results import Diagnosis, Outcome, Results, Status, SubmissionResult, add
from autograder.sanitize import MAX_WORD, line
from autograder.stored_results import scores_of

MANUAL_REVIEW: Final = (
    Status.BAD_OUTPUT, Status.CRASHED, Status.GRADER_ERROR, Status.IMPORT_ERROR,
    Status.OUT_OF_DISK, Status.OUT_OF_MEMORY, Status.TIMEOUT, Status.UNREADABLE,
)  # fmt: skip
MAX_CARRIED = 2.0  # points of a stage; above it, an instructor reads whether they are deserved
_NO_PACKAGE: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]{1,80})'")
# What `submission` says where a lab was submitted and the module was not.
_NO_MODULE: Final = re.compile(r"submitted the lab\b|the code cells of lab[^/]{0,80} were graded")
# What `submission` says where it had to choose among several files.
_SEVERAL_FILES: Final = re.compile(r"\d+ (?:attempts were submitted|files are named)\b")
# Full marks have a separate bar.
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


class StageRows:
    """The rows of one stage: each is made from its result when its turn comes."""

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
        """Read the result of each row."""
        return map(self.result, range(len(self._indices)))

    def result(self, number: int) -> SubmissionResult:
        """Read the result of a row."""
        return self._submissions[self._indices[number]]

    def row(self, number: int) -> SubmissionRow:
        """Make a row."""
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
            review=tuple(_review_reasons(item)),
        )


class StageReport(msgspec.Struct, frozen=True):
    """How one stage went; *review* are the numbers of the rows that need manual review."""

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
    """Sum up each stage in the order of the course, one result after the other.

    *names* are the students' names by their ids, as far as they are known.
    """
    titles = {stage.name: stage.title for stage in course.stages}
    pages = PageNames(scores_of(results))
    indices: dict[str, array[int]] = defaultdict(partial(array, "L"))
    for index, score in enumerate(scores_of(results)):
        indices[score.stage].append(index)
    for name in dict.fromkeys((*titles, *indices)):  # stages of no course come last
        if name in indices:
            rows = StageRows(results.submissions, indices[name], pages, names)
            yield _stage(titles.get(name) or name, rows)


def _stage(title: str, rows: StageRows) -> StageReport:
    """Sum up a stage; its results are read once, and those with the same code once more."""
    shares, carried = array("d"), 0.0  # percent of the points, of all that could be graded
    count, review = 0, array("L")
    exercises: dict[str, list[int]] = {}
    checks, mistakes, code = CheckTally(), _MistakeTally(), SimilarCode()
    for count, result in enumerate(rows.results(), 1):
        if result.score is not None and result.max_score:
            shares.append(percent(result.score, result.max_score))
        if any(_review_reasons(result)):
            review.append(count - 1)
        for exercise in result.exercises:
            full = exercises.setdefault(exercise.name, [0, 0])
            full[0] += exercise.score == exercise.max_score
            full[1] += 1
        carried = add((carried, result.carried))
        checks.add(result)
        mistakes.add(result)
        code.add(count - 1, result)
    return StageReport(
        title=title or "Stage unknown",
        facts=_facts(count, shares, carried),
        bars=_bars(shares),
        exercises=[ExerciseShare(name, full, of) for name, (full, of) in exercises.items()],
        checks=checks.statistics(),
        mistakes=mistakes.most_common(),
        similar=code.groups(rows.result),
        review=review,
        rows=rows,
    )


def _review_reasons(result: SubmissionResult) -> Iterator[str]:
    """Say why an instructor should read *result*.

    Nothing was graded, or less than was written, or much was earned above a wrong exercise.
    """
    if result.status in MANUAL_REVIEW:
        yield first_problem(result)
    said = "\n".join((result.message, *result.notices))
    if _NO_MODULE.search(said):
        yield "a lab was submitted without its module"
    yield from filter(_SEVERAL_FILES.match, result.notices)
    messages = (check.message for exercise in result.exercises for check in exercise.checks)
    missing = dict.fromkeys(_NO_PACKAGE.findall("\n".join((said, *messages))))
    if missing:
        yield f"not installed here: {', '.join(missing)}"
    if result.carried > MAX_CARRIED:
        yield f"{result.carried:g} points are carried forward"


def _facts(count: int, shares: Sequence[float], carried: float) -> list[tuple[str, str]]:
    facts = [("submissions", str(count)), ("graded", str(len(shares)))]
    if shares:
        full = sum(share == 100 for share in shares)  # noqa: PLR2004  # percent
        facts += [
            ("full marks", str(full)),
            ("median", f"{median(shares):.0f} %"),
            ("mean", f"{mean(shares):.0f} %"),
        ]
    return [*facts, ("points carried forward", f"{carried:g}")] if carried else facts


def _bars(shares: Sequence[float]) -> list[HistogramBar]:
    counts = Counter(int(share // 10) for share in shares)
    if not counts:
        return []
    most = max(counts.values())
    return [
        HistogramBar(label, counts[index], round(100 * counts[index] / most, 1))
        for index, label in enumerate(BINS)
    ]


class _MistakeTally:
    """Counts by explanation: the same mistake in `v1` and `v2` of a module is one mistake."""

    def __init__(self) -> None:
        self._named: dict[str, Diagnosis] = {}
        self._checks: Counter[str] = Counter()
        self._students: dict[str, set[int]] = defaultdict(set)  # hashes, which take less memory

    def add(self, result: SubmissionResult) -> None:
        """Count the mistakes of *result*."""
        for check in (check for exercise in result.exercises for check in exercise.checks):
            if check.diagnosis is not None:
                mistake = check.diagnosis.explanation
                self._named.setdefault(mistake, check.diagnosis)
                self._checks[mistake] += 1
                self._students[mistake].add(hash(result.student))

    def most_common(self) -> list[MistakeCount]:
        """Return the most common ones, by their students."""
        mistakes = (
            MistakeCount(
                title=named.headline,
                beyond_title=named.beyond_headline,
                students=len(self._students[mistake]),
                checks=self._checks[mistake],
            )
            for mistake, named in self._named.items()
        )
        ranked = sorted(mistakes, key=lambda item: (-item.students, -item.checks, item.title))
        return ranked[:MAX_MISTAKES]


def class_tables(
    results: Results, width: int, names: Mapping[str, str] | None = None
) -> Iterator[Table]:
    """Lay out one row per submission, at most *width* wide: student, stage, points, first problem.

    *names* are the students' names by their ids, as far as they are known.
    A large class has several tables, which look like one: rich takes some KiB for each row.
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
    """Return the name and the id of *student*, or the id alone."""
    name = line(names.get(student, ""), MAX_WORD)
    return f"{name} ({student})" if name else student


def _widths(
    submissions: Sequence[SubmissionResult], width: int, who: Callable[[str], str]
) -> tuple[int, int, int]:
    """Return the widths of the columns of students, stages and points in all tables."""
    most = width // 4  # a longer name is folded
    students, stages, points = (len(head) for head in ("student", "stage", "points"))
    for result in submissions:
        students = max(students, cell_len(who(result.student)))
        stages = max(stages, cell_len(result.stage))
        points = max(points, *map(cell_len, _points(result).plain.split("\n")))
    return min(students, most), min(stages, most), points


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
