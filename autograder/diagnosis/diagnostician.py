"""Names the mistakes in a submission."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import pytest
from msgspec.structs import replace

from autograder.course import Stage
from autograder.diagnosis.live import LiveSource, Record, Run
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Failure
from autograder.diagnosis.ranking import Explanation
from autograder.results import Diagnosis
from autograder.sandbox.faults import Raised
from autograder.suite.checks import CollectedCheck
from autograder.suite.in_process import LocalChannel
from autograder.suite.limits import ticking


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


class Diagnostician:
    """Diagnoses the submissions of one stage with programs that run in this process.

    *run* runs a check on a program, and *record* runs it on *solution*, once.
    """

    def __init__(self, stage: Stage, run: Run, record: Record, solution: LocalChannel) -> None:
        self.source = LiveSource(stage, run, solution, record=record)

    @ticking()
    def examine(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> Mapping[str, Diagnosis]:
        """Return the diagnosis of each failed check of *exercise* that has one."""
        return diagnose(self.source, exercise, failures, passed).diagnoses

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
