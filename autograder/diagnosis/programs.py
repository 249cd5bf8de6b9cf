"""Makes the wrong programs of one exercise, and runs checks on them.

A program is compiled when it is first asked, and asked only as long as its answers are needed:
request by request, as the solution was asked. Every answer is kept for the whole class.
"""

import ast
import linecache
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from operator import getitem
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from autograder.diagnosis.answers import Sample, Sought, differ, same_end, sample, sought
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistake_texts import text_of
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.kinds import UNLIKELY
from autograder.diagnosis.mistakes.rewriting import Rewrite
from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import UNCOMPARED_VERBS, Observation, step_agreement
from autograder.diagnosis.ranking import Key
from autograder.diagnosis.source_words import words_of
from autograder.diagnosis.stage_mistakes import StageMistakes
from autograder.errors import CourseError, require_memory
from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import DictValue, ListValue, Request, Value
from autograder.sandbox.tensors import decode
from autograder.sandbox.transcript import Exchange
from autograder.suite.in_process import LocalChannel
from autograder.suite.noise import Agreement
from autograder.suite.student_proxy import (
    Channel,
    PartPath,
    RemoteModule,
    Student,
    encode_argument,
    fault_of,
)

PARTLY_COMPARED = {*UNCOMPARED_VERBS, "parameters", "buffers"}  # numbers may differ there
REFUSED = ("refused", True)  # what an observation holds for an expected refusal
NOT_ASKED = Fault(Status.WRONG_TYPE, "An answer that the next request needs is missing.")
Run = Callable[[pytest.Item, Channel], Observation]


class SolvedCheck(NamedTuple):
    """The requests of a check to the solution, and the answers."""

    check: str
    exchanges: Sequence[Exchange]
    observation: Observation


class Answer(NamedTuple):
    """The answer to one request, or the fault in its place."""

    value: Any
    fault: Fault | None
    sample: Sample | None = None


