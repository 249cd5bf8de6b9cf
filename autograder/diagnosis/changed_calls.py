"""Repeats the last call of a check with other numbers, one argument or parameter changed at a time.

The numbers are drawn from a public seed, whatever the check drew: only shapes, masks and constants
of its requests are used again. The same calls go to the solution and to a student's code.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.sandbox.protocol import (
    ObjectValue,
    Reply,
    Request,
    TensorValue,
    Value,
)
from autograder.sandbox.tensors import decode, encode_tensor
from autograder.suite.student_proxy import SEND_BYTES

SEED = 20  # of the numbers that are drawn; any will do
# Of the numbers. Small, so that no softmax, scaled or not, makes a weight so small that it is lost
# by rounding: what has no effect then has none.
SCALE = 0.3
FULL_SIZE = 4  # of a parameter; larger ones get smaller numbers, so that sums over them stay small
MAX_ENTRIES = 1 << 12  # of one tensor; those of checks have some hundreds
MAX_ROWS = 8  # whose changes are tried
CALLS = frozenset({"call", "forward"})  # the verbs that call a function or a module
MODULE = 0  # the number of the module that is created first
SMALLEST = 1e-3  # of the largest number of a result; of a smaller one nothing is certain


class Change(NamedTuple):
    """What is changed in the tensor *name*; *number* is a factor, or that of a row or an item.

    *draw* is that of the numbers that are put there.
    """

    kind: str  # one of KINDS
    name: str = ""
    number: int = 0
    draw: int = 0


UNCHANGED, REPEATED, LAST = (Change("none", draw=draw) for draw in range(3))


def _replaced(tensor: Tensor, change: Change, axis: int) -> Tensor:
    """Put other numbers into one entry of *axis*, larger ones in later draws."""
    changed = tensor.clone()
    part = changed.select(axis, change.number)
    part.copy_((1 + 2 * change.draw) * _draw(part, SEED + 1 + change.draw))
    return changed


KINDS: Mapping[str, Callable[[Tensor, Change], Tensor]] = {
    "none": lambda tensor, _change: tensor,
    "other": lambda tensor, change: _draw(tensor, SEED + 1 + change.draw),
    "times": lambda tensor, change: change.number * tensor,
    "plus_one": lambda tensor, _change: tensor + 1,
    "row": lambda tensor, change: _replaced(tensor, change, -2),
    "item": lambda tensor, change: _replaced(tensor, change, 0),
    "filled": lambda tensor, change: torch.full_like(tensor, change.number),  # a mask
}


@dataclass(frozen=True)
class Call:
    """A call of a function, or of a module after its construction by *new*.

    *tensors* are the numbers of arguments and parameters by name, *masks* arguments of ones and
    zeros, *parameters* says which of the names are parameters, *numbers* are whole numbers that the
    call or the constructor gets. *then* changes tensors further.
    """

    request: Request
    new: Request | None
    names: tuple[str, ...]  # of the arguments by position
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    masks: Mapping[str, Tensor] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    numbers: Mapping[str, int] = field(default_factory=dict)
    then: Mapping[str, Callable[[Tensor], Tensor]] = field(default_factory=dict)

    @functools.cached_property
    def start(self) -> tuple[Request, ...]:
        """The requests that come first: they create the module, in evaluation mode."""
        if self.new is None:
            return ()
        created = replace(
            self.new, fresh=True, seed=SEED if self.new.seed is None else self.new.seed
        )
        parameters = {name: self.changed(name, UNCHANGED) for name in self.parameters}
        return created, Request(verb="mode", name="eval", handle=MODULE), _load(parameters)

    def requests(self, change: Change) -> tuple[Request, ...]:
        """Return the requests that call with *change*, and undo it; they are kept."""
        if change not in self._requests:
            self._requests[change] = tuple(self._requests_of(change))
        return self._requests[change]

    def changed(self, name: str, change: Change) -> Tensor:
        """Return the tensor *name* after *change*."""
        tensor = self.tensors[name] if name in self.tensors else self.masks[name]
        if name == change.name:
            tensor = KINDS[change.kind](tensor, change)
        return self.then[name](tensor) if name in self.then else tensor

    @functools.cached_property
    def _requests(self) -> dict[Change, tuple[Request, ...]]:
        return {}

    def _requests_of(self, change: Change) -> Iterator[Request]:
        own = change.name in self.parameters
        if own:
            yield _load({change.name: self.changed(change.name, change)})
        positional = zip(self.names, self.request.args, strict=False)
        named = self.request.kwargs.items()
        yield replace(
            self.request,
            handle=MODULE if self.new else -1,
            args=tuple(self._value(name, value, change) for name, value in positional),
            kwargs={name: self._value(name, value, change) for name, value in named},
            seed=SEED + change.draw if change.kind == "none" else SEED,
            fresh=self.new is None,
        )
        if own:
            yield _load({change.name: self.changed(change.name, UNCHANGED)})

    def _value(self, name: str, value: Value, change: Change) -> Value:
        if name in self.parameters or not (name in self.tensors or name in self.masks):
            return value
        return encode_tensor(self.changed(name, change), SEND_BYTES)


def _load(values: Mapping[str, Tensor]) -> Request:
    encoded: dict[str, Value] = {
        name: encode_tensor(value, SEND_BYTES) for name, value in values.items()
    }
    return Request(verb="load", handle=MODULE, kwargs=encoded)


def all_changes(call: Call) -> Iterator[Change]:
    """Yield the changes that the readings compare, all but those that confirm one."""
    yield from (UNCHANGED, REPEATED)
    for name in call.masks:
        yield from (Change("filled", name, value) for value in (0, 1))
    for name, tensor in call.tensors.items():
        if name not in call.parameters:
            yield from item_changes(name, tensor)
            yield from row_changes(name, tensor)
        yield from (Change(kind, name) for kind in ("other", "plus_one"))
        yield Change("times", name, 2)
    yield LAST


def item_changes(name: str, tensor: Tensor) -> list[Change]:
    """List the changes of the first items of a batch of matrices."""
    several = tensor.ndim > 2 and len(tensor) > 1  # noqa: PLR2004  # a batch of matrices
    return [Change("item", name, index) for index in range(2)] if several else []


def row_changes(name: str, tensor: Tensor) -> list[Change]:
    """List the changes of each row."""
    few = tensor.ndim > 1 and 1 < tensor.shape[-2] <= MAX_ROWS
    return [Change("row", name, index) for index in range(tensor.shape[-2])] if few else []


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
    if request.verb not in CALLS or _holds_module(request):
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
    numbers = _numbers(names, request) | (
        _numbers(solution.arguments(new.name), new) if new else {}
    )
    call = Call(request, new, names, drawn, masks, numbers=numbers)
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


def _numbers(names: Iterable[str], request: Request) -> dict[str, int]:
    """Return the whole numbers above one that are passed, by name."""
    named = {**dict(zip(names, request.args, strict=False)), **request.kwargs}
    return {name: value for name, value in named.items() if type(value) is int and value > 1}


def _tensors(names: Sequence[str], request: Request) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Draw numbers for the tensors of *request*, and keep its masks as they are."""
    named = {**dict(zip(names, request.args, strict=False)), **request.kwargs}
    given = {name: _plain(value) for name, value in named.items() if isinstance(value, TensorValue)}
    drawn: dict[str, Tensor] = {}
    masks: dict[str, Tensor] = {}
    for index, (name, tensor) in enumerate(given.items()):
        if not isinstance(tensor, Tensor):
            continue
        if is_mask(tensor):
            masks[name] = tensor
        elif is_drawn(tensor):
            drawn[name] = _draw(tensor, SEED + 100 + index)
    return drawn, masks


def is_mask(tensor: Tensor) -> bool:
    """Whether *tensor* holds ones and zeros alone."""
    return bool(((tensor == 0) | (tensor == 1)).all())


def is_drawn(tensor: Tensor) -> bool:
    """Whether other numbers are drawn in the place of those in *tensor*."""
    return not is_mask(tensor) and tensor.is_floating_point() and bool(tensor.isfinite().all())


def _draw(like: Tensor, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (SCALE * torch.randn(like.shape, generator=generator)).to(like.dtype)
