"""Records the answers of the solution and of wrong programs to the public checks of a stage."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from autograder.authoring.fingerprinting import FingerprintMaker, Made, PublicChecks, encode
from autograder.course import Course, Stage
from autograder.diagnosis.fingerprints import Fingerprints
from autograder.diagnosis.observation import Observation
from autograder.errors import CourseError
from autograder.grading.context import RecordingContext
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import add
from autograder.sandbox.protocol import Request  # noqa: TC001  # this module imports torch anyway
from autograder.sandbox.transcript import Exchange
from autograder.suite import public_record
from autograder.suite.checks import CollectedCheck
from autograder.suite.documented import DocumentedTensors
from autograder.suite.public_record import MAX_BYTES, PublicRecord
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

    def record(self, stage: Stage, made_from: str) -> PublicRecord:
        """Run the public checks of *stage* on its solution; raise ``CourseError`` if one fails."""
        self._context.documented_tensors = None
        replies = {}
        for check in self._public_checks(stage):
            observation, exchanges = self._run(check.item, self._context.solution(stage))
            if observation.error is not None:
                msg = f"The solution fails {check.name} on public inputs: {observation.error}"
                raise CourseError(msg)
            self._requests[check.item.nodeid] = [exchange.request for exchange in exchanges]
            replies[check.name] = public_record.recorded(check.name, exchanges)
        tensors = self._context.documented_tensors or DocumentedTensors(())
        checks = self._runner.checks(stage.name)
        return PublicRecord(
            made_from=made_from,
            points=add(check.spec.points for check in checks),
            hidden_points=add(check.spec.points for check in checks if check.spec.hidden),
            documented={
                name: public_record.documented_fields(tensors[name])
                for name in sorted(tensors.used)
            },
            replies=replies,
        )

    def record_json(
        self, stage: Stage, made_from: str, known_text: str, known: PublicRecord | None = None
    ) -> bytes:
        """Encode the record of *stage*; raise ``CourseError`` if students must not have it.

        The record must not contain a word that is not in *known_text*, the other files for
        students. Numbers that agree with the *known* record of the last build keep their digits.
        """
        record = self.record(stage, made_from)
        if known is not None:
            record = public_record.with_known_numbers(record, known)
        content = public_record.to_json(record)
        if len(content) > MAX_BYTES:
            msg = (
                f"The record of {stage.name} has {len(content)} bytes, more than {MAX_BYTES}: "
                "use smaller tensors, or mark checks as hidden."
            )
            raise CourseError(msg)
        known_words = {*re.findall(r"\w+", known_text)}
        for word in public_record.words(record):
            if not known_words.issuperset(re.findall(r"\w+", word)):
                msg = (
                    f"The record of {stage.name} would contain {word!r}, which students cannot "
                    "know."
                )
                raise CourseError(msg)
        return content

    def fingerprints(
        self,
        stage: Stage,
        made_from: str,
        *,
        known: Fingerprints | None = None,
        only_sample: bool = False,
    ) -> Made:
        """Run the public checks of *stage* on wrong programs, after ``record``.

        Numbers that agree with the *known* fingerprints of the last build keep their digits.
        """
        checks = self._public_checks(stage)
        solution = self._context.solution(stage)
        public = PublicChecks(stage, solution, checks, self._run_alike)
        return FingerprintMaker(public, known).make(made_from, only_sample=only_sample)

    def fingerprints_json(
        self, stage: Stage, made_from: str, known: Fingerprints | None = None
    ) -> bytes:
        """Encode the fingerprints of *stage*; numbers that agree with *known* keep their digits."""
        return encode(stage, self.fingerprints(stage, made_from, known=known).fingerprints)

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
            msg = (
                f"{item.name} sends the solution a request that depends on the student's "
                "answers, so no record can answer it: mark the check as hidden, with the "
                "reason."
            )
            raise CourseError(msg)
        return observation
