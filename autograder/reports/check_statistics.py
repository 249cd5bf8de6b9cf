"""How a class did in each check: how many passed, how hard it is, and whom it tells apart."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import StatisticsError, correlation
from typing import Final

import msgspec

from autograder.reports.feedback import percent
from autograder.results import CheckResult, Outcome, Status, SubmissionResult

# From fewer submissions, chance alone gives correlations of a half.
LEAST_SUBMISSIONS: Final = 20
LEAST_EACH: Final = 3  # that pass, and that don't: one student more would turn the number round
_UNWRITTEN: Final = frozenset((Status.NOT_IMPLEMENTED, Status.MISSING))


class CheckStatistics(msgspec.Struct, frozen=True):
    """One check of a stage; what can't be said of so few submissions is ``None``.

    *difficulty* is the share, in percent, that did not pass of the *written* ones: those that hold
    the exercise. *discrimination* is the correlation, from -1 to 1, of passing with the points of
    all other checks.
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
        """How many of the graded submissions passed, 0 to 100."""
        return percent(self.passed, self.of)


def check_statistics(submissions: Sequence[SubmissionResult]) -> list[CheckStatistics]:
    """Count each check of one stage, in the order of the suite, in the graded *submissions*."""
    ended: dict[tuple[str, str], list[tuple[CheckResult, float]]] = defaultdict(list)
    for result in submissions:
        if result.score is None:
            continue
        for exercise in result.exercises:
            for check in exercise.checks:
                others = result.score - check.points
                ended[exercise.name, check.name].append((check, others))
    return [_statistics(exercise, found) for (exercise, _), found in ended.items()]


def _statistics(exercise: str, found: Sequence[tuple[CheckResult, float]]) -> CheckStatistics:
    passed = [check.outcome is Outcome.PASSED for check, _ in found]
    written = sum(check.status not in _UNWRITTEN for check, _ in found)
    return CheckStatistics(
        exercise=exercise,
        title=found[0][0].title,
        passed=sum(passed),
        of=len(found),
        written=written,
        difficulty=percent(written - sum(passed), written) if written else None,
        discrimination=_discrimination(passed, [others for _, others in found]),
    )


def _discrimination(passed: Sequence[bool], others: Sequence[float]) -> float | None:
    each = min(sum(passed), len(passed) - sum(passed))
    if len(passed) < LEAST_SUBMISSIONS or each < LEAST_EACH:
        return None
    try:
        return round(correlation(list(map(float, passed)), others), 2)
    except StatisticsError:  # all have the same points elsewhere
        return None
