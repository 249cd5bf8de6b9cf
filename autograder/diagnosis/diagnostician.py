"""Names the mistakes in a submission, and carries points to exercises that only use them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import pytest
from msgspec.structs import replace

from autograder.course import Stage
from autograder.diagnosis.carry_forward import CarryForward
from autograder.diagnosis.live import (
    LEAST_SHARE,
    LEAST_WRITTEN_SHARE,
    LiveSource,
    Record,
    Run,
)
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Failure
from autograder.diagnosis.ranking import Explanation
from autograder.diagnosis.slip_finder import Slip, find_slip
from autograder.results import Diagnosis
from autograder.sandbox.faults import Raised
from autograder.sandbox.static_names import Definition
from autograder.suite.checks import CollectedCheck
from autograder.suite.in_process import LocalChannel
from autograder.suite.limits import ticking
from autograder.suite.student_proxy import Channel


class Source(Protocol):
    """Provides the results of the wrong programs of one stage."""

    def explain(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> Explanation:
        """Find the mistake that best explains *failures* of *exercise*."""

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe a failure that no mistake explains, if the evidence is certain."""


class Diagnosed(NamedTuple):
    """The diagnosis of each failed check that has one, and the programs behind them."""

    diagnoses: Mapping[str, Diagnosis]
    explanation: Explanation


@dataclass
class Below:
    """The mistakes in those exercises of a submission that were graded so far."""

    wrong: list[str] = field(default_factory=list)  # attempts, for which points may be carried
    mistakes: list[Misconception] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # exercises without most of their work


class Case(NamedTuple):
    """One exercise of a submission: its *checks*, and how they ended.

    *student* answers requests, and *definitions* are those in the source.
    """

    student: Channel
    definitions: Sequence[Definition]
    checks: Sequence[CollectedCheck]
    failures: Sequence[Failure]
    passed: Sequence[pytest.Item]

    @property
    def exercise(self) -> str:
        """The exercise of all checks."""
        return self.checks[0].spec.exercise

    @property
    def all_ran(self) -> bool:
        """Whether every check ran on code that is written."""
        return len(self.failures) + len(self.passed) == len(self.checks)


class Findings(NamedTuple):
    """The diagnoses by check, and the wrong exercise behind each carried check.

    *slip* is the only mistake in the exercise, if that is certain.
    """

    diagnoses: Mapping[str, Diagnosis]
    given: Mapping[str, str]
    slip: Slip | None = None


class Diagnostician:
    """Diagnoses the submissions of one stage with programs that run in this process.

    *run_again* runs a check, with stand-ins, even if its outcome is known. *record* runs it on
    *solution*, once.
    """

    def __init__(
        self, stage: Stage, run: Run, run_again: Run, record: Record, solution: LocalChannel
    ) -> None:
        self.source = LiveSource(stage, run, solution, record=record)
        self._carrier = CarryForward(stage, run_again, solution)

    @ticking()
    def examine(self, case: Case, below: Below) -> Findings:
        """Diagnose an exercise, and add its mistakes to *below*."""
        given: dict[str, str] = {}
        failures = case.failures
        if below.wrong and failures and case.all_ran:
            given, failures = self._carry(case, below)
        if not failures:
            return Findings({}, given)
        found = diagnose(self.source, case.exercise, failures, case.passed)
        mistakes = self._attempts(case, found.explanation)
        works = mistakes or given or self._carrier.shows_work(case.exercise, case.passed)
        left_out = self._carrier.uses_any(case.definitions, case.exercise, below.left_out)
        if works and not left_out:
            below.mistakes += mistakes
            below.wrong.append(case.exercise)
        else:
            below.left_out.append(case.exercise)
        exercise, explained = case.exercise, found.explanation
        own = mistakes and not left_out  # failures from garbage below may look like a slip
        slip = find_slip(self.source, exercise, explained, failures) if own else None
        return Findings(found.diagnoses, given, slip)

    @property
    def not_carried(self) -> Mapping[str, Sequence[str]]:
        """The reasons, for authors, why exercises of the last submission got no carried points."""
        return self._carrier.reasons

    @ticking()
    def names(
        self, checks: Sequence[CollectedCheck], mistake: Misconception
    ) -> dict[CollectedCheck, list[str]]:
        """Return the names that a diagnosis gives to *mistake*, by the check that it fails.

        The mistake runs in this process, as in a comparison with a student's code.
        """
        seen = {check: self.source.replay(mistake, check.item) for check in checks}
        failed = {check: shown for check, shown in seen.items() if shown.error is not None}
        failures = [Failure(check.item, shown) for check, shown in failed.items()]
        passed = [check.item for check in checks if check not in failed]
        found = diagnose(self.source, mistake.exercise, failures, passed).diagnoses
        return {
            check: found[check.name].misconceptions if check.name in found else []
            for check in failed
        }

    def _carry(self, case: Case, below: Below) -> tuple[dict[str, str], list[Failure]]:
        """Return the wrong exercises behind failures, by check, and the unexplained failures."""
        failures = case.failures
        named = self._carrier.find(
            case.definitions, case.exercise, failures, case.passed, below.mistakes
        )
        given = dict.fromkeys(named.checks, named.given) if named else {}
        if len(given) == len(failures):
            return given, []
        unnamed = self._carrier.find_by_stand_ins(
            case.student, case.definitions, case.exercise, failures, case.passed, below.wrong
        )
        given = (dict.fromkeys(unnamed.checks, unnamed.given) if unnamed else {}) | given
        explained = named is not None
        return given, [one for one in failures if not explained and one.item.name not in given]

    def _attempts(self, case: Case, found: Explanation) -> tuple[Misconception, ...]:
        """Return the certain mistakes of one exercise that still do most of the work."""
        items = [check.item for check in case.checks]
        named = self.source.mistakes(case.exercise, found)
        written = self.source.misconceptions
        return tuple(
            one
            for one in named
            if self.source.share(one, items)
            >= (LEAST_WRITTEN_SHARE if one in written else LEAST_SHARE)
        )


def diagnose(
    source: Source, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
) -> Diagnosed:
    """Name the mistake behind *failures* of one exercise, or describe the wrong answers."""
    found = source.explain(exercise, failures, passed)
    diagnoses: dict[str, Diagnosis] = {}
    for failure in failures:
        name = failure.item.name
        named = found.diagnoses.get(name)
        # An exception may have many causes, so its text adds to the name of a kind.
        is_open = isinstance(failure.observation.error, Raised) and name not in found.written
        described = source.describe(failure) if named is None or is_open else None
        if diagnosis := _together(named, described):
            diagnoses[name] = diagnosis
    return Diagnosed(diagnoses, found)


def _together(named: Diagnosis | None, described: Diagnosis | None) -> Diagnosis | None:
    if named is None or described is None:
        return named or described
    return replace(named, explanation=f"{named.explanation} {described.explanation}")
