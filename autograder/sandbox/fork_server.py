"""Forks workers from a process that contains only Python, torch and the worker code.

It is a new Python process, so it has never held a hidden suite, a solution or a documented value
that a fork could inherit. It runs no student code itself. Each client is a grading process with its
own socket. It may start and end its own workers. For a student's own code, the fork server may be a
fork of the supervisor, made before the supervisor loads a suite. Where there is no fork, a worker
is a new process on its standard streams, and a message with the number 0 starts a submission.
"""

import contextlib
import faulthandler
import gc
import os
import queue
import select
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NoReturn

import msgspec
import torch

from autograder.sandbox import protocol
from autograder.sandbox.confinement import prepare_forks
from autograder.sandbox.executor import RequestExecutor
from autograder.sandbox.namespaces import fork_apart, parent_of_fork
from autograder.sandbox.protocol import (
    HEADER,
    PRINTED_MARK,
    Batch,
    Request,
    StartWorker,
    WorkerEnded,
    WorkerStarted,
    unpack,
)
from autograder.sandbox.tensors import encode_tensor
from autograder.sandbox.worker import (
    CONFINED,
    CONNECTION,
    pack_reply,
    prepare,
    read,
    respond,
    serve,
    write,
)

# A worker that the kernel can't end (a broken disk, a debugger) must not delay the other clients.
END_SECONDS = 1.0
MAX_CONTROL = 65_536  # bytes of one control message; it holds some paths and numbers
WARM_UP = b"""
import torch
from torch import nn
import torch.nn.functional as F

class Warm(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)
        self.register_buffer("mask", torch.tril(torch.ones(4, 4)))

    def forward(self, x):
        scores = self.key(x) @ x.transpose(-2, -1) / 2
        scores = scores.masked_fill(self.mask == 0, float("-inf"))
        return torch.einsum("ij,jk->ik", self.drop(F.softmax(scores, dim=-1)), x)
"""


def main(controls: list[int]) -> None:
    """Run the fork server as a new process for the clients at the descriptors *controls*."""
    warm_up()
    _serve_all(controls)


def _serve_all(controls: list[int]) -> None:
    workers: set[int] = set()
    sockets = {fd: socket.socket(fileno=fd) for fd in controls}
    for control in sockets.values():
        control.sendall(msgspec.msgpack.encode(protocol.ForkServerReady()))
    while sockets:
        for fd in select.select(list(sockets), [], [])[0]:
            if not _serve(sockets[fd], workers):
                sockets.pop(fd).close()
    for pid in workers:  # if the supervisor was killed, no endless loop must survive it
        _end_worker(pid)
    os._exit(0)  # skips torch's clean-up, which takes longer than the code above


def main_of_fork(controls: list[int], environment: dict[str, str]) -> None:
    """Run the fork server in a fork, and close or reset what a new process would not have."""
    with contextlib.suppress(PermissionError):
        os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH, signal.SIGCONT):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    kept = [2, *sorted(controls), os.sysconf("SC_OPEN_MAX")]
    for below, above in pairwise(kept):
        os.closerange(below + 1, above)
    removed = 0 if sys.flags.safe_path else 1  # the folder of the program or the current folder
    removed += len([path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path])
    del sys.path[:removed]
    os.environ.clear()
    os.environ.update(environment)
    os.chdir("/")
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    warm_up()
    _serve_all(controls)


def warm_up() -> None:
    """Load everything that torch and the executor load on first use, and freeze the heap."""
    torch.set_num_threads(1)  # a worker uses one core; the others are for other workers
    torch.use_deterministic_algorithms = _use_deterministic_algorithms
    torch.manual_seed(0)
    _answer_all(
        Request(verb="run", cells=(WARM_UP,)),
        Request(verb="new", name="Warm"),
        Request(verb="operators", handle=0, args=(encode_tensor(torch.eye(4), MAX_CONTROL),)),
        Request(verb="parameters", handle=0),
        Request(verb="move", handle=0, name="meta"),
    )
    x = torch.rand(4, 4, requires_grad=True)
    torch.autograd.grad(torch.softmax(x @ x.mT, dim=-1).sum(), x)
    prepare_forks()
    gc.freeze()  # without a collection, which takes as long as the code above
    gc.enable()


def _use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:  # noqa: FBT001  # torch's signature
    """Behave like torch's function, which imports the compiler for seconds, without that."""
    torch.set_deterministic_debug_mode(("error", "warn")[warn_only] if mode else "default")


def _answer_all(*requests: Request) -> None:
    executor = RequestExecutor("warm_up", notebook=False, max_bytes=MAX_CONTROL)
    for request in requests:
        batch = protocol.unpack(protocol.BATCHES, protocol.pack(Batch((request,))))
        reply = executor.answer(batch.requests[0])
        pack_reply(reply, MAX_CONTROL)
        if reply.problem:
            raise RuntimeError(reply.problem.text)


def _serve(control: socket.socket, workers: set[int]) -> bool:
    """Answer one message and update *workers*; False when the client has disconnected."""
    body, descriptors, _flags, _address = socket.recv_fds(control, MAX_CONTROL, 2)
    if not body:
        return False
    request = protocol.unpack(protocol.CONTROL_REQUESTS, body)
    reply: WorkerStarted | WorkerEnded
    if isinstance(request, StartWorker):
        reply = _start_worker(request, descriptors)
        workers.add(reply.pid)
    else:
        reply = _end_worker(request.pid)
        workers.discard(request.pid)
    control.sendall(msgspec.msgpack.encode(reply))
    for descriptor in descriptors:
        os.close(descriptor)
    return True


def _start_worker(request: StartWorker, descriptors: Sequence[int]) -> WorkerStarted:
    parent = os.getpid()
    pid = fork_apart() if request.policy.isolation == "full" else os.fork()
    if not pid:
        try:
            connection, output = descriptors
            serve(request, connection, output, parent_of_fork(parent))
        finally:
            os._exit(70)  # a worker never returns into the fork server's loop
    return WorkerStarted(pid)


def _end_worker(pid: int) -> WorkerEnded:
    """Kill and reap worker *pid*; only its parent can be sure that the number is not reused."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + END_SECONDS
    try:
        while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
            if time.monotonic() > deadline:
                return WorkerEnded(-signal.SIGKILL)
            time.sleep(END_SECONDS / 1000)
        return WorkerEnded(os.waitstatus_to_exitcode(ended[1]))
    except ChildProcessError:
        return WorkerEnded(0)


_REQUESTS: Final = CONNECTION + 1
_STARTS: Final = msgspec.msgpack.Decoder(StartWorker)


def serve_pipes() -> NoReturn:
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
    """Read messages in a thread, for stacks, and end this process after the supervisor."""
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
