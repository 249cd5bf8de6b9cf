"""Subtracts points for each day that work is late, if nbgrader_config.py selects it."""

import math

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float, Integer

_DAY = 24 * 60 * 60  # seconds


class DailyPenalty(LateSubmissionPlugin):
    """Subtracts a share of the points for each day that has begun since the due date."""

    percent = Float(
        10.0, min=0, max=100, help="The penalty for each day, in percent of the earned points."
    ).tag(config=True)
    most_percent = Float(100.0, min=0, max=100, help="The largest total penalty, in percent.").tag(
        config=True
    )
    grace_minutes = Integer(
        0, min=0, help="The number of minutes after the due date without a penalty."
    ).tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points to subtract from *score*, or None during the minutes of grace."""
        del student_id
        late = total_seconds_late - 60 * self.grace_minutes
        if late <= 0:
            return None
        percent = min(self.most_percent, self.percent * math.ceil(late / _DAY))
        return float(round(score * percent / 100, 6))
