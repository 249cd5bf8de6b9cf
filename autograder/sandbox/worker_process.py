"""Supervises a worker: sends requests, enforces limits and validates replies."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from autograder.errors import GraderError, LostProcessError
from autograder.results import Status
from autograder.sandbox import protocol
from autograder.sandbox.faults import Fault, NotFinished
from autograder.sandbox.namespaces import remove_folder
from autograder.sandbox.process_limits import MIB
from autograder.sandbox.protocol import HEADER, NO_REQUEST, BadMessageError, Verb
from autograder.sandbox.wires import PIPE_CHUNK, Wire
from autograder.sanitize import MAX_MESSAGE

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100  # a second; Windows has none
WATCH_SECONDS = 0.05  # how often the time of a long call is measured


class CpuDeadline:
    """The time limit for the calls of a worker, independent of the machine's load.

    The time that the worker waited for a processor, as the kernel measures it, is not counted. At
    most *most* seconds of clock time may pass. Without /proc, all time counts.
    """

    def __init__(self, pid: int, seconds: float, most: float, proc: Path = Path("/proc")) -> None:
        self.seconds = seconds
        self._folder, self._own_folder = f"{proc}/{pid}", f"{proc}/thread-self"
        self._last_deadline = time.monotonic() + most
        self._calls = 0
        self._first = self._used_and_waited(), self._own_waiting(), time.monotonic()
        self.renew()

    def charge(self) -> float:
        """Return the seconds to charge for all calls so far, at most those that were granted.

        These are the seconds of the clock without those in which the worker, or this process,
        waited for a processor. The processor time of the worker's threads always counts.
        """
        (used, waited), own, start = self._first
        used_now, waited_now = self._used_and_waited()
        waiting = max(0.0, waited_now - waited) + max(0.0, self._own_waiting() - own)
        charged = max(used_now - used, time.monotonic() - start - waiting, 0.0)
        return min(charged, self.seconds * self._calls)

    def renew(self) -> None:
        """Start the time of the next call."""
        self._calls += 1
        self._before: tuple[float, float] | None = None
        self._start = time.monotonic()
        self._deadline = min(self._start + self.seconds, self._last_deadline)

    def remaining(self) -> float:
        """Return the seconds until the next check of the worker; at 0 its time is used up."""
        now = time.monotonic()
        if self._before is None and now >= min(self._start + WATCH_SECONDS, self._deadline):
            self._before = self._used_and_waited()  # most calls have returned by now
        if self._before is not None and now >= self._deadline:
            used, waited = (
                after - before
                for after, before in zip(self._used_and_waited(), self._before, strict=True)
            )
            if used < self.seconds:  # otherwise it waited for its own threads
                self._deadline = min(self._start + self.seconds + waited, self._last_deadline)
        return self._deadline - now

    def _used_and_waited(self) -> tuple[float, float]:
        """Return the processor seconds of all threads, and the waiting seconds of the first one."""
        try:
            fields = _read(f"{self._folder}/stat").rpartition(b")")[2].split()
            ticks = int(fields[11]) + int(fields[12])
            return ticks / TICKS, _waited(self._folder)
        except (OSError, IndexError, ValueError):  # not Linux, or the worker has just ended
            return 0.0, 0.0

    def _own_waiting(self) -> float:
        """Return the seconds that this thread, which reads the replies, waited for a processor."""
        try:
            return _waited(self._own_folder)
        except (OSError, IndexError, ValueError):  # not Linux
            return 0.0


def _waited(folder: str) -> float:
    return int(_read(f"{folder}/schedstat").split()[1]) / 1e9


def _read(path: str) -> bytes:
    """Read a small file of /proc; this is done twice for each request, so it must be quick."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


START_SECONDS = 120.0  # importing torch from a cold disk on a busy machine
CONTROL_SECONDS = 20.0  # a fork or a kill; the fork server does nothing else
STACK_SECONDS = 0.5  # to wait for the line of a hanging worker; a busy machine may need 0.1
PRINTED_BYTES = 4 * (MAX_MESSAGE + 1)  # as much as a record keeps; a character has up to four bytes
# A line of `faulthandler`; only paths of libraries contain slashes, names of students' files do
# not.
_STACK_LINE = re.compile(rb'File "(?:[^"/\\<]{1,80}\.py|(cell \d{1,4}))", line (\d{1,6}) in ')
# A file of torch's compiler or of SymPy, which it loads.
_COMPILER = re.compile(rb'File "[^"\n]{0,999}[/\\](?:_dynamo|_inductor|sympy)[/\\]')


