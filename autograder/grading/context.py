"""Supplies the fixtures of checks: the module, the solution, documented tensors and inputs."""

from collections.abc import Mapping
from functools import cache

import pytest
import torch

from autograder import course as course_files
from autograder.course import PUBLIC_SUITE, RECORDS, Course, Stage, course_secret
from autograder.errors import UsageError
from autograder.sandbox.session import Session
from autograder.suite import documented, public_record
from autograder.suite.checks import spec_of
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import Need, needs
from autograder.suite.hidden_inputs import PUBLIC_SEED, HiddenInputs
from autograder.suite.in_process import (
    LocalChannel,
    ReferenceChannel,
    TranscribingChannel,
    solution_channel,
)
from autograder.suite.public_record import PublicRecord
from autograder.suite.student_proxy import Channel, Student


class SuiteContext:
    """The data that the checks of one pytest session share.

    *item* is the check whose fixtures pytest sets up, and *channel* the module that it runs on.
    """

    item: pytest.Item

    def __init__(self, course: Course | None) -> None:
        self.course = course
        self.channel: Channel | None = None
        self.last_student: Student | None = None
        self.documented_tensors: DocumentedTensors | None = None  # read by the first check
        self._solution = cache(solution_channel)
        self._reference = cache(lambda path: ReferenceChannel(solution_channel(path)))
        self._record = cache(public_record.read)
        self._secret = cache(course_secret)
        self._needed = cache(needs)
        torch.set_num_threads(1)  # tensors are tiny here, and a fork must not inherit threads

    def channel_for(self, item: pytest.Item) -> Channel:
        """Return the channel to the module that *item* runs on."""
        if self.channel is None:
            raise UsageError(f"Nothing is submitted for {item.nodeid}.")
        return self.channel

    def student(self, item: pytest.Item) -> Student:
        """Return a new proxy of the student's module for the check *item*."""
        channel = self.channel_for(item)
        spec = spec_of(item)
        if isinstance(channel, Session) and spec is not None:
            channel.begin(spec.exercise)
        self.last_student = Student(channel, self.probe(item).seed, marks=True)
        return self.last_student

    def reference(self, item: pytest.Item) -> Student:
        """Return a new proxy of the instructor's solution for the check *item*.

        In a public suite its replies come from the record.
        """
        if is_public(item):
            return Student(self.record(item).channel(item.name), self.probe(item).seed)
        return Student(self.reference_channel(self.stage(item)), self.probe(item).seed)

    def reference_channel(self, stage: Stage) -> ReferenceChannel:
        """Return the channel of `reference`, which is separate from that of `solution`."""
        return self._reference(stage.solution)

    def solution(self, stage: Stage) -> LocalChannel:
        """Return the channel to the solution of *stage*, which is imported once."""
        return self._solution(stage.solution)

    def documented(self, item: pytest.Item) -> DocumentedTensors:
        """Return the documented tensors of the course, or those of a public suite's record."""
        if is_public(item):
            return self.record(item).tensors
        if self.documented_tensors is None:
            self.documented_tensors = documented.read(self._course(item).documented)
        return self.documented_tensors

    def probe(self, item: pytest.Item) -> HiddenInputs:
        """Return the source of inputs of the check *item*: public ones for a public suite."""
        stage = self.stage(item)
        if is_public(item):  # a student's folder may have any name, but its module may not
            return HiddenInputs(PUBLIC_SEED, stage.module, item.name)
        secret = self._secret(self._course(item).root)
        return HiddenInputs(secret, stage.name, item.name, public=stage.module)

    def record(self, item: pytest.Item) -> PublicRecord:
        """Return the record next to the public suite of *item*."""
        return self._record(item.path.with_name(RECORDS))

    def needed(self, stage: Stage) -> Mapping[str, Need]:
        """Return what the rules of the course of *stage* need; the files are read once."""
        return self._needed(stage.rules, stage.ready_made)

    def stage(self, item: pytest.Item) -> Stage:
        """Return the stage whose folder contains the check *item*."""
        folder = item.path.parent
        if self.course is None and is_public(item):  # a student's copy has no course
            return course_files.handout(folder).stages[0]
        return self._course(item).stage(folder.name)

    def _course(self, item: pytest.Item) -> Course:
        if self.course is None:
            self.course = course_files.load(course_files.find_root(item.path.parent))
        return self.course


class RecordingContext(SuiteContext):
    """The context with which ``release`` records replies: hidden suites on public inputs."""

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        self.recorder: TranscribingChannel | None = None  # of the last check that used the solution

    def reference(self, item: pytest.Item) -> Student:
        """Return a proxy of the solution that records requests and replies."""
        self.recorder = TranscribingChannel(self.reference_channel(self.stage(item)))
        return Student(self.recorder, self.probe(item).seed)

    def probe(self, item: pytest.Item) -> HiddenInputs:
        """Return the source of public inputs."""
        return HiddenInputs(PUBLIC_SEED, self.stage(item).module, item.name)


def is_public(item: pytest.Item) -> bool:
    """Whether *item* is a check of a public suite, which students have."""
    return item.path.name == PUBLIC_SUITE
