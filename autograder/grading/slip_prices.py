"""Decides the points lost by a slip: a named mistake that is the only fault of an exercise.

It is the only fault if the solution with this mistake ends every check as the student's code does.
The same slip in several exercises costs points only in the exercise where it costs most, so that
correcting it never loses points. There, each check that fails because of it keeps a share of its
points. A mistake that omits the computation itself is not a slip.

Points that were withheld because no check on hidden inputs passes are returned, because a program
that is right except for one step has not memorized its answers.
"""

import re
from collections.abc import Collection, Sequence
from itertools import product
from typing import Final, NamedTuple

from msgspec.structs import replace

from autograder.course_file import Grading
from autograder.diagnosis.mistakes.kinds import KINDS, WITHOUT_COMPUTATION
from autograder.diagnosis.slip_finder import Slip
from autograder.results import CheckResult, ExerciseResult, Outcome, Status, add

OTHER_ORDER: Final = "apart from the order of the constructor's arguments"
# Matches sentences about a wrong return that contains the right result.
_WITH_RESULT: Final = re.compile(
    "|".join(
        re.sub(r"\\{\w+\\}", ".+", re.escape(KINDS["wrong_return"].variants[name]))
        for name in ("as_well", "order")
    )
)


def computes(kind: str, explanation: str) -> bool:
    """Whether code with this mistake still computes the result."""
    return kind not in WITHOUT_COMPUTATION or bool(_WITH_RESULT.fullmatch(explanation))


class GradedExercise(NamedTuple):
    """The result of one exercise, and the slip that is its only fault, if there is one.

    The checks *other_order* fail because a constructor has its arguments in a different order.
    """

    result: ExerciseResult
    slip: Slip | None = None
    other_order: Collection[str] = ()

    @property
    def cost(self) -> float:
        """The points of the checks that fail because of the slip."""
        return add(check.max_points for check in self.result.checks if self.excuses(check))

    def explains(self, check: CheckResult) -> bool:
        """Whether the slip explains why *check* did not pass."""
        return self.slip is not None and check.name in self.slip.checks

    def excuses(self, check: CheckResult) -> bool:
        """Whether the slip is the only possible reason why *check* did not pass."""
        return self.explains(check) and check.name not in (self.slip.unproved if self.slip else ())

    def gives_back(self, check: CheckResult) -> bool:
        """Whether *check* passed but lost points only because of the slip."""
        withheld = check.outcome is Outcome.PASSED and check.points < check.max_points
        return withheld and self.slip is not None and check.name not in self.slip.unproved

    def is_same(self, other: "GradedExercise") -> bool:
        """Whether the slip of *other* is certainly the same mistake."""
        mine, theirs = self.slip, other.slip
        if mine is None or theirs is None or min(len(mine.ids), len(mine.sentences)) > 1:
            return False
        return (mine.ids, mine.sentences) == (theirs.ids, theirs.sentences)

    def without_other_mistakes(self) -> "GradedExercise":
        """Return the exercise, without its slip if it has other faults or computes nothing."""
        failed = [
            check
            for check in self.result.checks
            if check.outcome is not Outcome.PASSED and check.name not in self.other_order
        ]
        if (
            self.slip is None
            or not all(computes(*one) for one in product(self.slip.ids, self.slip.sentences))
            or not all(map(self.explains, failed))
        ):
            return self._replace(slip=None)
        return self


def priced(graded: Sequence[GradedExercise], grading: Grading) -> tuple[ExerciseResult, ...]:
    """Return the results of a submission's exercises with the points adjusted for their slips."""
    found = [one.without_other_mistakes() for one in graded]
    results = []
    for one in found:
        same = [other for other in found if other.is_same(one) and grading.same_mistake_once]
        dearest = max(same or [one], key=lambda other: other.cost)  # the first if equal
        results.append(_priced(one, dearest, grading.slip_credit) if one.slip else one.result)
    return tuple(results)


def _priced(one: GradedExercise, dearest: GradedExercise, share: float) -> ExerciseResult:
    """Give full points if the slip costs points in the *dearest* exercise, else a *share*."""
    name = one.result.name
    checks = []
    for check in one.result.checks:
        if one.gives_back(check):
            checks.append(replace(check, points=check.max_points, message=""))
        elif not one.excuses(check):
            checks.append(check)
        elif one is dearest:
            checks.append(_credited(check, share, one))
        else:
            checks.append(_given(check, dearest.result.name))
    return ExerciseResult.of(name, tuple(checks))


def _given(check: CheckResult, other: str) -> CheckResult:
    message = f"This mistake costs points in {other} only. Correct it here too."
    return replace(
        check,
        outcome=Outcome.PASSED,
        status=Status.OK,
        points=check.max_points,
        message=message,
        given=other,
        grid=None,
    )


def _credited(check: CheckResult, share: float, graded: GradedExercise) -> CheckResult:
    points = round(share * check.max_points, 6)
    if not points:
        return check
    kept = f"You keep {points:g} of {check.max_points:g} points"
    if not (check.message or check.diagnosis):  # the course reveals nothing about the check
        return replace(check, points=points, message=f"{kept}.")
    besides = f"{OTHER_ORDER}, " if graded.other_order else ""
    reason = f"{kept}: {besides}this mistake is all that is wrong in {graded.result.name}."
    return replace(check, points=points, message=f"{check.message}\n{reason}".lstrip("\n"))
