"""Collects suites in one pytest session, and runs their checks any number of times.

pytest has no public way to run an item several times, so this module uses some of its private
names. No other module uses private names of pytest.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from _pytest.config import ConftestImportFailure, _prepareconfig

from autograder.errors import CourseError
from autograder.grading import plugin as pytest_plugin
from autograder.grading.context import SuiteContext

INI = Path(__file__).with_name("grading.ini")
# The module and the function of pytest that call a check.
CHECK: Final = ("_pytest.python", "pytest_pyfunc_call")


@contextmanager
def collected_items(
    root: Path, top: Path, suites: Sequence[Path], context: SuiteContext
) -> Iterator[list[pytest.Item]]:
    """Collect *suites* in a pytest session that stays open during the block; yield their items.

    Fixtures get their values from *context*. No ``conftest.py`` above the folder *top* runs. The
    steps are those of pytest's own ``main``.
    """
    plugin = GradingPlugin(context)
    # Only files that ``provenance`` hashes may run, because they affect grades.
    folders = ["--rootdir", str(root), "--confcutdir", str(top)]
    options = ["-c", str(INI), *folders, *map(str, suites)]
    with _collecting(), pytest.MonkeyPatch.context() as environment:  # ignores the user's settings
        environment.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        environment.delenv("PYTEST_ADDOPTS", raising=False)
        environment.delenv("PYTEST_PLUGINS", raising=False)
        config = _prepareconfig(options, [pytest_plugin, plugin])
    session = pytest.Session.from_config(config)
    try:
        config._do_configure()  # noqa: SLF001  # pytest has no public call for this
        config.hook.pytest_sessionstart(session=session)
        with _collecting():
            config.hook.pytest_collection(session=session)
            if plugin.collection_errors:
                raise pytest.UsageError("\n".join(plugin.collection_errors))
        yield session.items
    finally:
        config.hook.pytest_sessionfinish(session=session, exitstatus=pytest.ExitCode.OK)
        config._ensure_unconfigure()  # noqa: SLF001  # pytest has no public call for this


@contextmanager
def _collecting() -> Iterator[None]:
    """Convert pytest's errors into ``CourseError``."""
    try:
        yield
    except (pytest.UsageError, ConftestImportFailure) as error:
        msg = f"The suites can't be collected. {error}"
        raise CourseError(msg) from error


class GradingPlugin:
    """Passes the context to the fixtures, and stores errors of the collection."""

    def __init__(self, context: SuiteContext) -> None:
        self.context = context
        self.collection_errors: list[str] = []

    def pytest_configure(self, config: pytest.Config) -> None:
        """Pass the context to the fixtures."""
        config.stash[pytest_plugin.CONTEXT] = self.context

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Store the reason why a suite can't be collected."""
        if report.failed:
            self.collection_errors.append(str(report.longrepr))


def run_item(item: pytest.Item, next_item: pytest.Item | None) -> BaseException | None:
    """Run the phases of *item* with all of pytest's hooks; return the first exception, if any.

    The steps are those of pytest's ``runtestprotocol``, but without a report for each phase,
    because making a report takes as long as a check.
    """
    item.session._setupstate.teardown_exact(item)  # noqa: SLF001  # tears down the suite that ran before
    item._initrequest()  # type: ignore[attr-defined]  # noqa: SLF001  # as plugins that rerun items do
    hook = item.ihook
    try:
        error = _raised_by(hook.pytest_runtest_setup, item=item)
        error = error or _raised_by(hook.pytest_runtest_call, item=item)
        at_end = _raised_by(hook.pytest_runtest_teardown, item=item, nextitem=next_item)
    finally:
        item.funcargs = None  # type: ignore[attr-defined]  # frees the values
    return error or at_end


def _raised_by(hook: Callable[..., object], **arguments: object) -> BaseException | None:
    try:
        hook(**arguments)
    except (KeyboardInterrupt, pytest.exit.Exception):
        raise
    except BaseException as error:  # noqa: BLE001  # pytest.fail and pytest.skip raise a BaseException
        return error
    return None
