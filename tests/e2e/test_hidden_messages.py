"""Tests that no text about a check with hidden inputs contains a word or number of a worker.

The worker is replaced by a module that answers each request with its own words and numbers.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path

import pytest
import torch

from autograder import course as courses
from autograder.diagnosis.ranking import Explanation, Ranking
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.results import CheckResult
from autograder.sandbox.protocol import (
    DictValue,
    OpaqueValue,
    Problem,
    Reply,
    TensorValue,
    TupleValue,
    Value,
)
from autograder.sandbox.tensors import decode_tensor, encode_tensor
from autograder.submission import Code, Submission
from autograder.suite.in_process import ReferenceChannel, solution_channel
from tests.e2e.test_by_heart import ByHeart, zeros

COURSE = courses.load(Path(__file__).parents[2])
WORD, NUMBER = "CANARY", 0.1875
SETUP = {"has", "load", "mode", "replace"}  # answers have no words; a check needs them


def renamed(value: Value) -> Value:
    """Replace names with words, and numbers with a different number."""
    if isinstance(value, TensorValue):
        return encode_tensor(decode_tensor(zeros(value)).float() + NUMBER, 1 << 26)
    if isinstance(value, DictValue):
        return DictValue({f"{name} {WORD} 7": renamed(item) for name, item in value.items.items()})
    return value


def scaled(value: Value) -> Value:
    """Replace names with words, and multiply every number."""
    if isinstance(value, TensorValue):
        return encode_tensor(decode_tensor(value).detach() * NUMBER, 1 << 26)
    if isinstance(value, DictValue):
        return DictValue({f"{name} {WORD} 7": scaled(item) for name, item in value.items.items()})
    return value


ANSWERS = {
    "opaque": lambda _value: OpaqueValue(f"a {WORD}"),
    "text": lambda _value: WORD,
    "several": lambda value: TupleValue((value, WORD, OpaqueValue(WORD))),
    "renamed": renamed,
}
PROBLEMS = [
    Problem(kind=kind, type=WORD, text=f"{WORD} {NUMBER}", place=WORD, line=187, code=WORD)
    for kind in ("raised", "missing", "bad-output", "not-implemented", "out-of-disk")
]


class Talker(ByHeart):
    """A module that answers with words."""

    def __init__(self, solution: ReferenceChannel, stage: courses.Stage, answer: object) -> None:
        super().__init__(solution, stage.module)
        self._answer = answer

    def ask(self, verb: str, **fields: object) -> Reply:
        """Answer with a word, unless this would end the check."""
        reply = self._solution.ask(verb, **fields)
        if verb in SETUP or (verb == "new" and callable(self._answer)):
            return reply
        if isinstance(self._answer, Problem):
            return Reply(problem=self._answer)
        answer = self._answer(reply.value)
        return Reply(problem=answer) if isinstance(answer, Problem) else Reply(value=answer)


def multiplied(number: int, value: Value) -> Value:
    """Multiply every number."""
    if isinstance(value, TensorValue):
        return encode_tensor(decode_tensor(value).detach() * number, 1 << 26)
    return float(number) if isinstance(value, float) else value


def resized(number: int, value: Value) -> Value:
    """Return *number* zeros in one axis."""
    return zeros_of(number) if isinstance(value, TensorValue) else value


def with_axes(number: int, value: Value) -> Value:
    """Return zeros with *number* axes."""
    return zeros_of(*[1] * number) if isinstance(value, TensorValue) else value


def failing(number: int, _value: Value) -> Problem:
    """Raise in the line of this number."""
    text = f"mat1 and mat2 shapes cannot be multiplied ({number}x2 and {number}x2)"
    return Problem(kind="raised", type="RuntimeError", text=text, line=number, code=str(number))


def zeros_of(*shape: int) -> Value:
    """Encode zeros."""
    return encode_tensor(torch.zeros(shape), 1 << 26)


Results = Callable[..., list[CheckResult]]


@pytest.fixture(scope="module")
def hidden_results() -> Iterator[Results]:
    """Grades such modules in every stage, and returns the results of checks with hidden inputs."""
    with ExitStack() as opened:

        @cache
        def runner(*, diagnose: bool) -> SuiteRunner:
            return opened.enter_context(open_suites(COURSE, COURSE.stages, diagnose=diagnose))

        @cache
        def channel(solution: Path) -> ReferenceChannel:
            return ReferenceChannel(solution_channel(solution))

        def grade(
            answer: object, *, diagnose: bool, stages: Sequence[courses.Stage] = COURSE.stages
        ) -> list[CheckResult]:
            suites = runner(diagnose=diagnose)
            return [
                check
                for stage in stages
                for check in graded(suites, stage, Talker(channel(stage.solution), stage, answer))
            ]

        yield grade


def graded(runner: SuiteRunner, stage: courses.Stage, talker: Talker) -> list[CheckResult]:
    """Grade *talker* as a submission to *stage*; list its checks with hidden inputs."""
    layers = {check.name: check.spec.layer for check in runner.checks(stage.name)}
    code = Code(kind="module", cells=(b"",), label="talker.py")
    submission = Submission(student="x", stage=stage.name, code=code)
    result = runner.grade_submission(submission, talker)
    checks = [check for exercise in result.exercises for check in exercise.checks]
    return [check for check in checks if layers[check.name].hidden]


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        *(pytest.param(answer, id=name) for name, answer in ANSWERS.items()),
        *(pytest.param(problem, id=problem.kind) for problem in PROBLEMS),
    ],
)
def test_hidden_checks_repeat_nothing(answer, hidden_results: Results):
    """A hidden check shows a sentence of the suite for any kind of answer."""
    results = hidden_results(answer, diagnose=False)
    texts = [check.message for check in results]

    assert any(texts)
    assert not [text for text in texts if WORD in text or re.search(r"\d\.\d|187", text)]
    assert not [check.name for check in results if check.grid]


@pytest.mark.slow
def test_hidden_checks_repeat_nothing_in_their_diagnosis(
    hidden_results: Results, monkeypatch: pytest.MonkeyPatch
):
    """The description of a wrong tensor in a hidden check contains no name and no number.

    The sentences of kinds of mistake exist before a module answers.
    """
    monkeypatch.setattr("autograder.diagnosis.misconceptions.read", lambda _path: ())
    monkeypatch.setattr(Ranking, "explanation", lambda _ranking, **_options: Explanation({}))
    answers = (renamed, scaled)
    results = [one for answer in answers for one in hidden_results(answer, diagnose=True)]
    texts = [str(check.diagnosis) for check in results if check.diagnosis]

    assert texts
    assert not [text for text in texts if WORD in text or str(NUMBER) in text]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "number", "other"),
    [
        pytest.param(multiplied, 187, 191, id="factor"),
        pytest.param(resized, 187, 191, id="size"),
        pytest.param(with_axes, 6, 7, id="axes"),
        pytest.param(failing, 187, 191, id="line-and-text"),
    ],
)
def test_next_to_hidden_inputs_no_number_of_an_answer_changes_a_word(
    answer, number: int, other: int, hidden_results: Results, monkeypatch: pytest.MonkeyPatch
):
    """Two programs that differ in one number get the same sentence, so none can leak it."""
    monkeypatch.setattr("autograder.diagnosis.misconceptions.read", lambda _path: ())
    monkeypatch.setattr(Ranking, "explanation", lambda _ranking, **_options: Explanation({}))
    told, again = (
        hidden_results(partial(answer, chosen), diagnose=True) for chosen in (number, other)
    )

    assert any(one.diagnosis for one in told)
    assert told == again


@pytest.mark.slow
def test_kinds_of_mistake_say_the_same_of_every_factor(hidden_results: Results):
    """The sentences of kinds come from the course's code and never from an answer."""
    told, again = (
        hidden_results(
            partial(multiplied, number), diagnose=True, stages=[COURSE.stage("04_self_attention")]
        )
        for number in (187, 191)
    )

    assert any(one.diagnosis for one in told)
    assert told == again


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (187x187 and 187x187)"),
        ("AttributeError", f"'{WORD}' object has no attribute '{WORD}187'"),
        ("ValueError", "not enough values to unpack (expected 187, got 187)"),
    ],
)
def test_hidden_checks_repeat_nothing_of_an_exception_that_is_explained(
    kind: str, text: str, hidden_results: Results, monkeypatch: pytest.MonkeyPatch
):
    """A forged exception in a hidden check leads to a sentence without the exception's words."""
    monkeypatch.setattr("autograder.diagnosis.misconceptions.read", lambda _path: ())
    forged = Problem(kind="raised", type=kind, text=text)
    texts = [str(one.diagnosis) for one in hidden_results(forged, diagnose=True) if one.diagnosis]

    assert texts
    assert not [said for said in texts if WORD in said or "187" in said]
