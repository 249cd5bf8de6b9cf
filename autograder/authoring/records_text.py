"""Prints the records of a stage as text, for authors."""

from collections.abc import Iterator, Sequence
from typing import Any

from autograder.course import Stage
from autograder.diagnosis import fingerprints, mistake_texts
from autograder.diagnosis.fingerprints import PASSES, Fingerprints, Shown
from autograder.diagnosis.mistake_texts import MistakeTexts
from autograder.sandbox.protocol import Value
from autograder.sandbox.tensors import decode
from autograder.suite import public_record, records
from autograder.suite.public_record import PublicRecord


def lines(stage: Stage) -> Iterator[str]:
    """Yield the records of *stage* in lines; raise ``UsageError`` if they can't be read."""
    replies, known = public_record.read(stage.records), fingerprints.read(stage.records)
    size = stage.records.stat().st_size
    made_from = records.made_from(stage.records)
    yield f"{stage.records}: {size} bytes, built from the sources {made_from[:12]}"
    yield from _replies(replies)
    yield from _programs(known, mistake_texts.read(stage.mistakes))
    for check in sorted({*known.prints, *known.undecided}):
        yield from _results(check, known)


def _replies(record: PublicRecord) -> Iterator[str]:
    """Yield the solution's replies to each check, and the documented values."""
    points = f"{record.points:g} points, {record.hidden_points:g} of them for hidden checks"
    yield f"\nReplies of the solution ({points})"
    for check, replies in record.replies.items():
        yield f"  {check}"
        yield from (f"    {reply.request:08x}  {_text(reply.value)}" for reply in replies)
    if record.documented:
        yield f"Documented values: {', '.join(record.documented)}"


def _text(value: Value) -> str:
    return " ".join(repr(decode(value, lambda handle: f"module {handle}")).split())


def _programs(known: Fingerprints, texts: MistakeTexts) -> Iterator[str]:
    """Yield each wrong program that fails a check, with its number and its sentence."""
    yield "\nWrong programs"
    count = len(known.mistakes)
    failing = [count + place for place, kind in enumerate(known.programs) if kind != PASSES]
    for number in (*range(count), *failing):
        mistake = known.mistake(number, texts)
        yield f"  {number:4} {mistake.id}: {mistake.explanation}"


def _results(check: str, known: Fingerprints) -> Iterator[str]:
    """Yield each result in *check*, and the numbers of the programs that give it."""
    yield f"\nResults in {check}"
    for one in known.prints.get(check, ()):
        yield f"  {_numbers(one.of)}: {_shown(known.shown(one))}"
    if undecided := known.undecided.get(check, ()):
        yield f"  {_numbers(undecided)}: undecided, because rounding could decide the result"


def _shown(shown: Shown) -> str:
    end = " ".join(filter(None, (shown.end.status, shown.end.kind)))
    answers: Sequence[Any] = shown.answers
    return "; ".join([end, *map(str, answers)])


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
