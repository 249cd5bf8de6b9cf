"""Provides the fixtures of checks as a pytest plugin.

Plain ``pytest`` runs the suites on the instructor's solutions; ``pytest tests/hidden --submission
PATH`` runs them on one submission, with pytest's ordinary output. ``suite_runner`` uses the same
fixtures to grade a class.
"""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # torch is imported by the first check, not at each start of pytest
    from autograder.grading.context import SuiteContext
    from autograder.suite.documented import DocumentedTensors
    from autograder.suite.hidden_inputs import HiddenInputs
    from autograder.suite.student_proxy import Student

CONTEXT = pytest.StashKey["SuiteContext"]()
FIXTURES = pytest.StashKey[tuple[str, ...]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for running suites on one submission."""
    group = parser.getgroup("autograder")
    group.addoption(
        "--submission",
        type=Path,
        metavar="PATH",
        help="run the suites on this module or notebook, not on the instructor's solutions",
    )
    group.addoption(
        "--isolation",
        choices=["full", "process"],
        help="how strictly the submitted code is confined (default: course.toml's, else full)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark that `@check` sets and the fixtures."""
    config.addinivalue_line("markers", "check(spec): a check of an exercise; write @check(...)")
    config.pluginmanager.register(CheckFixtures(config), "autograder-fixtures")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Replace the traceback through the grader with the sentence about the student's fault."""
    report = yield
    message = getattr(call.excinfo.value, "message", None) if call.excinfo else None
    if message and item.get_closest_marker("check"):
        report.longrepr = f"{item.name}: {message}"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set the values of a check's fixtures; the first check opens the context."""
    if not item.get_closest_marker("check"):
        return
    config = item.config
    if CONTEXT not in config.stash:
        from autograder.grading.context import StandaloneContext  # noqa: PLC0415  # imports torch

        options = config.getoption("--submission"), config.getoption("--isolation")
        standalone = config.stash[CONTEXT] = StandaloneContext(*options)
        config.add_cleanup(standalone.opened.close)
    context = config.stash[CONTEXT]
    context.item = item
    if isinstance(item, pytest.Function):
        fixtures = _own_fixtures(item)
        item.funcargs.update((name, getattr(context, name)(item)) for name in fixtures)


def _own_fixtures(item: pytest.Function) -> tuple[str, ...]:
    """Return the names of this plugin's fixtures that *item* uses and that no suite overrides.

    pytest does not set up a fixture that already has a value, which saves most of its time.
    """
    if FIXTURES not in item.stash:
        known = item._fixtureinfo.name2fixturedefs  # noqa: SLF001  # pytest has no public way to ask
        names = [name for name in item.fixturenames if name in CheckFixtures.NAMES]
        item.stash[FIXTURES] = tuple(name for name in names if len(known[name]) == 1)
    return item.stash[FIXTURES]


class CheckFixtures:
    """Defines the fixtures of checks, for use in other fixtures and in plain tests."""

    NAMES = frozenset({"student", "reference", "documented", "probe"})

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.fixture
    def student(self) -> "Student":
        """The student's module, which runs in a separate process."""
        student: Student = self._value("student")
        return student

    @pytest.fixture
    def reference(self) -> "Student":
        """The instructor's solution of the same stage, with the same methods as `student`."""
        reference: Student = self._value("reference")
        return reference

    @pytest.fixture
    def documented(self) -> "DocumentedTensors":
        """The documented tensors by name."""
        documented: DocumentedTensors = self._value("documented")
        return documented

    @pytest.fixture
    def probe(self) -> "HiddenInputs":
        """The source of inputs of this check; they are hidden, or public in a public suite."""
        probe: HiddenInputs = self._value("probe")
        return probe

    def _value(self, name: str) -> Any:
        """Return the check's own fixture, so that other fixtures draw from the same inputs."""
        context: SuiteContext = self._config.stash[CONTEXT]
        item = context.item
        given = item.funcargs if isinstance(item, pytest.Function) else {}
        return given[name] if name in given else getattr(context, name)(item)
