"""Provides evidence from fingerprints, which contain the answers of wrong programs.

A student's machine has no other evidence. There are no fingerprints of two mistakes at once.
"""

from collections.abc import Mapping, Sequence

from autograder.course import Stage
from autograder.diagnosis import fingerprints, mistake_texts
from autograder.diagnosis.answers import FailedCheck
from autograder.diagnosis.consent import Consent
from autograder.diagnosis.contract import Contract
from autograder.diagnosis.exceptions import explain_exception
from autograder.diagnosis.fingerprints import Fingerprints, shown_by
from autograder.diagnosis.mistake_texts import MistakeTexts
from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import Failure, Match, Submitted
from autograder.diagnosis.patterns import find_error
from autograder.diagnosis.ranking import CheckEnd, Evidence, Explanation, Key, Ranking
from autograder.errors import CourseError
from autograder.results import Diagnosis
from autograder.suite import records


class RecordedEvidence(Evidence):
    """The results of the wrong programs in the checks of one submission, by their fingerprints."""

    def __init__(self, source: "RecordedSource", submission: Submitted) -> None:
        self._source, self._known = source, source.known
        shown = {one.item.name: shown_by(one.observation) for one in submission.failures}
        self._matches = {name: self._known.matching(name, one) for name, one in shown.items()}
        super().__init__(submission)

    def is_right(self, failure: Failure) -> bool:
        """Whether all answers equal the solution's."""
        return self._known.is_right(failure.item.name, shown_by(failure.observation))

    def mistake(self, number: int) -> Mistake:
        """Return the mistake *number*."""
        return self._source.mistake(number)

    def written_keys(self) -> Sequence[Key]:
        """Return the programs with a misconception."""
        return [(number,) for number in range(len(self._known.mistakes))]

    def kind_keys(self) -> Sequence[Key]:
        """Return the programs with one kind of mistake that may fail like the code somewhere."""
        alike = {number for found in self._matches.values() for number in found}
        return [(number,) for number in sorted(alike) if number >= len(self._known.mistakes)]

    def like(self, keys: Sequence[Key], check: FailedCheck) -> Mapping[Key, Match]:
        """Return those of *keys* that may give the code's results in *check*."""
        found = self._matches[check.name]
        return {key: found[key[0]] for key in keys if key[0] in found}

    def match(self, key: Key, check: FailedCheck) -> Match:
        """Compare the fingerprint of a program with that of the code."""
        return self._matches[check.name].get(key[0], Match.NO)

    def end(self, key: Key, check: str) -> CheckEnd:
        """Return how a program ended *check*."""
        if key[0] in self._known.failing(check):
            return CheckEnd.FAILS
        return CheckEnd.PASSES if self._known.passes(check, key[0]) else CheckEnd.UNDECIDED


class RecordedSource:
    """Provides the wrong programs of one stage by their fingerprints."""

    def __init__(self, known: Fingerprints, texts: MistakeTexts) -> None:
        self.known = known
        self._texts = texts
        self._mistakes: dict[int, Mistake] = {}

    def mistake(self, number: int) -> Mistake:
        """Return the mistake *number*, with its texts."""
        if number not in self._mistakes:
            self._mistakes[number] = self.known.mistake(number, self._texts)
        return self._mistakes[number]

    def explain(self, submission: Submitted, *, complete: bool = False) -> Explanation:
        """Find the mistake that best explains the failures of *submission*.

        There is none if it uses an exercise that is wrong, whose mistake may be all that shows.
        """
        if submission.wrong:
            return Explanation({})
        evidence = RecordedEvidence(self, submission)
        ranking = Ranking(evidence, Consent.of(submission, self.contract))
        return ranking.explanation(complete=complete)

    def contract(self, exercise: str) -> Contract:
        """Return what the stub prescribes for *exercise*."""
        return self.known.contracts[exercise]

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Explain an exception, raised or returned; there is no solution to compare with."""
        seen = failure.observation
        result = seen.answers[-1][1] if seen.answers else None
        pattern = explain_exception(seen.error) or find_error(result)
        return pattern.diagnosis(shows_values=failure.shows_values) if pattern else None


def recorded_source(stage: Stage) -> RecordedSource:
    """Read the fingerprints of *stage*; raise ``UsageError`` if they can't be used."""
    known, texts = fingerprints.read(stage.records), mistake_texts.read(stage.mistakes)
    source = RecordedSource(known, texts)
    try:
        for number in known.named:
            source.mistake(number)
    except CourseError as error:
        raise records.damaged(stage.records, str(error)) from None
    return source
