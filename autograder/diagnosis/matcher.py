"""Naming the mistake: replay the failed checks on known wrong answers and see which shows the same.

Nothing here runs for a check that passed. A replay is the same check on a misconception, in the
supervisor's own process, and is kept: a class of hundreds replays once.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from torch import Tensor

from autograder.course import Stage
from autograder.diagnosis import heuristics, misconceptions
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Observation, matches, matches_conclusively
from autograder.results import Diagnosis
from autograder.suite.checks import CheckSpec, WrongAnswer
from autograder.suite.in_process import LocalChannel, Recording, solution_channel
from autograder.suite.student_proxy import Channel

Run = Callable[[pytest.Item, Channel], Observation]


class Failure(NamedTuple):
    """A check that the student's code did not pass, and what was seen."""

    item: pytest.Item
    spec: CheckSpec
    observation: Observation


class _Trial:
    """One misconception, tried on one failed check after the other."""

    def __init__(self, item: Misconception, failures: Sequence[Failure]) -> None:
        self.item = item
        self.explained: set[str] = set()
        self._failures = failures
        self._done = 0
        self._tells = False

    @property
    def open(self) -> bool:
        return self._done < len(self._failures)

    @property
    def told(self) -> bool:
        """Whether it was tried on all checks and more than an exception's text speaks for it."""
        return self._tells and not self.open

    @property
    def most(self) -> int:
        """How many checks it can explain yet."""
        return len(self.explained) + len(self._failures) - self._done

    @property
    def failure(self) -> Failure:
        return self._failures[self._done]

    def note(self, shows: bool | None) -> None:  # noqa: FBT001  # what ``_shows`` answers
        if shows is not False:
            self.explained.add(self.failure.item.name)
        self._tells = self._tells or bool(shows)
        self._done += 1


class MisconceptionMatcher:
    """Knows one stage's misconceptions by what they show."""

    def __init__(self, stage: Stage, run: Run) -> None:
        self._stage = stage
        self._run = run
        self._bank = misconceptions.read(stage.misconceptions)
        self._channels: dict[str, LocalChannel] = {}
        self._replays: dict[tuple[str, str], Observation] = {}
        self._recorded: dict[str, Recording] = {}

    def explain(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Name the mistake behind *failures* of one exercise, by the name of each explained check.

        The misconception that explains most of them is chosen; of equals those that pass what the
        student's code *passed*, and what is equal then is named together.
        """
        matches = self._matches(
            [item for item in self._bank if item.exercise == exercise], failures
        )
        most = max(map(len, matches.values()), default=0)
        chosen = [item for item in self._bank if most and len(matches.get(item.id, ())) == most]
        if len(chosen) > 1:
            chosen = [item for item in chosen if self._passes(item, passed)] or chosen
        return {
            failure.item.name: found
            for failure in failures
            if (found := self._told(failure, chosen, matches))
        }

    def _matches(
        self, bank: Sequence[Misconception], failures: Sequence[Failure]
    ) -> dict[str, set[str]]:
        """Say which failures each of *bank* shows as well, if any of them tells something.

        The most promising is replayed first, and what can't explain as many as the best any more
        is given up: that spares most replays and changes no name.
        """
        trials = [_Trial(item, failures) for item in bank]
        while trial := _next(trials):
            trial.note(self._shows(trial.item, trial.failure))
        return {trial.item.id: trial.explained for trial in trials if trial.told}

    def _passes(self, item: Misconception, checks: Sequence[pytest.Item]) -> bool:
        return all(self._shown(item, check).error is None for check in checks)

    def _told(
        self, failure: Failure, chosen: Sequence[Misconception], matches: dict[str, set[str]]
    ) -> Diagnosis | None:
        named = [item for item in chosen if failure.item.name in matches[item.id]]
        return _diagnosis(named) if named else self._reading(failure)

    def _reading(self, failure: Failure) -> Diagnosis | None:
        """Say what the last answer looks like beside the solution's answer to the same request."""
        ours = self._ours(failure.item)
        last = len(failure.observation.answers) - 1
        if not isinstance(failure.observation.error, WrongAnswer) or not 0 <= last < len(
            ours.answers
        ):
            return None
        (verb, answer), (asked, expected) = failure.observation.answers[last], ours.answers[last]
        if verb != asked:
            return None
        found = heuristics.read(answer, expected)
        if found is None and failure.observation.changed:
            found = heuristics.input_changed()
        if found is None:
            found = heuristics.matches_intermediate_step(answer, self._steps(failure.item, last))
        return Diagnosis(found.name, found.sentence, found.question) if found else None

    def _steps(self, check: pytest.Item, index: int) -> Sequence[tuple[str, Tensor]]:
        """Return the tensors on the solution's way to its answer number *index* in *check*."""
        if check.nodeid not in self._recorded:
            recording = Recording(solution_channel(self._stage.solution))
            self._run(check, recording)
            self._recorded[check.nodeid] = recording
        steps = self._recorded[check.nodeid].steps
        return steps[index] if index < len(steps) else ()

    def _shows(self, item: Misconception, failure: Failure) -> bool | None:
        """Whether *item* shows the same; ``None``: only an exception's text speaks for it."""
        replayed, seen = self._shown(item, failure.item), failure.observation
        if replayed.error is None or not matches(replayed, seen, ours := self._ours(failure.item)):
            return False
        return matches_conclusively(replayed, seen, ours) or None

    def _shown(self, item: Misconception, check: pytest.Item) -> Observation:
        return self._replay(item.id, check, lambda: self._channel(item))

    def _ours(self, check: pytest.Item) -> Observation:
        return self._replay("", check, lambda: solution_channel(self._stage.solution))

    def _replay(self, name: str, item: pytest.Item, channel: Callable[[], Channel]) -> Observation:
        key = (name, item.nodeid)
        if key not in self._replays:
            self._replays[key] = self._run(item, channel())
        return self._replays[key]

    def _channel(self, item: Misconception) -> LocalChannel:
        if item.id not in self._channels:
            text = item.module(self._stage.solution.read_text("utf-8"))
            self._channels[item.id] = LocalChannel(f"{self._stage.module}_{item.id}", text.encode())
        return self._channels[item.id]


def _next(trials: Sequence[_Trial]) -> _Trial | None:
    """Return the most promising trial that may still be as good as the best one that is done."""
    best = max((trial.most for trial in trials if trial.told), default=0)
    waiting = [trial for trial in trials if trial.open and trial.most >= best]
    return max(waiting, key=lambda trial: (trial.most, len(trial.explained)), default=None)


def _diagnosis(chosen: Sequence[Misconception]) -> Diagnosis:
    """Tell one misconception, or several that can't be told apart, in the bank's order."""
    first, *others = chosen
    explanation = first.explanation
    if others:
        also = " ".join(other.explanation for other in others[:2])
        explanation = f"Either: {first.explanation} Or: {also}"
    return Diagnosis(
        misconception=" / ".join(item.id for item in chosen[:3]),
        explanation=explanation,
        hint=first.question,
    )