class Programs:
    """The programs of one exercise: solutions with one rewrite, or several, and the *written* ones.

    A mistake may also be in an exercise that it uses, as in code that does not call that exercise
    but contains its steps. The rewrites have the first numbers, those of the exercise itself before
    the others, and the misconceptions that authors wrote have the next. If they are *calling*, the
    exercise has the code that calls most others, as it also is in *solution*.
    """

    def __init__(
        self,
        mistakes: StageMistakes,
        exercise: str,
        solution: LocalChannel,
        *,
        calling: bool = False,
    ) -> None:
        within = mistakes.within(exercise, calling=calling)
        self._text = mistakes.text
        self._own_text = within[0].text if calling else mistakes.text
        self._known = mistakes
        self._exercise = within[0].code
        self._solution = solution
        self._written = tuple(item for one in within for item in one.written)
        self.rewrites = tuple(rewrite for one in within for rewrite in one.rewrites)
        self._codes = [one.code for one in within for _ in one.rewrites]
        self._homes = [one.name for one in within for _ in one.rewrites]
        self.exercise = exercise
        self._callers: dict[str, Any] = {}  # compiled, by the exercise that they call
        self.keys = tuple((number,) for number in range(len(self.rewrites)))
        self.own_keys = self.keys[: len(within[0].rewrites)]
        numbers = range(len(self.keys), len(self.keys) + len(self._written))
        self.written_keys = tuple((number,) for number in numbers)
        self.halves = (*self.own_keys, *self.written_keys[: len(within[0].written)])
        self._mistakes: dict[int, Mistake] = {}
        self._channels: dict[Key, LocalChannel | None] = {(): solution}
        self._answers: dict[tuple[Key, str], list[Answer]] = {}
        self._asked: tuple[Key, str, int] | None = None  # the program that can be asked further
        self._runs: dict[tuple[Key, str], Observation] = {}
        self._edited: dict[int, Rewrite] = {}  # misconceptions
        self._words: dict[Key, Counter[str]] = {}
        self._solves: dict[tuple[Key, str, int], bool] = {}

    def mistake(self, number: int) -> Mistake:
        """Return the texts about the mistake with a number that a student may read."""
        if number in self._mistakes:
            return self._mistakes[number]
        if item := self.written_by((number,)):
            home = item.exercise
            made = Mistake.written_as(item.id, text_of(item), home)
        else:
            found, home = self.rewrites[number], self._homes[number]
            made = Mistake.of_kind(found.key, found.words, found.wording, found.group, home)
        if home != self.exercise:  # only there are the steps a condition
            made = made._replace(steps=item.steps(self._text_of(item)) if item else found.steps)
        self._mistakes[number] = made
        return made

    def written_by(self, key: Key) -> Misconception | None:
        """Return the misconception of a program; ``None`` if it has kinds of mistake."""
        number = key[0] - len(self.rewrites)
        return self._written[number] if number >= 0 else None

    def key_of(self, item: Misconception) -> Key:
        """Return the program of a misconception."""
        return self.written_keys[self._written.index(item)]

    @cached_property
    def texts(self) -> frozenset[str]:
        """The source of every program with one rewrite of the exercise itself."""
        return frozenset(map(self.text, self.own_keys))

    def text(self, key: Key) -> str:
        """Return the source of a program's exercise; of no rewrite, that of the solution."""
        return self._exercise.text([self.rewrites[number] for number in key])

    def shows(self, key: Key, solved: SolvedCheck, seen: Sought) -> Agreement:
        """Compare its answers to the requests of a check with those *seen*, as far as they go.

        It is asked no further after the first answer that a few numbers show to be different.
        """
        self._asked = None
        try:
            return self._shows(key, solved, seen)
        finally:
            if self._asked and (channel := self._channels[key]):
                channel.forget()

    def _shows(self, key: Key, solved: SolvedCheck, seen: Sought) -> Agreement:
        compared = [
            place for place, (verb, _) in enumerate(seen.answers) if verb not in UNCOMPARED_VERBS
        ]
        for index in compared:
            if _differs(self.answer(key, solved, index), seen, index):
                return Agreement.DIFFERENT
        count = len(seen.answers)
        if isinstance(seen.error, Fault) and count < len(solved.exchanges):
            last = self.answer(key, solved, count)
            if last is None or not same_end(last.fault, seen.error):
                return Agreement.DIFFERENT
        found = (
            _agreement(self.answer(key, solved, index), solved, seen, index) for index in compared
        )
        return min(found, default=Agreement.SAME)

    def words(self, key: Key) -> Counter[str]:
        """Count the words in the source of a program's exercise; of no rewrite, the solution's."""
        if key not in self._words:
            with self._exercise.applied([*map(self._rewrite, key)]):
                self._words[key] = words_of(ast.walk(self._exercise.module))
        return self._words[key]

    def definition(self, key: Key) -> str:
        """Return the definitions of the exercise and its helpers in a program."""
        channel = self.channel(key)
        nodes = ast.parse(channel.text if channel else self._text).body
        names = self._exercise.names
        return "\n".join(ast.unparse(one) for one in nodes if getattr(one, "name", "") in names)

    def solves(self, key: Key, solved: SolvedCheck, count: int) -> bool:
        """Whether the program gives the solution's first *count* answers, compared once."""
        known = (key, solved.check, count)
        if known not in self._solves:
            answers = solved.observation.answers[:count]
            shown = self.shows(key, solved, sought(Observation(answers, None)))
            self._solves[known] = shown is Agreement.SAME
        return self._solves[known]

    def run(self, key: Key, check: pytest.Item, run: Run) -> Observation:
        """Run *check* on the program, once."""
        found = self._runs.get((key, check.nodeid))
        if found is None:
            channel = self.channel(key)
            found = run(check, channel) if channel else Observation((), None)
            if channel:
                channel.forget()
            self._runs[key, check.nodeid] = found
        return found

    def compatible(self, key: Key) -> bool:
        """Whether the mistakes of *key* change different places, at least one each."""
        places = [self._rewrite(number).places for number in key]
        return all(places) and len(frozenset().union(*places)) == sum(map(len, places))

    def rank(self, number: int) -> tuple[int, int]:
        """Rank a mistake: is its kind unlikely, and how many of its kind come before it."""
        return self._ranks[number] if number < len(self.rewrites) else (0, 0)

    @cached_property
    def _ranks(self) -> list[tuple[int, int]]:
        kinds = [one.kind for one in self.rewrites]
        return [(kind in UNLIKELY, kinds[:place].count(kind)) for place, kind in enumerate(kinds)]

    def forget(self, key: Key) -> None:
        """Drop a pair, whose answers are kept: pairs are many, and few run another check."""
        self._channels.pop(key, None)

    def _rewrite(self, number: int) -> Rewrite:
        """Return a mistake as a rewrite of the solution; a misconception may have no edits."""
        if number < len(self.rewrites):
            return self.rewrites[number]
        if number not in self._edited:
            item = self._written[number - len(self.rewrites)]
            module = item.module(self._text_of(item))
            wrong = ExerciseCode(module, item.exercise, self._known.names)
            self._edited[number] = Rewrite(item.id, {}, self._exercise.edits_for(wrong))
        return self._edited[number]

    def answer(self, key: Key, solved: SolvedCheck, index: int) -> Answer | None:
        """Return answer *index*, asking the requests up to it if it is not known."""
        known = self._answers.setdefault((key, solved.check), [])
        if index >= len(solved.exchanges):
            return None
        if index >= len(known):
            channel = self.channel(key)
            if channel is None:
                return None
            if self._asked != (key, solved.check, len(known)):
                known.clear()  # what was asked since may have changed the modules or the generator
            _ask(channel, solved, known, index + 1)
            self._asked = key, solved.check, len(known)
        return known[index]

    def channel(self, key: Key) -> LocalChannel | None:
        """Return the program, which can be asked; ``None`` if it can't be imported.

        There is none of two mistakes either of which alone did not end.
        """
        if key not in self._channels:
            alone = [self._channels.get((number,)) for number in key] if len(key) > 1 else []
            if any(one.overruns for one in alone if one):
                return None
            self._channels[key] = self._make(key)
        return self._channels[key]

    def _make(self, key: Key) -> LocalChannel | None:
        if len(key) == 1 and (item := self.written_by(key)):
            made = channel_of(item, self._text_of(item), self._solution)
            return self._calling(item.exercise, made)
        is_pair = len(key) > 1  # only the mistakes of the exercise itself are
        rewrites = [*map(self._rewrite, key)]
        changed = self._exercise if is_pair else self._codes[key[0]]
        home = self.exercise if is_pair else self._homes[key[0]]
        try:
            code = changed.compile(rewrites, self._solution.file)
            source = lambda: f"{self._text}\n\n{changed.text(rewrites)}\n"  # noqa: E731  # called only if an exception quotes it
            return self._calling(home, self._solution.replacing(code, source))
        except Exception as error:  # noqa: BLE001  # a rewrite that can't be imported is not a mistake
            require_memory(error)
            return None

    def _text_of(self, item: Misconception) -> str:
        """Return the module of which *item* changes a definition."""
        return self._own_text if item.exercise == self.exercise else self._text

    def _calling(self, changed: str, channel: LocalChannel) -> LocalChannel:
        """Return *channel*, whose exercise *changed* is wrong, with this exercise that calls it."""
        if changed == self.exercise:
            return channel
        if changed not in self._callers:
            module = self._known.callers(self.exercise, changed)
            self._callers[changed] = compile(module, self._solution.file, "exec")
        return channel.replacing(self._callers[changed], lambda: self._text)


