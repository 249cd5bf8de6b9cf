"""Finds the mistakes, of one exercise, that explain what no misconception explains.

A program is asked the requests of one failed check first, and dropped at the first other answer.
Only what is left runs all failed checks, and those that passed. Two mistakes together are tried
only where no single one explains everything. Where the code gave no wrong answer and only raised,
the exceptions are compared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest

from autograder.course import Stage
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes.kinds import require_known
from autograder.diagnosis.observation import Failure
from autograder.diagnosis.operators import naming
from autograder.diagnosis.operators.answers import refuses
from autograder.diagnosis.operators.comparison import Comparison
from autograder.diagnosis.operators.naming import Found
from autograder.diagnosis.operators.pairs import PairSearch
from autograder.diagnosis.operators.programs import Programs, Run, Script, Solve, Words
from autograder.results import TOGETHER, Diagnosis
from autograder.suite.in_process import LocalChannel


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
        self._run = run
        self._solution = solution
        self._solve = solve
        require_known(words)
        self._words = words
        self._programs: dict[str, Programs] = {}
        self._pairs: dict[str, PairSearch] = {}
        self._beside: dict[str, Programs] = {}  # by the misconception that is in them
        self._scripts: dict[str, Script] = {}
        self._last: Comparison | None = None
        self.tried: list[Tried] = []  # of the programs that ran every failed check
        self._behind: dict[tuple[str, str], Misconception] = {}  # by exercise and explanation

    def find(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Explain all wrong answers by one mistake, or by two; name them by check.

        Where there is none, explain all exceptions by one.
        """
        compared = self._compare(exercise, failures, passed)
        if not compared.wrong:
            stopped = compared.stopped()
            self.tried += _tried(exercise, compared)
            return self._keep(exercise, stopped, _diagnose_stopped(compared, stopped))
        found = compared.singles() or self._pairs[exercise].find(compared)
        self.tried += _tried(exercise, compared)
        return self._keep(exercise, found, _diagnose(compared, found))

    def find_some(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Explain as many of the wrong answers as one mistake can; name it by check.

        Where none is left, explain all exceptions by one.
        """
        compared = self._compare(exercise, failures, passed)
        if not compared.wrong:
            stopped = compared.stopped()
            return self._keep(exercise, stopped, _diagnose_stopped(compared, stopped))
        found = compared.partial()
        return self._keep(exercise, found, _diagnose(compared, found))

    def find_beside(
        self,
        items: Sequence[Misconception],
        failures: Sequence[Failure],
        passed: Sequence[pytest.Item],
        *,
        shown: bool,
    ) -> dict[str, Diagnosis]:
        """Explain all wrong answers by just one of *items* and a kind of mistake elsewhere.

        Unless these misconceptions have *shown* alone in a check, the kind of mistake must have.
        """
        alone = self._compare(items[0].exercise, failures, passed)
        groups = {one.group: number for number, one in enumerate(alone.programs.rewrites)}
        if not shown:
            seen = {one.key[0] for one in alone.partial()}
            groups = {group: number for group, number in groups.items() if number in seen}
        found = [
            named
            for item in (items if groups else ())
            if (named := self._find_with(item, alone, groups))
        ]
        return found[0] if len(found) == 1 else {}

    def _find_with(
        self, item: Misconception, alone: Comparison, groups: Mapping[str, int]
    ) -> dict[str, Diagnosis]:
        """Explain all wrong answers by *item* and a kind of mistake of *groups*.

        These are groups of the solution's rewrites, with their numbers, which are compared *alone*:
        what does not fit the solution may change what the misconception changed.
        """
        compared = alone.of(self._programs_beside(item))
        rewrites = compared.programs.rewrites
        keys = tuple(key for key in compared.programs.keys if rewrites[key[0]].group in groups)
        found = compared.singles(keys)
        self.tried += _tried(item.exercise, compared, item)
        kind = naming.merge([rewrites[one.key[0]] for one in found]) if found else None
        if kind is None:
            return {}
        number = groups[rewrites[found[0].key[0]].group]
        explained = compared.check(()).explained, alone.check((number,)).explained
        pair = naming.name_misconception(item), kind
        named = naming.name_each(found[0].explained, pair, explained)
        self._keep_program(item.exercise, compared.programs.text(found[0].key), named)
        return named

    def _programs_beside(self, mistake: Misconception) -> Programs:
        """Return the programs with *mistake* and a kind of mistake."""
        if mistake.id not in self._beside:
            text = mistake.module(self._stage.solution.read_text("utf-8"))
            self._beside[mistake.id] = Programs(
                self._stage, mistake.exercise, self._solution, self._words, text
            )
        return self._beside[mistake.id]

    def mistakes(self, exercise: str, diagnoses: Iterable[Diagnosis]) -> tuple[Misconception, ...]:
        """Return the mistake, or the two, that *diagnoses* name, as one change to the solution."""
        named = {self._behind.get((exercise, one.explanation)) for one in diagnoses} - {None}
        return tuple(one for one in named if one) if len(named) == 1 else ()

    def _keep(
        self, exercise: str, found: Sequence[Found], named: dict[str, Diagnosis]
    ) -> dict[str, Diagnosis]:
        """Keep the program behind diagnoses; no answer tells it from the others."""
        if found:
            self._keep_program(exercise, self._programs[exercise].text(found[0].key), named)
        return named

    def _keep_program(self, exercise: str, code: str, named: Mapping[str, Diagnosis]) -> None:
        """Keep the program that *named*, of one mistake or of two, are about."""
        for diagnosis in named.values():
            first = next(iter(named.values()))
            self._behind[exercise, diagnosis.explanation] = Misconception(
                id=first.misconception,
                exercise=exercise,
                explanation=first.explanation,
                question=first.hint,
                code=code,
            )

    def texts(self, exercise: str) -> frozenset[str]:
        """Return the source of every program with one mistake in *exercise* that was searched."""
        programs = self._programs.get(exercise)
        return programs.texts if programs else frozenset()

    def script(self, check: pytest.Item) -> Script:
        """Return what *check* asks."""
        if check.nodeid not in self._scripts:
            solved, exchanges = self._solve(check)
            self._scripts[check.nodeid] = Script(check.nodeid, exchanges, solved)
        return self._scripts[check.nodeid]

    def _compare(
        self, exercise: str, failures: Sequence[Failure], passed: Sequence[pytest.Item]
    ) -> Comparison:
        if exercise not in self._programs:
            programs = Programs(self._stage, exercise, self._solution, self._words)
            self._programs[exercise], self._pairs[exercise] = programs, PairSearch(programs)
        programs = self._programs[exercise]
        if not self._last or not self._last.is_of(programs, failures, passed):
            self._last = Comparison(programs, self.script, self._run, failures, passed)
        return self._last  # which has compared what is asked of it again


def _diagnose(compared: Comparison, found: Sequence[Found]) -> dict[str, Diagnosis]:
    """Name what was found, by the name of each explained check."""
    rewrites = compared.programs.rewrites
    found = naming.first_of_each_group(found, rewrites)
    if not found:
        return {}
    if len(found[0].key) > 1:
        return _diagnose_both(compared, found)
    diagnosis = naming.name_one([rewrites[one.key[0]] for one in found])
    return dict.fromkeys(found[0].explained, diagnosis) if diagnosis else {}


def _diagnose_stopped(compared: Comparison, found: Sequence[Found]) -> dict[str, Diagnosis]:
    """Name what ends in the same exceptions, by the name of each check that they ended."""
    rewrites = compared.programs.rewrites
    refused = all(refuses(one.observation.error) for one in compared.raised)
    diagnosis = naming.name_stopped([rewrites[one.key[0]] for one in found], refused=refused)
    return dict.fromkeys((one.item.name for one in compared.raised), diagnosis) if diagnosis else {}


def _diagnose_both(compared: Comparison, found: Sequence[Found]) -> dict[str, Diagnosis]:
    """Name the two mistakes, or the one that alone shows in a check."""
    pairs = [[compared.programs.rewrites[number] for number in one.key] for one in found]
    merged = [naming.merge(one) for one in zip(*pairs, strict=True)]
    pair = [one for one in merged if one is not None]
    different = [{one.group for one in same} for same in zip(*pairs, strict=True)]
    if len(pair) < len(merged) or all(len(groups) > 1 for groups in different):
        return {}  # too many fit
    alone = [compared.check((number,)).explained for number in found[0].key]
    return naming.name_each(found[0].explained, pair, alone)


def _tried(
    exercise: str, compared: Comparison, beside: Misconception | None = None
) -> Iterator[Tried]:
    """Yield what was compared with all failed checks of *exercise*, and was *beside* it."""
    for key, one in compared.checked.items():
        rewrites = [compared.programs.rewrites[number] for number in key]
        names = [rewrite.kind for rewrite in rewrites]
        sentences = [rewrite.explanation for rewrite in rewrites]
        if beside is not None:
            names, sentences = [beside.id, *names], [beside.explanation, *sentences]
        yield Tried(
            exercise,
            TOGETHER.join(names),
            " ".join(sentences),
            len(one.explained | one.stopped),
            len(compared.failures),
        )
