"""Stores the results of wrong programs in the public suite as numbers, without their code.

``release`` records them from the misconceptions and the kinds of mistake, and a student's machine
only reads them. Answers are rounded and strings are hashed. Mistakes are named by ids and keys, not
by sentences.
"""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from autograder.diagnosis.answers import is_specific, refuses
from autograder.diagnosis.contract import Contract
from autograder.diagnosis.mistake_texts import MistakeTexts
from autograder.diagnosis.mistakes.kinds import Wording, group_of, wording_at
from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import (
    MATCHES,
    UNCOMPARED_VERBS,
    Match,
    Observation,
    message_without_numbers,
    of_any_torch,
    status_of,
)
from autograder.diagnosis.rounded_values import digest, to_json_value
from autograder.errors import CourseError
from autograder.sandbox.faults import NoGradients, Raised
from autograder.suite import records
from autograder.suite.noise import Agreement, agreement, is_same, least_agreement
from autograder.suite.packed_numbers import differences, unpack

PARTS = "parts"  # the key of an answer with named parts
ENTRIES = "of"  # the key of an answer that is a list of tensors
NO_GRADIENTS = "NoGradients"  # replaces the type of an exception
PASSES = -1  # replaces the kind of a program that passes every public check


class KindKey(NamedTuple):
    """The key of a kind of mistake, and the *words* that fill the placeholders of its sentences.

    If several programs have the same answers and the same group, only the first is named. *group*
    is the number of such a group, or 0 if programs with equal sentences are one. *steps* are the
    operations in the changed part of the code.
    """

    key: str
    words: dict[str, str]
    group: int
    steps: tuple[str, ...]


class End(NamedTuple):
    """The end of a check; for an exception, its type *kind* and *said*, a digest of its text.

    *message* is the digest of the whole message, which is compared if there is no answer. *refuses*
    is true if the code raised the exception as a refusal, and *specific* if its text is evidence.
    """

    status: str
    kind: str = ""
    said: str = ""
    message: str = ""
    refuses: bool = False
    specific: bool = False


class Print(NamedTuple):
    """A result in one check, as numbers: its *end*, its *answers*, and the programs *of* it."""

    end: int
    answers: tuple[int, ...]
    of: tuple[int, ...]


class Shown(NamedTuple):
    """The result of a program in a check: its end and its comparable answers as JSON."""

    end: End
    answers: list[Any]


