"""Tests the names of students' pages."""

import pytest

from autograder.reports.page_names import page_names
from tests.kit.factories import MakeSubmission


@pytest.mark.parametrize(
    ("students", "names"),
    [
        pytest.param(("ada", "ada"), ("ada--01-tiny", "ada--01-tiny-2"), id="twice"),
        pytest.param(("ada", "Ada"), ("ada--01-tiny", "Ada--01-tiny-2"), id="apart-by-case-only"),
        pytest.param(("Zoë Ångström",), ("Zoe-Angstrom--01-tiny",), id="accents"),
        pytest.param(("李雷", "韩梅"), ("student--01-tiny", "student--01-tiny-2"), id="no-latin"),
        pytest.param(
            ("a 2", "a", "a"), ("a-2--01-tiny", "a--01-tiny", "a--01-tiny-2"), id="number"
        ),
        pytest.param(("../con", ".."), ("con--01-tiny", "student--01-tiny"), id="paths"),
    ],
)
def test_page_names_are_valid_and_never_alike(
    submission: MakeSubmission, students: tuple[str, ...], names: tuple[str, ...]
):
    """Names of pages are valid and different on Linux, macOS and Windows."""
    pages = page_names(submission(student=student) for student in students)

    assert pages == [f"{name}.html" for name in names]
