"""Provides the fixtures of checks as a pytest plugin.

Plain ``pytest`` runs a hidden suite on the instructor's solution, and a public suite on the module
next to it, with pytest's ordinary output. ``suite_runner`` uses the same fixtures to grade a class.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # torch is imported by the first check, not at each start of pytest
    from autograder.grading.context import SuiteContext
    from autograder.suite.documented import DocumentedTensors
    from autograder.suite.hidden_inputs import HiddenInputs
    from autograder.suite.student_proxy import Student

CONTEXT = pytest.StashKey["SuiteContext"]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark that `@check` sets and the fixtures."""
    config.addinivalue_line("markers", "check(spec): a check of an exercise; write @check(...)")
    config.pluginmanager.register(CheckFixtures(config), "autograder-fixtures")
    if config.args == [str(config.invocation_params.dir)]:
        config.args = ["."]  # the same folder, whose path pytest can't read if it contains a "["


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
    """Note which check the fixtures are for; the first check opens the context."""
    if not item.get_closest_marker("check"):
        return
    config = item.config
    if CONTEXT not in config.stash:
        from autograder.grading.context import StandaloneContext  # noqa: PLC0415  # imports torch

        standalone = config.stash[CONTEXT] = StandaloneContext()
        config.add_cleanup(standalone.opened.close)
    config.stash[CONTEXT].item = item


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
        context: SuiteContext = self._config.stash[CONTEXT]
        return getattr(context, name)(context.item)
