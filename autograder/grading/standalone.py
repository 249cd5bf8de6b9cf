"""Supplies the fixtures of checks to plain pytest, and the feedback on public checks that fail."""

from contextlib import ExitStack, closing
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from autograder import course as course_files
from autograder.course import Stage
from autograder.course_file import Limits
from autograder.errors import AutograderError
from autograder.grading.context import SuiteContext, is_public
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.reports.feedback_builder import build_exercise_feedback
from autograder.reports.terminal import exercise_text
from autograder.results import ExerciseResult, Outcome, SubmissionResult
from autograder.sandbox.isolation import choose_isolation
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import collect
from autograder.submission.files import module_text
from autograder.suite.checks import spec_of
from autograder.suite.student_proxy import Channel

if TYPE_CHECKING:
    from pathlib import Path


class StandaloneContext(SuiteContext):
    """Provides the context for plain pytest, which runs the course's or a learner's own module."""

    def __init__(self) -> None:
        super().__init__(None)
        self.opened = ExitStack()  # sessions and the fork server; the caller closes it
        self._fork_server: ForkServer | None = None
        self._sessions: dict[Path, Session] = {}
        self._runners: dict[Path, SuiteRunner] = {}
        self._results: dict[tuple[Path, str], SubmissionResult] = {}

    def channel_for(self, item: pytest.Item) -> Channel:
        """Return the session of the item's suite, which is opened on first use."""
        if item.path not in self._sessions:
            stage = self.stage(item)
            next_to_suite = item.path.with_name(f"{stage.module}.py")
            module = next_to_suite if is_public(item) else stage.solution
            server = self._started(public=is_public(item))
            text, _ = module_text(module.read_bytes(), module.name)
            session = Session(server, stage.module, (text,), notebook=False)
            self._sessions[item.path] = self.opened.enter_context(closing(session))
        return self._sessions[item.path]

    def _started(self, *, public: bool) -> ForkServer:
        if self._fork_server is None:
            limits = self.course.limits if self.course else Limits()
            secret = self.course.root if self.course else None
            configured = self.course.grading.isolation if self.course else None
            # a public suite runs the user's own code
            level = choose_isolation("process" if public else configured, secret)
            self._fork_server = self.opened.enter_context(ForkServer(level, limits))
            self._fork_server.wait_ready()
        return self._fork_server

    def feedback(self, item: pytest.Item) -> str:
        """Return what `autograder check` prints about the check *item* of a public suite.

        It is empty if the check has no result, for example because its suite can't be used.
        """
        spec = spec_of(item)
        if spec is None or not is_public(item):
            return ""
        stage = self.stage(item)
        try:
            result = self._result(stage, spec.exercise)
        except AutograderError:  # the exception of the check itself is shown
            return ""
        checks = [check for one in result.exercises for check in one.checks]
        own = tuple(check for check in checks if check.name == item.name)
        if not own or own[0].outcome is Outcome.PASSED:  # by chance, in this run only
            return ""
        only = replace(result, exercises=(ExerciseResult.of(spec.exercise, own),))
        exercise = build_exercise_feedback(stage, only, spec.exercise)
        width = get_terminal_size().columns
        return exercise_text(exercise, width) if exercise else ""

    def _result(self, stage: Stage, exercise: str) -> SubmissionResult:
        """Run the checks of *exercise* once as `autograder check` does, which needs all of them."""
        key = stage.source, exercise
        if key not in self._results:
            course = course_files.handout(stage.source)
            submission = next(collect(stage.stub, course.stages, course.stages[0]))
            if stage.source not in self._runners:
                suite = open_suites(course, course.stages, public=True)
                self._runners[stage.source] = self.opened.enter_context(suite)
            runner, server = self._runners[stage.source], self._started(public=True)
            self._results[key] = grade_one(runner, server, submission, exercise=exercise)
        return self._results[key]
