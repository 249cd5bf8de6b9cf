"""Withholds points of passed checks if other failed checks make them worthless."""

from collections.abc import Collection, Sequence
from typing import Final

from msgspec.structs import replace

from autograder.course import Stage
from autograder.results import CheckResult, Outcome, Status
from autograder.suite.checks import CollectedCheck, Layer, read_rules

NOT_YET: Final = (
    "This is correct, but it counts only if the result is also correct for other inputs."
)


def withhold(
    stage: Stage,
    checks: Sequence[CollectedCheck],
    results: tuple[CheckResult, ...],
    *,
    uncompared: Collection[str],
    share: float,
) -> tuple[CheckResult, ...]:
    """Return the *results* of the checks of one exercise, without withheld points.

    Code that breaks a rule which the stage teaches, such as by using ready-made code, keeps only a
    *share* of its other points.
    """
    results = _withhold_known_values(checks, results, uncompared)
    if not _breaks_point(stage, checks, results):
        return results
    return tuple(
        _shared(result, share, check.spec.exercise) if result.points else result
        for check, result in zip(checks, results, strict=True)
    )


def _breaks_point(
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


def _shared(result: CheckResult, share: float, exercise: str) -> CheckResult:
    points = round(share * result.points, 6)
    if points == result.points:
        return result
    reason = f"{exercise} breaks a rule that is the point of this stage"
    message = f"You keep only a share of these points: {reason}."
    return replace(result, points=points, message=message)


def _withhold_known_values(
    checks: Sequence[CollectedCheck],
    results: tuple[CheckResult, ...],
    uncompared: Collection[str],
) -> tuple[CheckResult, ...]:
    """Give no points for documented values and laws if no check on hidden inputs passes.

    Documented values can be memorized, and meaningless tensors satisfy many laws. The checks
    *uncompared*, whose values this torch does not compute, count only if all checks on hidden
    inputs pass.
    """
    specs = [check.spec for check in checks]
    unknown = [spec.hidden for spec in specs if spec.hidden]  # others may be known
    probes = [
        result
        for spec, result in zip(specs, results, strict=True)
        if (spec.hidden if unknown else spec.layer is Layer.PROBE)
    ]
    if not probes:
        return results
    known = any(result.points for result in probes)
    right = all(result.outcome is Outcome.PASSED for result in probes)
    return tuple(
        replace(result, points=0.0, message=NOT_YET)
        if spec.layer in {Layer.DOCUMENTED, Layer.LAWS}
        and result.points
        and not (right if result.name in uncompared else known)
        else result
        for spec, result in zip(specs, results, strict=True)
    )