def channel_of(item: Misconception, text: str, solution: LocalChannel) -> LocalChannel:
    """Return *solution*, whose source is *text*, with the mistake *item*.

    Raises ``CourseError`` if *item* can't be imported.
    """
    file = f"{solution.file.removesuffix('.py')}_{item.id}.py"
    wrong = item.module(text)
    linecache.cache[file] = (len(wrong), None, wrong.splitlines(keepends=True), file)
    try:
        return solution.replacing(item.compile(text, file), lambda: wrong)
    except Exception as error:
        require_memory(error)
        msg = f"The solution with the mistake {item.id} can't be imported: {error}"
        raise CourseError(msg) from error


def _differs(given: Answer | None, seen: Sought, index: int) -> bool:
    """Whether a few numbers, or a fault, show that an answer is not the one that was seen."""
    verb, answer = seen.answers[index]
    if given is None:
        return True
    if (verb, answer) == REFUSED or given.fault is not None:
        return (verb, answer) != REFUSED or given.fault is None
    return verb not in PARTLY_COMPARED and differ(given.sample, seen.samples[index])


def _agreement(given: Answer | None, solved: SolvedCheck, seen: Sought, index: int) -> Agreement:
    """Compare an answer with the one that was seen; two refusals agree."""
    verb, answer = seen.answers[index]
    if given is None or given.fault is not None:
        return Agreement.SAME
    answers = solved.observation.answers
    expected = answers[index] if index < len(answers) else None
    return step_agreement(verb, answer, given.value, expected)


def _ask(channel: LocalChannel, solved: SolvedCheck, known: list[Answer], count: int) -> None:
    """Add to the *known* answers up to *count*, as a check gets them; a refusal is one of them.

    Where a check gives back an earlier answer, such as a cache, the program gets its own.
    """
    student = Student(channel)
    while len(known) < count:
        start = len(known)
        back = solved.observation.given_back
        end = next((index for index in range(start + 1, count) if index in back), count)
        requests = [exchange.request for exchange in solved.exchanges[start:end]]
        try:
            requests[0] = _with_own(requests[0], back.get(start, {}), known)
        except (LookupError, TypeError):  # the check ends before it could ask
            known += [Answer(None, NOT_ASKED)] * (count - start)
            return
        for request, reply in zip(requests, channel.ask_every(requests), strict=True):
            if reply.problem is not None:
                fault = fault_of(reply.problem, request.name or "Your module")
                known.append(Answer(None, fault))
            else:
                module = lambda handle: RemoteModule(student, handle)  # noqa: E731  # one line
                value = decode(reply.value, module)
                known.append(Answer(value, None, sample(value)))


def _with_own(
    request: Request, back: Mapping[PartPath, PartPath], known: Sequence[Answer]
) -> Request:
    """Put parts of the *known* answers in place of those of the solution's."""
    args, kwargs = ListValue(request.args), DictValue(request.kwargs)
    for path, (index, *part) in back.items():
        own = encode_argument(reduce(getitem, part, known[int(index)].value))
        if isinstance(path[0], int):
            args = _put(args, path, own)
        else:
            kwargs = _put(kwargs, path, own)
    return replace(request, args=args.items, kwargs=kwargs.items)


def _put(value: Any, path: PartPath, own: Value) -> Any:
    """Return *value* with *own* in place of the part at *path*."""
    if not path:
        return own
    items: Any = dict(value.items) if isinstance(value, DictValue) else [*value.items]
    items[path[0]] = _put(items[path[0]], path[1:], own)
    return replace(value, items=items if isinstance(items, dict) else tuple(items))
