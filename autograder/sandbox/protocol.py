"""What crosses between supervisor and worker: a length, then one msgpack message of known types.

Nothing here executes what arrives: no pickle, no ``torch.load``, no class looked up by name.
A message is decoded strictly, so the worst that a hostile worker can send is a wrong value.
"""

import struct
from typing import Annotated, Literal, TypeVar

import msgspec

LENGTH = struct.Struct("<I")
MAX_TEXT = 2_000  # characters of an exception that cross; a student reads the first lines
MAX_LINE = 1 << 20  # a module has at most so many bytes
_Message = TypeVar("_Message")

Verb = Literal[
    "read",
    "run",
    "has",
    "signature",
    "call",
    "new",
    "forward",
    "mode",
    "move",
    "parameters",
    "shapes",
    "buffers",
    "state",
    "load",
    "gradients",
    "operators",
    "draw",
]
ProblemKind = Literal["missing", "not-implemented", "raised", "out-of-memory", "bad-output"]


class TensorValue(msgspec.Struct, frozen=True, tag="tensor"):
    """A dense CPU tensor: *data* is its row-major bytes in the machine's byte order."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes
    requires_grad: bool = False


class ObjectValue(msgspec.Struct, frozen=True, tag="object"):
    """A module that lives in the worker, by its number there."""

    handle: int


class ListValue(msgspec.Struct, frozen=True, tag="list"):
    """A list."""

    items: tuple["Value", ...]


class TupleValue(msgspec.Struct, frozen=True, tag="tuple"):
    """A tuple."""

    items: tuple["Value", ...]


class DictValue(msgspec.Struct, frozen=True, tag="dict"):
    """A dictionary with names as keys."""

    items: dict[str, "Value"]


class OpaqueValue(msgspec.Struct, frozen=True, tag="opaque"):
    """Something that does not cross; *kind* says what it is, for the message."""

    kind: str


Value = (
    None
    | bool
    | int
    | float
    | str
    | TensorValue
    | ObjectValue
    | ListValue
    | TupleValue
    | DictValue
    | OpaqueValue
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to do in the worker; *name* is a definition or a mode, *handle* a module.

    *fresh* begins a check: modules that an earlier one had made are let go.
    """

    number: int
    verb: Verb
    name: str = ""
    handle: int = -1
    args: tuple[Value, ...] = ()
    kwargs: dict[str, Value] = {}
    seed: int | None = None
    cells: tuple[bytes, ...] = ()
    fresh: bool = False


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong in the student's code, as data; *line* 0 means: nowhere in their file."""

    kind: ProblemKind
    type: Annotated[str, msgspec.Meta(max_length=80)] = ""
    text: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] = ""
    place: Annotated[str, msgspec.Meta(max_length=120)] = ""
    line: Annotated[int, msgspec.Meta(ge=0, le=MAX_LINE)] = 0
    code: Annotated[str, msgspec.Meta(max_length=200)] = ""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to the request of the same *number*; *changed* lists arguments written into."""

    number: int
    value: Value = None
    changed: tuple[int, ...] = ()
    problem: Problem | None = None


class BadMessageError(Exception):
    """Bytes that are no message; on the supervisor's side that is the submission's doing."""


_ENCODER = msgspec.msgpack.Encoder()
_REQUESTS = msgspec.msgpack.Decoder(Request)
_REPLIES = msgspec.msgpack.Decoder(Reply)


def pack(message: Request | Reply) -> bytes:
    """Encode *message* with its length in front."""
    body = _ENCODER.encode(message)
    return LENGTH.pack(len(body)) + body


def unpack_request(body: bytes) -> Request:
    """Decode a request; raises ``BadMessageError``."""
    return _decode(_REQUESTS, body)


def unpack_reply(body: bytes) -> Reply:
    """Decode a reply; raises ``BadMessageError``."""
    return _decode(_REPLIES, body)


def _decode(decoder: "msgspec.msgpack.Decoder[_Message]", body: bytes) -> _Message:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadMessageError(str(error)) from None
