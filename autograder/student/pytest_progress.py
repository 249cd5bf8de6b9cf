"""Lets plain `pytest` count: it notes in a learner's progress which exercises pass.

``grading.plugin`` loads this plugin by its name when a public check runs.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.course import PUBLIC_SUITE, handout
from autograder.student.learner_folder import remember
from autograder.suite.checks import spec_of

Exercise = tuple[Path, str]  # the public suite, and the name of the exercise
PASSED: "pytest.StashKey[Counter[Exercise]]" = pytest.StashKey()
FAILED: "pytest.StashKey[set[Exercise]]" = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Count the checks of each exercise that pass, and note the exercises with one that fails."""
    report = yield
    exercise = _exercise(item)
    if exercise is None:
        return report
    if report.failed:
        item.config.stash.setdefault(FAILED, set()).add(exercise)
    elif report.passed and call.when == "call":
        item.config.stash.setdefault(PASSED, Counter())[exercise] += 1
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Save which exercises pass: only those of which every check ran."""
    outcomes: dict[Path, dict[str, bool]] = defaultdict(dict)
    for suite, name in session.config.stash.get(FAILED, set()):
        outcomes[suite][name] = False
    for suite, name in _passed(session):
        outcomes[suite].setdefault(name, True)
    for suite, found in outcomes.items():
        stage = handout(suite.parent).stages[0]
        if fault := remember(stage.stub, stage, found):
            sys.stderr.write(f"{fault}\n")


def _passed(session: pytest.Session) -> Iterator[Exercise]:
    passed = session.config.stash.get(PASSED, Counter())
    collected: dict[Exercise, list[pytest.Item]] = defaultdict(list)
    for item in session.items:
        if exercise := _exercise(item):
            collected[exercise].append(item)
    for exercise, items in collected.items():
        names = {getattr(item, "originalname", item.name) for item in items}
        if names == _checks_of(items[0], exercise[1]) and passed[exercise] == len(items):
            yield exercise


def _checks_of(item: pytest.Item, exercise: str) -> set[str]:
    """Return the names of all checks of *exercise* in the suite of *item*, deselected ones too."""
    suite = item.getparent(pytest.Module)
    functions = vars(suite.obj).items() if suite is not None else ()
    return {
        name
        for name, function in functions
        for mark in getattr(function, "pytestmark", ())
        if mark.name == "check" and mark.args[0].exercise == exercise
    }


def _exercise(item: pytest.Item) -> Exercise | None:
    """Return the exercise of a check in a public suite; None for any other test."""
    spec = spec_of(item)
    return (item.path, spec.exercise) if spec and item.path.name == PUBLIC_SUITE else None
