"""Names mistakes on a student's machine, where there are no wrong programs, by fingerprints.

The order is that of grading: misconceptions first, then a kind of mistake that explains every wrong
answer, then the kind that explains most of the rest. Pairs of kinds have no fingerprints.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import pytest
from msgspec.structs import asdict

from autograder.course import Stage
from autograder.diagnosis.exceptions import explain_exception
from autograder.diagnosis.fingerprints import Fingerprints, from_json, shown_by
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Failure, Match, Observation, is_coincidence
from autograder.diagnosis.operators.answers import tells
from autograder.diagnosis.operators.comparison import MAX_SCREENS
from autograder.diagnosis.operators.naming import name_one
from autograder.diagnosis.operators.search import Tried
from autograder.results import Diagnosis
from autograder.sandbox.faults import Fault, NoGradients
from autograder.suite.checks import Layer, WrongAnswer, layer_of


class FailedCheck(NamedTuple):
    """A failed check, and the numbers of the programs that show in it what the code showed.

    *wrong* says whether an answer was wrong, *tells* whether it says enough to name a mistake.
    """

    name: str
    layer: Layer | None
    numbers: frozenset[int]
    wrong: bool
    tells: bool
    fault: bool = False


class FingerprintMatcher:
    """Knows the misconceptions and the kinds of mistake of one stage by their fingerprints."""

    def __init__(self, known: Fingerprints) -> None:
        self.misconceptions = tuple(Misconception(**asdict(mistake)) for mistake in known.mistakes)
        self._known = known
        self._numbers = {item.id: number for number, item in enumerate(self.misconceptions)}
        self._matching: dict[str, tuple[Observation, dict[int, Match]]] = {}

    def match(self, item: Misconception, failure: Failure) -> Match:
        """Compare the fingerprint of *item* with that of the student's code."""
        return self._matches(failure).get(self._numbers[item.id], Match.NO)

    def passes(self, item: Misconception, check: pytest.Item) -> bool:
        """Whether *item* has no fingerprint in *check*: those that pass leave none."""
        return self._numbers[item.id] not in self._known.failing(check.name)

    def note(self, tried: Iterable[Tried]) -> None:
        """Keep nothing: students don't read which explanations were tried."""

    def search(
        self,
        exercise: str,  # noqa: ARG002  # as in ``Matcher``; the checks belong to one exercise
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
    ) -> dict[str, Diagnosis]:
        """Explain all wrong answers by one kind of mistake; name it by check."""
        failed = self._failed_checks(failures)
        return explain_all(self._known, failed, [check.name for check in passed])

    def search_some(
        self,
        exercise: str,  # noqa: ARG002  # likewise
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],  # noqa: ARG002  # as in ``Matcher``
    ) -> dict[str, Diagnosis]:
        """Explain as many of the wrong answers as one kind of mistake can."""
        return explain_some(self._known, self._failed_checks(failures))

    def search_beside(
        self,
        items: Sequence[Misconception],  # noqa: ARG002  # as in ``Matcher``
        failures: Sequence[Failure],  # noqa: ARG002  # likewise
        passed: Sequence[pytest.Item],  # noqa: ARG002  # likewise
        *,
        shown: bool,  # noqa: ARG002  # likewise
    ) -> dict[str, Diagnosis]:
        """Explain nothing: pairs have no fingerprints."""
        return {}

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Explain an exception; the solution, with which heuristics compare, is not here."""
        error = failure.observation.error
        pattern = explain_exception(error, shows_values=failure.shows_values)
        return Diagnosis(*pattern) if pattern else None

    def _matches(self, failure: Failure) -> dict[int, Match]:
        """Return the numbers of the programs that show what the student's code showed."""
        name, seen = failure.item.name, failure.observation
        found = self._matching.get(name)
        if found is None or found[0] is not seen:
            shown = shown_by(seen)
            matches = self._known.matching(name, shown)
            if isinstance(seen.error, NoGradients) and not shown.answers:
                matches = dict.fromkeys(matches, Match.TEXT_ONLY)  # many have such a shape
            found = self._matching[name] = seen, matches
        return found[1]

    def _failed_checks(self, failures: Sequence[Failure]) -> list[FailedCheck]:
        """Describe *failures*, those first whose last answer says something and is small."""
        ordered = sorted(failures, key=_effort)
        return [
            FailedCheck(
                failure.item.name,
                layer_of(failure.item),
                frozenset(
                    one for one, match in self._matches(failure).items() if match is Match.YES
                ),
                self._is_wrong(failure),
                _tells(failure.observation),
                isinstance(failure.observation.error, Fault),
            )
            for failure in ordered
        ]

    def _is_wrong(self, failure: Failure) -> bool:
        """Whether an answer is wrong, and the check did not fail for a forbidden function alone."""
        name, seen = failure.item.name, failure.observation
        if not isinstance(seen.error, WrongAnswer) or not seen.answers:
            return False
        about_code = layer_of(failure.item) is Layer.FORBIDDEN
        return not (about_code and self._known.is_right(name, shown_by(seen)))


