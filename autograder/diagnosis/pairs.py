"""Finds two mistakes that together explain failures that no single mistake explains.

Each mistake of a pair passes the checks that the code passed, and the source admits its sentence.
The number of pairs is limited. Two orders take turns: pairs whose changes add up to nearly what
the code changed come first, and so do pairs of likely kinds.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, islice, product, zip_longest
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from autograder.diagnosis.answers import MIN_ENTRIES, form_of, has_form, in_order, same_answers
from autograder.diagnosis.observation import Observation
from autograder.diagnosis.programs import ALL, Programs, SolvedCheck
from autograder.diagnosis.ranking import MAX_SCREENS, Candidate, CheckEnd, FailedCheck, Key, Ranking
from autograder.suite.checks import Layer
from autograder.suite.noise import APART, Agreement

MAX_PAIRS = 150  # tried for one submission, half of them in each order
MAX_WIDE = 5  # failed checks in which a mistake may have an effect, in the wider search
MAX_SIEVES = 2  # passed checks in which both mistakes of a pair must give right answers
EXACT = {Layer.PARAMETERS, Layer.DOCUMENTED, Layer.PROBE}  # layers in which only right numbers pass
# Verbs that show no result. A check of parameters may ask for results only to compare them.
STATE = frozenset({"parameters", "shapes", "buffers", "state", "draw"})
NEARLY, LEAST = 0.75, 3  # share and number of wrong answers that make two mistakes certain enough
MAX_NUMBERS = 1000  # of an answer, which show how two changes add up


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

    def end(self, key: Key, check: str) -> CheckEnd:
        """Return how a program ends a check."""

    def shows(self, key: Key, check: FailedCheck) -> Agreement:
        """Compare a program's answers with the submission's."""

    def like_the_solution(self, key: Key, check: FailedCheck) -> bool:
        """Whether a program answers like the solution."""


class Half(NamedTuple):
    """Programs, by their *numbers*, that may be half of a pair and have the same answers.

    *changed* are the screens in which they change an answer, and *change* is what they add to the
    numbers of the first one.
    """

    numbers: list[int]
    changed: frozenset[str]
    change: Tensor


class PairSearch:
    """Searches for two mistakes in one submission of an exercise."""

    def __init__(self, programs: Programs, evidence: PairEvidence, ranking: Ranking) -> None:
        self._programs = programs
        self._evidence = evidence
        self._ranking = ranking
        self._screens = ranking.wrong[:MAX_SCREENS]

    def find(self) -> list[Candidate]:
        """Return the pairs of mistakes that explain every wrong answer, else nearly every one.

        If there are none in which each mistake has an effect alone where a single one explains
        nothing, the search is wider.
        """
        telling = [check for check in self._ranking.wrong if self._tells(check)]
        needed = self._least_explained()
        if not telling or (needed and not self._tells(needed)):
            return []
        alone = self._alone()
        needed = needed or self._unexplained_by(alone, self._ranking.wrong[MAX_SCREENS:])
        first = needed or self._ranking.wrong[0]
        if not self._tells(first):
            return []
        if found := self._among(self._halves(first, alone, needed), first, alone):
            return found
        first = (alone and self._unexplained_by(alone, telling)) or first
        return self._among(self._halves(first), first, alone)

    def _among(
        self, halves: Sequence[Half], first: FailedCheck, alone: frozenset[int]
    ) -> list[Candidate]:
        """Return the pairs of *halves* that explain every wrong answer, else nearly every one."""
        found = [
            self._ranking.candidate(key)
            for equal in islice(self._likely_pairs(halves, first, alone), MAX_PAIRS)
            if self._shows(equal[0], first)
            for key in equal
        ]
        complete = [one for one in found if self._ranking.is_complete(one)]
        return complete or self._nearly_complete(found)

    def _tells(self, check: FailedCheck) -> bool:
        """Whether the last answer of a check is enough evidence, as floats of many checks are."""
        return check.tells or len(self._floats) >= MIN_ENTRIES

    @cached_property
    def _floats(self) -> set[float]:
        """The different last answers of the failed checks that are single numbers."""
        found = [self._evidence.seen(check).answers for check in self._ranking.wrong]
        last = (answers[-1][1] for answers in found if answers)
        return {one for one in last if isinstance(one, float)}

    def _shows(self, pair: Key, check: FailedCheck) -> bool:
        shown = self._evidence.shows(pair, check)
        self._programs.forget(pair)
        return bool(shown)

    def _least_explained(self) -> FailedCheck | None:
        """Return a screen whose answers no single mistake gives, or None.

        A screen without gradients is preferred, because gradients take as long as all other
        requests.
        """
        easiest_first = sorted(self._screens, key=self._asks_gradients)
        return next((check for check in easiest_first if not self._explaining(check)), None)

    def _asks_gradients(self, check: FailedCheck) -> bool:
        return any(verb == "gradients" for verb, _ in self._evidence.seen(check).answers)

    def _explaining(self, check: FailedCheck) -> list[Key]:
        """List the programs that alone give the wrong answers of *check*."""
        own = frozenset(self._programs.halves)
        return [key for key in self._ranking.alike(check) if key in own]

    def _alone(self) -> frozenset[int]:
        """Return the programs that give one of the wrong answers alone."""
        return frozenset(
            key[0]
            for check in self._screens
            if self._tells(check)
            for key in self._explaining(check)
            if not self._evidence.like_the_solution(key, check)
        )

    def _unexplained_by(
        self, alone: Iterable[int], checks: Iterable[FailedCheck]
    ) -> FailedCheck | None:
        """Return the first of *checks* whose answers none of the programs *alone* gives."""
        for check in checks:
            if not any(self._evidence.shows((number,), check) for number in alone):
                return check
        return None

    def _halves(
        self,
        first: FailedCheck,
        alone: frozenset[int] | None = None,
        needed: FailedCheck | None = None,
    ) -> list[Half]:
        """List the programs that may be half of a pair, those with equal answers together.

        They change an answer in the check that is *needed*. Those that are not in *alone* give the
        solution's answers in checks that the code passed, and a second mistake would not correct
        their different shape or places of NaN. Without *alone*, neither counts.
        """
        seen, solved = self._evidence.seen(first), self._evidence.solved_check(first.name)
        last = len(seen.answers) - 1
        form, right = form_of(seen.answers[last][1]), self._right(first)
        every = self._screens if alone is not None else self._ranking.wrong[:MAX_WIDE]
        screens = {check.name: check for check in (*every, first)}.values()
        equal: dict[Any, Half] = {}
        for key in filter(self._ranking.admits, self._programs.halves):
            given = self._programs.answer(key, solved, last)
            if given is None or given.fault is not None:
                continue
            if alone is not None and not has_form(given.value, form):
                continue
            changed = self._changed(key, screens)
            passes = alone is None or key[0] in alone or self._passes(key)
            if changed and (not needed or needed.name in changed) and passes:
                change = change_of(given.value, right)
                group = changed, (change / APART).round().numpy().tobytes() if len(change) else key
                equal.setdefault(group, Half([], changed, change)).numbers.append(key[0])
        return [*equal.values()]

    def _changed(self, key: Key, screens: Iterable[FailedCheck]) -> frozenset[str]:
        """Return the *screens* in which a program does not give the solution's answers."""
        same = self._evidence.like_the_solution
        return frozenset(check.name for check in screens if not same(key, check))

    def _right(self, check: FailedCheck) -> Any:
        """Return the solution's answer to the request of the code's last answer."""
        last = len(self._evidence.seen(check).answers) - 1
        return self._evidence.solved_check(check.name).observation.answers[last][1]

    def _likely_pairs(
        self, halves: Sequence[Half], first: FailedCheck, alone: frozenset[int]
    ) -> Iterator[list[Key]]:
        """Yield pairs with equal answers that may explain every wrong answer, the likeliest first.

        If there are programs that *alone* give one of the wrong answers, a pair contains one.
        """
        change = change_of(self._evidence.seen(first).answers[-1][1], self._right(first))
        rank = self._programs.rank
        ranks = [(one, rank(one.numbers[0])) for one in halves]
        pairs = sorted(combinations(ranks, 2), key=_rank_of)
        likely = ((one, other) for (one, _), (other, _) in pairs)
        orders = (nearest(halves, change), likely) if len(halves) > 1 else ()
        yield from in_turn(*(self._able(order, alone) for order in orders))

    def _able(
        self, order: Iterable[tuple[Half, Half]], alone: frozenset[int]
    ) -> Iterator[list[Key]]:
        """Yield those pairs that may explain every wrong answer."""
        wrong = frozenset(check.name for check in self._screens if not self._is_right(check))
        for one, other in order:
            numbers = {*one.numbers, *other.numbers}
            if (alone and alone.isdisjoint(numbers)) or not one.changed | other.changed >= wrong:
                continue
            pairs = {tuple(sorted(pair)) for pair in product(one.numbers, other.numbers)}
            if equal := sorted(filter(self._programs.compatible, pairs)):
                yield equal

    def _is_right(self, check: FailedCheck) -> bool:
        solved = self._evidence.solved_check(check.name).observation
        return same_answers(self._evidence.seen(check), solved)

    def _passes(self, key: Key) -> bool:
        """Whether a program gives right answers in some checks that the code passed.

        Checks of parameters may pass with numbers different from the solution's.
        """
        for layer, check in self._sieves:
            solved, state = self._evidence.solved_check(check), layer is Layer.PARAMETERS
            count, verbs = len(solved.observation.answers), STATE if state else ALL
            if not self._programs.solves(key, solved, count, verbs) and not (
                state and self._evidence.end(key, check) is CheckEnd.PASSES
            ):
                return False
        return True

    @cached_property
    def _sieves(self) -> Sequence[tuple[Layer | None, str]]:
        layers = [(self._evidence.layer(check), check) for check in self._evidence.passed]
        return [one for one in layers if one[0] in EXACT][:MAX_SIEVES]

    def _nearly_complete(self, found: Sequence[Candidate]) -> list[Candidate]:
        """Return the pairs that explain most answers, if these are nearly all answers.

        Equal exceptions do not count: many mistakes raise them.
        """
        wrong = {check.name for check in self._ranking.wrong}
        counts = {key: len(one.explained & wrong) for key, one in self._ranking.checked.items()}
        alone = max((count for key, count in counts.items() if len(key) == 1), default=0)
        least = max(LEAST, NEARLY * len(wrong), alone + 1)
        most = max((counts[one.key] for one in found), default=0)
        kept = [one for one in found if counts[one.key] == most >= least]
        return [one for one in kept if self._ranking.passes(one)]


