"""Finds the misconceptions that explain failed checks.

A matcher knows the misconceptions of one stage, either by their code (``MisconceptionMatcher``) or
by their fingerprints (``FingerprintMatcher``); ``explain`` chooses among them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import pytest
from torch import Tensor

from autograder.course import Stage
from autograder.diagnosis import heuristics, misconceptions
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Match, Observation, compare
from autograder.results import Diagnosis
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import LocalChannel, RecordingChannel
from autograder.suite.student_proxy import Channel

Run = Callable[[pytest.Item, Channel], Observation]


class Failure(NamedTuple):
    """A check that the student's code did not pass, and what it showed."""

    item: pytest.Item
    observation: Observation


class Matcher(Protocol):
    """Knows what the misconceptions of one stage show."""

    @property
    def misconceptions(self) -> Sequence[Misconception]:
        """The misconceptions, in the order in which diagnoses name them."""

    def match(self, item: Misconception, failure: Failure) -> Match:
        """Compare what *item* shows in the failed check with what the student's code showed."""

    def passes(self, item: Misconception, check: pytest.Item) -> bool:
        """Whether *item* passes *check*."""

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe a failure that no misconception explains, if something is certain about it."""


def explain(
    matcher: Matcher, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
) -> dict[str, Diagnosis]:
    """Name the mistake behind *failures* of one exercise, by the name of each explained check.

    The misconception that explains most of them is chosen. Among equals, those are preferred that
    pass what the student's code *passed*; the rest are named together.
    """
    chosen = _best(matcher, exercise, failures)
    if len(chosen) > 1:
        consistent = [
            candidate
            for candidate in chosen
            if all(matcher.passes(candidate.item, check) for check in passed)
        ]
        chosen = consistent or chosen
    diagnoses: dict[str, Diagnosis] = {}
    for failure in failures:
        name = failure.item.name
        named = [candidate.item for candidate in chosen if name in candidate.explained]
        if diagnosis := _diagnosis(named) if named else matcher.describe(failure):
            diagnoses[name] = diagnosis
    return diagnoses


class Candidate:
    """One misconception, compared with one failed check after the other."""

    def __init__(self, item: Misconception, failures: Sequence[Failure]) -> None:
        self.item = item
        self.explained: set[str] = set()
        self._failures = failures
        self._compared = 0
        self._matched = False

    @property
    def complete(self) -> bool:
        """Whether it was compared with every failed check."""
        return self._compared == len(self._failures)

    @property
    def certain(self) -> bool:
        """Whether it is complete, and more than the text of an exception matched."""
        return self._matched and self.complete

    @property
    def potential(self) -> int:
        """How many checks it can explain at most."""
        return len(self.explained) + len(self._failures) - self._compared

    @property
    def next_failure(self) -> Failure:
        """The failed check to compare it with next."""
        return self._failures[self._compared]

    def record(self, match: Match) -> None:
        """Note how the comparison with the next failed check ended."""
        if match is not Match.NO:
            self.explained.add(self.next_failure.item.name)
        self._matched = self._matched or match is Match.YES
        self._compared += 1


def _best(matcher: Matcher, exercise: str, failures: Sequence[Failure]) -> list[Candidate]:
    """Return the certain candidates that explain most failures, in the order of the matcher.

    The most promising one is compared first, and those that can no longer explain as many as the
    best are skipped: that avoids most replays and changes no diagnosis.
    """
    candidates = [
        Candidate(item, failures) for item in matcher.misconceptions if item.exercise == exercise
    ]
    while candidate := _most_promising(candidates):
        candidate.record(matcher.match(candidate.item, candidate.next_failure))
    certain = [candidate for candidate in candidates if candidate.certain]
    most = max((len(candidate.explained) for candidate in certain), default=0)
    return [candidate for candidate in certain if len(candidate.explained) == most]


def _most_promising(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the most promising candidate that may still be as good as the best certain one."""
    best = max((candidate.potential for candidate in candidates if candidate.certain), default=0)
    open_ones = [
        candidate
        for candidate in candidates
        if not candidate.complete and candidate.potential >= best
    ]
    return max(open_ones, key=lambda one: (one.potential, len(one.explained)), default=None)


def _diagnosis(named: Sequence[Misconception]) -> Diagnosis:
    """Return the diagnosis of one misconception, or of several that showed the same."""
    first, *others = named
    explanation = first.explanation
    if others:
        also = " ".join(other.explanation for other in others[:2])
        explanation = f"Either: {first.explanation} Or: {also}"
    return Diagnosis(
        misconception=" / ".join(item.id for item in named[:3]),
        explanation=explanation,
        hint=first.question,
    )


class MisconceptionMatcher:
    """Knows the misconceptions of one stage by their code, which it runs in this process.

    Every run is kept, so that each check runs once on a misconception for the whole class.
    """

    def __init__(self, stage: Stage, run: Run, solution: LocalChannel) -> None:
        self.misconceptions = misconceptions.read(stage.misconceptions)
        self._stage = stage
        self._run = run
        self._solution = solution
        self._channels: dict[str, LocalChannel] = {}
        self._runs: dict[tuple[str, str], Observation] = {}
        self._recordings: dict[str, RecordingChannel] = {}

    def match(self, item: Misconception, failure: Failure) -> Match:
        """Run the failed check on *item*, and compare."""
        replayed = self._replay(item, failure.item)
        if replayed.error is None:
            return Match.NO
        return compare(replayed, failure.observation, self._solve(failure.item))

    def passes(self, item: Misconception, check: pytest.Item) -> bool:
        """Run *check* on *item*."""
        return self._replay(item, check).error is None

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe the last answer by comparing it with the solution's answer to the request."""
        seen, solved = failure.observation, self._solve(failure.item)
        last = len(seen.answers) - 1
        if not isinstance(seen.error, WrongAnswer) or not 0 <= last < len(solved.answers):
            return None
        (verb, answer), (expected_verb, expected) = seen.answers[last], solved.answers[last]
        if verb != expected_verb:
            return None
        pattern = heuristics.find_pattern(answer, expected)
        if pattern is None and seen.changed_inputs:
            pattern = heuristics.INPUT_CHANGED
        if pattern is None:
            steps = self._intermediate_steps(failure.item, last)
            pattern = heuristics.matches_intermediate_step(answer, steps)
        return Diagnosis(pattern.name, pattern.sentence, pattern.question) if pattern else None

    def _intermediate_steps(self, check: pytest.Item, index: int) -> Sequence[tuple[str, Tensor]]:
        """Return the tensors that the solution computes for its answer number *index*."""
        if check.nodeid not in self._recordings:
            recording = RecordingChannel(self._solution)
            self._run(check, recording)
            self._recordings[check.nodeid] = recording
        tensors = self._recordings[check.nodeid].tensors
        return tensors[index] if index < len(tensors) else ()

    def _replay(self, item: Misconception, check: pytest.Item) -> Observation:
        key = (item.id, check.nodeid)
        if key not in self._runs:
            self._runs[key] = self._run(check, self._channel(item))
        return self._runs[key]

    def _solve(self, check: pytest.Item) -> Observation:
        key = ("", check.nodeid)  # no misconception has an empty id
        if key not in self._runs:
            self._runs[key] = self._run(check, self._solution)
        return self._runs[key]

    def _channel(self, item: Misconception) -> LocalChannel:
        if item.id not in self._channels:
            text = item.module(self._stage.solution.read_text("utf-8"))
            self._channels[item.id] = LocalChannel(f"{self._stage.module}_{item.id}", text.encode())
        return self._channels[item.id]
