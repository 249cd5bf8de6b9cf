"""Repeats the last call of a check with other numbers, one argument or parameter changed at a time.

The numbers are drawn from a public seed, whatever the check drew: only shapes, masks and constants
of its requests are used again. The same calls go to the solution and to a student's code.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograder.sandbox.faults import Fault, Raised
from autograder.sandbox.protocol import ObjectValue, Request, TensorValue, Value
from autograder.sandbox.tensors import decode
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Channel, RemoteModule, Student

SEED = 20  # of the numbers that are drawn; any will do
# Of the numbers. Small, so that no softmax, scaled or not, makes a weight so small that it is lost
# by rounding: what has no effect then has none.
SCALE = 0.3
FULL_SIZE = 4  # of a parameter; larger ones get smaller numbers, so that sums over them stay small
MAX_ENTRIES = 1 << 12  # of one tensor; those of checks have some hundreds
MAX_CALLS = 80  # of one subject; most readings take some twenty


class Change(NamedTuple):
    """What is changed in the tensor *name*; *number* is that of a row, an item or a draw."""

    kind: str  # one of KINDS
    name: str = ""
    number: int = 0


UNCHANGED, REPEATED = Change("none"), Change("none", number=1)


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

    def arguments(self, change: Change) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments after *change*, by position and by name."""
        positional = zip(self.names, self.request.args, strict=False)
        args = tuple(self._value(name, value, change) for name, value in positional)
        named = self.request.kwargs.items()
        return args, {name: self._value(name, value, change) for name, value in named}

    def parameter(self, name: str, change: Change) -> Tensor:
        """Return the parameter *name* after *change*."""
        return self._changed(self.tensors[name], name, change)

    def _value(self, name: str, value: Value, change: Change) -> Any:
        known = self.tensors.get(name, self.masks.get(name))
        if known is None or name in self.parameters:
            return _plain(value)
        return self._changed(known, name, change)

    @staticmethod
    def _changed(tensor: Tensor, name: str, change: Change) -> Tensor:
        return KINDS[change.kind](tensor, change.number) if change.name == name else tensor


def find_call(
    solution: LocalChannel, requests: Sequence[Request], handles: Sequence[int]
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
    owner = f"{new.name}.forward" if new else request.name
    names = tuple(solution.arguments(owner))
    if len(request.args) > len(names):
        return None
    drawn, masks = _tensors(names, request)
    call = Call(request, new, names, drawn, masks)
    return _with_parameters(solution, call) if new else call


def _with_parameters(solution: LocalChannel, call: Call) -> Call | None:
    """Add numbers for all parameters of the solution's module."""
    try:
        found = _create(Student(solution, SEED), call).parameters()
    except (Fault, WrongAnswer):
        return None
    if any(
        value.numel() > MAX_ENTRIES or name in call.tensors for name, (value, _) in found.items()
    ):
        return None
    drawn = {
        name: _draw(value, SEED + 10 + index) * _share(value)
        for index, (name, (value, _)) in enumerate(found.items())
    }
    return Call(
        call.request, call.new, call.names, {**call.tensors, **drawn}, call.masks, frozenset(drawn)
    )


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


def _create(student: Student, call: Call) -> RemoteModule:
    """Create the module of *call* in evaluation mode."""
    new = call.new
    assert new is not None  # noqa: S101  # the caller knows
    args = [_plain(value) for value in new.args]
    kwargs = {name: _plain(value) for name, value in new.kwargs.items()}
    return student.new(new.name, *args, seed=new.seed, **kwargs).eval()


class Subject:
    """One module, the solution's or a student's, that answers *call* under changes.

    Raises ``Fault`` from the constructor if it can't be set up.
    """

    def __init__(self, channel: Channel, call: Call) -> None:
        self._call = call
        self._student = Student(channel, SEED)
        self._module = _create(self._student, call) if call.new else None
        self._answers: dict[Change, Tensor | None] = {}
        if self._module is not None:
            self._module.load({name: call.tensors[name] for name in call.parameters})

    def answer(self, change: Change) -> Tensor | None:
        """Return the result after *change*, ``None`` unless it is a tensor of finite numbers.

        Raises ``Fault`` if the code no longer answers.
        """
        if change not in self._answers:
            asked = len(self._answers) < MAX_CALLS
            self._answers[change] = self._ask(change) if asked else None
        return self._answers[change]

    def _ask(self, change: Change) -> Tensor | None:
        args, kwargs = self._call.arguments(change)
        own = change.name in self._call.parameters
        seed = SEED + change.number if change.kind == "none" else SEED
        try:
            if self._module is None:
                name = self._call.request.name
                return _finite(self._student.call(name, *args, seed=seed, **kwargs))
            if own:
                self._module.load({change.name: self._call.parameter(change.name, change)})
            answer = _finite(self._module(*args, seed=seed, **kwargs))
            if own:
                self._module.load({change.name: self._call.parameter(change.name, UNCHANGED)})
        except Raised:
            return None
        return answer


def _finite(answer: Any) -> Tensor | None:
    """Return *answer*, or the first of several, if it is a tensor of finite numbers."""
    first = answer[0] if isinstance(answer, list | tuple) and answer else answer
    if not isinstance(first, Tensor) or not first.is_floating_point() or not first.numel():
        return None
    return first.detach().double() if bool(first.isfinite().all()) else None
