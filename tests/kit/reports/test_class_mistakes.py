"""Tests that mistakes are counted by students and checks."""

import pytest

from autograder.reports import class_report
from autograder.reports.class_report import MistakeTally
from autograder.results import (
    FIRST,
    SECOND,
    TOGETHER,
    WRITTEN_OUT,
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Outcome,
    SubmissionResult,
)
from tests.kit.factories import MakeCheck, MakeSubmission

SCALE = Diagnosis("no_scale", "Not scaled.", "How long are the vectors?")
AXIS = Diagnosis("axis", "The wrong axis.", "Which sums are 1?")
BOTH = Diagnosis(
    f"no_scale{TOGETHER}axis",
    f"{FIRST}Not scaled.{SECOND}The wrong axis.",
    SCALE.hint,
    "Not scaled. The wrong axis",
)


@pytest.fixture
def failed(check: MakeCheck):
    """Make a check with a diagnosis."""

    def make(mistake: Diagnosis) -> CheckResult:
        return check(Outcome.FAILED, diagnosis=mistake)

    return make


def counted(*class_: SubmissionResult) -> list[tuple[str, int, int]]:
    """The title of each mistake, its students and its checks."""
    tally = MistakeTally()
    for row, result in enumerate(class_):
        tally.add(row, result)
    return [(one.title, one.students, one.checks) for one in tally.most_common()]


def test_one_mistake_in_two_variants_is_one_mistake(submission: MakeSubmission, failed):
    """The same explanation in `v1` and `v2` of a module is counted once."""
    other = Diagnosis("no_scale_in_v2", "Not scaled.", "How long?")

    assert counted(submission(failed(SCALE), failed(other))) == [("Not scaled", 1, 2)]


def test_a_double_mistake_counts_in_both(submission: MakeSubmission, failed):
    """A student who makes two mistakes at once counts in both."""
    class_ = [submission(failed(one)) for one in (SCALE, AXIS, BOTH)]

    assert counted(*class_) == [("Not scaled", 2, 2), ("The wrong axis", 2, 2)]


def test_the_question_is_that_of_the_mistake(submission: MakeSubmission, failed):
    """Each mistake has its own question, even if a student made it together with another."""
    tally = MistakeTally()
    for row, mistake in enumerate((BOTH, AXIS)):
        tally.add(row, submission(failed(mistake)))

    assert {one.title: one.question for one in tally.most_common()} == {
        "Not scaled": SCALE.hint,
        "The wrong axis": AXIS.hint,
    }


def test_a_mistake_in_a_copy_is_the_same_mistake(submission: MakeSubmission, failed):
    """A mistake with a remark on the place of its steps is the same mistake as one without."""
    said = f"Not scaled.{WRITTEN_OUT}`scores` are written out in `Head`.)"
    copied = Diagnosis("no_scale", said, "How?", "Not scaled")

    assert counted(submission(failed(SCALE)), submission(failed(copied))) == [("Not scaled", 2, 2)]


def test_each_student_is_linked_with_the_first_exercise(submission: MakeSubmission, failed):
    """The link leads to the exercise in which the student's mistake showed first."""
    exercises = tuple(ExerciseResult.of(name, (failed(SCALE),)) for name in ("v1", "v2"))
    tally = MistakeTally()
    tally.add(4, submission(exercises=exercises))
    (mistake,) = tally.most_common()

    assert [(link.row, link.exercise) for link in mistake.links] == [(4, 1)]
    assert mistake.exercises == {"v1": 1, "v2": 2}


def test_the_links_of_a_large_class_are_bounded(
    submission: MakeSubmission, failed, monkeypatch: pytest.MonkeyPatch
):
    """The number of students is correct even if some are not listed."""
    monkeypatch.setattr(class_report, "MAX_LINKED", 2)
    tally = MistakeTally()
    for row in range(3):
        tally.add(row, submission(failed(SCALE)))
    (mistake,) = tally.most_common()

    assert (mistake.students, len(mistake.links)) == (3, 2)
