"""Says what a wrong result depends on, or of which other computation it is the result.

For a wrong answer that nothing else explains: the last call of a check is repeated with other
numbers, by the solution and by the student's code.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

from autograder.course import Stage
from autograder.diagnosis.changed_calls import CALLS, MAX_ROWS, BatchChannel, Call, find_call
from autograder.diagnosis.effects import MIN_ROWS, NOTICED, compare_effects, missing_gradients
from autograder.diagnosis.heuristics import Pattern
from autograder.diagnosis.observation import Failure, Observation
from autograder.diagnosis.operators.programs import Solve
from autograder.diagnosis.single_changes import RightCall, SolutionPair
from autograder.diagnosis.subjects import Pair
from autograder.results import Diagnosis
from autograder.sandbox.faults import Fault
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import solution_channel
from autograder.suite.student_proxy import RemoteModule

MAX_CHECKS = 2  # of one exercise whose last calls are repeated


class CausalReader:
    """Reads what the wrong answers to the checks of one *stage* depend on.

    *solve* runs a check on the solution; what this answers is kept, so that it is computed once for
    a class.
    """

    def __init__(self, stage: Stage, solve: Solve) -> None:
        self._solution = solution_channel(stage.solution)
        self._solve = solve
        self._right: dict[tuple[str, int], RightCall | None] = {}

    def read(
        self, channel: BatchChannel, failures: Sequence[Failure], checks: Sequence[pytest.Item]
    ) -> dict[str, Diagnosis]:
        """Describe the *failures* of one exercise, which has *checks*, by the names of the checks.

        *channel* answers for the student's code; when it no longer does, nothing more is said.
        """
        found: dict[str, Diagnosis] = {}
        wrong: list[tuple[str, RightCall | None]] = []
        for name, seen in ((one.item.name, one) for one in failures):
            solved, _ = self._solve(seen.item)
            if pattern := missing_gradients(seen.observation, solved):
                found[name] = Diagnosis(*pattern)
            elif _is_wrong_number(seen.observation, solved):
                wrong.append((name, self._call(seen.item, len(seen.observation.answers))))
        pairs = [SolutionPair.of(right, channel) for _, right in wrong if right is not None]
        reading = first_difference(pairs, lambda one: self._others(channel, one.call, checks))
        return found | {name: Diagnosis(*reading) for name, _ in wrong if reading}

    def _others(
        self, channel: BatchChannel, call: Call, checks: Sequence[pytest.Item]
    ) -> Iterator[SolutionPair]:
        """Yield the last calls of *checks*, as far as they call the same as *call*."""
        for check in checks:
            solved, exchanges = self._solve(check)
            verbs = [one.request.verb for one in exchanges[: len(solved.answers)]]
            last = max((place for place, verb in enumerate(verbs, 1) if verb in CALLS), default=0)
            right = self._call(check, last) if last else None
            if right and _called(right.call) == _called(call):
                yield SolutionPair.of(right, channel)

    def _call(self, check: pytest.Item, last: int) -> RightCall | None:
        """Return the request number *last* of a check, if it is a call that can be repeated."""
        key = check.nodeid, last  # not all code fails at the same call
        if key not in self._right:
            solved, exchanges = self._solve(check)
            requests = [one.request for one in exchanges[:last]]
            call = find_call(self._solution, requests, handles_of(solved))
            self._right[key] = RightCall(self._solution, call) if call else None
        return self._right[key]


def first_difference(
    pairs: Iterable[Pair], others: Callable[[Pair], Iterable[SolutionPair]] = lambda _: ()
) -> Pattern:
    """Compare the results of *pairs*, the clearest first.

    *others* returns more calls of what a pair calls; nothing is said once the code no longer
    answers.
    """
    for pair in sorted(pairs, key=lambda one: _vagueness(one.call))[:MAX_CHECKS]:
        with contextlib.suppress(Fault):
            if reading := compare_effects(pair, others(pair)):
                return reading
    return None


def handles_of(seen: Observation) -> list[int]:
    """Return the modules that the requests of a check created, -1 for none."""
    return [one.handle if isinstance(one, RemoteModule) else -1 for _, one in seen.answers]


def _called(call: Call) -> tuple[str, str]:
    return call.new.name if call.new else "", call.request.name


def _vagueness(call: Call) -> tuple[bool, bool]:
    """Order calls: those with rows enough first, and of these the ones without a mask."""
    arguments = [one for name, one in call.tensors.items() if name not in call.parameters]
    rows = [one.shape[-2] for one in arguments if one.ndim > 1]
    return not all(MIN_ROWS <= count <= MAX_ROWS for count in rows), bool(call.masks)


def _is_wrong_number(seen: Observation, solved: Observation) -> bool:
    """Whether the last answer of a check, to a call, has the right shape and wrong numbers."""
    last = len(seen.answers) - 1
    if not isinstance(seen.error, WrongAnswer) or not 0 <= last < len(solved.answers):
        return False
    (verb, answer), (known, expected) = seen.answers[last], solved.answers[last]
    if verb != known or verb not in CALLS:
        return False
    mine, right = (one[0] if isinstance(one, tuple) and one else one for one in (answer, expected))
    if not isinstance(mine, Tensor) or not isinstance(right, Tensor) or mine.shape != right.shape:
        return False
    return not torch.allclose(mine.double(), right.double(), rtol=NOTICED, atol=NOTICED)
