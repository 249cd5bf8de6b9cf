"""Tests the comparison of a class by compare50, an external program."""

import shutil
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import GraderError, UsageError
from autograder.grading import class_copies
from autograder.reports.html import write_pages
from autograder.reports.similar import COPIES
from tests.kit.factories import SOLUTION, Submit

needs_compare50 = pytest.mark.skipif(
    shutil.which(class_copies.PROGRAM) is None,
    reason="compare50 is not installed (uv tool install)",
)


@pytest.fixture
def stage(tiny: Course):
    """The stage of the tiny course, with a stub that students receive."""
    stage = tiny.stages[0]
    stage.stub.parent.mkdir(parents=True)
    stage.stub.write_text("def double(x):\n    raise NotImplementedError\n")
    return stage


def test_without_compare50_the_message_says_how_to_install_it(
    stage, submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """compare50 is not part of the kit, because it needs its own environment."""
    monkeypatch.setattr(shutil, "which", lambda _name: None)

    with pytest.raises(UsageError, match="uv tool install compare50"):
        class_copies.compare(stage, [submit(SOLUTION)], tmp_path / "pages")


def test_one_submission_is_not_compared(
    stage, submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """One submission has no pair, and those of other stages do not count."""
    monkeypatch.setattr(shutil, "which", lambda name: name)

    with pytest.raises(UsageError, match="fewer than two submissions for 01_tiny"):
        class_copies.compare(stage, [submit(SOLUTION), submit(SOLUTION, stage="02")], tmp_path)


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Replace compare50 by a script, in an environment with its own ``python3``."""

    def write(script: str) -> None:
        folder = tmp_path / "environment"
        folder.mkdir()
        (folder / "python3").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "compare50").write_text('#!/bin/sh\nexec python3 -m compare50 "$@"\n')
        for file in folder.iterdir():
            file.chmod(0o755)
        link = tmp_path / "compare50"
        link.symlink_to(folder / "compare50")
        monkeypatch.setattr(shutil, "which", lambda _name: str(link))

    return write


def test_a_failure_of_compare50_is_shown(stage, submit: Submit, tmp_path: Path, pretend):
    """The message has the exit code and what the program printed last."""
    pretend("echo no such pass >&2; exit 3")
    works = [submit(SOLUTION), submit(SOLUTION, student="b")]

    with pytest.raises(GraderError, match="exit code 3: no such pass"):
        class_copies.compare(stage, works, tmp_path / "report")


def test_an_earlier_comparison_is_replaced(stage, submit: Submit, tmp_path: Path, pretend):
    """If nothing is similar any more, compare50 writes no page, and the earlier pages go."""
    pretend("exit 0")
    old = tmp_path / "report" / COPIES / stage.name / "match_9.html"
    old.parent.mkdir(parents=True)
    old.touch()
    works = [submit(SOLUTION), submit(SOLUTION, student="b")]

    assert class_copies.compare(stage, works, tmp_path / "report")[1] == []
    assert not old.exists()


@needs_compare50
@pytest.mark.slow
def test_a_disguised_copy_is_a_pair_in_the_class_report(
    tiny: Course, stage, submit: Submit, results, submission, tmp_path: Path
):
    """A copy with other names, a dummy statement and another order is a pair with its source."""
    first, *others = SOLUTION.split("\n\n\n")
    disguised = "\n\n\n".join([first, "unused = 1", *reversed(others)]).replace("x", "numbers")
    works = [submit(SOLUTION, student="al"), submit(disguised, student="bo")]
    page, pairs = class_copies.compare(stage, works, tmp_path)
    run = results(*(submission(student=work.student) for work in works))
    text = write_pages(tiny, run, tmp_path).read_text("utf-8")

    assert [{pair.one, pair.other} for pair in pairs] == [{"al", "bo"}]
    assert page.with_name(pairs[0].page).is_file()
    assert f'href="{COPIES}/{stage.name}/{pairs[0].page}"' in text