class Fingerprints(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The evidence in the file of records.

    The misconceptions, by their ids, have the first numbers. All programs with one kind of mistake
    follow, in the order of the exercises and of their code, each with the number of its kind or
    ``PASSES``. *homes* contains, for each of both, the number of its exercise in *contracts*, and
    *steps* the operations in the statements that a misconception changes. In *answers*, an answer
    with named parts consists of the numbers of its names and its parts, and a list of tensors
    consists of the numbers of its entries, because answers share these. Their numbers are in
    *column* (see ``packed_numbers``). *solved* contains the solution's answers in the checks that
    examine the code. *undecided* contains, for each check, the programs whose result rounding could
    decide; they have no print there.
    """

    mistakes: tuple[str, ...]
    programs: tuple[int, ...]
    kinds: tuple[KindKey, ...]
    homes: tuple[int, ...]
    contracts: dict[str, Contract]
    steps: dict[str, tuple[str, ...]]
    ends: tuple[End, ...]
    answers: tuple[Any, ...]
    column: bytes
    solved: dict[str, tuple[int, ...]]
    prints: dict[str, tuple[Print, ...]]
    undecided: dict[str, tuple[int, ...]] = {}

    def shown(self, found: Print) -> Shown:
        """Return the contents of *found*."""
        return Shown(self.ends[found.end], [self._whole[index] for index in found.answers])

    @cached_property
    def _whole(self) -> list[Any]:
        """The answers with their parts filled in; parts come before the answers that use them."""
        whole: list[Any] = []
        for answer in unpack(self.answers, self.column):
            if isinstance(answer, dict) and PARTS in answer:
                names, *parts = (whole[index] for index in answer[PARTS])
                whole.append(dict(zip(names, parts, strict=False)))
            elif isinstance(answer, dict) and ENTRIES in answer:
                whole.append(_filled(answer[ENTRIES], whole))
            else:
                whole.append(answer)
        return whole

    def matching(self, check: str, seen: Shown) -> dict[int, Match]:
        """Return the programs that give the *seen* results in *check*, by their numbers."""
        found: dict[int, Match] = {}
        for one in self.prints.get(check, ()):
            found |= dict.fromkeys(one.of, self._compare(one, seen))
        found |= dict.fromkeys(self.undecided.get(check, ()), Match.UNDECIDED)
        return {number: match for number, match in found.items() if match is not Match.NO}

    def _compare(self, one: Print, seen: Shown) -> Match:
        """Compare as ``live`` does: two refusals may have different texts."""
        end = self.ends[one.end]
        if end[:3] != seen.end[:3]:
            refused = end.refuses and seen.end.refuses
            same = refused and self._compare_answers(one, seen) is Agreement.SAME
            return Match.TEXT_ONLY if same else Match.NO
        if seen.answers or one.answers:
            return MATCHES[self._compare_answers(one, seen)]
        if end.message == seen.end.message and end.kind != NO_GRADIENTS:
            return Match.YES
        return Match.TEXT_ONLY if end.kind else Match.NO

    def _compare_answers(self, one: Print, seen: Shown) -> Agreement:
        if len(one.answers) != len(seen.answers):
            return Agreement.DIFFERENT
        return least_agreement(
            zip(map(self._whole.__getitem__, one.answers), seen.answers, strict=True)
        )

    def passes(self, check: str, number: int) -> bool:
        """Whether the program *number* certainly passes *check*."""
        return number not in self.failing(check) and number not in self.undecided.get(check, ())

    def failing(self, check: str) -> frozenset[int]:
        """Return the numbers of the programs that fail *check*."""
        return self._failing.get(check, frozenset())

    @cached_property
    def _failing(self) -> dict[str, frozenset[int]]:
        return {
            check: frozenset(number for one in prints for number in one.of)
            for check, prints in self.prints.items()
        }

    def is_right(self, check: str, seen: Shown) -> bool:
        """Whether the answers equal the solution's, so that *check* failed for other reasons."""
        solved = self.solution(check)
        return len(seen.answers) <= len(solved) and is_same(
            seen.answers, solved[: len(seen.answers)]
        )

    def solution(self, check: str) -> list[Any]:
        """Return the answers of the solution in a check that examines the code."""
        return [self._whole[index] for index in self.solved.get(check, ())]

    def mistake(self, number: int, texts: MistakeTexts) -> Mistake:
        """Return what a student reads about the program *number*, with the *texts* of its stage.

        Raises ``CourseError`` if they, or this version of the kit, have no text about it.
        """
        count, home = len(self.mistakes), [*self.contracts][self.homes[number]]
        if number < count:
            name = self.mistakes[number]
            if name not in texts.misconceptions:
                msg = f"mistakes.toml has no text about {name}."
                raise CourseError(msg)
            made = Mistake.written_as(name, texts.misconceptions[name], home)
            return made._replace(steps=self.steps[name])
        key, filled, group, steps = self.kinds[self.programs[number - count]]
        own = texts.kinds.get(key.partition(".")[0])
        said = Wording(own.explanation, own.question) if own else None
        wording = said or wording_at(key, filled)
        shared = group_of(key, str(group or ""), said, wording)
        return Mistake.of_kind(key, filled, wording, shared, home)._replace(steps=steps)

    def label(self, number: int) -> str:
        """Return the id of a misconception, or the label of a program with a kind of mistake."""
        count = len(self.mistakes)
        return self.mistakes[number] if number < count else kind_label(number - count)

    @property
    def named(self) -> list[int]:
        """The numbers of one program with each mistake and each kind key."""
        count = len(self.mistakes)
        firsts = {number: place for place, number in enumerate(self.programs) if number != PASSES}
        return [*range(count), *(count + place for place in firsts.values())]

    def keys(self) -> dict[str, KindKey]:
        """Return the kind of mistake of each program that has one, by its label."""
        return {
            kind_label(place): self.kinds[number]
            for place, number in enumerate(self.programs)
            if number != PASSES
        }

    def by_check(self) -> dict[tuple[str, str], Shown]:
        """Return the result of each program, by check and label."""
        return {
            (check, self.label(number)): self.shown(one)
            for check, prints in self.prints.items()
            for one in prints
            for number in one.of
        }

    def undecided_by_check(self) -> set[tuple[str, str]]:
        """Return each check and program label whose result rounding could decide."""
        every = self.undecided.items()
        return {(check, self.label(number)) for check, numbers in every for number in numbers}


def _filled(entries: list[Any], whole: list[Any]) -> list[Any]:
    """Return the values of the numbers in *entries*, nested in the same way."""
    return [_filled(one, whole) if isinstance(one, list) else whole[one] for one in entries]


def kind_label(number: int) -> str:
    """Return the label of a program with one kind of mistake."""
    return f"program {number}"


def shown_by(observation: Observation) -> Shown:
    """Return how *observation* ended, and its comparable answers as JSON values."""
    error = observation.error
    kept = [
        dict.fromkeys(answer) if verb == "buffers" and isinstance(answer, dict) else answer
        for verb, answer in observation.answers  # buffers may have any values
        if verb not in UNCOMPARED_VERBS
    ]
    return Shown(_end_of(error, answered=bool(kept)), list(map(to_json_value, kept)))


def _end_of(error: BaseException | None, *, answered: bool) -> End:
    message = "" if answered else digest(message_without_numbers(error))
    if not isinstance(error, Raised):
        return End(status_of(error), message=message)
    if isinstance(error, NoGradients):
        return End(status_of(error), NO_GRADIENTS, digest(error.text), message)
    return End(
        status_of(error),
        error.kind,
        digest(of_any_torch(error.text)) if error.text else "",
        message,
        refuses(error),
        is_specific(error),
    )


def changes(old: Fingerprints, new: Fingerprints, compared: AbstractSet[str]) -> Iterator[str]:
    """Describe the differences between *old* and *new* for the labels *compared*.

    Texts of exceptions are not compared, because they differ between versions of torch. Numbers
    differ between processors, so only certain differences count.
    """
    if len(old.programs) != len(new.programs):
        yield f"it has {len(old.programs)} programs, not {len(new.programs)}"
        return
    said, to_say = old.keys(), new.keys()
    for label in sorted(compared & said.keys() & to_say.keys()):
        if said[label][:2] != to_say[label][:2]:
            yield f"{label} is a different mistake"
    before, now = old.by_check(), new.by_check()
    undecided = old.undecided_by_check() | new.undecided_by_check()
    for key in sorted((before.keys() | now.keys()) - undecided):
        check, label = key
        left, right = before.get(key), now.get(key)
        if label not in compared:
            continue
        if left is None or right is None:
            yield f"{check} {'passes' if right is None else 'fails'} {label}"
        elif not agree(left, right):
            yield f"{check} has a different result for {label}"


def agree(left: Shown, right: Shown) -> bool:
    """Whether two results differ at most by rounding and by texts of exceptions."""
    same_end = _without_text(left.end) == _without_text(right.end)
    return same_end and agreement(left.answers, right.answers) is not Agreement.DIFFERENT


def _without_text(end: End) -> End:
    return end._replace(said="", message="")


def read(path: Path) -> Fingerprints:
    """Read the evidence in the file at *path*; raise ``UsageError`` if that is not possible."""
    return _with_numbers(records.read(path, "evidence", Fingerprints), accumulate)


def find(path: Path) -> Fingerprints | None:
    """Read the evidence in the file at *path*; None if it is missing or can't be read."""
    known = records.find(path, "evidence", Fingerprints)
    return None if known is None else _with_numbers(known, accumulate)


def stored(known: Fingerprints) -> Fingerprints:
    """Return *known* for a file: small differences replace the numbers in its prints."""
    return _with_numbers(known, differences)


def _with_numbers(
    known: Fingerprints, change: Callable[[Iterable[int]], Iterable[int]]
) -> Fingerprints:
    """Change the numbers of the answers in each check, and of the programs in each print."""
    prints = {}
    for check, found in known.prints.items():
        answers = iter(change(number for one in found for number in one.answers))
        prints[check] = tuple(
            Print(one.end, tuple(islice(answers, len(one.answers))), tuple(change(one.of)))
            for one in found
        )
    return replace(known, prints=prints)
