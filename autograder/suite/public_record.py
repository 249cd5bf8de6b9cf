"""Stores the solution's replies to the checks of a public suite, and answers from this record.

A student's machine has no solution. ``release`` runs the public checks with the public seed, and
records the solution's replies and the documented values that they use. The record contains numbers,
and only words that are in the public suite or the stub.
"""

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any, Final

import msgspec
import torch
from msgspec.structs import replace

from autograder.errors import CourseError, UsageError
from autograder.sandbox import protocol
from autograder.sandbox.protocol import Reply, Request, TensorValue, Value, Verb, request_of
from autograder.sandbox.static_names import Definition
from autograder.sandbox.tensors import decode_tensor, tensor_bytes
from autograder.sandbox.transcript import Exchange
from autograder.suite import records
from autograder.suite.documented import TENSOR, DocumentedTensor, DocumentedTensors
from autograder.suite.in_process import COMPUTED
from autograder.suite.noise import EXPECTED_DIGITS, Agreement, agreement, rounded, scale_of
from autograder.suite.packed_numbers import LARGEST, column_of, numbers_in

OWN_WORDS = frozenset({"output", "gradients", *(f"input {number}" for number in range(9))})
DOCUMENTED_FIELDS = ("decimals", "value", "exact", "from_printed", "tokens")
PACKED_DTYPE: Final = "float32"
UNIT: Final = 10.0**EXPECTED_DIGITS  # the column has whole numbers
RARE_FIELDS = ("digits", "torch")  # fields that most entries lack; also `form`


class RecordedReply(msgspec.Struct, frozen=True, array_like=True):
    """The reply to one request; *request* is a digest of that request."""

    request: int
    value: Value


