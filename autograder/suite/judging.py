"""Judging submissions in one pytest session: suites are collected once, their checks run many times.

pytest's own protocol runs every check (fixtures, marks and reports are pytest's); only the loop
around the items is ours: for each submission, the checks of its stage.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from _pytest.runner import runtestprotocol  # the way that plugins run an item again

from autograder.course import Course, Stage
from autograder.errors import CourseError, GraderError
from autograder.results import CheckResult, ExerciseResult, Status, SubmissionResult, add
from autograder.sandbox.faults import Fault
from autograder.sandbox.session import Session
from autograder.sandbox.wire import Problem
from autograder.submission import Submission
from autograder.suite import plugin
from autograder.suite.checks import Card, Layer, card_of, title_of
from autograder.suite.desk import Desk
from autograder.suite.local import solution_channel
from autograder.suite.student import Channel
from autograder.suite.verdict import Verdict

_Work = TypeVar("_Work")
INI = Path(__file__).with_name("grading.ini")
UNUSED_PLUGINS = (  # each costs time per check or prints; none changes a verdict
    "terminal",
    "cacheprovider",
    "logging",
    "junitxml",
    "faulthandler",
    "unraisableexception",
    "threadexception",
    "warnings",
    "doctest",
    "unittest",
    "capture",
    "stepwise",
    "recwarn",
    "tmpdir",
)


def with_judge(
    course: Course,
    stages: Sequence[Stage],
    work: Callable[["Judge"], _Work],
    *,
    public: bool = False,
) -> _Work:
    """Collect the hidden (or public) suites of *stages*, then let *work* judge with them."""
    suites = [stage.public_suite if public else stage.hidden_suite for stage in stages]
    loop = _Loop(course, work)
    options = ["-c", str(INI), "--rootdir", str(course.root)]
    options += [f"-pno:{name}" for name in UNUSED_PLUGINS]
    with _plain_environment():
        code = pytest.main(
            [*options, *map(str, suites)],
            plugins=[plugin, loop],
        )
    if loop.error is not None:
        raise loop.error
    if not loop.done:
        msg = f"The suites can't be collected (pytest's exit code {int(code)}). {loop.why}"
        raise CourseError(msg)
    return loop.result  # type: ignore[return-value]  # set when done


class Judge:
    """Knows the checks of every stage and runs them against one channel after another."""

    def __init__(self, course: Course, desk: Desk, items: Sequence[pytest.Item]) -> None:
        self.course = course
        self._desk = desk
        self._ends: list[BaseException | None] = []
        self._checks: dict[str, list[tuple[pytest.Item, Card]]] = {}
        for item in items:
            card = card_of(item)
            if card is None:
                msg = f"{item.nodeid} has no @check(...): every hidden test says what it is worth."
                raise CourseError(msg)
            self._checks.setdefault(item.path.parent.name, []).append((item, card))

    def cards(self, stage: str) -> list[tuple[str, str, Card]]:
        """List name, title and card of every check of *stage*, in order."""
        return [(item.name, title_of(item), card) for item, card in self._checks.get(stage, [])]

    def untrue(self, stage: Stage) -> Iterator[str]:
        """Say which documented values the solution of *stage* does not give on this machine."""
        channel = solution_channel(stage.solution)
        for item, card in self._checks.get(stage.name, []):
            if card.layer in {Layer.PARAMETERS, Layer.DOCUMENTED}:
                error = self.run(item, channel)
                if error is not None:
                    yield f"{stage.name}, {item.name}: {error}"

    def judge(self, submission: Submission, session: Session) -> SubmissionResult:
        """Run every check of the submission's stage; never raises for what the student did."""
        checks = self._checks.get(submission.stage, [])
        opened = _open(session)
        ends = [(card, self._verdict(item, card, session, opened)) for item, card in checks]
        exercises = tuple(
            ExerciseResult.of(name, tuple(result for card, result in ends if card.exercise == name))
            for name in dict.fromkeys(card.exercise for card, _ in ends)
        )
        status, message = _overall(session, opened)
        return _record(submission, status, message, exercises, _notices(session))

    def run(self, item: pytest.Item, channel: Channel) -> BaseException | None:
        """Run one check against *channel* by pytest's protocol; returns what it raised."""
        self._desk.channel = channel
        self._ends.clear()
        runtestprotocol(item, log=False, nextitem=self._neighbour(item))
        self._desk.channel = None
        return next((end for end in self._ends if end is not None), None)

    def _neighbour(self, item: pytest.Item) -> pytest.Item | None:
        """Return another check of the same suite, so that pytest keeps the module's fixtures standing."""
        suite = self._checks[item.path.parent.name]
        return next((other for other, _ in suite if other is not item), None)

    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> None:
        """Note how each phase ended; pytest makes its own report."""
        self._ends.append(call.excinfo.value if call.excinfo else None)

    def _verdict(
        self, item: pytest.Item, card: Card, session: Session, opened: Fault | None
    ) -> CheckResult:
        verdict = Verdict(item.name, title_of(item), card)
        if opened is not None:
            return verdict.skipped(opened.status, opened.message)
        for needed in (card.exercise, *card.needs):
            if fault := _missing(session, needed):
                return verdict.skipped(fault.status, fault.message)
        error = self.run(item, session)
        if error is None:
            return verdict.passed()
        return verdict.of(error) or self._blame(item, verdict, session, error)

    def _blame(
        self, item: pytest.Item, verdict: Verdict, session: Session, error: BaseException
    ) -> CheckResult:
        """Decide whose fault an unforeseen exception is: if the solution passes, the answer's."""
        ours = self.run(item, solution_channel(self._desk.stage(item).solution))
        if ours is None and isinstance(error, Exception):
            return verdict.unusable()
        msg = f"{item.nodeid} failed on {session.module}: {type(error).__name__}: {error}"
        raise GraderError(msg) from error


