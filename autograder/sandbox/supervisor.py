"""Starts the fork server, enforces limits from outside and validates replies."""

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from autograder.course import Limits
from autograder.errors import GraderError, SandboxError
from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.isolation import (
    Isolation,
    SandboxPolicy,
    check_roots,
    probe,
    readable_roots,
    unprivileged_owner,
)
from autograder.sandbox.protocol import LENGTH, BadMessageError, Reply, Request, pack, unpack_reply

START_SECONDS = 120.0  # importing torch from a cold disk on a busy machine
CLOSE_SECONDS = 2.0  # for the fork server to end by itself; a busy machine may need one
CONTROL_SECONDS = 20.0  # a fork or a kill; the fork server does nothing else
WALL_CLOCK_FACTOR = 20  # how many times its limit a call may take where others hold the processor
WATCH_SECONDS = 0.05  # how often a long call's private folder is measured
PIPE_CHUNK = 65_536
OPEN_FILES = 64  # what is deleted but open escapes the watch on the folder: bounded by this
MIB = 1 << 20


class ForkServer:
    """A running fork server; one socket for each grading process that will use it."""

    def __init__(
        self,
        isolation: Isolation,
        limits: Limits,
        clients: int = 1,
        python: str = sys.executable,
    ) -> None:
        self.isolation = isolation
        self.limits = limits
        self._roots = readable_roots()
        self._ready: set[int] = set()
        pairs = [socket.socketpair() for _ in range(clients)]
        self._controls = [ours for ours, _ in pairs]
        theirs = [control for _, control in pairs]
        numbers = [control.fileno() for control in theirs]
        self._process = subprocess.Popen(  # noqa: S603  # this Python, this package, numbers
            [python, "-E", "-P", "-B", "-X", "utf8", "-m", "autograder.sandbox.fork_server"]
            + [str(number) for number in numbers],
            pass_fds=numbers,
            env=_clean_environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal is the supervisor's to handle
        )
        for control in theirs:
            control.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the fork server; workers that are left die with it."""
        for control in self._controls:
            control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends its workers, then itself
            self._process.wait(CLOSE_SECONDS)
        self._process.kill()
        self._process.wait()

    def wait_ready(self, client: int = 0) -> None:
        """Wait until torch is loaded, once; raises ``GraderError`` if that fails."""
        if client not in self._ready:
            self._receive(self._controls[client], START_SECONDS)
            self._ready.add(client)

    def start(self, module: str, *, notebook: bool, private: Path, client: int = 0) -> "Worker":
        """Fork a worker whose private folder is *private*."""
        ours, theirs = socket.socketpair()
        output, pipe = os.pipe()
        start = {
            "type": "start",
            "policy": msgspec.to_builtins(self._policy(private)),
            "module": module,
            "notebook": notebook,
            "max_bytes": self.limits.answer_mib * MIB,
        }
        control = self._controls[client]
        socket.send_fds(control, [msgspec.msgpack.encode(start)], [theirs.fileno(), pipe])
        theirs.close()
        os.close(pipe)
        pid = self._receive(control, CONTROL_SECONDS)["pid"]
        worker = Worker(self, client, pid, ours, output, private)
        worker.wait_confined()
        return worker

    def end(self, pid: int, client: int) -> int:
        """Kill and reap worker *pid*; returns its exit code, negative for a signal."""
        self._controls[client].sendall(msgspec.msgpack.encode({"type": "end", "pid": pid}))
        return self._receive(self._controls[client], CONTROL_SECONDS)["status"]

    def _policy(self, private: Path) -> SandboxPolicy:
        return SandboxPolicy(
            isolation=self.isolation,
            readable=self._roots,
            private=str(private),
            memory_bytes=self.limits.memory_mib * MIB,
            file_bytes=self.limits.disk_mib * MIB,
            open_files=OPEN_FILES,
        )

    def _receive(self, control: socket.socket, seconds: float) -> dict[str, int]:
        control.settimeout(seconds)
        with contextlib.suppress(TimeoutError, ConnectionError):
            if body := control.recv(PIPE_CHUNK):
                answer = msgspec.msgpack.decode(body, type=dict[str, int | str])
                return {key: value for key, value in answer.items() if isinstance(value, int)}
        msg = f"the sandbox's fork server does not answer (exit code {self._process.poll()})"
        raise GraderError(msg)


class _CpuDeadline:
    """The time that a worker has: of the processor, so that a busy machine fails no right answer.

    A worker that sleeps uses its time up as well; one that waits for its turn does not, within
    reason. Without /proc, time is the clock's on the wall.
    """

    def __init__(self, pid: int, seconds: float) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self._seconds = seconds
        self._used_before = self._read()[1]
        now = time.monotonic()
        self._deadline = now + seconds
        self._last = now + WALL_CLOCK_FACTOR * seconds

    def left(self) -> float:
        """Seconds until the worker must be looked at again; 0 or less: its time is up."""
        now = time.monotonic()
        if now >= self._deadline:
            state, used = self._read()
            unused = self._seconds - (used - self._used_before)
            if state in {"R", "D"} and unused > 0:  # it would run if it were let
                self._deadline = min(now + unused, self._last)
        return self._deadline - now

    def _read(self) -> tuple[str, float]:
        """Return the worker's state and the processor seconds that it has used."""
        try:
            fields = self._stat.read_text("ascii", "replace").rpartition(")")[2].split()
            return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):  # no Linux, or it has just ended
            return "", 0.0