def nearest(halves: Sequence[Half], change: Tensor) -> Iterator[tuple[Half, Half]]:
    """Yield the pairs of *halves*, first those whose changes add up to nearly *change*."""
    changes = [one.change if len(one.change) == len(change) else change * 0 for one in halves]
    left = torch.stack(changes)
    inner = left @ left.T
    alone = inner.diagonal() - 2 * left @ change
    distances = (alone[:, None] + alone[None, :] + 2 * inner).tolist()
    places = combinations(range(len(halves)), 2)
    for one, other in sorted(places, key=lambda place: distances[place[0]][place[1]]):
        yield halves[one], halves[other]


def _rank_of(pair: Sequence[tuple[Half, tuple[int, int]]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*(rank for _, rank in pair), strict=True)))


def in_turn(*orders: Iterable[list[Key]]) -> Iterator[list[Key]]:
    """Yield the entries of all *orders* in turn, each once."""
    given = set()
    for entries in zip_longest(*orders):
        for entry in entries:
            if entry and entry[0] not in given:
                given.add(entry[0])
                yield entry


def change_of(answer: Any, right: Any) -> Tensor:
    """Return what *answer* adds to some numbers of the *right* answer; empty if none compare."""
    mine, theirs = numbers_of(answer), numbers_of(right)
    return mine - theirs if len(mine) == len(theirs) else mine[:0]


def numbers_of(answer: Any) -> Tensor:
    """Return some finite numbers of the tensors in *answer*; 0 replaces others."""
    match answer:
        case Tensor():
            real = torch.view_as_real(answer) if answer.is_complex() else answer
            numbers = real.detach().flatten().double()
        case dict():
            return numbers_of([answer[key] for key in in_order(answer)])
        case list() | tuple():
            numbers = torch.cat([torch.zeros(0).double(), *map(numbers_of, answer)])
        case _:
            return torch.zeros(0).double()
    some = numbers[:: max(1, len(numbers) // MAX_NUMBERS)]
    return some.nan_to_num(0.0, 0.0, 0.0)
