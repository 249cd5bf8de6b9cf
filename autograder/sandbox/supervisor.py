"""Starts the fork server, enforces limits from outside and validates replies."""

import contextlib
import importlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeVar

import msgspec

from autograder.course import Limits
from autograder.disk import OwnedFolder
from autograder.errors import GraderError, LostProcessError
from autograder.results import Status
from autograder.sandbox import protocol
from autograder.sandbox.confinement import SandboxPolicy
from autograder.sandbox.faults import Fault
from autograder.sandbox.isolation import (
    Isolation,
    readable_roots,
    require_workers,
)
from autograder.sandbox.private_folder import make_private_folder, remove_folder
from autograder.sandbox.protocol import (
    HEADER,
    NO_REQUEST,
    BadMessageError,
    Verb,
    WorkerEnded,
    WorkerStarted,
)
from autograder.sanitize import MAX_MESSAGE

START_SECONDS = 120.0  # importing torch from a cold disk on a busy machine
CLOSE_SECONDS = 2.0  # for the fork server to end by itself; on a busy machine it may need 1 s
POLL_SECONDS = 0.01  # between two looks at whether a fork has ended
CONTROL_SECONDS = 20.0  # a fork or a kill; the fork server does nothing else
WATCH_SECONDS = 0.05  # how often the time of a long call is measured
STACK_SECONDS = 0.5  # for a worker that hangs to say at which line; a busy machine may need 0.1
PIPE_CHUNK = 65_536
MILLISECONDS = 1000
PRINTED_BYTES = 4 * (MAX_MESSAGE + 1)  # enough for what a record keeps; a character has up to four
# A line of `faulthandler`: files of libraries have a path with slashes, those of students none.
_STACK_LINE = re.compile(rb'File "(?:[^"/\\<]{1,80}\.py|(cell \d{1,4}))", line (\d{1,6}) in ')
OPEN_FILES = 64  # of one worker; imports open a few at a time
MIB = 1 << 20
# A worker uses one core.
_ONE_THREAD: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)
# The environment of fork server and workers, without the instructor's variables.
_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    **_ONE_THREAD,
    "MPLBACKEND": "Agg",
    "PYTHONWARNINGS": "ignore",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # large pages from the start, see `fork_server`
}
# To import torch with the garbage collector takes a tenth longer; `warm_up` enables it again.
_START: Final = "import gc; gc.disable(); from autograder.sandbox.fork_server import main; main({})"
_ControlReply = TypeVar("_ControlReply", protocol.ForkServerReady, WorkerStarted, WorkerEnded)


