"""Connects to the workers of a dask scheduler, and rejects those that would grade differently."""

import ipaddress
import logging
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec
from distributed import CancelledError, Client, Future
from distributed.client import ClosedClientError
from distributed.comm.addressing import get_address_host, normalize_address, parse_address
from distributed.scheduler import KilledWorker
from distributed.security import Security

from autograder import errors
from autograder.errors import ClusterError, GraderError
from autograder.grading import cluster_grader
from autograder.grading.cluster_grader import Answer, ClusterRun, Described, Refused
from autograder.grading.grade import SIGNAL_SECONDS
from autograder.grading.provenance import Facts
from autograder.submission import Submission

CONNECT_SECONDS = 10.0
WAIT_SECONDS = 60.0  # to wait for a first worker; a nanny restarts a worker within seconds
LOOK_SECONDS = 5.0  # between two checks of the list of workers
END_SECONDS = 5.0  # to wait for a scheduler that may be gone
MAX_ANSWER = 64 * 2**20  # bytes; the result of a submission has 20 KB, rarely 2 MB
MAX_NAMED = 5  # packages that one message names
UNUSABLE = "A worker sent an invalid answer, which no worker of this kit sends."
Task: TypeAlias = "Future[bytes]"
# dask raises these if there is no connection.
CONNECTION_ERRORS: Final = (OSError, RuntimeError, ClosedClientError)
_ENCRYPTED: Final = frozenset({"tls", "wss"})
_VERSIONS: Final = {
    "kit": "the kit's version",
    "kit_sha256": "the kit's code",
    "python": "Python",
    "torch": "torch",
    "machine": "the architecture of the processor",
    "course_sha256": "what all stages share (course.toml, tests/hidden)",
}


def require_private(address: str) -> None:
    """Raise ``ClusterError`` if others could read or change the data sent to *address*."""
    scheme, _ = parse_address(address)
    if scheme in _ENCRYPTED or scheme == "inproc":
        return
    host = get_address_host(address)
    with suppress(ValueError):  # a name
        if ipaddress.ip_address(host).is_loopback:
            return
    if host != "localhost":
        msg = (
            f"{address} is not encrypted: submissions and grades would be sent unencrypted, and "
            "anyone who can connect to the scheduler could change them. Start the scheduler "
            "and the workers with TLS and use tls:// (docs/scaling.md)."
        )
        raise ClusterError(msg)


def difference(here: Facts, there: Facts) -> str:
    """Describe the first difference that could change a grade; empty if there is none."""
    for name, about in _VERSIONS.items():
        ours, theirs = getattr(here.settings, name), getattr(there.settings, name)
        if ours != theirs:
            return _differs(about, ours, theirs)
    for stage, ours in here.suites.items():
        if ours != (theirs := there.suites.get(stage, "")):
            return _differs(f"the suite or the solution of {stage}", ours, theirs)
    if here.packages != there.packages:
        only_here = _listed(set(here.packages) - set(there.packages))
        only_there = _listed(set(there.packages) - set(here.packages))
        return f"the installed packages differ: only here {only_here}; only there {only_there}"
    if here.course != there.course:
        return _differs("the course's id", here.course, there.course)
    return "" if here.run == there.run else "the course's secret there is different or missing"


def _differs(about: str, ours: str, theirs: str) -> str:
    return f"{about} is {ours[:12]} here and {theirs[:12] or 'missing'} there"


