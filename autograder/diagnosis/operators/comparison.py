"""Compares the programs of one exercise with one submission's checks of it."""

import operator
from collections import defaultdict
from collections.abc import Callable, Sequence

import pytest
from torch import Tensor

from autograder.diagnosis.mistakes.kinds import SIZES, WITHOUT_EFFECT
from autograder.diagnosis.observation import (
    Failure,
    Match,
    Observation,
    compare,
    does_not_end,
    is_coincidence,
)
from autograder.diagnosis.operators.answers import (
    Sought,
    entries,
    in_other_words,
    is_specific,
    last_answer,
    may_be_same_line,
    same_answers,
    sought,
    tells,
)
from autograder.diagnosis.operators.naming import Found
from autograder.diagnosis.operators.programs import Key, Programs, Run, Script
from autograder.sandbox.faults import Fault, NoGradients, Raised
from autograder.suite.checks import Layer, WrongAnswer, layer_of
from autograder.suite.noise import Agreement

MAX_SCREENS = 4  # failed checks, the smallest, in which every single mistake is tried
ALL: frozenset[str] = frozenset()  # verbs, where all count


class Comparison:
    """What the programs show in the checks of one submission; *wrong* are the wrong answers."""

    def __init__(
        self,
        programs: Programs,
        script: Callable[[pytest.Item], Script],
        run: Run,
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
    ) -> None:
        self.programs = programs
        self.script = script
        self._run = run
        self.failures = failures
        self.passed = passed
        self.wrong = sorted(filter(self._is_wrong, failures), key=self._effort)
        self.screens = self.wrong[:MAX_SCREENS]
        self.raised = sorted(filter(_is_raised, failures), key=self._effort)
        self.checked: dict[Key, Found] = {}
        self._sought: dict[str, Sought] = {}
        self._alike: dict[str, dict[Key, Agreement]] = {}

    def of(self, programs: Programs) -> "Comparison":
        """Compare other programs with the same submission."""
        return Comparison(programs, self.script, self._run, self.failures, self.passed)

    def is_of(
        self, programs: Programs, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> bool:
        """Whether it compares *programs* with just these checks of the same submission."""
        mine, theirs = [*self.failures, *self.passed], [*failures, *passed]
        same = len(self.failures) == len(failures) and len(mine) == len(theirs)
        return self.programs is programs and same and all(map(operator.is_, mine, theirs))

    def singles(self, keys: tuple[Key, ...] | None = None) -> list[Found]:
        """Return the single mistakes, of all or of *keys*, that explain every wrong answer."""
        if not self.wrong:
            return []
        first = self.wrong[0]
        left = self._matching_first(first) if keys is None else self.matching(keys, first)
        found = [one for one in map(self.check, left) if self.is_complete(one)]
        best = max((one.rank for one in found), default=None)
        return [one for one in found if one.rank == best]

    def stopped(self) -> list[Found]:
        """Return the single mistakes that end in every exception that the code ended in.

        They fail and pass what the code did; only where no answer is wrong, or another one.
        """
        if self.wrong or not any(is_specific(one.observation.error) for one in self.raised):
            return []
        left = self.alike(self.raised[0])
        return [one for one in map(self.check, left) if self._stops_alike(one)]

    def partial(self) -> list[Found]:
        """Return the single mistakes that explain most of the wrong answers.

        A wrong size must explain every wrong result, and an argument without effect what passed.
        """
        telling = [one for one in self.screens if tells(last_answer(one))]
        left = {key for one in telling for key in self.alike(one)}
        found = [one for one in map(self.check, sorted(left)) if one.explained]
        found = [one for one in found if not self._is_by_chance(one)]
        layers = {one.item.name: layer_of(one.item) for one in self.failures}
        wrong = [one.item.name for one in self.wrong]
        found = [one for one in found if not is_coincidence(one.explained, layers, wrong)]
        most = max((len(one.explained) for one in found), default=0)
        return [one for one in found if len(one.explained) == most]

    def _is_by_chance(self, found: Found) -> bool:
        """Whether the other checks say that it is not this mistake, but another one.

        A size may equal another one in some checks. Gradients may differ by rounding alone.
        """
        kind = self.programs.rewrites[found.key[0]].kind
        if kind in WITHOUT_EFFECT:
            return not self.passes(found)
        left = [one for one in self.wrong if one.item.name not in found.explained]
        return kind in SIZES and any(isinstance(last_answer(one), Tensor) for one in left)

    def shows(self, key: Key, failure: Failure) -> Agreement:
        """Compare the program's answers with the code's in a failed check, as far as this went."""
        return self.programs.shows(key, self.script(failure.item), self._seen(failure))

    def alike(self, failure: Failure) -> list[Key]:
        """List the programs with one mistake that answer like the code in a failed check."""
        shown = self._matching_first(failure)
        return [key for key, found in shown.items() if found is Agreement.SAME]

    def _matching_first(self, failure: Failure) -> dict[Key, Agreement]:
        """Compare the programs with one mistake with the code in a failed check, once."""
        name = failure.item.nodeid
        if name not in self._alike:
            self._alike[name] = self.matching(self.programs.keys, failure)
        return self._alike[name]

    def matching(self, keys: tuple[Key, ...], failure: Failure) -> dict[Key, Agreement]:
        """Return those of *keys* that may answer like the code in a failed check."""
        return self.programs.matching(keys, self.script(failure.item), self._seen(failure))

    def _seen(self, failure: Failure) -> Sought:
        name = failure.item.nodeid
        if name not in self._sought:
            self._sought[name] = sought(failure.observation)
        return self._sought[name]

    def like_the_solution(self, key: Key, failure: Failure) -> bool:
        """Whether the program gives the solution's answers, as far as the student's code went."""
        script, count = self.script(failure.item), len(failure.observation.answers)
        return self.programs.solves(key, script, count, ALL)

    def check(self, key: Key) -> Found:
        """Run all failed checks on a program, and name those that end alike."""
        if key not in self.checked:
            names: dict[Match, set[str]] = defaultdict(set)
            for failure in self.failures:
                match = self._match(key, failure) if self.shows(key, failure) else Match.NO
                names[match].add(failure.item.name)
            kinds = (Match.YES, Match.TEXT_ONLY, Match.UNDECIDED)
            self.checked[key] = Found(key, *(frozenset(names[match]) for match in kinds))
        return self.checked[key]

    def _match(self, key: Key, failure: Failure) -> Match:
        replayed = self.programs.run(key, failure.item, self._run)
        seen = failure.observation
        if not replayed.decided:
            return Match.UNDECIDED
        if replayed.error is None:
            return Match.NO
        match = compare(replayed, seen, self.script(failure.item).solved)
        if match is not Match.YES and in_other_words(replayed.error, seen.error):
            return Match.TEXT_ONLY
        if match is Match.TEXT_ONLY:
            numbers = isinstance(seen.error, NoGradients)
            same = not numbers and may_be_same_line(replayed.error, seen.error)
            return Match.TEXT_ONLY if same else Match.NO
        return match

    def is_complete(self, found: Found) -> bool:
        """Whether the program explains every wrong answer, and passes and fails what the code did.

        Where the code raised, the program may raise something else, if numbers are certain enough.
        """
        explained = [one for one in self.wrong if one.item.name in found.explained]
        certain = any(tells(last_answer(one)) for one in explained)
        alike = found.explained | found.stopped | found.undecided
        return (
            bool(explained)
            and all(one in explained or one.item.name in found.undecided for one in self.wrong)
            and all(certain or one.item.name in alike for one in self.raised)
            and not any(
                self._run_of(found.key, one.item).passes
                for one in self.failures
                if isinstance(one.observation.error, Fault)
            )
            and self.passes(found)
        )

    def _stops_alike(self, found: Found) -> bool:
        """Whether the program raises what the code raised, and fails and passes what it did."""
        alike = found.explained | found.stopped | found.undecided
        about_code = [one for one in self.failures if layer_of(one.item) is Layer.FORBIDDEN]
        return (
            bool(found.explained | found.stopped)
            and all(one.item.name in alike for one in self.raised)
            and not any(
                self._run_of(found.key, one.item).passes
                for one in self.failures
                if one not in about_code
            )
            and self.passes(found)
        )

    def passes(self, found: Found) -> bool:
        """Whether the program passes what the code passed."""
        return not any(self._run_of(found.key, check).fails for check in self.passed)

    def _run_of(self, key: Key, check: pytest.Item) -> Observation:
        return self.programs.run(key, check, self._run)

    def _is_wrong(self, failure: Failure) -> bool:
        """Whether a check failed by an answer, and not by a function that is forbidden."""
        if (
            not isinstance(failure.observation.error, WrongAnswer)
            or not failure.observation.answers
        ):
            return False
        script = self.script(failure.item)
        same = same_answers(failure.observation, script.solved)
        about_code = layer_of(failure.item) is Layer.FORBIDDEN and same
        return bool(script.exchanges) and not about_code

    def _effort(self, failure: Failure) -> tuple[bool, int, int]:
        """Order failed checks: those whose last answer says something, the smallest first."""
        answers = failure.observation.answers
        size = sum(entries(answer) for _, answer in answers)
        says = bool(answers) and tells(last_answer(failure))
        return not says, len(self.script(failure.item).exchanges), size


def _is_raised(failure: Failure) -> bool:
    error = failure.observation.error
    return does_not_end(error) or (isinstance(error, Raised) and not isinstance(error, NoGradients))
