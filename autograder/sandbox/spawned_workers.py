"""Starts workers for a learner's own code as new processes, without fork.

They run on every system, and prevent only accidents. They never grade: other people's code runs in
the workers of a ``ForkServer``.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, Self

import msgspec

from autograder.course_file import Limits
from autograder.disk import PRIVATE
from autograder.errors import GraderError, LostProcessError
from autograder.sandbox import protocol
from autograder.sandbox.isolation import Readable
from autograder.sandbox.process_limits import MIB
from autograder.sandbox.supervisor import ONE_THREAD, ForkServer, policy_of
from autograder.sandbox.wires import PipeWire
from autograder.sandbox.worker_process import CONTROL_SECONDS, START_SECONDS, Worker

_FOLDER: Final = "autograder-own-"  # no run removes folders with this prefix
VARIABLE: Final = "AUTOGRADER_WORKERS"  # "fork" or "spawn"
_START: Final = (
    "import gc; gc.disable(); from autograder.sandbox.fork_server import serve_pipes; serve_pipes()"
)
# On Windows, Ctrl-C must end only the supervisor, and a notebook must open no window.
_FLAGS: Final = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "CREATE_NO_WINDOW", 0
)


class _Process:
    """A worker's process, which serves one submission after another."""

    def __init__(self) -> None:
        try:
            self._popen = subprocess.Popen(  # noqa: S603  # runs this Python and this package
                [sys.executable, "-P", "-B", "-X", "utf8", "-W", "ignore", "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={**os.environ, **ONE_THREAD, "MPLBACKEND": "Agg"},
                start_new_session=True,  # the terminal sends Ctrl-C to the supervisor only
                creationflags=_FLAGS,
            )
        except OSError as error:
            raise GraderError(f"no process for a worker can be started ({error})") from None
        self.pid = self._popen.pid
        self.wire = PipeWire(self._popen)
        self._is_ready = False

    def wait_ready(self) -> None:
        """Wait until the process has loaded torch."""
        if not self._is_ready:
            self.worker(Path()).wait_confined(START_SECONDS)
            self._is_ready = True

    def worker(self, private: Path) -> Worker:
        """Return a worker in this process for one submission."""
        return Worker(self.pid, self.wire, private, self.kill)

    def kill(self) -> int:
        """Kill the process; return its exit code."""
        self._popen.kill()
        return self._popen.wait()

    def end(self) -> None:
        """Kill the process, and close the connection to it."""
        self.kill()
        self.wire.close()


class SpawnedWorkers:
    """Starts workers, as a ``ForkServer`` does, but in new processes.

    A new process must load torch. Therefore a spare process is started when a worker ends, and an
    idle process is used again for the same source.
    """

    isolation: Final = "process"

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._folder = tempfile.TemporaryDirectory(prefix=_FOLDER, ignore_cleanup_errors=True)
        self._spare = [_Process()]  # at most one
        self._idle: dict[tuple[bytes, ...], _Process] = {}  # by its source; at most one

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the remaining processes, and remove their folders."""
        for process in (*self._idle.values(), *self._spare):
            process.end()
        self._idle.clear()
        self._spare.clear()
        self._folder.cleanup()

    def wait_ready(self, client: int = 0) -> None:  # noqa: ARG002  # it has only one client
        """Wait until a process has loaded torch; raise ``GraderError`` if that fails."""
        self._ready().wait_ready()

    def start(
        self,
        module: str,
        *,
        notebook: bool,
        client: int = 0,  # noqa: ARG002  # it has only one client
        source: tuple[bytes, ...] = (),
    ) -> Worker:
        """Return a worker that has run no code, or only *source*."""
        process = self._take(source)
        process.wait_ready()
        private = Path(tempfile.mkdtemp(prefix=PRIVATE, dir=self._folder.name))
        policy = policy_of(self.limits, self.isolation, private, Readable(()))
        request = protocol.StartWorker(policy, module, notebook, self.limits.answer_mib * MIB)
        worker = process.worker(private)
        worker.keep = lambda: self._keep(source, process)
        worker.kill = lambda: self._kill(process)
        try:
            process.wire.send(memoryview(protocol.framed(msgspec.msgpack.encode(request), 0)))
        except OSError:
            code = worker.end()
            msg = f"a worker's process does not answer (exit code {code})"
            raise LostProcessError(msg) from None
        worker.wait_confined(CONTROL_SECONDS)
        worker.take_printed()  # what torch printed while it was loaded
        return worker

    def prepare(self, module: str, *, notebook: bool) -> None:
        """Do nothing: a spare process started when the last worker ended."""

    def _take(self, source: tuple[bytes, ...]) -> _Process:
        process = self._idle.pop(source, None)
        if process is None:
            self._end_idle()
            process = self._ready()
            self._spare.clear()
        return process

    def _ready(self) -> _Process:
        if not self._spare:
            self._spare.append(_Process())
        return self._spare[0]

    def _keep(self, source: tuple[bytes, ...], process: _Process) -> bool:
        self._end_idle()
        self._idle[source] = process
        self._prepare()
        return True

    def _kill(self, process: _Process) -> int:
        code = process.kill()
        self._prepare()
        return code

    def _prepare(self) -> None:
        """Let a spare process load torch now, so that the next save need not wait for it."""
        with contextlib.suppress(GraderError):  # the next start reports it
            self._ready()

    def _end_idle(self) -> None:
        for process in self._idle.values():
            process.end()
        self._idle.clear()


Workers = ForkServer | SpawnedWorkers


def own_workers(limits: Limits) -> Workers:
    """Return workers for a student's own code: forked on Linux, else spawned.

    The environment variable ``AUTOGRADER_WORKERS`` overrides this. Call it before anything secret
    is loaded.
    """
    is_linux = sys.platform == "linux" and hasattr(os, "fork")
    if os.environ.get(VARIABLE, "fork" if is_linux else "spawn") == "spawn":
        return SpawnedWorkers(limits)
    return ForkServer.of_own_code(limits)
