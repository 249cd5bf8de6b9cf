"""Confines a worker: drops its privileges irreversibly before student code runs.

``full`` needs Linux: Landlock, a system-call filter, limits and an unprivileged user. ``process``
works everywhere and guards against accidents only: it sets the limits that the system has.
"""

import contextlib
import ctypes
import functools
import logging
import math
import os
import platform
import signal
import site
import stat
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from autograder.errors import SandboxError
from autograder.sandbox import landlock, private_folder, seccomp, syscalls
from autograder.sandbox.privileges import (
    drop_privileges,
    is_root,
    set_capabilities,
    unprivileged_owner,
)

if sys.platform != "win32":
    import resource

Isolation = Literal["full", "process"]


_SYSTEM_ROOTS: Final = (
    *("/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64"),
    "/usr/local/lib",
    "/etc/ld.so.cache",
    *("/etc/localtime", "/usr/share/zoneinfo"),
    *("/dev/zero", "/dev/urandom"),
    # The processor's features: without them torch chooses the slowest of its kernels.
    *("/proc/cpuinfo", "/sys/devices/system/cpu"),
)
WINDOWS: Final = (
    "The kit runs code in processes of Linux and macOS, and this is Windows: use WSL, the "
    "JupyterHub of your course, or Colab."
)
MACOS: Final = "Landlock and seccomp need Linux; this is macOS, where `process` is all there is."
_NULL: Final = Path("/dev/null")  # writable: honest code may write to `os.devnull`

_SAMPLE: Final = ("os", "msgspec", "torch")  # looking at every file would take too long

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_M_ARENA_MAX: Final = -8


class SandboxPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The folders that a worker may read and write, and how much it may use."""

    isolation: Isolation
    readable: tuple[str, ...]
    private: str  # the only writable folder; for root it must belong to `unprivileged_owner()`
    memory_bytes: int  # beyond what is mapped when `confine` is called
    file_bytes: int  # of all files in the private folder, and so of each
    files: int  # in the private folder
    open_files: int = 256
    cpu_seconds: int = 3600  # a second limit, if the supervisor fails to end the worker
    threads: int = 1024  # of all workers together; only for root, as the kernel counts by user


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What this machine can confine with; *reason* is the sentence for ``autograder doctor``."""

    level: Isolation
    reason: str
    platform: str
    architecture: str


def detect_capabilities() -> Capabilities:
    """Find out which isolation this machine can give, and why."""
    abi = landlock.abi_version()
    missing = _missing(abi) or _closed_reason()
    return Capabilities(
        level="process" if missing else "full",
        reason=missing or f"Landlock (ABI {abi}) and the system-call filter work here.",
        platform=platform.system(),
        architecture=platform.machine(),
    )


