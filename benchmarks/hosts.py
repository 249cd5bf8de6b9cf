"""Grades a class on several hosts and cuts one off: python -m benchmarks.hosts [SUBMISSIONS].

Four network namespaces represent four hosts, which a bridge in a fifth connects: the supervisor,
the scheduler of dask, and two workers, each with its own copy of the course. That needs root, and
iproute2. Each scene prints its result. The benchmark fails if a record differs from that of one
machine except for the times, or if something is accepted that must be refused.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from autograder.course import find_root
from autograder.results import from_json, to_json
from benchmarks.kills import write_class
from benchmarks.namespaces import Network, Running, address_of
from benchmarks.nbgrader_autograde import copy_course
from tools.records import without_times

STAGE = "04"
SUPERVISOR, SCHEDULER, *WORKERS = HOSTS = ("supervisor", "scheduler", "worker1", "worker2")
ADDRESSES = {host: address_of(number) for number, host in enumerate(HOSTS)}
PORT = 8786
REFUSED = 2  # the exit code
START_SECONDS = 120.0  # to wait for a host that starts or restarts
POLL_SECONDS = 0.1
CUT_AT = 0.25  # the share of the class that has been graded when a host is cut off
TLS = """distributed:
  comm:
    require-encryption: {required}
    tls:
      ca-file: {keys}/ca.pem
      scheduler: {{cert: {keys}/node.pem, key: {keys}/node.key}}
      worker: {{cert: {keys}/node.pem, key: {keys}/node.key}}
      client: {{cert: {keys}/node.pem, key: {keys}/node.key}}
  scheduler: {{http: {{routes: []}}}}
  worker: {{http: {{routes: []}}}}