class _Loop:
    """The plugin object that replaces pytest's run loop."""

    def __init__(self, course: Course, work: Callable[[Judge], object]) -> None:
        self._desk = Desk(course)
        self._course = course
        self._work = work
        self.done = False
        self.result: object = None
        self.error: Exception | None = None
        self.why = ""

    def pytest_configure(self, config: pytest.Config) -> None:
        """Put our desk where the fixtures look for one."""
        config.stash[plugin.DESK] = self._desk

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the reason why a suite can't be collected."""
        if report.failed:
            self.why += str(report.longrepr)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run our work instead of each item once."""
        if session.testsfailed:
            return True
        try:
            judge = Judge(self._course, self._desk, session.items)
            session.config.pluginmanager.register(judge)
            self.result = self._work(judge)
            self.done = True
        except Exception as error:  # noqa: BLE001  # carried out of pytest, raised by with_judge
            self.error = error
        return True


def unreadable(submission: Submission) -> SubmissionResult:
    """Return the record of a submission that holds nothing to judge."""
    return _record(submission, Status.UNREADABLE, submission.problem, (), ())


def failed_grading(submission: Submission, error: Exception) -> SubmissionResult:
    """Return the record of a submission at which the grader itself failed: no grade."""
    return SubmissionResult(
        student=submission.student,
        stage=submission.stage,
        status=Status.GRADER_ERROR,
        score=None,
        max_score=None,
        message=f"The grader failed, not the student; there is no grade. {error}",
        sha256=submission.sha256,
    )


def _record(
    submission: Submission,
    status: Status,
    message: str,
    exercises: tuple[ExerciseResult, ...],
    notices: tuple[str, ...],
) -> SubmissionResult:
    return SubmissionResult(
        student=submission.student,
        stage=submission.stage,
        status=status,
        score=add(exercise.score for exercise in exercises),
        max_score=add(exercise.max_score for exercise in exercises) if exercises else None,
        message=message,
        notices=submission.notices + notices,
        ignored=submission.ignored,
        exercises=exercises,
        sha256=submission.sha256,
    )


def _open(session: Session) -> Fault | None:
    try:
        session.open()
    except Fault as fault:
        return fault
    return None


def _missing(session: Session, name: str) -> Fault | None:
    """Say why exercise *name* can't be judged, if it can't."""
    try:
        if session.ask("has", name=name).value is True:
            return None
    except Fault as fault:
        return fault
    if session.problems and not session.notebook:
        what = _told(session.problems[0])
        return Fault(Status.IMPORT_ERROR, f"{name} was not reached: {what}")
    return Fault(Status.MISSING, f"{name} is not defined in your file.")


def _overall(session: Session, opened: Fault | None) -> tuple[Status, str]:
    if opened is not None:
        return opened.status, opened.message
    if session.problems and not session.notebook:
        return Status.IMPORT_ERROR, _told(session.problems[0])
    return Status.GRADED, ""


def _notices(session: Session) -> tuple[str, ...]:
    if not session.notebook:
        return ()
    return tuple(_told(problem) for problem in session.problems[:20])


def _told(problem: Problem) -> str:
    code = f" ({problem.code})" if problem.code else ""
    text = problem.text.strip().partition("\n")[0][:200]
    if problem.place.startswith("cell "):
        return f"{problem.place}, line {problem.line} raised {problem.type}: {text}{code}"
    return (
        f"line {problem.line} raised {problem.type} while your file was imported, "
        f"and nothing below it was read: {text}{code}"
    )


@contextmanager
def _plain_environment() -> Iterator[None]:
    """Keep the user's pytest settings out of a grading run."""
    kept = dict(os.environ)
    os.environ.pop("PYTEST_ADDOPTS", None)
    os.environ.pop("PYTEST_PLUGINS", None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        yield
    finally:
        for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
            os.environ.pop(name, None)
            if name in kept:
                os.environ[name] = kept[name]
