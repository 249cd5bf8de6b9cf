"""Finds two mistakes that together explain failures that no single mistake explains.

A pair is tried only if each of its mistakes passes the checks that the code passed. The number of
pairs is limited. Data that depends only on the programs and on the form of the wrong answers is
computed once for the class.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple, Protocol

from autograder.diagnosis.answers import form_of, has_form, same_answers
from autograder.diagnosis.observation import Observation
from autograder.diagnosis.programs import ALL, Programs, SolvedCheck
from autograder.diagnosis.ranking import MAX_SCREENS, Candidate, FailedCheck, Key, Ranking
from autograder.suite.checks import Layer
from autograder.suite.noise import Agreement

MAX_PAIRS = 800  # tried for one submission; most results are cached from other submissions
MAX_SIEVES = 2  # passed checks in which both mistakes of a pair must give right answers
MAX_KEPT = 500  # cached lists of pairs, and of their halves, for one exercise
EXACT = {Layer.PARAMETERS, Layer.DOCUMENTED, Layer.PROBE}  # layers in which only right numbers pass
# Verbs that show no result. A check of parameters may ask for results only to compare them.
STATE = frozenset({"parameters", "shapes", "buffers", "state", "draw"})
NEARLY, LEAST = 0.75, 3  # share and number of wrong answers that make two mistakes certain enough

# The programs that may be half of a pair, each with all programs that answer the first check alike.
Halves = Mapping[int, Sequence[int]]


class Wanted(NamedTuple):
    """The results that a pair must have to explain a submission.

    *screens* are the names of failed checks, with the number of answers of the code. In those in
    *differing*, an answer differs from the solution's. *needed* is a check that no single mistake
    explains. *alone* are the programs that give one of the wrong answers alone; every pair must
    contain one of them.
    """

    screens: tuple[tuple[str, int], ...]
    differing: frozenset[str]
    needed: frozenset[str]
    alone: frozenset[int]


class PairEvidence(Protocol):
    """The results of programs and of a submission that the search for pairs needs."""

    @property
    def passed(self) -> Sequence[str]: ...  # noqa: D102  # the docstring of the class describes it

    def seen(self, check: FailedCheck) -> Observation:
        """Return the observation of the submission."""

    def solved_check(self, check: str) -> SolvedCheck:
        """Return the requests of a check."""

    def layer(self, check: str) -> Layer | None:
        """Return the layer of a check."""

    def matching(self, keys: tuple[Key, ...], check: FailedCheck) -> dict[Key, Agreement]:
        """Return the *keys* of programs that may answer like the submission."""

    def like_the_solution(self, key: Key, check: FailedCheck) -> bool:
        """Whether a program answers like the solution."""

    def shows(self, key: Key, check: FailedCheck) -> Agreement:
        """Compare a program's answers with the submission's."""


class PairSearch:
    """Searches for pairs of mistakes in one exercise."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._halves: dict[Any, Halves] = {}
        self._pairs: dict[Any, tuple[Key, ...]] = {}

    def find(self, evidence: PairEvidence, ranking: Ranking) -> list[Candidate]:
        """Return the pairs of mistakes that explain every wrong answer, else nearly every one."""
        if not any(check.tells for check in ranking.wrong):
            return []
        compared = Compared(evidence, ranking, len(self._programs.own_keys))
        unexplained = compared.least_explained()
        if unexplained and not unexplained.tells:
            return []
        alone = compared.alone()
        unexplained = unexplained or compared.unexplained_by(alone)
        first = unexplained or ranking.wrong[0]
        if not first.tells:
            return []
        name, halves = self._halves_for(evidence, first)
        screens = list({check.name: check for check in (*compared.screens, first)}.values())
        wanted = compared.wanted(screens, unexplained, alone)
        if (name, wanted) not in self._pairs:
            pairs = islice(self._able(evidence, halves, screens, wanted), MAX_PAIRS)
            _keep(self._pairs, (name, wanted), tuple(pairs))
        found: list[Candidate] = []
        for key in evidence.matching(self._pairs[name, wanted], first):
            equal = product(*(halves[number] for number in key))
            found += [
                ranking.candidate(one)
                for one in equal
                if self._programs.compatible(one) and ranking.admits(one)
            ]
        complete = [one for one in found if ranking.is_complete(one)]
        return complete or compared.nearly_complete(found)

    def _able(
        self, evidence: PairEvidence, halves: Halves, screens: Sequence[FailedCheck], wanted: Wanted
    ) -> Iterator[Key]:
        """Yield the pairs that may explain every wrong answer, the likeliest first."""
        differs = {
            number: frozenset(
                check.name for check in screens if not evidence.like_the_solution((number,), check)
            )
            for number in halves
        }
        able = tuple(one for one, names in differs.items() if names and names >= wanted.needed)
        for one, other in self._programs.pairs(able):
            all_differ = differs[one] | differs[other] >= wanted.differing
            if all_differ and (not wanted.alone or not wanted.alone.isdisjoint((one, other))):
                yield one, other

    def _halves_for(self, evidence: PairEvidence, first: FailedCheck) -> tuple[Any, Halves]:
        """Return a key in the cache and the programs that may be half of a pair."""
        layers = [
            (evidence.layer(check), evidence.solved_check(check)) for check in evidence.passed
        ]
        sieves = [
            (STATE if layer is Layer.PARAMETERS else ALL, solved)
            for layer, solved in layers
            if layer in EXACT
        ][:MAX_SIEVES]
        answers, solved = evidence.seen(first).answers, evidence.solved_check(first.name)
        last, form = len(answers) - 1, form_of(answers[-1][1])
        name = solved.check, last, form, tuple((verbs, one.check) for verbs, one in sieves)
        if name not in self._halves:
            equal: dict[Key, list[int]] = defaultdict(list)  # by the first of equal programs
            for key in self._programs.own_keys:
                if self._has_form(key, solved, last, form) and all(
                    self._programs.solves(key, one, len(one.observation.answers), verbs)
                    for verbs, one in sieves
                ):
                    equal[self._programs.alike(key, solved, last)].append(key[0])
            _keep(self._halves, name, {some[0]: some for some in equal.values()})
        return name, self._halves[name]

    def _has_form(self, key: Key, solved: SolvedCheck, last: int, form: Any) -> bool:
        """Whether the program's answer number *last* has the form of the code's answer.

        A second mistake would not correct a different shape or different places of NaN.
        """
        given = self._programs.answer(key, solved, last)
        return given is not None and given.fault is None and has_form(given.value, form)


