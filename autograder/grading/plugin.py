"""The pytest plugin: fixtures for checks, and a `student` that lives in another process.

Plain ``pytest`` judges the instructor's solutions; ``pytest tests/hidden --submission PATH`` judges
one submission by hand, with pytest's ordinary output. Grading a class uses the same fixtures and
the same items in a loop of its own (``judging``).
"""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # torch is imported by the first check, not by every start of pytest
    from autograder.grading.context import SuiteContext
    from autograder.suite.documented import DocumentedTensors
    from autograder.suite.hidden_inputs import HiddenInputs
    from autograder.suite.student_proxy import Student

CONTEXT = pytest.StashKey["SuiteContext"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what judges one submission by hand."""
    group = parser.getgroup("autograder")
    group.addoption(
        "--submission",
        type=Path,
        metavar="PATH",
        help="judge this module or notebook instead of the instructor's solutions",
    )
    group.addoption(
        "--isolation",
        choices=["full", "process"],
        help="how strictly the judged code is confined (default: full)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark that `@check` leaves."""
    config.addinivalue_line("markers", "check(card): a check of an exercise; write @check(...)")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the sandbox, if one was opened."""
    if context := config.stash.get(CONTEXT, None):
        context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a student's fault as its sentence: a traceback through the grader helps nobody."""
    report = yield
    message = getattr(call.excinfo.value, "message", None) if call.excinfo else None
    if message and item.get_closest_marker("check"):
        report.longrepr = f"{item.name}: {message}"
    return report


@pytest.fixture(scope="session")
def context(request: pytest.FixtureRequest) -> "SuiteContext":
    """Where checks get the module they judge; opened by the first check of a session."""
    from autograder.grading.context import SuiteContext  # noqa: PLC0415  # imports torch

    config = request.config
    if CONTEXT not in config.stash:
        config.stash[CONTEXT] = SuiteContext.by_hand(
            config.getoption("--submission"), config.getoption("--isolation")
        )
    return config.stash[CONTEXT]


@pytest.fixture
def student(request: pytest.FixtureRequest, context: "SuiteContext") -> "Student":
    """The module that is judged, behind the wire."""
    return context.student(request.node)


@pytest.fixture
def reference(request: pytest.FixtureRequest, context: "SuiteContext") -> "Student":
    """The instructor's solution of the same stage, with the same verbs."""
    return context.reference(request.node)


@pytest.fixture
def documented(context: "SuiteContext", request: pytest.FixtureRequest) -> "DocumentedTensors":
    """The ledger of documented tensors, by name."""
    return context.documented(request.node)


@pytest.fixture
def probe(request: pytest.FixtureRequest, context: "SuiteContext") -> "HiddenInputs":
    """A source of hidden inputs for this check."""
    return context.probe(request.node)
