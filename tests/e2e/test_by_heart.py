"""Tests that a student who copies the answers of the public suite earns at most a fifth.

Such a module returns the solution's answer to each request of the public checks, and zeros of the
right shape for every other request. The module passes the public suite.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
import torch
from torch import Tensor

from autograder import course as courses
from autograder.course import Course, Stage
from autograder.grading.context import RecordingContext
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import Outcome, SubmissionResult
from autograder.sandbox.protocol import (
    BytesValue,
    IntegerValue,
    MappingValue,
    Reply,
    Request,
    TensorValue,
    TextValue,
    Value,
    pack,
    request_of,
)
from autograder.sandbox.tensors import decode_tensor, encode_tensor
from autograder.submission import Code, Submission
from autograder.suite.in_process import (
    LocalChannel,
    ReferenceChannel,
    solution_channel,
)

pytestmark = pytest.mark.slow

SHARE = 0.2  # of the points of a stage
LARGEST_SEED = 10_000  # of the seeds written in checks; other seeds are drawn from the secret
COURSE = courses.load(Path(__file__).parents[2])


class ByHeart:
    """A module that answers from memory, in place of a session of the sandbox."""

    notebook = quiet = False
    problems = ()
    printed = printed_by_import = ""

    def attempts(self) -> tuple[()]:
        """Nothing was tried that the sandbox refused."""
        return ()

    def __init__(self, solution: LocalChannel | ReferenceChannel, module: str) -> None:
        self.module = module
        self.definitions = solution.definitions
        self.learns = True
        self._solution = solution
        self._known: set[tuple[bytes, ...]] = set()
        self._asked: tuple[bytes, ...] = ()

    def open(self) -> None:
        """Import nothing."""

    def begin(self, exercise: str) -> None:
        """Charge nothing."""

    def charged(self, _own_seconds: float) -> AbstractContextManager[None]:
        """Charge nothing."""
        return nullcontext()

    def followed_by(self, _cell: bytes) -> AbstractContextManager["ByHeart"]:
        """Answer as before: the solution's definitions cannot follow a memory."""
        return nullcontext(self)

    def ask(self, verb: str, **fields: object) -> Reply:
        """Return the solution's reply to a memorized request, otherwise zeros of its shape."""
        request = request_of(verb, fields)
        self._asked = (*(() if request.fresh else self._asked), key_of(request))
        reply = self._solution.answer(request)
        if self.learns:
            self._known.add(self._asked)
        if self._asked in self._known or verb in {"has", "new", "signature", "load", "mode"}:
            return reply
        return Reply(value=zeros(reply.value), problem=reply.problem)


def key_of(request: Request) -> bytes:
    """Return *request* without a secret seed, because a module cannot depend on it."""
    seed = request.seed if (request.seed or 0) < LARGEST_SEED else None
    return pack(Request(**{name: getattr(request, name) for name in KEPT}, seed=seed))


KEPT = ("verb", "name", "handle", "args", "kwargs")


def zeros(value: Value) -> Value:
    """Replace the tensors and numbers in *value* with zeros, and make its texts empty."""
    if isinstance(value, str | BytesValue | TextValue | IntegerValue):
        return "" if isinstance(value, str) else type(value)(b"")
    if isinstance(value, MappingValue):
        return MappingValue(tuple((key, zeros(item)) for key, item in value.items))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return type(value)(0)
    if isinstance(value, TensorValue):
        return encode_tensor(torch.zeros_like(decode_tensor(value)), 1 << 26)
    items = getattr(value, "items", None)
    if isinstance(items, dict):
        return type(value)({name: zeros(item) for name, item in items.items()})
    return type(value)(tuple(map(zeros, items))) if isinstance(items, tuple) else value


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[SubmissionResult, SubmissionResult]]:
    """The results of the module in each stage, on the public inputs and in grading."""
    return {stage.name: both for stage in COURSE.stages for both in graded(COURSE, stage)}


def graded(course: Course, stage: Stage) -> Iterator[tuple[SubmissionResult, SubmissionResult]]:
    """Let a module memorize the public inputs, and grade it on these and on hidden inputs."""
    module = ByHeart(solution_channel(stage.solution), stage.module)
    with open_suites(course, [stage], context=RecordingContext(course), diagnose=False) as runner:
        public = grade(runner, stage, module)
    module.learns = False
    with open_suites(course, [stage], diagnose=False) as runner:
        yield public, grade(runner, stage, module)


def grade(runner: SuiteRunner, stage: Stage, module: ByHeart) -> SubmissionResult:
    """Grade *module* as a submission to *stage*."""
    code = Code(kind="module", cells=(b"",), label="by_heart.py")
    return runner.grade_submission(Submission(student="x", stage=stage.name, code=code), module)


@pytest.fixture(params=[stage.name for stage in COURSE.stages])
def result(request: pytest.FixtureRequest, results) -> tuple[SubmissionResult, SubmissionResult]:
    """The two results of one stage."""
    return results[request.param]


def test_it_is_green_with_the_public_inputs(result):
    """A module that has memorized the public suite passes it."""
    public, _ = result

    assert public.score == public.max_score


def test_it_earns_at_most_a_fifth_in_grading(result):
    """Documented values and laws count only if a check on hidden inputs passes."""
    _, hidden = result
    probes = [check for exercise in hidden.exercises for check in exercise.checks]

    assert hidden.score <= SHARE * hidden.max_score
    assert any(check.outcome is Outcome.PASSED for check in probes)


def test_zeros_replace_every_tensor():
    """Zeros replace every tensor of the public suite; otherwise the module would pass."""
    value = encode_tensor(torch.ones(2, 3), 1 << 10)

    assert isinstance(decode_tensor(zeros(value)), Tensor)
    assert not decode_tensor(zeros(value)).any()
