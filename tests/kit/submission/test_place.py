"""Folders, archives and loose files are listed as one hand-in, within bounds."""

import pytest

from autograder.submission.place import MAX_DEPTH, MAX_ENTRIES, open_folder
from tests.kit.submission.conftest import LINK


def test_does_not_follow_a_linked_stage_folder(collected, write, class_, secret):
    """The stage is reported as missing, and the link as the reason."""
    write("alice/01_averaging/averaging.py")
    (class_ / "alice" / "02_self_attention").symlink_to(secret.parent)

    averaging, submission = collected(class_)

    assert averaging.code is not None
    assert submission.stage == "02_self_attention"
    assert submission.code is None
    assert submission.notices == (f"02_self_attention {LINK}",)


@pytest.mark.parametrize("name", ["alice", "alice.py", "alice.zip"])
def test_does_not_follow_a_link_in_a_class(collected, write, class_, secret, attention, name):
    """A linked folder, file or archive is that student's problem."""
    write("bob/self_attention.py")
    (class_ / name).symlink_to(secret.parent if name == "alice" else secret)

    alice, bob = collected(class_, attention)

    assert (alice.student, alice.problem) == ("alice", f"{name} {LINK}")
    assert bob.code is not None


def test_survives_a_loop(collected, write, class_):
    """A link to the folder above, or to itself, is not followed."""
    write("alice/self_attention.py")
    (class_ / "alice" / "up").symlink_to(class_)
    (class_ / "alice" / "self").symlink_to("self")

    [submission] = collected(class_ / "alice")

    assert submission.code is not None
    assert submission.ignored == ("self", "up")


def test_finds_the_module_among_thousands_of_files(collected, write, class_):
    """The search is bounded, says so, and looks at code first."""
    for number in range(MAX_ENTRIES + 10):
        write(f"alice/{number}.png", b"")
    write("alice/self_attention.py")

    [submission] = collected(class_ / "alice")

    assert submission.code is not None
    assert "more than 2000 files" in submission.notices[0]
    assert submission.ignored[-1] == f"... and {MAX_ENTRIES - 51} more"


def test_bounds_the_depth(write, class_):
    """A folder below the limit is reported and not opened."""
    write("alice/" + "d/" * (MAX_DEPTH + 5) + "self_attention.py")

    files, faults = open_folder(class_ / "alice")

    assert files == []
    assert faults == ["The folder d lies too deep and was not opened. Flatten it."]
