"""Runs one submission: starts its worker on first use, and again after a crash."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec.structs import replace

from autograder.errors import LostProcessError
from autograder.results import Status
from autograder.sandbox.call_counters import ATTEMPTS, Attempt
from autograder.sandbox.faults import Fault
from autograder.sandbox.process_limits import MIB, collect_memory
from autograder.sandbox.protocol import (
    MAX_SOURCE_PARTS,
    MAX_STATEMENTS,
    BadMessageError,
    Batch,
    Problem,
    ProblemKind,
    Problems,
    Reply,
    SourceValue,
    Value,
    Verb,
    pack,
    read_reply,
    request_of,
)
from autograder.sandbox.spawned_workers import Workers
from autograder.sandbox.static_names import Definition, defines_nothing
from autograder.sandbox.tensors import decode
from autograder.sandbox.transcript import Exchange, Transcript
from autograder.sandbox.worker_process import (
    PRINTED_BYTES,
    Allowance,
    CpuDeadline,
    Sent,
    Worker,
    bad_message,
)

# The limit of clock time as a multiple of the submission's seconds, for a busy machine.
WALL_CLOCK_FACTOR = 20
# The grader's own processor time for one check, which needs about 0.1 s.
CHECK_SECONDS = 2.0
LARGE = MIB  # bytes of all replies of a submission; those of honest code have about 0.2 MiB
MAX_LEFT_OUT = 3  # statements that reach a limit in an import; each may take its whole time
# Statements that reached these limits raised an exception.
FULL: Final[Mapping[ProblemKind, tuple[Status, str]]] = MappingProxyType(
    {
        "out-of-memory": (Status.OUT_OF_MEMORY, "It asked for more memory than it may use."),
        "out-of-disk": (Status.OUT_OF_DISK, "It wrote more than its folder may hold."),
    }
)


class Session:
    """Sends requests to the worker of one submission, and restarts it up to the limit.

    The texts of a worker come from the first import, before any hidden input was sent, and stay the
    same after a restart. With *quiet*, an earlier run may have seen hidden inputs and left a trace
    of them, so only kinds and lines are kept.
    """

    def __init__(
        self,
        fork_server: Workers,
        module: str,
        cells: tuple[bytes, ...],
        *,
        notebook: bool,
        client: int = 0,
        quiet: bool = False,
        call_seconds: float = 0.0,
    ) -> None:
        self.module = module
        self.notebook = notebook
        self.quiet = quiet
        self.transcript: Transcript | None = None  # of the running check
        self.problems: tuple[Problem, ...] = ()
        self.was_killed = False  # whether a worker ended by SIGKILL, perhaps from outside
        self.lost: LostProcessError | None = None  # kept because the check would seem to fail
        self.received = 0  # bytes of all replies
        self._fork_server = fork_server
        self._client = client
        self._call_seconds = call_seconds or fork_server.limits.call_seconds
        self._cells = cells
        self._worker: Worker | None = None
        self._import_fault: Fault | None = None
        self._is_imported = False  # once; texts of later imports are dropped
        self._exercise = ""
        self._failures: dict[str, list[Status]] = {}
        self._left_out: dict[int, Fault] = {}  # statements by number, and the limit of each
        self._spent_seconds = 0.0
        self._free_until: list[float] = []  # processor times; later work is charged
        self._wall_seconds = WALL_CLOCK_FACTOR * fork_server.limits.submission_seconds
        self._definitions: tuple[Definition, ...] = ()
        self._printed = b""
        self._printed_by_import = b""
        self._allowance = self._new_allowance()
        # If a source ends too early, Python reports the line after the last one.
        self._line_counts = [len(cell.splitlines()) + 1 for cell in cells]

    @property
    def printed(self) -> str:
        """The end of the student's output since ``begin``, without that of the import."""
        return self._printed.decode("utf-8", "replace")

    @property
    def printed_by_import(self) -> str:
        """The end of the student's output while the file was imported."""
        return self._printed_by_import.decode("utf-8", "replace")

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions in the source, and the names that they use."""
        if self.transcript is not None:
            self.transcript.used_source = True
        return self._definitions

    def open(self) -> None:
        """Import the module now; raise ``Fault`` if nothing of it can be used."""
        self._running_worker()

    def close(self) -> None:
        """End the worker, if there is one, and free the memory of large replies."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None
        if self.received > LARGE:
            collect_memory()

    @contextmanager
    def followed_by(self, cell: bytes) -> Iterator["Session"]:
        """Run the same code, followed by *cell*, in a second worker with the time that is left.

        Callers must use only whether a check passes there. The first worker ends before, so that
        it can pass nothing from one second worker to the next.
        """
        self.close()
        second = Session(
            self._fork_server,
            self.module,
            (*self._cells, cell),
            notebook=self.notebook,
            client=self._client,
        )
        second._left_out |= self._left_out
        second._spent_seconds, second._wall_seconds = self._spent_seconds, self._wall_seconds
        try:
            yield second
        finally:
            second.close()
            self._spent_seconds, self._wall_seconds = second._spent_seconds, second._wall_seconds
            self.was_killed = self.was_killed or second.was_killed
            self.lost = self.lost or second.lost

    def attempts(self) -> tuple[Attempt, ...]:
        """Return what the running worker says that its code tried and the sandbox refused."""
        if self._worker is None:
            return ()
        try:
            said = decode(self.ask("attempts").value, lambda handle: handle)
        except (Fault, BadMessageError):
            return ()
        return tuple(one for one in ATTEMPTS if isinstance(said, list) and one in said)

    def begin(self, exercise: str) -> None:
        """Start a check of *exercise*, which failures count for, unless a transcript has."""
        if self.transcript is not None:
            return
        self._exercise = exercise
        self._printed = b""
        self._allowance = self._new_allowance()

    @contextmanager
    def continuing(self, transcript: Transcript) -> Iterator[None]:
        """Answer first from *transcript*, and add new requests to it."""
        self.transcript = transcript
        try:
            yield
        finally:
            self.transcript = None

    @contextmanager
    def charged(self, own_seconds: float) -> Iterator[None]:
        """Charge the submission for this block's processor time beyond *own_seconds*."""
        free_until = time.process_time() + own_seconds
        self._free_until.append(free_until)
        try:
            yield
        finally:
            self._free_until.remove(free_until)
            self._spent_seconds += max(0.0, time.process_time() - free_until)

    def seconds_left(self) -> float:
        """Return the seconds that this process may still work for the current check."""
        now = time.process_time()
        granted = self._fork_server.limits.submission_seconds - self._spent_seconds
        return granted + min((free_until - now for free_until in self._free_until), default=0.0)

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Send one request to the worker; raise ``Fault`` if it crashes or hangs."""
        request = request_of(verb, fields)
        if self.transcript is not None and (known := self.transcript.find(request)):
            return known
        _, body = self.send(pack(Batch((request,))), (verb,))
        reply = self.read(body, verb)
        if self.transcript is not None:
            self.transcript.add(Exchange(request, reply, body))
        return reply

    def send(self, batch: bytes, verbs: Sequence[Verb]) -> Sent:
        """Send *batch*; return the reply as it was sent, or raise ``Fault`` for a crash or hang."""
        limits = self._fork_server.limits
        failures = self._failures.get(self._exercise, [])
        if len(failures) >= limits.restarts_per_exercise:
            public = f"Not run: {self._exercise} has crashed or hung too often."
            sentence = f"Not run: {self._exercise} has crashed or hung {len(failures)} times."
            raise Fault(failures[-1], sentence, public=public)
        self._remaining_seconds()  # raises before a worker is started
        try:
            return self._send(self._running_worker(), self._call_seconds, batch, verbs)
        except LostProcessError as error:
            self.lost = error
            raise

    def read(self, body: bytes, verb: Verb) -> Reply:
        """Decode the reply *body* to a request of *verb*; raise ``Fault`` if it is not one."""
        try:
            reply = read_reply(body, verb)
        except BadMessageError as error:
            fault = bad_message(error)
            self.close()
            self._failures.setdefault(self._exercise, []).append(fault.status)
            raise fault from None
        if reply.problem is None:
            return reply
        return replace(reply, problem=self._with_known_lines(reply.problem))

    def _running_worker(self) -> Worker:
        if self._import_fault is not None:
            raise self._import_fault
        if self._worker is None:
            before, self._printed = self._printed, b""
            try:
                self._worker = self._start()
            except Fault as fault:
                if self.quiet:
                    fault.message = fault.public
                self._import_fault = fault
                raise
            finally:
                if not self._is_imported:
                    self._printed_by_import = self._printed
                self._is_imported, self._printed = True, before
        return self._worker

    def _start(self) -> Worker:
        """Import the submission in a new worker.

        In the first import, a statement that reaches a limit costs only itself: the submission is
        imported again without it, and without later statements that no definition needs.
        """
        while True:
            self._printed = b""
            worker, problems = self._start_worker(can_repeat=not self._is_imported)
            if worker is not None:
                if not self._is_imported:
                    self.problems = problems
                return worker

    def _start_worker(self, *, can_repeat: bool) -> tuple[Worker | None, tuple[Problem, ...]]:
        """Import the submission; return no worker if one more statement must be left out."""
        server = self._fork_server
        worker = server.start(
            self.module, notebook=self.notebook, client=self._client, source=self._cells
        )
        worker.has_line = self._has_line
        seconds = server.limits.import_seconds
        source = self._load(worker, seconds, "read")
        if isinstance(source, SourceValue):  # `read_reply` accepts nothing else
            self._definitions = source.definitions
        try:
            value = self._load(worker, seconds, "run")
        except Fault as fault:
            if can_repeat and self._leave_out(worker.statement, fault):
                return None, ()
            raise
        try:
            found = msgspec.convert(decode(value, lambda handle: handle), Problems)
        except (BadMessageError, msgspec.ValidationError):  # student code has run: their fault
            worker.end()
            raise Fault(Status.BAD_OUTPUT, "Importing your file disrupted the grader.") from None
        problems = tuple(self._with_reason(self._quotable(one)) for one in found)
        for one in problems if can_repeat else ():
            # What has filled the memory or the disk may still be there.
            number = one.statement.number if one.statement and one.kind in FULL else 0
            if number and self._leave_out(number, Fault(*FULL[one.kind])):
                worker.end()
                return None, ()
        return worker, problems

    def _leave_out(self, number: int, fault: Fault) -> bool:
        if not 0 < number <= MAX_STATEMENTS or number in self._left_out:
            return False
        if len(self._left_out) == MAX_LEFT_OUT:
            return False
        if defines_nothing(self._definitions):
            return False
        if fault.status is Status.BAD_OUTPUT:  # honest code does not write to the grader
            return False
        self._left_out[number] = fault
        self._failures.clear()  # no check has run yet
        return True

    def _with_reason(self, problem: Problem) -> Problem:
        number = problem.statement.number if problem.statement else 0
        if problem.kind != "left-out":
            return problem
        if number not in self._left_out:  # forged
            return replace(problem, kind="raised")
        fault = self._left_out[number]
        text = fault.public if self.quiet else fault.message
        return replace(problem, type=fault.status, text=text)

    def _load(self, worker: Worker, seconds: float, verb: Verb) -> Value:
        try:
            fields: dict[str, object] = {"cells": self._cells}
            if verb == "run":
                fields["args"] = tuple(self._left_out)
            batch = pack(Batch((request_of(verb, fields),)))
            reply = self.read(self._send(worker, seconds, batch, (verb,)).body, verb)
        except Fault as fault:
            worker.end()
            raise _while_importing(fault) from None
        if reply.problem is not None:
            worker.end()
            public = "Your file can't be read."
            message = f"{public[:-1]}: {reply.problem.text}"
            raise Fault(Status.IMPORT_ERROR, message, public=public)
        return reply.value

    def _send(self, worker: Worker, seconds: float, batch: bytes, verbs: Sequence[Verb]) -> Sent:
        granted = min(seconds, self._remaining_seconds())
        allowance = self._allowance
        if "read" in verbs:  # no student code has run
            allowance = Allowance(allowance.size, MAX_SOURCE_PARTS)
        deadline = CpuDeadline(worker.pid, granted, self._wall_seconds)
        start = time.monotonic()
        try:
            sent = worker.ask(batch, verbs, deadline, allowance)
        except Fault as fault:
            self._failures.setdefault(self._exercise, []).append(fault.status)
            self.was_killed = self.was_killed or worker.was_killed
            self._worker = None
            raise
        else:
            self.received += len(sent.body)
            return sent
        finally:
            self._wall_seconds -= time.monotonic() - start
            self._spent_seconds += deadline.charge()
            self._printed = (self._printed + worker.take_printed())[-PRINTED_BYTES:]

    def _quotable(self, problem: Problem) -> Problem:
        """Return the parts of *problem*, from the first import, that a page may quote."""
        problem = self._with_known_lines(problem)
        if not self.quiet:
            return problem
        known = {definition.name for definition in self._definitions}
        statement = problem.statement
        if statement:
            names = tuple(name for name in statement.names if name in known)
            statement = replace(statement, names=names)
        return replace(problem, type="", text="", code="", statement=statement)

    def _with_known_lines(self, problem: Problem) -> Problem:
        statement = problem.statement
        if statement and not self._has_line(statement.place, statement.line or 1):
            statement = replace(statement, place="", line=0)
        if self._has_line(problem.place, problem.line):
            return replace(problem, statement=statement)
        return replace(problem, statement=statement, place="", line=0)

    def _has_line(self, place: str, line: int) -> bool:
        cell = re.fullmatch(r"cell ([1-9]\d{0,3})", place)
        if bool(cell) is not self.notebook:
            return False
        index = int(cell[1]) - 1 if cell else 0
        return index < len(self._line_counts) and 1 <= line <= self._line_counts[index]

    def _new_allowance(self) -> Allowance:
        return Allowance(self._fork_server.limits.answer_mib * MIB)

    def _remaining_seconds(self) -> float:
        granted = self._fork_server.limits.submission_seconds
        remaining = min(granted - self._spent_seconds, self.seconds_left())
        if remaining <= 0 or self._wall_seconds <= 0:
            raise Fault(Status.TIMEOUT, f"Not run: all {granted:g} seconds are used up.")
        return remaining


def _while_importing(fault: Fault) -> Fault:
    start, end = "While your file was imported: ", ""
    if fault.status is Status.TIMEOUT:
        end = " Look for a loop at module level that does not end."
    message, public = (f"{start}{text}{end}" for text in (fault.message, fault.public))
    return Fault(fault.status, message, public=public)
