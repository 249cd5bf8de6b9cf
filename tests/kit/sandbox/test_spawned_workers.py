"""Tests workers without fork: new processes for a reader's own code."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import torch

from autograder.course_file import Limits
from autograder.errors import SandboxError
from autograder.results import Status
from autograder.sandbox import isolation, spawned_workers
from autograder.sandbox.faults import Fault
from autograder.sandbox.session import Session
from autograder.sandbox.spawned_workers import VARIABLE, SpawnedWorkers, own_workers
from autograder.sandbox.supervisor import ForkServer
from autograder.sandbox.tensors import decode, encode_tensor

LIMITS = Limits(call_seconds=20.0)
PRINTS = 'print("imported")\n\ndef double(x):\n    print("called")\n    return 2 * x\n'


@pytest.fixture(scope="module")
def workers() -> Iterator[SpawnedWorkers]:
    """One spare process for all tests of this file."""
    with SpawnedWorkers(LIMITS) as running:
        running.wait_ready()
        yield running


def session(workers: SpawnedWorkers, text: str) -> Session:
    """Open a session over *text*."""
    return Session(workers, "tiny", (text.encode(),), notebook=False)


def call(opened: Session, *args: object) -> object:
    """Call `double` of the module; return the reply's value or problem."""
    reply = opened.ask("call", name="double", args=args)
    return reply.value if reply.problem is None else reply.problem


def test_a_module_answers_and_what_it_prints_is_seen(workers: SpawnedWorkers):
    """Output of the import and output of the call are separate, as with forked workers."""
    with closing(session(workers, PRINTS)) as opened:
        answer = call(opened, 21)

    assert answer == 42
    assert opened.printed == "called\n"
    assert opened.printed_by_import == "imported\n"


@pytest.mark.slow
def test_the_same_source_is_served_by_the_same_process(workers: SpawnedWorkers):
    """The same source is served by the same process, which imports it again."""
    text = (
        "import os\nN = []\n\ndef double(x):\n    N.append(x)\n    return [os.getpid(), len(N)]\n"
    )
    answers = []
    for _ in range(2):
        with closing(session(workers, text)) as opened:
            answers.append(call(opened, 1))

    assert answers[0] == answers[1]


@pytest.mark.slow
def test_another_source_gets_a_process_that_has_run_nothing(workers: SpawnedWorkers):
    """A changed module gets a new process without the settings of the old one."""
    sets = "import torch\ntorch.set_default_dtype(torch.float64)\n\ndef double(x):\n    return x\n"
    reads = "import torch\n\ndef double(x):\n    return str(torch.get_default_dtype())\n"
    with closing(session(workers, sets)) as opened:
        call(opened, 1)
    with closing(session(workers, reads)) as opened:
        answer = call(opened, 1)

    assert answer == "torch.float32"


@pytest.mark.slow
def test_a_loop_that_never_ends_costs_one_call_and_names_its_line(workers: SpawnedWorkers):
    """An endless loop ends one call, and its line is known on systems without signals, too."""
    endless = "def double(x):\n    while True:\n        x += 1\n"
    opened = session(workers, endless)
    opened.open()
    workers.limits = Limits(call_seconds=0.3)
    with closing(opened), pytest.raises(Fault, match=r"it was running line [23]") as caught:
        call(opened, 1)
    workers.limits = LIMITS

    assert caught.value.status is Status.TIMEOUT


@pytest.mark.slow
def test_a_process_that_ends_itself_is_a_crash(workers: SpawnedWorkers):
    """A process that ends itself is a crash, and the next request gets a new one."""
    ends = "import os\n\ndef double(x):\n    if x: os._exit(3)\n    return 2\n"
    with closing(session(workers, ends)) as opened:
        with pytest.raises(Fault, match="exit code 3"):
            call(opened, 1)
        again = call(opened, 0)

    assert again == 2


@pytest.mark.slow
def test_large_tensors_pass_through_the_pipes(workers: SpawnedWorkers):
    """A message that is larger than a pipe's buffer arrives."""
    tensor = encode_tensor(torch.arange(300_000.0), 1 << 24)
    with closing(session(workers, "def double(x):\n    return x * 2\n")) as opened:
        answer = decode(call(opened, tensor), lambda handle: handle)

    assert torch.equal(answer, 2 * torch.arange(300_000.0))


@pytest.mark.slow
def test_processes_and_folders_are_gone_at_the_end():
    """After the end, no process runs and no folder is left."""
    with SpawnedWorkers(LIMITS) as workers:
        opened = session(workers, PRINTS)
        opened.open()
        pid, folder = opened._worker.pid, Path(workers._folder.name)
        opened.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("platform", "chosen", "kind"),
    [
        pytest.param("linux", "", "fork", id="linux"),
        pytest.param("linux", "spawn", "spawn", id="linux-by-choice"),
        pytest.param("darwin", "", "spawn", id="macos"),
        pytest.param("win32", "", "spawn", id="windows"),
    ],
)
def test_the_system_or_the_environment_chooses(monkeypatch, platform, chosen, kind):
    """Workers are forks on Linux only, unless the environment chooses others."""
    monkeypatch.setattr(spawned_workers.sys, "platform", platform)
    monkeypatch.delenv(VARIABLE, raising=False)
    if chosen:
        monkeypatch.setenv(VARIABLE, chosen)
    monkeypatch.setattr(spawned_workers, "SpawnedWorkers", lambda _limits: "spawn")
    monkeypatch.setattr(ForkServer, "of_own_code", lambda _limits: "fork")

    assert own_workers(LIMITS) == kind


def test_the_choice_never_concerns_grading(monkeypatch: pytest.MonkeyPatch):
    """Without fork nothing is graded, regardless of the environment variable."""
    monkeypatch.setenv(VARIABLE, "spawn")
    monkeypatch.delattr(os, "fork")

    with pytest.raises(SandboxError, match="fork"):
        ForkServer("process", LIMITS)
    with pytest.raises(SandboxError, match="fork"):
        isolation.choose_isolation("process")


@pytest.mark.slow
def test_a_process_that_was_ended_is_replaced_at_once(monkeypatch: pytest.MonkeyPatch):
    """After an endless loop the next save does not wait until torch is loaded."""
    started = []
    process = spawned_workers._Process
    monkeypatch.setattr(spawned_workers, "_Process", lambda: started.append(1) or process())
    with SpawnedWorkers(LIMITS) as workers:
        worker = workers.start("tiny", notebook=False)
        before = len(started)
        worker.end()

    assert (before, len(started)) == (1, 2)
