"""The reports of a run as files."""

import re
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.reports.folder import write
from autograder.reports.page_names import page_names
from autograder.results import Results
from tests.kit.reports.conftest import MakeSubmission


def test_a_run_becomes_an_index_and_a_page_per_submission(
    tiny: Course, graded_class: Results, tmp_path: Path
):
    """And every link of the index leads to one of them."""
    index = write(tiny, graded_class, tmp_path / "new" / "reports")
    links = set(re.findall(r'href="([^"#]+)"', index.read_text("utf-8")))

    assert index == tmp_path / "new" / "reports" / "index.html"
    assert {path.name for path in index.parent.iterdir()} == links | {"index.html"}
    assert len(links) == len(graded_class.submissions)


def test_hostile_names_stay_inside_the_folder(tiny: Course, hostile: Results, tmp_path: Path):
    """Whatever students are called."""
    before = set(tmp_path.rglob("*"))
    index = write(tiny, hostile, tmp_path / "reports")
    names = [path.name for path in index.parent.iterdir()]

    assert len(names) == len(hostile.submissions) + 1
    assert {path.parent for path in set(tmp_path.rglob("*")) - before} == {tmp_path, index.parent}
    assert all(re.fullmatch(r"[A-Za-z0-9-]{1,140}\.html", name) for name in names)


@pytest.mark.parametrize(
    ("students", "names"),
    [
        pytest.param(("ada", "ada"), ("ada--01-tiny", "ada--01-tiny-2"), id="twice"),
        pytest.param(("ada", "Ada"), ("ada--01-tiny", "Ada--01-tiny-2"), id="apart-by-case-only"),
        pytest.param(("Zoë Ångström",), ("Zoe-Angstrom--01-tiny",), id="accents"),
        pytest.param(("李雷", "韩梅"), ("student--01-tiny", "student--01-tiny-2"), id="no-latin"),
        pytest.param(("../con", ".."), ("con--01-tiny", "student--01-tiny"), id="paths"),
    ],
)
def test_page_names_are_safe_and_never_alike(
    submission: MakeSubmission, students: tuple[str, ...], names: tuple[str, ...]
):
    """On Linux, macOS and Windows."""
    found = page_names(submission(student=student) for student in students)

    assert found == tuple(f"{name}.html" for name in names)


def test_writing_twice_replaces_the_pages(tiny: Course, graded_class: Results, tmp_path: Path):
    """A second run leaves no second set."""
    first = {path.name for path in write(tiny, graded_class, tmp_path).parent.glob("*.html")}
    second = {path.name for path in write(tiny, graded_class, tmp_path).parent.glob("*.html")}

    assert first == second
