"""Starts the fork server, and workers through it."""

import contextlib
import importlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Final, Self, TypeVar

import msgspec

from autograder.course_file import Isolation, Limits
from autograder.disk import OwnedFolder
from autograder.errors import LostProcessError
from autograder.sandbox import protocol
from autograder.sandbox.confinement import SandboxPolicy
from autograder.sandbox.isolation import Readable, readable, require_workers
from autograder.sandbox.namespaces import make_private_folder, read_before, remove_folder
from autograder.sandbox.process_limits import MIB
from autograder.sandbox.protocol import BadMessageError, WorkerEnded, WorkerStarted
from autograder.sandbox.wires import PIPE_CHUNK, SocketWire
from autograder.sandbox.worker_process import CONTROL_SECONDS, START_SECONDS, Worker

CLOSE_SECONDS = 2.0  # to wait until the fork server ends by itself; a busy machine may need 1 s
POLL_SECONDS = 0.01  # between two checks whether a fork has ended
OPEN_FILES = 64  # limit for one worker; imports open a few at a time
# A worker uses one core.
ONE_THREAD: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)
# The environment of fork server and workers, without the instructor's variables.
_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    **ONE_THREAD,
    "MPLBACKEND": "Agg",
    "PYTHONWARNINGS": "ignore",
}
# Without garbage collection torch is imported 10 % faster. `warm_up` enables it again.
_START: Final = "import gc; gc.disable(); from autograder.sandbox.fork_server import main; main({})"
_ControlReply = TypeVar("_ControlReply", protocol.ForkServerReady, WorkerStarted, WorkerEnded)


class ForkServer:
    """A running fork server, with a socket for each client (a grading process)."""

    def __init__(
        self,
        isolation: Isolation,
        limits: Limits,
        clients: int = 1,
        python: str = sys.executable,
        *,
        fork: bool = False,
    ) -> None:
        require_workers()
        self.isolation = isolation
        self.limits = limits
        self._readable = readable()
        if isolation == "full":
            read_before(self._readable.paths)
        self._folder = OwnedFolder(remove_folder)  # holds the private folders of its workers
        self._ready: set[int] = set()
        self._prepares = False  # whether workers are started and removed between two checks
        self._spare: dict[tuple[str, bool], Worker] = {}  # at most one, by module and kind
        self._ended: list[Worker] = []  # at most one that is not removed yet
        pairs = [socket.socketpair() for _ in range(clients)]
        self._controls = [local for local, _ in pairs]
        remotes = [remote for _, remote in pairs]
        numbers = [remote.fileno() for remote in remotes]
        self._process = _Fork(numbers) if fork else _execute(python, numbers)
        for remote in remotes:
            remote.close()

    @classmethod
    def of_own_code(cls, limits: Limits) -> Self:
        """Start one for a student's own code before secrets are loaded, if possible as a fork."""
        return cls("process", limits, fork=_import_torch_for_fork())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The number of the fork server's process."""
        return self._process.pid

    def close(self) -> None:
        """End the fork server and the remaining workers, and remove their folders."""
        for worker in (*self._spare.values(), *self._ended):
            worker.wire.close()
        for control in self._controls:
            control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends its workers, then itself
            self._process.wait(CLOSE_SECONDS)
        self._process.kill()
        self._process.wait()
        self._folder.close()

    def wait_ready(self, client: int = 0) -> None:
        """Wait until the fork server has loaded torch; raise ``GraderError`` if that fails."""
        if client not in self._ready:
            self._receive(self._controls[client], START_SECONDS, protocol.ForkServerReady)
            self._ready.add(client)

    def start(
        self,
        module: str,
        *,
        notebook: bool,
        client: int = 0,
        source: tuple[bytes, ...] = (),  # noqa: ARG002  # each fork is used once
    ) -> Worker:
        """Return a confined worker with its own private folder that has run no code."""
        spare = self._spare.pop((module, notebook), None)
        return spare or self._fork(module, notebook=notebook, client=client)

    def prepare(self, module: str, *, notebook: bool) -> None:
        """Fork the next worker and remove the last one, while nobody waits for a check."""
        self._prepares = True
        self._remove_ended()
        if (module, notebook) not in self._spare:
            while self._spare:
                self._spare.popitem()[1].remove()
            self._spare[module, notebook] = self._fork(module, notebook=notebook)

    def _fork(self, module: str, *, notebook: bool, client: int = 0) -> Worker:
        private = make_private_folder(self._folder.path)
        connection, remote = socket.socketpair()
        output, remote_output = os.pipe()
        policy = policy_of(self.limits, self.isolation, private, self._readable)
        request = protocol.StartWorker(policy, module, notebook, self.limits.answer_mib * MIB)
        message, control = msgspec.msgpack.encode(request), self._controls[client]
        try:
            socket.send_fds(control, [message], [remote.fileno(), remote_output])
        except OSError:
            connection.close()
            os.close(output)
            remove_folder(private)
            raise self._lost() from None
        finally:
            remote.close()
            os.close(remote_output)
        pid = self._receive(control, CONTROL_SECONDS, WorkerStarted).pid
        wire = SocketWire(pid, connection, output)
        worker = Worker(pid, wire, private, lambda: self.end(pid, client))
        worker.wait_confined()
        worker.keep = lambda: self._prepares and self._remove_later(worker)
        return worker

    def _remove_later(self, worker: Worker) -> bool:
        self._remove_ended()
        self._ended.append(worker)
        return True

    def _remove_ended(self) -> None:
        while self._ended:
            self._ended.pop().remove()

    def end(self, pid: int, client: int) -> int:
        """Kill and reap worker *pid*; return its exit code, negative for a signal."""
        control = self._controls[client]
        try:
            control.sendall(msgspec.msgpack.encode(protocol.EndWorker(pid)))
        except OSError:
            raise self._lost() from None
        return self._receive(control, CONTROL_SECONDS, WorkerEnded).exit_code

    def _receive(
        self, control: socket.socket, seconds: float, kind: type[_ControlReply]
    ) -> _ControlReply:
        control.settimeout(seconds)
        with contextlib.suppress(TimeoutError, ConnectionError, BadMessageError):
            reply = protocol.unpack(protocol.CONTROL_REPLIES, control.recv(PIPE_CHUNK))
            if isinstance(reply, kind):
                return reply
        raise self._lost()

    def _lost(self) -> LostProcessError:
        code = self._process.poll()
        return LostProcessError(f"the sandbox's fork server does not answer (exit code {code})")


