"""Defines observations: the answers of one run of a check, and how the run ended.

``compare`` decides whether a wrong program gives the same results as a student's code.
"""

import itertools
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

import pytest
from torch import Tensor

from autograder.diagnosis.student_code import StudentCode
from autograder.results import Status
from autograder.sandbox.faults import Fault, NoGradients, Raised
from autograder.suite.checks import Layer, Notice, WrongAnswer
from autograder.suite.noise import LEAST_MARGIN, Agreement, agreement
from autograder.suite.student_proxy import PartPath

UNCOMPARED_VERBS = {  # their answers show nothing, or only an idiom such as the dtype of a mask
    "load",
    "mode",
    "move",
    "new",
    "operators",
    "replace",
}


class Observation(NamedTuple):
    """The answers of one run of a check, and the *error* that ended it; ``None`` if it passed.

    *changed_inputs* is true if the last request changed one of its arguments. *methods* are the
    grading methods of ``rules.toml`` that the check used. *margin* is the distance of the closest
    comparison from its bound, in units of the noise; it is measured only for the course's own
    programs. The student reads *notices* if the check passed. The instructor reads *doubts* about
    questions that the check could not decide. *uncompared* is true if a printed value was not
    compared, because this version of torch computes a different one. *given_back* contains the
    arguments that were parts of earlier answers (see ``Student``).
    """

    answers: tuple[tuple[str, Any], ...]
    error: BaseException | None
    changed_inputs: bool = False
    methods: frozenset[str] = frozenset()
    margin: float = math.inf
    notices: tuple[Notice, ...] = ()
    doubts: tuple[str, ...] = ()
    uncompared: bool = False
    given_back: Mapping[int, Mapping[PartPath, PartPath]] = {}

    def without_answers(self) -> "Observation":
        """Return the outcome alone: no mistake of a course has answers of this size."""
        if self.error is not None:
            self.error.__traceback__ = self.error.__context__ = None  # they hold the answers, too
        if isinstance(self.error, WrongAnswer):
            self.error.public_suite_grid = self.error.grid = None  # and so do the tables
        return self._replace(answers=(), given_back={})

    @property
    def decided(self) -> bool:
        """Whether the check would end in the same way on every machine."""
        return self.margin >= LEAST_MARGIN

    @property
    def fails(self) -> bool:
        """Whether the check fails on every machine."""
        return self.error is not None and self.decided

    @property
    def passes(self) -> bool:
        """Whether the check passes on every machine."""
        return self.error is None and self.decided


NOTHING = Observation((), None)


class Failure(NamedTuple):
    """A check that the student's code did not pass, and the observation.

    *shows_values* is true if sentences about it may contain words and sizes of an exception.
    """

    item: pytest.Item
    observation: Observation
    shows_values: bool = False


class Submitted(NamedTuple):
    """The failed and passed checks of one exercise of a submission, and the student's source.

    *right* are the other exercises that passed every check, and *wrong* those that it uses and that
    did not.
    """

    exercise: str
    failures: Sequence[Failure]
    passed: Sequence[pytest.Item]
    code: StudentCode
    right: Collection[str] = ()
    wrong: Collection[str] = ()


class Match(Enum):
    """Whether two runs of a check gave the same results."""

    NO = auto()
    UNDECIDED = auto()  # too close to differ, and too far apart to agree
    TEXT_ONLY = auto()  # only the texts of exceptions agree, which many mistakes may raise
    YES = auto()  # only then do both runs have the same diagnosis


MATCHES = {
    Agreement.DIFFERENT: Match.NO,
    Agreement.UNDECIDED: Match.UNDECIDED,
    Agreement.SAME: Match.YES,
}


