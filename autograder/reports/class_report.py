"""Summarizes a class: a table for the terminal, scores, mistakes, and submissions to review."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from statistics import StatisticsError, correlation, mean, median
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec.structs import replace
from rich.table import Table
from rich.text import Text

from autograder.course import Course
from autograder.reports.feedback import counted, percent
from autograder.reports.page_names import page_names
from autograder.reports.similar import SameFile, SameFiles, SimilarPair
from autograder.results import (
    LATE,
    WRITTEN_OUT,
    Diagnosis,
    FlagKind,
    Outcome,
    Results,
    Status,
    SubmissionResult,
    add,
)
from autograder.sanitize import MAX_WORD, line, name_and_id
from autograder.stored_results import scores_of

# With fewer submissions, chance alone gives correlations of 0.5.
LEAST_SUBMISSIONS: Final = 20
LEAST_EACH: Final = 3  # passes, and failures; with fewer, one student decides the sign
_UNWRITTEN: Final = frozenset((Status.NOT_IMPLEMENTED, Status.MISSING))


class CheckStatistics(msgspec.Struct):
    """The outcomes of one check in all graded submissions, *written* of which have the exercise."""

    exercise: str
    title: str
    written: int = 0
    passes: list[bool] = []
    others: list[float] = []  # the points of all other checks

    @property
    def of(self) -> int:
        """The number of graded submissions."""
        return len(self.passes)

    @property
    def passed(self) -> int:
        """The number of submissions that passed."""
        return sum(self.passes)

    @property
    def share(self) -> float:
        """The percentage of the graded submissions that passed."""
        return percent(self.passed, self.of)

    @property
    def difficulty(self) -> float | None:
        """The percentage of the written exercises that did not pass; None without any."""
        return percent(self.written - self.passed, self.written) if self.written else None

    @property
    def discrimination(self) -> float | None:
        """The correlation of passing with the other points, -1 to 1; None if it is not reliable."""
        is_small = self.of < LEAST_SUBMISSIONS
        if is_small or min(self.passed, self.of - self.passed) < LEAST_EACH:
            return None
        with suppress(StatisticsError):  # all have the same points
            return round(correlation(self.passes, self.others), 2)
        return None


class CheckTally:
    """Counts the results of the checks of one stage."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], CheckStatistics] = {}

    def add(self, result: SubmissionResult) -> None:
        """Count the checks of *result*, if it is graded."""
        for exercise in result.exercises if result.score is not None else ():
            for check in exercise.checks:
                new = CheckStatistics(exercise.name, check.title)
                found = self._found.setdefault((exercise.name, check.name), new)
                found.written += check.status not in _UNWRITTEN
                found.passes.append(check.outcome is Outcome.PASSED)
                found.others.append((result.score or 0.0) - check.points)

    def statistics(self) -> list[CheckStatistics]:
        """Return the statistics of each check, in the order of the suite."""
        return [*self._found.values()]


MANUAL_REVIEW: Final = (
    Status.BAD_OUTPUT, Status.CRASHED, Status.GRADER_ERROR, Status.IMPORT_ERROR,
    Status.OUT_OF_DISK, Status.OUT_OF_MEMORY, Status.TIMEOUT, Status.UNREADABLE,
)  # fmt: skip
# Phrases about exercises that exceeded a limit.
_LIMITS: Final = {
    Status.TIMEOUT: "did not end in time",
    Status.CRASHED: "ended the process",
    Status.OUT_OF_MEMORY: "used too much memory",
    Status.OUT_OF_DISK: "wrote too much to the disk",
}


def review_reasons(result: SubmissionResult) -> Iterator[str]:
    """Yield the reasons to read *result*: parts not graded, code that the grader can't read."""
    if result.status in MANUAL_REVIEW:
        yield first_problem(result)
    yield from (flag.text for flag in result.flags if flag.kind is not FlagKind.NO_LAB)
    yield from _limits(result)


def lacks_lab(result: SubmissionResult) -> bool:
    """Return whether the lab is missing, so that written answers count as missing."""
    return any(flag.kind is FlagKind.NO_LAB for flag in result.flags)


def first_problem(result: SubmissionResult) -> str:
    """Describe the first problem in one line; empty if there is none."""
    if result.status is not Status.GRADED:
        return f"{result.status}: {_first_line(result.message)}"
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.outcome is not Outcome.PASSED:
                text = check.diagnosis.explanation if check.diagnosis else check.message
                return f"{exercise.name}: {_first_line(text)}"
    return ""


