"""Computes statistics of each check: share of passes, difficulty, discrimination."""

from math import sqrt
from typing import Final

import msgspec

from autograder.reports.feedback import percent
from autograder.results import CheckResult, Outcome, Status, SubmissionResult

# With fewer submissions, chance alone gives correlations of 0.5.
LEAST_SUBMISSIONS: Final = 20
LEAST_EACH: Final = 3  # passes, and failures; with fewer, one student decides the sign
_MILLION: Final = 10**6
_UNWRITTEN: Final = frozenset((Status.NOT_IMPLEMENTED, Status.MISSING))


class CheckStatistics(msgspec.Struct, frozen=True):
    """One check of a stage; a number that needs more submissions is ``None``.

    *written* counts the submissions that contain the exercise, and *difficulty* is the percentage
    of these that did not pass. *discrimination* is the correlation, from -1 to 1, between passing
    and the points of all other checks.
    """

    exercise: str
    title: str
    passed: int
    of: int
    written: int
    difficulty: float | None
    discrimination: float | None

    @property
    def share(self) -> float:
        """The percentage of the graded submissions that passed."""
        return percent(self.passed, self.of)


class CheckTally:
    """Counts the results of the checks of one stage, without storing submissions."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _Counts] = {}

    def add(self, result: SubmissionResult) -> None:
        """Count the checks of *result*, if it is graded."""
        if result.score is None:
            return
        for exercise in result.exercises:
            for check in exercise.checks:
                key = (exercise.name, check.name)
                if key not in self._counts:
                    self._counts[key] = _Counts(check.title)
                self._counts[key].add(check, result.score - check.points)

    def statistics(self) -> list[CheckStatistics]:
        """Return the statistics of each check, in the order of the suite."""
        return [_statistics(exercise, found) for (exercise, _), found in self._counts.items()]


class _Counts:
    """The sums for one check: x is 1 if it passed, y the other points, exact in millionths."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.of = self.written = self.passed = self.y = self.yy = self.xy = 0

    def add(self, check: CheckResult, others: float) -> None:
        """Count one submission."""
        x, y = int(check.outcome is Outcome.PASSED), round(others * _MILLION)
        self.of += 1
        self.written += check.status not in _UNWRITTEN
        self.passed += x
        self.y += y
        self.yy += y * y
        self.xy += x * y


def _statistics(exercise: str, found: _Counts) -> CheckStatistics:
    return CheckStatistics(
        exercise=exercise,
        title=found.title,
        passed=found.passed,
        of=found.of,
        written=found.written,
        difficulty=percent(found.written - found.passed, found.written) if found.written else None,
        discrimination=_discrimination(found),
    )


def _discrimination(found: _Counts) -> float | None:
    """Return Pearson's correlation of x and y; None if it is not defined or not reliable."""
    n, x = found.of, found.passed
    if n < LEAST_SUBMISSIONS or min(x, n - x) < LEAST_EACH:
        return None
    spread = (n * x - x * x) * (n * found.yy - found.y * found.y)
    return round((n * found.xy - x * found.y) / sqrt(spread), 2) if spread else None