class Worker:
    """One confined process. Every deadline is kept here, outside of it."""

    def __init__(
        self,
        fork_server: ForkServer,
        client: int,
        pid: int,
        wire: socket.socket,
        output: int,
        private: Path,
    ) -> None:
        self._fork_server = fork_server
        self._client = client
        self._pid = pid
        self._wire = wire
        self._output = output
        self._private = private
        self._limits = fork_server.limits
        self._printed = bytearray()
        self._ended = False
        wire.setblocking(False)  # noqa: FBT003  # the socket module's own signature
        os.set_blocking(output, False)

    @property
    def printed(self) -> str:
        """What the student's code printed, as far as it is kept."""
        return self._printed.decode("utf-8", "replace")

    def wait_confined(self) -> None:
        """Wait until the worker has locked itself up; no student code has run before that."""
        try:
            self._reply(0, _CpuDeadline(self._pid, CONTROL_SECONDS))
        except (Fault, BadMessageError) as error:
            self.end()
            msg = f"a worker could not be confined ({error}); run `autograder doctor`"
            raise GraderError(msg) from None

    def ask(self, request: Request, seconds: float) -> Reply:
        """Send *request* and wait for its reply; after a ``Fault`` the worker is gone."""
        clock = _CpuDeadline(self._pid, seconds)
        try:
            self._send(pack(request), clock)
            return self._reply(request.number, clock)
        except BadMessageError as error:
            self.end()
            sentence = "Your program wrote into the grader's connection"
            raise Fault(Status.BAD_OUTPUT, f"{sentence}: {error}.", public=f"{sentence}.") from None
        except Fault:
            self.end()
            raise

    def end(self) -> int:
        """Kill the process and take away its folder; returns its exit code."""
        if self._ended:
            return 0
        self._ended = True
        status = self._fork_server.end(self._pid, self._client)
        self._drain()
        self._wire.close()
        os.close(self._output)
        remove(self._private)
        return status

    def _reply(self, number: int, clock: _CpuDeadline) -> Reply:
        (size,) = LENGTH.unpack(self._receive(LENGTH.size, clock))
        if size > self._limits.answer_mib * MIB:
            msg = f"a message of {size} bytes is announced"
            raise BadMessageError(msg)
        reply = unpack_reply(self._receive(size, clock))
        if reply.number != number:
            msg = "an answer that nobody asked for arrived"
            raise BadMessageError(msg)
        self._measure_disk()  # a call that came back sooner than it was watched
        return reply

    def _send(self, data: bytes, clock: _CpuDeadline) -> None:
        view = memoryview(data)
        while view:
            self._wait(clock, sending=True)
            try:
                view = view[self._wire.send(view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise self._crash() from None

    def _receive(self, size: int, clock: _CpuDeadline) -> bytes:
        """Read exactly *size* bytes."""
        data = bytearray()
        while len(data) < size:
            self._wait(clock)
            try:
                part = self._wire.recv(min(size - len(data), MIB))
            except BlockingIOError:
                continue
            except OSError:
                part = b""
            if not part:
                raise self._crash()
            data += part
        return bytes(data)

    def _wait(self, clock: _CpuDeadline, *, sending: bool = False) -> None:
        """Wait for the wire, keep the output pipe empty and the private folder small."""
        wire = self._wire.fileno()
        while True:
            left = clock.left()
            if left <= 0:
                raise Fault(Status.TIMEOUT, "Your code did not come back in time.")
            ready = select.select(
                [self._output] if sending else [self._output, wire],
                [wire] if sending else [],
                [],
                min(left, WATCH_SECONDS),
            )
            if self._output in ready[0]:
                self._drain()
            if wire in ready[0] or wire in ready[1]:
                return
            self._measure_disk()

    def _drain(self) -> None:
        """Read what was printed; beyond the limit it is read and forgotten."""
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(self._output, PIPE_CHUNK)
            room = self._limits.output_kib * 1024 - len(self._printed)
            self._printed += chunk[: max(room, 0)]
            if not chunk:  # all writers are gone: select would report it forever
                time.sleep(WATCH_SECONDS / 50)

    def _measure_disk(self) -> None:
        limits = self._limits
        files, size = _usage(self._private, limits.files)
        if files > limits.files or size > limits.disk_mib * MIB:
            sentence = f"Your code wrote more than {limits.files} files or {limits.disk_mib} MiB."
            raise Fault(Status.OUT_OF_DISK, sentence)

    def _crash(self) -> Fault:
        status = self.end()
        how = f"signal {_signal_name(-status)}" if status < 0 else f"exit code {status}"
        return Fault(
            Status.CRASHED,
            f"Your code ended the whole Python process ({how}) instead of returning. "
            "Look for exit(), os._exit() or a crash in native code.",
        )


def private_folder() -> Path:
    """Make an empty folder that only the worker's user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="submission-"))
    owner = unprivileged_owner()
    if owner is not None:
        os.chown(folder, owner, owner)
    return folder


def remove(folder: Path) -> None:
    """Remove a private folder, whatever its owner made of it: too deep to recurse, or locked."""
    with contextlib.suppress(RecursionError):  # before Python 3.13, rmtree calls itself
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, str(folder)], check=False, stderr=subprocess.DEVNULL)  # noqa: S603  # a fixed command on a folder of our own


def choose_isolation(asked: str | None, secret: Path | None = None) -> Isolation:
    """Return *asked* if this machine gives it; by default ``full``, never less unasked.

    *secret* is a folder that a confined worker must not be able to read; raises ``SandboxError``.
    """
    found = probe()
    if asked in {None, "full"} and found.level != "full":
        msg = (
            f"Full isolation can't be had here: {found.reason} "
            "To grade with less, say so: --isolation process."
        )
        raise SandboxError(msg)
    if asked == "process":
        return "process"
    if secret is not None:
        check_roots(readable_roots(), secret)
    return "full"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have no name
        return str(number)


def _usage(folder: Path, enough: int) -> tuple[int, int]:
    """Count files and bytes below *folder*, but look no further than *enough* files."""
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


def _clean_environment() -> dict[str, str]:
    """What the fork server and so every worker sees: nothing of the instructor's."""
    return {
        "LANG": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "OMP_NUM_THREADS": "1",  # one worker, one core
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
        "PYTHONWARNINGS": "ignore",
    }
