"""The messages between supervisor, fork server and workers, encoded as msgpack.

Supervisor and worker exchange a ``Request`` and a ``Reply``, each with its length in front.
Supervisor and fork server exchange the control messages, one at a time.
Decoding executes nothing: no pickle, no ``torch.load``, no class looked up by name. A message is
decoded strictly, so the worst that a hostile worker can send is a wrong value.
"""

import signal
import struct
from typing import Annotated, Literal, TypeVar

import msgspec

from autograder.sandbox.isolation import SandboxPolicy

LENGTH = struct.Struct("<I")
STACK_SIGNAL = signal.SIGUSR2  # asks a worker to write its stack into its output
MAX_TEXT = 2_000  # characters of an exception's text; a student reads the first lines
MAX_LINE = 1 << 20  # a module has at most so many bytes, so it has no more lines
MAX_PROBLEMS = 50  # of one import; a student mends the first ones first
MAX_NAMES = 40  # that one statement binds; a long import list has some twenty
NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,79}\Z"  # of what a student defines, as far as we look at it
_Message = TypeVar("_Message")

_ModuleVerb = Literal["read", "run", "has", "signature", "draw"]
_CallVerb = Literal["call", "new", "forward", "gradients", "operators"]
_StateVerb = Literal["mode", "move", "parameters", "shapes", "buffers", "state", "load"]
Verb = Literal[_ModuleVerb, _CallVerb, _StateVerb]
_ImportKind = Literal["not-compiled", "rebound"]
_CallKind = Literal["missing", "not-implemented", "raised", "out-of-memory", "bad-output"]
ProblemKind = Literal[_ImportKind, _CallKind]


class TensorValue(msgspec.Struct, frozen=True, tag="tensor"):
    """A dense CPU tensor: *data* is its row-major bytes in the machine's byte order."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes
    requires_grad: bool = False


class ObjectValue(msgspec.Struct, frozen=True, tag="object"):
    """A torch module that the worker holds, by its number there."""

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
    """Something that can't be sent; *kind* says what it is, for the message."""

    kind: str


_Collection = ListValue | TupleValue | DictValue
Value = None | bool | int | float | str | TensorValue | ObjectValue | _Collection | OpaqueValue


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to do in the worker; *name* is a definition or a mode, *handle* a torch module.

    *fresh* starts a new check: the worker drops the modules that the last check created.
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


_Place = Annotated[str, msgspec.Meta(max_length=120)]
_Line = Annotated[int, msgspec.Meta(ge=0, le=MAX_LINE)]
_Name = Annotated[str, msgspec.Meta(pattern=NAME)]


class Statement(msgspec.Struct, frozen=True):
    """A statement at module level, and the names that it binds."""

    place: _Place
    line: _Line
    names: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=MAX_NAMES)] = ()


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong in the student's code; *line* 0 means that no line of their file is known.

    *refusal* says that the exception was no accident: a ``ValueError``, or raised in their file.
    During an import *statement* is the one that failed; *line* may be one of a function it called.
    """

    kind: ProblemKind
    type: Annotated[str, msgspec.Meta(max_length=80)] = ""
    text: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] = ""
    place: _Place = ""
    line: _Line = 0
    code: Annotated[str, msgspec.Meta(max_length=200)] = ""
    statement: Statement | None = None
    refusal: bool = False


Problems = Annotated[tuple[Problem, ...], msgspec.Meta(max_length=MAX_PROBLEMS)]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to the request *number*; *changed* lists the arguments that the call changed."""

    number: int
    value: Value = None
    changed: tuple[int, ...] = ()
    problem: Problem | None = None


class StartWorker(msgspec.Struct, frozen=True, tag="start"):
    """Asks the fork server for a worker; two descriptors come with it: its socket, its output."""

    policy: SandboxPolicy
    module: str
    notebook: bool
    max_bytes: int


class EndWorker(msgspec.Struct, frozen=True, tag="end"):
    """Asks the fork server to end worker *pid*."""

    pid: int


class ForkServerReady(msgspec.Struct, frozen=True, tag="ready"):
    """The fork server has loaded torch."""


class WorkerStarted(msgspec.Struct, frozen=True, tag="started"):
    """A worker runs as process *pid*."""

    pid: int


class WorkerEnded(msgspec.Struct, frozen=True, tag="ended"):
    """A worker has ended; *exit_code* is negative for a signal."""

    exit_code: int


ControlRequest = StartWorker | EndWorker
ControlReply = ForkServerReady | WorkerStarted | WorkerEnded


class BadMessageError(Exception):
    """Bytes that are no message; the supervisor counts them as the submission's fault."""


REQUESTS = msgspec.msgpack.Decoder(Request)
REPLIES = msgspec.msgpack.Decoder(Reply)
CONTROL_REQUESTS: msgspec.msgpack.Decoder[ControlRequest] = msgspec.msgpack.Decoder(ControlRequest)
CONTROL_REPLIES: msgspec.msgpack.Decoder[ControlReply] = msgspec.msgpack.Decoder(ControlReply)


def pack(message: Request | Reply) -> bytes:
    """Encode *message* with its length in front."""
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body


def unpack(decoder: "msgspec.msgpack.Decoder[_Message]", body: bytes) -> _Message:
    """Decode a message without its length; raises ``BadMessageError``."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadMessageError(str(error)) from None
