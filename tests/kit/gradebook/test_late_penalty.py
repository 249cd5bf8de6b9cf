"""Tests that late work costs a share of the points for each day."""

import pytest

from autograder.course import Course
from autograder.gradebook.late_penalty import DailyPenalty
from tests.kit.factories import LATE, Made, StudentWork, WriteBook, add_settings, query

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
