"""Tests the abilities and the limits of a confined worker.

One process with torch serves all tests: it forks a worker for each, as the fork server does, so a
test costs milliseconds. A script runs in the worker and assigns the result to ``answer``.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

import autograder
from autograder.errors import SandboxError
from autograder.sandbox import landlock
from autograder.sandbox.confinement import SandboxPolicy, confine, prepare_forks
from autograder.sandbox.isolation import detect_capabilities, readable_roots
from autograder.sandbox.namespaces import remove_folder, unprivileged_owner
from tests.kit.factories import needs_open_python

needs_full = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)
needs_root = pytest.mark.skipif(unprivileged_owner() is None, reason="needs root")
MIB = 1 << 20

FORK_SERVER = """
import contextlib, ctypes, errno, gc, json, os, signal, sys, threading, time
import msgspec, torch
from autograder.sandbox.confinement import SandboxPolicy, confine

def native(name, *arguments):
    "Call the C library's *name*; its errno becomes an OSError."
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)

def work(order):
    names = {**globals(), **order["names"], "PARENT": os.getppid()}
    os.environ.update(HOME=names["PRIVATE"], TMPDIR=names["PRIVATE"], MPLBACKEND="Agg")
    os.chdir(names["PRIVATE"])
    try:
        exec(order["before"], names)
        confine(msgspec.convert(order["policy"], SandboxPolicy), order["parent"])
        exec(order["script"], names)
        answer = names["answer"]
    except BaseException as error:
        answer = type(error).__name__
        if order["verbose"]:
            answer += f": {error}"
    os.write(1, (json.dumps(answer) + "\\n").encode())

torch.softmax(torch.rand(4, 4) @ torch.rand(4, 4), dim=-1)
gc.collect()
gc.freeze()
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        try:
            work(json.loads(line))
        finally:
            os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        os.write(1, (json.dumps(f"ended: {status}") + "\\n").encode())
"""


@pytest.fixture(scope="module")
def fork_server():
    """Start the process that forks all workers."""
    environment = {
        "PYTHONPATH": str(Path(autograder.__file__).parents[1]),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    with subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-B", "-c", FORK_SERVER],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def reachable():
    """Make a folder that every user may enter, because pytest's folders are private."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    remove_folder(folder)


@pytest.fixture
def outside(reachable):
    """Make a folder that every user may write to."""
    folder = reachable / "outside"
    folder.mkdir()
    (folder / "secret").write_text("the answer")
    (folder / "secret").chmod(0o666)
    folder.chmod(0o777)
    return folder


@pytest.fixture
def policy(reachable):
    """A policy with a private folder and limits that are easy to reach."""
    private = reachable / "private"
    private.mkdir()
    if owner := unprivileged_owner():
        os.chown(private, owner, owner)
    return SandboxPolicy(
        isolation="full",
        readable=readable_roots(),
        private=str(private),
        memory_bytes=512 * MIB,
        file_bytes=MIB,
        files=200,
    )


@pytest.fixture
def worker(fork_server, policy, outside):
    """Run a script in a confined worker; *changes* replace fields of the policy."""

    def run(script, *, before="", parent=fork_server.pid, verbose=False, **changes):
        fields = {name: getattr(policy, name) for name in policy.__struct_fields__} | changes
        names = {"PRIVATE": policy.private, "OUTSIDE": str(outside)}
        order = {"script": script, "before": before, "parent": parent, "verbose": verbose}
        print(
            json.dumps({**order, "policy": fields, "names": names}),
            file=fork_server.stdin,
            flush=True,
        )
        return json.loads(fork_server.stdout.readline())

    return run


