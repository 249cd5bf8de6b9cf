"""Names the mistakes behind failed checks."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import pytest
from msgspec.structs import replace

from autograder.diagnosis.observation import Failure
from autograder.diagnosis.ranking import Explanation
from autograder.results import Diagnosis
from autograder.sandbox.faults import Raised


class Source(Protocol):
    """Knows what the wrong programs of one stage show."""

    def explain(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> Explanation:
        """Find the mistake that explains *failures* of *exercise* best."""

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe a failure that no mistake explains, if something is certain about it."""


class Diagnosed(NamedTuple):
    """The diagnosis of each failed check that has one, and the programs behind them."""

    diagnoses: Mapping[str, Diagnosis]
    explanation: Explanation


def diagnose(
    source: Source, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
) -> Diagnosed:
    """Name the mistake behind *failures* of one exercise, or describe what shows in them."""
    found = source.explain(exercise, failures, passed)
    diagnoses: dict[str, Diagnosis] = {}
    for failure in failures:
        name = failure.item.name
        named = found.diagnoses.get(name)
        # An exception has many causes: its text says what the name of a kind does not.
        is_open = isinstance(failure.observation.error, Raised) and name not in found.written
        described = source.describe(failure) if named is None or is_open else None
        if diagnosis := _together(named, described):
            diagnoses[name] = diagnosis
    return Diagnosed(diagnoses, found)


def _together(named: Diagnosis | None, described: Diagnosis | None) -> Diagnosis | None:
    if named is None or described is None:
        return named or described
    return replace(named, explanation=f"{named.explanation} {described.explanation}")
