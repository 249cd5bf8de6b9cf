"""Stores the solution's replies to the checks of a public suite, and answers from this record.

A student's machine has no solution. ``release`` runs the public checks with the public seed, and
records the solution's replies and the documented values that they use. The record contains numbers,
and only words that are in the public suite or the stub.
"""

import functools
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.errors import CourseError, UsageError
from autograder.sandbox import protocol
from autograder.sandbox.protocol import Reply, Request, TensorValue, Value, Verb, request_of
from autograder.sandbox.static_names import Definition
from autograder.sandbox.tensors import DTYPES, decode_tensor
from autograder.sandbox.transcript import Exchange
from autograder.suite.documented import DocumentedTensor, DocumentedTensors
from autograder.suite.noise import Agreement, agreement, rounded, scale_of

RECORD_VERSION = 1  # increase it when the same sources would give a different record
MAX_BYTES = 1 << 20  # of one record, which students download and every check reads
DIGITS = 6  # decimals at scale 1: ten times finer than the noise; checks compare 4
STRUCTURE = frozenset(
    {"inf", "-inf", "nan", "dtype", "shape", "values", "requires_grad", "module"}
    | {"items", "list", "tuple", "output", "gradients", *(f"input {n}" for n in range(9))}
)
DOCUMENTED_FIELDS = ("decimals", "value", "exact", "from_printed", "tokens")
RARE_FIELDS = ("digits", "torch")  # fields that most entries lack


class RecordedReply(msgspec.Struct, frozen=True, array_like=True):
    """The reply to one request; *request* is a digest of that request."""

    request: int
    value: Any


class PublicRecord(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The content of ``public.json``; *made_from* is the digest of the files it was built from.

    *points* are those of all checks, *hidden_points* those of the checks that students do not have.
    """

    format_version: Literal[1] = 1
    made_from: str
    points: float
    hidden_points: float
    documented: dict[str, dict[str, Any]]
    replies: dict[str, tuple[RecordedReply, ...]]

    @functools.cached_property
    def tensors(self) -> DocumentedTensors:
        """The documented tensors that the public checks use."""
        where = {"document": "", "cell": "", "drawn": "", "stage": ()}
        return DocumentedTensors(
            msgspec.convert(
                {"name": name} | where | fields | {"value": _numbers(fields["value"])},
                DocumentedTensor,
            )
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
        return Reply(value=_from_json(found.value))


def recorded(check: str, exchanges: Sequence[Exchange]) -> tuple[RecordedReply, ...]:
    """Convert *exchanges* to recorded replies; raise ``CourseError`` if one has a problem."""
    found = []
    for exchange in exchanges:
        if exchange.reply.problem is not None:
            raised = exchange.reply.problem.type
            msg = f"{check}: the solution raises {raised}. Mark the check as hidden."
            raise CourseError(msg)
        found.append(RecordedReply(_outline(exchange.request), _to_json(exchange.reply.value)))
    return tuple(found)


def documented_fields(tensor: DocumentedTensor) -> dict[str, Any]:
    """Return the parts of a documented tensor that a check needs, without its origin."""
    fields = msgspec.to_builtins(tensor)
    kept = {name: fields[name] for name in DOCUMENTED_FIELDS}
    kept |= {name: fields[name] for name in RARE_FIELDS if fields[name]}
    return kept | {"value": _json_numbers(tensor.value)}


def read(path: Path) -> PublicRecord:
    """Read the record at *path*; raise ``UsageError`` if it is missing or damaged."""
    found = find(path)
    if found is None:
        msg = f"{path} is missing or damaged. Replace it with the file that you received."
        raise UsageError(msg)
    return found


def find(path: Path) -> PublicRecord | None:
    """Read the record at *path*; ``None`` if it is missing or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=PublicRecord)
    except (OSError, msgspec.MsgspecError):
        return None


