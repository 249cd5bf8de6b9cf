"""One submission in its sandbox: started on first use, started again after a crash, in bounds."""

import time

import msgspec

from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import BadMessageError, Problem, Reply, Request, Verb
from autograder.sandbox.static_names import Definition
from autograder.sandbox.supervisor import ForkServer, Worker, private_folder
from autograder.sandbox.tensors import decode


class Session:
    """Answers for one submission's module, from as many workers as it takes (and is granted)."""

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
        self.printed = ""
        self._fork_server = fork_server
        self._client = client
        self._cells = cells
        self._worker: Worker | None = None
        self._broken: Fault | None = None
        self._exercise = ""
        self._lost: dict[str, list[Status]] = {}
        self._spent = 0.0
        self._number = 0

    def open(self) -> None:
        """Import the module now; raises ``Fault`` if nothing of it can be used."""
        self._alive()

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            self._worker.end()
            self.printed = self.printed or self._worker.printed
            self._worker = None

    def begin(self, exercise: str) -> None:
        """Charge crashes and hangs from now on to *exercise*."""
        self._exercise = exercise

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Do one request in the worker; raises ``Fault`` if it crashes, hangs or talks nonsense."""
        limits = self._fork_server.limits
        lost = self._lost.get(self._exercise, [])
        if len(lost) >= limits.restarts_per_exercise:
            sentence = f"Not run: {self._exercise} has crashed or hung {len(lost)} times."
            raise Fault(lost[-1], sentence)
        self._left()  # before a worker is started in vain
        return self._request(self._alive(), limits.call_seconds, verb, fields)

    def _alive(self) -> Worker:
        if self._broken is not None:
            raise self._broken
        if self._worker is None:
            try:
                self._worker = self._start()
            except Fault as fault:
                self._broken = fault
                raise
        return self._worker

    def _start(self) -> Worker:
        worker = self._fork_server.start(
            self.module, notebook=self.notebook, private=private_folder(), client=self._client
        )
        seconds = self._fork_server.limits.import_seconds
        facts = self._load(worker, seconds, "read")
        self.definitions = msgspec.convert(facts, tuple[Definition, ...], strict=False)
        problems = self._load(worker, seconds, "run")
        try:
            self.problems = msgspec.convert(problems, tuple[Problem, ...])
        except msgspec.ValidationError:  # said after student code ran: theirs, not ours
            worker.end()
            raise Fault(Status.BAD_OUTPUT, "Importing your file disturbed the grader.") from None
        return worker

    def _load(self, worker: Worker, seconds: float, verb: Verb) -> object:
        try:
            reply = self._request(worker, seconds, verb, {"cells": self._cells})
        except Fault as fault:
            worker.end()
            raise _while_importing(fault, seconds) from None
        if reply.problem is not None:
            worker.end()
            raise Fault(Status.IMPORT_ERROR, f"Your file can't be read: {reply.problem.text}")
        try:
            return decode(reply.value, lambda handle: handle)
        except BadMessageError:
            return None  # what a student's code put in the answer's place is refused by its type

    def _request(
        self, worker: Worker, seconds: float, verb: Verb, fields: dict[str, object]
    ) -> Reply:
        left = self._left()
        self._number += 1
        request = Request(number=self._number, verb=verb, **fields)  # type: ignore[arg-type]  # the caller names fields of Request
        start = time.monotonic()
        try:
            return worker.ask(request, min(seconds, left))
        except Fault as fault:
            self._lost.setdefault(self._exercise, []).append(fault.status)
            self.printed = worker.printed
            self._worker = None
            raise
        finally:
            self._spent += time.monotonic() - start

    def _left(self) -> float:
        granted = self._fork_server.limits.submission_seconds
        if self._spent >= granted:
            raise Fault(Status.TIMEOUT, f"Not run: all {granted:g} seconds are used up.")
        return granted - self._spent


def _while_importing(fault: Fault, seconds: float) -> Fault:
    if fault.status is Status.TIMEOUT:
        sentence = (
            f"Importing your file took longer than {seconds:g} seconds and was stopped. "
            "Look for a loop at module level that does not end."
        )
        return Fault(Status.TIMEOUT, sentence)
    where = "While your file was imported: "
    return Fault(fault.status, where + fault.message, public=where + fault.public)