def fingerprint_matcher(stage: Stage) -> FingerprintMatcher | None:
    """Read the fingerprints of *stage*; ``None`` if there are none that can be used."""
    try:
        return FingerprintMatcher(from_json(stage.fingerprints.read_bytes()))
    except (OSError, msgspec.MsgspecError, IndexError):  # costs the diagnosis, but no check
        return None


def explain_all(
    known: Fingerprints, failed: Sequence[FailedCheck], passed: Sequence[str]
) -> dict[str, Diagnosis]:
    """Name the kind of mistake that explains every wrong answer, and passes what *passed*."""
    wrong = [one for one in failed if one.wrong]
    if not wrong:
        return {}
    numbers = _kinds(known, frozenset.intersection(*(one.numbers for one in wrong)))
    for one in failed:
        if one.fault:  # it may raise something else
            numbers &= known.failing(one.name)
    for name in passed:
        numbers -= known.failing(name)
    return _diagnoses(known, sorted(numbers), failed)


def explain_some(known: Fingerprints, failed: Sequence[FailedCheck]) -> dict[str, Diagnosis]:
    """Name the kind of mistake that explains most of the wrong answers."""
    wrong = [one for one in failed if one.wrong]
    telling = [one.numbers for one in wrong[:MAX_SCREENS] if one.tells]
    layers = {one.name: one.layer for one in failed}
    names_of_wrong = [one.name for one in wrong]
    explained = {
        number: {one.name for one in failed if number in one.numbers}
        for number in sorted(_kinds(known, frozenset().union(*telling)))
    }
    found = {
        number: names
        for number, names in explained.items()
        if not is_coincidence(names, layers, names_of_wrong)
    }
    most = max(map(len, found.values()), default=0)
    best = [number for number, names in found.items() if len(names) == most]
    return _diagnoses(known, best, failed)


def _kinds(known: Fingerprints, numbers: frozenset[int]) -> frozenset[int]:
    """Keep the programs with one kind of mistake."""
    return frozenset(number for number in numbers if number >= len(known.mistakes))


def _diagnoses(
    known: Fingerprints, numbers: Sequence[int], failed: Sequence[FailedCheck]
) -> dict[str, Diagnosis]:
    """Name the first program of each group, by the name of each explained check."""
    if not numbers:
        return {}
    rewrites = list(map(known.rewrite, numbers))
    first_of_each = {rewrite.group: rewrite for rewrite in reversed(rewrites)}
    diagnosis = name_one([one for one in rewrites if one is first_of_each[one.group]])
    if diagnosis is None:
        return {}
    return {one.name: diagnosis for one in failed if numbers[0] in one.numbers}


def _effort(failure: Failure) -> tuple[bool, int, int]:
    """Order failed checks as a search does that runs programs."""
    sizes = [getattr(answer, "numel", lambda: 1)() for _, answer in failure.observation.answers]
    return not _tells(failure.observation), len(sizes), sum(sizes)


def _tells(seen: Observation) -> bool:
    return bool(seen.answers) and tells(seen.answers[-1][1])
