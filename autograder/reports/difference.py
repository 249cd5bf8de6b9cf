"""Compares two records: which students gained or lost points, and in which checks."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from autograder.reports.feedback import counted
from autograder.results import Outcome, Results, Settings, Status, SubmissionResult, add
from autograder.stored_results import SubmissionScore, matched, scores_of

Key = tuple[str, str]  # student and stage, or exercise and check


class Ending(NamedTuple):
    """The result of a check, without its sentences."""

    outcome: Outcome
    status: Status
    points: float
    max_points: float
    given: str


class CheckChange(NamedTuple):
    """A check with different results; a result is None if the record lacks the check."""

    exercise: str
    name: str
    before: Ending | None
    after: Ending | None

    @property
    def gain(self) -> float:
        """The change in the student's points."""
        return add([_points(self.after), -_points(self.before)])


class SubmissionChange(NamedTuple):
    """A submission with changes; *before* or *after* is None if the record lacks it."""

    student: str
    stage: str
    before: SubmissionScore | None
    after: SubmissionScore | None
    checks: tuple[CheckChange, ...] = ()

    @property
    def gain(self) -> float:
        """The change in the student's points; 0 if a grade is missing."""
        if self.before is None or self.after is None:
            return 0.0
        if self.before.score is None or self.after.score is None:
            return 0.0
        return add([self.after.score, -self.before.score])


class Difference(msgspec.Struct, frozen=True):
    """Changed submissions, of *compared* ones in both records, and other *circumstances*."""

    compared: int
    submissions: tuple[SubmissionChange, ...]
    circumstances: tuple[str, ...]


def compare(old: Results, new: Results) -> Difference:
    """Compare two records by student, stage and check; equal changes of checks are kept once."""
    compared = 0
    changes: list[SubmissionChange] = []
    suites: set[str] = set()
    known: dict[tuple[CheckChange, ...], tuple[CheckChange, ...]] = {}
    for key, one, other in matched(_by_key(old), _by_key(new)):
        if one is None or other is None:
            changes.append(SubmissionChange(*key, _score_at(old, one), _score_at(new, other)))
            continue
        compared += 1
        before, after = old.submissions[one], new.submissions[other]
        if before.audit and after.audit and before.audit.suite_sha256 != after.audit.suite_sha256:
            suites.add(key[1])
        checks = _changed_checks(before, after)
        if checks or (before.score, before.status) != (after.score, after.status):
            scores = (_score_of(before), _score_of(after))
            changes.append(SubmissionChange(*key, *scores, known.setdefault(checks, checks)))
    return Difference(
        compared=compared,
        submissions=tuple(sorted(changes, key=lambda change: change[:2])),
        circumstances=(
            *_other_circumstances(old, new),
            *(f"the suite of {stage} differs" for stage in sorted(suites)),
        ),
    )


def difference_lines(difference: Difference) -> Iterator[str]:
    """Describe *difference*, sorted by gain, the largest loss first."""
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
            yield f"{_signed(check.gain):>14}  {check.exercise}, {check.name}: {_change(check)}"
    for change in difference.submissions:
        if not (change.before and change.after):
            where, only = ("old", change.before) if change.before else ("new", change.after)
            yield f"only in the {where} record: {change.student}, {change.stage}: {_score(only)}"


def _by_key(results: Results) -> Iterator[tuple[Key, int]]:
    return ((one.key, index) for index, one in enumerate(scores_of(results)))


def _score_at(results: Results, index: int | None) -> SubmissionScore | None:
    return None if index is None else _score_of(results.submissions[index])


def _score_of(result: SubmissionResult) -> SubmissionScore:
    return SubmissionScore(result.student, result.stage, result.score, result.status)


def _changed_checks(before: SubmissionResult, after: SubmissionResult) -> tuple[CheckChange, ...]:
    old, new = _endings(before), _endings(after)
    return tuple(
        CheckChange(*name, old.get(name), new.get(name))
        for name in dict.fromkeys([*new, *old])
        if old.get(name) != new.get(name)
    )


def _endings(result: SubmissionResult) -> dict[Key, Ending]:
    return {
        (exercise.name, check.name): Ending(
            check.outcome, check.status, check.points, check.max_points, check.given
        )
        for exercise in result.exercises
        for check in exercise.checks
    }


def _other_circumstances(old: Results, new: Results) -> Iterator[str]:
    for name in ("isolation", "hidden_inputs"):
        if getattr(old, name) != getattr(new, name):
            yield f"{name}: {getattr(old, name)} → {getattr(new, name)}"
    for name in Settings.__struct_fields__ if old.settings and new.settings else ():
        before, after = getattr(old.settings, name), getattr(new.settings, name)
        if before != after:
            is_text = isinstance(before, str) and not name.endswith("sha256")
            yield f"{name}: {before} → {after}" if is_text else f"{name} differs"


def _points(check: Ending | None) -> float:
    return check.points if check else 0.0


def _signed(points: float) -> str:
    return f"{points:+g}" if points else "="


def _score(result: SubmissionScore | None) -> str:
    if result is None or result.score is None:
        return "no grade"
    return f"{result.score:g}"


def _change(check: CheckChange) -> str:
    """Describe the outcomes before and after, or the points if only these differ."""
    before, after = _outcome(check.before), _outcome(check.after)
    if before != after or not (check.before and check.after):
        return f"{before} → {after}"
    points = (f"{one.points:g} of {one.max_points:g}" for one in (check.before, check.after))
    return f"{before}, {' → '.join(points)} points"


def _outcome(check: Ending | None) -> str:
    if check is None:
        return "not there"
    given = f", given {check.given}" if check.given else ""
    return f"{check.outcome} ({check.status}{given})"
