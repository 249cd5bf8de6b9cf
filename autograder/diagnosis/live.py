"""Provides evidence from misconceptions and kinds of mistake that run in this process.

All runs are cached, so each check runs once on each program for the whole class. A program first
gets the requests of the first failed check, and is dropped at its first different answer. Only the
remaining programs run all failed and passed checks.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from autograder.course import Stage
from autograder.diagnosis import misconceptions, patterns
from autograder.diagnosis.answers import FailedCheck, refuses, same_answers, sought
from autograder.diagnosis.consent import Consent
from autograder.diagnosis.contract import Contract
from autograder.diagnosis.exceptions import explain_exception, explain_missing
from autograder.diagnosis.group_mistakes import mistakes_of
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes.kinds import require_known
from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import (
    MATCHES,
    Failure,
    Match,
    Observation,
    Submitted,
    compare,
)
from autograder.diagnosis.pairs import PairSearch
from autograder.diagnosis.programs import REFUSED, Programs, Run, SolvedCheck
from autograder.diagnosis.ranking import (
    Candidate,
    CheckEnd,
    Evidence,
    Explanation,
    Key,
    Ranking,
)
from autograder.results import TOGETHER, Diagnosis
from autograder.sandbox.faults import Fault
from autograder.sandbox.transcript import Exchange
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import LocalChannel, RecordingChannel
from autograder.suite.noise import Agreement
from autograder.suite.student_proxy import RemoteModule

Record = Callable[[pytest.Item], SolvedCheck]  # runs a check on the solution, once
Wrong = tuple[tuple[str, str], ...]  # other exercises, and definitions with their mistakes
MAX_WRONG = 16  # programs with other wrong exercises that are kept, for classmates alike


class Tried(NamedTuple):
    """An explanation that was tried, for authors, with the number of checks that it explains.

    If the source of the student does not admit it, *lacking* is what the source lacks.
    """

    exercise: str
    name: str
    explanation: str
    explained: int
    failed: int
    lacking: str = ""


class LiveSource:
    """Provides the wrong programs of one stage; *bank* replaces the stage's misconceptions.

    *record* runs a check on *solution*, once; without it, the source does so itself.
    """

    def __init__(
        self,
        stage: Stage,
        run: Run,
        solution: LocalChannel,
        bank: Sequence[Misconception] | None = None,
        record: Record | None = None,
    ) -> None:
        known = misconceptions.known_in(stage) if bank is None else bank
        self.misconceptions = tuple(known)
        self.tried: set[Tried] = set()  # programs that ran every failed check, or were refused
        self.lists_refusals = False  # for authors
        self.run = run
        self._solution = solution
        words = misconceptions.read_operators(stage)
        require_known(words)
        self._mistakes = mistakes_of(stage, words, self.misconceptions)
        self._programs: dict[tuple[str, Wrong], Programs] = {}
        self._named_in: tuple[Sequence[bytes], dict[str, str]] = (), {}  # of the last submission
        self._contracts: dict[str, Contract] = {}
        self._record = record or self._run_solution
        self._solved_checks: dict[str, SolvedCheck] = {}

    def programs(self, exercise: str, wrong: Wrong = ()) -> Programs:
        """Return the wrong programs of *exercise*, in which the exercises *wrong* are, too."""
        if (exercise, wrong) not in self._programs:
            base = self._solution
            if wrong:
                calling = self._mistakes.in_calling(exercise).code.text([])
                text = "\n\n\n".join([base.text, *(one for _, one in wrong), calling])
                base = base.replacing(compile(text, base.file, "exec"), lambda: text)
            made = Programs(self._mistakes, exercise, base, calling=bool(wrong))
            self._programs[exercise, wrong] = made
            for old in [one for one in self._programs if one[1]][:-MAX_WRONG]:
                del self._programs[old]
        return self._programs[exercise, wrong]

    def explain(self, submission: Submitted, *, complete: bool = False) -> Explanation:
        """Find the mistake that best explains the failures of *submission*.

        An exercise may call others whose mistakes are known by now: its own mistake adds to them.
        """
        cells, exercise = submission.code.cells, submission.exercise
        if self._named_in[0] != cells:
            self._named_in = cells, {}
        known = self._named_in[1]
        wrong = tuple((one, text) for one, text in known.items() if one != exercise)
        for neighbours in dict.fromkeys((wrong, ())):
            evidence = LiveEvidence(self, submission, neighbours)
            ranking = Ranking(evidence, Consent.of(submission, self.contract))
            if neighbours and ranking.is_complete(ranking.candidate(())):
                evidence.alone = self.programs(exercise)  # the neighbours hide what else is wrong
            found = (
                ranking.by_one().in_brief()
                if neighbours
                else ranking.explanation(complete=complete)
            )
            if neighbours and found.is_open:
                found = Explanation({})
            self.tried.update(evidence.tried(one) for one in ranking.checked.values() if one.key)
            if found.diagnoses:
                break
        own = {number for (number,) in evidence.programs.halves}
        named = (one.key for programs in found.programs[:1] for one in programs)
        candidates = map(ranking.candidate, filter(own.issuperset, named))
        keys = (one.key for one in candidates if ranking.is_complete(one))
        if key := next(keys, ()):
            known[exercise] = evidence.programs.definition(key)
        if self.lists_refusals:
            self.tried.update(self._refused(evidence, ranking))
        return found

    def _refused(self, evidence: "LiveEvidence", ranking: Ranking) -> Iterator[Tried]:
        """Yield the mistakes with the code's results that the source does not admit."""
        refused: dict[Key, str] = {
            (number,): why for number, why in ranking.refusals.items() if why
        }
        keys = [key for key in (*evidence.written_keys(), *evidence.kind_keys()) if key in refused]
        for check in evidence.failed[:1]:
            for key in evidence.like(keys, check):
                one = evidence.tried(Candidate(key, frozenset()))
                yield one._replace(lacking=refused[key])

    def contract(self, exercise: str) -> Contract:
        """Return what the stub prescribes for *exercise*."""
        if exercise not in self._contracts:
            self._contracts[exercise] = self._mistakes.contract(exercise)
        return self._contracts[exercise]

    def replay(self, item: Misconception, check: pytest.Item) -> Observation:
        """Run *check* on a misconception of the stage, or return the cached result."""
        programs = self.programs(item.exercise)
        return programs.run(programs.key_of(item), check, self.run)

    def solved_check(self, check: pytest.Item) -> SolvedCheck:
        """Return the requests of *check* to the solution, recorded once."""
        if check.nodeid not in self._solved_checks:
            self._solved_checks[check.nodeid] = self._record(check)
        return self._solved_checks[check.nodeid]

    def _run_solution(self, check: pytest.Item) -> SolvedCheck:
        channel = RecordingChannel(self._solution)
        solved = self.run(check, channel)
        return SolvedCheck(check.nodeid, channel.exchanges, solved)

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe the exception or the last answer, compared with the solution."""
        seen, solved = failure.observation, self.solved_check(failure.item)
        pattern = None
        if isinstance(seen.error, Fault):
            pattern = _describe_missing(seen, solved) or explain_exception(seen.error)
        elif isinstance(seen.error, WrongAnswer):
            pattern = _describe_answer(seen, solved.observation, solved.exchanges)
        return pattern.diagnosis(shows_values=failure.shows_values) if pattern else None


class LiveEvidence(Evidence):
    """The results of the wrong programs in the checks of one submission.

    In all of them, the exercises *wrong* are wrong, too. They fail checks that the code passes with
    right neighbours, so these do not count as passed. A mistake must also fail the checks in the
    programs *alone*, if there are any.
    """

    alone: Programs | None = None

    def __init__(self, source: LiveSource, submission: Submitted, wrong: Wrong = ()) -> None:
        self.exercise, failures, passed, *_ = submission
        self.programs = source.programs(self.exercise, wrong)
        self.source = source
        self._failures = {failure.item.name: failure for failure in failures}
        self._items = {item.name: item for item in (*passed, *(one.item for one in failures))}
        self._sought = {name: sought(one.observation) for name, one in self._failures.items()}
        super().__init__(submission)
        if wrong:
            self.passed = [one for one in self.passed if self.end((), one) is CheckEnd.PASSES]

    def is_right(self, failure: Failure) -> bool:
        """Whether all answers equal the solution's."""
        solved = self.solved_check(failure.item.name)
        return same_answers(failure.observation, solved.observation)

    def requests(self, failure: Failure) -> int:
        """Return the number of the check's requests to the solution."""
        return len(self.solved_check(failure.item.name).exchanges)

    def mistake(self, number: int) -> Mistake:
        """Return the mistake *number*."""
        return self.programs.mistake(number)

    def written_keys(self) -> Sequence[Key]:
        """Return the programs with a misconception."""
        return self.programs.written_keys

    def kind_keys(self) -> Sequence[Key]:
        """Return the programs with one kind of mistake."""
        return self.programs.keys

    def like(self, keys: Sequence[Key], check: FailedCheck) -> Mapping[Key, Match]:
        """Return those of *keys* that may answer like the code, up to its last answer."""
        shown = {key: self.shows(key, check) for key in keys}
        return {key: MATCHES[found] for key, found in shown.items() if found}

    def match(self, key: Key, check: FailedCheck) -> Match:
        """Run *check* on the program, and compare the result with that of the code."""
        item = self._items[check.name]
        if self.alone and self.alone.run(key, item, self.source.run).passes:
            return Match.NO
        replayed = self._run(key, check.name)
        seen = self._failures[check.name].observation
        if not replayed.decided:
            return Match.UNDECIDED
        if replayed.error is None:
            return Match.NO
        match = compare(replayed, seen, self.solved_check(check.name).observation)
        refused = refuses(replayed.error) and refuses(seen.error)
        return Match.TEXT_ONLY if refused and match is not Match.YES else match

    def end(self, key: Key, check: str) -> CheckEnd:
        """Return how the program ends *check*."""
        shown = self._run(key, check)
        if shown.fails:
            return CheckEnd.FAILS
        return CheckEnd.PASSES if shown.passes else CheckEnd.UNDECIDED

    def pairs(self, ranking: Ranking) -> list[Candidate]:
        """Return the programs with two mistakes that explain the wrong answers."""
        return PairSearch(self.programs, self, ranking).find()

    def shows(self, key: Key, check: FailedCheck) -> Agreement:
        """Compare the program's answers with those of the code, up to the code's last answer."""
        return self.programs.shows(key, self.solved_check(check.name), self._sought[check.name])

    def like_the_solution(self, key: Key, check: FailedCheck) -> bool:
        """Whether the program gives the solution's answers, up to the code's last answer."""
        count = len(self.seen(check).answers)
        return self.programs.solves(key, self.solved_check(check.name), count)

    def seen(self, check: FailedCheck) -> Observation:
        """Return the observation of the student's code in *check*."""
        return self._failures[check.name].observation

    def solved_check(self, check: str) -> SolvedCheck:
        """Return the requests of *check*."""
        return self.source.solved_check(self._items[check])

    def tried(self, found: Candidate) -> Tried:
        """Return a description of how far a program explains the failed checks."""
        mistakes = [self.mistake(number) for number in found.key]
        names = TOGETHER.join(mistake.id for mistake in mistakes)
        sentences = " ".join(mistake.explanation for mistake in mistakes)
        explained = len(found.explained | found.stopped)
        return Tried(self.exercise, names, sentences, explained, len(self.failed))

    def _run(self, key: Key, check: str) -> Observation:
        return self.programs.run(key, self._items[check], self.source.run)


