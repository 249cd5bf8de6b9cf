"""What the right results of the public checks depend on, as numbers: readings without the solution.

``release`` repeats the calls of the public checks with the solution (``changed_calls``), and keeps
how far each change moves its result: whether not at all, by rounding, or so far that it shows. On a
student's machine these numbers take the place of the solution, and ``causal_readings`` compares the
student's code with them as grading compares it with the solution.
"""

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Protocol

import msgspec
import pytest
import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.diagnosis.causal_readings import first_difference, handles_of
from autograder.diagnosis.changed_calls import (
    CALLS,
    LAST,
    REPEATED,
    UNCHANGED,
    BatchChannel,
    Call,
    Change,
    find_call,
    is_drawn,
)
from autograder.diagnosis.effects import NOTICED, ROUNDING, missing_gradients
from autograder.diagnosis.observation import Failure, Observation, status_of
from autograder.diagnosis.subjects import Pair, Subject
from autograder.results import Diagnosis, Status
from autograder.sandbox.protocol import DictValue, Reply, Request, TensorValue, Value, Verb, pack
from autograder.sandbox.protocol import request_of as as_request
from autograder.sandbox.static_names import Definition
from autograder.sandbox.tensors import decode_tensor, encode_tensor
from autograder.suite.checks import WrongAnswer
from autograder.suite.student_proxy import SEND_BYTES, Channel

LEVELS = (0.0, ROUNDING, NOTICED, 1.0)  # numbers that stand for all between two bounds of readings
DIGITS = {*map(str, range(len(LEVELS)))}
UNUSABLE = "-"  # in the place of levels: the solution gave no finite numbers
KEY_BYTES = 6  # enough for the some thirty calls of a stage
PLACES = {"row", "item"}  # changes of which each row or item has its own levels
Run = Callable[[pytest.Item, Channel], Observation]


class Result(msgspec.Struct, frozen=True):
    """The right result of a call, in multiples of *unit*, and levels of its differences.

    The levels stand by the kind and number of the change, and by the factor by which the result was
    expected to change. Commas separate the tensors and masks of the call, in their order; spaces
    separate rows and items that are changed. Later draws have levels where these are not those of
    the first draw.
    """

    shape: tuple[int, ...]
    unit: float
    numbers: tuple[int, ...]
    levels: dict[str, str]

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for numbers that do not fit together: somebody edited the file."""
        sizes = {1, math.prod(self.shape[:-1])}
        words = [word for words in self.levels.values() for word in re.findall("[^ ,]+", words)]
        if math.prod(self.shape) != len(self.numbers) or not all(
            word == UNUSABLE or (len(word) in sizes and {*word} <= DIGITS) for word in words
        ):
            msg = "the numbers of a result do not fit its shape"
            raise ValueError(msg)


class KnownEffects(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the solution: names of arguments, shapes of parameters, and results.

    Modules and calls are found by a digest of what is asked. *gradients* names the parameters that
    a gradient reaches, by check and number of the request.
    """

    arguments: dict[str, tuple[str, ...]] = {}
    parameters: dict[str, dict[str, tuple[int, ...]]] = {}
    results: dict[str, Result] = {}
    gradients: dict[str, tuple[str, ...]] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names of the solution's functions, arguments and parameters."""
        named = (self.arguments.values(), self.parameters.values(), self.gradients.values())
        return frozenset(self.arguments).union(*chain.from_iterable(named))


class AskedChannel:
    """Passes on what a check asks, and keeps the requests."""

    def __init__(self, channel: Channel) -> None:
        self.requests: list[Request] = []
        self._channel = channel

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions in the source, and the names that they use."""
        return self._channel.definitions

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Do one request, and keep it."""
        self.requests.append(as_request(verb, fields))
        return self._channel.ask(verb, **fields)