HONEST = {
    "private file": "open('a', 'w').write('x'); answer = open('a').read() == 'x'",
    "private folders": """
        import os, shutil
        os.makedirs('a/b'); os.rename('a/b', 'c'); os.rmdir('a'); shutil.rmtree('c')
        answer = os.listdir('.') == []""",
    "temporary file": """
        import tempfile
        with tempfile.TemporaryFile() as file, tempfile.NamedTemporaryFile() as named:
            answer = file.write(b'x') == 1 and named.name.startswith(PRIVATE)""",
    "temporary folder": """
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            answer = folder.startswith(PRIVATE)""",
    "save and load": """
        torch.save({'weight': torch.eye(2)}, 'model.pt')
        answer = torch.load('model.pt')['weight'].sum().item() == 2""",
    "swallow output": """
        with contextlib.redirect_stdout(open(os.devnull, 'w')):
            print('x'); answer = True""",
    "import late": """
        answer = 'colorsys' not in sys.modules and 'xmlrpc.client' not in sys.modules
        import colorsys, xmlrpc.client""",
    "import a late extension": """
        answer = 'audioop' not in sys.modules and '_lsprof' not in sys.modules
        import cProfile, pyexpat, unicodedata""",
    "import from site-packages": """
        answer = 'sympy' not in sys.modules
        import sympy, networkx, jinja2""",
    "attention": """
        import torch.nn.functional as F
        q, k, v = (torch.rand(2, 3, 4, requires_grad=True) for _ in range(3))
        weights = torch.softmax(q @ k.mT / 2, dim=-1)
        ours, theirs = weights @ v, F.scaled_dot_product_attention(q, k, v)
        ours.sum().backward()
        answer = torch.allclose(ours, theirs) and q.grad is not None""",
    "bfloat16 and int8": """
        a = torch.rand(64, 64)
        b = (a * 9).to(torch.int8)
        answer = (a.bfloat16() @ a.bfloat16()).sum() > 0 and bool(torch._int_mm(b, b).sum() > 0)""",
    "large matmul in threads": """
        torch.set_num_threads(2)
        a = torch.rand(600, 600, requires_grad=True)
        (a @ a).relu().sum().backward()
        answer = a.grad.shape == (600, 600)""",
    "training": """
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        torch.manual_seed(123)
        model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Dropout(0.1))
        optimizer = torch.optim.AdamW(model.parameters())
        for (x,) in DataLoader(TensorDataset(torch.rand(8, 4)), batch_size=4, shuffle=True):
            loss = model(x).pow(2).mean(); loss.backward(); optimizer.step()
        answer = True""",
    "linear algebra": """
        a = torch.rand(16, 16)
        answer = len(torch.linalg.svd(a)) == 3 and torch.linalg.inv(a) is not None
        torch.fft.fft(a); torch.einsum('ij,jk->ik', a, a)""",
    "numpy": """
        import numpy as np
        np.save('a.npy', np.random.default_rng(0).random((3, 3)))
        answer = np.linalg.inv(np.load('a.npy')).shape == (3, 3)""",
    "plot": """
        import matplotlib.pyplot as plt
        plt.imshow(torch.eye(3)); plt.title('weights'); plt.savefig('a.png'); plt.savefig('a.pdf')
        answer = os.path.getsize('a.png') > 0""",
    "threads": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(8) as pool:
            answer = sum(pool.map(abs, range(-8, 0))) == 36""",
    "locks, timers and queues": """
        import queue
        inbox = queue.Queue()
        threading.Timer(0, inbox.put, [True]).start()
        answer = inbox.get(timeout=60)""",
    "time and random": """
        import datetime, random, secrets, uuid
        time.sleep(0); secrets.token_hex(); uuid.uuid4(); random.SystemRandom().random()
        answer = bool(datetime.datetime.now().astimezone().tzname())""",
    "time zones": """
        import zoneinfo
        zones = zoneinfo.available_timezones()
        answer = not zones or bool(zoneinfo.ZoneInfo(next(iter(zones))))""",
    "introspection": """
        import inspect, traceback, warnings
        try: torch.eye(2) @ torch.eye(3)
        except RuntimeError: traceback.format_exc()
        warnings.warn('x')
        answer = 'def relu' in inspect.getsource(torch.nn.functional.relu)""",
    "machine facts": """
        import platform
        answer = os.cpu_count() > 0 and bool(platform.platform()) and os.getpid() > 0""",
    "dataclasses, pickle, logging": """
        import copy, dataclasses, json, logging, pickle
        Config = dataclasses.make_dataclass('Config', ['d_in', 'd_out'])
        logging.getLogger().warning('x')
        layer = copy.deepcopy(torch.nn.Linear(2, 2))
        answer = pickle.loads(pickle.dumps(layer)).in_features == 2""",
    "signal itself": """
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        signal.raise_signal(signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR1)
        answer = len(seen) == 2""",
    "no compiler": """
        import subprocess
        try: subprocess.run(['gcc'])
        except OSError: answer = True""",
}

READS_FILES = {"plot", "introspection"}  # of libraries, by their paths


@pytest.mark.slow
@needs_full
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, id=name, marks=needs_open_python if name in READS_FILES else ())
        for name, script in HONEST.items()
    ],
)
def test_allows_honest_code(worker, script):
    """Actions of correct submissions work as without isolation."""
    assert worker(dedent(script), verbose=True) is True


NO_MOUNTS = """
from autograder.sandbox import namespaces
namespaces.has_private_folders = lambda: False
"""


@needs_full
@pytest.mark.parametrize(
    "source",
    ["open('a', 'w')", "os.mkdir('a')", "os.open('.', os.O_TMPFILE | os.O_WRONLY)"],
)
def test_writes_nothing_where_writing_cannot_be_limited(worker, source):
    """Without separate mounts, a worker's folder is read-only."""
    assert worker(f"answer = {source}", before=NO_MOUNTS) == "PermissionError"


@needs_full
def test_imports_matplotlib_where_nothing_can_be_written(worker):
    """Importing matplotlib works, with a warning that it can't keep its cache."""
    before = f"{NO_MOUNTS}\nos.environ['MPLCONFIGDIR'] = PRIVATE"  # set in every worker
    script = "import matplotlib.pyplot as plt; answer = len(plt.plot([1, 2])) == 1"

    assert worker(script, before=before, verbose=True) is True


REFUSED = {
    "read outside": "open(f'{OUTSIDE}/secret')",
    "list outside": "os.listdir(OUTSIDE)",
    "write outside": "open(f'{OUTSIDE}/secret', 'r+')",
    "create outside": "open(f'{OUTSIDE}/new', 'w')",
    "create without a name outside": "os.open(OUTSIDE, os.O_TMPFILE | os.O_WRONLY)",
    "truncate outside": "os.truncate(f'{OUTSIDE}/secret', 0)",
    "unlink outside": "os.unlink(f'{OUTSIDE}/secret')",
    "rename outside": "os.rename(f'{OUTSIDE}/secret', f'{OUTSIDE}/b')",
    "mkdir outside": "os.mkdir(f'{OUTSIDE}/new')",
    "symlink to the outside": "os.symlink(f'{OUTSIDE}/secret', 'a')",
    "hard link to the outside": "os.link(f'{OUTSIDE}/secret', 'a')",
    "device": "os.mknod('a')",
    "chmod outside": "os.chmod(f'{OUTSIDE}/secret', 0)",
    "chmod inside": "os.chmod(PRIVATE, 0o777)",
    "chown": "os.chown(PRIVATE, 0, 0)",
    "change times": "os.utime(f'{OUTSIDE}/secret', (0, 0))",
    "extended attribute": "os.setxattr(f'{OUTSIDE}/secret', 'user.a', b'b')",
    "lock": "__import__('fcntl').flock(open(torch.__file__), 2)",
    "write a library": "open(torch.__file__, 'a')",
    "write the standard library": "open(os.__file__, 'a')",
    "own memory": "open('/proc/self/mem', 'rb')",
    "own environment": "open('/proc/self/environ', 'rb')",
    "own descriptors": "os.listdir('/proc/self/fd')",
    "own maps by thread": "open('/proc/thread-self/maps')",
    "parent's environment": "open(f'/proc/{PARENT}/environ')",
    "parent's memory": "open(f'/proc/{PARENT}/mem', 'rb')",
    "parent's folder": "os.readlink(f'/proc/{PARENT}/cwd')",
    "users": "open('/etc/passwd')",
    "shared memory": "open('/dev/shm/a', 'w')",
    "terminal": "open('/dev/tty')",
    "fork": "os.fork()",
    "forkpty": "os.forkpty()",
    "exec": "os.execv(sys.executable, ['python'])",
    "subprocess": "__import__('subprocess').run(['true'])",
    "posix_spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "multiprocessing": "__import__('multiprocessing').get_context('fork').Process().start()",
    "socket": "__import__('socket').socket()",
    "unix socket": "__import__('socket').socket(1)",
    "socket pair": "__import__('socket').socketpair()",
    "kill the parent": "os.kill(PARENT, 9)",
    "look for the parent": "os.kill(PARENT, 0)",
    "kill everything": "os.kill(-1, 9)",
    "kill the group": "os.killpg(0, 9)",
    "kill by descriptor": "os.pidfd_open(PARENT)",
    "queue a signal": "native('sigqueue', PARENT, 10, 0)",
    "trace the parent": "native('ptrace', 16, PARENT, 0, 0)",
    "be traced": "native('ptrace', 0, 0, 0, 0)",
    "read the parent's memory": "native('process_vm_readv', PARENT, 0, 0, 0, 0, 0)",
    "memory file": "os.memfd_create('a')",
    "shared memory of SysV": "native('shmget', 0, 4096, 0o1666)",
    "messages of SysV": "native('msgget', 0, 0o1666)",
    "semaphores of SysV": "native('semget', 0, 1, 0o1666)",
    "message queue": "native('mq_open', b'/a', 0o102, 0o666, None)",
    "limits of the parent": "__import__('resource').prlimit(PARENT, 7, (9, 9))",
    "read limits of the parent": "__import__('resource').prlimit(PARENT, 7)",
    "processors of the parent": "os.sched_setaffinity(PARENT, [0])",
    "processors": "os.sched_setaffinity(0, [0])",
    "priority of the parent": "os.setpriority(os.PRIO_PROCESS, PARENT, 19)",
    "scheduler": "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))",
    "become root": "os.setuid(0)",
    "become root of a group": "os.setgroups([0])",
    "new namespace": "native('unshare', 0x10000000)",
    "mount": "native('mount', b'none', b'/tmp', b'tmpfs', 0, None)",
    "chroot": "os.chroot(PRIVATE)",
    "keyring": "native('syscall', 250, 0, -3, 0)",
    "io_uring": "native('syscall', 425, 1, 0)",
    "bpf": "native('syscall', 321, 0, 0, 0)",
    "outlive the parent": "native('prctl', 1, 0, 0, 0, 0)",
    "become dumpable": "native('prctl', 4, 1, 0, 0, 0)",
    "type into the terminal": "__import__('fcntl').ioctl(0, 0x5412, b'a')",
    "leave the session": "os.setsid()",
    "watch files": "native('inotify_init1', 0)",
}
HARD = "__import__('resource').setrlimit({}, (-1, -1))"


@needs_full
@pytest.mark.parametrize("expression", REFUSED.values(), ids=REFUSED)
def test_refuses_what_affects_the_outside(worker, outside, expression):
    """An action on other processes or files raises PermissionError and changes nothing."""
    before = sorted(outside.iterdir()), (outside / "secret").stat()

    assert worker(f"answer = repr({expression})") == "PermissionError"
    after = sorted(outside.iterdir()), (outside / "secret").stat()
    assert [after[0], *after[1][:8]] == [before[0], *before[1][:8]]


@needs_full
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CPU"])
def test_limits_cannot_be_raised(worker, limit):
    """Soft and hard limits are equal, for root too."""
    answer = worker(
        f"""
import resource
resource.setrlimit(resource.{limit}, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
answer = 'raised'
"""
    )

    assert answer == "ValueError"


@needs_full
@pytest.mark.parametrize(
    ("script", "answer"),
    [
        pytest.param("answer = len(bytearray(1 << 30))", "MemoryError", id="bytes"),
        pytest.param("answer = torch.zeros(1 << 28).numel()", "RuntimeError", id="tensor"),
        pytest.param("open('a', 'wb').write(bytes(2 << 20)); answer = 'ok'", "OSError", id="file"),
        pytest.param(
            "answer = [open(os.devnull) for _ in range(300)]", "OSError", id="descriptors"
        ),
    ],
)
def test_limits_what_is_used(worker, script, answer):
    """Exceeding a limit raises an exception in the worker and does not affect the machine."""
    assert worker(script) == answer


@needs_full
@needs_root
def test_limits_threads(worker):
    """A worker that starts endless threads gets an exception, long before the memory is used up."""
    endless = """
try:
    while True:
        threading.Thread(target=signal.pause, daemon=True).start()
except RuntimeError:
    answer = threading.active_count()
"""

    assert worker(endless, threads=16) <= 16


@needs_full
def test_allows_some_threads(worker):
    """Eight threads that allocate fit into 512 MiB: they share one arena."""
    answer = worker(
        """
barrier = threading.Barrier(9)
def allocate():
    kept = [bytes(1000) for _ in range(1000)]
    barrier.wait()
for _ in range(8):
    threading.Thread(target=allocate).start()
barrier.wait()
answer = len(bytearray(300 << 20)) > 0
"""
    )

    assert answer is True


@needs_full
@pytest.mark.skipif(
    detect_capabilities().architecture != "x86_64", reason="x32 is a part of x86-64"
)
def test_x32_calls_end_the_worker(worker):
    """A 32-bit system call on x86-64 ends the worker."""
    assert worker("native('syscall', 0x40000000 + 39); answer = 1") == f"ended: {-signal.SIGSYS}"


@needs_full
@needs_root
def test_imports_from_below_a_folder_that_only_root_may_enter(worker, policy, tmp_path):
    """A Python below /root can import modules after the change of user."""
    package = tmp_path / "closed" / "library" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "closed_module.py").write_text("word = 'here'")
    tmp_path.joinpath("closed").chmod(0o700)
    before = f"sys.path.append({str(package.parent)!r}); import package"
    script = "from package.closed_module import word as answer"
    readable = (*policy.readable, str(package.parent))

    assert worker(script, before=before, readable=readable) == "here"
    assert worker(script, before=before) == "ModuleNotFoundError"


