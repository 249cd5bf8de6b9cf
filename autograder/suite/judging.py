"""Judging submissions in one pytest session: suites are collected once, their checks run often.

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

from autograder.course import Course, Handout, Stage
from autograder.errors import CourseError, GraderError
from autograder.results import CheckResult, ExerciseResult, SubmissionResult, add
from autograder.sandbox.faults import Fault
from autograder.sandbox.session import Session
from autograder.submission import Submission
from autograder.suite import fingerprints, plugin
from autograder.suite.checks import Card, Layer, card_of, title_of
from autograder.suite.desk import Desk
from autograder.suite.diagnosis import Diagnostician, Failure
from autograder.suite.evidence import Evidence
from autograder.suite.local import solution_channel
from autograder.suite.records import missing, notices_of, opening, overall, record
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
    diagnose: bool = True,
) -> _Work:
    """Collect the hidden (or public) suites of *stages*, then let *work* judge with them."""
    suites = [stage.public_suite if public else stage.hidden_suite for stage in stages]
    loop = _Loop(course, stages, work, diagnose=diagnose)
    options = ["-c", str(INI), "--rootdir", str(course.root)]
    options += [f"-pno:{name}" for name in UNUSED_PLUGINS]
    with _plain_environment():
        code = pytest.main(
            [*options, *map(str, suites)],
            plugins=[plugin, loop],
        )
    if loop.error is not None:
        raise loop.error
    if code == pytest.ExitCode.INTERRUPTED and not loop.done:
        raise KeyboardInterrupt  # which pytest keeps to itself
    if not loop.done:
        msg = f"The suites can't be collected (pytest's exit code {int(code)}). {loop.why}"
        raise CourseError(msg)
    return loop.result  # type: ignore[return-value]  # set when done


class Judge:
    """Knows the checks of every stage and runs them against one channel after another."""

    def __init__(
        self, course: Course, desk: Desk, items: Sequence[pytest.Item], *, diagnose: bool = True
    ) -> None:
        self.course = course
        self._diagnose = diagnose
        self._desk = desk
        self._ends: list[BaseException | None] = []
        self._diagnosticians: dict[str, Diagnostician | None] = {}
        self._checks: dict[str, list[tuple[pytest.Item, Card]]] = {}
        for item in items:
            card = card_of(item)
            if card is None:
                msg = f"{item.nodeid} has no @check(...): every hidden test says what it is worth."
                raise CourseError(msg)
            self._checks.setdefault(item.path.parent.name, []).append((item, card))

    def checks(self, stage: str) -> list[tuple[pytest.Item, Card]]:
        """List the checks of *stage* with what stands beside them, in order."""
        return list(self._checks.get(stage, []))

    def cards(self, stage: str) -> list[tuple[str, str, Card]]:
        """List name, title and card of every check of *stage*, in order."""
        return [(item.name, title_of(item), card) for item, card in self._checks.get(stage, [])]

    def points(self, stage: Stage) -> dict[str, float]:
        """Add up what the checks of each exercise of *stage* are worth."""
        cards = [card for _, card in self._checks.get(stage.name, [])]
        return {
            exercise.name: add(card.points for card in cards if card.exercise == exercise.name)
            for exercise in stage.exercises
        }

    def untrue(self, stage: Stage) -> Iterator[str]:
        """Say which documented values the solution of *stage* does not give on this machine."""
        channel = solution_channel(stage.solution)
        for item, card in self._checks.get(stage.name, []):
            if card.layer in {Layer.PARAMETERS, Layer.DOCUMENTED}:
                error = self.run(item, channel).error
                if error is not None:
                    yield f"{stage.name}, {item.name}: {error}"

    def judge(
        self, submission: Submission, session: Session, exercise: str = ""
    ) -> SubmissionResult:
        """Run every check of the submission's stage, or those of one *exercise* only.

        Never raises for what the student did.
        """
        stage = self.course.stage(submission.stage)
        opened = opening(session)
        by_exercise: dict[str, list[tuple[pytest.Item, Card]]] = {}
        for item, card in self._checks.get(stage.name, []):
            if exercise in {"", card.exercise}:
                by_exercise.setdefault(card.exercise, []).append((item, card))
        exercises = tuple(
            ExerciseResult.of(name, self._exercise(stage, name, checks, session, opened))
            for name, checks in by_exercise.items()
        )
        status, message = overall(session, opened)
        return record(submission, status, message, exercises, notices_of(session))

    def run(self, item: pytest.Item, channel: Channel) -> Evidence:
        """Run one check against *channel* by pytest's protocol; returns what was seen."""
        self._desk.channel, self._desk.last_student = channel, None
        self._ends.clear()
        item.session._setupstate.teardown_exact(item)  # noqa: SLF001  # the suite that ran before
        runtestprotocol(item, log=False, nextitem=self._neighbour(item))
        error = next((end for end in self._ends if end is not None), None)
        student = self._desk.last_student
        self._desk.channel = self._desk.last_student = None
        if student is None:
            return Evidence((), error)
        return Evidence(tuple(student.observed), error, changed=bool(student.changed))

    def _neighbour(self, item: pytest.Item) -> pytest.Item | None:
        """Return another check of the suite, so that pytest keeps the module's fixtures up."""
        suite = self._checks[item.path.parent.name]
        return next((other for other, _ in suite if other is not item), None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> pytest.TestReport:
        """Note how each phase ended; pytest's own report would format a traceback for nobody."""
        error = call.excinfo.value if call.excinfo else None
        self._ends.append(error)
        return pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="passed" if error is None else "failed",
            longrepr=None,
            when=call.when,  # type: ignore[arg-type]  # "collect" is no phase of a check
        )

    def _exercise(
        self,
        stage: Stage,
        name: str,
        checks: Sequence[tuple[pytest.Item, Card]],
        session: Session,
        opened: Fault | None,
    ) -> tuple[CheckResult, ...]:
        """Run the checks of one exercise, then name the mistake behind those that failed."""
        session.begin(name)
        needed = dict.fromkeys(need for _, card in checks for need in (name, *card.needs))
        absent = {need: opened or missing(session, need) for need in needed}
        results: list[tuple[Verdict, CheckResult]] = []
        failures: list[Failure] = []
        passed: list[pytest.Item] = []
        for item, card in checks:
            fault = next((absent[need] for need in (name, *card.needs) if absent[need]), None)
            verdict = Verdict(item.name, title_of(item), card, self.course.reveal)
            if fault is not None:
                results.append((verdict, verdict.skipped(fault)))
                continue
            seen = self.run(item, session)
            results.append((verdict, self._verdict(item, verdict, session, seen)))
            if seen.error is None:
                passed.append(item)
            else:
                failures.append(Failure(item, card, seen))
        diagnostician = self._diagnostician(stage) if failures and self._diagnose else None
        named = diagnostician.explain(name, failures, passed) if diagnostician else {}
        return tuple(
            verdict.diagnosed(result, named.get(result.name)) for verdict, result in results
        )

    def _verdict(
        self, item: pytest.Item, verdict: Verdict, session: Session, seen: Evidence
    ) -> CheckResult:
        if seen.error is None:
            return verdict.passed()
        return verdict.of(seen.error) or self._blame(item, verdict, session, seen.error)

    def _blame(
        self, item: pytest.Item, verdict: Verdict, session: Session, error: BaseException
    ) -> CheckResult:
        """Decide whose fault an unforeseen exception is: if the solution passes, the answer's.

        A student's copy has no solution; its public suite was proven on one by ``verify``.
        """
        if isinstance(self.course, Handout) and isinstance(error, Exception):
            return verdict.unusable()
        ours = self.run(item, solution_channel(self._desk.stage(item).solution))
        if ours.error is None and isinstance(error, Exception):
            return verdict.unusable()
        msg = f"{item.nodeid} failed on {session.module}: {type(error).__name__}: {error}"
        raise GraderError(msg) from error

    def _diagnostician(self, stage: Stage) -> Diagnostician | None:
        """Return who knows the mistakes of *stage*: by the wrong code, else by its fingerprints."""
        if stage.name not in self._diagnosticians:
            knows = stage.misconceptions.is_file()
            by_code = Diagnostician(stage, self.run) if knows else None
            self._diagnosticians[stage.name] = by_code or fingerprints.recogniser(stage)
        return self._diagnosticians[stage.name]


class _Loop:
    """The plugin object that replaces pytest's run loop."""

    def __init__(
        self,
        course: Course,
        stages: Sequence[Stage],
        work: Callable[[Judge], object],
        *,
        diagnose: bool,
    ) -> None:
        self._desk = Desk(course)
        self._diagnose = diagnose
        self._course = course
        self._stages = stages
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
            judge = Judge(self._course, self._desk, session.items, diagnose=self._diagnose)
            for stage in self._stages:
                if not judge.cards(stage.name):
                    msg = f"The suite of {stage.name} holds no check."
                    raise CourseError(msg)  # noqa: TRY301  # carried out like any other
            session.config.pluginmanager.register(judge)
            self.result = self._work(judge)
            self.done = True
        except Exception as error:  # noqa: BLE001  # carried out of pytest, raised by with_judge
            self.error = error
        return True


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
