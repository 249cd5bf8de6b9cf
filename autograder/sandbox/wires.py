"""Connects the supervisor to a worker: by a socket and a pipe, or by pipes and threads.

A socket works only where descriptors can be passed to a fork. Pipes work everywhere, but some
systems can't wait for several pipes at once, so each is read by a thread.
"""

import contextlib
import os
import select
import socket
import threading
from typing import IO, TYPE_CHECKING, Final

from autograder.sandbox import protocol

if TYPE_CHECKING:
    from subprocess import Popen

PIPE_CHUNK: Final = 65_536
MILLISECONDS: Final = 1000
OUTPUT_SECONDS: Final = 0.5  # to wait for the output before a reply, which arrives through a pipe


class SocketWire:
    """A socket for messages, and a pipe for the output."""

    def __init__(self, pid: int, connection: socket.socket, output: int) -> None:
        self._pid = pid
        self._connection = connection
        self._output = output
        connection.setblocking(False)  # noqa: FBT003  # the socket module's own signature
        os.set_blocking(output, False)
        # The connection is polled first, so that output before a reply is found with the reply.
        self._to_receive = _poll((connection, select.POLLIN), (output, select.POLLIN))
        self._to_send = _poll((connection, select.POLLOUT), (output, select.POLLIN))

    def send(self, data: memoryview) -> int:
        """Send some of *data*; raise ``BlockingIOError`` if none of it can be sent now."""
        return self._connection.send(data)

    def receive(self, size: int) -> bytes:
        """Return some bytes, none at the end; raise ``BlockingIOError`` if none is ready."""
        return self._connection.recv(size)

    def wait(self, seconds: float, *, to_send: bool) -> tuple[bool, bool]:
        """Wait until a message can pass or output can be read; return which of both is true."""
        ready = (self._to_send if to_send else self._to_receive).poll(seconds * MILLISECONDS)
        printed = any(descriptor == self._output for descriptor, _ in ready)
        return len(ready) > printed, printed

    def wait_printed(self, seconds: float) -> bool:
        """Wait until the worker has printed something; False if it prints nothing in *seconds*."""
        return bool(select.select([self._output], [], [], seconds)[0])

    def read_printed(self) -> bytes:
        """Return printed bytes, none at the end; raise ``BlockingIOError`` if none is ready."""
        return os.read(self._output, PIPE_CHUNK)

    def settle(self) -> bool:
        """Return whether output before the last reply is unread: it is read with the socket."""
        return False

    def ask_stack(self) -> None:
        """Ask the worker, by a signal, to print the stack of the running code."""
        with contextlib.suppress(OSError):
            os.kill(self._pid, protocol.STACK_SIGNAL)  # only `end` reaps this pid

    def close(self) -> None:
        """Close this side of the connection; the process has ended."""
        self._connection.close()
        os.close(self._output)


class PipeWire:
    """The standard streams of a process: messages on the first two, output on the third."""

    def __init__(self, process: "Popen[bytes]") -> None:
        self._process = process
        self._changed = threading.Condition()
        self._streams = {"messages": bytearray(), "printed": bytearray()}
        self._ended: set[str] = set()
        self._replies = self._marks = 0
        for name, stream in (("messages", process.stdout), ("printed", process.stderr)):
            threading.Thread(target=self._read, args=(name, stream), daemon=True).start()

    def send(self, data: memoryview) -> int:
        """Send all of *data*, because the worker waits for it between two replies."""
        assert self._process.stdin is not None  # noqa: S101  # it was started with pipes
        self._process.stdin.write(data)
        self._process.stdin.flush()
        return len(data)

    def receive(self, size: int) -> bytes:
        """Return the bytes that have arrived."""
        return self._take("messages", size)

    def wait(self, seconds: float, *, to_send: bool) -> tuple[bool, bool]:
        """Wait for the threads that read the streams."""
        with self._changed:
            if not to_send:
                self._changed.wait_for(lambda: self._has("messages") or self._new_output, seconds)
            return to_send or self._has("messages"), self._new_output

    def wait_printed(self, seconds: float) -> bool:
        """Wait for the thread that reads the output."""
        with self._changed:
            return self._changed.wait_for(lambda: self._has("printed"), seconds)

    def read_printed(self) -> bytes:
        """Return the bytes that have arrived."""
        return self._take("printed", PIPE_CHUNK)

    def settle(self) -> bool:
        """Wait for the mark that a worker prints after each reply."""
        self._replies += 1
        with self._changed:
            self._changed.wait_for(
                lambda: self._marks >= self._replies or "printed" in self._ended, OUTPUT_SECONDS
            )
            return self._new_output

    def ask_stack(self) -> None:
        """Send an empty message, on which a thread of the worker prints the stack."""
        with contextlib.suppress(OSError):
            self.send(memoryview(protocol.framed(b"", 0)))

    def close(self) -> None:
        """Close the stream for requests; the threads close the others when they end."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    @property
    def _new_output(self) -> bool:
        """Whether there is unread output; the end of the stream does not count."""
        return bool(self._streams["printed"])

    def _has(self, name: str) -> bool:
        return bool(self._streams[name]) or name in self._ended

    def _take(self, name: str, size: int) -> bytes:
        with self._changed:
            if not self._has(name):
                raise BlockingIOError
            data = bytes(self._streams[name][:size])
            del self._streams[name][:size]
            return data

    def _read(self, name: str, stream: "IO[bytes]") -> None:
        """Read *stream* to its end, in a thread."""
        with stream:
            while data := os.read(stream.fileno(), PIPE_CHUNK):
                with self._changed:
                    kept = self._streams[name]
                    kept += data
                    if name == "printed":
                        self._marks += kept.count(protocol.PRINTED_MARK)
                        kept[:] = kept.replace(protocol.PRINTED_MARK, b"")
                        del kept[:-PIPE_CHUNK]  # only the end is shown
                    self._changed.notify_all()
        with self._changed:
            self._ended.add(name)
            self._changed.notify_all()


Wire = SocketWire | PipeWire


def _poll(*watched: tuple[socket.socket | int, int]) -> "select.poll":
    poll = select.poll()
    for descriptor, event in watched:
        poll.register(descriptor, event)
    return poll
