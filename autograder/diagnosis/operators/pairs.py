"""Finds two mistakes that together explain what no single one explains.

Two are tried only where each of them passes what the code passed, a bounded number of them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, product

from autograder.diagnosis.observation import Failure
from autograder.diagnosis.operators.answers import last_answer, same_answers, same_form, tells
from autograder.diagnosis.operators.comparison import ALL, Comparison
from autograder.diagnosis.operators.naming import Found
from autograder.diagnosis.operators.programs import Key, Script
from autograder.suite.checks import Layer, layer_of

MAX_PAIRS = 800  # that are tried for one submission; most are known from others of the class
MAX_SIEVES = 2  # passed checks in which every mistake of a pair must give right answers
EXACT = {Layer.PARAMETERS, Layer.DOCUMENTED, Layer.PROBE}  # where only right numbers pass
# Verbs that show no result: where parameters are compared, results are only there for comparison.
STATE = frozenset({"parameters", "shapes", "buffers", "state", "draw"})
NEARLY, LEAST = 0.75, 3  # of the wrong answers, by which two mistakes are certain enough


class PairSearch:
    """The search for two mistakes in one submission."""

    def __init__(self, comparison: Comparison) -> None:
        self._compared = comparison
        self._programs = comparison.programs
        unexplained = self._least_explained()
        self._needs_both = unexplained is not None  # both must have an effect there
        self._first = unexplained or comparison.wrong[0]
        self._equal: dict[Key, list[int]] = defaultdict(list)  # programs that answer alike

    def find(self) -> list[Found]:
        """Return the pairs of mistakes that explain every wrong answer, or nearly every one."""
        if not tells(last_answer(self._first)):
            return []
        found: list[Found] = []
        for key in self._compared.matching(tuple(islice(self._pairs(), MAX_PAIRS)), self._first):
            equal = product(*(self._equal_to(number) for number in key))
            compatible = (one for one in equal if self._programs.compatible(one))
            found += map(self._compared.check, compatible)
        complete = [one for one in found if self._compared.is_complete(one)]
        return complete or self._nearly_complete(found)

    def _equal_to(self, number: int) -> list[int]:
        """List the usable programs that answer the first check like this one."""
        return next(some for some in self._equal.values() if some[0] == number)

    def _least_explained(self) -> Failure | None:
        """Return the first screen whose answers no single mistake gives, if there is one."""
        both = (
            one
            for one in self._compared.screens
            if not self._compared.matching(self._programs.keys, one)
        )
        return next(both, None)

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
        partly = self._parts()
        needed = {self._first.item.name} if self._needs_both else set()
        able = tuple(number for number in differs if differs[number] and needed <= differs[number])
        for one, other in programs.pairs(able):
            all_differ = differs[one] | differs[other] >= names
            if all_differ and (not partly or one in partly or other in partly):
                yield one, other

    def _usable(self) -> list[Key]:
        """List the programs that may be half of a pair, each standing for all that answer alike."""
        layers = [(layer_of(one), self._compared.script(one)) for one in self._compared.passed]
        sieves = [
            (STATE if layer is Layer.PARAMETERS else ALL, script)
            for layer, script in layers
            if layer in EXACT
        ][:MAX_SIEVES]
        usable: list[Key] = []
        for key in self._programs.keys:
            alike = self._may_be_half(key)
            if alike and all(self._solves(key, script, verbs) for verbs, script in sieves):
                usable += [] if self._is_equal(key) else [key]
        return usable

    def _solves(self, key: Key, script: Script, verbs: frozenset[str]) -> bool:
        """Whether the program gives the right answers where only these pass."""
        return self._programs.solves(key, script, len(script.solved.answers), verbs)

    def _is_equal(self, key: Key) -> bool:
        """Whether the program answers the first check like a usable one, which stands for both."""
        check, seen, _ = self._first
        first = self._programs.alike(key, self._compared.script(check), len(seen.answers) - 1)
        self._equal[first].append(key[0])
        return len(self._equal[first]) > 1

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

    def _parts(self) -> set[int]:
        """Return the programs that alone give one of the wrong answers: one is in every pair."""
        return {
            key[0]
            for one in self._compared.screens
            if tells(last_answer(one))
            for key in self._compared.matching(self._programs.keys, one)
            if not self._compared.like_the_solution(key, one)
        }
