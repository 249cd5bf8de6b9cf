"""Tests the lists of equal files and of similar code."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from autograder.errors import GraderError
from autograder.reports.similar import (
    INDEX,
    MAX_GROUPS,
    SameFile,
    SameFiles,
    SimilarPair,
    similar_pairs,
)
from autograder.results import Outcome, Status, SubmissionResult
from tests.kit.factories import MakeCheck, MakeSubmission

Student = Callable[..., SubmissionResult]
PAGE = (
    '<script>var GRAPH = {"links": [{"index": 1, "source": "1 bo/tiny.py", "target": "0 al", '
    '"value": 2.5}, {"index": 0, "source": "2 cy", "target": "1 bo", "value": 10}]};\n</script>'
)


@pytest.fixture
def student(check: MakeCheck, submission: MakeSubmission) -> Student:
    """Make a submission by its name and its file, with a wrong answer."""

    def make(name: str, sha256: str, **fields: object) -> SubmissionResult:
        return submission(check(Outcome.FAILED, **fields), student=name, sha256=sha256)

    return make


def groups_of(class_: Sequence[SubmissionResult]) -> list[SameFile]:
    """The groups of a class with equal files."""
    files = SameFiles()
    for index, result in enumerate(class_):
        files.add(index, result)
    return files.groups()


def test_the_same_file_is_a_group(student: Student):
    """Students who submitted the same bytes are a group."""
    run = [student("ada", "x"), student("bob", "y"), student("cy", "x")]

    assert groups_of(run) == [SameFile((0, 2), full=False)]


@pytest.mark.parametrize("status", [Status.NOT_IMPLEMENTED, Status.MISSING])
def test_an_unwritten_stub_is_not_a_finding(student: Student, status: Status):
    """Unwritten stubs, which are all equal, are not reported."""
    assert groups_of([student(name, "x", status=status) for name in ("ada", "bob")]) == []


def test_one_student_twice_is_not_a_finding(student: Student):
    """Two submissions of one person are not a finding."""
    assert groups_of([student("ada", "x"), student("ada", "x")]) == []


def test_nothing_submitted_is_not_a_finding(submission: MakeSubmission):
    """Submissions without code have no digest and are not reported."""
    run = [submission(student=name, status=Status.UNREADABLE) for name in ("ada", "bob")]

    assert groups_of(run) == []


def test_wrong_code_comes_before_right_code(
    student: Student, check: MakeCheck, submission: MakeSubmission
):
    """Wrong code is listed first, because right answers of short exercises are often equal."""
    right = [submission(check(), student=name, sha256="r") for name in ("a", "b", "c")]

    assert groups_of([*right, student("d", "w"), student("e", "w")]) == [
        SameFile((3, 4), full=False),
        SameFile((0, 1, 2), full=True),
    ]


def test_the_number_of_groups_is_bounded(student: Student):
    """The number of groups is bounded, even if a whole class submits pairs."""
    run = [student(f"{n}-{half}", f"{n}") for n in range(MAX_GROUPS + 5) for half in "ab"]

    assert len(groups_of(run)) == MAX_GROUPS


def test_the_most_similar_pair_comes_first(tmp_path: Path):
    """The pairs are read from compare50's index, with the ids of the students and their pages."""
    (tmp_path / INDEX).write_text(PAGE)

    assert similar_pairs(tmp_path) == [
        SimilarPair("cy", "bo", 10, "match_1.html"),
        SimilarPair("bo", "al", 2.5, "match_2.html"),
    ]


def test_without_a_comparison_there_are_no_pairs(tmp_path: Path):
    """A folder without an index page has no pairs."""
    assert similar_pairs(tmp_path) == []


@pytest.mark.parametrize("page", ["", "var GRAPH = {};", "var GRAPH = {'links'};"])
def test_a_page_of_another_form_is_an_error(page: str, tmp_path: Path):
    """A newer compare50 may write other pages; the message names the page."""
    (tmp_path / INDEX).write_text(page)

    with pytest.raises(GraderError, match=r"index\.html does not have the form"):
        similar_pairs(tmp_path)
