"""Defines the messages between supervisor, fork server and workers, encoded as msgpack.

A supervisor sends a ``Batch`` of requests, and the worker answers with one ``Reply``. Each of these
messages has a header. Supervisor and fork server exchange the control messages, one at a time.
Decoding executes nothing: no pickle, no ``torch.load``, no class looked up by name. A message is
decoded strictly, so the worst that a hostile worker can send is a wrong value.
"""

import signal
import struct
import sys
from collections.abc import Mapping
from types import MappingProxyType, NoneType
from typing import Annotated, Final, Literal, TypeVar

import msgspec
from msgspec.structs import force_setattr

from autograder.sandbox.confinement import SandboxPolicy
from autograder.sandbox.static_names import Definition
from autograder.sanitize import without_folders

# The header of a message: its size in bytes, its number, and the index of the last executed
# request. A worker's message without bytes reports that this request starts after a slow one, or,
# during an import, that the statement of this number starts.
HEADER = struct.Struct("<IQI")
SLOW_SECONDS = 0.2  # far below the limit of a call, and far above the time of a call in right code
# The signal that makes a worker write its stack to its output. Windows has neither the signal
# nor such workers.
STACK_SIGNAL = 0 if sys.platform == "win32" else signal.SIGUSR2
PRINTED_MARK = b"\0"  # a worker with pipes prints it after each reply
MAX_TEXT = 2_000  # characters of an exception's text; a student reads the first lines
MAX_TEXT_BYTES = 4 * MAX_TEXT  # UTF-8 has at most four for a character
TEXT_ENCODING: Final = "utf-8", "surrogatepass"  # of a ``TextValue``
MAX_INTEGER_BYTES: Final = 1_000  # 2,400 digits; Python itself refuses to print more than 4,300
MAX_PARTS = 20_000  # limit for all replies in one check; honest code needs some hundreds
MAX_SOURCE_PARTS = 60_000  # limit for a reply about a source's names, which `static_names` bounds
SHORT_REPLY = 65_536  # bytes of a reply without tensors; the longest problem has about 10,000
MAX_LINE = 1 << 20  # a module has at most this many bytes, and so no more lines
MAX_PROBLEMS = 50  # limit for one import; a student needs only the first ones
MAX_STATEMENTS = 3_000  # of a module, whose starts are reported; a hand-written one has dozens
MAX_NAMES = 40  # bound by one statement; a long import list has about twenty
NO_REQUEST = "it sends a reply without a request"
NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,79}\Z"  # a definition that the kit reports
_Message = TypeVar("_Message")

_ModuleVerb = Literal["read", "run", "has", "signature", "draw", "attempts"]
_CallVerb = Literal["call", "new", "forward", "method", "gradients", "operators"]
_KeptVerb = Literal["parameters", "shapes", "buffers", "state", "hooks"]
_StateVerb = Literal[_KeptVerb, "mode", "move", "load", "replace"]
Verb = Literal[_ModuleVerb, _CallVerb, _StateVerb]
_ImportKind = Literal["not-compiled", "rebound", "left-out", "annotation"]
_CallKind = Literal["missing", "not-implemented", "raised", "bad-output"]
_LimitKind = Literal["out-of-memory", "out-of-disk", "out-of-time"]
ProblemKind = Literal[_ImportKind, _CallKind, _LimitKind]


class TensorValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="tensor"):
    """A dense CPU tensor: *data* is its row-major bytes in the machine's byte order."""

    dtype: Annotated[str, msgspec.Meta(max_length=20)]
    shape: tuple[int, ...]
    data: bytes
    requires_grad: bool = False


class ArrayValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="array"):
    """A NumPy array among the arguments, with the numbers of a tensor."""

    tensor: TensorValue


class BytesValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="bytes"):
    """Encodes bytes."""

    data: bytes


class TextValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="text"):
    """A text that is too long for a plain one or has lone surrogates, as ``TEXT_ENCODING``."""

    data: bytes


class IntegerValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="integer"):
    """An integer of more than 64 bits: *data* has the lowest byte first, with a sign."""

    data: Annotated[bytes, msgspec.Meta(max_length=MAX_INTEGER_BYTES)]


class ObjectValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="object"):
    """A torch module of the worker; *handle* is its number there."""

    handle: int


class ListValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="list"):
    """Encodes a list."""

    items: tuple["Value", ...]


class TupleValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="tuple"):
    """Encodes a tuple."""

    items: tuple["Value", ...]


class DictValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="dict"):
    """A dictionary with texts as keys."""

    items: dict[str, "Value"]


class MappingValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="mapping"):
    """A dictionary with any hashable keys, such as pairs of integers, as (key, value)."""

    items: tuple[tuple["Value", "Value"], ...]


class SetValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="set"):
    """A set, or a *constant* one (``frozenset``); the order of *items* says nothing."""

    items: tuple["Value", ...]
    constant: bool = False


class OpaqueValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="opaque"):
    """A value that can't be sent; *kind* describes it, for the message."""

    kind: Annotated[str, msgspec.Meta(max_length=300)]


class SourceValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="source"):
    """The contents of a source that a worker reads before any of it runs."""

    definitions: tuple[Definition, ...]


Collection = ListValue | TupleValue | DictValue | MappingValue | SetValue
_Plain = BytesValue | TextValue | IntegerValue
_Thing = TensorValue | ArrayValue | ObjectValue | OpaqueValue | SourceValue | _Plain
Value = None | bool | int | float | str | Collection | _Thing


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a worker; *name* is a definition or a mode, *handle* a torch module.

    *fresh* starts a new check: the worker drops the modules that the last check created.
    If a layer lacks a parameter in *may_lack*, the parameter is added with the value to load.
    The *args* of an import are the numbers of the statements that it must not run.
    """

    verb: Verb
    name: str = ""
    handle: int = -1
    args: tuple[Value, ...] = ()
    kwargs: dict[str, Value] = {}
    seed: int | None = None
    cells: tuple[bytes, ...] = ()
    fresh: bool = False
    may_lack: tuple[str, ...] = ()


Silent = Literal["none", "module"]


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """Requests that are executed in turn until the first unexpected reply or the last one.

    *silent* contains the expected result of all requests but the last: nothing, or a new torch
    module. These replies are not sent, because the supervisor already knows their values.
    """

    requests: tuple[Request, ...]
    silent: tuple[Silent, ...] = ()


_Place = Annotated[str, msgspec.Meta(max_length=120)]
_Line = Annotated[int, msgspec.Meta(ge=0, le=MAX_LINE)]
_Name = Annotated[str, msgspec.Meta(pattern=NAME)]


class Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement at module level, its *number* from 1, and the names that it binds."""

    place: _Place
    line: _Line
    names: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=MAX_NAMES)] = ()
    number: _Line = 0


class Problem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A failure of the student's code; *line* 0 means that no line of their file is known.

    *refusal* is true if the code raised the exception on purpose: it is a ``ValueError`` or comes
    from a ``raise`` in their file. During an import, *statement* is the failed statement, and
    *line* may be in a function that it called.
    """

    kind: ProblemKind
    type: Annotated[str, msgspec.Meta(max_length=80)] = ""
    text: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] = ""
    place: _Place = ""
    line: _Line = 0
    code: Annotated[str, msgspec.Meta(max_length=200)] = ""
    statement: Statement | None = None
    refusal: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "text", without_folders(self.text))


Problems = Annotated[tuple[Problem, ...], msgspec.Meta(max_length=MAX_PROBLEMS)]


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The reply to a request; *changed* lists the arguments that the call changed."""

    value: Value = None
    changed: Annotated[tuple[int, ...], msgspec.Meta(max_length=100)] = ()
    problem: Problem | None = None

    @property
    def silent(self) -> Silent | None:
        """The kind of reply: ``none`` without a value, ``module`` for a new module, or None."""
        if self.problem is not None or self.changed:
            return None
        if isinstance(self.value, ObjectValue):
            return "module"
        return "none" if self.value is None else None


class StartWorker(msgspec.Struct, frozen=True, tag="start"):
    """Asks the fork server for a worker; descriptors for socket and output are sent with it."""

    policy: SandboxPolicy
    module: str
    notebook: bool
    max_bytes: int


class EndWorker(msgspec.Struct, frozen=True, tag="end"):
    """Asks the fork server to end worker *pid*."""

    pid: int


class ForkServerReady(msgspec.Struct, frozen=True, tag="ready"):
    """Reports that the fork server has loaded torch."""


class WorkerStarted(msgspec.Struct, frozen=True, tag="started"):
    """Reports that a worker runs as process *pid*."""

    pid: int


class WorkerEnded(msgspec.Struct, frozen=True, tag="ended"):
    """Reports that a worker has ended; *exit_code* is negative for a signal."""

    exit_code: int


ControlRequest = StartWorker | EndWorker
ControlReply = ForkServerReady | WorkerStarted | WorkerEnded


class BadMessageError(Exception):
    """Raised for bytes that are not a message, which are counted as the submission's fault."""