@needs_full
def test_writes_below_a_folder_that_only_root_may_enter(worker, tmp_path):
    """A folder for temporary files below /root can be written by the worker."""
    private = tmp_path / "closed" / "private"
    private.mkdir(parents=True)
    private.parent.chmod(0o700)
    if owner := unprivileged_owner():
        os.chown(private, owner, owner)
    before = f"os.environ['TMPDIR'] = {str(private)!r}; os.chdir({str(private)!r})"
    script = (
        "import tempfile\nwith tempfile.NamedTemporaryFile() as named:\n"
        "    answer = named.write(b'x') == 1 and bool(os.path.basename(named.name))"
    )

    assert worker(script, before=before, private=str(private), verbose=True) is True


@needs_full
def test_refuses_a_process_with_threads(worker):
    """A process with threads is refused, because Landlock confines only the calling thread."""
    sentence = worker(
        "answer = 1",
        before="threading.Thread(target=signal.pause, daemon=True).start()",
        verbose=True,
    )

    assert sentence.startswith("SandboxError: A process with 2 threads")


@needs_full
def test_refuses_a_private_folder_that_does_not_exist(worker):
    """A folder that can't be granted is a ``SandboxError`` that names it."""
    sentence = worker("answer = 1", private="/nowhere/at/all", verbose=True)

    assert sentence.startswith("SandboxError: This process could not be confined")
    assert "/nowhere/at/all" in sentence


