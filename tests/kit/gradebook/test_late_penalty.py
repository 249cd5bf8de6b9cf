"""Tests that late work costs a share of the points for each day."""

import pytest

from autograder.course import Course
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.grade_export import grade_table_of_gradebook
from autograder.gradebook.late_penalty import DailyPenalty
from tests.kit.commands import run
from tests.kit.factories import LATE, STAGE, Made, StudentWork, WriteBook, add_settings, query

HOUR, DAY = 3600.0, 86400.0
SETTINGS = """
c.AssignLatePenalties.plugin_class = "autograder.gradebook.late_penalty.DailyPenalty"
c.DailyPenalty.percent = 20
"""


@pytest.mark.parametrize(
    ("late", "options", "penalty"),
    [
        pytest.param(1.0, {}, 1.0, id="first-second"),
        pytest.param(DAY, {}, 1.0, id="one-day"),
        pytest.param(DAY + 1, {}, 2.0, id="second-day"),
        pytest.param(30 * DAY, {}, 10.0, id="never-more-than-all"),
        pytest.param(3 * DAY, {"percent": 5.0}, 1.5, id="percent"),
        pytest.param(30 * DAY, {"most_percent": 40.0}, 4.0, id="most"),
        pytest.param(HOUR, {"grace_minutes": 60}, None, id="in-the-grace-period"),
        pytest.param(2 * HOUR, {"grace_minutes": 60}, 1.0, id="after-the-grace-period"),
    ],
)
def test_each_day_that_has_begun_costs_a_share(late: float, options: dict, penalty: float | None):
    """By default, each day that has begun subtracts ten percent of the points."""
    assert DailyPenalty(**options).late_submission_penalty("ada", 10.0, late) == penalty


def test_the_plugin_is_chosen_in_the_configuration(
    course: Course, write: WriteBook, graded: Made, work: StudentWork
):
    """Two lines of nbgrader_config.py switch the daily penalty on."""
    query(course.root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
    add_settings(course, SETTINGS)
    write(graded(), ada=work(stamp=LATE))

    assert query(course.root, "select late_submission_penalty from submitted_notebook") == [(2.0,)]


def test_the_penalty_follows_the_points_by_hand(
    course: Course, write: WriteBook, graded: Made, work: StudentWork
):
    """Points that the instructor gives later count in the penalty of every export and page."""
    query(course.root, "update assignment set duedate = '2026-11-01 10:00:00.000000'")
    add_settings(course, SETTINGS)
    write(graded(), ada=work(stamp=LATE))
    query(course.root, "update grade set manual_score = 2.5 where auto_score = 5")
    setup = NbgraderSetup.of_course(course)
    with setup.gradebook() as book:
        (row,) = (one for one in grade_table_of_gradebook(book, course, setup).rows if one.scores)
    score = row.scores[STAGE]
    run(course.root, "nbgrader", "generate_feedback", STAGE)
    page = (course.root / "feedback" / "ada" / STAGE / "lab.html").read_text("utf-8")

    assert (score.raw, score.penalty, score.score) == (5.0, 1.0, 4.0)
    assert "(Score: 4.0 /" in page
