"""Finds two mistakes that together explain what no single one explains.

Two are tried only where each of them passes what the code passed, a bounded number of them.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product

import pytest

from autograder.diagnosis.observation import Failure, Observation, same_answer
from autograder.diagnosis.operators.answers import last_answer, same_answers, same_form, tells
from autograder.diagnosis.operators.comparison import Comparison
from autograder.diagnosis.operators.naming import Found
from autograder.diagnosis.operators.programs import Key, Script
from autograder.suite.checks import Layer, layer_of

MAX_PAIRS = 500  # that are tried for one submission; it takes less than a second
MAX_SIEVES = 2  # passed checks in which every mistake of a pair must give right answers
EXACT = {Layer.PARAMETERS, Layer.DOCUMENTED, Layer.PROBE}  # where only right numbers pass
UNCOMPARED = "new"  # a verb whose answer says nothing
STATE = {"parameters", "shapes", "buffers", "state", "draw"}  # verbs that show no result
NEARLY, LEAST = 0.75, 3  # of the wrong answers, by which two mistakes are certain enough


class PairSearch:
    """The search for two mistakes in one submission."""

    def __init__(self, comparison: Comparison) -> None:
        self._compared = comparison
        self._programs = comparison.programs
        self._first = self._least_explained()
        self._equal: dict[int, list[int]] = {}

    def find(self) -> list[Found]:
        """Return the pairs of mistakes that explain every wrong answer, or nearly every one."""
        if not tells(last_answer(self._first)):
            return []
        found: list[Found] = []
        for key in islice(self._pairs(), MAX_PAIRS):
            if self._compared.shows(key, self._first):
                equal = product(*(self._equal[number] for number in key))
                compatible = (one for one in equal if self._programs.compatible(one))
                found += map(self._compared.check, compatible)
        complete = [one for one in found if self._compared.is_complete(one)]
        return complete or self._nearly_complete(found)

    def _least_explained(self) -> Failure:
        """Return the first screen whose answers no single mistake gives, if there is one."""
        both = (
            one
            for one in self._compared.screens
            if not any(self._compared.shows(key, one) for key in self._programs.keys)
        )
        return next(both, self._compared.wrong[0])

    def _nearly_complete(self, found: Sequence[Found]) -> list[Found]:
        """Keep those that explain most, more than any single mistake does, and pass what passed."""
        checked = self._compared.checked.items()
        alone = (len(one.explained) for key, one in checked if len(key) == 1)
        nearly = NEARLY * len(self._compared.wrong)
        least = max(LEAST, nearly, max(alone, default=0) + 1)
        kept = [one for one in found if len(one.explained) >= least]
        most = max((len(one.explained) for one in kept), default=0)
        return [one for one in kept if len(one.explained) == most and self._compared.passes(one)]

    def _pairs(self) -> Iterator[Key]:
        """Yield the pairs that can explain every wrong answer, the likeliest first."""
        programs, script = self._programs, self._compared.script
        usable = self._usable()
        differs = {
            key[0]: frozenset(
                one.item.name
                for one in self._compared.screens
                if not self._compared.like_the_solution(key, one)
            )
            for key in usable
        }
        names = frozenset(
            one.item.name
            for one in self._compared.screens
            if not same_answers(one.observation, script(one.item).solved)
        )
        partly = {key[0] for key in usable if self._is_part(key)}
        some = [
            key
            for key in combinations([number for number in differs if differs[number]], 2)
            if differs[key[0]] | differs[key[1]] >= names and programs.compatible(key)
        ]
        yield from (key for key in some if not partly or partly.intersection(key))

    def _usable(self) -> list[Key]:
        """List the programs that may be half of a pair, each standing for all that answer alike."""
        passed = self._compared.passed
        sieves = [sieve for one in passed if (sieve := self._sieve(one))][:MAX_SIEVES]
        usable: list[Key] = []
        for key in self._programs.keys:
            alike = self._may_be_half(key)
            if alike and all(self._programs.shows(key, *sieve) for sieve in sieves):
                usable += [] if self._is_equal(key, usable) else [key]
        return usable

    def _is_equal(self, key: Key, known: Sequence[Key]) -> bool:
        """Whether the program answers the first check like a known one, which stands for both."""
        check, seen, _ = self._first
        script, last = self._compared.script(check), len(seen.answers) - 1
        mine = self._programs.answer(key, script, last)
        for other in known:
            theirs = self._programs.answer(other, script, last)
            if mine and theirs and same_answer(mine.value, theirs.value):
                self._equal[other[0]] += key
                return True
        self._equal[key[0]] = list(key)
        return False

    def _may_be_half(self, key: Key) -> bool:
        """Whether an answer of the program has the form of the code's.

        What has another shape, or NaN elsewhere, is not repaired by a second mistake.
        """
        check, seen, _ = self._first
        last = len(seen.answers) - 1
        given = self._programs.answer(key, self._compared.script(check), last)
        if given is None or given.fault is not None:
            return False
        return same_form(given.value, seen.answers[last][1])

    def _is_part(self, key: Key) -> bool:
        """Whether the program alone gives one of the wrong answers: it is then in every pair."""
        return any(
            self._compared.shows(key, one)
            and tells(last_answer(one))
            and not self._compared.like_the_solution(key, one)
            for one in self._compared.screens
        )

    def _sieve(self, check: pytest.Item) -> tuple[Script, Observation] | None:
        """Return answers that a program must give to pass *check*, if that is certain."""
        layer, script = layer_of(check), self._compared.script(check)
        if layer not in EXACT:
            return None
        answers = script.solved.answers
        if layer is Layer.PARAMETERS:  # its results are only there to be compared with each other
            answers = tuple(
                (verb if verb in STATE else UNCOMPARED, answer) for verb, answer in answers
            )
        return script, Observation(answers, None)
