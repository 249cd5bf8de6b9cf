"""Tests a learner's progress: the stored data, the next exercise, and changed files."""

import json
import re
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.student.progress import (
    PROGRESS_FILE,
    Progress,
    Task,
    first_open,
    outdated_lines,
    progress_lines,
    tasks,
)
from tests.kit.factories import STAGE_TOML


@pytest.fixture
def course(write_course) -> Course:
    """Two stages with exercises of the same names."""
    return write_course(stages=("01_tiny", "02_more"))


@pytest.fixture
def progress(tmp_path: Path) -> Progress:
    """Nothing done yet."""
    return Progress(tmp_path / PROGRESS_FILE)


def test_what_is_saved_is_read_again(progress: Progress, tmp_path: Path):
    """Passed exercises, shown hints and solutions are saved and read again."""
    progress.passed.add("01_tiny/double")
    progress.gave_up.add("01_tiny/Scale")
    progress.hints["01_tiny/double"] = 2
    progress.checked["01_tiny"] = "0123456789abcdef"
    progress.save()

    assert Progress.read(tmp_path) == progress


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="deleted"),
        pytest.param("", id="empty"),
        pytest.param('{"passed": ["01_tiny/do', id="half-written"),
        pytest.param("[1, 2]", id="a-list"),
        pytest.param('{"passed": 3, "hints": [1], "gave_up": null}', id="other-types"),
        pytest.param("[" * 100_000, id="deeply-nested"),
        pytest.param('{"passed": [1, {}], "hints": {"a": -1, "b": "x"}}', id="other-entries"),
    ],
)
def test_a_file_that_cannot_be_read_is_not_an_error(progress: Progress, tmp_path: Path, text):
    """After a damaged file the learner begins again, and the next check finds what passes."""
    if text is not None:
        progress.file.write_text(text)
    found = Progress.read(tmp_path)

    assert (found.passed, found.gave_up, found.hints) == (set(), set(), {})


def test_a_damaged_file_is_reported(progress: Progress, course: Course):
    """`progress` and `next` report a damaged file and the command that makes it again."""
    intact = [*outdated_lines(course, progress)]
    progress.file.write_text("{damaged")
    (line,) = outdated_lines(course, Progress.read(progress.file.parent))

    assert not intact
    assert line.startswith(f"{progress.file} is damaged: `autograder watch`")


def test_fields_of_another_version_are_kept(progress: Progress, tmp_path: Path):
    """Fields that a newer version wrote are kept, and fields may be missing."""
    progress.file.write_text('{"format_version": 9, "passed": ["a/b"], "hunted": ["a"]}')
    Progress.read(tmp_path).save()
    found = json.loads(progress.file.read_bytes())

    assert found["hunted"] == ["a"]
    assert found["passed"] == ["a/b"]


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path):
    """If the file can't be written, a sentence with its name is kept, and nothing is raised."""
    file = tmp_path / "own" / PROGRESS_FILE
    progress = Progress(file)
    progress.save()
    fault = progress.fault
    file.parent.mkdir()
    progress.save()

    assert fault.startswith(f"This is not remembered: {file} can't be written (")
    assert progress.fault == ""


def test_one_more_hint_each_time(progress: Progress, course: Course):
    """Each call shows one more of three hints, and an earlier one can be read again."""
    task = tasks(course)[0]

    assert [progress.next_hint(task) for _ in range(4)] == [1, 2, 3, 3]
    assert progress.next_hint(task, 1) == 1
    assert progress.hints[task.key] == 3


def test_the_first_open_exercise_comes_next(progress: Progress, course: Course):
    """The next exercise is the first open one after a given one, or none."""
    every = tasks(course)
    progress.passed = {every[0].key, every[2].key}

    assert first_open(course, progress) == every[1]
    assert first_open(course, progress, every[1]) == every[3]
    progress.passed = {task.key for task in every}
    assert first_open(course, progress) is None


def test_the_search_begins_where_watch_was_left(progress: Progress, course: Course, tmp_path: Path):
    """The first exercise to do is sought from the place where `watch` was left."""
    every = tasks(course)
    progress.at = every[2].key
    progress.passed = {every[2].key}
    progress.save()

    assert first_open(course, Progress.read(tmp_path)) == every[3]
    progress.passed.add(every[3].key)
    assert first_open(course, progress) == every[0]


def test_many_changed_stages_are_one_line(progress: Progress, course: Course):
    """The stages that have changed since their last check take one line, however many they are."""
    for stage in course.stages:
        progress.set_checked(stage, "of an older file")

    assert [*outdated_lines(course, progress)] == [
        "2 stages have changed since their last check: autograder check"
    ]
    progress.checked.popitem()
    [line] = outdated_lines(course, progress)
    assert line.endswith("has changed since its last check: autograder check 01_tiny")


def test_minutes_left_shrink_with_each_exercise(progress: Progress, write_course):
    """A passed exercise reduces the minutes left by its own, and the last one also by the lab's."""
    timed = STAGE_TOML.replace('"double"', '"double"\nminutes = 3')
    timed = timed.replace("[[exercise]]", "minutes = 12\n\n[[exercise]]", 1)
    names = ("01_tiny", "02_more")
    course = write_course({f"source/{name}/stage.toml": timed for name in names}, stages=names)
    stage = course.stages[0]
    left = []
    for exercise in stage.exercises:
        left.append(re.findall(r"(\d+) min left", "\n".join(progress_lines(course, progress))))
        progress.passed.add(Task(stage, exercise).key)

    assert left == [["12", "12", "24"], ["9", "12", "21"]]
    assert "min left" not in next(progress_lines(course, progress))
    assert [*progress_lines(course, progress)][-1] == "2 of 4 exercises, about 12 min left."


def test_many_minutes_are_hours(progress: Progress, write_course):
    """From two hours on, the time that is left is given in hours."""
    timed = STAGE_TOML.replace("[[exercise]]", "minutes = 170\n\n[[exercise]]", 1)
    course = write_course({"source/01_tiny/stage.toml": timed})

    assert [*progress_lines(course, progress)][-1] == "0 of 2 exercises, about 3 hours left."


def test_without_figures_no_minutes_are_shown(progress: Progress, course: Course):
    """If a stage does not give its minutes, `progress` shows none."""
    assert [*progress_lines(course, progress)][-1] == "0 of 4 exercises."
    assert not any("min left" in line for line in progress_lines(course, progress))
