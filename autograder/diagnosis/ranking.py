"""Chooses the mistake that best explains the failed checks of one exercise.

The evidence comes from wrong programs that run in this process or, on a student's machine, from
their results when the course was built. The choice follows the same rules for both kinds of
evidence. A mistake that certainly fails a check which the code passed is never named. The first
explanation that exists is used: one mistake that explains every wrong answer, or every exception if
no answer is wrong; two mistakes together; the mistake that explains most failures, and then the one
that explains most of the rest. A misconception that breaks a rule is named besides. If mistakes
explain the same number of failures, those written by an author come first.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from enum import Enum, auto
from typing import NamedTuple

from autograder.diagnosis.answers import FailedCheck, effort
from autograder.diagnosis.consent import Consent
from autograder.diagnosis.naming import (
    Mistake,
    in_brief,
    in_some_checks,
    name_alike,
    name_each,
    name_same_error,
    sides_of,
)
from autograder.diagnosis.observation import Failure, Match, Submitted, is_coincidence
from autograder.results import SEVERAL, Diagnosis
from autograder.suite.checks import Layer

MAX_SCREENS = 2  # every program is compared with so many wrong answers, the smallest first
LEAST_SHARE = 0.3  # of the wrong answers; a mistake that explains fewer is not the cause
MAX_WAYS = 4  # in which two mistakes with the same results may be combined
MAX_ROUNDS = 2  # mistakes that may be named, each for a part of the checks
Key = tuple[int, ...]  # the numbers of the mistakes in a program


class CheckEnd(Enum):
    """How a program ends a check, if it is the same on every machine."""

    PASSES = auto()
    FAILS = auto()
    UNDECIDED = auto()


class Candidate(NamedTuple):
    """A program, and the names of the failed checks in which it gives the code's results.

    *stopped* are the checks in which both raised the same exception and nothing else could be
    compared. *undecided* are the checks in which rounding could decide.
    """

    key: Key
    explained: frozenset[str]
    stopped: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()

    @property
    def alike(self) -> frozenset[str]:
        """The checks in which the code may have given the same results."""
        return self.explained | self.stopped | self.undecided

    @property
    def named(self) -> frozenset[str]:
        """The checks that it explains, and if there are any, also those with equal exceptions."""
        return self.explained | self.stopped if self.explained else frozenset()

    @property
    def rank(self) -> tuple[int, int]:
        """The rank of the program: by the most explained, then by the fewest undecided checks."""
        return len(self.named), -len(self.undecided)


class Evidence(ABC):
    """The table of wrong programs for one submission of one exercise.

    A row has the results of a program in the checks. Only where these come from differs: programs
    that run in this process, or recorded results. *failed* are in the order of comparison, with the
    most evidence first.
    """

    def __init__(self, submission: Submitted) -> None:
        self.failed: Sequence[FailedCheck] = [
            FailedCheck.of(one, self.is_right)
            for one in sorted(submission.failures, key=self._effort)
        ]
        self.passed: Sequence[str] = [item.name for item in submission.passed]

    @abstractmethod
    def is_right(self, failure: Failure) -> bool:
        """Whether all answers equal the solution's, so that the check failed for other reasons."""

    def requests(self, failure: Failure) -> int:
        """Return the number of requests of a check, as far as it is known."""
        return len(failure.observation.answers)

    @abstractmethod
    def mistake(self, number: int) -> Mistake:
        """Return the mistake *number*."""

    @abstractmethod
    def written_keys(self) -> Sequence[Key]:
        """Return the programs with a misconception."""

    @abstractmethod
    def kind_keys(self) -> Sequence[Key]:
        """Return the programs with one kind of mistake."""

    @abstractmethod
    def like(self, keys: Sequence[Key], check: FailedCheck) -> Mapping[Key, Match]:
        """Return those of *keys* that may give the code's results in *check*."""

    @abstractmethod
    def match(self, key: Key, check: FailedCheck) -> Match:
        """Compare the results of a program and of the code in *check*."""

    @abstractmethod
    def end(self, key: Key, check: str) -> CheckEnd:
        """Return how a program ends *check*."""

    def pairs(self, _ranking: "Ranking") -> list[Candidate]:
        """Return the programs with two mistakes that explain the wrong answers; may be empty."""
        return []

    def _effort(self, failure: Failure) -> tuple[bool, bool, int, int]:
        return effort(failure.observation, self.requests(failure))


