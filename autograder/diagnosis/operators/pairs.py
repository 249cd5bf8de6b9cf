"""Finds two mistakes that together explain what no single one explains.

Two are tried only where each of them passes what the code passed, a bounded number of them. What
depends on the programs and on the form of the wrong answers alone is worked out once for the class.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from autograder.diagnosis.observation import Failure
from autograder.diagnosis.operators.answers import (
    form_of,
    has_form,
    last_answer,
    same_answers,
    tells,
)
from autograder.diagnosis.operators.comparison import ALL, MAX_SCREENS, Comparison
from autograder.diagnosis.operators.naming import Found
from autograder.diagnosis.operators.programs import Key, Programs, Script
from autograder.suite.checks import Layer, layer_of

MAX_PAIRS = 800  # that are tried for one submission; most are known from others of the class
MAX_SIEVES = 2  # passed checks in which every mistake of a pair must give right answers
MAX_KEPT = 500  # lists of pairs, and of their halves, of one exercise
EXACT = {Layer.PARAMETERS, Layer.DOCUMENTED, Layer.PROBE}  # where only right numbers pass
# Verbs that show no result: where parameters are compared, results are only there for comparison.
STATE = frozenset({"parameters", "shapes", "buffers", "state", "draw"})
NEARLY, LEAST = 0.75, 3  # of the wrong answers, by which two mistakes are certain enough

# The programs that may be half of a pair, each with all that answer the first check alike.
Halves = Mapping[int, Sequence[int]]


class Wanted(NamedTuple):
    """What pairs must show that can explain a submission.

    *screens* are failed checks, by name, and how many answers the code gave there; in *differing*
    one of these is not the solution's, and *needed* is one in which no single mistake explains it.
    *alone* are the programs that alone give one of the wrong answers: one is in every pair.
    """

    screens: tuple[tuple[str, int], ...]
    differing: frozenset[str]
    needed: frozenset[str]
    alone: frozenset[int]


class PairSearch:
    """The search for two mistakes in one exercise."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._halves: dict[Any, Halves] = {}
        self._pairs: dict[Any, tuple[Key, ...]] = {}

    def find(self, compared: Comparison) -> list[Found]:
        """Return the pairs of mistakes that explain every wrong answer, or nearly every one."""
        alone = _alone(compared)
        unexplained = _least_explained(compared) or _unexplained_by(alone, compared)
        first = unexplained or compared.wrong[0]
        if not tells(last_answer(first)):
            return []
        name, halves = self._halves_for(compared, first)
        screens = list({one.item.name: one for one in (*compared.screens, first)}.values())
        wanted = _wanted(compared, screens, unexplained, alone)
        if (name, wanted) not in self._pairs:
            pairs = islice(self._able(compared, halves, screens, wanted), MAX_PAIRS)
            _keep(self._pairs, (name, wanted), tuple(pairs))
        found: list[Found] = []
        for key in compared.matching(self._pairs[name, wanted], first):
            equal = product(*(halves[number] for number in key))
            found += [compared.check(one) for one in equal if self._programs.compatible(one)]
        complete = [one for one in found if compared.is_complete(one)]
        return complete or _nearly_complete(compared, found)

    def _able(
        self, compared: Comparison, halves: Halves, screens: Sequence[Failure], wanted: Wanted
    ) -> Iterator[Key]:
        """Yield the pairs that can explain every wrong answer, the likeliest first."""
        differs = {
            number: frozenset(
                one.item.name for one in screens if not compared.like_the_solution((number,), one)
            )
            for number in halves
        }
        able = tuple(one for one, names in differs.items() if names and names >= wanted.needed)
        for one, other in self._programs.pairs(able):
            all_differ = differs[one] | differs[other] >= wanted.differing
            if all_differ and (not wanted.alone or not wanted.alone.isdisjoint((one, other))):
                yield one, other

    def _halves_for(self, compared: Comparison, first: Failure) -> tuple[Any, Halves]:
        """Return the programs that may be half of a pair, and a name for them."""
        layers = [(layer_of(one), compared.script(one)) for one in compared.passed]
        sieves = [
            (STATE if layer is Layer.PARAMETERS else ALL, script)
            for layer, script in layers
            if layer in EXACT
        ][:MAX_SIEVES]
        last, script = len(first.observation.answers) - 1, compared.script(first.item)
        form = form_of(last_answer(first))
        name = script.check, last, form, tuple((verbs, one.check) for verbs, one in sieves)
        if name not in self._halves:
            equal: dict[Key, list[int]] = defaultdict(list)  # by the first that answers so
            for key in self._programs.keys:
                if self._has_form(key, script, last, form) and all(
                    self._programs.solves(key, one, len(one.solved.answers), verbs)
                    for verbs, one in sieves
                ):
                    equal[self._programs.alike(key, script, last)].append(key[0])
            _keep(self._halves, name, {some[0]: some for some in equal.values()})
        return name, self._halves[name]

    def _has_form(self, key: Key, script: Script, last: int, form: Any) -> bool:
        """Whether an answer of the program has the form of the code's.

        What has another shape, or NaN elsewhere, is not repaired by a second mistake.
        """
        given = self._programs.answer(key, script, last)
        return given is not None and given.fault is None and has_form(given.value, form)


def _least_explained(compared: Comparison) -> Failure | None:
    """Return a screen whose answers no single mistake gives, if there is one.

    Without gradients if possible: the way back to them takes as long as all other requests.
    """
    both = [one for one in compared.screens if not compared.alike(one)]
    return min(both, key=_asks_gradients, default=None)


def _asks_gradients(failure: Failure) -> bool:
    return any(verb == "gradients" for verb, _ in failure.observation.answers)


def _alone(compared: Comparison) -> frozenset[int]:
    """Return the programs that alone give one of the wrong answers."""
    return frozenset(
        key[0]
        for one in compared.screens
        if tells(last_answer(one))
        for key in compared.alike(one)
        if not compared.like_the_solution(key, one)
    )


def _unexplained_by(alone: Iterable[int], compared: Comparison) -> Failure | None:
    """Return the first wrong answer that none of these programs gives, where a second one shows."""
    for failure in compared.wrong[MAX_SCREENS:]:
        if not any(compared.shows((number,), failure) for number in alone):
            return failure
    return None


def _wanted(
    compared: Comparison,
    screens: Sequence[Failure],
    unexplained: Failure | None,
    alone: frozenset[int],
) -> Wanted:
    return Wanted(
        screens=tuple((one.item.nodeid, len(one.observation.answers)) for one in screens),
        differing=frozenset(
            one.item.name
            for one in screens
            if not same_answers(one.observation, compared.script(one.item).solved)
        ),
        needed=frozenset({unexplained.item.name} if unexplained else ()),
        alone=alone,
    )


def _nearly_complete(compared: Comparison, found: Sequence[Found]) -> list[Found]:
    """Keep those that explain most, more than any single mistake does, and pass what passed."""
    alone = (len(one.explained) for key, one in compared.checked.items() if len(key) == 1)
    least = max(LEAST, NEARLY * len(compared.wrong), max(alone, default=0) + 1)
    kept = [one for one in found if len(one.explained) >= least]
    most = max((len(one.explained) for one in kept), default=0)
    return [one for one in kept if len(one.explained) == most and compared.passes(one)]


def _keep(table: dict[Any, Any], name: Any, value: Any) -> None:
    if len(table) >= MAX_KEPT:
        table.clear()
    table[name] = value
