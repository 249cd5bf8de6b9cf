"""Tests whether rounding could decide the answers of a program to a check.

A different processor rounds each step of a program differently. This module shifts every number
that a check sends by more than such an error, up and down. If the answers then differ by more than
the noise, or the program ends differently, its results are not the same on every machine.
"""

from enum import Enum, auto
from typing import Any

import pytest
import torch

from autograder.diagnosis.observation import Match, Observation, compare, does_not_end
from autograder.diagnosis.programs import Run
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import ArrayValue, Reply, TensorValue, Value, Verb
from autograder.sandbox.static_names import Definition
from autograder.sandbox.tensors import decode_tensor, encode_tensor
from autograder.suite.noise import LEAST_MARGIN
from autograder.suite.student_proxy import SEND_BYTES, Channel

SHIFT = 1e-6  # relative up to 1 and absolute above; ten times the rounding error of a step
CLEAR = 3  # a result that survives this multiple of shift and margin is steady
FAR = 4 * LEAST_MARGIN  # a program this far from the bound of a check passes on every machine
WAVES = 1e4  # numbers that differ by 0.001 are shifted differently, equal numbers equally
ALIKE = {Match.YES, Match.TEXT_ONLY}


class Steadiness(Enum):
    """Whether a program gives the same results on every machine."""

    UNSTEADY = auto()
    BORDERLINE = auto()  # it may look steady or unsteady on a different machine
    STEADY = auto()


class ShiftedChannel:
    """Passes requests to a channel with slightly shifted numbers; whole numbers stay the same."""

    def __init__(self, channel: Channel, share: float) -> None:
        self._channel = channel
        self._share = share

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions in the source, and the names that they use."""
        return self._channel.definitions

    def ask(self, verb: Verb, **fields: Any) -> Reply:
        """Send one request with shifted tensors."""
        args, kwargs = fields.pop("args", ()), fields.pop("kwargs", {})
        return self._channel.ask(
            verb,
            args=tuple(map(self._shifted, args)),
            kwargs={name: self._shifted(value) for name, value in kwargs.items()},
            **fields,
        )

    def _shifted(self, value: Value) -> Value:
        if isinstance(value, ArrayValue):
            inner = self._shifted(value.tensor)
            return ArrayValue(inner) if isinstance(inner, TensorValue) else value
        tensor = decode_tensor(value) if isinstance(value, TensorValue) else None
        if tensor is None or not tensor.is_floating_point():
            return value
        numbers = tensor.double()
        waves = torch.cos(WAVES * numbers).masked_fill(numbers == numbers.round(), 0)
        moved = numbers + self._share * waves * numbers.clamp(-1, 1)
        return encode_tensor(moved.to(tensor.dtype), SEND_BYTES)


def steadiness(
    seen: Observation, check: pytest.Item, channel: Channel, run: Run, *, in_doubt: bool = False
) -> Steadiness:
    """Return whether the program behind *channel* gives the results *seen* on every machine.

    A result that was undecided in the last build is *in_doubt* and must survive twice the shift.
    Otherwise it could be steady in one build and undecided in the next.
    """
    times = 2 if in_doubt else 1
    if seen.error is None and seen.margin >= times * FAR:
        return Steadiness.STEADY
    is_clear = seen.margin >= times * CLEAR * LEAST_MARGIN
    if isinstance(seen.error, Fault) and not seen.answers and is_clear:  # no number matters
        return Steadiness.STEADY
    if does_not_end(seen.error):  # rounding hardly has an influence, and a run takes long
        return Steadiness.STEADY
    if _holds(seen, check, channel, run, times * CLEAR):
        return Steadiness.STEADY
    return Steadiness.BORDERLINE if _holds(seen, check, channel, run, 1) else Steadiness.UNSTEADY


def _holds(seen: Observation, check: pytest.Item, channel: Channel, run: Run, times: float) -> bool:
    """Whether the program still has the results *seen* after shifts of *times* the usual size."""
    if seen.margin < times * LEAST_MARGIN:
        return False
    shifts = (times * SHIFT, -times * SHIFT)
    shifted = (run(check, ShiftedChannel(channel, share)) for share in shifts)
    return all(
        (one.error is None) == (seen.error is None) and compare(one, seen) in ALIKE
        for one in shifted
    )
