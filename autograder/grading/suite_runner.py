"""Grades submissions in one pytest session: suites are collected once, their checks run often.

pytest runs every check, with its own fixtures, marks and reports; only the loop is ours: for each
submission, the checks of its stage.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import ConftestImportFailure, _prepareconfig
from _pytest.runner import runtestprotocol  # the way that plugins run an item again
from msgspec.structs import replace

from autograder.course import Course, Handout, Stage
from autograder.diagnosis import fingerprints
from autograder.diagnosis.carry_forward import Carried, CarryForward, certain_mistakes
from autograder.diagnosis.matcher import Failure, Matcher, MisconceptionMatcher, explain
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Observation, status_of
from autograder.errors import CourseError, GraderError, UsageError
from autograder.grading import plugin as pytest_plugin
from autograder.grading.context import SuiteContext
from autograder.grading.outcomes import (
    CheckOutcome,
    import_submission,
    missing_exercise,
    notices_of,
    submission_result,
    submission_status,
    withhold_known_values,
)
from autograder.results import CheckResult, ExerciseResult, Status, SubmissionResult, add
from autograder.sandbox.faults import Fault
from autograder.sandbox.session import Session
from autograder.submission import Submission
from autograder.suite.checks import CollectedCheck, Layer, spec_of
from autograder.suite.student_proxy import Channel

INI = Path(__file__).with_name("grading.ini")


@contextmanager
def open_suites(
    course: Course,
    stages: Sequence[Stage],
    *,
    public: bool = False,
    diagnose: bool = True,
    context: SuiteContext | None = None,
) -> Iterator["SuiteRunner"]:
    """Collect the hidden (or public) suites of *stages* once; yield their runner.

    Raises ``CourseError`` if a suite can't be collected or has no check.
    """
    suites = [stage.public_suite if public else stage.hidden_suite for stage in stages]
    plugin = GradingPlugin(context or SuiteContext(course))
    with _pytest_session(course.root, suites, plugin) as session:
        # the public suite gives no points, and a student's copy of it has nothing to replay
        carry_forward = course.grading.carry_forward and diagnose and not public
        runner = SuiteRunner(
            course,
            plugin,
            session.items,
            public=public,
            diagnose=diagnose,
            carry_forward=carry_forward,
        )
        for stage in stages:
            if not runner.checks(stage.name):
                msg = f"The suite of {stage.name} has no check."
                raise CourseError(msg)
        yield runner


@contextmanager
def _pytest_session(
    root: Path, suites: Sequence[Path], plugin: "GradingPlugin"
) -> Iterator[pytest.Session]:
    """Open a pytest session, collect *suites*, and close the session at the end.

    These are the steps of pytest's own main, which has no public way to run an item several times.
    """
    # Without --confcutdir pytest lists every folder above the course, and runs their conftest.py.
    folders = ["--rootdir", str(root), "--confcutdir", str(root)]
    options = ["-c", str(INI), *folders, *map(str, suites)]
    with _collecting(), pytest.MonkeyPatch.context() as environment:  # no settings of the user's
        environment.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        environment.delenv("PYTEST_ADDOPTS", raising=False)
        environment.delenv("PYTEST_PLUGINS", raising=False)
        config = _prepareconfig(options, [pytest_plugin, plugin])
    session = pytest.Session.from_config(config)
    try:
        config._do_configure()  # noqa: SLF001  # there is no public call
        config.hook.pytest_sessionstart(session=session)
        with _collecting():
            config.hook.pytest_collection(session=session)
            if plugin.collection_errors:
                raise pytest.UsageError("\n".join(plugin.collection_errors))
        yield session
    finally:
        config.hook.pytest_sessionfinish(session=session, exitstatus=pytest.ExitCode.OK)
        config._ensure_unconfigure()  # noqa: SLF001  # likewise


@contextmanager
def _collecting() -> Iterator[None]:
    """Turn pytest's errors into one of the course."""
    try:
        yield
    except (pytest.UsageError, ConftestImportFailure) as error:
        msg = f"The suites can't be collected. {error}"
        raise CourseError(msg) from error