def readable_roots() -> tuple[str, ...]:
    """List what Python and torch read: libraries and time zones; no home, /proc or course.

    Derived from the interpreter and not from ``sys.path``, which holds the course's folder after an
    editable install.
    """
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    python = [sysconfig.get_path(name) for name in names]
    python += [f"{sys.base_prefix}/lib", *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        python.append(site.getusersitepackages())
    return tuple(dict.fromkeys(root for root in (*python, *_SYSTEM_ROOTS) if Path(root).exists()))


def check_roots(roots: Iterable[str], secret: Path) -> None:
    """Raise ``SandboxError`` if granting *roots* would let a worker read *secret*."""
    hidden = secret.resolve()
    for root in roots:
        if hidden.is_relative_to(Path(root).resolve()):
            msg = (
                f"{secret} lies inside {root}, which student code must be able to read. "
                "Move the course out of Python's own folders."
            )
            raise SandboxError(msg)


def limit_memory(size: int) -> None:
    """Let this process map at most *size* bytes more than it has; only Linux can say how many."""
    if sys.platform == "linux":
        _set_limit(resource.RLIMIT_AS, mapped_bytes() + size)


def limit_processor_time(seconds: float) -> None:
    """Let the system end this process once it has computed for *seconds* more."""
    if sys.platform != "win32":
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        most = math.ceil(time.process_time() + seconds)
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def require_workers() -> None:
    """Raise ``SandboxError`` on Windows, which has no `fork` and so no worker."""
    if sys.platform == "win32":
        raise SandboxError(WINDOWS)


def confine(policy: SandboxPolicy, parent: int) -> None:
    """Confine this process as *policy* says; raises ``SandboxError`` if ``full`` is impossible.

    This process ends when *parent* ends, also if it has ended since it was noted before the fork.
    """
    if policy.isolation == "process":
        _apply_process_isolation(policy, parent)
        return
    if missing := _missing(landlock.abi_version()):
        raise SandboxError(missing)
    try:
        _apply_full(policy, parent)
    except OSError as error:
        msg = f"This process could not be confined: {error}. Run `autograder doctor`."
        raise SandboxError(msg) from error


def _apply_process_isolation(policy: SandboxPolicy, parent: int) -> None:
    """Apply what works on every system and can't fail."""
    _start_session()
    end_with_parent(parent)  # elsewhere the fork server ends its workers
    os.umask(0o077)
    for limit, value in _limits(policy):
        with contextlib.suppress(OSError, ValueError):  # macOS knows some limits but sets none
            _set_limit(limit, value)


def _apply_full(policy: SandboxPolicy, parent: int) -> None:
    """Apply everything, in an order in which each step still has the privileges that it needs."""
    _require_one_thread()
    _start_session()
    writable = _mount_private_folder(policy)
    for limit, value in _limits(policy):
        _set_limit(limit, value)
    os.umask(0o077)
    drop_privileges()
    end_with_parent(parent)  # after the change of user, which resets it
    syscalls.prctl(_PR_SET_DUMPABLE, 0)
    syscalls.prctl(_PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(map(Path, (*policy.readable, policy.private)), (*writable, _NULL))
    _reach_by_descriptor((*policy.readable, policy.private))
    set_capabilities(0)
    arch = syscalls.machine()
    if arch is not None:  # `detect_capabilities` has checked it
        seccomp.load(seccomp.encoded(arch, os.getpid()))
    _self_test()


def _mount_private_folder(policy: SandboxPolicy) -> tuple[Path, ...]:
    """Enter the private folder; return it if it is writable: only where it can be limited."""
    limited = private_folder.is_available()
    if limited:
        owner = unprivileged_owner()
        private_folder.mount(policy.private, policy.file_bytes, policy.files, owner)
    os.chdir(policy.private)
    return (Path(policy.private),) if limited else ()


def _missing(abi: int) -> str:
    if sys.platform != "linux":
        other = f"Landlock and seccomp need Linux; this is {platform.system() or 'another system'}."
        return {"win32": WINDOWS, "darwin": MACOS}.get(sys.platform, other)
    if syscalls.machine() is None:
        return f"The system-call filter knows x86-64 and aarch64, not {platform.machine()}."
    if not abi:
        return "This kernel has no Landlock: it is older than 5.13, or a container forbids it."
    if not seccomp.available():
        return "This kernel, or a container, allows no system-call filter."
    return ""


def _require_one_thread() -> None:
    """Refuse a process with other threads: Landlock confines the calling thread only."""
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:
        msg = f"A process with {threads} threads can't be confined; fork before torch starts any."
        raise SandboxError(msg)


def _start_session() -> None:
    """Start a session of its own, so that the terminal sends Ctrl-C to the supervisor only."""
    if sys.platform != "win32":
        with contextlib.suppress(PermissionError):  # it leads a process group already
            os.setsid()


def _limits(policy: SandboxPolicy) -> Iterator[tuple[int, int]]:
    """Yield each limit with its value, which is both soft and hard limit: it can't be raised."""
    if sys.platform == "win32":
        return
    yield resource.RLIMIT_CORE, 0
    yield resource.RLIMIT_FSIZE, policy.file_bytes
    yield resource.RLIMIT_NOFILE, policy.open_files
    yield resource.RLIMIT_CPU, policy.cpu_seconds
    if sys.platform != "linux":
        return
    yield resource.RLIMIT_MEMLOCK, 0
    yield resource.RLIMIT_MSGQUEUE, 0
    if policy.isolation == "full" and is_root():  # else the user's own programs would count
        yield resource.RLIMIT_NPROC, policy.threads
    _share_arenas()
    yield resource.RLIMIT_AS, mapped_bytes() + policy.memory_bytes


def _set_limit(limit: int, value: int) -> None:
    if sys.platform != "win32":
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))


