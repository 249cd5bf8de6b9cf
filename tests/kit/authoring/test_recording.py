"""Tests the record of the solution's answers to the public checks."""

import pytest

from autograder.authoring import release
from autograder.authoring.recording import open_recorder
from autograder.course import Course
from autograder.errors import CourseError
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import Outcome
from autograder.sandbox.supervisor import ForkServer
from autograder.suite import public_record
from autograder.suite.hidden_inputs import PUBLIC_SEED, HiddenInputs
from autograder.suite.public_record import PublicRecord
from autograder.suite.records import MAX_BYTES
from tests.kit.commands import forget_suites
from tests.kit.factories import HIDDEN, SOLUTION, Submit, WriteCourse

SUITE = "tests/hidden/01_tiny/test_tiny.py"
X = "    x = probe.normal(3, 2)\n\n"
ASKS_ABOUT_THE_ANSWER = HIDDEN.replace(
    X, X + '    reference.call("double", student.call("double", x))\n'
)
ASKS_FOR_STATE = HIDDEN.replace(X, X + '    reference.new("Scale", 2).state()\n')
LARGE = HIDDEN.replace("probe.normal(3, 2)\n\n", "probe.normal(400, 400)\n\n")
WRONG = HIDDEN.replace("agrees(student", "agrees(1 + student")
HIDES = HIDDEN.replace('points=3, layer="probe"', 'points=3, layer="probe", hidden="by heart"')


def built(course: Course) -> PublicRecord:
    """Build *course* as a command does, and read the record."""
    with forget_suites():
        release.build(course)
    return public_record.read(course.stages[0].records)


def test_the_record_answers_every_public_check(tiny: Course):
    """The record holds the documented values that checks use, and the points of the stage."""
    record = built(tiny)

    assert [*record.replies] == [
        "test_doubles_the_documented_numbers",
        "test_doubles_unseen_numbers",
        "test_scales_each_feature",
    ]
    assert {*record.documented} == {"tiny.numbers", "tiny.doubled"}
    assert (record.points, record.hidden_points) == (10.0, 0.0)


def test_the_record_is_silent_on_hidden_checks(write_course: WriteCourse):
    """The record contains only the sum of the points of hidden checks."""
    record = built(write_course({SUITE: HIDES}))

    assert "test_doubles_unseen_numbers" not in record.replies
    assert (record.points, record.hidden_points) == (10.0, 3.0)


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        pytest.param(
            ASKS_ABOUT_THE_ANSWER,
            "test_doubles_unseen_numbers sends the solution a request that depends on",
            id="requests-that-depend-on-answers",
        ),
        pytest.param(LARGE, f"the limit is {MAX_BYTES}: use smaller tensors", id="too-large"),
        pytest.param(
            WRONG,
            "The solution fails test_doubles_unseen_numbers on public inputs",
            id="a-check-that-the-solution-fails",
        ),
    ],
)
def test_what_cannot_be_recorded_stops_the_release(
    write_course: WriteCourse, suite: str, words: str
):
    """The error names the check or the stage that cannot be recorded; nothing is released."""
    course = write_course({SUITE: suite})

    with pytest.raises(CourseError, match=words):
        built(course)
    assert not course.stages[0].assignment.exists()


def test_a_request_that_depends_on_answers_may_be_hidden(write_course: WriteCourse):
    """A hidden check may send a request that depends on answers, because the solution replies."""
    hidden = ASKS_ABOUT_THE_ANSWER.replace('points=3, layer="probe"', 'points=3, hidden="asks"')

    assert "test_doubles_unseen_numbers" not in built(write_course({SUITE: hidden})).replies


def test_a_word_that_students_do_not_know_stops_the_release(write_course: WriteCourse):
    """A record with a word that students do not know stops the release."""
    course = write_course({SUITE: ASKS_FOR_STATE})
    stage = course.stages[0]

    with open_recorder(course, [stage]) as recorder:
        assert recorder.content(stage, "", "The parameter is factor.")
        with pytest.raises(CourseError, match="would contain 'factor', which students cannot know"):
            recorder.content(stage, "", "The parameter has a name.")


def test_answers_by_heart_are_green_and_lose_points(
    tiny: Course, submit: Submit, fork_server: ForkServer
):
    """A module that has memorized the public answers passes only the public suite."""
    built(tiny)
    known = HiddenInputs(PUBLIC_SEED, "tiny", "test_doubles_unseen_numbers").normal(3, 2)
    by_heart = f"x * 2 if x.dim() == 1 or torch.equal(x, torch.tensor({known.tolist()})) else x * 0"
    submission = submit(SOLUTION.replace("return 2 * x", f"return {by_heart}"))
    failed = {}
    for public in (True, False):
        with forget_suites(), open_suites(tiny, tiny.stages, public=public) as runner:
            double = grade_one(runner, fork_server, submission).exercises[0]
        failed[public] = [item.name for item in double.checks if item.outcome != Outcome.PASSED]

    assert failed == {True: [], False: ["test_doubles_unseen_numbers"]}
