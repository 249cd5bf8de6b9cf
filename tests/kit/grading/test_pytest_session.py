"""Tests one pytest session, whose items run as often as there are submissions."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import CourseError
from autograder.grading.context import SuiteContext
from autograder.grading.pytest_session import collected_items, run_item
from autograder.grading.suite_runner import open_suites

SUITE = """
import pytest

made = {"own": 0, "shared": 0}
interrupt = False

@pytest.fixture(scope="module")
def shared():
    made["shared"] += 1

@pytest.fixture
def own(shared):
    made["own"] += 1

def test_a(own):
    if interrupt:
        raise KeyboardInterrupt

def test_b(shared):
    raise ValueError("no")
"""


def test_a_missing_suite_is_the_courses_fault(tiny: Course):
    """A stage without a hidden suite can't be graded."""
    tiny.stages[0].hidden_suite.unlink()

    with pytest.raises(CourseError, match="can't be collected"), open_suites(tiny, tiny.stages):
        pass


def test_an_error_while_suites_are_open_is_raised(tiny: Course):
    """An error while suites are open is raised and not swallowed by pytest."""
    msg = "while open"

    with pytest.raises(CourseError, match=msg), open_suites(tiny, tiny.stages):
        raise CourseError(msg)


def test_the_users_pytest_settings_have_no_effect(tiny: Course, monkeypatch: pytest.MonkeyPatch):
    """PYTEST_ADDOPTS does not change a grading run, and is restored after it."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    with open_suites(tiny, tiny.stages) as runner:
        checks = runner.checks("01_tiny")

    assert len(checks) == 3
    assert os.environ["PYTEST_ADDOPTS"] == "--no-such-option"


@pytest.fixture
def items(tmp_path: Path, tiny: Course) -> Iterator[list[pytest.Item]]:
    """The items of a suite that counts how often its fixture is made."""
    (tmp_path / "test_own.py").write_text(SUITE, "utf-8")
    suites = [tmp_path / "test_own.py"]
    with collected_items(tmp_path, tmp_path, suites, SuiteContext(tiny)) as opened:
        yield opened


def test_an_item_runs_again_and_again(items: list[pytest.Item]):
    """An item that runs again gets a new function fixture, and the same module fixture."""
    first, second = items
    errors = [run_item(first, second) for _ in range(3)]

    assert errors == [None, None, None]
    assert first.module.made == {"own": 3, "shared": 1}


def test_what_an_item_raises_is_returned(items: list[pytest.Item]):
    """The exception of an item is returned, even when it runs again."""
    first, second = items

    assert [str(run_item(second, first)) for _ in range(2)] == ["no", "no"]


def test_ctrl_c_ends_the_run(items: list[pytest.Item]):
    """Ctrl-C ends the run and is not recorded as the outcome of a check."""
    first, second = items
    first.module.interrupt = True

    with pytest.raises(KeyboardInterrupt):
        run_item(first, second)
