"""Tests that folders, archives and loose files are listed as one submission, within limits."""

from pathlib import PurePosixPath

import pytest

from autograder.submission.archive import MAX_TOTAL, ArchiveBudget, open_archive
from autograder.submission.files import SubmittedFile
from autograder.submission.place import MAX_DEPTH, MAX_ENTRIES, MAX_FAULTS, open_folder
from tests.kit.submission.conftest import LINK


def test_does_not_follow_a_linked_stage_folder(collected, write, class_, secret):
    """A linked stage folder is not followed, and its notice names the link."""
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
    """The search for a module is bounded, reports this, and reads code first."""
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
    assert faults == ["The folder d is nested too deeply and was not opened. Flatten it."]


@pytest.mark.parametrize("number", [1, 20])
def test_one_limit_holds_for_all_that_a_student_packs(collected, write, write_zip, class_, number):
    """Twenty archives together may have no more files than one."""
    write("alice/self_attention.py")
    for archive in range(number):
        write_zip(f"alice/{archive}.zip", {f"m{i}.py": b"" for i in range(MAX_ENTRIES - 1)})

    write("bob/self_attention.py")

    submission, _ = collected(class_)

    refused = [notice for notice in submission.notices if "one student may submit" in notice]
    assert submission.code is not None
    assert len(refused) == min(number - 1, MAX_FAULTS)


def test_what_an_archive_costs_is_subtracted_even_if_it_is_refused(write_zip):
    """A refused archive counts towards the limit, so many of them are not read in full."""
    budget = ArchiveBudget()
    large = write_zip("large.zip", {f"m{i}.py": b"" for i in range(MAX_ENTRIES + 1)})
    before = budget.directory

    assert "contains more than 2000 files" in open_archive(large, budget)[1][0]
    assert budget.directory < before - 46 * MAX_ENTRIES
    assert budget.files == MAX_ENTRIES


def test_archives_in_an_archive_are_bounded_together(write_zip):
    """The archives of a packed class are bounded together, as each is read into memory."""
    data = write_zip("inner.zip", {"a.bin": bytes(1000)}).read_bytes()
    file = SubmittedFile(path=PurePosixPath("a.zip"), label="a.zip", read=lambda _limit: data)
    budget = ArchiveBudget()
    open_archive(file, budget)

    assert budget.size == MAX_TOTAL - 1000 - len(data)
