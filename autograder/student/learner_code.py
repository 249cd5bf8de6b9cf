"""Runs a learner's own module, versions with one place changed, and the learner's tests on them."""

import importlib
import random
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from autograder.course import Handout, Stage
from autograder.results import CheckResult, Outcome, SubmissionResult
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import BadMessageError
from autograder.sandbox.spawned_workers import Workers, own_workers
from autograder.sandbox.tensors import decode
from autograder.sanitize import line
from autograder.student import stage_picture
from autograder.student.check import check_with_suite
from autograder.student.stage_picture import PictureRows, differs
from autograder.submission import Code, Submission
from autograder.submission.notebook import lines_of, span_of

TEST_SECONDS: Final = 10.0  # for pytest and a few tests on tensors of a few numbers
LONGEST: Final = 200  # characters of a line that the learner's code has produced
WORKER_TESTS: Final = "autograder.student.tests_in_worker"
UNNAMED: Final = 5  # wrong modules to try until one has a named mistake
# Takes a text and ranges of its lines; yields, for each change, a description and the new text.
SmallChanges = Callable[[str, Sequence[range]], Iterable[tuple[str, str]]]


class WrongModule(msgspec.Struct, frozen=True):
    """A wrong module: the *change* in an *exercise*, the mistake's *name*, and its picture."""

    change: str
    exercise: str
    name: str
    text: str
    rows: PictureRows


class Verdict(NamedTuple):
    """The outcome of the learner's tests on one module; *why* is empty if all of them passed."""

    ran: bool
    caught: bool
    why: str


class LearnerCode:
    """Runs the learner's code in one stage in workers, right or after one of *small_changes*."""

    def __init__(self, own: Handout, stage: Stage, small_changes: SmallChanges) -> None:
        importlib.import_module("pytest")  # before the fork, so that workers need not import it
        self.stage = stage
        self._own, self._small_changes = own, small_changes
        self._server: Workers | None = None

    def close(self) -> None:
        """End the fork server."""
        if self._server is not None:
            self._server.close()

    def check(self, text: str) -> SubmissionResult:
        """Run the public suite on the module *text*."""
        return check_with_suite(self._own, self._submission(text), self._open, public=True)

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

    def wrong_modules(self, text: str, right: PictureRows) -> Generator[WrongModule, None, None]:
        """Yield changed modules with a different picture and a wrong value, in random order."""
        changed = list(self._changed(text))
        random.shuffle(changed)
        server = self._open  # it forks before the runner is loaded
        from autograder.grading.grade import grade_one  # noqa: PLC0415  # loaded after the fork
        from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # loaded after the fork

        with open_suites(self._own, [self.stage], public=True) as runner:
            for exercise, change, wrong in changed:
                rows = self.picture(wrong)
                if rows is None or not differs(rows, right):
                    continue
                result = grade_one(runner, server, self._submission(wrong), exercise=exercise)
                checks = _checks(result)
                outcomes = {check.outcome for check in checks}
                if Outcome.FAILED in outcomes and Outcome.ERRORED not in outcomes:
                    names = (check.diagnosis.title for check in checks if check.diagnosis)
                    yield WrongModule(change, exercise, next(names, ""), wrong, rows)

    def _changed(self, text: str) -> Iterator[tuple[str, str, str]]:
        """Yield, for each small change, the exercise, a description and the changed module."""
        lines = lines_of(text)
        for exercise in self.stage.exercises:
            span = span_of(text, exercise.name)
            if span is None:
                continue
            before, after = lines[: span[0] - 1], lines[span[1] :]
            if self.picture("".join([*before, f"{exercise.name} = None\n", *after])) is not None:
                continue  # the picture does not depend on the exercise
            for change, changed in self._small_changes(text, [range(span[0], span[1] + 1)]):
                own = lines_of(changed)[span[0] - 1 : span[1]]  # a change keeps the number of lines
                yield exercise.name, change, "".join([*before, *own, *after])

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
    return {check.outcome for check in _checks(result)} == {Outcome.PASSED}


def _checks(result: SubmissionResult) -> list[CheckResult]:
    return [check for exercise in result.exercises for check in exercise.checks]


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


def first_named(found: Generator[WrongModule, None, None]) -> WrongModule | None:
    """Return the first module whose mistake has a name, or an unnamed one after a few tries."""
    with closing(found):
        seen = []
        for one in found:
            seen.append(one)
            if one.name or len(seen) == UNNAMED:
                return one
        return seen[-1] if seen else None
