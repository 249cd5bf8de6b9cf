"""Finds two mistakes that together explain failures that no single mistake explains.

The source admits the sentences of both, and the pair passes the checks that the code passed. The
number of pairs is limited. Three orders take turns: pairs whose changes of the answers add up to
nearly those of the code come first, and so do pairs whose changes of the source do, and pairs of
likely kinds.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, islice, product, zip_longest
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from autograder.diagnosis.answers import MIN_ENTRIES, FailedCheck, in_order, same_answers
from autograder.diagnosis.observation import Observation
from autograder.diagnosis.programs import Programs, SolvedCheck
from autograder.diagnosis.ranking import MAX_SCREENS, Candidate, Key, Ranking
from autograder.diagnosis.source_words import more, words_of
from autograder.suite.noise import APART, Agreement

MAX_PAIRS = 300  # tried for one submission, a third of them in each order
MAX_WIDE = 8  # failed checks in which a mistake may have an effect
NEARLY, LEAST = 0.75, 3  # share and number of wrong answers that make two mistakes certain enough
PLAIN = {int, float, list, tuple}
MAX_NUMBERS = 1000  # of an answer, which show how two changes add up


class PairEvidence(Protocol):
    """The results of programs and of a submission that the search for pairs needs."""

    def seen(self, check: FailedCheck) -> Observation:
        """Return the observation of the submission."""

    def solved_check(self, check: str) -> SolvedCheck:
        """Return the requests of a check."""

    def shows(self, key: Key, check: FailedCheck) -> Agreement:
        """Compare a program's answers with the submission's."""

    def like_the_solution(self, key: Key, check: FailedCheck) -> bool:
        """Whether a program answers like the solution."""


class Half(NamedTuple):
    """Programs, by their *numbers*, that may be half of a pair and have the same answers.

    *changed* are the screens in which they change an answer, and *change* is what they add to the
    numbers of the answers in the first one.
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

        Of a few plain values, some agree with many pairs.
        """
        telling = [check for check in self._ranking.wrong if self._tells(check)]
        if not telling:
            return []
        shows, alone = self._evidence.shows, self._alone(telling[:MAX_SCREENS])
        apart = (check for check in telling if not any(shows((one,), check) for one in alone))
        first, *others = [*islice(apart, MAX_SCREENS)] or telling[:1]
        found = [
            self._ranking.candidate(key)
            for equal in islice(self._likely_pairs(self._halves(first), first, alone), MAX_PAIRS)
            if self._shows(equal[0], first)
            for key in equal
            if all(self._shows(key, check) for check in others)
        ]
        complete = [one for one in found if self._ranking.is_complete(one)]
        by_numbers = any(check.tells for check in telling)
        return complete or (self._nearly_complete(found) if by_numbers else [])

    def _alone(self, checks: Iterable[FailedCheck]) -> frozenset[int]:
        """Return the programs that give one of the wrong answers in *checks* alone."""
        own, right = frozenset(self._programs.halves), self._evidence.like_the_solution
        found = ((key, check) for check in checks for key in self._ranking.alike(check))
        return frozenset(key[0] for key, one in found if key in own and not right(key, one))

    def _tells(self, check: FailedCheck) -> bool:
        """Whether the last answer of a check is enough evidence, as numbers of many checks are."""
        return check.tells or len(self._plain) >= MIN_ENTRIES

    @cached_property
    def _plain(self) -> set[str]:
        """The different wrong answers of the failed checks that are numbers, lists or tuples."""
        pairs = [
            pair
            for check in self._ranking.wrong
            for pair in zip(self._evidence.seen(check).answers, self._right(check), strict=False)
        ]
        shown = ((repr(one), repr(right)) for (_, one), right in pairs if type(one) in PLAIN)
        return {one for one, right in shown if one != right}

    def _shows(self, pair: Key, check: FailedCheck) -> bool:
        shown = self._evidence.shows(pair, check)
        self._programs.forget(pair)
        return bool(shown)

    def _halves(self, first: FailedCheck) -> list[Half]:
        """List the programs that may be half of a pair, those with equal answers together."""
        solved, right = self._evidence.solved_check(first.name), self._right(first)
        screens = {check.name: check for check in (*self._screens, first)}.values()
        more_screens = self._ranking.wrong[MAX_SCREENS:MAX_WIDE]
        equal: dict[Any, Half] = {}
        for key in filter(self._ranking.admits, self._programs.halves):
            answers = [self._programs.answer(key, solved, place) for place in range(len(right))]
            changed = self._changed(key, screens) or self._changed(key, more_screens)
            if changed and answers[-1] and answers[-1].fault is None:
                change = change_of([one and one.value for one in answers], right)
                rounded = (change / APART).round()
                group = changed, rounded.numpy().tobytes() if rounded.any() else key
                equal.setdefault(group, Half([], changed, change)).numbers.append(key[0])
        return [*equal.values()]

    def _changed(self, key: Key, screens: Iterable[FailedCheck]) -> frozenset[str]:
        """Return the *screens* in which a program does not give the solution's answers."""
        same = self._evidence.like_the_solution
        return frozenset(check.name for check in screens if not same(key, check))

    def _right(self, check: FailedCheck) -> list[Any]:
        """Return the solution's answers to the requests which the code answered."""
        count = len(self._evidence.seen(check).answers)
        answers = self._evidence.solved_check(check.name).observation.answers[:count]
        return [answer for _, answer in answers]

    def _likely_pairs(
        self, halves: Sequence[Half], first: FailedCheck, alone: frozenset[int]
    ) -> Iterator[list[Key]]:
        """Yield pairs of equal answers that may explain all wrong answers, the likeliest first.

        If there are programs that *alone* give one of the wrong answers, a pair contains one.
        """
        answers = [answer for _, answer in self._evidence.seen(first).answers]
        change = change_of(answers, self._right(first))
        rank = self._programs.rank
        ranks = [(one, rank(one.numbers[0])) for one in halves]
        pairs = sorted(combinations(ranks, 2), key=_rank_of)
        likely = ((one, other) for (one, _), (other, _) in pairs)
        nearly = nearest(halves, [one.change for one in halves], change)
        by_source = self._able(self._nearest_source(halves), alone)
        wrong = frozenset(check.name for check in self._screens if not self._is_right(check))
        others = (self._able(order, alone, wrong) for order in (nearly, likely))
        yield from in_turn(by_source, *others)

    def _nearest_source(self, halves: Sequence[Half]) -> Iterator[tuple[Half, Half]]:
        """Yield the pairs, first those whose changes of the source add up to nearly the code's."""
        right, words = self._programs.words(()), self._programs.words
        every = [[more(words((one,)), right) for one in half.numbers] for half in halves]
        given = more(words_of(self._ranking.consent.written.nodes), right)
        places = sorted({word for some in every for one in some for word in one})
        change = torch.tensor([given.get(word, 0) for word in places]).double().clamp(-2, 2)
        changes = []
        for some in every:
            vectors = [torch.tensor([one.get(word, 0) for word in places]).double() for one in some]
            changes.append(min(vectors, key=lambda one: float(one @ (one - 2 * change))))
        return nearest(halves, changes, change)

    def _able(
        self,
        order: Iterable[tuple[Half, Half]],
        alone: frozenset[int],
        wrong: frozenset[str] = frozenset(),
    ) -> Iterator[list[Key]]:
        """Yield those pairs that may explain every wrong answer, with a change in those *wrong*."""
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


def nearest(
    halves: Sequence[Half], changes: Sequence[Tensor], change: Tensor
) -> Iterator[tuple[Half, Half]]:
    """Yield the pairs of *halves*, first those whose *changes* add up to nearly *change*."""
    if not halves:
        return
    left = torch.stack([one if len(one) == len(change) else change * 0 for one in changes])
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
    """Return some finite numbers in *answer*; 0 replaces others."""
    match answer:
        case Tensor():
            real = torch.view_as_real(answer) if answer.is_complex() else answer
            numbers = real.detach().flatten().double()
        case dict():
            return numbers_of([answer[key] for key in in_order(answer)])
        case list() | tuple():
            numbers = torch.cat([torch.zeros(0).double(), *map(numbers_of, answer)])
        case int() | float():
            return torch.tensor([answer]).double()
        case _:
            return torch.zeros(0).double()
    some = numbers[:: max(1, len(numbers) // MAX_NUMBERS)]
    return some.nan_to_num(0.0, 0.0, 0.0)
