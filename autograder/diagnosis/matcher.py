"""Finds the misconceptions that explain failed checks.

A matcher knows the misconceptions of one stage, either by their code (``MisconceptionMatcher``) or
by their fingerprints (``FingerprintMatcher``); ``explain`` chooses among them.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pytest
from msgspec.structs import replace

from autograder.course import Stage
from autograder.diagnosis import conventions, heuristics, misconceptions
from autograder.diagnosis.exceptions import explain_exception
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import (
    Failure,
    Match,
    Observation,
    compare,
    is_coincidence,
)
from autograder.diagnosis.operators.answers import tells
from autograder.diagnosis.operators.programs import REFUSED
from autograder.diagnosis.operators.search import OperatorSearch, Tried
from autograder.diagnosis.operators.vocabulary import alternatives
from autograder.results import SEVERAL, Diagnosis
from autograder.sandbox.faults import Fault, Raised
from autograder.sandbox.protocol import Request
from autograder.sandbox.transcript import Exchange
from autograder.suite.checks import Layer, WrongAnswer, layer_of
from autograder.suite.in_process import COMPUTED, LocalChannel
from autograder.suite.recording_channel import RecordingChannel
from autograder.suite.student_proxy import Channel, RemoteModule

MAX_BESIDE = 2  # kinds of mistake for what the first explanation leaves
MAX_NAMED = 3  # more sentences would be no help
LEAST_SHARE = 0.5  # of the solution's steps, for a mistake that is carried forward
EXPLAINS = {Match.YES, Match.TEXT_ONLY}
Run = Callable[[pytest.Item, Channel], Observation]


class Matcher(Protocol):
    """Knows what the misconceptions of one stage show."""

    @property
    def misconceptions(self) -> Sequence[Misconception]:
        """The misconceptions, in the order in which diagnoses name them."""

    def match(self, item: Misconception, failure: Failure) -> Match:
        """Compare what *item* shows in the failed check with what the student's code showed."""

    def passes(self, item: Misconception, check: pytest.Item) -> bool:
        """Whether *item* passes *check*."""

    def note(self, tried: Iterable[Tried]) -> None:
        """Keep, for authors, which explanations were tried and how far each matched."""

    def search(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Explain all wrong answers by one kind of mistake, or two; name them by check."""

    def search_some(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Explain as many of these wrong answers as one kind of mistake can."""

    def search_beside(
        self,
        items: Sequence[Misconception],
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
        *,
        shown: bool,
    ) -> dict[str, Diagnosis]:
        """Explain all wrong answers by one of *items*, and one kind of mistake beside it.

        One of the two must show alone in a check: one of *items* if they have *shown* so.
        """

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe a failure that no mistake explains, if something is certain about it."""


def explain(
    matcher: Matcher, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
) -> dict[str, Diagnosis]:
    """Name the mistake behind *failures* of one exercise, by the name of each explained check.

    The misconception that explains most of them is chosen. Among equals, those are preferred that
    pass what the student's code *passed*; the rest are named together. If it leaves a wrong answer,
    or fails what passed, one kind of mistake that explains all is preferred, then two of them; else
    the kind of mistake that explains most of the rest is named beside it.
    """
    chosen = _best(matcher, exercise, failures)
    consistent = [one for one in chosen if all(matcher.passes(one.item, check) for check in passed)]
    chosen = consistent or chosen
    known = {name for candidate in chosen for name in candidate.explained}
    left = [failure for failure in failures if failure.item.name not in known]
    searched: dict[str, Diagnosis] = {}
    kinds_of_ends = WrongAnswer if chosen else WrongAnswer | Raised
    is_open = any(isinstance(failure.observation.error, kinds_of_ends) for failure in left)
    if is_open or (chosen and not consistent):
        searched = matcher.search(exercise, failures, passed)
        items = [one.item for one in chosen[:MAX_BESIDE]] or [
            one for one in matcher.misconceptions if one.exercise == exercise
        ]
        if not searched and items:
            searched = matcher.search_beside(items, failures, passed, shown=bool(chosen))
        chosen = [] if searched else chosen
        searched = searched or _search_rest(matcher, exercise, left, passed)
    diagnoses: dict[str, Diagnosis] = {}
    for failure in failures:
        name = failure.item.name
        named = [candidate.item for candidate in chosen if name in candidate.explained]
        diagnosis = _diagnosis(named) if named else _beside(matcher, failure, searched.get(name))
        if diagnosis := diagnosis or matcher.describe(failure):
            diagnoses[name] = diagnosis
    return diagnoses


def _beside(matcher: Matcher, failure: Failure, found: Diagnosis | None) -> Diagnosis | None:
    """Say what an exception means, too, where a kind of mistake only raises the same one."""
    if found is None or not isinstance(failure.observation.error, Raised):
        return found
    meaning = matcher.describe(failure)
    return (
        found
        if meaning is None
        else replace(found, explanation=f"{found.explanation} {meaning.explanation}")
    )


def _search_rest(
    matcher: Matcher, exercise: str, left: Sequence[Failure], passed: Sequence[pytest.Item]
) -> dict[str, Diagnosis]:
    """Name the mistake that explains most of what is *left*, and the next one for the rest."""
    searched: dict[str, Diagnosis] = {}
    for _ in range(MAX_BESIDE):
        rest = [failure for failure in left if failure.item.name not in searched]
        found = _search_bank(matcher, exercise, rest) if rest else {}
        found = found or (matcher.search_some(exercise, rest, passed) if rest else {})
        if not found:
            break
        searched |= found
    return searched


def _search_bank(matcher: Matcher, exercise: str, rest: Sequence[Failure]) -> dict[str, Diagnosis]:
    """Name the misconception that explains most of the *rest*, where answers say enough."""
    telling = [
        one for one in rest if one.observation.answers and tells(one.observation.answers[-1][1])
    ]
    chosen = _best(matcher, exercise, telling) if telling else []
    names = {name for candidate in chosen for name in candidate.explained}
    return {
        name: _diagnosis([one.item for one in chosen if name in one.explained]) for name in names
    }


@dataclass
class Candidate:
    """One misconception, and how its comparisons with the failed checks ended, so far."""

    item: Misconception
    failures: Sequence[Failure]
    matches: list[Match] = field(default_factory=list)

    @property
    def explained(self) -> list[str]:
        """The names of the checks that it explains."""
        compared = zip(self.failures, self.matches, strict=False)
        return [failure.item.name for failure, match in compared if match in EXPLAINS]

    @property
    def complete(self) -> bool:
        """Whether it was compared with every failed check."""
        return len(self.matches) == len(self.failures)

    @property
    def certain(self) -> bool:
        """Whether it is complete, and more than the text of an exception matched."""
        return self.complete and Match.YES in self.matches

    @property
    def is_coincidence(self) -> bool:
        """Whether documented values alone agree, and values for other sizes do not."""
        layers = {one.item.name: layer_of(one.item) for one in self.failures}
        wrong = (
            one.item.name for one in self.failures if isinstance(one.observation.error, WrongAnswer)
        )
        return is_coincidence(self.explained, layers, wrong)

    @property
    def potential(self) -> int:
        """How many checks it can explain at most."""
        return len(self.failures) - sum(match not in EXPLAINS for match in self.matches)

    @property
    def rank(self) -> tuple[int, int]:
        """The most promising one has the lowest."""
        return -self.potential, -len(self.explained)


def _best(matcher: Matcher, exercise: str, failures: Sequence[Failure]) -> list[Candidate]:
    """Return the certain candidates that explain most failures, in the order of the matcher.

    The most promising one is compared first, and those that can no longer explain as many as the
    best are skipped: that avoids most replays and changes no diagnosis.
    """
    candidates = [
        Candidate(item, failures) for item in matcher.misconceptions if item.exercise == exercise
    ]
    _compare_all(matcher, candidates)
    matcher.note(
        Tried(exercise, one.item.id, one.item.explanation, len(one.explained), len(failures))
        for one in candidates
        if one.explained
    )
    certain = [one for one in candidates if one.certain and not one.is_coincidence]
    most = max((len(candidate.explained) for candidate in certain), default=0)
    return [candidate for candidate in certain if len(candidate.explained) == most]


def _compare_all(matcher: Matcher, candidates: Sequence[Candidate]) -> None:
    """Compare the most promising candidate next, as long as one may be as good as the best."""
    best = 0  # what the best certain one explains
    waiting = [(*one.rank, place, one) for place, one in enumerate(candidates) if one.failures]
    heapq.heapify(waiting)
    while waiting:
        *_, place, one = heapq.heappop(waiting)
        if one.potential < best:
            return  # none that waits has more
        one.matches.append(matcher.match(one.item, one.failures[len(one.matches)]))
        if not one.complete:
            heapq.heappush(waiting, (*one.rank, place, one))
        elif one.certain:
            best = max(best, one.potential)


def _diagnosis(named: Sequence[Misconception]) -> Diagnosis:
    """Return the diagnosis of one misconception, or of several that showed the same."""
    shown, more = named[:MAX_NAMED], len(named) > MAX_NAMED
    return Diagnosis(
        SEVERAL.join(item.id for item in shown),
        alternatives([item.explanation for item in shown], " ", more=more),
        shown[0].question,
        alternatives([item.title for item in shown], ". ", more=more),
    )


class MisconceptionMatcher:
    """Knows the misconceptions of one stage by their code, which it runs in this process.

    Every run is kept, so that each check runs once on a misconception for the whole class. *bank*
    replaces the misconceptions of the stage.
    """

    def __init__(
        self,
        stage: Stage,
        run: Run,
        solution: LocalChannel,
        bank: Sequence[Misconception] | None = None,
    ) -> None:
        known = misconceptions.read(stage.misconceptions) if bank is None else bank
        self.misconceptions = tuple(known)
        self._stage = stage
        self._run = run
        self._solution = solution
        self._solved: dict[str, tuple[Observation, list[Exchange]]] = {}
        self._channels: dict[str, LocalChannel] = {}
        self._runs: dict[tuple[str, str], Observation] = {}
        self._shares: dict[Misconception, float] = {}
        words = misconceptions.read_operators(stage.misconceptions)
        self.operators = OperatorSearch(stage, run, solution, self.solve, words)

    def match(self, item: Misconception, failure: Failure) -> Match:
        """Run the failed check on *item*, and compare."""
        replayed = self.replay(item, failure.item)
        if not replayed.decided:
            return Match.UNDECIDED
        if replayed.error is None:
            return Match.NO
        return compare(replayed, failure.observation, self.solve(failure.item)[0])

    def passes(self, item: Misconception, check: pytest.Item) -> bool:
        """Run *check* on *item*; what is too close to tell counts as passed."""
        return not self.replay(item, check).fails

    def note(self, tried: Iterable[Tried]) -> None:
        """Keep which misconceptions were tried beside the kinds of mistake."""
        self.operators.tried += tried

    def search(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Try each kind of mistake on the solution, and pairs of them."""
        return self.operators.find(exercise, failures, passed)

    def search_some(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Try each kind of mistake on the solution."""
        return self.operators.find_some(exercise, failures, passed)

    def search_beside(
        self,
        items: Sequence[Misconception],
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
        *,
        shown: bool,
    ) -> dict[str, Diagnosis]:
        """Try kinds of mistake on the solution with one of *items* in it."""
        return self.operators.find_beside(items, failures, passed, shown=shown)

    def replay(self, item: Misconception, check: pytest.Item) -> Observation:
        """Run *check* on *item*, once."""
        key = (item.id, check.nodeid)
        if key not in self._runs:
            if item.id not in self._channels:
                self._channels[item.id] = channel_of(self._stage, item, self._solution)
            self._runs[key] = self._run(check, self._channels[item.id])
        return self._runs[key]

    def share(self, item: Misconception, checks: Sequence[pytest.Item]) -> float:
        """Return how many steps *item* takes to an answer, as a share of the solution's steps.

        *checks* are those of its exercise. What takes few, such as returning an argument, is named
        by its mistake, but most of the exercise was never written.
        """
        if item not in self._shares:
            program = channel_of(self._stage, item, self._solution)
            asked = (self.solve(check)[1] for check in sorted(checks, key=_looks_at_documents))
            requests = next(filter(_computes, map(_requests, asked)), ())
            most = self._solution.steps(requests)
            self._shares[item] = program.steps(requests) / most if most else 1.0
        return self._shares[item]

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe the exception, or the last answer, by what the solution does in the check."""
        seen, (solved, exchanges) = failure.observation, self.solve(failure.item)
        pattern = None
        if isinstance(seen.error, Fault):
            pattern = self._describe_fault(seen, solved, exchanges) or explain_exception(seen.error)
        elif isinstance(seen.error, WrongAnswer):
            pattern = _describe_answer(seen, solved, exchanges)
        return pattern.diagnosis(shows_values=failure.shows_values) if pattern else None

    def _describe_fault(
        self, seen: Observation, solved: Observation, exchanges: Sequence[Exchange]
    ) -> heuristics.Pattern:
        """Say which convention the request that was not answered follows."""
        if len(seen.answers) >= len(exchanges):
            return None
        exchange = exchanges[len(seen.answers)]
        creations = zip(solved.answers, exchanges, strict=False)
        created = {
            answer.handle: creation.request.name
            for (_, answer), creation in creations
            if isinstance(answer, RemoteModule)
        }
        owner = created.get(exchange.request.handle, exchange.request.name)
        return conventions.find_clash(seen.error, exchange, owner, self._solution.arguments)

    def solve(self, check: pytest.Item) -> tuple[Observation, list[Exchange]]:
        """Run *check* on the solution, once; return also its requests and their tensors."""
        if check.nodeid not in self._solved:
            channel = RecordingChannel(self._solution)
            self._solved[check.nodeid] = self._run(check, channel), channel.exchanges
        return self._solved[check.nodeid]


def _looks_at_documents(check: pytest.Item) -> bool:
    """Whether no probe is graded: a document's numbers may make a step unnecessary."""
    return layer_of(check) is not Layer.PROBE


def _requests(exchanges: Sequence[Exchange]) -> tuple[Request, ...]:
    return tuple(exchange.request for exchange in exchanges)


def _computes(requests: Sequence[Request]) -> bool:
    return any(request.verb in COMPUTED for request in requests)


def _describe_answer(
    seen: Observation, solved: Observation, exchanges: Sequence[Exchange]
) -> heuristics.Pattern:
    """Compare the last answer with the solution's answer to the same request."""
    last = len(seen.answers) - 1
    if 0 <= last < len(solved.answers) and solved.answers[last] == REFUSED != seen.answers[last]:
        return heuristics.NOT_REFUSED
    if not 0 <= last < len(solved.answers) or seen.answers[last][0] != solved.answers[last][0]:
        return None
    (verb, answer), (_, expected) = seen.answers[last], solved.answers[last]
    steps = exchanges[last].tensors
    changes = seen.changed_inputs and not solved.changed_inputs
    changed = heuristics.INPUT_CHANGED if changes else None
    if heuristics.drops_at_random(steps):
        return changed
    return (
        heuristics.find_pattern(answer, expected, verb)
        or changed
        or heuristics.matches_intermediate_step(answer, expected, steps)
    )


def channel_of(stage: Stage, item: Misconception, solution: LocalChannel) -> LocalChannel:
    """Import the solution of *stage* with the mistake *item* in it."""
    text = item.module(stage.solution.read_text("utf-8"))
    return LocalChannel(f"{stage.module}_{item.id}", text.encode(), solution)
