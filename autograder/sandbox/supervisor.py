"""Starts the fork server, enforces limits from outside and validates replies."""

import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeVar

import msgspec

from autograder.course import Limits
from autograder.errors import GraderError, SandboxError
from autograder.results import Status
from autograder.sandbox import protocol
from autograder.sandbox.faults import Fault
from autograder.sandbox.isolation import (
    Isolation,
    SandboxPolicy,
    check_roots,
    detect_capabilities,
    readable_roots,
    unprivileged_owner,
)
from autograder.sandbox.protocol import LENGTH, BadMessageError, WorkerEnded, WorkerStarted
from autograder.sanitize import MAX_MESSAGE

START_SECONDS = 120.0  # importing torch from a cold disk on a busy machine
CLOSE_SECONDS = 2.0  # for the fork server to end by itself; on a busy machine it may need 1 s
CONTROL_SECONDS = 20.0  # a fork or a kill; the fork server does nothing else
WALL_CLOCK_FACTOR = 20  # a call may take so many times its limit while others use the processor
WATCH_SECONDS = 0.05  # how often a long call's private folder is measured
STACK_SECONDS = 0.5  # for a worker that hangs to say at which line; a busy machine may need 0.1
PIPE_CHUNK = 65_536
PRINTED_BYTES = 4 * (MAX_MESSAGE + 1)  # enough for what a record keeps; a character has up to four
# A line of `faulthandler`: files of libraries have a path with slashes, those of students none.
_STACK_LINE = re.compile(rb'File "(?:[^"/\\<]{1,80}\.py|(cell \d{1,4}))", line (\d{1,6}) in ')
OPEN_FILES = 64  # bounds deleted but open files, which measuring the folder does not count
MIB = 1 << 20
# The environment of fork server and workers, without the instructor's variables.
_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    # A worker uses one core.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "MPLBACKEND": "Agg",
    "PYTHONWARNINGS": "ignore",
}
_ControlReply = TypeVar("_ControlReply", protocol.ForkServerReady, WorkerStarted, WorkerEnded)


class ForkServer:
    """A running fork server, with one socket for each client: a grading process that uses it."""

    def __init__(
        self, isolation: Isolation, limits: Limits, clients: int = 1, python: str = sys.executable
    ) -> None:
        self.isolation = isolation
        self.limits = limits
        self._roots = readable_roots()
        self._ready: set[int] = set()
        pairs = [socket.socketpair() for _ in range(clients)]
        self._controls = [local for local, _ in pairs]
        remotes = [remote for _, remote in pairs]
        numbers = [remote.fileno() for remote in remotes]
        self._process = subprocess.Popen(  # noqa: S603  # this Python, this package, numbers
            [python, "-E", "-P", "-B", "-X", "utf8", "-m", "autograder.sandbox.fork_server"]
            + [str(number) for number in numbers],
            pass_fds=numbers,
            env=_ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # the terminal sends Ctrl-C to the supervisor only
        )
        for remote in remotes:
            remote.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the fork server and the workers that are left."""
        for control in self._controls:
            control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends its workers, then itself
            self._process.wait(CLOSE_SECONDS)
        self._process.kill()
        self._process.wait()

    def wait_ready(self, client: int = 0) -> None:
        """Wait until torch is loaded, once; raises ``GraderError`` if that fails."""
        if client not in self._ready:
            self._receive(self._controls[client], START_SECONDS, protocol.ForkServerReady)
            self._ready.add(client)

    def start(self, module: str, *, notebook: bool, client: int = 0) -> "Worker":
        """Fork a worker with a private folder of its own, and wait until it is confined."""
        private = make_private_folder()
        connection, remote = socket.socketpair()
        output, remote_output = os.pipe()
        request = protocol.StartWorker(
            policy=self._policy(private),
            module=module,
            notebook=notebook,
            max_bytes=self.limits.answer_mib * MIB,
        )
        message, control = msgspec.msgpack.encode(request), self._controls[client]
        socket.send_fds(control, [message], [remote.fileno(), remote_output])
        remote.close()
        os.close(remote_output)
        pid = self._receive(control, CONTROL_SECONDS, WorkerStarted).pid
        worker = Worker(self, client, pid, connection, output, private)
        worker.wait_confined()
        return worker

    def end(self, pid: int, client: int) -> int:
        """Kill and reap worker *pid*; returns its exit code, negative for a signal."""
        control = self._controls[client]
        control.sendall(msgspec.msgpack.encode(protocol.EndWorker(pid)))
        return self._receive(control, CONTROL_SECONDS, WorkerEnded).exit_code

    def _policy(self, private: Path) -> SandboxPolicy:
        return SandboxPolicy(
            isolation=self.isolation,
            readable=self._roots,
            private=str(private),
            memory_bytes=self.limits.memory_mib * MIB,
            file_bytes=self.limits.disk_mib * MIB,
            open_files=OPEN_FILES,
        )

    def _receive(
        self, control: socket.socket, seconds: float, kind: type[_ControlReply]
    ) -> _ControlReply:
        control.settimeout(seconds)
        with contextlib.suppress(TimeoutError, ConnectionError, BadMessageError):
            reply = protocol.unpack(protocol.CONTROL_REPLIES, control.recv(PIPE_CHUNK))
            if isinstance(reply, kind):
                return reply
        msg = f"the sandbox's fork server does not answer (exit code {self._process.poll()})"
        raise GraderError(msg)


class CpuDeadline:
    """CPU-time limit of a worker, independent of the machine's load.

    Time in which a worker sleeps counts as well; time in which it waits for a processor does not,
    up to ``WALL_CLOCK_FACTOR`` times the limit. Without /proc, all time counts.
    """

    def __init__(self, pid: int, seconds: float) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self.seconds = seconds
        self._used_before = self._worker_state()[1]
        now = time.monotonic()
        self._deadline = now + seconds
        self._last_deadline = now + WALL_CLOCK_FACTOR * seconds

    def remaining(self) -> float:
        """Return the seconds until the next look at the worker; 0 or less: its time is used up."""
        now = time.monotonic()
        if now >= self._deadline:
            state, used = self._worker_state()
            unused = self.seconds - (used - self._used_before)
            if state in {"R", "D"} and unused > 0:  # it waited for a processor or for the disk
                self._deadline = min(now + unused, self._last_deadline)
        return self._deadline - now

    def _worker_state(self) -> tuple[str, float]:
        """Return the worker's state and the CPU seconds that it has used."""
        try:
            fields = self._stat.read_text("ascii", "replace").rpartition(")")[2].split()
            return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):  # not Linux, or the worker has just ended
            return "", 0.0


