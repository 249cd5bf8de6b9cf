"""What misconceptions show in the public suite, as numbers: a diagnosis without the wrong code.

``release`` builds the file from the misconceptions; the student's machine only reads it. Answers
are rounded, strings are hashed, and of a misconception it contains only what a student may read.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec
import pytest
from msgspec.structs import asdict, replace
from torch import Tensor

from autograder.course import Stage
from autograder.diagnosis import misconceptions
from autograder.diagnosis.exceptions import explain_exception
from autograder.diagnosis.matcher import Run, channel_of
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import (
    UNCOMPARED_VERBS,
    Failure,
    Match,
    Observation,
    message_without_numbers,
    same_answer,
    status_of,
)
from autograder.diagnosis.operators.search import Tried
from autograder.results import Diagnosis
from autograder.sandbox.faults import NoGradients, Raised
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.checks import CollectedCheck
from autograder.suite.student_proxy import RemoteModule

DECIMALS = 6  # ten times finer than what counts as the same answer
MAX_ENTRIES = 16  # of one tensor; two mistakes that agree in 16 of its entries agree in all
GOLDEN = (5**0.5 - 1) / 2  # spreads the entries that are kept over all rows and columns
DIGEST = 16  # hexadecimal digits; enough that two messages of one stage never have the same digest


class Mistake(msgspec.Struct, frozen=True):
    """What a student may read about a misconception."""

    id: str
    exercise: str
    explanation: str
    question: str
    title: str = ""


class Fingerprint(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a check ends on the mistakes *of*, and the numbers of the answers that it got.

    Of an exception it has the type, *kind*, and a digest of the text, *said*.
    """

    check: str
    of: tuple[str, ...]
    status: str
    kind: str = ""
    said: str = ""
    answers: tuple[int, ...] = ()

    @property
    def end(self) -> tuple[str, str, str]:
        """How the check ended."""
        return self.status, self.kind, self.said


class Fingerprints(msgspec.Struct, frozen=True, kw_only=True):
    """``fingerprints.json``; *made_from* is the digest of the files that it was built from."""

    format_version: Literal[1] = 1
    made_from: str
    mistakes: tuple[Mistake, ...]
    answers: tuple[Any, ...]
    prints: tuple[Fingerprint, ...]

    def by_check(self) -> dict[tuple[str, str], tuple[Fingerprint, list[Any]]]:
        """Return each fingerprint with its answers, by check and mistake."""
        return {
            (found.check, name): (found, [self.answers[index] for index in found.answers])
            for found in self.prints
            for name in found.of
        }


class FingerprintMatcher:
    """Knows the misconceptions of one stage by their fingerprints."""

    def __init__(self, known: Fingerprints) -> None:
        self.misconceptions = tuple(Misconception(**asdict(mistake)) for mistake in known.mistakes)
        self._by_check = known.by_check()

    def match(self, item: Misconception, failure: Failure) -> Match:
        """Compare the fingerprint of *item* with that of the student's code."""
        known = self._by_check.get((failure.item.name, item.id))
        if known is None:
            return Match.NO
        fingerprint, answers = fingerprint_of(failure.item.name, failure.observation)
        if fingerprint.end != known[0].end or not same_answer(answers, known[1]):
            return Match.NO
        vague = isinstance(failure.observation.error, NoGradients) and not answers
        return Match.TEXT_ONLY if vague else Match.YES

    def passes(self, item: Misconception, check: pytest.Item) -> bool:
        """Whether *item* has no fingerprint in *check*: those that pass leave none."""
        return (check.name, item.id) not in self._by_check

    def note(self, tried: Iterable[Tried]) -> None:
        """Keep nothing: students don't read which explanations were tried."""

    def search(
        self,
        exercise: str,  # noqa: ARG002  # as in ``Matcher``
        failures: Sequence[Failure],  # noqa: ARG002  # likewise
        passed: Sequence[pytest.Item],  # noqa: ARG002  # likewise
    ) -> dict[str, Diagnosis]:
        """Find nothing: kinds of mistake are made of the solution, which is not on this machine."""
        return {}

    search_some = search

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Explain an exception; the solution, with which heuristics compare, is not here."""
        error = failure.observation.error
        pattern = explain_exception(error, shows_values=failure.shows_values)
        return Diagnosis(*pattern) if pattern else None


def fingerprint_matcher(stage: Stage) -> FingerprintMatcher | None:
    """Read the fingerprints of *stage*; ``None`` if there are none that can be used."""
    try:
        return FingerprintMatcher(from_json(stage.fingerprints.read_bytes()))
    except (OSError, msgspec.MsgspecError, IndexError):  # costs the diagnosis, but no check
        return None


def make(stage: Stage, checks: Sequence[CollectedCheck], run: Run, made_from: str) -> Fingerprints:
    """Run the public *checks* of *stage* on every misconception; keep what failures show.

    A fingerprint of several misconceptions, and an answer given several times, is kept once.
    """
    items = misconceptions.read(stage.misconceptions)
    table: dict[str, int] = {}
    prints: dict[Fingerprint, list[str]] = {}
    for check, item, observation in _failures(stage, items, checks, run):
        fingerprint, answers = fingerprint_of(check, observation)
        indices = tuple(table.setdefault(_compact(answer), len(table)) for answer in answers)
        prints.setdefault(replace(fingerprint, answers=indices), []).append(item.id)
    shown = {name for names in prints.values() for name in names}
    return Fingerprints(
        made_from=made_from,
        mistakes=tuple(
            Mistake(item.id, item.exercise, item.explanation, item.question, item.title)
            for item in items
            if item.id in shown
        ),
        answers=tuple(map(json.loads, table)),
        prints=tuple(replace(found, of=tuple(names)) for found, names in prints.items()),
    )


def _failures(
    stage: Stage, items: Sequence[Misconception], checks: Sequence[CollectedCheck], run: Run
) -> Iterator[tuple[str, Misconception, Observation]]:
    """Yield each failed check's name, with the misconception that fails it and what it showed."""
    for item in items:
        channel = channel_of(stage, item)
        for check in checks:
            if check.spec.exercise == item.exercise:
                observation = run(check.item, channel)
                if observation.error is not None:
                    yield check.name, item, observation


