"""Names mistakes on a student's machine, where there are no wrong programs, by fingerprints.

The order is that of grading: misconceptions first, then a kind of mistake that explains every wrong
answer, then the kind that explains most of the rest. Pairs of kinds have no fingerprints.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pytest
from msgspec.structs import asdict

from autograder.course import Stage
from autograder.diagnosis.exceptions import explain_exception
from autograder.diagnosis.fingerprints import End, Fingerprints, Shown, find, shown_by
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes.kinds import SIZES, WITHOUT_EFFECT
from autograder.diagnosis.observation import Failure, Match, Observation, is_coincidence
from autograder.diagnosis.operators.answers import tells
from autograder.diagnosis.operators.comparison import MAX_SCREENS
from autograder.diagnosis.operators.naming import name_one, name_stopped, one_of_each_group
from autograder.diagnosis.operators.search import Tried
from autograder.results import Diagnosis
from autograder.sandbox.faults import Fault
from autograder.suite.checks import Layer, WrongAnswer, layer_of


class FailedCheck(NamedTuple):
    """A failed check, and the numbers of the programs that show in it what the code showed.

    *wrong* says whether an answer was wrong, *tells* whether it says enough to name a mistake.
    *stopped* are the programs that only raised the same exception, *end* is how the check ended;
    *undecided* are those that are too close to tell.
    """

    name: str
    layer: Layer | None
    numbers: frozenset[int]
    wrong: bool
    tells: bool
    fault: bool = False
    stopped: frozenset[int] = frozenset()
    end: End = End("")
    undecided: frozenset[int] = frozenset()

    @property
    def alike(self) -> frozenset[int]:
        """The programs that ended as the code did, by numbers or in the same exception."""
        return self.numbers | self.stopped


class FingerprintMatcher:
    """Knows the misconceptions and the kinds of mistake of one stage by their fingerprints."""

    def __init__(self, known: Fingerprints) -> None:
        self.misconceptions = tuple(Misconception(**asdict(mistake)) for mistake in known.mistakes)
        self._known = known
        self._numbers = {item.id: number for number, item in enumerate(self.misconceptions)}
        self._matching: dict[str, tuple[Observation, Shown, dict[int, Match]]] = {}

    def match(self, item: Misconception, failure: Failure) -> Match:
        """Compare the fingerprint of *item* with that of the student's code."""
        return self._matches(failure)[1].get(self._numbers[item.id], Match.NO)

    def passes(self, item: Misconception, check: pytest.Item) -> bool:
        """Whether *item* has no fingerprint in *check*: those that may pass leave none."""
        return self._numbers[item.id] not in self._known.failing(check.name)

    def note(self, tried: Iterable[Tried]) -> None:
        """Keep nothing: students don't read which explanations were tried."""

    def search(
        self,
        exercise: str,  # noqa: ARG002  # as in ``Matcher``; the checks belong to one exercise
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
    ) -> dict[str, Diagnosis]:
        """Explain all wrong answers, or else all exceptions, by one kind of mistake."""
        return explain(self._known, *self._seen(failures, passed))

    def search_some(
        self,
        exercise: str,  # noqa: ARG002  # likewise
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
    ) -> dict[str, Diagnosis]:
        """Explain as many of the wrong answers as one kind of mistake can, or all exceptions."""
        return explain_rest(self._known, *self._seen(failures, passed))

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
        pattern = explain_exception(error)
        return pattern.diagnosis(shows_values=failure.shows_values) if pattern else None

    def _matches(self, failure: Failure) -> tuple[Shown, dict[int, Match]]:
        """Return what the student's code showed, and the programs that show it, by numbers."""
        name, seen = failure.item.name, failure.observation
        found = self._matching.get(name)
        if found is None or found[0] is not seen:
            shown = shown_by(seen)
            found = self._matching[name] = seen, shown, self._known.matching(name, shown)
        return found[1:]

    def _seen(
        self, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> tuple[list[FailedCheck], list[str]]:
        """Describe *failures*, those first whose last answer says something and is small."""
        failed = map(self._failed_check, sorted(failures, key=_effort))
        return list(failed), [check.name for check in passed]

    def _failed_check(self, failure: Failure) -> FailedCheck:
        shown, matches = self._matches(failure)
        return FailedCheck(
            failure.item.name,
            layer_of(failure.item),
            _matching(matches, Match.YES),
            self._is_wrong(failure),
            _tells(failure.observation),
            isinstance(failure.observation.error, Fault),
            _matching(matches, Match.TEXT_ONLY),
            shown.end,
            _matching(matches, Match.UNDECIDED),
        )

    def _is_wrong(self, failure: Failure) -> bool:
        """Whether an answer is wrong, and the check did not fail for a forbidden function alone."""
        name, seen = failure.item.name, failure.observation
        if not isinstance(seen.error, WrongAnswer) or not seen.answers:
            return False
        about_code = layer_of(failure.item) is Layer.FORBIDDEN
        return not (about_code and self._known.is_right(name, self._matches(failure)[0]))


def fingerprint_matcher(stage: Stage) -> FingerprintMatcher | None:
    """Read the fingerprints of *stage*; without any, checks count and nothing is named."""
    known = find(stage.fingerprints)
    return FingerprintMatcher(known) if known else None


def explain(
    known: Fingerprints, failed: Sequence[FailedCheck], passed: Sequence[str]
) -> dict[str, Diagnosis]:
    """Explain all wrong answers by one kind of mistake, or all exceptions where none is wrong."""
    by_kind = explain_all if any(one.wrong for one in failed) else explain_stopped
    return by_kind(known, failed, passed)


def explain_rest(
    known: Fingerprints, failed: Sequence[FailedCheck], passed: Sequence[str]
) -> dict[str, Diagnosis]:
    """Explain most wrong answers by one kind of mistake, or all exceptions where none is wrong."""
    if any(one.wrong for one in failed):
        return explain_some(known, failed, passed)
    return explain_stopped(known, failed, passed)


def explain_all(
    known: Fingerprints, failed: Sequence[FailedCheck], passed: Sequence[str]
) -> dict[str, Diagnosis]:
    """Name the kind of mistake that explains every wrong answer, and passes what *passed*.

    Where the code raised, the program may raise something else, if numbers are certain enough.
    """
    wrong = [one for one in failed if one.wrong]
    ranks = {
        number: (
            sum(number in one.numbers for one in failed),
            -sum(number in one.undecided for one in failed),
        )
        for number in _kinds(known, frozenset().union(*(one.numbers for one in wrong)))
        if _is_complete(known, number, failed) and _may_pass(known, number, passed)
    }
    best = max(ranks.values(), default=None)
    numbers = sorted(number for number, rank in ranks.items() if rank == best)
    return _diagnoses(known, numbers, failed)


def _is_complete(known: Fingerprints, number: int, failed: Sequence[FailedCheck]) -> bool:
    """Whether a program explains every wrong answer, as far as that is decided."""
    certain = any(one.tells for one in failed if one.wrong and number in one.numbers)
    for one in failed:
        if one.wrong and number not in one.numbers | one.undecided:
            return False
        if one.fault and known.passes(one.name, number):
            return False
        if one.end.raised and not certain and number not in one.alike | one.undecided:
            return False
    return True


def _may_pass(known: Fingerprints, number: int, passed: Sequence[str]) -> bool:
    """Whether a program fails none of the checks that the code *passed*, as far as is decided."""
    return not any(number in known.failing(name) for name in passed)


def explain_stopped(
    known: Fingerprints, failed: Sequence[FailedCheck], passed: Sequence[str]
) -> dict[str, Diagnosis]:
    """Name the kind of mistake that ends in every exception that the code ended in.

    It fails and passes what the code did; only where no answer is wrong, or another one.
    """
    raised = [one for one in failed if one.end.raised]
    if not any(one.end.specific for one in raised):
        return {}
    numbers = [
        number
        for number in sorted(_kinds(known, frozenset().union(*(one.alike for one in raised))))
        if all(number in one.alike | one.undecided for one in raised)
        and not any(
            known.passes(one.name, number) for one in failed if one.layer is not Layer.FORBIDDEN
        )
        and _may_pass(known, number, passed)
    ]
    refused = all(one.end.refuses for one in raised)
    diagnosis = name_stopped(list(map(known.rewrite, numbers)), refused=refused)
    return dict.fromkeys((one.name for one in raised), diagnosis) if diagnosis else {}


def explain_some(
    known: Fingerprints, failed: Sequence[FailedCheck], passed: Sequence[str]
) -> dict[str, Diagnosis]:
    """Name the kind of mistake that explains most of the wrong answers.

    No wrong size, which may equal another in some checks; and no argument without effect if a check
    *passed* that would fail then.
    """
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
        if not _is_by_chance(known, number, passed)
        and not is_coincidence(names, layers, names_of_wrong)
    }
    most = max(map(len, found.values()), default=0)
    best = [number for number, names in found.items() if len(names) == most]
    return _diagnoses(known, best, failed)


