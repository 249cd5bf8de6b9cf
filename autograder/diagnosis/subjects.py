"""Asks a solution and a student's code what a call gives under changes, and compares the two."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from autograder.diagnosis.changed_calls import SMALLEST, UNCHANGED, BatchChannel, Call, Change
from autograder.sandbox.protocol import (
    BadMessageError,
    ListValue,
    TensorValue,
    TupleValue,
    Value,
)
from autograder.sandbox.tensors import decode_tensor


class Answering(Protocol):
    """Answers a call under changes: a ``Subject``, or what is known of the solution."""

    def ask(self, changes: Sequence[Change]) -> None:
        """Answer under *changes*, in one message."""

    def answer(self, change: Change) -> Tensor | None:
        """Return the result after *change*."""

    def difference(self, change: Change, times: int = 1) -> Tensor | None:
        """Return how far the result after *change* is from *times* the result without it."""


@dataclass(frozen=True)
class Pair:
    """The right computation and a student's code, with the same call."""

    call: Call
    ours: Answering
    theirs: Answering

    def ask(self, changes: Sequence[Change]) -> None:
        """Ask both for their results under *changes*."""
        self.ours.ask(changes)
        self.theirs.ask(changes)

    def differences(self, change: Change, times: int = 1) -> tuple[Tensor, Tensor] | None:
        """Return how much *change* moves the two results; ``None`` if one of them is unusable.

        *times* is the factor by which it should change them.
        """
        ours, theirs = (one.difference(change, times) for one in (self.ours, self.theirs))
        return None if ours is None or theirs is None else (ours, theirs)

    def arguments(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the tensors of numbers that are passed, by name."""
        for name, tensor in self.call.tensors.items():
            if name not in self.call.parameters:
                yield name, tensor


class Subject:
    """One module, the solution's or a student's, that answers *call* under changes."""

    def __init__(self, channel: BatchChannel, call: Call) -> None:
        self._channel = channel
        self._call = call
        self._answers: dict[Change, Tensor | None] = {}
        self._differences: dict[tuple[Change, int], Tensor | None] = {}

    def ask(self, changes: Iterable[Change]) -> None:
        """Answer under *changes*, in one message; raises ``Fault`` if the code can't be called."""
        new = [change for change in dict.fromkeys(changes) if change not in self._answers]
        if not new:
            return
        requests = [self._call.requests(change) for change in new]
        start = self._call.start
        replies = iter(self._channel.ask_every([*start, *itertools.chain(*requests)]))
        silent = [next(replies).silent for _ in start]
        is_set_up = not start or silent == ["module", "none", "none"]
        for change, sent in zip(new, requests, strict=True):
            done = [next(replies) for _ in sent]
            usable = is_set_up and all(reply.problem is None for reply in done)
            called = done[len(done) // 2]  # a parameter is loaded before it and after it
            self._answers[change] = _finite(called.value) if usable else None

    def answer(self, change: Change) -> Tensor | None:
        """Return the result after *change*, ``None`` unless it is a tensor of finite numbers."""
        return self._answers.get(change)

    def difference(self, change: Change, times: int = 1) -> Tensor | None:
        """Return how far the result after *change* is from *times* the result without it.

        It is relative to the largest number of the result.
        """
        key = change, times
        if key not in self._differences:
            self._differences[key] = self._difference(change, times)
        return self._differences[key]

    def _difference(self, change: Change, times: int) -> Tensor | None:
        before, after = self.answer(UNCHANGED), self.answer(change)
        if before is None or after is None or before.shape != after.shape:
            return None
        return (after - times * before).abs() / before.abs().max().clamp(min=SMALLEST)


def _finite(value: Value) -> Tensor | None:
    """Return *value*, or the first of several, if it is a tensor of finite numbers."""
    first = value
    if isinstance(value, ListValue | TupleValue) and value.items:
        first = value.items[0]
    if not isinstance(first, TensorValue):
        return None
    try:
        tensor = decode_tensor(first).detach()
    except BadMessageError:  # a forged one
        return None
    if not tensor.is_floating_point() or not tensor.numel():
        return None
    return tensor.double() if bool(tensor.isfinite().all()) else None
