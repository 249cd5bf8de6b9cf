"""Tests that the submissions of a class are read one at a time."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.submission.collect import LazySubmissions, find, stages_with_code
from tests.kit.submission.conftest import SOLVED


@pytest.fixture
def lazy(write, class_, stages) -> LazySubmissions:
    """Three students: one with two stages, one with one stage, and one who submitted a text."""
    write("alice/01_averaging/averaging.py", SOLVED)
    write("alice/02_self_attention/self_attention.py", SOLVED)
    write("bob/02_self_attention/self_attention.py", SOLVED)
    write("carl/02_self_attention/notes.txt")
    return LazySubmissions.of([find(class_, stages)])


def test_it_holds_what_collecting_yields(lazy: LazySubmissions, class_, stages):
    """The lazy list has the submissions in the order of collecting, each time."""
    eager = list(find(class_, stages).submissions())

    assert [one.digest for one in lazy] == [one.digest for one in eager]
    assert [one.digest for one in lazy.outlines()] == [one.digest for one in eager]
    assert len(lazy) == len(eager) == 4


def test_each_is_read_again(lazy: LazySubmissions, write):
    """A submission is read again each time and does not stay in memory."""
    before = lazy[2].module
    lazy[0]
    write("bob/02_self_attention/self_attention.py", b"x = 1\n")

    assert (before, lazy[2].module) == (SOLVED, b"x = 1\n")


def test_a_part_of_it_is_lazy_too(lazy: LazySubmissions):
    """A part of the lazy list, by indices or by a slice, is lazy too."""
    some, rest = lazy.subset([2, 0]), lazy[1:]

    assert [one.student for one in some] == ["bob", "alice"]
    assert isinstance(rest, LazySubmissions)
    assert [one.stage for one in rest.outlines()][:2] == ["02_self_attention"] * 2


def test_a_change_is_made_at_each_reading(lazy: LazySubmissions):
    """A change, such as the time of late work, is made at each reading."""
    changed = lazy.changed_by(lambda one: replace(one, is_late=True))

    assert [one.is_late for one in changed] == [True] * 4
    assert not lazy[0].is_late


def test_the_stages_with_code_are_known_without_reading(lazy: LazySubmissions, class_):
    """The stages with code are known early, so that only their suites are collected."""
    for path in sorted(class_.rglob("*.py")):
        path.unlink()

    assert stages_with_code(lazy) == {"01_averaging", "02_self_attention"}


def test_files_that_are_gone_stop_the_run(lazy: LazySubmissions, class_: Path):
    """Files that disappear stop the run, so that nobody gets 0 points for a moved folder."""
    (class_ / "bob" / "02_self_attention" / "self_attention.py").unlink()

    with pytest.raises(UsageError, match="bob 02_self_attention changed while"):
        lazy[2]
