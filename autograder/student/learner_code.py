"""Runs a learner's own module, right or wrong, and the learner's tests on it."""

import importlib
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from autograder.course import Handout, Stage
from autograder.results import Outcome, SubmissionResult
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import BadMessageError
from autograder.sandbox.spawned_workers import Workers, own_workers
from autograder.sandbox.tensors import decode
from autograder.sanitize import line
from autograder.student import stage_picture
from autograder.student.check import check_with_suite
from autograder.student.stage_picture import PictureRows
from autograder.submission import Code, Submission

if TYPE_CHECKING:  # the fork server starts before the runner is loaded
    from contextlib import AbstractContextManager

    from autograder.grading.suite_runner import SuiteRunner

TEST_SECONDS: Final = 10.0  # for pytest and a few tests on tensors of a few numbers
LONGEST: Final = 200  # characters of a line that the learner's code has produced
WORKER_TESTS: Final = "autograder.student.tests_in_worker"


class Verdict(NamedTuple):
    """The outcome of the learner's tests on one module; *why* is empty if all of them passed."""

    ran: bool
    caught: bool
    why: str


class LearnerCode:
    """Runs the learner's code in one stage, right or wrong, in workers."""

    def __init__(self, own: Handout, stage: Stage) -> None:
        importlib.import_module("pytest")  # before the fork, so that workers need not import it
        self.stage = stage
        self._own = own
        self._server: Workers | None = None

    def close(self) -> None:
        """End the fork server."""
        if self._server is not None:
            self._server.close()

    def open_suite(self) -> "AbstractContextManager[SuiteRunner]":
        """Open the public suite of the stage, to check many modules."""
        from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # loaded after the fork

        return open_suites(self._own, [self.stage], public=True)

    def check(self, text: str) -> SubmissionResult:
        """Run the public suite on the module *text*."""
        return check_with_suite(self._own, self._submission(text), self._open, public=True)

    def check_exercise(self, runner: "SuiteRunner", text: str, exercise: str) -> SubmissionResult:
        """Run the checks of one *exercise* on the module *text*."""
        from autograder.grading.grade import grade_one  # noqa: PLC0415  # loaded after the fork

        return grade_one(runner, self._open, self._submission(text), exercise=exercise)

    def picture(self, text: str) -> PictureRows | None:
        """Return the picture that the module *text* computes; None if there is none."""
        return stage_picture.picture_rows(self._open, self.stage, self._code(text))

    def run_tests(self, tests: str, module: str) -> Verdict:
        """Run the learner's *tests* on *module*, in a worker."""
        run = f"from {WORKER_TESTS} import run_tests"
        code = stage_picture.with_code(self._code(module), run)
        session = stage_picture.open_session(self._open, self.stage, code)
        try:
            reply = session.ask("call", name="run_tests", args=(tests,))
            problem = reply.problem.text if reply.problem is not None else ""
            found = decode(reply.value, lambda handle: handle)
        except Fault as fault:
            return Verdict(ran=False, caught=True, why=line(fault.message, LONGEST))
        except BadMessageError:
            problem, found = "its result can't be read", None
        finally:
            session.close()
        return _verdict(found, problem)

    def _submission(self, text: str) -> Submission:
        return Submission(student="", stage=self.stage.name, code=self._code(text))

    def _code(self, text: str) -> Code:
        return Code(kind="module", cells=(text.encode(),), label=self.stage.stub.name)

    @property
    def _open(self) -> Workers:
        if self._server is None:
            limits = replace(self._own.limits, call_seconds=TEST_SECONDS, restarts_per_exercise=1)
            self._server = own_workers(limits)
            self._server.wait_ready()
        return self._server


def is_right(result: SubmissionResult) -> bool:
    """Whether there is at least one check and every check passed."""
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return bool(checks) and all(check.outcome is Outcome.PASSED for check in checks)


def _verdict(found: object, problem: str) -> Verdict:
    """Convert the reply of a worker, which need not be true: no grade depends on it."""
    counts = found if isinstance(found, dict) else {}
    passed, failed, broken = (counts.get(key) for key in ("passed", "failed", "broken"))
    why = line(str(counts.get("why") or problem), LONGEST)
    if type(passed) is not int or type(failed) is not int or broken:
        return Verdict(ran=False, caught=False, why=why)
    if not passed + failed:
        why = "it has no function whose name begins with test_"
        return Verdict(ran=False, caught=False, why=why)
    return Verdict(ran=True, caught=failed > 0, why=why)