class Compared:
    """Compares the wrong answers of a submission with those of programs with one kind of mistake.

    The programs are those with numbers below *count*.
    """

    def __init__(self, evidence: PairEvidence, ranking: Ranking, count: int) -> None:
        self._evidence = evidence
        self._ranking = ranking
        self._count = count
        self.screens = ranking.wrong[:MAX_SCREENS]

    def alone(self) -> frozenset[int]:
        """Return the programs that give one of the wrong answers alone."""
        return frozenset(
            key[0]
            for check in self.screens
            if check.tells
            for key in self._alike(check)
            if not self._evidence.like_the_solution(key, check)
        )

    def _alike(self, check: FailedCheck) -> list[Key]:
        return [key for key in self._ranking.alike(check) if key[0] < self._count]

    def least_explained(self) -> FailedCheck | None:
        """Return a screen whose answers no single mistake gives, or None.

        A screen without gradients is preferred, because gradients take as long as all other
        requests.
        """
        easiest_first = sorted(self.screens, key=self._asks_gradients)
        return next((check for check in easiest_first if not self._alike(check)), None)

    def _asks_gradients(self, check: FailedCheck) -> bool:
        return any(verb == "gradients" for verb, _ in self._evidence.seen(check).answers)

    def unexplained_by(self, alone: Iterable[int]) -> FailedCheck | None:
        """Return the first further check whose answers none of the programs *alone* gives."""
        for check in self._ranking.wrong[MAX_SCREENS:]:
            if not any(self._evidence.shows((number,), check) for number in alone):
                return check
        return None

    def wanted(
        self,
        screens: Sequence[FailedCheck],
        unexplained: FailedCheck | None,
        alone: frozenset[int],
    ) -> Wanted:
        """Return the results that pairs must have."""
        seen = {check.name: self._evidence.seen(check) for check in screens}
        return Wanted(
            screens=tuple((name, len(shown.answers)) for name, shown in seen.items()),
            differing=frozenset(
                name
                for name, shown in seen.items()
                if not same_answers(shown, self._evidence.solved_check(name).observation)
            ),
            needed=frozenset({unexplained.name} if unexplained else ()),
            alone=alone,
        )

    def nearly_complete(self, found: Sequence[Candidate]) -> list[Candidate]:
        """Return the pairs that explain most answers, if these are nearly all answers."""
        checked = self._ranking.checked.items()
        alone = (len(one.explained) for key, one in checked if len(key) == 1)
        wrong = len(self._ranking.wrong)
        least = max(LEAST, NEARLY * wrong, max(alone, default=0) + 1)
        kept = [one for one in found if len(one.explained) >= least]
        most = max((len(one.explained) for one in kept), default=0)
        return [one for one in kept if len(one.explained) == most and self._ranking.passes(one)]


def _keep(table: dict[Any, Any], name: Any, value: Any) -> None:
    if len(table) >= MAX_KEPT:
        table.clear()
    table[name] = value