# The types that the kit's own code in a worker returns for a verb; other verbs return any type.
_DICTIONARY: Final = (DictValue, OpaqueValue)  # opaque: a name may have any type
VALUE_TYPES: Final[Mapping[Verb, tuple[type, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(("mode", "load", "replace"), (NoneType,)),
        **dict.fromkeys(("parameters", "shapes", "buffers", "state", "move"), _DICTIONARY),
        **dict.fromkeys(("gradients", "operators"), _DICTIONARY),
        **dict.fromkeys(("run", "signature", "attempts"), (ListValue,)),
        "read": (SourceValue,),
        "has": (bool,),
        "new": (ObjectValue,),
        "hooks": (int,),
    }
)
# The names in a dictionary that the kit's own code makes.
NAMES_OF: Final[Mapping[Verb, frozenset[str]]] = MappingProxyType(
    {
        "gradients": frozenset({"output", "gradients"}),
        "operators": frozenset({"functions", "operators", "products", "largest"}),
    }
)
SHORT_VERBS: Final = frozenset({"has", "hooks", "new", "mode", "load", "replace"})
# Maps the first byte of a value in msgpack to the number of bytes that follow and of inner values.
_FIXED: Final = MappingProxyType(
    {
        **{0x80 + size: (0, 2 * size) for size in range(16)},  # maps
        **{0x90 + size: (0, size) for size in range(16)},  # arrays
        **{0xA0 + size: (size, 0) for size in range(32)},  # texts
        **{0xCA + kind: (size, 0) for kind, size in enumerate((4, 8, 1, 2, 4, 8, 1, 2, 4, 8))},
    }
)
# Maps the first byte to the width of the length that follows, and to both numbers per unit of it.
_LONG: Final = MappingProxyType(
    {
        **{0xC4 + power: (2**power, 1, 0) for power in range(3)},  # bytes
        **{0xD9 + power: (2**power, 1, 0) for power in range(3)},  # texts
        **{0xDC + power: (2 << power, 0, 1) for power in range(2)},  # arrays
        **{0xDE + power: (2 << power, 0, 2) for power in range(2)},  # maps
    }
)
_LONG_TEXTS: Final = frozenset({0xD9, 0xDA, 0xDB})

BATCHES = msgspec.msgpack.Decoder(Batch)
REPLIES = msgspec.msgpack.Decoder(Reply)
CONTROL_REQUESTS: msgspec.msgpack.Decoder[ControlRequest] = msgspec.msgpack.Decoder(ControlRequest)
CONTROL_REPLIES: msgspec.msgpack.Decoder[ControlReply] = msgspec.msgpack.Decoder(ControlReply)


def request_of(verb: Verb, fields: dict[str, object]) -> Request:
    """Return the request of *verb* with *fields*."""
    return Request(verb=verb, **fields)  # type: ignore[arg-type]  # the caller names fields of Request


def pack(message: Batch | Request | Reply) -> bytes:
    """Encode *message*."""
    return msgspec.msgpack.encode(message)


def framed(body: bytes, number: int, last: int = 0) -> bytes:
    """Return the encoded message *body* with its header."""
    return HEADER.pack(len(body), number, last) + body


def unpack(decoder: "msgspec.msgpack.Decoder[_Message]", body: bytes) -> _Message:
    """Decode a message without its header; raise ``BadMessageError`` without quoting it."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise BadMessageError("bytes that are not a message") from None


def read_reply(body: bytes, verb: Verb) -> Reply:
    """Decode the reply to a request of *verb*; raise ``BadMessageError`` if it is not one."""
    reply = unpack(REPLIES, body)
    types = VALUE_TYPES.get(verb)
    if types and reply.problem is None and type(reply.value) not in types:
        raise BadMessageError(NO_REQUEST)
    names = NAMES_OF.get(verb)
    if names and isinstance(reply.value, DictValue) and reply.value.items.keys() != names:
        raise BadMessageError("it sends a dictionary with names that were not requested")
    return reply


def count_parts(body: bytes, most: int) -> int:
    """Count the values in *body* without decoding them.

    Raises ``BadMessageError`` for more than *most* values and for a text that is too long, because
    decoding these would take memory and time.
    """
    position, announced, parts = 0, 1, 0
    while parts < announced:
        parts += 1
        head = body[position : position + 1]
        if not head:
            raise BadMessageError("bytes that are not a message")
        size, inner = _after(head[0], body, position + 1)
        position += 1 + size
        announced += inner
        if announced > most:
            raise BadMessageError(f"a message of more than {most} parts")
    return parts


def _after(head: int, body: bytes, position: int) -> tuple[int, int]:
    """Return how many bytes follow the first byte *head* of a value, and how many inner values."""
    if head not in _LONG:  # an invalid byte counts as complete; decoding refuses it
        return _FIXED.get(head, (0, 0))
    width, size, inner = _LONG[head]
    length = int.from_bytes(body[position : position + width], "big")
    if head in _LONG_TEXTS and length > MAX_TEXT_BYTES:
        raise BadMessageError(f"a text of {length} bytes")
    return width + size * length, inner * length