class KnownSolution:
    """Answers for the solution what ``find_call`` asks; raises ``KeyError`` for what is unknown."""

    def __init__(self, known: KnownEffects) -> None:
        self._known = known

    def arguments(self, name: str) -> Mapping[str, object]:
        """Return the arguments of function or method *name*."""
        return dict.fromkeys(self._known.arguments[name])

    def ask_every(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Return the parameters of a module that is created; only their shapes count."""
        shapes = self._known.parameters[key(requests[0])]
        zeros: dict[str, Value] = {
            name: encode_tensor(torch.zeros(shape), SEND_BYTES) for name, shape in shapes.items()
        }
        return [Reply(), Reply(value=DictValue(zeros))]


class KnownSubject:
    """Stands for the solution in the comparison of one call."""

    def __init__(self, result: Result, call: Call) -> None:
        self._shape = _reduced(result.shape)
        names = tensors_of(call)
        self._levels = {
            (words, name): levels.split()
            for words, every in result.levels.items()
            for name, levels in zip(names, every.split(","), strict=False)
        }
        self._right = result.unit * torch.tensor(result.numbers).double().reshape(result.shape)

    def ask(self, changes: object) -> None:
        """Ask nothing: everything is known."""

    def answer(self, change: Change) -> Tensor | None:
        """Return the right result, which is known without a change only."""
        return self._right if change == UNCHANGED else None

    def difference(self, change: Change, times: int = 1) -> Tensor | None:
        """Return how far *change* moves the result: the largest level of each row."""
        if change in {REPEATED, LAST}:  # other results are not kept
            return torch.zeros(self._shape)
        name, place = change.name, place_of(change)
        first = self._levels.get((words_of(change._replace(draw=0), times), name), [])
        found = self._levels.get((words_of(change, times), name), first)
        if place >= len(found) or found[place] == UNUSABLE:
            return None
        digits = map(int, found[place])
        levels = torch.tensor([LEVELS[digit] for digit in digits], dtype=torch.double)
        return levels.expand(self._shape.numel()).reshape(self._shape)


class LiveChannel(Channel, BatchChannel, Protocol):
    """A student's session: it answers one request, or several at once."""


class KnownEffectsReader:
    """Reads what the wrong answers to the public checks of one stage depend on.

    *run* runs a check once more on the student's code, to learn what it asks.
    """

    def __init__(self, known: KnownEffects, run: Run) -> None:
        self._known = known
        self._run = run

    def read(
        self,
        channel: LiveChannel,
        failures: Sequence[Failure],
        checks: Sequence[pytest.Item],  # noqa: ARG002  # only the solution can be compared in others
    ) -> dict[str, Diagnosis]:
        """Describe the *failures* of one exercise by the names of their checks, as grading does."""
        found: dict[str, Diagnosis] = {}
        wrong: list[Failure] = []
        for failure in failures:
            if pattern := missing_gradients(failure.observation, self._right_gradients(failure)):
                found[failure.item.name] = Diagnosis(*pattern)
            elif _is_wrong_number(failure.observation):
                wrong.append(failure)
        pairs = [pair for one in wrong if (pair := self._pair(channel, one))]
        reading = first_difference(pairs)
        return found | {one.item.name: Diagnosis(*reading) for one in wrong if reading}

    def _pair(self, channel: LiveChannel, failure: Failure) -> Pair | None:
        """Return what is known of the last call of a check, and the student's code."""
        asked, count = AskedChannel(channel), len(failure.observation.answers)
        self._run(failure.item, asked)
        requests, handles = asked.requests[:count], handles_of(failure.observation)
        if len(requests) < count:  # the code does not do the same again
            return None
        try:
            call = find_call(KnownSolution(self._known), requests, handles)
        except KeyError:
            return None
        result = self._known.results.get(key_of(call)) if call else None
        if call is None or result is None:
            return None
        return Pair(call, KnownSubject(result, call), Subject(channel, call))

    def _right_gradients(self, failure: Failure) -> Observation:
        """Return what the solution shows of the gradients that the code was asked for last."""
        count = len(failure.observation.answers)
        names = self._known.gradients.get(f"{failure.item.name} {count - 1}", ())
        right = {"gradients": dict.fromkeys(names, torch.ones(1))}
        return Observation((("gradients", right),) * count, None)


def words_of(change: Change, times: int) -> str:
    """Return under which words the levels of *change* stand: all but what differs among them."""
    alike = change._replace(name="", number=0) if change.kind in PLACES else change
    rest = (value for name, value in alike._asdict().items() if name not in {"kind", "name"})
    return " ".join(map(str, (change.kind, *rest, times)))


def place_of(change: Change) -> int:
    """Return the place of the levels of *change* under its words."""
    return change.number if change.kind in PLACES else 0


def tensors_of(call: Call) -> list[str]:
    """Return the names of what may be changed in *call*."""
    return [*call.tensors, *call.masks]


def _reduced(shape: Sequence[int]) -> torch.Size:
    """Return the shape of a result with one number for each row."""
    return torch.Size([*shape[:-1], 1] if shape else [])


def _is_wrong_number(seen: Observation) -> bool:
    """Whether the last answer of a check, to a call, has wrong numbers and nothing else."""
    if not isinstance(seen.error, WrongAnswer) or not seen.answers:
        return False
    return status_of(seen.error) == Status.WRONG_VALUE and seen.answers[-1][0] in CALLS


def key_of(call: Call) -> str:
    """Return a digest of *call* and of the creation of its module."""
    return key(*([call.new] if call.new else []), call.request)


def key(*requests: Request) -> str:
    """Return a digest of what is asked, whatever numbers are in the tensors that are drawn."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    for request in requests:
        args = tuple(map(_without_drawn, request.args))
        kwargs = {name: _without_drawn(value) for name, value in request.kwargs.items()}
        bare = Request(verb=request.verb, name=request.name, args=args, kwargs=kwargs)
        digest.update(pack(bare))
    return digest.hexdigest()


def _without_drawn(value: Value) -> Value:
    """Leave out the numbers of a tensor in whose place ``changed_calls`` draws others."""
    if not isinstance(value, TensorValue):
        return value
    return replace(value, data=b"") if is_drawn(decode_tensor(value)) else value
