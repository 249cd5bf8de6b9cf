"""Lets plain ``pytest`` run a public suite on the module next to it, a hidden one on the solution.

A check that fails in a public suite shows what ``autograder check`` prints about it.
"""

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from autograder.grading import fixtures
from autograder.grading.fixtures import CONTEXT

if TYPE_CHECKING:  # torch is imported by the first check, not at each start of pytest
    from autograder.grading.standalone import StandaloneContext

# By its name, because this package may not import it. It notes in a learner's folder what passes.
PROGRESS = "autograder.student.pytest_progress"
STANDALONE: "pytest.StashKey[StandaloneContext]" = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Register the fixtures of checks."""
    config.pluginmanager.register(fixtures, "autograder-checks")
    if config.args == [str(config.invocation_params.dir)]:
        config.args = ["."]  # the same folder, whose path pytest can't read if it contains a "["


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Forget the public suite of the stage before, whose module has the same name."""
    if isinstance(collector, pytest.Module) and collector.path.stem in sys.modules:
        from autograder.course import PUBLIC_SUITE  # noqa: PLC0415  # keeps pytest's start short

        if collector.path.name == PUBLIC_SUITE:
            del sys.modules[collector.path.stem]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Replace the traceback through the grader with the feedback of `autograder check`.

    A hidden suite, which runs on the solution, has only the sentence about the fault.
    """
    report = yield
    if report.failed and call.excinfo and item.get_closest_marker("check"):
        message = getattr(call.excinfo.value, "message", None)
        plain = f"{item.name}: {message}" if message else report.longrepr
        context = item.config.stash.get(STANDALONE, None)  # None if it can't be made
        report.longrepr = (context and context.feedback(item)) or plain
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note which check the fixtures are for; the first check opens the context."""
    if not item.get_closest_marker("check"):
        return
    config = item.config
    if CONTEXT not in config.stash:
        from autograder.grading.standalone import StandaloneContext  # noqa: PLC0415  # imports torch

        standalone = config.stash[CONTEXT] = config.stash[STANDALONE] = StandaloneContext()
        config.add_cleanup(standalone.opened.close)
        config.pluginmanager.import_plugin(PROGRESS)
    config.stash[CONTEXT].item = item