"""
KEYS = (
    "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=class -keyout ca.key -out ca.pem",
    "req -newkey rsa:2048 -nodes -subj /CN=node -keyout node.key -out node.csr",
    "x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out node.pem",
)


class Graded(NamedTuple):
    """The result of one command."""

    code: int
    seconds: float
    said: str
    record: bytes  # without its times


class Scene(NamedTuple):
    """A class, its keys, and the network of its hosts."""

    home: Path
    course: Path
    network: Network

    def start_cluster(self, keys: str, scheme: str = "tls", workers: str = "tls") -> None:
        """Start the scheduler, and a worker on each worker host; wait for the workers."""
        scheduler = f"{scheme}://{ADDRESSES[SCHEDULER]}:{PORT}"
        listen = ("--host", ADDRESSES[SCHEDULER], "--port", PORT, "--protocol", scheme)
        self._dask(SCHEDULER, keys, "scheduler", *listen)
        self.wait_for(SCHEDULER, "Scheduler at:")
        for host in WORKERS:
            self.start_worker(host, keys, scheduler, workers)

    def start_worker(self, host: str, keys: str, scheduler: str, protocol: str) -> None:
        """Start a worker on *host*, and wait for it."""
        address = ("--host", ADDRESSES[host], "--protocol", protocol)
        folder = ("--local-directory", self.home / host)
        self._dask(host, keys, "worker", scheduler, *address, "--nthreads", 1, *folder)
        self.wait_for(host, "Registered to:")

    def grade(
        self,
        address: str = "",
        keys: str = "keys",
        meanwhile: Callable[[Running], None] = lambda _run: None,
    ) -> Graded:
        """Grade the class with the command, and call *meanwhile* with the process."""
        record, log = self.home / "results.json", self.home / "grade.log"
        for path in (record, log):
            path.unlink(missing_ok=True)
        words: tuple[object, ...] = ("-m", "autograder", "grade", self.home / "class")
        words += ("--course", self.course, "--json", record)
        if address:
            words += ("--cluster", address, "--cluster-course", self.home / "course")
        begin = time.monotonic()
        run = self.network.start(SUPERVISOR, words, self.home / keys, log)
        meanwhile(run)
        code = run.wait()
        found = b""
        if record.is_file():
            found = to_json(without_times(from_json(record.read_bytes())))
        return Graded(code, time.monotonic() - begin, log.read_text().strip(), found)

    def forget(self) -> None:
        """Remove the journal."""
        self.journal.unlink(missing_ok=True)

    @property
    def journal(self) -> Path:
        """The path of the journal, which stores each result as soon as it is made."""
        return self.home / "results.json.journal"

    def wait_for_results(self, run: Running, count: int) -> None:
        """Wait until *count* results are in the journal."""
        while run.poll() is None and self.graded() < count:
            time.sleep(POLL_SECONDS)

    def graded(self) -> int:
        """Return how many results are in the journal, after its first line."""
        return self.journal.read_bytes().count(b"\n") - 1 if self.journal.is_file() else 0

    def _dask(self, host: str, keys: str, *words: object) -> None:
        (self.home / f"{host}.log").unlink(missing_ok=True)
        all_words = ("-m", "dask", *words, "--no-dashboard")
        self.network.start(host, all_words, self.home / keys, self.home / f"{host}.log")

    def wait_for(self, host: str, line: str) -> None:
        """Wait until the program on *host* has written *line*."""
        deadline = time.monotonic() + START_SECONDS
        log = self.home / f"{host}.log"
        while line not in log.read_text():
            if time.monotonic() > deadline:
                sys.exit(f"{host} has not written {line!r}:\n{log.read_text()}")
            time.sleep(POLL_SECONDS)


def main(count: int = 200) -> None:
    """Run all scenes, and print what happened."""
    if os.geteuid() != 0:
        sys.exit("Network namespaces need root.")
    with tempfile.TemporaryDirectory(prefix="hosts-") as folder, Network(HOSTS) as network:
        home = Path(folder)
        home.chmod(0o711)  # a worker of the sandbox passes through it
        scene = Scene(home, find_root(Path(__file__).parent), network)
        write_class(home / "class", STAGE, count)
        copy_course(scene.course, home / "course")
        for keys in ("keys", "foreign"):
            _make_keys(home / keys)
        (home / "open").mkdir()
        (home / "optional").mkdir()
        optional = TLS.format(keys=home / "keys", required="false")
        (home / "optional" / "tls.yaml").write_text(optional)
        _unencrypted(scene)
        alone = scene.grade()
        _require(alone.code == 0 and bool(alone.record), alone.said)
        scene.forget()
        print(f"one host alone: {count} submissions of stage {STAGE}, {alone.seconds:.0f} s")
        _encrypted(scene, alone)


@contextmanager
def _cluster(scene: Scene, keys: str, scheme: str = "tls", workers: str = "tls") -> Iterator[str]:
    """Yield the address of the scheduler of a new cluster."""
    scene.start_cluster(keys, scheme, workers)
    try:
        yield f"{scheme}://{ADDRESSES[SCHEDULER]}:{PORT}"
    finally:
        scene.network.end()
        scene.forget()


def _unencrypted(scene: Scene) -> None:
    """Require that nothing is sent over a connection that anybody could read."""
    with _cluster(scene, "open", "tcp", "tcp") as address:
        before = scene.network.connections(SUPERVISOR)
        graded = scene.grade(address, "open")
        opened = scene.network.connections(SUPERVISOR) - before
        _refused("a scheduler without TLS", graded, "is not encrypted")
        _require(opened == 0, f"{opened} connections were opened.")
    with _cluster(scene, "optional", "tls", "tcp") as address:
        graded = scene.grade(address)
        _refused("workers without TLS", graded, f"tcp://{ADDRESSES[WORKERS[0]].rpartition('.')[0]}")


def _encrypted(scene: Scene, alone: Graded) -> None:
    """Require that one authority's keys give the records of one machine, with any host cut off."""
    some = int(CUT_AT * len(from_json(alone.record).submissions))

    def cut_off(host: str, run: Running) -> None:
        scene.wait_for_results(run, some)
        scene.network.link(host, "down")

    with _cluster(scene, "keys") as address:
        _refused("keys of another authority", scene.grade(address, "foreign"), "No scheduler")
        _same("four hosts", scene.grade(address), alone)
        scene.forget()
        lost = scene.grade(address, meanwhile=partial(cut_off, WORKERS[1]))
        _same("a worker is cut off for good", lost, alone)
        scene.forget()
        scene.network.link(WORKERS[1], "up")
        scene.wait_for(WORKERS[1], "End worker")
        scene.start_worker(WORKERS[1], "keys", address, "tls")
        _same("it has ended, and is started again", scene.grade(address), alone)
        scene.forget()
        lost = scene.grade(address, meanwhile=partial(cut_off, SUPERVISOR))
        _refused("the supervisor is cut off", lost, "The connection to the scheduler is lost.")
        kept = scene.graded()
        _require(some <= kept < len(from_json(alone.record).submissions), f"{kept} are graded")
        scene.network.link(SUPERVISOR, "up")
        _same(f"the same command goes on behind {kept} results", scene.grade(address), alone)


def _refused(what: str, graded: Graded, sentence: str) -> None:
    """Require that nothing was graded, and print why."""
    _require(graded.code == REFUSED and sentence in graded.said, f"{what}: {graded}")
    print(f"{what}: exit code {REFUSED} after {graded.seconds:.0f} s")
    print(f"    {graded.said.splitlines()[-1]}")


def _same(what: str, graded: Graded, alone: Graded) -> None:
    _require(graded.code == 0, f"{what}: exit code {graded.code}\n{graded.said}")
    _require(graded.record == alone.record, f"{what}: the records differ")
    print(f"{what}: the same records, {graded.seconds:.0f} s")


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001  # used like an assert
    if not holds:
        sys.exit(otherwise)


def _make_keys(folder: Path) -> None:
    """Make an authority and a certificate as docs/scaling.md does."""
    folder.mkdir()
    for words in KEYS:
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)  # noqa: S603, S607  # our own command
    (folder / "tls.yaml").write_text(TLS.format(keys=folder, required="true"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