class Sent(NamedTuple):
    """A reply as a worker sent it, not yet decoded, and the number of its request in the batch."""

    last: int
    body: bytes


def bad_message(error: BadMessageError) -> Fault:
    """Return the fault for bytes that are not a message."""
    sentence = "Your program wrote into the grader's connection"
    return Fault(Status.BAD_OUTPUT, f"{sentence}: {error}.", public=f"{sentence}.")


@dataclass
class Allowance:
    """The bytes and parts that a worker may still send, to limit the supervisor's work."""

    size: int  # in bytes
    parts: int = protocol.MAX_PARTS
    _uncounted: list[bytes] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        """Subtract *body*, whose size is within the allowance.

        Raises ``BadMessageError`` for too many parts and for a text that is too long. A part has at
        least one byte, so parts are counted only if the received bytes could contain too many.
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
    wire: Wire
    private: Path
    kill: Callable[[], int]  # ends the process, and returns its exit code
    # Whether the student's source has a line; the first argument is a cell such as "cell 1", or "".
    has_line: Callable[[str, int], bool] = lambda _cell, _line: False
    ended: bool = False
    is_idle: bool = False  # it has answered all requests
    keep: Callable[[], bool] = lambda: False  # whether an idle process is kept for later use
    was_killed: bool = False  # by SIGKILL from its own code or from outside, not by the kit
    statement: int = 0  # the last statement of the module that has started
    _number: int = 0  # of the last message
    _printed: bytes = b""
    _received: bytearray = field(default_factory=bytearray)
    _dumps_stack: bool = False  # whether the output also contains the stack

    def wait_confined(self, seconds: float = CONTROL_SECONDS) -> None:
        """Wait until the worker has confined itself; no student code has run before that."""
        try:
            allowance = Allowance(protocol.SHORT_REPLY)
            deadline = CpuDeadline(self.pid, seconds, START_SECONDS)
            protocol.unpack(protocol.REPLIES, self._reply(deadline, allowance, ("has",)).body)
        except (Fault, BadMessageError) as error:
            self.end()
            if self.was_killed:
                raise LostProcessError("a worker was killed while it started") from None
            msg = f"a worker could not be confined ({error}); run `autograder doctor`"
            raise GraderError(msg) from None

    def ask(
        self, batch: bytes, verbs: Sequence[Verb], deadline: CpuDeadline, allowance: Allowance
    ) -> Sent:
        """Send *batch*; return the reply within the *allowance*. A ``Fault`` ends the worker."""
        try:
            self._number += 1
            self.is_idle = False
            self._send(protocol.framed(batch, self._number), deadline)
            sent = self._reply(deadline, allowance, verbs)
        except BadMessageError as error:
            self.end()
            raise bad_message(error) from None
        except Fault:
            self.end()
            raise
        if self.wire.settle():
            self._read_output()
        self.is_idle = True
        return sent

    def take_printed(self) -> bytes:
        """Return the output up to the last reply, with short names of private files."""
        printed, self._printed = self._printed, b""
        folder = os.fsencode(self.private)
        return printed.replace(folder + b"/", b"").replace(folder, b".")

    def end(self) -> int:
        """Remove the worker, unless it is kept for later; return its exit code."""
        if self.ended:
            return 0
        self.ended = True
        return 0 if self.is_idle and self.keep() else self.remove()

    def remove(self) -> int:
        """Kill the process and remove its private folder; return its exit code."""
        exit_code = self.kill()
        self.wire.settle()
        self._read_output()
        self.wire.close()
        remove_folder(self.private)
        return exit_code

    def _reply(self, deadline: CpuDeadline, allowance: Allowance, verbs: Sequence[Verb]) -> Sent:
        """Receive the reply to the last message, and refuse it by its size before receiving it."""
        is_short = protocol.SHORT_VERBS.issuperset(verbs)
        size, number, last = HEADER.unpack(self._receive(HEADER.size, deadline))
        imports = "run" in verbs
        for _ in range(protocol.MAX_STATEMENTS if imports else len(verbs) - 1):
            if size or number != self._number:
                break
            if imports:
                self.statement = last
            else:
                deadline.renew()
            size, number, last = HEADER.unpack(self._receive(HEADER.size, deadline))
        if size > min(allowance.size, protocol.SHORT_REPLY if is_short else size):
            raise BadMessageError(f"it announces a message of {size} bytes")
        if number != self._number or last >= len(verbs):
            raise BadMessageError(NO_REQUEST)
        body = self._receive(size, deadline)
        allowance.take(body)
        return Sent(last, body)

    def _send(self, data: bytes, deadline: CpuDeadline) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self.wire.send(view) :]
            except BlockingIOError:
                self._wait(deadline, to_send=True)
            except OSError:
                raise self._crash() from None

    def _receive(self, size: int, deadline: CpuDeadline) -> bytes:
        """Return the next *size* bytes; bytes that arrive with them are kept for the next call."""
        while len(self._received) < size:
            self._wait(deadline, to_send=False)
            try:
                part = self.wire.receive(min(max(size - len(self._received), PIPE_CHUNK), MIB))
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

    def _wait(self, deadline: CpuDeadline, *, to_send: bool) -> None:
        while True:
            remaining = deadline.remaining()
            if remaining <= 0:
                raise self._timeout(deadline.seconds)
            ready, printed = self.wire.wait(min(remaining, WATCH_SECONDS), to_send=to_send)
            if printed and not self._read_output():
                time.sleep(WATCH_SECONDS / 50)  # a closed pipe is always readable
            if ready:
                return

    def _read_output(self) -> bool:
        """Empty the output pipe and store its end; return False if the worker closed it."""
        try:
            data = self.wire.read_printed()
        except BlockingIOError:  # nothing was printed
            return True
        if not self._dumps_stack:
            self._printed = (self._printed + data)[-PRINTED_BYTES:]
        return bool(data)

    def _timeout(self, seconds: float) -> Fault:
        line, loads_compiler = self._running_line()
        at = f"; it was running {line}" if line else ""
        public = "Your code did not finish in time."  # the code chooses the line
        message = f"Your code did not finish within {seconds:.3g} s{at}."
        return NotFinished(message, public=public, loads_compiler=loads_compiler)

    def _running_line(self) -> tuple[str, bool]:
        """Return the line that the worker says it runs, and whether it loads the compiler."""
        self._read_output()  # earlier output is not the answer
        self._dumps_stack = True
        self.wire.ask_stack()
        printed, deadline = b"", time.monotonic() + STACK_SECONDS
        while (remaining := deadline - time.monotonic()) > 0 and len(printed) < PIPE_CHUNK:
            if found := _STACK_LINE.search(printed):
                cell, line = found[1].decode() if found[1] else "", int(found[2])
                known = self.has_line(cell, line)
                inside = _COMPILER.search(printed, 0, found.start()) is not None
                return (f"{cell}, line {line}".removeprefix(", ") if known else ""), inside
            if not self.wire.wait_printed(remaining):
                break
            with contextlib.suppress(BlockingIOError):
                part = self.wire.read_printed()
                if not part:  # all writers are closed
                    break
                printed += part
        # A dump has at most a hundred frames, so a deep import hides the line.
        return "", _COMPILER.search(printed) is not None

    def _crash(self) -> Fault:
        code = self.end()
        self.was_killed = hasattr(signal, "SIGKILL") and code == -signal.SIGKILL
        how = f"signal {_signal_name(-code)}" if code < 0 else f"exit code {code}"
        message, public = (
            f"Your code ended the whole Python process{shown} instead of returning. "
            "Look for exit(), os._exit() or a crash in native code."
            for shown in (f" ({how})", "")  # the code chooses the number
        )
        return Fault(Status.CRASHED, message, public=public)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have no name
        return str(number)
