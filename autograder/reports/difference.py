"""What differs between two records: who gained, who lost, and by which check."""

from collections.abc import Iterator

import msgspec

from autograder.reports.feedback import counted
from autograder.results import CheckResult, Results, Settings, SubmissionResult, add

Key = tuple[str, str]  # student and stage; or exercise and check


class CheckChange(msgspec.Struct, frozen=True):
    """A check that ended in another way; None where a record does not have it."""

    exercise: str
    name: str
    before: CheckResult | None
    after: CheckResult | None

    @property
    def gain(self) -> float:
        """The points that the student has more than before."""
        return add([_points(self.after), -_points(self.before)])


class SubmissionChange(msgspec.Struct, frozen=True):
    """A submission with another score, status or check; None where a record does not have it."""

    student: str
    stage: str
    before: SubmissionResult | None
    after: SubmissionResult | None
    checks: tuple[CheckChange, ...] = ()

    @property
    def gain(self) -> float:
        """The points that the student has more than before; 0 where a grade is missing."""
        if self.before is None or self.after is None:
            return 0.0
        if self.before.score is None or self.after.score is None:
            return 0.0
        return add([self.after.score, -self.before.score])


class Difference(msgspec.Struct, frozen=True):
    """What differs between two records.

    *compared* counts the submissions of both; *circumstances* names what else is not the same.
    """

    compared: int
    submissions: tuple[SubmissionChange, ...]
    circumstances: tuple[str, ...]


def compare(old: Results, new: Results) -> Difference:
    """Compare two records by student, stage and check; sentences about checks do not count."""
    before = {(one.student, one.stage): one for one in old.submissions}
    after = {(one.student, one.stage): one for one in new.submissions}
    changes = (_compare(key, before.get(key), after.get(key)) for key in sorted({*before, *after}))
    return Difference(
        compared=len(before.keys() & after.keys()),
        submissions=tuple(change for change in changes if change is not None),
        circumstances=(*_other_circumstances(old, new), *_other_suites(before, after)),
    )


def difference_lines(difference: Difference) -> Iterator[str]:
    """Describe *difference*: those who lost points first, then who gained, then the others."""
    both = [one for one in difference.submissions if one.before and one.after]
    gained, lost = (sum(one.gain * sign > 0 for one in both) for sign in (1, -1))
    yield (
        f"{counted(difference.compared, 'submission')} compared: "
        f"{gained} gained, {lost} lost, {len(both) - gained - lost} changed in checks only."
    )
    yield from difference.circumstances
    for change in sorted(both, key=lambda one: one.gain):
        yield (
            f"{_signed(change.gain):>6}  {change.student}, {change.stage}: "
            f"{_score(change.before)} → {_score(change.after)}"
        )
        for check in change.checks:
            yield (
                f"{_signed(check.gain):>14}  {check.exercise}, {check.name}: "
                f"{_outcome(check.before)} → {_outcome(check.after)}"
            )
    for change in difference.submissions:
        if not (change.before and change.after):
            where, only = ("old", change.before) if change.before else ("new", change.after)
            yield f"only in the {where} record: {change.student}, {change.stage}: {_score(only)}"


def _compare(
    key: Key, before: SubmissionResult | None, after: SubmissionResult | None
) -> SubmissionChange | None:
    """Return what changed for one student in one stage; None: nothing."""
    if before is None or after is None:
        return SubmissionChange(*key, before, after)
    old, new = _checks(before), _checks(after)
    checks = tuple(
        CheckChange(*name, old.get(name), new.get(name))
        for name in dict.fromkeys([*new, *old])
        if _ending(old.get(name)) != _ending(new.get(name))
    )
    is_equal = (before.score, before.status) == (after.score, after.status)
    return None if is_equal and not checks else SubmissionChange(*key, before, after, checks)


def _checks(result: SubmissionResult) -> dict[Key, CheckResult]:
    return {
        (exercise.name, check.name): check
        for exercise in result.exercises
        for check in exercise.checks
    }


def _ending(check: CheckResult | None) -> tuple[object, ...]:
    if check is None:
        return ()
    return check.outcome, check.status, check.points, check.max_points, check.given


def _other_circumstances(old: Results, new: Results) -> Iterator[str]:
    """Name what the two runs graded with and is not the same."""
    for name in ("isolation", "hidden_inputs"):
        if getattr(old, name) != getattr(new, name):
            yield f"{name}: {getattr(old, name)} → {getattr(new, name)}"
    for name in Settings.__struct_fields__ if old.settings and new.settings else ():
        before, after = getattr(old.settings, name), getattr(new.settings, name)
        if before != after:
            is_text = isinstance(before, str) and not name.endswith("sha256")
            yield f"{name}: {before} → {after}" if is_text else f"{name} is not the same"


def _other_suites(
    before: dict[Key, SubmissionResult], after: dict[Key, SubmissionResult]
) -> Iterator[str]:
    """Name the stages whose solution or suite is not the same."""
    pairs = [(before[key].audit, after[key].audit, key[1]) for key in before.keys() & after.keys()]
    changed = {
        stage for old, new, stage in pairs if old and new and old.suite_sha256 != new.suite_sha256
    }
    yield from (f"the suite of {stage} is not the same" for stage in sorted(changed))


def _points(check: CheckResult | None) -> float:
    return check.points if check else 0.0


def _signed(points: float) -> str:
    return f"{points:+g}" if points else "="


def _score(result: SubmissionResult | None) -> str:
    if result is None or result.score is None:
        return "no grade"
    return f"{result.score:g}"


def _outcome(check: CheckResult | None) -> str:
    if check is None:
        return "not there"
    given = f", given {check.given}" if check.given else ""
    return f"{check.outcome} ({check.status}{given})"
