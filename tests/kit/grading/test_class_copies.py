"""Tests the comparison of a class by compare50, an external program."""

import shutil
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import GraderError, UsageError
from autograder.grading import class_copies as copies
from autograder.grading.class_copies import Pair
from tests.kit.factories import SOLUTION, Submit

PAGE = (
    'var GRAPH = {"links": [{"source": "1 bo/tiny.py", "target": "0 al", "value": 2.5}, '
    '{"source": "2 cy", "target": "1 bo", "value": 10}], "nodes": []};'
)
needs_compare50 = pytest.mark.skipif(
    shutil.which(copies.PROGRAM) is None, reason="compare50 is not installed (uv tool install)"
)


@pytest.fixture
def stage(tiny: Course):
    """The stage of the tiny course, with a stub that students receive."""
    stage = tiny.stages[0]
    stage.stub.parent.mkdir(parents=True)
    stage.stub.write_text("def double(x):\n    raise NotImplementedError\n")
    return stage


def test_the_most_similar_pair_comes_first():
    """The pairs are read from the index page, with the ids of the students."""
    assert copies.pairs_of(PAGE) == [Pair("cy", "bo", 10), Pair("bo", "al", 2.5)]


@pytest.mark.parametrize("page", ["", "var GRAPH = {};", "var GRAPH = {'links'};"])
def test_a_page_of_another_form_is_an_error(page: str):
    """A newer compare50 may write other pages, which are still there to read."""
    with pytest.raises(GraderError, match=r"another form; look at index\.html itself"):
        copies.pairs_of(page)


def test_without_compare50_the_message_says_how_to_install_it(
    stage, submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """compare50 is not part of the kit, because it needs its own environment."""
    monkeypatch.setattr(shutil, "which", lambda _name: None)

    with pytest.raises(UsageError, match="uv tool install compare50"):
        copies.compare(stage, [submit(SOLUTION)], tmp_path / "pages")


def test_what_cannot_be_compared_is_refused(
    stage, submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """One submission has no pair, and a folder with files is not overwritten."""
    monkeypatch.setattr(shutil, "which", lambda name: name)
    (tmp_path / "notes.txt").touch()

    with pytest.raises(UsageError, match="fewer than two submissions for 01_tiny"):
        copies.compare(stage, [submit(SOLUTION), submit(SOLUTION, stage="02")], tmp_path / "new")
    with pytest.raises(UsageError, match="is not an empty folder"):
        copies.compare(stage, [submit(SOLUTION)], tmp_path)


def test_a_failure_of_compare50_is_shown(
    stage, submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The message has the exit code and what the program printed last."""
    program = tmp_path / "compare50"
    program.write_text("#!/bin/sh\necho no such pass >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _name: str(program))

    with pytest.raises(GraderError, match="exit code 3: no such pass"):
        copies.compare(stage, [submit(SOLUTION), submit(SOLUTION, student="b")], tmp_path / "new")


@needs_compare50
@pytest.mark.slow
def test_a_disguised_copy_is_found(stage, submit: Submit, tmp_path: Path):
    """A copy with other names, a dummy statement and another order is a pair with its source."""
    first, *others = SOLUTION.split("\n\n\n")
    disguised = "\n\n\n".join([first, "unused = 1", *reversed(others)]).replace("x", "numbers")
    works = [submit(SOLUTION, student="al"), submit(disguised, student="bo")]
    pairs = copies.compare(stage, works, tmp_path / "pages")

    assert {(pair.one, pair.other) for pair in pairs} <= {("al", "bo"), ("bo", "al")}
    assert len(pairs) == 1
    assert (tmp_path / "pages" / "match_1.html").is_file()
