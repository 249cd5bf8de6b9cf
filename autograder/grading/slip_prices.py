"""Prices a slip: a named mistake that is the only fault of an exercise.

This is certain if the solution with this one mistake ends every check as the student's code does.
The same slip in several exercises costs points in one of them, the one in which it costs most:
otherwise a correction there would lose points. In that exercise each check that it fails keeps a
share of its points. A mistake that leaves out the computation itself is not a slip.

Points that were withheld because no check on hidden inputs passes are given back, because a program
that computes all but one step has not memorized its answers.
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
# Sentences of a wrong return that contains the right result.
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

    The checks *other_order* fail because of the order of a constructor's arguments, and only they
    cost points.
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
        """Whether nothing else can be the reason, such as a rule that was not looked at yet."""
        return self.explains(check) and check.name not in (self.slip.unproved if self.slip else ())

    def gives_back(self, check: CheckResult) -> bool:
        """Whether *check* passed, and only the slip is the reason why it does not count."""
        withheld = check.outcome is Outcome.PASSED and check.points < check.max_points
        return withheld and self.slip is not None and check.name not in self.slip.unproved

    def is_same(self, other: "GradedExercise") -> bool:
        """Whether the slip of *other* has the same name, and no other mistake is possible."""
        mine, theirs = self.slip, other.slip
        if mine is None or theirs is None or min(len(mine.ids), len(mine.sentences)) > 1:
            return False
        return (mine.ids, mine.sentences) == (theirs.ids, theirs.sentences)

    def without_other_mistakes(self) -> "GradedExercise":
        """Return the exercise, with its slip only if that is its only fault and work was done."""
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
    """Return the results of all exercises of a submission with fair prices of their slips."""
    found = [one.without_other_mistakes() for one in graded]
    results = []
    for one in found:
        same = [other for other in found if other.is_same(one) and grading.same_mistake_once]
        dearest = max(same or [one], key=lambda other: other.cost)  # of equal ones the first
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
    if not (check.message or check.diagnosis):  # the course reveals nothing about it
        return replace(check, points=points, message=f"{kept}.")
    besides = f"{OTHER_ORDER}, " if graded.other_order else ""
    reason = f"{kept}: {besides}this mistake is all that is wrong in {graded.result.name}."
    return replace(check, points=points, message=f"{check.message}\n{reason}".lstrip("\n"))
