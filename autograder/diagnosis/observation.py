"""Records one run of one check: every answer in order, and how the run ended.

``compare`` decides whether a misconception explains the results of a student's code.
"""

import itertools
import math
import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum, auto
from typing import Any, NamedTuple

import pytest

from autograder.results import Status
from autograder.sandbox.faults import Fault, NoGradients, Raised
from autograder.suite.checks import Layer, Notice
from autograder.suite.noise import MARGIN, Agreement, agreement
from autograder.suite.student_proxy import Path

UNCOMPARED_VERBS = {  # they show an idiom, such as the dtype of a mask, or nothing
    "load",
    "mode",
    "move",
    "new",
    "operators",
    "replace",
}


class Observation(NamedTuple):
    """The answers that a check got, and what it raised in the end, ``None`` if it passed.

    *changed_inputs* is true if the last request changed one of its arguments; *methods* are the
    ways in which the check graded more than numbers. *room* is how far the closest comparison was
    from its bound, in units of the noise; it is known of the course's own programs. *notices* are
    for the student to read if the check passed; *doubts* tell an instructor what it could not
    decide. *uncompared* is the notice that a printed value was not compared, because this version
    of torch computes a different one. *given_back* are the arguments that were parts of earlier
    answers, see ``Student``.
    """

    answers: tuple[tuple[str, Any], ...]
    error: BaseException | None
    changed_inputs: bool = False
    methods: frozenset[str] = frozenset()
    room: float = math.inf
    notices: tuple[Notice, ...] = ()
    doubts: tuple[str, ...] = ()
    uncompared: bool = False
    given_back: Mapping[int, Mapping[Path, Path]] = {}

    @property
    def decided(self) -> bool:
        """Whether it would end in the same way on a different machine."""
        return self.room >= MARGIN

    @property
    def fails(self) -> bool:
        """Whether it fails the check on every machine."""
        return self.error is not None and self.decided

    @property
    def passes(self) -> bool:
        """Whether it passes the check on every machine."""
        return self.error is None and self.decided


NOTHING = Observation((), None)


class Failure(NamedTuple):
    """A check that the student's code did not pass, and the observation.

    *shows_values* says whether sentences about it may hold words and sizes of an exception.
    """

    item: pytest.Item
    observation: Observation
    shows_values: bool = False


class Match(Enum):
    """Whether two runs of a check gave the same results."""

    NO = auto()
    UNDECIDED = auto()  # the numbers are too close to differ, and too far apart to agree
    TEXT_ONLY = auto()  # only the text of an exception: many mistakes raise the same text
    YES = auto()  # only then may the diagnosis of one run be given to the other


MATCHES = {
    Agreement.DIFFERENT: Match.NO,
    Agreement.UNDECIDED: Match.UNDECIDED,
    Agreement.SAME: Match.YES,
}


def compare(left: Observation, right: Observation, solution: Observation = NOTHING) -> Match:
    """Compare two runs of one check: all answers, and how they ended.

    *solution* is the solution's run of the same check. If neither run got an answer, the last
    messages must agree; of an exception only type and text count, since its message quotes a line
    of the code.
    """
    if not ended_alike(left.error, right.error):
        return Match.NO
    mine, theirs = _comparable_answers(left, solution), _comparable_answers(right, solution)
    if mine or theirs:
        return MATCHES[agreement(mine, theirs)]
    if isinstance(left.error, NoGradients):
        return Match.TEXT_ONLY  # only the shape of an answer, which many mistakes have
    if does_not_end(left.error):  # each in its own words
        return Match.YES
    if message_without_numbers(left.error) == message_without_numbers(right.error):
        return Match.YES
    return Match.TEXT_ONLY if isinstance(left.error, Raised) else Match.NO


def step_agreement(verb: str, left: Any, right: Any, solution: tuple[str, Any] | None) -> Agreement:
    """Compare the gradable parts of two answers to one request."""
    if verb in UNCOMPARED_VERBS:
        return Agreement.SAME
    parts = (_comparable_part(verb, answer, solution) for answer in (left, right))
    return agreement(*parts)


def is_coincidence(
    explained: Collection[str], layers: Mapping[str, Layer | None], wrong: Iterable[str]
) -> bool:
    """Whether only documented values agree, and an answer for other sizes does not.

    Two mistakes may give the same answers for the sizes of one document. *layers* are those of the
    failed checks, by name; of the others only *wrong* answers count, since an exception contains no
    values.
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


def message_without_numbers(error: BaseException | None) -> str:
    """Return the message of *error* without digits: line numbers do not identify a mistake."""
    return re.sub(r"\d+", "", str(getattr(error, "message", error)))


def _comparable_answers(observation: Observation, solution: Observation) -> list[Any]:
    """Return the answers without those that only show an idiom."""
    expected = solution.answers[: len(observation.answers)]
    return [
        _comparable_part(verb, answer, known)
        for (verb, answer), known in itertools.zip_longest(observation.answers, expected)
        if verb not in UNCOMPARED_VERBS
    ]


def _comparable_part(verb: str, answer: Any, expected: tuple[str, Any] | None) -> Any:
    """Return the part of *answer* that a check can grade.

    The values of buffers are free, and so are those of parameters that the solution does not have:
    only their names count.
    """
    if not isinstance(answer, dict) or verb not in {"buffers", "parameters"}:
        return answer
    if verb == "buffers":
        return dict.fromkeys(answer)
    if expected is None or expected[0] != verb or not isinstance(expected[1], dict):
        return answer
    return {name: value if name in expected[1] else None for name, value in answer.items()}


def ended_alike(left: BaseException | None, right: BaseException | None) -> bool:
    """Compare how two runs ended: exceptions of the code by type and text, others by status."""
    if isinstance(left, Raised) and isinstance(right, Raised):
        return (left.kind, left.text) == (right.kind, right.text)
    return status_of(left) == status_of(right)