class PublicRecord(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The solution's replies, and the *points* of all checks and of those that are hidden."""

    points: float
    hidden_points: float
    documented: dict[str, dict[str, Any]]
    replies: dict[str, tuple[RecordedReply, ...]]
    column: bytes = b""  # in a file, the numbers of the tensors in the replies

    @functools.cached_property
    def tensors(self) -> DocumentedTensors:
        """The documented tensors that the public checks use."""
        where = {"document": "", "cell": "", "drawn": "", "stage": ()}
        return DocumentedTensors(
            msgspec.convert({"name": name} | where | fields, DocumentedTensor)
            for name, fields in self.documented.items()
        )

    def channel(self, check: str) -> "RecordedChannel":
        """Return the channel that answers the requests of *check* in place of the solution."""
        return RecordedChannel(check, self.replies.get(check, ()))


class RecordedChannel:
    """Answers the requests of one check, in their order, from a record."""

    definitions: tuple[Definition, ...] = ()

    def __init__(self, check: str, replies: Sequence[RecordedReply]) -> None:
        self._check = check
        self._replies = iter(replies)

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Return the next reply; raise ``UsageError`` if a different request was recorded."""
        found = next(self._replies, None)
        if found is None or found.request != _outline(request_of(verb, fields)):
            msg = f"The check {self._check} does not match the record next to its suite."
            raise UsageError(msg)
        return Reply(value=found.value)


def recorded(check: str, exchanges: Sequence[Exchange]) -> tuple[RecordedReply, ...]:
    """Convert *exchanges* to recorded replies; raise ``CourseError`` if one has a problem."""
    found = []
    for exchange in exchanges:
        if exchange.reply.problem is not None:
            raised = exchange.reply.problem.type
            raise CourseError(f"{check}: the solution raises {raised}. Mark the check as hidden.")
        found.append(
            RecordedReply(_outline(exchange.request), _mapped(exchange.reply.value, _rounded))
        )
    return tuple(found)


def documented_fields(tensor: DocumentedTensor) -> dict[str, Any]:
    """Return the parts of a documented tensor that a check needs, without its origin."""
    fields = msgspec.to_builtins(tensor)
    kept = {name: fields[name] for name in DOCUMENTED_FIELDS}
    rare = {name: fields[name] for name in RARE_FIELDS if fields[name]}
    return kept | rare | ({"form": tensor.form} if tensor.form != TENSOR else {})


def read(path: Path) -> PublicRecord:
    """Read the record in the file at *path*; raise ``UsageError`` if that is not possible."""
    record = records.read(path, "replies", PublicRecord)
    numbers = numbers_in(record.column) / UNIT

    def unpack(value: Value) -> Value:
        nonlocal numbers
        if not isinstance(value, TensorValue) or value.data or not (count := prod(value.shape)):
            return value
        own, numbers = numbers[:count], numbers[count:]
        return replace(value, data=tensor_bytes(torch.from_numpy(own).to(torch.float32)))

    return replace(_with_values(record, unpack), column=b"")


def packed(record: PublicRecord) -> PublicRecord:
    """Return *record* for a file: its rounded float32 numbers are in the column."""
    column: list[int] = []

    def pack(value: Value) -> Value:
        if not isinstance(value, TensorValue) or value.dtype != PACKED_DTYPE:
            return value
        numbers = decode_tensor(value)
        whole = (numbers.double() * UNIT).round()
        if not (whole.abs() <= LARGEST).all() or not torch.equal((whole / UNIT).float(), numbers):
            return value
        column.extend(map(int, whole.flatten().tolist()))
        return replace(value, data=b"")

    found = _with_values(record, pack)
    return replace(found, column=column_of(column))


def words(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield every name in the replies; without the texts that a function or module returns."""
    for exchange in exchanges:
        if exchange.request.verb not in COMPUTED:  # an expected answer, like a number
            yield from (text for text in _texts(exchange.reply.value) if text not in OWN_WORDS)


def differs(left: PublicRecord, right: PublicRecord) -> str:
    """Return the name of the first check whose replies certainly differ; empty if none do."""
    documented = (msgspec.msgpack.encode(one.documented) for one in (left, right))
    if len({*documented}) > 1 or left.points != right.points:
        return "the documented values or the points"
    for check in sorted(left.replies.keys() | right.replies.keys()):
        mine, other = (record.replies.get(check, ()) for record in (left, right))
        if not _agree(mine, other):
            return check
    return ""


def with_known_numbers(record: PublicRecord, known: PublicRecord) -> PublicRecord:
    """Return *record* with the replies of *known* for each check in which the two agree."""
    kept = {
        check: before if _agree(replies, before := known.replies.get(check, ())) else replies
        for check, replies in record.replies.items()
    }
    return replace(record, replies=kept)


def _agree(left: Sequence[RecordedReply], right: Sequence[RecordedReply]) -> bool:
    values = ([[one.request, _plain(one.value)] for one in replies] for replies in (left, right))
    return agreement(*values) is not Agreement.DIFFERENT


def _plain(value: Value) -> Any:
    """Convert a reply's value so that ``agreement`` compares every part of it."""
    match value:
        case TensorValue():
            return [decode_tensor(value), value.requires_grad]
        case protocol.ListValue() | protocol.TupleValue():
            return [type(value).__name__, *map(_plain, value.items)]
        case protocol.DictValue():
            return {key: _plain(item) for key, item in value.items.items()}
        case protocol.MappingValue():
            return [type(value).__name__, *([key, _plain(item)] for key, item in value.items)]
        case _:
            return value


def _texts(value: Value) -> Iterator[str]:
    match value:
        case str():
            yield value
        case protocol.ListValue() | protocol.TupleValue():
            for item in value.items:
                yield from _texts(item)
        case protocol.DictValue():
            for key, item in value.items.items():
                yield key
                yield from _texts(item)


def _outline(request: Request) -> int:
    """Return a digest of *request* without numbers, whose last bits differ between machines."""
    arguments = msgspec.to_builtins(replace(request, args=(), kwargs={}), builtin_types=(bytes,))
    del arguments["may_lack"]  # it does not affect the solution
    shapes = [*map(_shape, request.args), *map(_shape, request.kwargs.values())]
    text = msgspec.msgpack.encode([arguments, shapes, list(request.kwargs)])
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big")


def _shape(value: Value) -> Any:
    if isinstance(value, TensorValue):
        return [value.dtype, value.shape]
    if isinstance(value, protocol.ArrayValue):
        return ["array", value.tensor.dtype, value.tensor.shape]
    if isinstance(value, protocol.ListValue | protocol.TupleValue):
        return list(map(_shape, value.items))
    if isinstance(value, protocol.DictValue):
        return {key: _shape(item) for key, item in value.items.items()}
    if isinstance(value, protocol.MappingValue):
        return [[key, _shape(item)] for key, item in value.items]
    return 0.0 if isinstance(value, float) else value


def _with_values(record: PublicRecord, change: Callable[[Value], Value]) -> PublicRecord:
    return replace(
        record,
        replies={
            check: tuple(replace(one, value=_mapped(one.value, change)) for one in replies)
            for check, replies in record.replies.items()
        },
    )


def _mapped(value: Value, change: Callable[[Value], Value]) -> Value:
    """Return *value* with each of its values changed, and its containers as they are."""
    match value:
        case protocol.ListValue() | protocol.TupleValue():
            return replace(value, items=tuple(_mapped(one, change) for one in value.items))
        case protocol.DictValue():
            items = {key: _mapped(one, change) for key, one in value.items.items()}
            return replace(value, items=items)
        case protocol.MappingValue():
            pairs = tuple((key, _mapped(one, change)) for key, one in value.items)
            return replace(value, items=pairs)
    return change(value)


def _rounded(value: Value) -> Value:
    """Round a number to digits that hold everywhere; raise ``CourseError`` if it can't be held."""
    match value:
        case TensorValue():
            return _rounded_tensor(value)
        case float():
            number = rounded(value, 1.0, EXPECTED_DIGITS)
            return number if isinstance(number, float) else value
        case protocol.OpaqueValue():
            raise CourseError(f"a record can't hold {value.kind}")
    return value


def _rounded_tensor(value: TensorValue) -> TensorValue:
    tensor = decode_tensor(value).detach()
    if not tensor.is_floating_point():
        return value
    scale = scale_of(tensor)
    numbers = [float(rounded(one, scale, EXPECTED_DIGITS)) for one in tensor.flatten().tolist()]
    return replace(value, data=tensor_bytes(torch.tensor(numbers, dtype=tensor.dtype)))
