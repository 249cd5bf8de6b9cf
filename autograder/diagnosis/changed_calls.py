"""Repeats the last call of a check with other numbers, one argument or parameter changed at a time.

The numbers are drawn from a public seed, whatever the check drew: only shapes, masks and constants
of its requests are used again. The same calls go to the solution and to a student's code.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.sandbox.protocol import (
    BadMessageError,
    ListValue,
    ObjectValue,
    Reply,
    Request,
    TensorValue,
    TupleValue,
    Value,
)
from autograder.sandbox.tensors import decode, decode_tensor, encode_tensor
from autograder.suite.student_proxy import SEND_BYTES

SEED = 20  # of the numbers that are drawn; any will do
# Of the numbers. Small, so that no softmax, scaled or not, makes a weight so small that it is lost
# by rounding: what has no effect then has none.
SCALE = 0.3
FULL_SIZE = 4  # of a parameter; larger ones get smaller numbers, so that sums over them stay small
MAX_ENTRIES = 1 << 12  # of one tensor; those of checks have some hundreds
MODULE = 0  # the number of the module that is created first
SMALLEST = 1e-3  # of the largest number of a result; of a smaller one nothing is certain


class Change(NamedTuple):
    """What is changed in the tensor *name*; *number* is that of a row, an item or a draw."""

    kind: str  # one of KINDS
    name: str = ""
    number: int = 0


UNCHANGED, REPEATED, LAST = (Change("none", number=number) for number in range(3))


def _replaced(tensor: Tensor, index: int, axis: int) -> Tensor:
    """Put other numbers into one entry of *axis*."""
    changed = tensor.clone()
    part = changed.select(axis, index)
    part.copy_(_draw(part, SEED + 1))
    return changed


KINDS: Mapping[str, Callable[[Tensor, int], Tensor]] = {
    "none": lambda tensor, _index: tensor,
    "other": lambda tensor, index: _draw(tensor, SEED + 1 + index),
    "doubled": lambda tensor, _index: 2 * tensor,
    "plus_one": lambda tensor, _index: tensor + 1,
    "row": lambda tensor, index: _replaced(tensor, index, -2),
    "item": lambda tensor, index: _replaced(tensor, index, 0),
    "filled": torch.full_like,  # a mask
}


@dataclass(frozen=True)
class Call:
    """A call of a function, or of a module after its construction by *new*.

    *tensors* are the numbers of arguments and parameters by name, *masks* arguments of ones and
    zeros, *parameters* says which of the names are parameters.
    """

    request: Request
    new: Request | None
    names: tuple[str, ...]  # of the arguments by position
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    masks: Mapping[str, Tensor] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()

    @functools.cached_property
    def start(self) -> tuple[Request, ...]:
        """The requests that come first: they create the module, in evaluation mode."""
        if self.new is None:
            return ()
        created = replace(
            self.new, fresh=True, seed=SEED if self.new.seed is None else self.new.seed
        )
        parameters = {name: self.tensors[name] for name in self.parameters}
        return created, Request(verb="mode", name="eval", handle=MODULE), _load(parameters)

    def requests(self, change: Change) -> tuple[Request, ...]:
        """Return the requests that call with *change*, and undo it; they are kept."""
        if change not in self._requests:
            self._requests[change] = tuple(self._requests_of(change))
        return self._requests[change]

    def changed(self, change: Change) -> Tensor:
        """Return the tensor that *change* changes."""
        tensor = (
            self.tensors[change.name] if change.name in self.tensors else self.masks[change.name]
        )
        return KINDS[change.kind](tensor, change.number)

    @functools.cached_property
    def _requests(self) -> dict[Change, tuple[Request, ...]]:
        return {}

    def _requests_of(self, change: Change) -> Iterator[Request]:
        own = change.name in self.parameters
        if own:
            yield _load({change.name: self.changed(change)})
        positional = zip(self.names, self.request.args, strict=False)
        named = self.request.kwargs.items()
        yield replace(
            self.request,
            handle=MODULE if self.new else -1,
            args=tuple(self._value(name, value, change) for name, value in positional),
            kwargs={name: self._value(name, value, change) for name, value in named},
            seed=SEED + change.number if change.kind == "none" else SEED,
            fresh=self.new is None,
        )
        if own:
            yield _load({change.name: self.tensors[change.name]})

    def _value(self, name: str, value: Value, change: Change) -> Value:
        known = self.tensors.get(name, self.masks.get(name))
        if known is None or name in self.parameters:
            return value
        return encode_tensor(self.changed(change) if change.name == name else known, SEND_BYTES)


def _load(values: Mapping[str, Tensor]) -> Request:
    encoded: dict[str, Value] = {
        name: encode_tensor(value, SEND_BYTES) for name, value in values.items()
    }
    return Request(verb="load", handle=MODULE, kwargs=encoded)


class BatchChannel(Protocol):
    """Answers several requests at once: a student's session, or the solution directly."""

    def ask_every(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Do all *requests*; raises ``Fault`` if there is no answer."""


class CreatingChannel(BatchChannel, Protocol):
    """The solution, or what is known of it."""

    def arguments(self, name: str) -> Mapping[str, object]:
        """Return the arguments of function, class or method *name*."""


def find_call(
    solution: CreatingChannel, requests: Sequence[Request], handles: Sequence[int]
) -> Call | None:
    """Return the last of *requests* as a call that can be repeated; ``None`` if it can't be.

    *handles* are the modules that the requests created, -1 for none.
    """
    request = requests[-1]
    if request.verb not in {"call", "forward"} or _holds_module(request):
        return None
    new = None
    if request.handle >= 0:
        created = [
            one for one, handle in zip(requests, handles, strict=False) if handle == request.handle
        ]
        if not created or created[0].verb != "new" or _holds_module(created[0]):
            return None
        new = created[0]
    names = tuple(solution.arguments(owner_of(request, new)))
    if len(request.args) > len(names):
        return None
    drawn, masks = _tensors(names, request)
    call = Call(request, new, names, drawn, masks)
    return _with_parameters(solution, call) if new else call


def owner_of(request: Request, new: Request | None) -> str:
    """Return the function or method that *request* calls, of a module that *new* created."""
    return f"{new.name}.forward" if new else request.name


def _with_parameters(solution: BatchChannel, call: Call) -> Call | None:
    """Add numbers for all parameters of the solution's module."""
    replies = solution.ask_every([call.start[0], Request(verb="parameters", handle=MODULE)])
    found = _plain(replies[-1].value)
    if not isinstance(found, dict):
        return None
    if any(value.numel() > MAX_ENTRIES or name in call.tensors for name, value in found.items()):
        return None
    drawn = {
        name: _draw(value, SEED + 10 + index) * _share(value)
        for index, (name, value) in enumerate(found.items())
    }
    tensors = {**call.tensors, **drawn}
    return dataclasses.replace(call, tensors=tensors, parameters=frozenset(drawn))


def _share(parameter: Tensor) -> float:
    return math.sqrt(min(1.0, FULL_SIZE / max([1, *parameter.shape])))


def _plain(value: Value) -> Any:
    """Decode what holds no module."""
    return decode(value, lambda handle: handle)


def _holds_module(request: Request) -> bool:
    return any(isinstance(one, ObjectValue) for one in (*request.args, *request.kwargs.values()))


def _tensors(names: Sequence[str], request: Request) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Draw numbers for the tensors of *request*, and keep its masks as they are."""
    named = {**dict(zip(names, request.args, strict=False)), **request.kwargs}
    given = {name: _plain(value) for name, value in named.items() if isinstance(value, TensorValue)}
    drawn: dict[str, Tensor] = {}
    masks: dict[str, Tensor] = {}
    for index, (name, tensor) in enumerate(given.items()):
        if not isinstance(tensor, Tensor):
            continue
        if bool(((tensor == 0) | (tensor == 1)).all()):
            masks[name] = tensor
        elif tensor.is_floating_point() and bool(tensor.isfinite().all()):
            drawn[name] = _draw(tensor, SEED + 100 + index)
    return drawn, masks


def _draw(like: Tensor, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (SCALE * torch.randn(like.shape, generator=generator)).to(like.dtype)


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