class ForkServer:
    """A running fork server, with one socket for each client: a grading process that uses it."""

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
        self._roots = readable_roots()
        self._folder = OwnedFolder(remove_folder)  # holds the private folders of its workers
        self._ready: set[int] = set()
        pairs = [socket.socketpair() for _ in range(clients)]
        self._controls = [local for local, _ in pairs]
        remotes = [remote for _, remote in pairs]
        numbers = [remote.fileno() for remote in remotes]
        self._process = _Fork(numbers) if fork else _execute(python, numbers)
        for remote in remotes:
            remote.close()

    @classmethod
    def of_own_code(cls, limits: Limits) -> Self:
        """Start one for the reader's own code: as a fork of this process where that is safe.

        Then torch is imported once and not twice. Call it before anything secret is loaded.
        """
        return cls("process", limits, fork=_import_torch_for_fork())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def close(self) -> None:
        """End the fork server and the workers that are left; remove their folders."""
        for control in self._controls:
            control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends its workers, then itself
            self._process.wait(CLOSE_SECONDS)
        self._process.kill()
        self._process.wait()
        self._folder.close()

    def wait_ready(self, client: int = 0) -> None:
        """Wait until torch is loaded, once; raises ``GraderError`` if that fails."""
        if client not in self._ready:
            self._receive(self._controls[client], START_SECONDS, protocol.ForkServerReady)
            self._ready.add(client)

    def start(self, module: str, *, notebook: bool, client: int = 0) -> "Worker":
        """Fork a worker with a private folder of its own, and wait until it is confined."""
        private = make_private_folder(self._folder.path)
        connection, remote = socket.socketpair()
        output, remote_output = os.pipe()
        request = protocol.StartWorker(
            policy=self._policy(private),
            module=module,
            notebook=notebook,
            max_bytes=self.limits.answer_mib * MIB,
        )
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
        worker = Worker(pid, connection, output, private, lambda: self.end(pid, client))
        worker.wait_confined()
        return worker

    def end(self, pid: int, client: int) -> int:
        """Kill and reap worker *pid*; returns its exit code, negative for a signal."""
        control = self._controls[client]
        try:
            control.sendall(msgspec.msgpack.encode(protocol.EndWorker(pid)))
        except OSError:
            raise self._lost() from None
        return self._receive(control, CONTROL_SECONDS, WorkerEnded).exit_code

    def _policy(self, private: Path) -> SandboxPolicy:
        return SandboxPolicy(
            isolation=self.isolation,
            readable=self._roots,
            private=str(private),
            memory_bytes=self.limits.memory_mib * MIB,
            file_bytes=self.limits.disk_mib * MIB,
            files=self.limits.files,
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
        raise self._lost()

    def _lost(self) -> LostProcessError:
        code = self._process.poll()
        return LostProcessError(f"the sandbox's fork server does not answer (exit code {code})")


def _execute(python: str, numbers: Sequence[int]) -> "subprocess.Popen[bytes]":
    """Start a fork server as a new Python process, with its clients at the descriptors *numbers*.

    It holds nothing of this process: no memory, no environment, no other descriptor.
    """
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
        """Return the exit code; None while it runs."""
        if self._exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._exit_code = os.waitstatus_to_exitcode(status) if pid else None
        return self._exit_code

    def wait(self, timeout: float = inf) -> int | None:
        """Wait for its end, at most *timeout* seconds."""
        end = time.monotonic() + timeout
        while self.poll() is None and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        return self._exit_code

    def kill(self) -> None:
        """End it."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _import_torch_for_fork() -> bool:
    """Import torch, and return whether a fork of this process can serve workers.

    A fork inherits no threads but their locks, and on macOS a fork of a process that has used the
    system's frameworks may crash.
    """
    if sys.platform != "linux" or _thread_count() > 1:
        return False
    os.environ.update(_ONE_THREAD)  # before numpy and torch read it
    importlib.import_module("autograder.sandbox.fork_server")  # it imports torch
    return _thread_count() == 1


def _thread_count() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208  # the number alone is needed


class Sent(NamedTuple):
    """A reply as a worker sent it, not yet decoded, and the number of its request in the batch."""

    last: int
    body: bytes


def bad_message(error: BadMessageError) -> Fault:
    """Return what a message that is none costs the submission."""
    sentence = "Your program wrote into the grader's connection"
    return Fault(Status.BAD_OUTPUT, f"{sentence}: {error}.", public=f"{sentence}.")


class CpuDeadline:
    """Time limit of a worker, independent of the machine's load.

    Only the time that the kernel measured while the worker waited in a processor's queue is not
    counted, and on the clock at most *most* seconds pass. Without /proc, all time counts.
    """

    def __init__(self, pid: int, seconds: float, most: float, proc: Path = Path("/proc")) -> None:
        self.seconds = seconds
        self._process = proc, str(pid)
        self._last_deadline = time.monotonic() + most
        self._calls = 0
        self.renew()

    @property
    def granted(self) -> float:
        """How many seconds all calls so far had."""
        return self.seconds * self._calls

    def renew(self) -> None:
        """Give the next call its own seconds."""
        self._calls += 1
        self._before: tuple[float, float] | None = None
        self._start = time.monotonic()
        self._deadline = min(self._start + self.seconds, self._last_deadline)

    def remaining(self) -> float:
        """Return the seconds until the next look at the worker; 0 or less: its time is used up."""
        now = time.monotonic()
        if self._before is None and now >= min(self._start + WATCH_SECONDS, self._deadline):
            self._before = self._used_and_waited()  # most calls have returned by now
        if self._before is not None and now >= self._deadline:
            used, waited = (
                after - before
                for after, before in zip(self._used_and_waited(), self._before, strict=True)
            )
            if used < self.seconds:  # else other threads of its own made it wait
                self._deadline = min(self._start + self.seconds + waited, self._last_deadline)
        return self._deadline - now

    def _used_and_waited(self) -> tuple[float, float]:
        """Return the seconds that its threads have run, and that its first one waited to run."""
        folder = Path(*self._process)
        try:
            stat = (folder / "stat").read_text("ascii", "replace")
            fields = stat.rpartition(")")[2].split()
            waited = (folder / "schedstat").read_text("ascii").split()[1]
            ticks = int(fields[11]) + int(fields[12])
            return ticks / os.sysconf("SC_CLK_TCK"), int(waited) / 1e9
        except (OSError, IndexError, ValueError):  # not Linux, or the worker has just ended
            return 0.0, 0.0


@dataclass
class Allowance:
    """What a worker may still answer, so that no reply costs the supervisor more than that."""

    size: int  # in bytes
    parts: int = protocol.MAX_PARTS
    _uncounted: list[bytes] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        """Subtract *body*, which is no longer than what is left.

        Raises ``BadMessageError`` for more parts than are left, and for a text that is too long.
        Every part has a byte at least, so bodies are counted only once together they have so many
        bytes that they may have too many parts.
        """
        self.size -= len(body)
        self._uncounted.append(body)
        if len(body) <= protocol.MAX_TEXT_BYTES and sum(map(len, self._uncounted)) <= self.parts:
            return
        for one in self._uncounted:
            self.parts -= protocol.count_parts(one, self.parts)
        self._uncounted.clear()


@dataclass(eq=False)
class Worker:
    """The supervisor's side of one worker: sends requests, enforces limits, validates replies."""

    pid: int
    connection: socket.socket
    output: int  # what the student's code prints
    private: Path
    kill: Callable[[], int]  # ends the process; returns its exit code
    # Whether the student's source has a line, in a cell "cell 1" or in the only file "".
    has_line: Callable[[str, int], bool] = lambda _cell, _line: False
    ended: bool = False
    was_killed: bool = False  # by SIGKILL and not from here: by itself, or from outside
    _number: int = 0  # of the last message
    _printed: bytes = b""
    _received: bytearray = field(default_factory=bytearray)
    _dumps_stack: bool = False  # from then on its output is no longer the student's alone

    def __post_init__(self) -> None:
        self.connection.setblocking(False)  # noqa: FBT003  # the socket module's own signature
        os.set_blocking(self.output, False)
        # The connection is looked at first: what was printed before a reply is seen with the reply.
        self._to_receive = _poll((self.connection, select.POLLIN), (self.output, select.POLLIN))
        self._to_send = _poll((self.connection, select.POLLOUT), (self.output, select.POLLIN))

    def wait_confined(self) -> None:
        """Wait until the worker has confined itself; no student code has run before that."""
        try:
            allowance = Allowance(protocol.SHORT_REPLY)
            deadline = CpuDeadline(self.pid, CONTROL_SECONDS, START_SECONDS)
            protocol.unpack(protocol.REPLIES, self._reply(deadline, allowance, ("has",)).body)
        except (Fault, BadMessageError) as error:
            self.end()
            if self.was_killed:
                msg = "a worker was killed while it started"
                raise LostProcessError(msg) from None
            msg = f"a worker could not be confined ({error}); run `autograder doctor`"
            raise GraderError(msg) from None

    def ask(
        self, batch: bytes, verbs: Sequence[Verb], deadline: CpuDeadline, allowance: Allowance
    ) -> Sent:
        """Send *batch* with requests of *verbs*; return the reply, which uses up some *allowance*.

        A worker that causes a ``Fault`` is ended.
        """
        try:
            self._number += 1
            self._send(protocol.framed(batch, self._number), deadline)
            return self._reply(deadline, allowance, verbs)
        except BadMessageError as error:
            self.end()
            raise bad_message(error) from None
        except Fault:
            self.end()
            raise

    def take_printed(self) -> bytes:
        """Return the end of what the student's code had printed when it sent its last reply."""
        printed, self._printed = self._printed, b""
        return printed

    def end(self) -> int:
        """Kill the process and remove its private folder; returns its exit code."""
        if self.ended:
            return 0
        self.ended = True
        exit_code = self.kill()
        self._read_output()
        self.connection.close()
        os.close(self.output)
        remove_folder(self.private)
        return exit_code

    def _reply(self, deadline: CpuDeadline, allowance: Allowance, verbs: Sequence[Verb]) -> Sent:
        """Receive the reply to the last message, whose size is known before it is received."""
        is_short = protocol.SHORT_VERBS.issuperset(verbs)
        size, number, last = HEADER.unpack(self._receive(HEADER.size, deadline))
        for _ in verbs[1:]:
            if size:
                break
            deadline.renew()
            size, number, last = HEADER.unpack(self._receive(HEADER.size, deadline))
        if size > min(allowance.size, protocol.SHORT_REPLY if is_short else size):
            msg = f"it announces a message of {size} bytes"
            raise BadMessageError(msg)
        if number != self._number or last >= len(verbs):
            raise BadMessageError(NO_REQUEST)
        body = self._receive(size, deadline)
        allowance.take(body)
        return Sent(last, body)

    def _send(self, data: bytes, deadline: CpuDeadline) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self.connection.send(view) :]
            except BlockingIOError:
                self._wait(deadline, self._to_send)
            except OSError:
                raise self._crash() from None

    def _receive(self, size: int, deadline: CpuDeadline) -> bytes:
        """Return the next *size* bytes; what arrives with them is kept for the next call."""
        while len(self._received) < size:
            self._wait(deadline, self._to_receive)
            try:
                part = self.connection.recv(min(max(size - len(self._received), PIPE_CHUNK), MIB))
            except BlockingIOError:
                continue
            except OSError:
                part = b""
            if not part:
                raise self._crash()
            self._received += part
        data = bytes(self._received[:size])
        del self._received[:size]
        return data

    def _wait(self, deadline: CpuDeadline, poll: "select.poll") -> None:
        """Wait for the socket; meanwhile empty the output pipe."""
        while True:
            remaining = deadline.remaining()
            if remaining <= 0:
                raise self._timeout(deadline.seconds)
            ready = poll.poll(min(remaining, WATCH_SECONDS) * MILLISECONDS)
            if any(descriptor == self.output for descriptor, _ in ready):
                if not self._read_output():
                    time.sleep(WATCH_SECONDS / 50)  # a closed pipe is always readable
                del ready[-1]
            if ready:
                return

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
        public = "Your code did not finish in time."  # the code chooses the line
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
                cell, line = found[1].decode() if found[1] else "", int(found[2])
                known = self.has_line(cell, line)
                return f"{cell}, line {line}".removeprefix(", ") if known else ""
            if not select.select([self.output], [], [], remaining)[0]:
                break
            with contextlib.suppress(BlockingIOError):
                part = os.read(self.output, PIPE_CHUNK)
                if not part:  # all writers are closed
                    break
                printed += part
        return ""

    def _crash(self) -> Fault:
        code = self.end()
        self.was_killed = code == -signal.SIGKILL
        how = f"signal {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        message, public = (
            f"Your code ended the whole Python process{shown} instead of returning. "
            "Look for exit(), os._exit() or a crash in native code."
            for shown in (f" ({how})", "")  # the code chooses the number
        )
        return Fault(Status.CRASHED, message, public=public)


def _poll(*watched: tuple[socket.socket | int, int]) -> "select.poll":
    poll = select.poll()
    for descriptor, event in watched:
        poll.register(descriptor, event)
    return poll


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have no name
        return str(number)
