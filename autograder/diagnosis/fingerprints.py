"""What known mistakes show to the public suite, as numbers: a diagnosis without the wrong code.

``release`` makes the file from the misconceptions; the student's machine only reads it. Answers
are rounded, words of the code are digests, and of a mistake there is what a student may read.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
import pytest
from msgspec.structs import asdict, replace
from torch import Tensor

from autograder.course import Stage
from autograder.diagnosis import misconceptions
from autograder.diagnosis.matcher import Failure, MisconceptionMatcher, Run
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import (
    SAME_ATOL,
    SAME_RTOL,
    SILENT,
    Observation,
    status_of,
    words_of,
)
from autograder.results import Diagnosis
from autograder.sandbox.faults import Raised
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.checks import CheckSpec
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import RemoteModule

DECIMALS = 6  # an order finer than what counts as the same answer
MAX_ENTRIES = 256  # of one tensor; a larger one is told by as many, evenly spaced
DIGEST = 16  # hexadecimal digits; enough that two messages of one stage never meet


class Mistake(msgspec.Struct, frozen=True):
    """What a student may read about a misconception."""

    id: str
    exercise: str
    explanation: str
    question: str


class Print(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a check ends on the mistakes *of*, and the numbers of the answers that it saw.

    Of an exception there is its type, *kind*, and a digest of its text, *said*.
    """

    check: str
    of: tuple[str, ...]
    status: str
    kind: str = ""
    said: str = ""
    answers: tuple[int, ...] = ()


class Fingerprints(msgspec.Struct, frozen=True, kw_only=True):
    """``fingerprints.json``; *made_from* is the digest of the files that it was made from."""

    format_version: Literal[1] = 1
    made_from: str
    mistakes: tuple[Mistake, ...]
    answers: tuple[Any, ...]
    prints: tuple[Print, ...]

    def seen(self) -> dict[tuple[str, str], tuple[Print, list[Any]]]:
        """Return each print with its answers, by check and mistake."""
        return {
            (found.check, name): (found, [self.answers[index] for index in found.answers])
            for found in self.prints
            for name in found.of
        }


class FingerprintMatcher(MisconceptionMatcher):
    """Knows one stage's mistakes by their fingerprints, and chooses as its base does."""

    def __init__(self, known: Fingerprints) -> None:
        self._seen = known.seen()
        self._bank = tuple(Misconception(**asdict(mistake)) for mistake in known.mistakes)

    def _passes(self, item: Misconception, checks: Sequence[pytest.Item]) -> bool:
        return not any((check.name, item.id) in self._seen for check in checks)

    def _shows(self, item: Misconception, failure: Failure) -> bool:
        known = self._seen.get((failure.item.name, item.id))
        if known is None:
            return False
        taken, answers = take(failure.item.name, failure.observation)
        return _ended(taken) == _ended(known[0]) and matches(answers, known[1])

    def _reading(self, failure: Failure) -> Diagnosis | None:
        del failure  # a reading compares with the solution, which is not here
        return None


def fingerprint_matcher(stage: Stage) -> FingerprintMatcher | None:
    """Read the fingerprints of *stage*; ``None`` where there are none that can be used."""
    try:
        known = from_json(stage.fingerprints.read_bytes())
        return FingerprintMatcher(known)
    except (OSError, msgspec.MsgspecError, IndexError):  # a help that is lost, not a check
        return None


def make(
    stage: Stage, checks: Sequence[tuple[pytest.Item, CheckSpec]], run: Run, made_from: str
) -> Fingerprints:
    """Run the public *checks* of *stage* on every misconception; keep what shows in failures.

    What several misconceptions show alike, and what is answered more than once, stands there once.
    """
    bank = misconceptions.read(stage.misconceptions)
    table: dict[str, int] = {}
    prints: dict[Print, list[str]] = {}
    for name, item, observation in _failing(stage, bank, checks, run):
        taken, answers = take(name, observation)
        places = tuple(table.setdefault(_compact(answer), len(table)) for answer in answers)
        prints.setdefault(replace(taken, answers=places), []).append(item.id)
    shown = {name for names in prints.values() for name in names}
    return Fingerprints(
        made_from=made_from,
        mistakes=tuple(
            Mistake(item.id, item.exercise, item.explanation, item.question)
            for item in bank
            if item.id in shown
        ),
        answers=tuple(map(json.loads, table)),
        prints=tuple(replace(found, of=tuple(names)) for found, names in prints.items()),
    )


