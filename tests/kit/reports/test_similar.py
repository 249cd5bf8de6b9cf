"""Tests grouping submissions with the same code."""

from collections.abc import Callable, Sequence

import pytest

from autograder.reports.similar import MAX_GROUPS, SimilarCode, SimilarGroup
from autograder.results import Outcome, Status, SubmissionResult
from tests.kit.factories import MakeCheck, MakeSubmission

Student = Callable[..., SubmissionResult]


@pytest.fixture
def student(check: MakeCheck, submission: MakeSubmission) -> Student:
    """Make a submission by its name, its file and its code, with a wrong answer."""

    def make(name: str, sha256: str, syntax: str = "", **fields: object) -> SubmissionResult:
        facts = {"student": name, "sha256": sha256, "syntax_sha256": syntax}
        return submission(check(Outcome.FAILED, **fields), **facts)

    return make


def similar_groups(class_: Sequence[SubmissionResult]) -> list[SimilarGroup]:
    """The groups of a class."""
    code = SimilarCode()
    for index, result in enumerate(class_):
        code.add(index, result)
    return code.groups()


def test_the_same_file_is_a_group(student: Student):
    """The same file is a group even if it is invalid Python, which has no syntax digest."""
    (group,) = similar_groups([student("ada", "x"), student("bob", "y"), student("cy", "x")])

    assert (group.files, group.same_file, group.size) == (((0, 2),), True, 2)


def test_the_same_code_in_other_words_is_a_group(student: Student):
    """A group marks the members that submitted the same file."""
    run = [student("ada", "x", "s"), student("bob", "y", "s"), student("cy", "x", "s")]
    (group,) = similar_groups(run)

    assert (group.files, group.same_file, group.size) == (((0, 2), (1,)), False, 3)


@pytest.mark.parametrize("status", [Status.NOT_IMPLEMENTED, Status.MISSING])
def test_an_unwritten_stub_is_not_a_finding(student: Student, status: Status):
    """Unwritten stubs, which are all equal, are not reported."""
    run = [student(name, "x", "s", status=status) for name in ("ada", "bob")]

    assert similar_groups(run) == []


def test_one_student_twice_is_not_a_finding(student: Student):
    """Two submissions of one person are not a finding."""
    assert similar_groups([student("ada", "x"), student("ada", "x")]) == []


def test_nothing_submitted_is_not_a_finding(submission: MakeSubmission):
    """Submissions without code have no digest and are not reported."""
    run = [submission(student=name, status=Status.UNREADABLE) for name in ("ada", "bob")]

    assert similar_groups(run) == []


def test_wrong_code_comes_before_right_code(
    student: Student, check: MakeCheck, submission: MakeSubmission
):
    """Wrong code is listed first, because right answers of short exercises are often equal."""
    right = [submission(check(), student=name, sha256="r") for name in ("a", "b", "c")]
    groups = similar_groups([*right, student("d", "w"), student("e", "w")])

    assert [(group.files, group.full) for group in groups] == [
        (((3, 4),), False),
        (((0, 1, 2),), True),
    ]


def test_the_number_of_groups_is_bounded(student: Student):
    """The number of groups is bounded, even if a whole class submits pairs."""
    run = [student(f"{n}-{half}", f"{n}") for n in range(MAX_GROUPS + 5) for half in "ab"]

    assert len(similar_groups(run)) == MAX_GROUPS