def compare(left: Observation, right: Observation, solution: Observation = NOTHING) -> Match:
    """Compare all answers and the ends of two runs of a check.

    *solution* is the solution's run of the same check. If neither run has an answer, the messages
    must agree. For exceptions, type and text count, because the message quotes a line of the code.
    """
    if not ended_alike(left.error, right.error):
        return Match.NO
    mine, theirs = _comparable_answers(left, solution), _comparable_answers(right, solution)
    if mine or theirs:
        return MATCHES[agreement(mine, theirs)]
    if isinstance(left.error, NoGradients):
        return Match.TEXT_ONLY  # only a shape is known, which many mistakes have
    if does_not_end(left.error):  # messages contain different lines
        return Match.YES
    if message_without_numbers(left.error) == message_without_numbers(right.error):
        return Match.YES
    return Match.TEXT_ONLY if isinstance(left.error, Raised) else Match.NO


def step_agreement(verb: str, left: Any, right: Any, solution: tuple[str, Any] | None) -> Agreement:
    """Compare the parts of two answers to one request that a check can grade."""
    if verb in UNCOMPARED_VERBS:
        return Agreement.SAME
    parts = (_comparable_part(verb, answer, solution) for answer in (left, right))
    return agreement(*parts)


def is_coincidence(
    explained: Collection[str], layers: Mapping[str, Layer | None], wrong: Iterable[str]
) -> bool:
    """Whether only documented values agree, while a probe with other sizes disagrees.

    Two mistakes may give the same answers for the sizes of one document. *layers* maps the failed
    checks to their layers. Of the unexplained checks, only those in *wrong* count, because an
    exception contains no values.
    """
    return all(layers[name] is Layer.DOCUMENTED for name in explained) and any(
        layers[name] is Layer.PROBE for name in wrong if name not in explained
    )


def does_not_end(error: BaseException | None) -> bool:
    """Whether the code ran until its time limit."""
    return isinstance(error, Fault) and error.status is Status.TIMEOUT


def status_of(error: BaseException | None) -> str:
    """Return the status of *error*, or the name of its type if it has none."""
    return str(getattr(error, "status", type(error).__name__))


def of_any_torch(text: str) -> str:
    """Return the *text* of an exception as torch 2.14 and older write it, without a step's name."""
    return re.sub(r"\b(?:add)?mm: (?=mat1 and mat2)", "", text)


def message_without_numbers(error: BaseException | None) -> str:
    """Return the message of *error* without digits, because line numbers identify no mistake.

    Records hold messages about missing parts with a capital letter, also at the start of a name.
    """
    text = of_any_torch(str(getattr(error, "message", error)))
    if status_of(error) == Status.MISSING:
        text = text[:1].upper() + text[1:]
    return re.sub(r"\d+", "", text)


def _comparable_answers(observation: Observation, solution: Observation) -> list[Any]:
    """Return the answers that can be compared, without those that only show an idiom."""
    expected = solution.answers[: len(observation.answers)]
    return [
        _comparable_part(verb, answer, known)
        for (verb, answer), known in itertools.zip_longest(observation.answers, expected)
        if verb not in UNCOMPARED_VERBS
    ]


def _comparable_part(verb: str, answer: Any, expected: tuple[str, Any] | None) -> Any:
    """Return the part of *answer* that a check can grade.

    Buffers, and parameters that the solution does not have, may have any values: only their names
    count. A mask may contain booleans, integers or floats.
    """
    if isinstance(answer, Tensor) and _is_mask(answer):
        return answer.float()
    if not isinstance(answer, dict) or verb not in {"buffers", "parameters"}:
        return answer
    if verb == "buffers":
        return dict.fromkeys(answer)
    if expected is None or expected[0] != verb or not isinstance(expected[1], dict):
        return answer
    return {name: value if name in expected[1] else None for name, value in answer.items()}


def _is_mask(answer: Tensor) -> bool:
    """Whether *answer* contains only booleans, or only the integers 0 and 1."""
    whole = not (answer.is_floating_point() or answer.is_complex())
    return whole and bool(((answer == 0) | (answer == 1)).all())


def ended_alike(left: BaseException | None, right: BaseException | None) -> bool:
    """Whether two runs ended alike: with equal type and text of exceptions, else equal status."""
    if isinstance(left, Raised) and isinstance(right, Raised):
        return (left.kind, left.text) == (right.kind, right.text)
    return status_of(left) == status_of(right)
