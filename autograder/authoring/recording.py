"""Records the answers of the solution and of wrong programs to public checks, and prints them.

The stages of a course are independent, so they are distributed among processes.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import TypeVar

import pytest

from autograder.authoring.fingerprinting import FingerprintMaker, Made, PublicChecks
from autograder.course import Course, Stage
from autograder.diagnosis import fingerprints, mistake_texts
from autograder.diagnosis.fingerprints import PASSES, Fingerprints
from autograder.diagnosis.mistake_texts import MistakeTexts
from autograder.diagnosis.observation import Observation
from autograder.errors import CourseError, UsageError
from autograder.grading.context import RecordingContext
from autograder.grading.grade import cores
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import add
from autograder.sandbox.process_limits import end_with_parent
from autograder.sandbox.protocol import Request  # noqa: TC001  # this module imports torch anyway
from autograder.sandbox.tensors import decode
from autograder.sandbox.transcript import Exchange
from autograder.suite import public_record, records
from autograder.suite.checks import CollectedCheck
from autograder.suite.documented import DocumentedTensors
from autograder.suite.public_record import PublicRecord
from autograder.suite.student_proxy import Channel


@contextmanager
def open_recorder(course: Course, stages: Sequence[Stage]) -> Iterator["Recorder"]:
    """Open the hidden suites of *stages*, to run their public checks on public inputs."""
    context = RecordingContext(course)
    with open_suites(course, stages, context=context) as runner:
        yield Recorder(runner, context)


class Recorder:
    """Runs the public checks of the stages, one after another, with the public seed."""

    def __init__(self, runner: SuiteRunner, context: RecordingContext) -> None:
        self._runner = runner
        self._context = context
        self._requests: dict[str, list[Request]] = {}
        self._words: set[str] = set()  # the names in the last record

    def record(self, stage: Stage) -> PublicRecord:
        """Run the public checks of *stage* on its solution; raise ``CourseError`` if one fails."""
        self._context.documented_tensors = None
        self._words.clear()
        replies = {}
        for check in self._public_checks(stage):
            observation, exchanges = self._run(check.item, self._context.solution(stage))
            if observation.error is not None:
                msg = f"The solution fails {check.name} on public inputs: {observation.error}"
                raise CourseError(msg)
            self._requests[check.item.nodeid] = [exchange.request for exchange in exchanges]
            self._words |= {*public_record.words(exchanges)}
            replies[check.name] = public_record.recorded(check.name, exchanges)
        tensors = self._context.documented_tensors or DocumentedTensors(())
        checks = self._runner.checks(stage.name)
        return PublicRecord(
            points=add(check.spec.points for check in checks),
            hidden_points=add(check.spec.points for check in checks if check.spec.hidden),
            documented={
                name: public_record.documented_fields(tensors[name])
                for name in sorted(tensors.used)
            },
            replies=replies,
        )

    def fingerprints(self, stage: Stage, known: Fingerprints | None = None) -> Fingerprints:
        """Run the public checks of *stage* on every wrong program, after ``record``.

        Numbers that agree with the *known* fingerprints of the last build keep their digits.
        """
        return FingerprintMaker(self._public(stage), known).make().fingerprints

    def sample(self, stage: Stage) -> Made:
        """Run the public checks of *stage* on some of its wrong programs, after ``record``."""
        return FingerprintMaker(self._public(stage)).make(only_sample=True)

    def _public(self, stage: Stage) -> PublicChecks:
        solution = self._context.solution(stage)
        return PublicChecks(stage, solution, self._public_checks(stage), self._run_alike)

    def content(self, stage: Stage, made_from: str, known_text: str) -> bytes:
        """Return the file of records of *stage*; raise ``CourseError`` if it must not exist.

        It must not contain a word that is not in *known_text*, the other files for students.
        Numbers that agree with those of the last build keep their digits.
        """
        replies = self.record(stage)
        with suppress(UsageError):  # the last build may be missing or damaged
            before = public_record.read(stage.records)
            replies = public_record.with_known_numbers(replies, before)
        _reject_unknown_words(stage, self._words, known_text)
        evidence = self.fingerprints(stage, fingerprints.find(stage.records))
        replies, evidence = public_record.packed(replies), fingerprints.stored(evidence)
        return records.encode(stage.name, made_from, replies, evidence)

    def _public_checks(self, stage: Stage) -> list[CollectedCheck]:
        return [check for check in self._runner.checks(stage.name) if not check.spec.hidden]

    def _run(self, item: pytest.Item, channel: Channel) -> tuple[Observation, list[Exchange]]:
        self._context.recorder = None
        observation = self._runner.run(item, channel)
        recorder = self._context.recorder
        return observation, recorder.exchanges if recorder else []

    def _run_alike(self, item: pytest.Item, channel: Channel) -> Observation:
        """Run a check; raise ``CourseError`` if its requests to the solution have changed."""
        observation, exchanges = self._run(item, channel)
        requests = [exchange.request for exchange in exchanges]
        if requests != self._requests[item.nodeid][: len(requests)]:
            raise CourseError(
                f"{item.name} sends the solution a request that depends on the student's "
                "answers, so no record can answer it: mark the check as hidden, with the "
                "reason."
            )
        return observation


def _reject_unknown_words(stage: Stage, words: Iterable[str], known_text: str) -> None:
    known = {*re.findall(r"\w+", known_text)}
    for word in sorted(words):
        if not known.issuperset(re.findall(r"\w+", word)):
            msg = f"The records of {stage.name} would contain {word!r}, which students cannot know."
            raise CourseError(msg)


_Part = TypeVar("_Part")


def in_processes(work: Callable[[Sequence[Stage]], _Part], stages: Sequence[Stage]) -> list[_Part]:
    """Call *work* in one process per core, each with a part of *stages*; return the results."""
    count = min(cores(), len(stages)) if hasattr(os, "fork") else 1
    if count <= 1:
        return [work(stages)]
    parts: list[list[Stage]] = [[] for _ in range(count)]
    for stage in sorted(stages, key=_effort, reverse=True):
        min(parts, key=lambda part: sum(map(_effort, part))).append(stage)
    with ProcessPoolExecutor(count, get_context("fork"), end_with_parent, (os.getpid(),)) as pool:
        return list(pool.map(work, parts))


def _effort(stage: Stage) -> int:
    """Estimate the time to run the checks of *stage* on its wrong programs, without a unit."""
    files = (stage.misconceptions, stage.hidden_suite)
    return math.prod(path.stat().st_size for path in files if path.is_file())


def record_lines(stage: Stage) -> Iterator[str]:
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
    points = f"{record.points:g} points, {record.hidden_points:g} of them for hidden checks"
    yield f"\nReplies of the solution ({points})"
    for check, replies in record.replies.items():
        yield f"  {check}"
        for reply in replies:
            shown = repr(decode(reply.value, lambda handle: f"module {handle}"))
            yield f"    {reply.request:08x}  {' '.join(shown.split())}"
    if record.documented:
        yield f"Documented values: {', '.join(record.documented)}"


def _programs(known: Fingerprints, texts: MistakeTexts) -> Iterator[str]:
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
        shown = known.shown(one)
        end = " ".join(filter(None, (shown.end.status, shown.end.kind)))
        yield f"  {_numbers(one.of)}: {'; '.join([end, *map(str, shown.answers)])}"
    if undecided := known.undecided.get(check, ()):
        yield f"  {_numbers(undecided)}: undecided, because rounding could decide the result"


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