def fingerprint_of(check: str, observation: Observation) -> tuple[Fingerprint, list[Any]]:
    """Return how *observation* ended, and its comparable answers as JSON values."""
    error = observation.error
    kept = [answer for verb, answer in observation.answers if verb not in UNCOMPARED_VERBS]
    kind, text = (error.kind, error.text) if isinstance(error, Raised) else ("", "")
    said = text if kept else text + message_without_numbers(error)  # without answers, it must agree
    digest = _digest(said) if said else ""
    return Fingerprint(check, (), status_of(error), kind, digest), list(map(to_json_value, kept))


def changes(old: Fingerprints, new: Fingerprints) -> Iterator[str]:
    """Describe the differences between *old* and *new*.

    The texts of exceptions are not compared: they differ between versions of torch.
    """
    if old.mistakes != new.mistakes:
        yield "it describes other mistakes"
    before, now = old.by_check(), new.by_check()
    for check, name in sorted(before.keys() | now.keys()):
        left, right = before.get((check, name)), now.get((check, name))
        if left is None or right is None:
            yield f"{check} {'passes' if right is None else 'fails'} {name}"
        elif left[0].end[:2] != right[0].end[:2] or not same_answer(left[1], right[1]):
            yield f"{check} shows something else for {name}"


def to_json(known: Fingerprints) -> bytes:
    """Encode with one item per line, so that a diff shows each change."""
    fields = msgspec.to_builtins(known).items()
    body = ",\n".join(f"{_compact(name)}: {_lined(value)}" for name, value in fields)
    return f"{{\n{body}\n}}\n".encode()


def from_json(text: bytes) -> Fingerprints:
    """Decode what ``to_json`` wrote; raises ``msgspec.MsgspecError``."""
    return msgspec.json.decode(text, type=Fingerprints)


def to_json_value(answer: Any) -> Any:  # noqa: PLR0911  # one kind of answer a line
    """Turn an answer into numbers and digests; answers of different kinds stay different."""
    match answer:
        case Tensor():
            return _tensor(answer.detach())
        case dict():
            return {str(key): to_json_value(value) for key, value in answer.items()}
        case list():
            return [to_json_value(item) for item in answer]
        case tuple():
            return {"tuple": [to_json_value(item) for item in answer]}
        case bool() | int() | float() | None:
            return _number(answer)
        case RemoteModule():
            return "module"
        case OpaqueValue():
            return _digest(f"opaque {answer.kind}")
        case _:
            return _digest(repr(answer))


def _tensor(answer: Tensor) -> dict[str, Any]:
    flat = answer.flatten()
    if flat.numel() > MAX_ENTRIES:
        flat = flat[[int(index * GOLDEN % 1 * flat.numel()) for index in range(MAX_ENTRIES)]]
    return {
        "dtype": str(answer.dtype).removeprefix("torch."),
        "shape": list(answer.shape),
        "values": [_number(value) for value in flat.tolist()],
    }


def _number(value: Any) -> Any:
    if isinstance(value, complex):
        return [_number(value.real), _number(value.imag)]
    if isinstance(value, float):
        return round(value, DECIMALS) + 0.0 if math.isfinite(value) else str(value)  # no -0.0
    return value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _lined(value: Any) -> str:
    if not isinstance(value, list | tuple):
        return _compact(value)
    return "[\n" + ",\n".join(map(_compact, value)) + "\n]"
