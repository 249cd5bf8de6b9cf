"""Tests the entries of a folder or a zip, and whether they are a class's."""

import pytest

from autograder.errors import UsageError
from autograder.submission.entries import (
    class_inside,
    entries_of,
    holds_several,
    packed_class,
    packed_entries,
)
from autograder.submission.names import StageResolver


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


@pytest.mark.parametrize(
    ("members", "wrapper"),
    [
        pytest.param(["ada/x.py", "bob/x.py"], "", id="two-folders"),
        pytest.param(["all/ada/x.py", "all/bob/x.py"], "all", id="one-folder-around-them"),
        pytest.param(["ada_1_assignsubmission_file_/x.py"], "", id="a-students-by-its-name"),
    ],
)
def test_the_one_folder_around_everything_in_a_zip_is_known(write_zip, members, wrapper):
    """The only folder in a zip may belong to a student, who packed the rest."""
    assert packed_entries(write_zip("z.zip", dict.fromkeys(members, b""))).wrapper == wrapper


def test_the_zip_that_a_student_gave_an_lms_is_not_a_class(stages, write_zip):
    """The zip that a student gave an LMS is one submission, with any contents."""
    resolver = StageResolver(stages=stages)
    members = {"ada_1_7_x.py": b"", "bob_2_8_x.py": b""}

    assert packed_class(write_zip("eve_3_9_hw.zip", members), resolver) is None
    assert holds_several(packed_class(write_zip("hw.zip", members), resolver))


def test_a_link_holds_no_class(stages, class_, write):
    """A link, which a student may point anywhere, is not a class."""
    write("real/ada_1_7_x.py")
    (class_ / "link").symlink_to(class_ / "real")
    resolver = StageResolver(stages=stages)

    assert class_inside(class_ / "real", resolver) is not None
    assert class_inside(class_ / "link", resolver) is None