def _listed(names: Collection[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return (", ".join(sorted(names)[:MAX_NAMED]) or "nothing") + more


def require_equal(facts: Facts, answer: Answer, address: str = "") -> None:
    """Raise the error in *answer*, or ``ClusterError`` if the worker would grade differently.

    *address* is the worker's name, unless the answer contains it.
    """
    worker = address or getattr(answer, "worker", "")
    if isinstance(answer, Refused):
        kinds = {"CourseError", "SandboxError", "UsageError"}
        kind = getattr(errors, answer.kind) if answer.kind in kinds else GraderError
        msg = f"{worker}: {answer.message}"
        raise kind(msg)
    if isinstance(answer, Described) and (found := difference(facts, answer.facts)):
        msg = f"{worker} would grade differently, so it is not used: {found}."
        raise ClusterError(msg)


@dataclass
class Workers:
    """The workers of a scheduler during one run."""

    client: Client
    run: bytes
    facts: Facts
    threads: int = 0
    _checked: set[str] = field(default_factory=set)
    _looked: float = 0.0  # the last time when there were workers
    _next_look: float = 0.0

    def look(self) -> None:
        """Count the threads of all workers, and compare new workers."""
        if self.client.status != "running":
            raise _lost()
        if time.monotonic() < self._next_look:
            return
        with _connection():
            found = self.client.nthreads()
        now = time.monotonic()
        self._next_look = now + (LOOK_SECONDS if found else SIGNAL_SECONDS)
        self._looked = now if found else self._looked or now
        if now - self._looked > WAIT_SECONDS:
            msg = f"There has been no worker for {WAIT_SECONDS:.0f} s; start at least one."
            raise ClusterError(msg)
        if joined := found.keys() - self._checked:
            self._compare(joined)
        self._checked = set(found)
        self.threads = sum(found.values())

    def submit(self, submissions: Sequence[Submission]) -> Task:
        """Send *submissions* to some worker, which also compares itself before it grades."""
        content = msgspec.msgpack.encode(submissions)
        key = f"autograder-grade-{uuid.uuid4().hex}"
        with _connection():
            return self.client.submit(cluster_grader.grade, self.run, content, key=key, pure=False)

    def answers(self, futures: Sequence[Task]) -> dict[Task, bytes | Exception]:
        """Return the results of *futures*, which have ended."""
        good = [future for future in futures if future.status == "finished"]
        try:
            found = dict(zip(good, self.client.gather(good), strict=True))
        except Exception:  # noqa: BLE001  # a worker has died with its results
            found = {}
        return {one: found[one] if one in found else _outcome(one) for one in futures}

    def _compare(self, joined: Collection[str]) -> None:
        for address in joined:
            require_private(address)
        with _connection():
            answers = self.client.run(
                cluster_grader.describe, self.run, workers=list(joined), on_error="return"
            )
        for address, answer in answers.items():
            if isinstance(answer, OSError):  # the worker has already left
                continue
            if isinstance(answer, Exception):
                msg = f"{address} does not have this kit: {type(answer).__name__}: {answer}"
                raise ClusterError(msg)
            [described] = decode(answer, 1)
            require_equal(self.facts, described, address)


@contextmanager
def open_workers(address: str, run: ClusterRun, facts: Facts) -> Iterator[Workers]:
    """Connect to the scheduler; at the end, end the processes of this run on its workers."""
    with _without_log():
        client = _connect(address)
        workers = Workers(client, msgspec.msgpack.encode(run), facts)
        try:
            yield workers
        finally:
            with suppress(*CONNECTION_ERRORS):  # without a scheduler, they end by themselves
                if client.status == "running":
                    client.run(cluster_grader.close, workers.run, on_error="ignore")
            with suppress(*CONNECTION_ERRORS):
                client.close(END_SECONDS)


def _connect(address: str) -> Client:
    """Return a client of the scheduler at *address*; raise ``ClusterError`` if that fails."""
    try:
        whole = normalize_address(address)
        require_private(whole)
        security = Security()  # from dask's configuration
        has_keys = security.get_connection_args("client")["ssl_context"] is not None
        if parse_address(whole)[0] in _ENCRYPTED and not has_keys:
            msg = (
                f"{address} needs TLS keys: set them in dask's configuration, "
                "distributed.comm.tls (docs/scaling.md)."
            )
            raise ClusterError(msg)
        return Client(
            whole,
            timeout=CONNECT_SECONDS,
            set_as_default=False,
            security=security,
            direct_to_workers=False,  # a tunnel may lead only to the scheduler
        )
    except ValueError as error:
        msg = f"{address} is not a valid address of a scheduler, such as tls://host:8786: {error}."
        raise ClusterError(msg) from None
    except CONNECTION_ERRORS as error:
        msg = (
            f"No dask scheduler answered at {address} within {CONNECT_SECONDS:.0f} s: {error}. "
            "Is the scheduler running, and is the address correct? See docs/scaling.md."
        )
        raise ClusterError(msg) from None


@contextmanager
def _without_log() -> Iterator[None]:
    """Keep dask from printing tracebacks for errors that become one sentence here."""
    loggers = [logging.getLogger(name) for name in ("distributed.client", "distributed.core")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _connection() -> Iterator[None]:
    """Convert the connection errors of dask into one ``ClusterError``."""
    try:
        yield
    except CONNECTION_ERRORS as error:
        raise _lost() from error


def _lost() -> ClusterError:
    return ClusterError("The connection to the scheduler is lost.")


def decode(outcome: object, count: int) -> list[Answer]:
    """Return the *count* answers of a worker; raise ``ClusterError`` for anything else."""
    if isinstance(outcome, Exception):
        msg = f"A task failed on the cluster: {type(outcome).__name__}: {outcome}"
        raise ClusterError(msg)
    if not isinstance(outcome, bytes) or len(outcome) > MAX_ANSWER:
        raise ClusterError(UNUSABLE)
    try:
        answers = msgspec.msgpack.decode(outcome, type=list[Answer])
    except msgspec.DecodeError as error:
        msg = f"{UNUSABLE} ({error})"
        raise ClusterError(msg) from None
    if len(answers) != count:
        raise ClusterError(UNUSABLE)
    return answers


def _outcome(future: Task) -> bytes | Exception:
    """Return the result or error of one task, and wait if it runs again."""
    try:
        found: bytes = future.result()
    except KilledWorker as error:
        return error
    except CancelledError:  # dask cancels all tasks when it loses the scheduler
        raise _lost() from None
    except Exception as error:  # noqa: BLE001  # the caller describes the error
        return error
    return found