def _limits(result: SubmissionResult) -> Iterator[str]:
    """Yield sentences about exercises that exceeded a limit, unless the whole submission did."""
    if result.status in _LIMITS:
        return
    for status, how in _LIMITS.items():
        names = [
            exercise.name
            for exercise in result.exercises
            if any(check.status is status for check in exercise.checks)
        ]
        if names:
            yield f"{', '.join(names)} {how}"


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0]


MAX_LINKED: Final = 30  # students linked for one mistake; the page's search finds the others


class StudentLink(msgspec.Struct, frozen=True):
    """A link to an exercise on a student's page: the row of the student, the exercise's number."""

    row: int
    exercise: int


class MistakeCount(msgspec.Struct, frozen=True):
    """One mistake, with a question for the class; *exercises* maps their names to their numbers."""

    title: str
    beyond_title: str
    question: str
    students: int
    checks: int
    exercises: dict[str, int]
    links: tuple[StudentLink, ...] = ()


class MistakeTally:
    """Counts mistakes by explanation, so that `v1` and `v2` of a module share one."""

    def __init__(self) -> None:
        self._named: dict[str, Diagnosis] = {}
        self._checks: Counter[str] = Counter()
        self._exercises: dict[str, dict[str, int]] = defaultdict(dict)
        self._links: dict[str, list[StudentLink]] = defaultdict(list)  # one for each student

    def add(self, row: int, result: SubmissionResult) -> None:
        """Count the mistakes of *result*, which is in *row*."""
        for number, exercise in enumerate(result.exercises, 1):
            for check in exercise.checks:
                for mistake in check.diagnosis.parts if check.diagnosis else ():
                    self._add(row, number, exercise.name, mistake)

    def _add(self, row: int, number: int, exercise: str, mistake: Diagnosis) -> None:
        explanation = mistake.explanation.partition(WRITTEN_OUT)[0]
        known = self._named.get(explanation)
        if known is None or not known.hint:
            self._named[explanation] = replace(mistake, explanation=explanation)
        self._checks[explanation] += 1
        self._exercises[explanation].setdefault(exercise, number)
        links = self._links[explanation]
        if not links or links[-1].row != row:
            links.append(StudentLink(row, number))

    def most_common(self) -> list[MistakeCount]:
        """Return all mistakes, those of most students first."""
        mistakes = [
            MistakeCount(
                title=named.headline,
                beyond_title=named.beyond_headline,
                question=named.hint,
                students=len(self._links[key]),
                checks=self._checks[key],
                exercises=self._exercises[key],
                links=tuple(self._links[key][:MAX_LINKED]),
            )
            for key, named in self._named.items()
        ]
        return sorted(mistakes, key=lambda item: (-item.students, -item.checks, item.title))


# Full marks have their own bar.
BINS: Final = (*(f"{low} to {low + 9}" for low in range(0, 100, 10)), "100")
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


class GuessedChoice(msgspec.Struct, frozen=True):
    """A choice of a question, with the confidence of each student who guessed it, in percent."""

    text: str
    sure: tuple[int, ...]
    is_right: bool


class GuessedQuestion(msgspec.Struct, frozen=True):
    """A question of the course's lab, with the guesses of the class."""

    question: str
    choices: tuple[GuessedChoice, ...]

    @property
    def count(self) -> int:
        """The number of students who guessed."""
        return sum(len(choice.sure) for choice in self.choices)


Guesses = Mapping[str, Sequence[GuessedQuestion]]  # by stage
NO_GUESSES: Final[Guesses] = MappingProxyType({})


class SubmissionRow(msgspec.Struct, frozen=True):
    """One submission in the table; *name* may be the id, and *review* has reasons to read it."""

    student: str
    name: str
    page: str
    status: Status
    score: float | None
    max_score: float | None
    problem: str
    given: float
    review: tuple[str, ...] = ()
    lacks_lab: bool = False
    is_late: bool = False
    waiting: float = 0.0

    @property
    def states(self) -> str:
        """The words that the report's filters use."""
        if self.score is None or not self.max_score:
            state = "none"
        else:
            state = "full" if self.score == self.max_score else "open"
        more = (["review"] if self.review else []) + (["nolab"] if self.lacks_lab else [])
        return " ".join([state, *more])


