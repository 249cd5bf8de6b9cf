"""Where a check finds what it judges: the student's module, the reference, the ledger, a probe."""

from pathlib import Path

import pytest
import torch

from autograder import course as course_files
from autograder.course import PUBLIC_SUITE, Course, Stage
from autograder.errors import UsageError
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer, choose_isolation
from autograder.submission import Code, Submission, collect
from autograder.suite import documented as ledgers
from autograder.suite.checks import spec_of
from autograder.suite.hidden_inputs import HiddenInputs, course_secret
from autograder.suite.in_process import solution_channel
from autograder.suite.student_proxy import Channel, Student


class SuiteContext:
    """Holds the channel to the module that is judged now."""

    def __init__(self, course: Course | None, channel: Channel | None = None) -> None:
        self.course = course
        self.channel = channel
        torch.set_num_threads(1)  # tensors here are tiny; and a fork must find no pool of threads
        self.last_student: Student | None = None

    @classmethod
    def by_hand(cls, submission: Path | None, isolation: str | None) -> "SuiteContext":
        """Judge *submission*, or the solutions, under plain pytest."""
        return StandaloneContext(submission, isolation)

    def close(self) -> None:
        """Let go of what the desk opened."""

    def channel_for(self, item: pytest.Item) -> Channel:
        """Return the channel to the module that *item* judges."""
        if self.channel is None:
            msg = f"Nothing is submitted for {item.nodeid}."
            raise UsageError(msg)
        return self.channel

    def student(self, item: pytest.Item) -> Student:
        """Return a fresh student for the check *item*."""
        channel = self.channel_for(item)
        spec = spec_of(item)
        if isinstance(channel, Session) and spec is not None:
            channel.begin(spec.exercise)
        self.last_student = Student(channel, self._seed(item))
        return self.last_student

    def reference(self, item: pytest.Item) -> Student:
        """Return the instructor's solution for the check *item*."""
        return Student(solution_channel(self.stage(item).solution), self._seed(item))

    def documented(self, item: pytest.Item) -> ledgers.DocumentedTensors:
        """Return the documented tensors."""
        return ledgers.shared(self._course(item).documented)

    def probe(self, item: pytest.Item) -> HiddenInputs:
        """Return the source of hidden inputs of the check *item*."""
        secret = course_secret(self._course(item).root)
        return HiddenInputs(secret, self.stage(item).name, item.name)

    def _seed(self, item: pytest.Item) -> int:
        """Return what torch's generator starts from in the check *item*."""
        return 0 if item.path.name == PUBLIC_SUITE else self.probe(item).seed

    def stage(self, item: pytest.Item) -> Stage:
        """Return the stage whose folder the check *item* lies in."""
        folder = item.path.parent
        if self.course is None and item.path.name == PUBLIC_SUITE:  # a student's copy has no course
            return course_files.handout(folder).stages[0]
        return self._course(item).stage(folder.name)

    def _course(self, item: pytest.Item) -> Course:
        if self.course is None:
            self.course = course_files.load(course_files.find_root(item.path.parent))
        return self.course


class StandaloneContext(SuiteContext):
    """A desk for plain pytest: one session a stage, opened on first use."""

    def __init__(self, submission: Path | None, isolation: str | None) -> None:
        super().__init__(None)
        self._submission = submission
        self._isolation = isolation
        self._fork_server: ForkServer | None = None
        self._sessions: dict[Path, Session] = {}

    def channel_for(self, item: pytest.Item) -> Channel:
        """Return the session of the item's stage, or of the module beside a public suite."""
        if item.path not in self._sessions:
            stage = self.stage(item)
            beside = item.path.with_name(f"{stage.module}.py")
            public = item.path.name == PUBLIC_SUITE
            code = self._code(stage, beside if public else stage.solution)
            self._sessions[item.path] = self._open(stage, code, public=public)
        return self._sessions[item.path]

    def close(self) -> None:
        """End every session and the fork server."""
        for session in self._sessions.values():
            session.close()
        if self._fork_server is not None:
            self._fork_server.close()

    def _open(self, stage: Stage, code: Code, *, public: bool) -> Session:
        if self._fork_server is None:
            limits = self.course.limits if self.course else course_files.Limits()
            secret = self.course.root if self.course else None
            usual = "process" if public else None  # a public suite judges one's own code
            level = choose_isolation(self._isolation or usual, secret)
            self._fork_server = ForkServer(level, limits)
            self._fork_server.wait_ready()
        return Session(
            self._fork_server, stage.module, code.cells, notebook=code.kind == "notebook"
        )

    def _code(self, stage: Stage, path: Path) -> Code:
        if self._submission is None:
            return Code(kind="module", cells=(path.read_bytes(),), label=path.name)
        found = [item for item in self._handed_in(stage) if item.stage == stage.name]
        if not found:
            pytest.skip(f"{self._submission} holds nothing for stage {stage.name}.")
        if found[0].code is None:
            raise UsageError(found[0].problem)
        return found[0].code

    def _handed_in(self, stage: Stage) -> list[Submission]:
        """Read the submission; a file whose name tells no stage is taken for the one at hand."""
        stages = self.course.stages if self.course else (stage,)
        told = list(collect(self._submission or Path(), stages))
        if any(item.stage for item in told):
            return told
        return list(collect(self._submission or Path(), (stage,), stage))
