"""Finds the mistakes, of one exercise, that explain what no misconception explains.

A program is asked the requests of one failed check first, and dropped at the first other answer.
Only what is left runs all failed checks, and those that passed. Two mistakes together are tried
only where no single one explains everything, and only where each of them passes what passed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from typing import Any, NamedTuple

import pytest
from torch import Tensor

from autograder.course import Stage
from autograder.diagnosis.observation import (
    Failure,
    Match,
    Observation,
    compare,
    same_answer,
    same_step,
)
from autograder.diagnosis.operators.programs import Key, Programs, Run, Script, Solve, Words
from autograder.diagnosis.operators.rewrites import Rewrite
from autograder.diagnosis.operators.vocabulary import KINDS, alternatives, require_known
from autograder.results import SEVERAL, TOGETHER, Diagnosis, title_of
from autograder.sandbox.faults import Fault
from autograder.suite.checks import Layer, WrongAnswer, layer_of
from autograder.suite.in_process import LocalChannel

MAX_NAMED = 3  # kinds in one sentence; of more the sentence would be no help
MAX_PAIRS = 500  # that are tried for one submission; it takes less than a second
MAX_SCREENS = 4  # failed checks, the smallest, in which every single mistake is tried
MAX_SIEVES = 2  # passed checks in which every mistake of a pair must give right answers
EXACT = {Layer.PARAMETERS, Layer.DOCUMENTED, Layer.PROBE}  # where only right numbers pass
UNCOMPARED = "new"  # a verb whose answer says nothing
STATE = {"parameters", "shapes", "buffers", "state", "draw"}  # verbs that show no result
NEARLY, LEAST = 0.75, 3  # of the wrong answers, by which two mistakes are certain enough
MIN_ENTRIES = 4  # of an answer that says something; fewer numbers agree by chance


class Found(NamedTuple):
    """A program, and the names of the failed checks that it explains."""

    key: Key
    explained: frozenset[str]


class Tried(NamedTuple):
    """What an author reads about one explanation: its name, and how far it matched."""

    exercise: str
    name: str
    explanation: str
    explained: int
    failed: int


class OperatorSearch:
    """Searches the mistakes of one stage's exercises, for the whole class."""

    def __init__(
        self, stage: Stage, run: Run, solution: LocalChannel, solve: Solve, words: Words
    ) -> None:
        self._stage = stage
        self.run = run
        self._solution = solution
        self._solve = solve
        require_known(words)
        self._words = words
        self._programs: dict[str, Programs] = {}
        self._scripts: dict[str, Script] = {}
        self.tried: list[Tried] = []  # of the programs that ran every failed check

    def find(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Explain all wrong answers by one mistake, or by two; name them by check."""
        search = self._search(exercise, failures, passed)
        if search is None:
            return {}
        found = search.singles() or search.pairs()
        self.tried += search.tried(exercise)
        return search.diagnoses(found)

    def find_some(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Explain as many of the wrong answers as one mistake can; name it by check."""
        search = self._search(exercise, failures, passed)
        return search.diagnoses(search.partial()) if search else {}

    def texts(self, exercise: str) -> frozenset[str]:
        """Return the source of every program with one mistake in *exercise* that was searched."""
        programs = self._programs.get(exercise)
        return programs.texts if programs else frozenset()

    def _search(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> "_Search | None":
        """Start a search; ``None`` where no answer was wrong, so that there is nothing to match."""
        wrong = [one for one in failures if isinstance(one.observation.error, WrongAnswer)]
        wrong = [one for one in wrong if one.observation.answers and self._is_about_answers(one)]
        if not wrong:
            return None
        if exercise not in self._programs:
            self._programs[exercise] = Programs(self._stage, exercise, self._solution, self._words)
        return _Search(self, self._programs[exercise], failures, wrong, passed)

    def _is_about_answers(self, failure: Failure) -> bool:
        """Whether a check can have failed by an answer, and not by a function that is forbidden."""
        script = self.script(failure.item)
        same = _same_answers(failure.observation, script.solved)
        about_code = layer_of(failure.item) is Layer.FORBIDDEN and same
        return bool(script.exchanges) and not about_code

    def script(self, check: pytest.Item) -> Script:
        """Return what *check* asks."""
        if check.nodeid not in self._scripts:
            solved, exchanges = self._solve(check)
            self._scripts[check.nodeid] = Script(check.nodeid, exchanges, solved)
        return self._scripts[check.nodeid]


class _Search:
    """One search: for the wrong answers of one submission in one exercise."""

    def __init__(
        self,
        stage: OperatorSearch,
        programs: Programs,
        failures: Sequence[Failure],
        wrong: Sequence[Failure],
        passed: Sequence[pytest.Item],
    ) -> None:
        self._stage = stage
        self._programs = programs
        self._failures = failures
        self._wrong = sorted(wrong, key=self._effort)
        self._screens = self._wrong[:MAX_SCREENS]
        self._first = self._wrong[0]
        self._passed = passed
        self._checked: dict[Key, Found] = {}
        self._equal: dict[int, list[int]] = {}

    def singles(self) -> list[Found]:
        """Return the single mistakes that explain every wrong answer."""
        keys = [(number,) for number in range(len(self._programs))]
        left = [key for key in keys if self._shows(key, self._wrong[0])]
        return [one for one in map(self._check, left) if self._complete(one)]

    def pairs(self) -> list[Found]:
        """Return the pairs of mistakes that explain every wrong answer, or nearly every one."""
        self._first = self._least_explained()
        if not tells(_last_answer(self._first)):
            return []
        found = []
        for key in islice(self._pairs(), MAX_PAIRS):
            if self._shows(key, self._first):
                equal = product(*(self._equal[number] for number in key))
                found += [self._check(one) for one in equal if self._programs.compatible(one)]
        complete = [one for one in found if self._complete(one)]
        return complete or self._nearly_complete(found)

    def _least_explained(self) -> Failure:
        """Return the first screen whose answers no single mistake gives, if there is one."""
        numbers = range(len(self._programs))
        both = (
            one
            for one in self._screens
            if not any(self._shows((number,), one) for number in numbers)
        )
        return next(both, self._wrong[0])

    def _nearly_complete(self, found: Sequence[Found]) -> list[Found]:
        """Keep those that explain most, more than any single mistake does, and pass what passed."""
        alone = (len(one.explained) for key, one in self._checked.items() if len(key) == 1)
        least = max(LEAST, NEARLY * len(self._wrong), max(alone, default=0) + 1)
        kept = [one for one in found if len(one.explained) >= least]
        most = max((len(one.explained) for one in kept), default=0)
        return [one for one in kept if len(one.explained) == most and self._passes(one)]

    def partial(self) -> list[Found]:
        """Return the single mistakes that explain most of the wrong answers."""
        keys = [(number,) for number in range(len(self._programs))]
        telling = [one for one in self._screens if tells(_last_answer(one))]
        left = {key for key in keys for one in telling if self._shows(key, one)}
        found = [one for one in map(self._check, sorted(left)) if one.explained]
        layers = {one.item.name: layer_of(one.item) for one in self._wrong}
        found = [one for one in found if not is_coincidence(layers, one.explained)]
        most = max((len(one.explained) for one in found), default=0)
        return [one for one in found if len(one.explained) == most]

    def diagnoses(self, found: Sequence[Found]) -> dict[str, Diagnosis]:
        """Name what was found, by the name of each explained check."""
        found = self._best_known(found)
        if not found:
            return {}
        if len(found[0].key) == 1:
            diagnosis = named([self._programs.rewrites[one.key[0]] for one in found])
            names = found[0].explained
            return dict.fromkeys(names, diagnosis) if diagnosis else {}
        return self._both(found)

    def tried(self, exercise: str) -> Iterator[Tried]:
        """Yield what was compared with all failed checks of *exercise*."""
        for key, one in self._checked.items():
            rewrites = [self._programs.rewrites[number] for number in key]
            yield Tried(
                exercise,
                TOGETHER.join(rewrite.kind for rewrite in rewrites),
                " ".join(rewrite.explanation for rewrite in rewrites),
                len(one.explained),
                len(self._failures),
            )

    def _best_known(self, found: Sequence[Found]) -> list[Found]:
        """Keep the first of each group."""
        groups: dict[tuple[str, ...], Found] = {}
        for one in found:
            names = sorted(self._programs.rewrites[number].group for number in one.key)
            groups.setdefault(tuple(names), one)
        return list(groups.values())

    def _both(self, found: Sequence[Found]) -> dict[str, Diagnosis]:
        """Name the two mistakes, or the one that alone shows in a check."""
        pairs = [[self._programs.rewrites[number] for number in one.key] for one in found]
        merged = [_merged(one) for one in zip(*pairs, strict=True)]
        pair = [one for one in merged if one is not None]
        different = [{one.group for one in same} for same in zip(*pairs, strict=True)]
        if len(pair) < len(merged) or all(len(groups) > 1 for groups in different):
            return {}  # too many fit
        both = _together(pair)
        named = {}
        for name in found[0].explained:
            alone = [
                one
                for number, one in zip(found[0].key, pair, strict=True)
                if name in self._check((number,)).explained
            ]
            named[name] = _diagnosis(alone[0]) if len(alone) == 1 else both
        return named

    def _pairs(self) -> Iterator[Key]:
        """Yield the pairs that can explain every wrong answer, the likeliest first."""
        programs, script = self._programs, self._stage.script
        sieves = [sieve for one in self._passed if (sieve := self._sieve(one))][:MAX_SIEVES]
        usable: list[int] = []  # those that stand for all that answer alike
        differs: dict[int, frozenset[str]] = {}
        for number in range(len(programs)):
            key = (number,)
            alike = self._may_be_half(key)
            if alike and all(programs.shows(key, *sieve) for sieve in sieves):
                if self._is_equal(number, usable):
                    continue
                usable.append(number)
                differs[number] = frozenset(
                    one.item.name for one in self._screens if not self._like_the_solution(key, one)
                )
        names = frozenset(
            one.item.name
            for one in self._screens
            if not _same_answers(one.observation, script(one.item).solved)
        )
        partly = {number for number in usable if self._is_part(number)}
        some = [
            key
            for key in combinations([number for number in usable if differs[number]], 2)
            if differs[key[0]] | differs[key[1]] >= names and programs.compatible(key)
        ]
        yield from (key for key in some if not partly or partly.intersection(key))

    def _is_equal(self, number: int, known: Sequence[int]) -> bool:
        """Whether the program answers the first check like a known one, which stands for both."""
        check, seen, _ = self._first
        script, last = self._stage.script(check), len(seen.answers) - 1
        mine = self._programs.answer((number,), script, last)
        for other in known:
            theirs = self._programs.answer((other,), script, last)
            if mine and theirs and same_answer(mine.value, theirs.value):
                self._equal[other].append(number)
                return True
        self._equal[number] = [number]
        return False

    def _may_be_half(self, key: Key) -> bool:
        """Whether an answer of the program has the form of the code's.

        What has another shape, or NaN elsewhere, is not repaired by a second mistake.
        """
        check, seen, _ = self._first
        last = len(seen.answers) - 1
        given = self._programs.answer(key, self._stage.script(check), last)
        return (
            given is not None and given.fault is None and _alike(given.value, seen.answers[last][1])
        )

    def _is_part(self, number: int) -> bool:
        """Whether the program alone gives one of the wrong answers: it is then in every pair."""
        return any(
            self._shows((number,), one)
            and tells(_last_answer(one))
            and not self._like_the_solution((number,), one)
            for one in self._screens
        )

    def _sieve(self, check: pytest.Item) -> tuple[Script, Observation] | None:
        """Return answers that a program must give to pass *check*, if that is certain."""
        layer, script = layer_of(check), self._stage.script(check)
        if layer not in EXACT:
            return None
        answers = script.solved.answers
        if layer is Layer.PARAMETERS:  # its results are only there to be compared with each other
            answers = tuple(
                (verb if verb in STATE else UNCOMPARED, answer) for verb, answer in answers
            )
        return script, Observation(answers, None)

    def _like_the_solution(self, key: Key, failure: Failure) -> bool:
        """Whether the program gives the solution's answers, as far as the student's code went."""
        script = self._stage.script(failure.item)
        answers = script.solved.answers[: len(failure.observation.answers)]
        return self._programs.shows(key, script, Observation(answers, None))

    def _shows(self, key: Key, failure: Failure) -> bool:
        script = self._stage.script(failure.item)
        return self._programs.shows(key, script, failure.observation)

    def _check(self, key: Key) -> Found:
        """Run all failed checks on a program, and name those that end alike."""
        if key not in self._checked:
            explained = []
            for failure in self._failures:
                if not self._shows(key, failure):
                    continue
                replayed = self._programs.run(key, failure.item, self._stage.run)
                solved = self._stage.script(failure.item).solved
                if replayed.error and compare(replayed, failure.observation, solved) is Match.YES:
                    explained.append(failure.item.name)
            self._checked[key] = Found(key, frozenset(explained))
        return self._checked[key]

    def _complete(self, found: Found) -> bool:
        """Whether the program explains every wrong answer, and passes and fails what the code did.

        Where the code raised, the program may raise something else.
        """
        return (
            all(one.item.name in found.explained for one in self._wrong)
            and all(
                self._fails(found.key, one.item)
                for one in self._failures
                if isinstance(one.observation.error, Fault)
            )
            and self._passes(found)
        )

    def _passes(self, found: Found) -> bool:
        return all(not self._fails(found.key, check) for check in self._passed)

    def _fails(self, key: Key, check: pytest.Item) -> bool:
        return self._programs.run(key, check, self._stage.run).error is not None

    def _effort(self, failure: Failure) -> tuple[bool, int, int]:
        """Order failed checks: those whose last answer says something, the smallest first."""
        exchanges = self._stage.script(failure.item).exchanges
        size = sum(_entries(answer) for _, answer in failure.observation.answers)
        return not tells(_last_answer(failure)), len(exchanges), size


def _last_answer(failure: Failure) -> Any:
    return failure.observation.answers[-1][1]


def tells(answer: Any) -> bool:
    """Whether *answer* holds enough different finite numbers that agreement is no chance."""
    match answer:
        case Tensor():
            numbers = answer.detach().flatten()
            finite = numbers[numbers.isfinite()]
            return len(finite) >= MIN_ENTRIES and bool((finite != finite[0]).any())
        case dict():
            return any(map(tells, answer.values()))
        case list() | tuple():
            return any(map(tells, answer))
    return False


def is_coincidence(layers: Mapping[str, Layer | None], explained: Collection[str]) -> bool:
    """Whether only documented values agree, and those for other sizes do not.

    *layers* are those of the checks with a wrong answer, by name.
    """
    return all(layers[name] is Layer.DOCUMENTED for name in explained if name in layers) and any(
        layer is Layer.PROBE for name, layer in layers.items() if name not in explained
    )


def _same_answers(seen: Observation, solved: Observation) -> bool:
    """Whether all answers are the solution's: the check failed for something beside them."""
    if len(seen.answers) > len(solved.answers):
        return False
    pairs = zip(seen.answers, solved.answers, strict=False)
    return all(
        verb == right[0] and same_step(verb, answer, right[1], right)
        for (verb, answer), right in pairs
    )


def _alike(mine: Any, theirs: Any) -> bool:
    """Whether two answers have the same form: types, shapes, and NaN only where both have it."""
    match mine, theirs:
        case Tensor(), Tensor():
            return mine.shape == theirs.shape and not bool((mine.isnan() & ~theirs.isnan()).any())
        case dict(), dict():
            return all(_alike(mine[key], theirs[key]) for key in mine.keys() & theirs.keys())
    return None in (mine, theirs) or type(mine) is type(theirs)  # of no gradient there is no form


def _entries(answer: Any) -> int:
    return answer.numel() if isinstance(answer, Tensor) else 1


def named(found: Sequence[Rewrite]) -> Diagnosis | None:
    """Name one mistake, or several; of many the kind that they share."""
    kinds = list(dict.fromkeys(one.kind for one in found))
    if len(found) > MAX_NAMED:
        if len(kinds) > 1:
            return None
        found = [_common(found[0])]
    return Diagnosis(
        SEVERAL.join(kinds),
        alternatives([one.explanation for one in found], " ", more=False),
        found[0].question,
        alternatives([title_of(one.explanation) for one in found], ". ", more=False),
    )


def _merged(same: Sequence[Rewrite]) -> Rewrite | None:
    """Return one mistake with the sentences of all of *same*; ``None`` if they are too many."""
    merged = named(list({one.group: one for one in same}.values()))
    if merged is None:
        return None
    return same[0]._replace(
        kind=merged.misconception, explanation=merged.explanation, question=merged.hint
    )


def _common(rewrite: Rewrite) -> Rewrite:
    """Return *rewrite* with the sentences of its kind."""
    words = KINDS[rewrite.kind]
    return rewrite._replace(explanation=words.explanation, question=words.question)


def _diagnosis(rewrite: Rewrite) -> Diagnosis:
    return Diagnosis(
        rewrite.kind, rewrite.explanation, rewrite.question, title_of(rewrite.explanation)
    )


def _together(pair: Iterable[Rewrite]) -> Diagnosis:
    """Name two mistakes, the one to mend first in front."""
    first, second = pair
    titles = [title_of(one.explanation) for one in (first, second)]
    return Diagnosis(
        TOGETHER.join((first.kind, second.kind)),
        f"Two mistakes show here together. First: {first.explanation} Then: {second.explanation}",
        first.question,
        f"Two mistakes: {titles[0]}. {titles[1]}",
    )