@needs_full
def test_does_not_outlive_an_unexpected_parent(worker):
    """The worker ends if its parent ended during the fork."""
    assert worker("answer = 'running'", parent=1) == "ended: 1"


ORPHAN = """
import os, sys
from autograder.sandbox.confinement import SandboxPolicy, confine
import msgspec
if not os.fork():
    confine(msgspec.json.decode(sys.argv[1], type=SandboxPolicy), os.getppid())
    os.write(1, b"%d\\n" % os.getpid())
    os.write(1, os.read(0, 1) or b"running")
os.waitpid(-1, 0)
"""


@pytest.fixture
def orphan(policy):
    """Start a parent whose only child is confined; yield the parent and the child's pid."""
    with subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-c", ORPHAN, msgspec.json.encode(policy).decode()],
        env={"PYTHONPATH": str(Path(autograder.__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        yield parent, int(parent.stdout.readline())
        parent.kill()


@needs_full
def test_ends_with_its_parent(orphan):
    """When the fork server is killed, its workers end before they write anything."""
    parent, _ = orphan

    parent.kill()
    parent.wait()  # after this the kernel has sent the signal to the worker
    parent.stdin.close()

    assert parent.stdout.read() == b""


@needs_full
def test_leaves_the_session_and_hides_its_memory(orphan):
    """A worker has its own session, and its files in /proc belong to root."""
    _, child = orphan

    assert os.getsid(child) == child
    assert Path(f"/proc/{child}/environ").stat().st_uid == 0


@needs_full
@needs_root
def test_keeps_no_privileges(orphan):
    """The worker runs as the user nobody, without a capability and without root's groups."""
    status = Path(f"/proc/{orphan[1]}/status").read_text("ascii").splitlines()
    fields = dict(line.split(":\t", 1) for line in status)

    nobody = "\t".join(["65534"] * 4)
    assert (fields["Uid"], fields["Gid"], fields["Groups"].strip()) == (nobody, nobody, "")
    sets = ("CapBnd", "CapInh", "CapAmb", "CapPrm", "CapEff")
    assert {int(fields[name], 16) for name in sets} == {0}
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")


def test_process_isolation_limits_but_refuses_nothing(worker, outside):
    """Isolation `process` limits resources, and allows reading any file."""
    assert worker(f"answer = open('{outside}/secret').read()", isolation="process") == "the answer"
    assert worker("open('a', 'wb').write(bytes(2 << 20))", isolation="process") == "OSError"


def test_full_isolation_is_never_lowered_silently(policy, monkeypatch):
    """Full isolation without Landlock is an error before anything is applied."""
    monkeypatch.setattr(landlock, "abi_version", lambda: 0)

    assert detect_capabilities().level == "process"
    with pytest.raises(SandboxError, match="no Landlock"):
        confine(policy, os.getppid())


def test_a_fork_makes_no_lock_for_each_handler_of_torch():
    """A fork does not renew locks of logging handlers, because the list of handlers is empty."""
    handler = logging.StreamHandler()
    listed = logging._at_fork_reinit_lock_weakset

    assert handler in listed
    prepare_forks()
    assert not listed


def dedent(script):
    """Remove the indentation of a script that begins on the line after its quotes."""
    lines = script.splitlines()
    margin = 8 if not lines[0].strip() else 0
    return "\n".join(line[margin:] for line in lines)
