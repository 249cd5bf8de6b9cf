"""Judging submissions in one pytest session: suites are collected once, their checks run often.

pytest's own protocol runs every check (fixtures, marks and reports are pytest's); only the loop
around the items is ours: for each submission, the checks of its stage.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import ConftestImportFailure, _prepareconfig
from _pytest.runner import runtestprotocol  # the way that plugins run an item again

from autograder.course import Course, Handout, Stage
from autograder.diagnosis import fingerprints
from autograder.diagnosis.matcher import Failure, MisconceptionMatcher
from autograder.diagnosis.observation import Observation
from autograder.errors import CourseError, GraderError
from autograder.grading import plugin as pytest_plugin
from autograder.grading.context import SuiteContext
from autograder.grading.outcomes import missing, notices_of, opening, overall, record
from autograder.grading.verdict import Verdict
from autograder.results import CheckResult, ExerciseResult, SubmissionResult, add
from autograder.sandbox.faults import Fault
from autograder.sandbox.session import Session
from autograder.submission import Submission
from autograder.suite.checks import CheckSpec, Layer, spec_of, title_of
from autograder.suite.in_process import solution_channel
from autograder.suite.student_proxy import Channel

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


@contextmanager
def open_suites(
    course: Course, stages: Sequence[Stage], *, public: bool = False, diagnose: bool = True
) -> Iterator["SuiteRunner"]:
    """Collect the hidden (or public) suites of *stages* once; yield what runs their checks.

    Raises ``CourseError`` if a suite can't be collected or holds no check.
    """
    suites = [stage.public_suite if public else stage.hidden_suite for stage in stages]
    plugin = GradingPlugin(SuiteContext(course))
    with _pytest_session(course.root, suites, plugin) as session:
        runner = SuiteRunner(course, plugin, session.items, diagnose=diagnose)
        for stage in stages:
            if not runner.checks(stage.name):
                msg = f"The suite of {stage.name} holds no check."
                raise CourseError(msg)
        yield runner


@contextmanager
def _pytest_session(
    root: Path, suites: Sequence[Path], plugin: "GradingPlugin"
) -> Iterator[pytest.Session]:
    """Open a pytest session with *suites* collected, and close it at the end.

    These are the steps of pytest's own main: it has no public way to run one item several times.
    """
    options = ["-c", str(INI), "--rootdir", str(root), *(f"-pno:{name}" for name in UNUSED_PLUGINS)]
    try:
        with _plain_environment():
            config = _prepareconfig([*options, *map(str, suites)], [pytest_plugin, plugin])
    except (pytest.UsageError, ConftestImportFailure) as error:
        raise _not_collected(str(error)) from error
    session = pytest.Session.from_config(config)
    try:
        config._do_configure()  # noqa: SLF001  # there is no public call
        config.hook.pytest_sessionstart(session=session)
        _collect(session, plugin)
        yield session
    finally:
        config.hook.pytest_sessionfinish(session=session, exitstatus=pytest.ExitCode.OK)
        config._ensure_unconfigure()  # noqa: SLF001  # likewise


def _collect(session: pytest.Session, plugin: "GradingPlugin") -> None:
    try:
        session.config.hook.pytest_collection(session=session)
    except pytest.UsageError as error:
        raise _not_collected(str(error)) from error
    if plugin.collection_errors:
        raise _not_collected("\n".join(plugin.collection_errors))


def _not_collected(reason: str) -> CourseError:
    return CourseError(f"The suites can't be collected. {reason}")


class GradingPlugin:
    """Keeps what pytest reports: collection errors, and how each phase of a check ended."""

    def __init__(self, context: SuiteContext) -> None:
        self.context = context
        self.collection_errors: list[str] = []
        self.phase_errors: list[BaseException | None] = []

    def pytest_configure(self, config: pytest.Config) -> None:
        """Put the context where the fixtures look for one."""
        config.stash[pytest_plugin.CONTEXT] = self.context

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the reason why a suite can't be collected."""
        if report.failed:
            self.collection_errors.append(str(report.longrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> pytest.TestReport:
        """Keep how the phase ended; pytest's own report would format a traceback for nobody."""
        error = call.excinfo.value if call.excinfo else None
        self.phase_errors.append(error)
        return pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="passed" if error is None else "failed",
            longrepr=None,
            when=call.when,  # type: ignore[arg-type]  # "collect" is no phase of a check
        )


class SuiteRunner:
    """Knows the checks of every stage and runs them against one channel after another."""

    def __init__(
        self,
        course: Course,
        plugin: GradingPlugin,
        items: Sequence[pytest.Item],
        *,
        diagnose: bool = True,
    ) -> None:
        self.course = course
        self._diagnose = diagnose
        self._plugin = plugin
        self._context = plugin.context
        self._matchers: dict[str, MisconceptionMatcher | None] = {}
        self._checks: dict[str, list[tuple[pytest.Item, CheckSpec]]] = {}
        for item in items:
            spec = spec_of(item)
            if spec is None:
                msg = f"{item.nodeid} has no @check(...): every hidden test says what it is worth."
                raise CourseError(msg)
            self._checks.setdefault(item.path.parent.name, []).append((item, spec))

    def checks(self, stage: str) -> list[tuple[pytest.Item, CheckSpec]]:
        """List the checks of *stage* with what stands beside them, in order."""
        return list(self._checks.get(stage, []))

    def specs(self, stage: str) -> list[tuple[str, str, CheckSpec]]:
        """List name, title and card of every check of *stage*, in order."""
        return [(item.name, title_of(item), spec) for item, spec in self._checks.get(stage, [])]

    def points(self, stage: Stage) -> dict[str, float]:
        """Add up what the checks of each exercise of *stage* are worth."""
        specs = [spec for _, spec in self._checks.get(stage.name, [])]
        return {
            exercise.name: add(spec.points for spec in specs if spec.exercise == exercise.name)
            for exercise in stage.exercises
        }

    def wrong_documented_values(self, stage: Stage) -> Iterator[str]:
        """Say which documented values the solution of *stage* does not give on this machine."""
        channel = solution_channel(stage.solution)
        for item, spec in self._checks.get(stage.name, []):
            if spec.layer in {Layer.PARAMETERS, Layer.DOCUMENTED}:
                error = self.run(item, channel).error
                if error is not None:
                    yield f"{stage.name}, {item.name}: {error}"

    def grade_submission(
        self, submission: Submission, session: Session, exercise: str = ""
    ) -> SubmissionResult:
        """Run every check of the submission's stage, or those of one *exercise* only.

        Never raises for what the student did.
        """
        stage = self.course.stage(submission.stage)
        opened = opening(session)
        by_exercise: dict[str, list[tuple[pytest.Item, CheckSpec]]] = {}
        for item, spec in self._checks.get(stage.name, []):
            if exercise in {"", spec.exercise}:
                by_exercise.setdefault(spec.exercise, []).append((item, spec))
        exercises = tuple(
            ExerciseResult.of(name, self._exercise(stage, name, checks, session, opened))
            for name, checks in by_exercise.items()
        )
        status, message = overall(session, opened)
        return record(submission, status, message, exercises, notices_of(session))

    def run(self, item: pytest.Item, channel: Channel) -> Observation:
        """Run one check against *channel* by pytest's protocol; returns what was seen."""
        self._context.channel, self._context.last_student = channel, None
        self._plugin.phase_errors.clear()
        item.session._setupstate.teardown_exact(item)  # noqa: SLF001  # the suite that ran before
        runtestprotocol(item, log=False, nextitem=self._neighbour(item))
        error = next((end for end in self._plugin.phase_errors if end is not None), None)
        student = self._context.last_student
        self._context.channel = self._context.last_student = None
        if student is None:
            return Observation((), error)
        return Observation(tuple(student.observed), error, changed=bool(student.changed))

    def _neighbour(self, item: pytest.Item) -> pytest.Item | None:
        """Return another check of the suite, so that pytest keeps the module's fixtures up."""
        suite = self._checks[item.path.parent.name]
        return next((other for other, _ in suite if other is not item), None)

    def _exercise(
        self,
        stage: Stage,
        name: str,
        checks: Sequence[tuple[pytest.Item, CheckSpec]],
        session: Session,
        opened: Fault | None,
    ) -> tuple[CheckResult, ...]:
        """Run the checks of one exercise, then name the mistake behind those that failed."""
        session.begin(name)
        needed = dict.fromkeys(need for _, spec in checks for need in (name, *spec.needs))
        absent = {need: opened or missing(session, need) for need in needed}
        results: list[tuple[Verdict, CheckResult]] = []
        failures: list[Failure] = []
        passed: list[pytest.Item] = []
        for item, spec in checks:
            fault = next((absent[need] for need in (name, *spec.needs) if absent[need]), None)
            verdict = Verdict(item.name, title_of(item), spec, self.course.reveal)
            if fault is not None:
                results.append((verdict, verdict.skipped(fault)))
                continue
            seen = self.run(item, session)
            results.append((verdict, self._verdict(item, verdict, session, seen)))
            if seen.error is None:
                passed.append(item)
            else:
                failures.append(Failure(item, spec, seen))
        matcher = self._matcher(stage) if failures and self._diagnose else None
        named = matcher.explain(name, failures, passed) if matcher else {}
        return tuple(
            verdict.diagnosed(result, named.get(result.name)) for verdict, result in results
        )

    def _verdict(
        self, item: pytest.Item, verdict: Verdict, session: Session, seen: Observation
    ) -> CheckResult:
        if seen.error is None:
            return verdict.passed()
        return verdict.of(seen.error) or self._attribute_error(item, verdict, session, seen.error)

    def _attribute_error(
        self, item: pytest.Item, verdict: Verdict, session: Session, error: BaseException
    ) -> CheckResult:
        """Decide whose fault an unforeseen exception is: if the solution passes, the answer's.

        A student's copy has no solution; its public suite was proven on one by ``verify``.
        """
        if isinstance(self.course, Handout) and isinstance(error, Exception):
            return verdict.unusable()
        ours = self.run(item, solution_channel(self._context.stage(item).solution))
        if ours.error is None and isinstance(error, Exception):
            return verdict.unusable()
        msg = f"{item.nodeid} failed on {session.module}: {type(error).__name__}: {error}"
        raise GraderError(msg) from error

    def _matcher(self, stage: Stage) -> MisconceptionMatcher | None:
        """Return who knows the mistakes of *stage*: by the wrong code, else by its fingerprints."""
        if stage.name not in self._matchers:
            knows = stage.misconceptions.is_file()
            by_code = MisconceptionMatcher(stage, self.run) if knows else None
            self._matchers[stage.name] = by_code or fingerprints.fingerprint_matcher(stage)
        return self._matchers[stage.name]


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