def _failing(
    stage: Stage,
    bank: Sequence[Misconception],
    checks: Sequence[tuple[pytest.Item, CheckSpec]],
    run: Run,
) -> Iterator[tuple[str, Misconception, Observation]]:
    """Yield name, misconception and evidence of each check that one of its exercise fails."""
    solution = stage.solution.read_text("utf-8")
    for item in bank:
        channel = LocalChannel(f"{stage.module}_{item.id}", item.module(solution).encode())
        for check in (check for check, spec in checks if spec.exercise == item.exercise):
            observation = run(check, channel)
            if observation.error is not None:
                yield check.name, item, observation


def take(check: str, observation: Observation) -> tuple[Print, list[Any]]:
    """Return how *evidence* ended and its telling answers, as JSON would hold them."""
    error = observation.error
    answers = [_sealed(answer) for verb, answer in observation.answers if verb not in SILENT]
    raised = error if isinstance(error, Raised) else None
    words = "" if answers else words_of(error)
    said = (raised.text if raised else "") + words  # where nothing was answered, words must agree
    taken = Print(
        check=check,
        of=(),
        status=status_of(error),
        kind=raised.kind if raised else "",
        said=_digest(said) if said else "",
    )
    return taken, answers


def matches(left: Any, right: Any) -> bool:
    """Whether two sealed answers are the same up to the noise of float32."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(matches(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(matches, left, right))
    if isinstance(left, float):
        return math.isclose(left, right, rel_tol=SAME_RTOL, abs_tol=SAME_ATOL)
    return bool(left == right)


def changes(old: Fingerprints, new: Fingerprints) -> Iterator[str]:
    """Say where *old* tells other numbers, or of other mistakes, than *new*.

    What an exception says is passed over: another torch may put it in other words.
    """
    if old.mistakes != new.mistakes:
        yield "it tells of other mistakes"
    before, now = old.seen(), new.seen()
    for check, name in sorted(before.keys() | now.keys()):
        left, right = before.get((check, name)), now.get((check, name))
        if left is None or right is None:
            yield f"{check} {'passes' if right is None else 'fails'} {name}"
        elif _ended(left[0])[:2] != _ended(right[0])[:2] or not matches(left[1], right[1]):
            yield f"{check} sees something else in {name}"


def to_json(known: Fingerprints) -> bytes:
    """Encode with one item a line, so that a change shows where it is."""
    fields = msgspec.to_builtins(known).items()
    body = ",\n".join(f"{_compact(name)}: {_lined(value)}" for name, value in fields)
    return f"{{\n{body}\n}}\n".encode()


def from_json(text: bytes) -> Fingerprints:
    """Decode what ``to_json`` wrote; raises ``msgspec.MsgspecError``."""
    return msgspec.json.decode(text, type=Fingerprints)


def _ended(found: Print) -> tuple[str, str, str]:
    return found.status, found.kind, found.said


def _sealed(answer: Any) -> Any:  # noqa: PLR0911  # one kind of answer a line
    """Turn an answer into numbers and digests; two that differ in kind stay different."""
    match answer:
        case Tensor():
            return _tensor(answer.detach())
        case dict():
            return {str(key): _sealed(value) for key, value in answer.items()}
        case list():
            return [_sealed(item) for item in answer]
        case tuple():
            return {"tuple": [_sealed(item) for item in answer]}
        case bool() | int() | None:
            return answer
        case float():
            return _number(answer)
        case RemoteModule():
            return "module"
        case OpaqueValue():
            return _digest(f"opaque {answer.kind}")
        case _:
            return _digest(repr(answer))


def _tensor(answer: Tensor) -> dict[str, Any]:
    flat = answer.flatten()
    step = max(1, math.ceil(flat.numel() / MAX_ENTRIES))
    return {
        "dtype": str(answer.dtype).removeprefix("torch."),
        "shape": list(answer.shape),
        "values": [_number(value) for value in flat[::step].tolist()],
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
