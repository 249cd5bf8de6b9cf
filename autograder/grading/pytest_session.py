"""Collects suites once with pytest, and runs their checks any number of times.

pytest collects the checks and resolves the fixtures of the suites. Only its public functions and
hooks are used: hooks of an item may also be called after the session has ended.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Final, Literal

import pytest

from autograder.course import PUBLIC_SUITE, Stage
from autograder.errors import CourseError, UsageError
from autograder.grading import fixtures
from autograder.grading.context import SuiteContext
from autograder.grading.fixtures import CONTEXT, CheckFixtures
from autograder.results import add
from autograder.suite import records
from autograder.suite.public_record import PublicRecord

INI = Path(__file__).with_name("grading.ini")
_COLLECTED = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
CHECK: Final = (__name__, "_call")  # the module and the function that call a check


@contextmanager
def collected_suites(
    root: Path, top: Path, suites: Sequence[Path], context: SuiteContext, *, public: bool = False
) -> Iterator["CollectedSuites"]:
    """Collect *suites* with pytest; their fixtures end with the block.

    Fixtures get their values from *context*. No ``conftest.py`` above the folder *top* runs, and
    none at all next to a *public* suite, where it would be the learner's own. Raises
    ``CourseError`` if a suite can't be collected.
    """
    found, printed = CollectedSuites(context), StringIO()
    if public:  # all have one name, and their files may have changed
        for name in [one for one in sys.modules if one.endswith(PUBLIC_SUITE.removesuffix(".py"))]:
            del sys.modules[name]
    for suite in suites:
        if not suite.is_file():
            raise CourseError(f"The suites can't be collected. {suite} is missing.")
    near = os.path.commonpath([suite.parent for suite in suites])
    # Only files that ``provenance`` hashes may run, because they affect grades.
    folders = [f"--rootdir={os.path.relpath(root, near)}", f"--confcutdir={top.absolute()}"]
    options = ["-c", str(INI), *folders, *(["--noconftest"] if public else [])]
    with pytest.MonkeyPatch.context() as environment:  # ignores the user's settings
        environment.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        environment.delenv("PYTEST_ADDOPTS", raising=False)
        environment.delenv("PYTEST_PLUGINS", raising=False)
        # pytest reads "[", "::" and "$" in a path as syntax; a path from here has none of them
        with redirect_stdout(printed), redirect_stderr(printed), chdir(near):
            names = [os.path.relpath(suite, near) for suite in suites]
            end = pytest.main([*options, *names], plugins=[fixtures, found])
    if end == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if found.collection_errors or end not in _COLLECTED:
        reasons = "\n".join(found.collection_errors) or printed.getvalue().strip()
        raise CourseError(f"The suites can't be collected. {reasons}")
    try:
        yield found
    finally:
        found.end_fixtures(None)


class CollectedSuites:
    """The items of suites, as a plugin that collects them and runs each as often as needed."""

    def __init__(self, context: SuiteContext) -> None:
        self.items: list[pytest.Item] = []
        self.collection_errors: list[str] = []
        self._context = context
        self._direct: set[pytest.Item] = set()  # those that need no fixture of a suite
        self._last: pytest.Item | None = None  # the last one that had fixtures of a suite
        self._errors: list[BaseException] = []  # of the phases of the current item

    def run(self, item: pytest.Item) -> BaseException | None:
        """Run *item* and return its first exception, if any.

        Without fixtures of a suite, pytest is not needed, and would take most of the time.
        """
        if item in self._direct and isinstance(item, pytest.Function):
            return self._run_directly(item)
        self.end_fixtures(item)
        self._last, self._errors, self._context.item = item, [], item
        item.ihook.pytest_runtest_protocol(item=item, nextitem=item.parent)
        return self._errors[0] if self._errors else None

    def _run_directly(self, item: pytest.Function) -> BaseException | None:
        self._context.item = item
        try:
            values = {name: getattr(self._context, name)(item) for name in item.fixturenames}
            _call(item.obj, values)
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:  # noqa: BLE001  # pytest.fail and pytest.skip raise a BaseException
            return error
        return None

    def end_fixtures(self, following: pytest.Item | None) -> None:
        """End the fixtures of the suite that ran last, unless *following* is in it too."""
        last = self._last
        if last is not None and (following is None or following.parent is not last.parent):
            with pytest.MonkeyPatch.context() as environment:
                environment.setenv("PYTEST_CURRENT_TEST", last.nodeid)  # the hook removes it
                last.ihook.pytest_runtest_teardown(item=last, nextitem=following)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Pass the context to the fixtures."""
        config.stash[CONTEXT] = self._context

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Store the reason why a suite can't be collected."""
        if report.failed:
            self.collection_errors.append(str(report.longrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Store the items instead of running them."""
        self.items = session.items
        plugins = session.config.pluginmanager.get_plugins()
        files = [one for one in plugins if isinstance(one, ModuleType)]
        for item in session.items:
            used = set(getattr(item, "fixturenames", ()))
            module = getattr(item, "module", None)
            overridden = any(not used.isdisjoint(vars(one)) for one in (*files, module) if one)
            if used <= CheckFixtures.NAMES and not overridden:
                self._direct.add(item)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        """Call the check, whose fixtures pytest has resolved."""
        names = _arguments(pyfuncitem.obj)
        _call(pyfuncitem.obj, {name: pyfuncitem.funcargs[name] for name in names})
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport | None:
        """Store the exception; pytest's own report takes as long as a check."""
        if call.when == "collect":
            return None
        outcome: Literal["passed", "failed"] = "passed"
        if call.excinfo is not None:
            outcome = "failed"
            self._errors.append(call.excinfo.value)
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, None, call.when)


def _call(check: Callable[..., object], values: Mapping[str, object]) -> None:
    """Call *check*; inside it, no code of the runner is active."""
    check(**values)


@cache
def _arguments(check: Callable[..., object]) -> tuple[str, ...]:
    return tuple(inspect.signature(check).parameters)


def require_all_checks(stage: Stage, points: float) -> None:
    """Raise ``UsageError`` if the checks of the public suite, worth *points*, are not all there."""
    record = records.find(stage.records, "replies", PublicRecord)
    every = add([record.points, -record.hidden_points]) if record else 0.0
    if points < every:
        raise UsageError(
            f"{stage.public_suite} lacks some of its checks (those here are worth {points:g} of "
            f"{every:g} points). {records.RESTORE}."
        )