def _is_by_chance(known: Fingerprints, number: int, passed: Sequence[str]) -> bool:
    """Whether other checks say, or may say, that it is not this mistake but another one."""
    kind = known.rewrite(number).kind
    if kind in WITHOUT_EFFECT:
        return any(number in known.failing(name) for name in passed)
    return kind in SIZES


def _kinds(known: Fingerprints, numbers: frozenset[int]) -> frozenset[int]:
    """Keep the programs with one kind of mistake."""
    return frozenset(number for number in numbers if number >= len(known.mistakes))


def _diagnoses(
    known: Fingerprints, numbers: Sequence[int], failed: Sequence[FailedCheck]
) -> dict[str, Diagnosis]:
    """Name the first program of each group, by the name of each explained check."""
    rewrites = one_of_each_group(map(known.rewrite, numbers))
    diagnosis = name_one(rewrites) if rewrites else None
    if diagnosis is None:
        return {}
    return {one.name: diagnosis for one in failed if numbers[0] in one.numbers}


def _matching(matches: Mapping[int, Match], wanted: Match) -> frozenset[int]:
    return frozenset(number for number, match in matches.items() if match is wanted)


def _effort(failure: Failure) -> tuple[bool, int, int]:
    """Order failed checks as a search does that runs programs."""
    sizes = [getattr(answer, "numel", lambda: 1)() for _, answer in failure.observation.answers]
    return not _tells(failure.observation), len(sizes), sum(sizes)


def _tells(seen: Observation) -> bool:
    return bool(seen.answers) and tells(seen.answers[-1][1])
