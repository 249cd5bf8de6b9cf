"""Decides the points of an exercise by four rules, in this order.

1. A check that passes pays its points.
2. A check that fails is paid if it passes with the solution's definitions of the wrong exercises
   that it uses (``neighbours``).
3. A check of values that fails keeps a share of its points for the laws that hold.
4. An exercise that does by a ready-made function what its stage teaches keeps only a share of its
   points.

Shares are rounded to thousandths of a point. No rule depends on the name of a mistake. Documented
values can be known by heart, so they count as failed if every check of values on hidden inputs
fails.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from autograder.course import Stage
from autograder.course_file import Grading
from autograder.results import CheckResult, ExerciseResult, Outcome, Status
from autograder.suite.checks import CollectedCheck, Layer, read_rules
from autograder.suite.forbidden import Answers, Need, missing_evidence

VALUES: Final = frozenset({Layer.DOCUMENTED, Layer.PROBE, Layer.GRADIENTS})
# These sentences contain no number, because hidden checks show none.
KEPT: Final = "You keep a part of the points, because other properties of the result hold."
BROKEN: Final = (
    "You keep only a part of the points, because the code breaks a rule that this stage teaches."
)
BY_HEART: Final = (
    "This is correct, but it counts only if the result is also correct for other inputs."
)


@dataclass(frozen=True)
class Graded:
    """The checks of one exercise with their results, before any price.

    *given* maps the failed checks that pass with right neighbours to the names of these exercises.
    *uncompared* are the checks whose printed value this version of torch does not compute. *uses*
    names the wrong exercises that the code uses here. *breaks_point* is true if the code breaks a
    rule that the stage teaches.
    """

    checks: Sequence[CollectedCheck]
    results: Sequence[CheckResult]
    given: Mapping[str, str]
    uncompared: frozenset[str] = frozenset()
    breaks_point: bool = False
    uses: tuple[str, ...] = ()

    @property
    def exercise(self) -> str:
        """The exercise of all checks."""
        return self.checks[0].spec.exercise

    @property
    def needs(self) -> frozenset[str]:
        """The other exercises that checks pass to this one."""
        return frozenset(need for check in self.checks for need in check.spec.needs)

    @property
    def is_right(self) -> bool:
        """Whether every check passes, perhaps with right neighbours."""
        return all(map(self.holds, self.results))

    def holds(self, result: CheckResult) -> bool:
        """Whether a check passes, perhaps with right neighbours."""
        return result.outcome is Outcome.PASSED or result.name in self.given

    @property
    def laws(self) -> tuple[int, int]:
        """The number of laws that hold, and of all laws of the exercise."""
        held = [
            self.holds(result)
            for check, result in zip(self.checks, self.results, strict=True)
            if is_law(check)
        ]
        return sum(held), len(held)

    def is_known(self, check: CollectedCheck) -> bool:
        """Whether *check* may compare only values that are known by heart."""
        if check.spec.layer is not Layer.DOCUMENTED:
            return False
        pairs = list(zip(self.checks, self.results, strict=True))
        unknown = [one for one in pairs if one[0].spec.hidden] or [
            one for one in pairs if one[0].spec.layer is Layer.PROBE
        ]
        held = [self.holds(result) for _, result in unknown]
        return bool(held) and not (all(held) if check.name in self.uncompared else any(held))


def is_law(check: CollectedCheck) -> bool:
    """Whether *check* tests a law: a property of the result, not a rule for the code."""
    return check.spec.layer is Layer.LAWS and not check.spec.rules


def priced(graded: Graded, grading: Grading) -> ExerciseResult:
    """Return the result of an exercise with the points of its checks."""
    checks = []
    for check, result in zip(graded.checks, graded.results, strict=True):
        priced_ = _price(graded, check, result, grading)
        checks.append(_shared(priced_, grading.rule_share) if graded.breaks_point else priced_)
    return ExerciseResult.of(graded.exercise, tuple(checks), graded.uses)


def _price(
    graded: Graded, check: CollectedCheck, result: CheckResult, grading: Grading
) -> CheckResult:
    """Return *result* with its points by the first three rules."""
    if result.name in graded.given:
        result = _given(result, graded.given[result.name])
    if graded.holds(result):
        return _credited(graded, result, BY_HEART, grading) if graded.is_known(check) else result
    if (
        check.spec.layer not in VALUES
        or result.outcome is Outcome.SKIPPED
        or result.status is Status.FORBIDDEN
    ):
        return result
    return _credited(graded, result, result.message, grading)


def _given(result: CheckResult, others: str) -> CheckResult:
    """Give full points, because the check passes with the solution's *others*."""
    message = f"Right, with our {others} in place of yours. Fix {others} first."
    return replace(
        result,
        outcome=Outcome.PASSED,
        status=Status.OK,
        points=result.max_points,
        message=message,
        given=others,
        grid=None,
        diagnosis=None,
        printed="",
    )


def _credited(graded: Graded, result: CheckResult, message: str, grading: Grading) -> CheckResult:
    """Give a share of the points for the laws that hold."""
    held, count = graded.laws
    points = round(grading.law_credit * result.max_points * held / count, 3) if held else 0.0
    if points:
        message = f"{message}\n{KEPT}"
    return replace(result, points=points, message=message.lstrip("\n"))


def _shared(result: CheckResult, share: float) -> CheckResult:
    """Keep a *share* of the points, because a ready-made function does the work."""
    points = round(share * result.points, 3)
    if points == result.points:
        return result
    message = f"{result.message}\n{BROKEN}"
    return replace(result, points=points, message=message.lstrip("\n"))


def with_evidence(
    checks: Sequence[CollectedCheck],
    results: Sequence[CheckResult],
    needed: Mapping[str, Need],
    answers: Mapping[str, Answers],
) -> tuple[tuple[CheckResult, ...], tuple[str, ...]]:
    """Return the results and the doubts about an exercise, after a search for evidence.

    If all values are right, a check of a rule fails if nothing ran that the rule needs. If a value
    is wrong, the missing step may be the mistake.
    """
    pairs = list(zip(checks, results, strict=True))
    values = [one.outcome for check, one in pairs if check.spec.layer in VALUES - {Layer.GRADIENTS}]
    if {*values} != {Outcome.PASSED}:
        return tuple(results), ()
    unseen = {
        check.name: reason
        for check, result in pairs
        if result.outcome is Outcome.PASSED
        and (reason := missing_evidence(check.spec.rules, needed, answers.get(check.name, ())))
    }
    broken = {"outcome": Outcome.FAILED, "status": Status.FORBIDDEN, "points": 0.0}
    changed = (
        replace(one, **broken, message=unseen[one.name]) if one.name in unseen else one
        for one in results
    )
    doubts = (
        f"{text} An instructor should read {checks[0].spec.exercise}." for text in unseen.values()
    )
    return tuple(changed), tuple(dict.fromkeys(doubts))


def breaks_point(
    stage: Stage, checks: Sequence[CollectedCheck], results: Sequence[CheckResult]
) -> bool:
    """Whether the code breaks a rule that *stage* teaches."""
    broken = {
        name
        for check, result in zip(checks, results, strict=True)
        if result.status is Status.FORBIDDEN
        for name in check.spec.rules
    }
    rules = read_rules(stage.rules).values() if broken else ()
    return any(rule.name in broken and stage.name in rule.point_of for rule in rules)
