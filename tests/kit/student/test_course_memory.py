"""Tests what a learner's folder remembers about its course."""

from pathlib import Path

import pytest

from autograder.student import folder_files


def test_a_folder_remembers_its_course(tmp_path: Path):
    """The course is remembered until it is no longer there."""
    course = tmp_path / "course"
    course.mkdir()
    folder_files.remember(tmp_path / "own", course)
    assert folder_files.remembered(tmp_path / "own") == course

    course.rmdir()
    assert folder_files.remembered(tmp_path / "own") is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"course": 3}', "\x00"])
def test_a_damaged_file_remembers_nothing(tmp_path: Path, text: str):
    """The file may be edited or damaged."""
    (tmp_path / folder_files.FILE).write_text(text)

    assert folder_files.remembered(tmp_path) is None


def test_the_same_files_are_news_once(tmp_path: Path):
    """The same newer files are news once, and again when they change."""
    file = tmp_path / "stub.py"
    file.write_text("1")

    assert folder_files.is_news(tmp_path, [file])
    assert not folder_files.is_news(tmp_path, [file])
    file.write_text("2")
    assert folder_files.is_news(tmp_path, [file])