def to_json(record: PublicRecord) -> bytes:
    """Encode with one check per line, so that a diff shows each change."""
    fields = msgspec.to_builtins(record)
    lines = [
        f"{json.dumps(name)}: {_lined(value) if isinstance(value, dict) else _compact(value)}"
        for name, value in fields.items()
    ]
    body = ",\n".join(lines)
    return f"{{\n{body}\n}}\n".encode()


def words(record: PublicRecord) -> Iterator[str]:
    """Yield every text in the replies, except dtypes and the keys of the record itself."""
    own = {*DTYPES, *STRUCTURE}
    replies = msgspec.to_builtins(list(record.replies.values()))
    yield from (text for text in _texts(replies) if text not in own)


def differs(left: PublicRecord, right: PublicRecord) -> str:
    """Return the name of the first check whose replies certainly differ; empty if none do."""
    documented = (_compact(one.documented) for one in (left, right))
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
    values = ([msgspec.to_builtins(one) for one in replies] for replies in (left, right))
    return agreement(*values) is not Agreement.DIFFERENT


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _outline(request: Request) -> int:
    """Return a digest of *request* without the values of tensors and floats.

    These may differ in the last bit between machines.
    """
    arguments = {"number": 0}  # kept for the records that students already have
    arguments |= msgspec.to_builtins(replace(request, args=(), kwargs={}), builtin_types=(bytes,))
    for name in ("may_lack",):  # it does not affect the solution
        del arguments[name]
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
    return 0.0 if isinstance(value, float) else value


def _to_json(value: Value) -> Any:
    """Convert a reply's value into JSON; a module becomes its number."""
    match value:
        case TensorValue():
            tensor = decode_tensor(value)
            scale = scale_of(tensor) if tensor.is_floating_point() else 1.0
            return {
                "dtype": value.dtype,
                "shape": list(value.shape),
                "values": [_number(entry, scale) for entry in tensor.flatten().tolist()],
                "requires_grad": value.requires_grad,
            }
        case protocol.ObjectValue():
            return {"module": value.handle}
        case protocol.ListValue() | protocol.TupleValue():
            kind = "list" if isinstance(value, protocol.ListValue) else "tuple"
            return {kind: list(map(_to_json, value.items))}
        case protocol.DictValue():
            return {"items": {key: _to_json(item) for key, item in value.items.items()}}
        case None | bool() | int() | float():
            return _number(value)
        case _:
            msg = f"a record can't hold {value!r}"
            raise CourseError(msg)


def _from_json(value: Any) -> Value:
    """Convert the JSON of ``_to_json`` back into a reply's value."""
    match value:
        case {"values": values, "dtype": dtype, "shape": shape, "requires_grad": requires_grad}:
            tensor = torch.tensor([_value(entry) for entry in values], dtype=DTYPES[dtype])
            return TensorValue(dtype, tuple(shape), _bytes(tensor), requires_grad)
        case {"module": handle}:
            return protocol.ObjectValue(handle)
        case {"list": items}:
            return protocol.ListValue(tuple(map(_from_json, items)))
        case {"tuple": items}:
            return protocol.TupleValue(tuple(map(_from_json, items)))
        case {"items": items}:
            return protocol.DictValue({key: _from_json(item) for key, item in items.items()})
        case _:
            return _value(value)  # type: ignore[no-any-return]  # a number or None


def _bytes(tensor: Tensor) -> bytes:
    return tensor.view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def _number(value: Any, scale: float = 1.0) -> Any:
    return rounded(value, scale, DIGITS) if isinstance(value, float) else value


def _value(entry: Any) -> Any:
    return float(entry) if isinstance(entry, str) else entry


def _numbers(value: Any) -> Any:
    return list(map(_numbers, value)) if isinstance(value, list) else _value(value)


def _json_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_json_numbers, value))
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _lined(value: dict[str, Any]) -> str:
    inner = ",\n".join(f"{json.dumps(key)}: {_compact(item)}" for key, item in value.items())
    return f"{{\n{inner}\n}}"
