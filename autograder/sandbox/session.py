"""One submission in its sandbox: starts its worker on first use, and again after a crash."""

import time

import msgspec

from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import (
    BadMessageError,
    Problem,
    Problems,
    Reply,
    Request,
    Verb,
)
from autograder.sandbox.static_names import Definition
from autograder.sandbox.supervisor import PRINTED_BYTES, ForkServer, Worker
from autograder.sandbox.tensors import decode


class Session:
    """Answers for one submission's module, and restarts workers up to the limit."""

    def __init__(
        self,
        fork_server: ForkServer,
        module: str,
        cells: tuple[bytes, ...],
        *,
        notebook: bool,
        client: int = 0,
    ) -> None:
        self.module = module
        self.notebook = notebook
        self.definitions: tuple[Definition, ...] = ()
        self.problems: tuple[Problem, ...] = ()
        self._fork_server = fork_server
        self._client = client
        self._cells = cells
        self._worker: Worker | None = None
        self._import_fault: Fault | None = None
        self._exercise = ""
        self._failures: dict[str, list[Status]] = {}
        self._spent_seconds = 0.0
        self._last_number = 0
        self._printed = b""
        self._printed_by_import = b""

    @property
    def printed(self) -> str:
        """The end of what the student's code has printed since ``begin``, without its import."""
        return self._printed.decode("utf-8", "replace")

    @property
    def printed_by_import(self) -> str:
        """The end of what the student's code printed when its file was imported."""
        return self._printed_by_import.decode("utf-8", "replace")

    def open(self) -> None:
        """Import the module now; raises ``Fault`` if nothing of it can be used."""
        self._running_worker()

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def begin(self, exercise: str) -> None:
        """Charge crashes and hangs from now on to *exercise*; forget what was printed."""
        self._exercise = exercise
        self._printed = b""

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Send one request to the worker; raises ``Fault`` if it crashes or hangs."""
        limits = self._fork_server.limits
        failures = self._failures.get(self._exercise, [])
        if len(failures) >= limits.restarts_per_exercise:
            sentence = f"Not run: {self._exercise} has crashed or hung {len(failures)} times."
            raise Fault(failures[-1], sentence)
        self._remaining_seconds()  # raises before a worker is started for nothing
        return self._request(self._running_worker(), limits.call_seconds, verb, fields)

    def _running_worker(self) -> Worker:
        if self._import_fault is not None:
            raise self._import_fault
        if self._worker is None:
            before, self._printed = self._printed, b""
            try:
                self._worker = self._start()
            except Fault as fault:
                self._import_fault = fault
                raise
            finally:
                self._printed_by_import, self._printed = self._printed, before
        return self._worker

    def _start(self) -> Worker:
        server = self._fork_server
        worker = server.start(self.module, notebook=self.notebook, client=self._client)
        seconds = server.limits.import_seconds
        definitions = self._load(worker, seconds, "read")
        self.definitions = msgspec.convert(definitions, tuple[Definition, ...], strict=False)
        problems = self._load(worker, seconds, "run")
        try:
            self.problems = msgspec.convert(problems, Problems)
        except msgspec.ValidationError:  # sent after student code ran: their fault
            worker.end()
            raise Fault(Status.BAD_OUTPUT, "Importing your file disturbed the grader.") from None
        return worker

    def _load(self, worker: Worker, seconds: float, verb: Verb) -> object:
        try:
            reply = self._request(worker, seconds, verb, {"cells": self._cells})
        except Fault as fault:
            worker.end()
            raise _while_importing(fault) from None
        if reply.problem is not None:
            worker.end()
            raise Fault(Status.IMPORT_ERROR, f"Your file can't be read: {reply.problem.text}")
        try:
            return decode(reply.value, lambda handle: handle)
        except BadMessageError:
            return None  # the caller rejects it, because it has another type

    def _request(
        self, worker: Worker, seconds: float, verb: Verb, fields: dict[str, object]
    ) -> Reply:
        remaining = self._remaining_seconds()
        self._last_number += 1
        request = Request(number=self._last_number, verb=verb, **fields)  # type: ignore[arg-type]  # the caller names fields of Request
        start = time.monotonic()
        try:
            return worker.ask(request, min(seconds, remaining))
        except Fault as fault:
            self._failures.setdefault(self._exercise, []).append(fault.status)
            self._worker = None
            raise
        finally:
            self._spent_seconds += time.monotonic() - start
            self._printed = (self._printed + worker.take_printed())[-PRINTED_BYTES:]

    def _remaining_seconds(self) -> float:
        granted = self._fork_server.limits.submission_seconds
        if self._spent_seconds >= granted:
            raise Fault(Status.TIMEOUT, f"Not run: all {granted:g} seconds are used up.")
        return granted - self._spent_seconds


def _while_importing(fault: Fault) -> Fault:
    start, end = "While your file was imported: ", ""
    if fault.status is Status.TIMEOUT:
        end = " Look for a loop at module level that does not end."
    message, public = (f"{start}{text}{end}" for text in (fault.message, fault.public))
    return Fault(fault.status, message, public=public)
