"""The process that workers are forked from: Python, torch and this package's worker, nothing else.

It is exec'd fresh, so it never held a hidden suite, a solution or a documented value that a fork
could inherit. It runs no student code itself. Each grading process has a socket of its own here
and may ask for two things: a new worker, and the end of one of its workers.

    python -m autograder.sandbox.fork_server CONTROL_FD...
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
from typing import NoReturn

import msgspec
import torch

from autograder.sandbox.executor import RequestExecutor
from autograder.sandbox.isolation import SandboxPolicy
from autograder.sandbox.protocol import Request
from autograder.sandbox.tensors import encode_tensor
from autograder.sandbox.worker import serve

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


class Start(msgspec.Struct, frozen=True, tag="start"):
    """Ask for a worker; its wire and output pipe travel along as descriptors."""

    policy: SandboxPolicy
    module: str
    notebook: bool
    max_bytes: int


class End(msgspec.Struct, frozen=True, tag="end"):
    """Ask for the end of worker *pid*; the answer says how it ended."""

    pid: int


class Started(msgspec.Struct, frozen=True, tag="started"):
    """A worker runs as *pid*."""

    pid: int


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """A worker is gone; *status* is what ``os.waitstatus_to_exitcode`` makes of it."""

    status: int


_ASKED = msgspec.msgpack.Decoder(Start | End)


def main(controls: list[int]) -> None:
    """Serve the grading processes at *controls* until the last of them hangs up."""
    workers: set[int] = set()
    warm_up()
    sockets = {fd: socket.socket(fileno=fd) for fd in controls}
    for control in sockets.values():
        control.sendall(msgspec.msgpack.encode(Started(os.getpid())))
    while sockets:
        for fd in select.select(list(sockets), [], [])[0]:
            if not _serve(sockets[fd], workers):
                sockets.pop(fd).close()
    for pid in workers:  # of a supervisor that was killed: an endless loop must not outlive it
        _end(End(pid))
    os._exit(0)  # what torch would tidy up takes longer than the work


def warm_up() -> None:
    """Do once, before any fork, what torch and the bench load on first use; freeze the heap."""
    torch.set_num_threads(1)  # one worker, one core: neighbours keep theirs
    torch.manual_seed(0)
    executor = RequestExecutor("warm_up", notebook=False, max_bytes=MAX_CONTROL)
    eye = encode_tensor(torch.eye(4), MAX_CONTROL)
    requests = (
        Request(number=1, verb="run", cells=(WARM_UP,)),
        Request(number=2, verb="new", name="Warm"),
        Request(number=3, verb="operators", handle=0, args=(eye,)),
        Request(number=4, verb="parameters", handle=0),
        Request(number=5, verb="move", handle=0, name="meta"),
    )
    for request in requests:
        if problem := executor.answer(request).problem:
            raise RuntimeError(problem.text)
    x = torch.rand(4, 4, requires_grad=True)
    torch.autograd.grad(torch.softmax(x @ x.mT, dim=-1), x, torch.eye(4))
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket, workers: set[int]) -> bool:
    """Answer one message and keep *workers* true; False when the grading process has hung up."""
    body, descriptors, _flags, _address = socket.recv_fds(control, MAX_CONTROL, 2)
    if not body:
        return False
    asked = _ASKED.decode(body)
    answer: Started | Ended
    if isinstance(asked, Start):
        answer = _start(asked, *descriptors)
        workers.add(answer.pid)
    else:
        answer = _end(asked)
        workers.discard(asked.pid)
    control.sendall(msgspec.msgpack.encode(answer))
    for descriptor in descriptors:
        os.close(descriptor)
    return True


def _start(asked: Start, wire: int, output: int) -> Started:
    parent = os.getpid()
    pid = os.fork()
    if not pid:
        _become_worker(asked, wire, output, parent)
    return Started(pid)


def _become_worker(asked: Start, wire: int, output: int, parent: int) -> NoReturn:
    try:
        executor = RequestExecutor(asked.module, notebook=asked.notebook, max_bytes=asked.max_bytes)
        serve(wire, output, asked.policy, executor, asked.max_bytes, parent)
    finally:
        os._exit(70)  # whatever happened, a worker never returns into the fork server's loop


def _end(asked: End) -> Ended:
    """Kill and reap: only its parent can do both without mistaking a reused number for it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(asked.pid, signal.SIGKILL)
    try:
        return Ended(os.waitstatus_to_exitcode(os.waitpid(asked.pid, 0)[1]))
    except ChildProcessError:
        return Ended(0)


if __name__ == "__main__":
    main([int(fd) for fd in sys.argv[1:]])
