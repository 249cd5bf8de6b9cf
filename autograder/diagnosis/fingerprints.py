"""Stores the results of wrong programs in the public suite as numbers, without their code.

``release`` builds the file from the misconceptions and the kinds of mistake, and a student's
machine only reads it. Answers are rounded and strings are hashed. The file includes only texts that
a student may read.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from autograder.diagnosis.answers import (
    is_specific,
    may_share_step,
    quoted_roles,
    refuses,
)
from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import (
    MATCHES,
    UNCOMPARED_VERBS,
    Match,
    Observation,
    message_without_numbers,
    status_of,
)
from autograder.diagnosis.rounded_values import compact, digest, to_json_value
from autograder.results import title_of
from autograder.sandbox.faults import NoGradients, Raised
from autograder.suite.noise import Agreement, agreement, is_same, least_agreement

MAX_BYTES = 500_000  # limit for one stage; students download all stages, 4.7 MB in this course
IN_LINES = {"mistakes": 1, "wordings": 1, "questions": 1, "ends": 20, "answers": 20}  # per line
PARTS = "parts"  # the key of an answer with named parts
ENTRIES = "of"  # the key of an answer that is a list of tensors
NO_GRADIENTS = "NoGradients"  # replaces the type of an exception
PASSES = -1  # replaces the wording of a program that passes every public check


class WrittenMistake(msgspec.Struct, frozen=True):
    """The texts about a misconception that a student may read."""

    id: str
    exercise: str
    explanation: str
    question: str
    title: str = ""


class KindWording(NamedTuple):
    """The texts about a program with one kind of mistake that a student may read.

    If several programs have the same answers and the same *group*, only the first is named.
    *question* is the number of a text, because many mistakes share one.
    """

    kind: str
    explanation: str
    question: int
    group: int


class End(NamedTuple):
    """The end of a check; for an exception, its type *kind* and *said*, a digest of its text.

    *message* is the digest of the whole message, which is compared if there is no answer. *refuses*
    is true if the code raised the exception as a refusal, and *specific* if its text is evidence.
    *quantities* are those in the quoted line, if exceptions are compared by them.
    """

    status: str
    kind: str = ""
    said: str = ""
    message: str = ""
    refuses: bool = False
    specific: bool = False
    quantities: tuple[str, ...] = ()

    @property
    def raised(self) -> bool:
        """Whether the code raised an exception; a result without gradients does not count."""
        return self.kind not in {"", NO_GRADIENTS}


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
    """The content of ``fingerprints.json``; *made_from* is the digest of its sources.

    *digest* covers everything else, so that an edited number is detected. The misconceptions have
    the first numbers. All programs with one kind of mistake follow, in the order of the exercises
    and of their code, each with the number of its wording or ``PASSES``. In *answers*, an answer
    with named parts consists of the numbers of its names and its parts, and a list of tensors
    consists of the numbers of its entries, because answers share these. *solved* contains the
    solution's answers in the checks that examine the code. *undecided* contains, for each check,
    the programs whose result rounding could decide; they have no print there.
    """

    format_version: Literal[4] = 4
    made_from: str
    digest: str = ""
    mistakes: tuple[WrittenMistake, ...]
    programs: tuple[int, ...]
    wordings: tuple[KindWording, ...]
    questions: tuple[str, ...]
    ends: tuple[End, ...]
    answers: tuple[Any, ...]
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
        for answer in self.answers:
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
            return self._of_exceptions(end, seen.end) if same else Match.NO
        if seen.answers or one.answers:
            return MATCHES[self._compare_answers(one, seen)]
        if end.message == seen.end.message and end.kind != NO_GRADIENTS:
            return Match.YES
        return self._of_exceptions(end, seen.end) if end.kind else Match.NO

    def _of_exceptions(self, end: End, seen: End) -> Match:
        """Return the match of two exceptions, by the steps that their lines show."""
        same = not end.raised or may_share_step(end.quantities, seen.quantities)
        return Match.TEXT_ONLY if same else Match.NO

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

    def mistake(self, number: int) -> Mistake:
        """Return the texts about the program *number* that a student may read."""
        count = len(self.mistakes)
        if number < count:
            found = self.mistakes[number]
            words = found.explanation, found.question, found.title
            return Mistake(found.id, *words, group=found.id, written=True)
        kind, explanation, question, group = self.wordings[self.programs[number - count]]
        title = title_of(explanation)
        return Mistake(kind, explanation, self.questions[question], title, str(group))

    def label(self, number: int) -> str:
        """Return the id of a misconception, or the label of a program with a kind of mistake."""
        count = len(self.mistakes)
        return self.mistakes[number].id if number < count else kind_label(number - count)

    def words(self) -> dict[str, tuple[str, str]]:
        """Return the explanation and question of each program that fails a check, by its label."""
        numbers = {number for numbers in self._failing.values() for number in numbers}
        mistakes = {self.label(number): self.mistake(number) for number in numbers}
        return {label: (one.explanation, one.question) for label, one in mistakes.items()}

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
    refused = refuses(error)
    return End(
        status_of(error),
        error.kind,
        digest(error.text) if error.text else "",
        message,
        refused,
        is_specific(error),
        () if answered and not refused else tuple(sorted(quoted_roles(error))),
    )


def changes(old: Fingerprints, new: Fingerprints, compared: AbstractSet[str]) -> Iterator[str]:
    """Describe the differences between *old* and *new* for the labels *compared*.

    Texts of exceptions are not compared, because they differ between versions of torch. Numbers
    differ between processors, so only certain differences count.
    """
    if old.digest != _digest_of(old):
        yield "it was edited after it was built"
    if len(old.programs) != len(new.programs):
        yield f"it has {len(old.programs)} programs, not {len(new.programs)}"
        return
    before, now = old.by_check(), new.by_check()
    said, to_say = old.words(), new.words()
    for label in sorted(compared & said.keys() & to_say.keys()):
        if said[label] != to_say[label]:
            yield f"its text about {label} is different"
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


def sealed(known: Fingerprints) -> Fingerprints:
    """Return *known* with the digest of its content."""
    return replace(known, digest=_digest_of(known))


def _digest_of(known: Fingerprints) -> str:
    """Return the digest of everything in *known* except *digest* itself."""
    return digest(compact(msgspec.to_builtins(replace(known, digest=""))))


def to_json(known: Fingerprints) -> bytes:
    """Encode *known* in lines, so that a diff shows the changes."""
    fields = msgspec.to_builtins(known).items()
    body = ",\n".join(f"{compact(name)}: {_lined(name, value)}" for name, value in fields)
    return f"{{\n{body}\n}}\n".encode()


def from_json(text: bytes) -> Fingerprints:
    """Decode the output of ``to_json``; raise ``MsgspecError`` or ``IndexError`` if that fails."""
    known = msgspec.json.decode(text, type=Fingerprints)
    for one in chain.from_iterable(known.prints.values()):
        known.shown(one)
    for number, wording in enumerate(known.programs, start=len(known.mistakes)):
        if wording != PASSES:
            known.mistake(number)
    return known


def find(path: Path) -> Fingerprints | None:
    """Read the fingerprints at *path*; ``None`` if they can't be used."""
    try:
        return from_json(path.read_bytes())
    except (OSError, msgspec.MsgspecError, IndexError):
        return None


def _lined(name: str, value: Any) -> str:
    """Encode a field in lines: one text, one check, or many numbers in a line."""
    if isinstance(value, dict):
        items = [f"{compact(key)}: {compact(item)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "\n}"
    if name not in IN_LINES:
        return compact(value)
    rows = (value[start : start + IN_LINES[name]] for start in range(0, len(value), IN_LINES[name]))
    return "[\n" + ",\n".join(compact(row)[1:-1] for row in rows) + "\n]"
