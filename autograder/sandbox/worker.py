"""The untrusted process: confined first, then at the service of one submission."""

import os
import sys
from collections.abc import Iterator
from typing import NoReturn

from autograder.sandbox.executor import RequestExecutor
from autograder.sandbox.isolation import SandboxPolicy, confine
from autograder.sandbox.protocol import LENGTH, Problem, Reply, pack, unpack_request

WIRE = 3  # the descriptor of the wire in every worker
READY = pack(Reply(number=0))  # said once, when confined and before any byte of a student's ran


def serve(
    wire: int,
    output: int,
    policy: SandboxPolicy,
    executor: RequestExecutor,
    max_bytes: int,
    parent: int,
) -> NoReturn:
    """Confine this process, then answer requests until the supervisor hangs up."""
    _take_over_descriptors(wire, output)
    _settle_in(policy.private)
    confine(policy, parent=parent)
    _write(WIRE, READY)
    for body in _messages(WIRE):
        _write(WIRE, _packed(executor.answer(unpack_request(body)), max_bytes))
    os._exit(0)


def _packed(reply: Reply, max_bytes: int) -> bytes:
    """Pack *reply*, or say in its place why it can't cross."""
    try:
        packed = pack(reply)
        if len(packed) <= max_bytes:
            return packed
        text = f"the answer has {len(packed)} bytes"
    except UnicodeEncodeError:  # a lone surrogate, such as "\ud800"
        text = "the answer holds text that is no Unicode"
    return pack(Reply(number=reply.number, problem=Problem(kind="bad-output", text=text)))


def _take_over_descriptors(wire: int, output: int) -> None:
    """Keep the capture as 1 and 2 and the wire as 3; close all else, the fork server's own too."""
    wire, output = os.dup(wire), os.dup(output)  # above every number that is given out below
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(wire, WIRE)
    os.closerange(WIRE + 1, os.sysconf("SC_OPEN_MAX"))


def _settle_in(private: str) -> None:
    for name in ("HOME", "TMPDIR", "MPLCONFIGDIR", "TORCH_HOME", "XDG_CACHE_HOME"):
        os.environ[name] = private
    os.chdir(private)
    sys.argv = [""]


def _messages(wire: int) -> Iterator[bytes]:
    while header := _read(wire, LENGTH.size):
        yield _read(wire, LENGTH.unpack(header)[0])


def _read(wire: int, size: int) -> bytes:
    """Read exactly *size* bytes; nothing at all when the other side has hung up."""
    parts = []
    while size and (part := os.read(wire, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts) if not size else b""


def _write(wire: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(wire, view) :]
