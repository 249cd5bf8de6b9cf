"""Provides the fixtures of checks as a pytest plugin, for grading and for plain ``pytest``."""

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