def _share_arenas() -> None:
    """Let all threads allocate from one arena: glibc reserves 64 MiB of addresses per arena."""
    with contextlib.suppress(AttributeError):  # musl has no arenas
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def mapped_bytes() -> int:
    """Return how much memory this process has mapped; Linux only."""
    pages = Path("/proc/self/statm").read_bytes().split()[0]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def prepare_forks() -> None:
    """Find out once, for all forks of this process, what each of them can do and must replace.

    To look at thousands of modules after a fork would copy the memory that they are in.
    """
    for root in readable_roots():
        _is_below_closed(root)
    _closed_search_paths()
    private_folder.is_available()
    if arch := syscalls.machine():
        seccomp.encoded(arch, os.getpid())
    # torch has dozens of handlers, for each of which a fork makes a new lock; no thread holds one.
    getattr(logging, "_at_fork_reinit_lock_weakset", set()).clear()


def _reach_by_descriptor(folders: Iterable[str]) -> None:
    """Let this process use *folders* below others that only root may enter: a pyenv in /root.

    A path that starts at a descriptor needs no permission for the folders above it.
    """
    for folder in filter(_is_below_closed, folders):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
            _replace_paths(folder, f"/proc/self/fd/{descriptor}")


def _replace_paths(folder: str, reached: str) -> None:
    """Put *reached* in place of *folder* where imports and programs look for paths."""
    for paths in (sys.path, *_closed_search_paths()):
        for index, path in enumerate(paths):
            if path == folder or path.startswith(f"{folder}/"):
                paths[index] = f"{reached}{path.removeprefix(folder)}"
    for name, value in os.environ.items():
        if value == folder:
            os.environ[name] = reached


@functools.cache
def _is_below_closed(folder: str) -> bool:
    """Whether *folder* is below one that only root may enter."""
    path = Path(folder)
    above = {*path.absolute().parents, *path.resolve().parents}
    return not all(_allows_others(parent, stat.S_IXOTH) for parent in above)


@functools.cache
def _closed_search_paths() -> tuple[list[str], ...]:
    """The lists in which loaded packages hold folders below one that only root may enter."""
    found = (getattr(module, "__path__", None) for module in list(sys.modules.values()))
    lists = (paths for paths in found if isinstance(paths, list))
    return tuple(paths for paths in lists if any(map(_is_below_closed, paths)))


def _installed_files() -> list[str]:
    """Return a sample of the installed files, to see who may read them."""
    loaded = (sys.modules.get(name) for name in _SAMPLE)
    return [module.__file__ for module in loaded if module and module.__file__]


def _closed_path() -> str:
    """Return a folder or file of Python that only root may read itself; empty if there is none."""
    roots = [Path(root).resolve() for root in readable_roots()]
    for path in (*roots, *(Path(file).resolve() for file in _installed_files())):
        root = next((root for root in roots if path.is_relative_to(root)), path)
        inside = [above for above in path.parents if above.is_relative_to(root)]
        if not _allows_others(path, stat.S_IROTH) or not all(
            _allows_others(folder, stat.S_IXOTH) for folder in inside
        ):
            return str(path)
    return ""


def _closed_reason() -> str:
    closed = _closed_path() if is_root() else ""
    if not closed:
        return ""
    return (
        f"Only root may read {closed}, and student code runs as another user. "
        f"Run `chmod -R o+rX {closed}`, or use a Python that every user may read."
    )


def _allows_others(path: Path, right: int) -> bool:
    try:
        return bool(path.stat().st_mode & right)
    except OSError:
        return True  # there is no file to refuse


def end_with_parent(parent: int) -> None:
    """Let the kernel end this process with the thread of *parent* that started it; Linux only."""
    if sys.platform == "linux":
        syscalls.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def _self_test() -> None:
    """Abort if a forbidden operation succeeds."""
    forbidden: dict[str, Callable[[], object]] = {
        "Landlock": lambda: list(Path("/").iterdir()),
        "the system-call filter": lambda: os.nice(0),
    }
    for name, attempt in forbidden.items():
        with contextlib.suppress(PermissionError):
            attempt()
            msg = f"This process is not confined: {name} was loaded but refuses nothing."
            raise SandboxError(msg)
