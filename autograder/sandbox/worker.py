"""Runs inside a worker: confines the process, then executes the requests for one submission."""

import contextlib
import faulthandler
import os
import sys
from functools import partial
from time import monotonic
from typing import NoReturn

from autograder.sandbox.confinement import confine
from autograder.sandbox.executor import RequestExecutor
from autograder.sandbox.protocol import (
    BATCHES,
    HEADER,
    MAX_PARTS,
    MAX_SOURCE_PARTS,
    MAX_STATEMENTS,
    MAX_TEXT_BYTES,
    SLOW_SECONDS,
    STACK_SIGNAL,
    BadMessageError,
    Batch,
    Problem,
    Reply,
    StartWorker,
    count_parts,
    framed,
    pack,
    unpack,
)

CONNECTION = 3  # the descriptor of the socket to the supervisor, in every worker
FIRST_READ = 8192  # bytes; most messages have fewer
_ALWAYS_OPEN = (os.devnull, "/proc/self/fd")  # see `confinement`
CONFINED = framed(pack(Reply()), 0)  # sent once, before any student code runs


def serve(start: StartWorker, connection: int, output: int, parent: int) -> NoReturn:
    """Confine this process, then answer requests until the supervisor disconnects."""
    executor = RequestExecutor(start.module, notebook=start.notebook, max_bytes=start.max_bytes)
    _replace_descriptors(connection, output)
    faulthandler.register(STACK_SIGNAL, file=2, all_threads=False)
    prepare(executor, start, parent)
    while message := _receive(CONNECTION):
        respond(executor, *message, start.max_bytes)
    os._exit(0)


def prepare(executor: RequestExecutor, start: StartWorker, parent: int) -> None:
    """Confine this process before student code runs, and report that it is ready."""
    sys.stdout, sys.stderr = (  # by lines, so that a crash loses no line
        open(number, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115  # it stays open to the end
        for number in (1, 2)
    )
    for name in ("HOME", "TMPDIR", "MPLCONFIGDIR", "TORCH_HOME", "XDG_CACHE_HOME"):
        os.environ[name] = start.policy.private
    os.chdir(start.policy.private)
    sys.argv = [""]
    confine(start.policy, parent)
    executor.counters.watch_threads()
    if start.policy.isolation == "full":
        executor.attempts.watch(*start.policy.readable, start.policy.private, *_ALWAYS_OPEN)
    write(CONNECTION, CONFINED)


def respond(executor: RequestExecutor, number: int, body: bytes, max_bytes: int) -> None:
    """Execute the batch *body*, flush the output, and send the reply."""
    executor.report = partial(_report, number)
    last, reply = _answer(executor, unpack(BATCHES, body), number, max_bytes)
    with contextlib.suppress(BaseException):  # the student's code may have replaced the streams
        sys.stdout.flush()
        sys.stderr.flush()
    write(CONNECTION, framed(reply, number, last))


def _report(message: int, number: int) -> None:
    if number <= MAX_STATEMENTS:
        write(CONNECTION, framed(b"", message, number))


def _answer(
    executor: RequestExecutor, batch: Batch, number: int, max_bytes: int
) -> tuple[int, bytes]:
    """Execute *batch*; return the last index and its reply. It reports after slow requests."""
    last, start = 0, monotonic()
    while True:
        request, reply = batch.requests[last], executor.answer(batch.requests[last])
        if last == len(batch.silent) or reply.silent != batch.silent[last]:
            most = MAX_SOURCE_PARTS if request.verb == "read" else MAX_PARTS
            return last, pack_reply(reply, max_bytes, most)
        last += 1
        if monotonic() - start > SLOW_SECONDS:
            write(CONNECTION, framed(b"", number, last))


def pack_reply(reply: Reply, max_bytes: int, most: int = MAX_PARTS) -> bytes:
    """Encode *reply*, or the problem that prevents it from being sent."""
    try:
        packed = pack(reply)
        if len(packed) <= max_bytes:
            if len(packed) > MAX_TEXT_BYTES:  # a shorter one has no long text
                count_parts(packed, most)
            return packed
        text = f"the answer has {len(packed)} bytes"
    except BadMessageError as error:
        text = f"the answer is {error}"
    except UnicodeEncodeError:  # a lone surrogate, such as "\ud800"
        text = "the answer holds text that is not valid Unicode"
    return pack(Reply(problem=Problem(kind="bad-output", text=text)))


def _replace_descriptors(connection: int, output: int) -> None:
    """Assign *output* to 1 and 2 and the socket to 3; close all other descriptors."""
    connection, output = os.dup(connection), os.dup(output)  # above the numbers assigned below
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(connection, CONNECTION)
    os.closerange(CONNECTION + 1, os.sysconf("SC_OPEN_MAX"))


def _receive(connection: int) -> tuple[int, bytes] | None:
    """Read the next message, mostly in one call; return its number and body, or None at the end."""
    head = os.read(connection, FIRST_READ)
    head += read(connection, max(0, HEADER.size - len(head))) if head else b""
    if len(head) < HEADER.size:
        return None
    size, number, _ = HEADER.unpack_from(head)
    return number, head[HEADER.size :] + read(connection, size + HEADER.size - len(head))


def read(connection: int, size: int) -> bytes:
    """Read exactly *size* bytes; nothing if the other side has disconnected."""
    parts = []
    while size and (part := os.read(connection, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts) if not size else b""


def write(connection: int, data: bytes) -> None:
    """Write all of *data*."""
    view = memoryview(data)
    while view:
        view = view[os.write(connection, view) :]