@dataclass(eq=False)
class Worker:
    """The supervisor's side of one worker: sends requests, enforces limits, validates replies."""

    fork_server: ForkServer
    client: int
    pid: int
    connection: socket.socket
    output: int  # what the student's code prints
    private: Path
    ended: bool = False
    _printed: bytes = b""
    _dumps_stack: bool = False  # from then on its output is no longer the student's alone

    def __post_init__(self) -> None:
        self.connection.setblocking(False)  # noqa: FBT003  # the socket module's own signature
        os.set_blocking(self.output, False)

    def wait_confined(self) -> None:
        """Wait until the worker has confined itself; no student code has run before that."""
        try:
            self._reply(0, CpuDeadline(self.pid, CONTROL_SECONDS))
        except (Fault, BadMessageError) as error:
            self.end()
            msg = f"a worker could not be confined ({error}); run `autograder doctor`"
            raise GraderError(msg) from None

    def ask(self, request: protocol.Request, seconds: float) -> protocol.Reply:
        """Send *request* and wait for its reply; a worker that causes a ``Fault`` is ended."""
        deadline = CpuDeadline(self.pid, seconds)
        try:
            self._send(protocol.pack(request), deadline)
            return self._reply(request.number, deadline)
        except BadMessageError as error:
            self.end()
            sentence = "Your program wrote into the grader's connection"
            raise Fault(Status.BAD_OUTPUT, f"{sentence}: {error}.", public=f"{sentence}.") from None
        except Fault:
            self.end()
            raise

    def take_printed(self) -> bytes:
        """Return the end of what the student's code has printed since the last time."""
        if not self.ended:
            self._read_output()
        printed, self._printed = self._printed, b""
        return printed

    def end(self) -> int:
        """Kill the process and remove its private folder; returns its exit code."""
        if self.ended:
            return 0
        self.ended = True
        exit_code = self.fork_server.end(self.pid, self.client)
        self._read_output()
        self.connection.close()
        os.close(self.output)
        remove_folder(self.private)
        return exit_code

    def _reply(self, number: int, deadline: CpuDeadline) -> protocol.Reply:
        (size,) = LENGTH.unpack(self._receive(LENGTH.size, deadline))
        if size > self.fork_server.limits.answer_mib * MIB:
            msg = f"it announces a message of {size} bytes"
            raise BadMessageError(msg)
        reply = protocol.unpack(protocol.REPLIES, self._receive(size, deadline))
        if reply.number != number:
            msg = "it sends a reply to no request"
            raise BadMessageError(msg)
        self._measure_disk()  # for a call that returned before the first measurement in `_wait`
        return reply

    def _send(self, data: bytes, deadline: CpuDeadline) -> None:
        view = memoryview(data)
        while view:
            self._wait(deadline, sending=True)
            try:
                view = view[self.connection.send(view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._crash() from None

    def _receive(self, size: int, deadline: CpuDeadline) -> bytes:
        """Read exactly *size* bytes."""
        data = bytearray()
        while len(data) < size:
            self._wait(deadline)
            try:
                part = self.connection.recv(min(size - len(data), MIB))
            except BlockingIOError:
                continue
            except OSError:
                part = b""
            if not part:
                raise self._crash()
            data += part
        return bytes(data)

    def _wait(self, deadline: CpuDeadline, *, sending: bool = False) -> None:
        """Wait for the socket; meanwhile empty the output pipe and measure the private folder."""
        connection = self.connection.fileno()
        while True:
            remaining = deadline.remaining()
            if remaining <= 0:
                raise self._timeout(deadline.seconds)
            readable, writable, _ = select.select(
                [self.output] if sending else [self.output, connection],
                [connection] if sending else [],
                [],
                min(remaining, WATCH_SECONDS),
            )
            if self.output in readable and not self._read_output():
                time.sleep(WATCH_SECONDS / 50)  # a closed pipe is always readable
            if connection in readable or connection in writable:
                return
            self._measure_disk()

    def _read_output(self) -> bool:
        """Empty the output pipe, so that it never blocks the worker, and keep the end.

        Returns False if the worker has closed it.
        """
        try:
            data = os.read(self.output, PIPE_CHUNK)
        except BlockingIOError:  # nothing was printed
            return True
        if not self._dumps_stack:
            self._printed = (self._printed + data)[-PRINTED_BYTES:]
        return bool(data)

    def _timeout(self, seconds: float) -> Fault:
        line = self._running_line()
        at = f"; it was at {line} then" if line else ""
        public = f"Your code did not finish in time{at}."
        message = f"Your code did not finish within {seconds:.3g} s{at}."
        return Fault(Status.TIMEOUT, message, public=public)

    def _running_line(self) -> str:
        """Ask the worker which line of the student's file runs; it may lie, but in numbers only."""
        self._read_output()  # what was printed before is no answer
        self._dumps_stack = True
        with contextlib.suppress(OSError):
            os.kill(self.pid, protocol.STACK_SIGNAL)  # not reaped before `end`: the pid is its own
        printed, deadline = b"", time.monotonic() + STACK_SECONDS
        while (remaining := deadline - time.monotonic()) > 0 and len(printed) < PIPE_CHUNK:
            if found := _STACK_LINE.search(printed):
                cell = f"{found[1].decode()}, " if found[1] else ""
                return f"{cell}line {int(found[2])}"
            if not select.select([self.output], [], [], remaining)[0]:
                break
            with contextlib.suppress(BlockingIOError):
                part = os.read(self.output, PIPE_CHUNK)
                if not part:  # all writers are closed
                    break
                printed += part
        return ""

    def _measure_disk(self) -> None:
        limits = self.fork_server.limits
        files, size = _disk_usage(self.private, limits.files)
        if files > limits.files or size > limits.disk_mib * MIB:
            sentence = f"Your code wrote more than {limits.files} files or {limits.disk_mib} MiB."
            raise Fault(Status.OUT_OF_DISK, sentence)

    def _crash(self) -> Fault:
        code = self.end()
        how = f"signal {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        return Fault(
            Status.CRASHED,
            f"Your code ended the whole Python process ({how}) instead of returning. "
            "Look for exit(), os._exit() or a crash in native code.",
        )


def make_private_folder() -> Path:
    """Make an empty folder that only the worker's user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="submission-"))
    owner = unprivileged_owner()
    if owner is not None:
        os.chown(folder, owner, owner)
    return folder


def remove_folder(folder: Path) -> None:
    """Remove a private folder, even one that is too deep to recurse into or has no permissions."""
    with contextlib.suppress(RecursionError):  # before Python 3.13, rmtree calls itself
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, str(folder)], check=False, stderr=subprocess.DEVNULL)  # noqa: S603  # a fixed command on a folder of our own


def choose_isolation(asked: str | None, secret: Path | None = None) -> Isolation:
    """Return the isolation *asked* for, by default ``full``; never less than that.

    *secret* is a folder that a confined worker must not be able to read. Raises ``SandboxError``
    if this machine can't give the isolation.
    """
    if asked == "process":
        return "process"
    capabilities = detect_capabilities()
    if capabilities.level != "full":
        msg = (
            f"Full isolation is not available here: {capabilities.reason} "
            "To grade with less isolation, use --isolation process."
        )
        raise SandboxError(msg)
    if secret is not None:
        check_roots(readable_roots(), secret)
    return "full"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have no name
        return str(number)


def _disk_usage(folder: Path, enough: int) -> tuple[int, int]:
    """Count files and bytes below *folder*; stops after *enough* files."""
    files = size = 0
    for entry in _walk(folder):
        with contextlib.suppress(OSError):
            size += entry.stat(follow_symlinks=False).st_size
        files += 1
        if files > enough:
            break
    return files, size


def _walk(folder: Path | str) -> Iterator["os.DirEntry[str]"]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
