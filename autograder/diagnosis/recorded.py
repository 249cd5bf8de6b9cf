"""Provides evidence from fingerprints, which contain the answers of wrong programs.

A student's machine has no other evidence. There are no fingerprints of two mistakes at once.
"""

from collections.abc import Callable, Mapping, Sequence

from autograder.course import Stage
from autograder.diagnosis import fingerprints, mistake_texts
from autograder.diagnosis.answers import effort, is_raised, last_tells
from autograder.diagnosis.consent import Consent
from autograder.diagnosis.contract import Contract
from autograder.diagnosis.exceptions import explain_exception
from autograder.diagnosis.fingerprints import Fingerprints, Shown, shown_by
from autograder.diagnosis.mistake_texts import MistakeTexts
from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import Failure, Match, Submitted
from autograder.diagnosis.ranking import (
    Candidate,
    CheckEnd,
    Explanation,
    FailedCheck,
    Key,
    Ranking,
)
from autograder.diagnosis.result_form import find_error
from autograder.errors import CourseError
from autograder.results import Diagnosis
from autograder.sandbox.faults import Fault
from autograder.suite import records
from autograder.suite.checks import Layer, WrongAnswer, layer_of


class RecordedEvidence:
    """The results of the wrong programs in the checks of one submission, by their fingerprints.

    *shown* contains the results of the submission in each failed check.
    """

    def __init__(
        self,
        known: Fingerprints,
        texts: MistakeTexts,
        failed: Sequence[FailedCheck],
        shown: Mapping[str, Shown],
        passed: Sequence[str],
    ) -> None:
        self.failed = failed
        self.passed = passed
        self._known = known
        self._texts = texts
        self._matches = {name: known.matching(name, one) for name, one in shown.items()}

    def mistake(self, number: int) -> Mistake:
        """Return the mistake *number*."""
        return self._known.mistake(number, self._texts)

    def written_keys(self) -> Sequence[Key]:
        """Return the programs with a misconception."""
        return [(number,) for number in range(len(self._known.mistakes))]

    def like(
        self, check: FailedCheck, admits: Callable[[Key], bool], *, written: bool
    ) -> Mapping[Key, Match]:
        """Return the programs that may give the code's results in *check*.

        In a check without a comparable answer, only misconceptions are returned.
        """
        every = (check.wrong or check.raised) and not written
        return {
            (number,): match
            for number, match in sorted(self._matches[check.name].items())
            if (every or self.mistake(number).written) and admits((number,))
        }

    def match(self, key: Key, check: FailedCheck) -> Match:
        """Compare the fingerprint of a program with that of the code."""
        return self._matches[check.name].get(key[0], Match.NO)

    def end(self, key: Key, check: str) -> CheckEnd:
        """Return how a program ended *check*."""
        if key[0] in self._known.failing(check):
            return CheckEnd.FAILS
        return CheckEnd.PASSES if self._known.passes(check, key[0]) else CheckEnd.UNDECIDED

    def pairs(self, ranking: Ranking) -> list[Candidate]:  # noqa: ARG002  # ``Evidence`` needs this argument
        """Return nothing, because two mistakes at once have no fingerprints."""
        return []


class RecordedSource:
    """Provides the wrong programs of one stage by their fingerprints."""

    def __init__(self, known: Fingerprints, texts: MistakeTexts) -> None:
        self._known = known
        self._texts = texts

    def explain(self, submission: Submitted, *, complete: bool = False) -> Explanation:
        """Find the mistake that best explains the failures of *submission*."""
        exercise, failures, passed, code, right = submission
        shown = {one.item.name: shown_by(one.observation) for one in failures}
        failed = [self._failed_check(one, shown) for one in sorted(failures, key=_effort)]
        names = [check.name for check in passed]
        evidence = RecordedEvidence(self._known, self._texts, failed, shown, names)
        consent = Consent(code, exercise, self.contract, right)
        return Ranking(evidence, consent).explanation(complete=complete)

    def contract(self, exercise: str) -> Contract:
        """Return what the stub prescribes for *exercise*."""
        return self._known.contracts[exercise]

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Explain an exception, raised or returned; there is no solution to compare with."""
        seen = failure.observation
        result = seen.answers[-1][1] if seen.answers else None
        pattern = explain_exception(seen.error) or find_error(result)
        return pattern.diagnosis(shows_values=failure.shows_values) if pattern else None

    def _failed_check(self, failure: Failure, shown: Mapping[str, Shown]) -> FailedCheck:
        name, layer = failure.item.name, layer_of(failure.item)
        seen, end = failure.observation, shown[failure.item.name].end
        about_code = layer is Layer.FORBIDDEN and self._known.is_right(name, shown[name])
        return FailedCheck(
            name,
            layer,
            wrong=isinstance(seen.error, WrongAnswer) and bool(seen.answers) and not about_code,
            tells=last_tells(seen),
            fault=isinstance(seen.error, Fault),
            raised=is_raised(seen.error),
            specific=end.specific,
            refuses=end.refuses,
        )


def recorded_source(stage: Stage) -> RecordedSource:
    """Read the fingerprints of *stage*; raise ``UsageError`` if they can't be used."""
    known, texts = fingerprints.read(stage.records), mistake_texts.read(stage.mistakes)
    try:
        for number in known.named:
            known.mistake(number, texts)
    except CourseError as error:
        raise records.damaged(stage.records, str(error)) from None
    return RecordedSource(known, texts)


def _effort(failure: Failure) -> tuple[bool, int, int]:
    return effort(failure.observation, len(failure.observation.answers))
