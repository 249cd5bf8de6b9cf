"""Runs a worker in a new process, which reaches the supervisor through its standard streams.

A message with the number 0 starts a submission, and starts it again later.
"""

import faulthandler
import os
import queue
import sys
import threading
from typing import Final, NoReturn

import msgspec

from autograder.sandbox.executor import RequestExecutor
from autograder.sandbox.fork_server import warm_up
from autograder.sandbox.protocol import HEADER, PRINTED_MARK, StartWorker, unpack
from autograder.sandbox.worker import CONFINED, CONNECTION, prepare, read, respond, write

_REQUESTS: Final = CONNECTION + 1
_STARTS: Final = msgspec.msgpack.Decoder(StartWorker)


def main() -> NoReturn:
    """Serve the supervisor that has started this process, until it disconnects."""
    _take_streams()
    warm_up()
    messages: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
    reading = threading.Thread(target=_read_all, args=(messages,), daemon=True)
    reading.start()
    write(CONNECTION, CONFINED)  # also before a submission starts
    start, executor = None, None
    while True:
        number, body = messages.get()
        if start is None or executor is None or not number:
            start = unpack(_STARTS, body)
            executor = RequestExecutor(
                start.module, notebook=start.notebook, max_bytes=start.max_bytes
            )
            prepare(executor, start, os.getppid())
        else:
            respond(executor, number, body, start.max_bytes)
            write(2, PRINTED_MARK)


def _read_all(messages: "queue.SimpleQueue[tuple[int, bytes]]") -> None:
    """Read messages in a thread, so that a stack can be requested while student code runs.

    This process ends when the supervisor has ended, even if it is busy.
    """
    while head := read(_REQUESTS, HEADER.size):
        size, number, _ = HEADER.unpack(head)
        if size:
            messages.put((number, read(_REQUESTS, size)))
        else:
            faulthandler.dump_traceback(file=2, all_threads=True)
    os._exit(0)


def _take_streams() -> None:
    """Assign descriptors 1 and 2 to the output, 3 to the replies and 4 to the requests."""
    os.dup2(1, CONNECTION)
    os.dup2(0, _REQUESTS)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415  # this name is missing on other systems

        for descriptor in (_REQUESTS, CONNECTION, 1, 2):
            msvcrt.setmode(descriptor, os.O_BINARY)
