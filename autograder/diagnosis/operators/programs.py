"""The programs that rewrites make of one exercise, and what they answer in a check.

A program is compiled when it is first asked, and asked only as long as its answers are needed:
request by request, as the solution was asked. Every answer is kept for the whole class.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import pytest

from autograder.course import Stage
from autograder.diagnosis.observation import Observation, ended_alike, same_step
from autograder.diagnosis.operators import on_contracts, on_layers, on_operands, on_scores
from autograder.diagnosis.operators.rewrites import Exercise, Rewrite
from autograder.diagnosis.operators.vocabulary import wording
from autograder.sandbox.faults import Fault
from autograder.sandbox.tensors import decode
from autograder.suite.in_process import Exchange, LocalChannel
from autograder.suite.student_proxy import RemoteModule, Student, fault_of

RULES = (*on_scores.RULES, *on_operands.RULES, *on_layers.RULES, *on_contracts.RULES)
REFUSED = ("refused", True)  # what an observation holds for an expected refusal
Run = Callable[[pytest.Item, LocalChannel], Observation]
# Runs a check on the solution; returns also its requests, and the tensors behind them.
Solve = Callable[[pytest.Item], tuple[Observation, list[Exchange]]]
Words = Mapping[str, tuple[str, str] | None]
Key = tuple[int, ...]  # the numbers of the rewrites of a program


class Script(NamedTuple):
    """What a check asks, as it asked the solution, and what the solution answered."""

    check: str
    exchanges: Sequence[Exchange]
    solved: Observation


class Answer(NamedTuple):
    """The answer to one request, or the fault in its place."""

    value: Any
    fault: Fault | None


class Programs:
    """The programs of one exercise: solutions with one rewrite, or several."""

    def __init__(self, stage: Stage, exercise: str, solution: LocalChannel, words: Words) -> None:
        names = [one.name for one in stage.exercises]
        self._text = stage.solution.read_text("utf-8")
        self._exercise = Exercise(self._text, exercise, names)
        self._solution = solution
        self.rewrites = tuple(rewrites_of(self._exercise, words))
        self._channels: dict[Key, LocalChannel | None] = {}
        self._answers: dict[tuple[Key, str], list[Answer]] = {}
        self._asked: tuple[Key, str, int] | None = None  # the program that can be asked further
        self._runs: dict[tuple[Key, str], Observation] = {}

    def __len__(self) -> int:
        return len(self.rewrites)

    @cached_property
    def texts(self) -> frozenset[str]:
        """The source of every program with one rewrite."""
        return frozenset(self.text((number,)) for number in range(len(self)))

    def text(self, key: Key) -> str:
        """Return the source of a program; of no rewrite, that of the solution."""
        return self._exercise.text([self.rewrites[number] for number in key])

    def shows(self, key: Key, script: Script, seen: Observation) -> bool:
        """Whether the program answers the requests of a check as in *seen*, as far as they go."""
        self._asked = None
        for index, (verb, answer) in enumerate(seen.answers):
            given = self.answer(key, script, index)
            if given is None:
                return False
            if (verb, answer) == REFUSED or given.fault is not None:
                if (verb, answer) != REFUSED or given.fault is None:
                    return False
                continue
            solved = script.solved.answers
            expected = solved[index] if index < len(solved) else None
            if not same_step(verb, answer, given.value, expected):
                return False
        if isinstance(seen.error, Fault) and len(seen.answers) < len(script.exchanges):
            last = self.answer(key, script, len(seen.answers))
            return last is not None and ended_alike(last.fault, seen.error)
        return True

    def run(self, key: Key, check: pytest.Item, run: Run) -> Observation:
        """Run *check* on the program, once."""
        found = self._runs.get((key, check.nodeid))
        if found is None:
            channel = self.channel(key)
            found = run(check, channel) if channel else Observation((), None)
            self._runs[key, check.nodeid] = found
        return found

    def compatible(self, key: Key) -> bool:
        """Whether the rewrites of *key* change different places."""
        places = [self.rewrites[number].places for number in key]
        return len(frozenset().union(*places)) == sum(map(len, places))

    def answer(self, key: Key, script: Script, index: int) -> Answer | None:
        """Return answer *index*, asking the requests up to it if it is not known."""
        known = self._answers.setdefault((key, script.check), [])
        if index >= len(script.exchanges):
            return None
        if index >= len(known):
            channel = self.channel(key)
            if channel is None:
                return None
            if self._asked != (key, script.check, len(known)):
                known.clear()  # what was asked since may have changed the modules or the generator
            known += _ask(channel, script.exchanges[len(known) : index + 1])
            self._asked = key, script.check, len(known)
        return known[index]

    def channel(self, key: Key) -> LocalChannel | None:
        """Return the program, which can be asked; ``None`` if it can't be imported."""
        if key not in self._channels:
            rewrites = [self.rewrites[number] for number in key]
            try:
                code = self._exercise.compile(rewrites, "mistake.py")
                source = lambda: f"{self._text}\n\n{self._exercise.text(rewrites)}\n"  # noqa: E731  # read later
                self._channels[key] = self._solution.replacing(code, source)
            except Exception:  # noqa: BLE001  # a rewrite that can't be imported is no mistake
                self._channels[key] = None
        return self._channels[key]


def rewrites_of(exercise: Exercise, words: Words) -> list[Rewrite]:
    """List the mistakes that fit the code of *exercise*, as the stage words them."""
    found = []
    for scope in exercise.scopes:
        for rewrite in sorted((one for rule in RULES for one in rule(scope)), key=_line):
            said = wording(rewrite.kind, words)
            if said is None:
                continue
            reworded = rewrite._replace(
                explanation=said.explanation, question=said.question, group=rewrite.kind
            )
            rewrite = reworded if rewrite.kind in words else rewrite  # noqa: PLW2901  # the same
            found += [rewrite, *on_scores.with_large_fills(scope, rewrite)]
    return found


def _line(rewrite: Rewrite) -> int:
    """Return the first line that *rewrite* changes: what comes first is to be mended first."""
    return min(getattr(edit.site.node, "lineno", 0) for edit in rewrite.edits)


def _ask(channel: LocalChannel, exchanges: Sequence[Exchange]) -> list[Answer]:
    """Ask all requests, as a check does; a refusal ends the answers only if the check ends too."""
    student = Student(channel)
    answers = []
    for exchange in exchanges:
        reply = channel.answer(exchange.request)
        if reply.problem is not None:
            fault = fault_of(reply.problem, exchange.request.name or "Your module")
            answers.append(Answer(None, fault))
        else:
            module = lambda handle: RemoteModule(student, handle)  # noqa: E731  # one line
            answers.append(Answer(decode(reply.value, module), None))
    return answers