def policy_of(
    limits: Limits, isolation: Isolation, private: Path, roots: Readable
) -> SandboxPolicy:
    """Return what a worker with the folder *private* may use, and read below *roots*."""
    return SandboxPolicy(
        isolation=isolation,
        readable=roots.paths,
        listed=roots.listed,
        private=str(private),
        memory_bytes=limits.memory_mib * MIB,
        file_bytes=limits.disk_mib * MIB,
        files=limits.files,
        open_files=OPEN_FILES,
    )


def _execute(python: str, numbers: Sequence[int]) -> "subprocess.Popen[bytes]":
    """Start a new Python as fork server, which inherits only the descriptors *numbers*."""
    return subprocess.Popen(  # noqa: S603  # this Python, this package, numbers
        [python, "-E", "-P", "-B", "-X", "utf8", "-c", _START.format(list(numbers))],
        pass_fds=numbers,
        env=_ENVIRONMENT,
        cwd="/",
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # the terminal sends Ctrl-C to the supervisor only
    )


class _Fork:
    """A fork server that is a fork of this process, with the methods of ``Popen`` used here."""

    def __init__(self, numbers: Sequence[int]) -> None:
        from autograder.sandbox.fork_server import main_of_fork  # noqa: PLC0415  # imports torch

        self._exit_code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            try:
                main_of_fork(list(numbers), dict(_ENVIRONMENT))
            finally:
                os._exit(70)  # it never returns into the supervisor's code

    def poll(self) -> int | None:
        """Return the exit code; None while the process runs."""
        if self._exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._exit_code = os.waitstatus_to_exitcode(status) if pid else None
        return self._exit_code

    def wait(self, timeout: float = inf) -> int | None:
        """Wait at most *timeout* seconds for the process to end."""
        end = time.monotonic() + timeout
        while self.poll() is None and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        return self._exit_code

    def kill(self) -> None:
        """Kill the process."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _import_torch_for_fork() -> bool:
    """Import torch, and return whether a fork of this process can serve workers.

    A fork inherits the locks of other threads but not the threads. On macOS, a fork of a process
    that has used the system's frameworks may crash.
    """
    if sys.platform != "linux" or _thread_count() > 1:
        return False
    os.environ.update(ONE_THREAD)  # before numpy and torch read it
    importlib.import_module("autograder.sandbox.fork_server")  # it imports torch
    return _thread_count() == 1


def _thread_count() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208  # only the number is needed
