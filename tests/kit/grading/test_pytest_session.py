"""Tests one pytest session, whose items run as often as there are submissions."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.course import Course, load
from autograder.errors import CourseError, UsageError
from autograder.grading.context import SuiteContext
from autograder.grading.pytest_session import CollectedSuites, collected_suites
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


def test_a_course_is_found_from_a_relative_path(tiny: Course, monkeypatch: pytest.MonkeyPatch):
    """`--course copy` names a folder relative to the current one."""
    monkeypatch.chdir(tiny.root.parent)
    course = load(Path(tiny.root.name))

    with open_suites(course, course.stages) as runner:
        assert len(runner.checks("01_tiny")) == 3


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


ODD_FOLDERS = ("course [2026]", "a::b", "50% #1 $HOME", "-o", "Übung 'ß' \"é\" 🙂")


@pytest.mark.parametrize("name", ODD_FOLDERS)
def test_a_course_may_be_in_a_folder_of_any_name(tmp_path: Path, tiny: Course, name: str):
    """A suite is collected in any folder, also if the name has a meaning in pytest's syntax."""
    suite = tmp_path / name / "01_tiny" / f"test_{tmp_path.name}.py"
    suite.parent.mkdir(parents=True)
    suite.write_text("def test_nothing():\n    pass\n", "utf-8")
    before = Path.cwd()
    with collected_suites(suite.parents[1], tmp_path, [suite], SuiteContext(tiny)) as found:
        collected = [item.path for item in found.items]

    assert collected == [suite]
    assert Path.cwd() == before


def test_a_learners_conftest_is_not_part_of_the_public_suite(built: Course):
    """A `conftest.py` next to a public suite neither stops it nor removes checks."""
    stage = built.stages[0]
    stage.public_suite.with_name("conftest.py").write_text("import module_that_is_missing\n")
    with open_suites(built, [stage], public=True) as runner:
        assert len(runner.checks(stage.name)) == 3


def test_a_public_suite_that_lacks_checks_is_refused(built: Course):
    """A public suite that has lost checks is reported; otherwise all that is left would pass."""
    suite = built.stages[0].public_suite
    suite.write_text(suite.read_text("utf-8").rpartition("\n\n\n@check(")[0], "utf-8")
    opened = open_suites(built, built.stages, public=True)

    with pytest.raises(UsageError, match=r"lacks some of its checks .*autograder start"), opened:
        pass


@pytest.fixture
def collected(tmp_path: Path, tiny: Course) -> Iterator[CollectedSuites]:
    """A suite that counts how often its fixture is made."""
    (tmp_path / "test_own.py").write_text(SUITE, "utf-8")
    suites = [tmp_path / "test_own.py"]
    with collected_suites(tmp_path, tmp_path, suites, SuiteContext(tiny)) as opened:
        yield opened


def test_an_item_runs_again_and_again(collected: CollectedSuites):
    """An item that runs again gets a new function fixture, and the same module fixture."""
    first, _ = collected.items
    errors = [collected.run(first) for _ in range(3)]

    assert errors == [None, None, None]
    assert first.module.made == {"own": 3, "shared": 1}


def test_what_an_item_raises_is_returned(collected: CollectedSuites):
    """The exception of an item is returned, even when it runs again."""
    _, second = collected.items

    assert [str(collected.run(second)) for _ in range(2)] == ["no", "no"]


def test_ctrl_c_ends_the_run(collected: CollectedSuites):
    """Ctrl-C ends the run and is not recorded as the outcome of a check."""
    first, _ = collected.items
    first.module.interrupt = True

    with pytest.raises(KeyboardInterrupt):
        collected.run(first)


FIXTURES = """
import pytest

ended = []

@pytest.fixture(scope="module")
def shared():
    yield 1
    ended.append("module")

@pytest.fixture
def probe():
    return "own"

@pytest.mark.parametrize("number", [1, 2])
def test_numbers(shared, number):
    raise ValueError(f"{shared} {number}")

def test_own_probe(probe):
    raise ValueError(probe)
"""


@pytest.fixture
def two_suites(tmp_path: Path, tiny: Course) -> Iterator[CollectedSuites]:
    """Two suites with their own fixtures."""
    # pytest keeps the module of a file in the process, so each test has other names
    suites = [tmp_path / f"test_{name}_{tmp_path.name}.py" for name in ("first", "second")]
    for suite in suites:
        suite.write_text(FIXTURES, "utf-8")
    with collected_suites(tmp_path, tmp_path, suites, SuiteContext(tiny)) as opened:
        yield opened


def test_each_parameter_of_a_check_is_an_item(two_suites: CollectedSuites):
    """A parametrized check runs with its own parameters and with fixtures of the suite."""
    one, other, *_ = two_suites.items

    assert [str(two_suites.run(item)) for item in (one, other, one)] == ["1 1", "1 2", "1 1"]


def test_a_suite_may_replace_a_fixture_of_the_kit(two_suites: CollectedSuites):
    """A fixture of a suite replaces the kit's fixture of the same name."""
    assert str(two_suites.run(two_suites.items[2])) == "own"


def test_the_fixtures_of_a_suite_end_when_the_next_suite_runs(two_suites: CollectedSuites):
    """The module fixtures of a suite end when a check of a different suite runs."""
    first, *_, last = two_suites.items
    two_suites.run(first)
    before = list(first.module.ended)
    two_suites.run(last)

    assert (before, first.module.ended) == ([], ["module"])