class GradingPlugin:
    """Keeps the errors of collection and of each phase of a check."""

    def __init__(self, context: SuiteContext) -> None:
        self.context = context
        self.collection_errors: list[str] = []
        self.phase_errors: list[BaseException | None] = []

    def pytest_configure(self, config: pytest.Config) -> None:
        """Give the context to the fixtures."""
        config.stash[pytest_plugin.CONTEXT] = self.context

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the reason why a suite can't be collected."""
        if report.failed:
            self.collection_errors.append(str(report.longrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> pytest.TestReport:
        """Keep the error of the phase; pytest's own report would format a traceback in vain."""
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
    """Runs the checks of every stage on one submission after another."""

    def __init__(
        self,
        course: Course,
        plugin: GradingPlugin,
        items: Sequence[pytest.Item],
        *,
        public: bool,
        diagnose: bool,
        carry_forward: bool,
    ) -> None:
        self.course = course
        self._public = public
        self._diagnose = diagnose
        self._carry_forward = carry_forward
        self._plugin = plugin
        self._context = plugin.context
        self._matchers: dict[str, Matcher | None] = {}
        self._carriers: dict[str, CarryForward] = {}
        self._checks: dict[str, list[CollectedCheck]] = {}
        for item in items:
            spec = spec_of(item)
            if spec is None:
                msg = f"{item.nodeid} has no @check(...), which gives every check its points."
                raise CourseError(msg)
            self._checks.setdefault(item.path.parent.name, []).append(CollectedCheck(item, spec))

    def checks(self, stage: str) -> list[CollectedCheck]:
        """List the checks of *stage* in order."""
        return list(self._checks.get(stage, []))

    def points(self, stage: Stage) -> dict[str, float]:
        """Sum the points of the checks of each exercise of *stage*."""
        specs = [check.spec for check in self.checks(stage.name)]
        return {
            exercise.name: add(spec.points for spec in specs if spec.exercise == exercise.name)
            for exercise in stage.exercises
        }

    @property
    def used_documented_tensors(self) -> frozenset[str]:
        """The names of the documented tensors that checks have used so far."""
        tensors = self._context.documented_tensors
        return frozenset(tensors.used) if tensors is not None else frozenset()

    def wrong_documented_values(self, stage: Stage) -> Iterator[str]:
        """Name the documented values that the solution of *stage* does not give on this machine."""
        for check in self.checks(stage.name):
            if check.spec.layer in {Layer.PARAMETERS, Layer.DOCUMENTED}:
                error = self.run(check.item, self._context.solution(stage)).error
                if error is not None:
                    yield f"{stage.name}, {check.name}: {error}"

    def methods(self, stage: Stage, item: pytest.Item) -> frozenset[str]:
        """Return how the check *item* grades more than numbers, see ``rules.toml``."""
        return self.run(item, self._context.solution(stage)).methods

    def grade_submission(
        self, submission: Submission, session: Session, exercise: str = ""
    ) -> SubmissionResult:
        """Run every check of the submission's stage, or those of one *exercise* only.

        Never raises for what the student did.
        """
        stage = self.course.stage(submission.stage)
        import_fault = import_submission(session)
        by_exercise: dict[str, list[CollectedCheck]] = {}
        for check in self.checks(stage.name):
            if exercise in {"", check.spec.exercise}:
                by_exercise.setdefault(check.spec.exercise, []).append(check)
        mistakes: list[Misconception] = []
        exercises = []
        for name, checks in by_exercise.items():
            graded = self._grade_exercise(stage, checks, session, import_fault, mistakes)
            if not self._public:
                graded = withhold_known_values(checks, graded)
            exercises.append(ExerciseResult.of(name, graded))
        status, message = submission_status(session, import_fault)
        notices = notices_of(session, _exercises(stage))
        result = submission_result(submission, status, message, tuple(exercises), notices)
        return replace(result, printed=session.printed_by_import) if self._public else result

    def run(self, item: pytest.Item, channel: Channel) -> Observation:
        """Run one check on *channel* by pytest's protocol; return what it showed."""
        self._context.channel, self._context.last_student = channel, None
        self._plugin.phase_errors.clear()
        item.session._setupstate.teardown_exact(item)  # noqa: SLF001  # ends the suite that ran before
        runtestprotocol(item, log=False, nextitem=self._other_check(item))
        error = next((end for end in self._plugin.phase_errors if end is not None), None)
        student = self._context.last_student
        self._context.channel = self._context.last_student = None
        if student is None:
            return Observation((), error)
        changed, methods = bool(student.changed_inputs), frozenset(student.methods)
        return Observation(student.observed, error, changed, methods)

    def _other_check(self, item: pytest.Item) -> pytest.Item | None:
        """Return another check of the suite, so that pytest keeps the fixtures of the module."""
        suite = self._checks[item.path.parent.name]
        return next((other.item for other in suite if other.item is not item), None)

    def _grade_exercise(
        self,
        stage: Stage,
        checks: list[CollectedCheck],
        session: Session,
        import_fault: Fault | None,
        mistakes: list[Misconception],
    ) -> tuple[CheckResult, ...]:
        """Run the checks of one exercise, then name the mistake behind those that failed.

        It is added to *mistakes*, those in the exercises before, unless one of them explains it.
        """
        exercise = checks[0].spec.exercise
        session.begin(exercise)
        needed = dict.fromkeys(need for check in checks for need in _needs(check))
        names = _exercises(stage)
        missing = {need: import_fault or missing_exercise(session, need, names) for need in needed}
        results: list[tuple[CheckOutcome, CheckResult]] = []
        failures: list[Failure] = []
        passed: list[pytest.Item] = []
        for check in checks:
            outcome = CheckOutcome(check, self.course.reveal, public=self._public)
            fault = next((missing[need] for need in _needs(check) if missing[need]), None)
            if fault is not None:
                results.append((outcome, outcome.skipped(fault)))
                continue
            observation = self.run(check.item, session)
            result = self._result(outcome, session.module, observation.error)
            results.append((outcome, outcome.add_printed(result, session.printed)))
            if observation.error is None:
                passed.append(check.item)
            elif status_of(observation.error) != Status.NOT_IMPLEMENTED:  # that is no mistake
                failures.append(Failure(check.item, observation))
        matcher = self._matcher(stage) if failures and self._diagnose else None
        if matcher and mistakes and len(failures) + len(passed) == len(checks):  # all of it ran
            source = session.definitions
            carrier = self._carrier(stage)
            if carried := carrier.find(source, exercise, failures, passed, mistakes):
                return tuple(_carry(carried, outcome, result) for outcome, result in results)
        diagnoses = explain(matcher, exercise, failures, passed) if matcher else {}
        if matcher and self._carry_forward:
            bank = matcher.misconceptions
            mistakes += certain_mistakes(bank, exercise, diagnoses.values())
        return tuple(
            outcome.add_diagnosis(result, diagnoses.get(result.name)) for outcome, result in results
        )

    def _result(
        self, outcome: CheckOutcome, module: str, error: BaseException | None
    ) -> CheckResult:
        """Decide whose fault *error* is: an unexpected one is the answer's if the solution passes.

        A student's copy has no solution, but ``verify`` ran its public suite on the solution.
        """
        if error is None:
            return outcome.passed()
        if known := outcome.failed(error):
            return known
        if isinstance(error, UsageError):  # the public suite itself can't be used
            raise error
        item = outcome.check.item
        if isinstance(error, Exception) and (
            isinstance(self.course, Handout) or self._solution_passes(item)
        ):
            return outcome.unusable(error)
        msg = f"{item.nodeid} failed on {module}: {type(error).__name__}: {error}"
        raise GraderError(msg) from error

    def _solution_passes(self, item: pytest.Item) -> bool:
        solution = self._context.solution(self._context.stage(item))
        return self.run(item, solution).error is None

    def _matcher(self, stage: Stage) -> Matcher | None:
        """Return the matcher of *stage*: by the wrong code, or else by its fingerprints."""
        if stage.name not in self._matchers:
            self._matchers[stage.name] = (
                MisconceptionMatcher(stage, self.run, self._context.solution(stage))
                if stage.misconceptions.is_file()
                else fingerprints.fingerprint_matcher(stage)
            )
        return self._matchers[stage.name]

    def _carrier(self, stage: Stage) -> CarryForward:
        if stage.name not in self._carriers:
            solution = self._context.solution(stage)
            self._carriers[stage.name] = CarryForward(stage, self.run, solution)
        return self._carriers[stage.name]


def _carry(carried: Carried, outcome: CheckOutcome, result: CheckResult) -> CheckResult:
    """Give the points of a check that failed only by the mistake in another exercise."""
    return outcome.carried(carried.given) if outcome.check.name in carried.checks else result


def _needs(check: CollectedCheck) -> tuple[str, ...]:
    """Return the exercises that *check* can't run without."""
    return check.spec.exercise, *check.spec.needs


def _exercises(stage: Stage) -> tuple[str, ...]:
    return tuple(exercise.name for exercise in stage.exercises)
