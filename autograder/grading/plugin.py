"""The pytest plugin: the fixtures of checks.

Plain ``pytest`` runs the suites on the instructor's solutions; ``pytest tests/hidden --submission
PATH`` runs them on one submission, with pytest's ordinary output. ``suite_runner`` uses the same
fixtures to grade a class.
"""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # the first check imports torch, not every start of pytest
    from autograder.grading.context import SuiteContext
    from autograder.suite.documented import DocumentedTensors
    from autograder.suite.hidden_inputs import HiddenInputs
    from autograder.suite.student_proxy import Student

CONTEXT = pytest.StashKey["SuiteContext"]()


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
    """Register the mark that `@check` sets."""
    config.addinivalue_line("markers", "check(spec): a check of an exercise; write @check(...)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the sentence of a student's fault; a traceback through the grader would not help."""
    report = yield
    message = getattr(call.excinfo.value, "message", None) if call.excinfo else None
    if message and item.get_closest_marker("check"):
        report.longrepr = f"{item.name}: {message}"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tell the context which check its fixtures are for; the first check opens the context."""
    if not item.get_closest_marker("check"):
        return
    config = item.config
    if CONTEXT not in config.stash:
        from autograder.grading.context import StandaloneContext  # noqa: PLC0415  # imports torch

        options = config.getoption("--submission"), config.getoption("--isolation")
        standalone = config.stash[CONTEXT] = StandaloneContext(*options)
        config.add_cleanup(standalone.opened.close)
    config.stash[CONTEXT].item = item


@pytest.fixture(scope="session")
def context(pytestconfig: pytest.Config) -> "SuiteContext":
    """The context of the session."""
    return pytestconfig.stash[CONTEXT]


# These ask for no `request`: pytest would make a new fixture of it for each of them.


@pytest.fixture
def student(context: "SuiteContext") -> "Student":
    """The student's module, in another process."""
    return context.student(context.item)


@pytest.fixture
def reference(context: "SuiteContext") -> "Student":
    """The instructor's solution of the same stage, with the same methods as `student`."""
    return context.reference(context.item)


@pytest.fixture
def documented(context: "SuiteContext") -> "DocumentedTensors":
    """The documented tensors by name."""
    return context.documented(context.item)


@pytest.fixture
def probe(context: "SuiteContext") -> "HiddenInputs":
    """The source of inputs of this check: hidden ones, or public ones in a public suite."""
    return context.inputs(context.item)