class Explanation(NamedTuple):
    """The diagnoses by the name of the check, and the programs behind each named mistake.

    *written* are the checks that misconceptions explain.
    """

    diagnoses: Mapping[str, Diagnosis]
    programs: Sequence[Sequence[Candidate]] = ()
    written: frozenset[str] = frozenset()

    def in_brief(self) -> "Explanation":
        """Leave out what another mistake may make untrue."""
        diagnoses = {name: in_brief(one) for name, one in self.diagnoses.items()}
        return self._replace(diagnoses=diagnoses)

    @property
    def is_open(self) -> bool:
        """Whether a diagnosis names several mistakes of which the code has one."""
        return any(SEVERAL in one.misconception for one in self.diagnoses.values())


class Ranking:
    """Compares programs with one submission, each once, and chooses the best explanation.

    Mistakes are named only with the *consent* of the student's source.
    """

    def __init__(self, evidence: Evidence, consent: Consent) -> None:
        self.evidence = evidence
        self.consent = consent
        self.refusals: dict[int, str] = {}  # of the mistakes that were considered
        self.failed = evidence.failed
        self.raised = [check for check in self.failed if check.raised]
        wrong = [check for check in self.failed if check.wrong]
        self.wrong = wrong or ([] if self.raised else list(self.failed))
        self.checked: dict[Key, Candidate] = {}
        self._like: dict[tuple[str, bool], Mapping[Key, Match]] = {}

    def explanation(self, *, complete: bool = False) -> Explanation:
        """Return the best explanation of the submission; with *complete*, only of every answer."""
        seen = self._by_source()
        if seen.diagnoses:
            rest = self._by_several(seen)
            return rest if rest.diagnoses else seen
        ways = [self.by_one, self._by_one_and_refusals, self._by_two, self._by_several]
        for find in ways[:3] if complete else ways:
            explained = find()
            if explained.diagnoses:
                if find == self._by_two:
                    explained = self._clearer(explained)
                rules = self._about_rules(explained)
                return explained._replace(diagnoses=rules | dict(explained.diagnoses))
        return Explanation({})

    def _clearer(self, found: Explanation) -> Explanation:
        """Return a clear explanation, each mistake for a part of the checks, if *found* is not."""
        other = self._by_several() if found.is_open else found
        is_whole = all(check.name in other.diagnoses for check in self.wrong)
        return other if is_whole and not other.is_open else found

    def _about_rules(self, explained: Explanation) -> dict[str, Diagnosis]:
        """Name the misconceptions that break a rule which mistakes in the answers do not break."""
        rest = [
            check
            for check in self.failed
            if check.layer is Layer.FORBIDDEN
            and not check.wrong
            and check.name not in explained.diagnoses
        ]
        names = {check.name for check in rest}
        return dict(self._name(self._most(rest), names).diagnoses) if rest else {}

    def like(self, check: FailedCheck, *, written: bool = False) -> Mapping[Key, Match]:
        """Return the programs with one mistake that may give the same results in *check*.

        With *written*, and in a check without a comparable answer, these are misconceptions. Only
        programs that the source admits are compared.
        """
        name = check.name, written
        if name not in self._like:
            every = (check.wrong or check.raised) and not written
            keys = [*self.evidence.written_keys(), *(self.evidence.kind_keys() if every else ())]
            self._like[name] = self.evidence.like(list(filter(self.admits, keys)), check)
        return self._like[name]

    def admits(self, key: Key) -> bool:
        """Whether the source admits every mistake of a program."""
        for number in key:
            if number not in self.refusals:
                self.refusals[number] = self.consent.refusal(self.evidence.mistake(number))
        return not any(self.refusals[number] for number in key)

    def alike(self, check: FailedCheck, *, written: bool = False) -> list[Key]:
        """List the programs with one mistake that certainly behave like the code in *check*."""
        shown = self.like(check, written=written)
        return [key for key, match in shown.items() if match is not Match.UNDECIDED]

    def candidate(self, key: Key) -> Candidate:
        """Compare a program with every failed check, or return the cached candidate."""
        if key not in self.checked:
            matches = {check.name: self.evidence.match(key, check) for check in self.failed}
            kinds = (Match.YES, Match.TEXT_ONLY, Match.UNDECIDED)
            ends = (frozenset(n for n, one in matches.items() if one is kind) for kind in kinds)
            self.checked[key] = Candidate(key, *ends)
        return self.checked[key]

    def passes(self, found: Candidate) -> bool:
        """Whether the program fails no check that the code passed."""
        ends = (self.evidence.end(found.key, check) for check in self.evidence.passed)
        return CheckEnd.FAILS not in ends

    def is_complete(self, found: Candidate) -> bool:
        """Whether the program explains every wrong answer, and passes and fails the same checks.

        In checks in which the code raised an exception, the program may raise a different one if
        the explained numbers are certain enough.
        """
        certain = any(check.tells for check in self.wrong if check.name in found.explained)
        return (
            any(check.name in found.explained for check in self.wrong)
            and all(check.name in found.explained | found.undecided for check in self.wrong)
            and all(certain or check.name in found.alike for check in self.raised)
            and not self._passes_any(found, [check for check in self.failed if check.fault])
            and self.passes(found)
        )

    def _passes_any(self, found: Candidate, checks: Iterable[FailedCheck]) -> bool:
        return any(self.evidence.end(found.key, check.name) is CheckEnd.PASSES for check in checks)

    def _by_source(self) -> Explanation:
        """Name the misconceptions that the source shows, in the checks that they fail."""
        shown = [key for key in self.evidence.written_keys() if self._is_seen(key)]
        found = [one for key in shown if self.passes(one := Candidate(key, frozenset()))]
        diagnoses = {}
        for check in self.failed:
            here = [
                one for one in found if self.evidence.end(one.key, check.name) is CheckEnd.FAILS
            ]
            if diagnosis := name_alike(self._mistakes(here)):
                diagnoses[check.name] = diagnosis
        return Explanation(diagnoses, [found] if diagnoses else [], frozenset(diagnoses))

    def _is_seen(self, key: Key) -> bool:
        """Whether the source alone shows a misconception of this exercise."""
        mistake = self.evidence.mistake(key[0])
        return bool(mistake.seen) and not self.consent.is_elsewhere(mistake) and self.admits(key)

    def by_one(self) -> Explanation:
        """Explain every wrong answer by one mistake, or every exception if no answer is wrong."""
        if not self.wrong:
            return self._by_exceptions(self.failed)
        first = self.wrong[0]
        for elsewhere, written in itertools.product((False, True), (True, False)):
            keys = [
                one
                for one in self.like(first, written=written)
                if self._is_here(one, elsewhere=elsewhere)
            ]
            if found := [one for one in map(self.candidate, keys) if self.is_complete(one)]:
                return self._name(self._foremost(found))
        return Explanation({})

    def _by_one_and_refusals(self) -> Explanation:
        """Explain every wrong answer by one mistake, except where the code must refuse."""
        part = copy(self)
        part.failed = [check for check in self.failed if not check.accepts]
        part.wrong = [check for check in self.wrong if not check.accepts]
        if len(part.wrong) in {0, len(self.wrong)} or not (found := part.by_one()).diagnoses:
            return Explanation({})
        rest = [check for check in self.wrong if check.accepts]
        refusals = self._name(self._most(rest), {check.name for check in rest})
        diagnoses = {**found.diagnoses, **refusals.diagnoses}
        programs = [*found.programs, *refusals.programs]
        both = Explanation(diagnoses, programs, found.written | refusals.written)
        return both.in_brief() if refusals.diagnoses else both

    def _is_here(self, key: Key, *, elsewhere: bool) -> bool:
        return self.consent.is_elsewhere(self.evidence.mistake(key[0])) is elsewhere

    def _by_exceptions(self, failed: Sequence[FailedCheck]) -> Explanation:
        """Name the programs with the same exceptions that pass and fail the same checks."""
        raised = [check for check in failed if check.raised]
        if not raised:
            return Explanation({})
        written = self._raising(raised[0], failed, written=True)
        if written := [one for one in written if self._is_certain(one)]:
            return self._name(self._foremost(written))
        if not any(check.specific for check in raised):
            return Explanation({})
        found = self._raising(raised[0], failed)
        kinds = [one for one in found if not self._is_written(one) and self._is_certain(one)]
        kinds = [one for one in kinds if self._is_here(one.key, elsewhere=False)]
        refused = all(check.refuses for check in raised)
        diagnosis = name_same_error(self._mistakes(kinds), refused=refused)
        if diagnosis is None:
            return Explanation({})
        return Explanation({check.name: diagnosis for check in raised}, [kinds])

    def _raising(
        self, first: FailedCheck, failed: Sequence[FailedCheck], *, written: bool = False
    ) -> list[Candidate]:
        """List the programs with the same exceptions that pass and fail the same checks."""
        alike = map(self.candidate, self.alike(first, written=written))
        return [one for one in alike if self._raises(one, failed)]

    def _raises(self, found: Candidate, failed: Sequence[FailedCheck]) -> bool:
        about_results = [check for check in failed if check.layer is not Layer.FORBIDDEN]
        return (
            bool(found.explained | found.stopped)
            and self._ends_alike(found, failed)
            and not self._passes_any(found, about_results)
            and self.passes(found)
        )

    def _by_two(self) -> Explanation:
        """Explain every wrong answer, or nearly every one, by two mistakes at once."""
        pairs = self.evidence.pairs(self) if any(check.wrong for check in self.failed) else []
        found = [one for one in pairs if not any(map(self._is_refuted, one.key))]
        if self.raised:  # with few answers, documented ones agree by chance
            other = {check.name for check in self.wrong if check.layer is not Layer.DOCUMENTED}
            found = [one for one in found if one.explained & other]
        written = {number for (number,) in self.evidence.written_keys()}
        sides = sides_of([one.key for one in found], written)
        mistakes = [[self._worded(number) for number in side] for side in sides]
        named = [name_alike(side) for side in mistakes]
        pair = [in_brief(diagnosis) for diagnosis in named if diagnosis is not None]
        ways = math.prod(len({mistake.id for mistake in side}) for side in mistakes)
        if not sides or ways > MAX_WAYS or len(pair) < len(named):
            return Explanation({})
        alone = [self.candidate((side[0],)).explained for side in sides]
        return Explanation(name_each(found[0].explained, pair, alone), [found])

    def _is_refuted(self, number: int) -> bool:
        """Whether a sentence about one case is not so, as the code passed a check of this case."""
        is_about_case = self.evidence.mistake(number).is_about_case
        return is_about_case and not self.passes(Candidate((number,), frozenset()))

    def _by_several(self, known: Explanation | None = None) -> Explanation:
        """Name the program that explains most failed checks, then the best one for the rest.

        Checks with a *known* explanation keep it. If wrong answers are left, they may refute the
        names, so only sure ones are kept.
        """
        found = self._in_rounds(known)
        if all(check.name in found.diagnoses for check in self.wrong):
            names = {one.misconception for one in found.diagnoses.values()}
            return found if len(names) == 1 else found.in_brief()
        found = self._in_rounds(known, sure=True)
        if self._are_too_few(found.diagnoses):
            return Explanation({})
        diagnoses = {name: in_some_checks(one) for name, one in found.diagnoses.items()}
        return found._replace(diagnoses=diagnoses).in_brief()

    def _in_rounds(self, known: Explanation | None, *, sure: bool = False) -> Explanation:
        first = known or Explanation({})
        diagnoses = dict(first.diagnoses)
        programs, written = list(first.programs), first.written
        for _ in range(MAX_ROUNDS):
            rest = [check for check in self.failed if check.name not in diagnoses]
            least = 0 if diagnoses else LEAST_SHARE * len(self.wrong)
            found = [
                one
                for one in self._most(rest, least)
                if self._is_sure(one) or not (sure or (diagnoses and self._is_effect(one)))
            ]
            named = self._name(found, {check.name for check in rest})
            if not named.diagnoses and not any(check.wrong for check in rest):
                named = self._by_exceptions(rest)
            if not named.diagnoses:
                break
            diagnoses |= named.diagnoses
            programs += named.programs
            written |= named.written
        return Explanation(diagnoses, programs, written)

    def _is_effect(self, found: Candidate) -> bool:
        """Whether the mistake is an effect of many, so that another one may have it as well."""
        return self.evidence.mistake(found.key[0]).effect

    def _is_sure(self, found: Candidate) -> bool:
        """Whether more than a few plain values speak for the mistake: numbers, or the source."""
        by_numbers = any(check.tells for check in self.failed if check.name in found.explained)
        return by_numbers or self.evidence.mistake(found.key[0]).is_in_source

    def _are_too_few(self, diagnoses: Collection[str]) -> bool:
        """Whether most wrong answers contradict the mistakes that explain some of them."""
        explained = sum(check.name in diagnoses for check in self.wrong)
        return explained < LEAST_SHARE * len(self.wrong)

    def _most(self, rest: Sequence[FailedCheck], least: float = 0) -> list[Candidate]:
        """Return the programs that explain most of *rest*: by numbers, or as misconceptions.

        Programs that explain fewer than *least* checks may be missing.
        """
        screens = [check for check in rest if check.wrong][:MAX_SCREENS]
        keys = {key for check in screens if check.tells for key in self.alike(check)}
        for check, left in zip(rest, range(len(rest), 0, -1), strict=True):
            if not keys and left < least:
                break
            keys |= {*self.alike(check, written=True)}
        names = {check.name for check in rest}
        answered = {check.name for check in rest if not check.raised}
        found = [
            one
            for one in map(self.candidate, sorted(keys))
            if one.explained & names
            and self.passes(one)
            and (one.explained & answered or self._ends_alike(one, rest))
            and not self._is_by_chance(one)
            and not self.consent.refusal(self.evidence.mistake(one.key[0]), strict=True)
        ]
        most = max((len(one.named & names) for one in found), default=0)
        return self._foremost([one for one in found if len(one.named & names) == most])

    def _ends_alike(self, found: Candidate, checks: Sequence[FailedCheck]) -> bool:
        """Whether the program may raise every exception that the code raised in *checks*."""
        return all(check.name in found.alike for check in checks if check.raised)

    def _is_by_chance(self, found: Candidate) -> bool:
        """Whether unexplained checks show that the agreement with *found* is a coincidence.

        In some checks, two sizes may be equal, or documented numbers agree.
        """
        left = [check.name for check in self.wrong if check.name not in found.explained]
        layers = {check.name: check.layer for check in self.failed}
        in_all = self.evidence.mistake(found.key[0]).in_all
        return (in_all and bool(left)) or is_coincidence(found.explained, layers, left)

    def _foremost(self, found: Sequence[Candidate]) -> list[Candidate]:
        """Return the best misconceptions, or the best kinds of mistake if there are none.

        Mistakes of the exercise itself come before those of exercises that it uses.
        """
        own = [one for one in found if self._is_here(one.key, elsewhere=False)] or found
        kept = [one for one in own if self._is_written(one)] or own
        best = max((one.rank for one in kept), default=None)
        return [one for one in kept if one.rank == best]

    def _name(
        self, found: Sequence[Candidate], names: Collection[str] | None = None
    ) -> Explanation:
        """Name, for each check, the mistakes that explain it."""
        diagnoses = {}
        for check in self.failed:
            certain = [one for one in found if check.name in one.explained]
            here = certain or [one for one in found if check.name in one.named]
            sure = len(self.wrong) != 1 or any(map(self._is_sure, here))
            diagnosis = name_alike(self._mistakes(here), sure=sure)
            if diagnosis and (names is None or check.name in names):
                diagnoses[check.name] = diagnosis
        written = frozenset(diagnoses) if any(map(self._is_written, found)) else frozenset()
        return Explanation(diagnoses, [found] if diagnoses else [], written)

    def _mistakes(self, found: Iterable[Candidate]) -> list[Mistake]:
        return [self._worded(one.key[0]) for one in found]

    def _worded(self, number: int) -> Mistake:
        return self.consent.worded(self.evidence.mistake(number))

    def _is_written(self, found: Candidate) -> bool:
        return self.evidence.mistake(found.key[0]).written

    def _is_certain(self, found: Candidate) -> bool:
        """Whether more than an exception of the same text speaks for the mistake.

        This is an equal line, or a condition on the source.
        """
        return bool(found.explained) or self.evidence.mistake(found.key[0]).is_in_source