def _describe_missing(seen: Observation, solved: SolvedCheck) -> patterns.Pattern:
    """Describe the parameters that the code lacks for the request which it did not answer."""
    if len(seen.answers) >= len(solved.exchanges):
        return None
    request = solved.exchanges[len(seen.answers)].request
    creations = zip(solved.observation.answers, solved.exchanges, strict=False)
    created = {
        answer.handle: creation.request.name
        for (_, answer), creation in creations
        if isinstance(answer, RemoteModule)
    }
    return explain_missing(seen.error, request, created.get(request.handle, request.name))


def _describe_answer(
    seen: Observation, solved: Observation, exchanges: Sequence[Exchange]
) -> patterns.Pattern:
    """Compare the last answer with the solution's answer to the same request."""
    last = len(seen.answers) - 1
    if last >= 0 and (error := patterns.find_error(seen.answers[last][1])):
        return error
    if 0 <= last < len(solved.answers) and solved.answers[last] == REFUSED != seen.answers[last]:
        return patterns.NOT_REFUSED
    if not 0 <= last < len(solved.answers) or seen.answers[last][0] != solved.answers[last][0]:
        return None
    (verb, answer), (_, expected) = seen.answers[last], solved.answers[last]
    steps = exchanges[last].tensors
    changes = seen.changed_inputs and not solved.changed_inputs
    changed = patterns.INPUT_CHANGED if changes else None
    if _drops_at_random(steps):
        return changed
    return (
        patterns.find_tuple(answer, expected)
        or patterns.find_pattern(answer, expected, verb)
        or changed
        or patterns.matches_intermediate_step(answer, expected, steps)
    )


def _drops_at_random(steps: Sequence[tuple[str, Tensor]]) -> bool:
    """Whether dropout changed a tensor, so that correct programs give different numbers."""
    return any(
        name == "dropout" and not torch.equal(after, before)
        for (_, before), (name, after) in itertools.pairwise(steps)
    )
