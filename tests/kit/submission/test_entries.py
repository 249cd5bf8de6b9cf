"""Tests listing the entries of a folder."""

import pytest

from autograder.errors import UsageError
from autograder.submission.place import entries_of


def test_a_folder_has_its_visible_entries(write, class_):
    """Entries are in the order of their names, without files that programs leave behind."""
    for name in ("bob.zip", "ada/x.py", ".hidden", "__MACOSX/x"):
        write(name)

    assert [(one.name, one.kind) for one in entries_of(class_)] == [
        ("ada", "folder"),
        ("bob.zip", "archive"),
    ]


def test_a_folder_that_is_gone_is_an_error(class_):
    """A folder that does not exist is an error with its path."""
    with pytest.raises(UsageError, match="nowhere can't be read"):
        entries_of(class_ / "nowhere")