class StageReport(msgspec.Struct, frozen=True):
    """The results of one stage."""

    name: str
    title: str
    facts: list[tuple[str, str]]
    bars: list[HistogramBar]
    exercises: list[ExerciseShare]
    checks: list[CheckStatistics]
    mistakes: list[MistakeCount]
    same: list[SameFile]
    rows: Sequence[SubmissionRow]
    guesses: Sequence[GuessedQuestion] = ()
    pairs: Sequence[SimilarPair] = ()  # of an earlier `autograder copies`

    @property
    def review(self) -> list[SubmissionRow]:
        """The submissions that need manual review."""
        return [row for row in self.rows if row.review]

    @property
    def people(self) -> dict[str, SubmissionRow]:
        """The row of each student."""
        return {row.student: row for row in self.rows}


def build_stage_reports(
    course: Course, results: Results, names: Mapping[str, str], guesses: Guesses = NO_GUESSES
) -> Iterator[StageReport]:
    """Yield a summary of each stage, in the order of the course; read one result at a time.

    *names* maps ids to the known names of students. *guesses* come from the labs of the class.
    """
    titles = {stage.name: stage.title for stage in course.stages}
    pages = page_names(scores_of(results))
    indices: dict[str, list[int]] = defaultdict(list)
    for index, score in enumerate(scores_of(results)):
        indices[score.stage].append(index)
    for name in dict.fromkeys((*titles, *indices)):  # stages that are not in the course come last
        if name in indices:
            found = ((pages[index], results.submissions[index]) for index in indices[name])
            stage = _stage(name, titles.get(name) or name, found, names)
            yield replace(stage, guesses=guesses.get(name, ()))


def _stage(
    name: str, title: str, pages: Iterable[tuple[str, SubmissionResult]], names: Mapping[str, str]
) -> StageReport:
    rows: list[SubmissionRow] = []
    exercises: dict[str, list[bool]] = defaultdict(list)  # whether each is right
    checks, mistakes, files = CheckTally(), MistakeTally(), SameFiles()
    for number, (page, result) in enumerate(pages):
        rows.append(_row(result, page, names))
        for exercise in result.exercises:
            exercises[exercise.name].append(exercise.right)
        checks.add(result)
        mistakes.add(number, result)
        files.add(number, result)
    shares = [
        percent(row.score, row.max_score) for row in rows if row.score is not None and row.max_score
    ]
    return StageReport(
        name=name,
        title=title or "Stage unknown",
        facts=_facts(rows, shares),
        bars=_bars(shares),
        exercises=[ExerciseShare(name, sum(full), len(full)) for name, full in exercises.items()],
        checks=checks.statistics(),
        mistakes=mistakes.most_common(),
        same=files.groups(),
        rows=rows,
    )


def _row(result: SubmissionResult, page: str, names: Mapping[str, str]) -> SubmissionRow:
    return SubmissionRow(
        student=result.student,
        name=line(names.get(result.student, ""), MAX_WORD) or result.student,
        page=page,
        status=result.status,
        score=result.score,
        max_score=result.max_score,
        problem=first_problem(result),
        given=result.given,
        review=tuple(review_reasons(result)),
        lacks_lab=lacks_lab(result),
        is_late=LATE in result.notices,
        waiting=result.waiting,
    )


def _facts(rows: Sequence[SubmissionRow], shares: Sequence[float]) -> list[tuple[str, str]]:
    facts = [("submissions", str(len(rows))), ("graded", str(len(shares)))]
    if shares:
        full = sum(share == 100 for share in shares)  # noqa: PLR2004  # the share is in percent
        facts += [
            ("full marks", str(full)),
            ("median", f"{median(shares):.0f} %"),
            ("mean", f"{mean(shares):.0f} %"),
        ]
    if given := add(row.given for row in rows):
        facts.append(("points with right neighbours", f"{given:g}"))
    if without_lab := sum(row.lacks_lab for row in rows):
        facts.append(("without written answers", str(without_lab)))
    return facts


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


def class_table(results: Results, names: Mapping[str, str]) -> Table:
    """Return a table with student, stage, points and first problem; *names* are by id."""
    found = results.submissions
    title = f"{counted(len(found), 'submission')}, isolation {results.isolation}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("student", overflow="fold")
    table.add_column("stage", overflow="fold")
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("first problem", overflow="fold", ratio=1)
    for result in found:
        who = name_and_id(names.get(result.student, ""), result.student)
        stage, problem = Text(result.stage or "?"), Text(first_problem(result))
        table.add_row(Text(who), stage, _points(result), problem)
    return table


def _points(result: SubmissionResult) -> Text:
    if result.score is None or result.max_score is None:
        return Text("none", style="red" if result.status is Status.GRADER_ERROR else "yellow")
    full = result.score == result.max_score
    return Text(f"{result.score:g} / {result.max_score:g}", "green" if full else "")
