"""Tests the proof that a companion does with the solutions what the course's own code does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autograder import companion
from autograder.authoring.verify import companion_problems
from autograder.companion import CompanionAnswer
from autograder.course import COMPANION_FILE, Course
from autograder.errors import GraderError

TOML = """
format_version = 1
name = "counter"
module = "counter"
least_margin = 0.02

[[slot]]
stage = "01_tiny"
needs = ["double"]
glue = "twice"
[slot.shown]
start = "3"
"""


@pytest.fixture
def course(tiny: Course, monkeypatch: pytest.MonkeyPatch) -> Course:
    """The tiny course with a companion; no worker is started."""

    class NoWorkers:
        def wait_ready(self) -> None:
            pass

    @contextmanager
    def none(_limits: object) -> Iterator[NoWorkers]:
        yield NoWorkers()

    monkeypatch.setattr("autograder.authoring.verify.own_workers", none)
    tiny.shared_source.mkdir(parents=True)
    (tiny.shared_source / COMPANION_FILE).write_text(TOML)
    return tiny


def found(course: Course, monkeypatch: pytest.MonkeyPatch, answer: CompanionAnswer) -> list[str]:
    """Return the findings if the companion gives *answer*."""
    asked = []

    def give(_server: object, _shared: Path, slots: object, modules: object, _request: object):
        asked.append((slots, modules))
        return answer

    monkeypatch.setattr(companion, "show", give)
    result = list(companion_problems(course, course.every_stage))
    ((_, modules),) = asked
    assert list(modules) == ["01_tiny"]
    return result


def test_the_course_s_own_result_is_no_finding(course: Course, monkeypatch: pytest.MonkeyPatch):
    """A clear text that equals the course's holds."""
    assert found(course, monkeypatch, CompanionAnswer((), 1.0, margin=0.5)) == []


def test_a_different_result_is_a_finding(course: Course, monkeypatch: pytest.MonkeyPatch):
    """The finding quotes why."""
    parts = (("It differs from character 4 on.", ""),)
    (finding,) = found(course, monkeypatch, CompanionAnswer(parts, 1.0, is_own=False, margin=0.5))

    assert finding.startswith("01_tiny: with the solution")
    assert "from character 4 on" in finding


@pytest.mark.parametrize("margin", [0.01, None])
def test_a_text_that_rounding_could_change_is_a_finding(
    course: Course, monkeypatch: pytest.MonkeyPatch, margin: float | None
):
    """Only a clear text may be printed."""
    (finding,) = found(course, monkeypatch, CompanionAnswer((), 1.0, margin=margin))

    assert "below 0.02" in finding


def test_a_slot_of_an_unknown_exercise_is_a_finding(
    course: Course, monkeypatch: pytest.MonkeyPatch
):
    """It would never be filled."""
    (course.shared_source / COMPANION_FILE).write_text(TOML.replace('"double"', '"duble"'))
    findings = found(course, monkeypatch, CompanionAnswer((), 1.0, margin=0.5))

    assert findings == ["companion.toml needs 01_tiny/duble, which is not an exercise."]


def test_a_companion_that_fails_is_a_finding(course: Course, monkeypatch: pytest.MonkeyPatch):
    """The reason is part of it."""

    def fail(*_args: object) -> None:
        msg = "the companion failed"
        raise GraderError(msg)

    monkeypatch.setattr(companion, "show", fail)

    assert list(companion_problems(course, course.every_stage)) == [
        "01_tiny: companion.toml: the companion failed"
    ]


def test_a_course_without_a_companion_has_no_finding(tiny: Course):
    """Nothing is run."""
    assert list(companion_problems(tiny, tiny.every_stage)) == []
