"""Confines a worker: drops its privileges irreversibly before student code runs."""

import contextlib
import functools
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from autograder.course_file import Isolation
from autograder.errors import SandboxError
from autograder.sandbox import landlock, namespaces, seccomp, syscalls
from autograder.sandbox.isolation import allows_others, missing_feature, readable, readable_roots
from autograder.sandbox.namespaces import (
    drop_privileges,
    is_root,
    set_capabilities,
    unprivileged_owner,
)
from autograder.sandbox.process_limits import (
    end_with_parent,
    mapped_bytes,
    set_limit,
    share_arenas,
)

if sys.platform != "win32":
    import resource

_NULL: Final = Path("/dev/null")  # writable: honest code may write to `os.devnull`
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38


class SandboxPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The folders that a worker may read and write, and the resources that it may use."""

    isolation: Isolation
    readable: tuple[str, ...]
    listed: tuple[str, ...] = ()  # folders whose names may be read, without their files
    private: str  # the only writable folder; for root it must belong to `unprivileged_owner()`
    memory_bytes: int  # in addition to the memory mapped when `confine` is called
    file_bytes: int  # limit for all files in the private folder together, and for each file
    files: int  # in the private folder
    open_files: int = 256
    cpu_seconds: int = 3600  # a safeguard if the supervisor fails to end the worker
    threads: int = 1024  # for all workers together: the kernel counts by user; only for root


def confine(policy: SandboxPolicy, parent: int) -> None:
    """Confine this process by *policy*; raise ``SandboxError`` if ``full`` is impossible.

    The kernel ends this process with *parent*, even if *parent* has already ended.
    """
    if policy.isolation == "process":
        _apply_process_isolation(policy, parent)
        return
    if missing := missing_feature(landlock.abi_version()):
        raise SandboxError(missing)
    try:
        _apply_full(policy, parent)
    except OSError as error:
        msg = f"This process could not be confined: {error}. Run `autograder doctor`."
        raise SandboxError(msg) from error


def _apply_process_isolation(policy: SandboxPolicy, parent: int) -> None:
    _start_session()
    end_with_parent(parent)  # on Linux; on other systems the fork server ends its workers
    os.umask(0o077)
    for limit, value in _limits(policy):
        with contextlib.suppress(OSError, ValueError):  # macOS knows some limits but sets none
            set_limit(limit, value)


def _apply_full(policy: SandboxPolicy, parent: int) -> None:
    """Apply everything, in an order in which each step still has the privileges that it needs."""
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:  # Landlock confines the calling thread only
        msg = f"A process with {threads} threads can't be confined; fork before torch starts any."
        raise SandboxError(msg)
    _start_session()
    writable = _mount_private_folder(policy)
    for limit, value in _limits(policy):
        set_limit(limit, value)
    os.umask(0o077)
    drop_privileges()
    end_with_parent(parent)  # after the change of user, which resets it
    syscalls.prctl(_PR_SET_DUMPABLE, 0)
    syscalls.prctl(_PR_SET_NO_NEW_PRIVS, 1)
    paths = (*policy.readable, policy.private)
    landlock.restrict(map(Path, paths), (*writable, _NULL), map(Path, policy.listed))
    inside = {path for path in paths if str(Path(path).parent) in policy.listed}
    _reach_by_descriptor((*policy.listed, *(path for path in paths if path not in inside)))
    set_capabilities(0)
    arch = syscalls.machine()
    if arch is not None:  # `missing_feature` has checked it
        seccomp.load(seccomp.encoded(arch, os.getpid()))
    _self_test()


def _mount_private_folder(policy: SandboxPolicy) -> tuple[Path, ...]:
    """Enter the private folder; return it as writable only if its size can be limited."""
    limited = namespaces.has_private_folders()
    if limited:
        owner = unprivileged_owner()
        namespaces.mount_private_folder(policy.private, policy.file_bytes, policy.files, owner)
    os.chdir(policy.private)
    return (Path(policy.private),) if limited else ()


def _start_session() -> None:
    if sys.platform != "win32":
        with contextlib.suppress(PermissionError):  # it already leads a process group
            os.setsid()


def _limits(policy: SandboxPolicy) -> Iterator[tuple[int, int]]:
    """Yield each limit with its value, which is also the hard limit, so it can't be raised."""
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
    if policy.isolation == "full" and is_root():  # otherwise the user's own programs would count
        yield resource.RLIMIT_NPROC, policy.threads
    share_arenas()
    yield resource.RLIMIT_AS, mapped_bytes() + policy.memory_bytes


def prepare_forks() -> None:
    """Compute, once for all forks of this process, what confining them needs.

    Reading thousands of modules after a fork would copy their memory.
    """
    for root in (*readable_roots(), *readable().listed):
        is_below_closed(root)
    _closed_search_paths()
    namespaces.has_private_folders()
    namespaces.has_process_numbers()
    if arch := syscalls.machine():
        seccomp.encoded(arch, os.getpid())
    # torch has dozens of log handlers, and a fork makes a new lock for each. No thread holds one.
    getattr(logging, "_at_fork_reinit_lock_weakset", set()).clear()


def _reach_by_descriptor(folders: Iterable[str]) -> None:
    """Let this process use *folders* below a folder that only root may enter, such as root's home.

    A path that starts at a descriptor needs no permission for the folders above it.
    """
    for folder in filter(is_below_closed, folders):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
            _replace_paths(folder, f"/proc/self/fd/{descriptor}")


def _replace_paths(folder: str, reached: str) -> None:
    for paths in (sys.path, *_closed_search_paths()):
        for index, path in enumerate(paths):
            if path == folder or path.startswith(f"{folder}/"):
                paths[index] = f"{reached}{path.removeprefix(folder)}"
    for name, value in os.environ.items():
        if value == folder:
            os.environ[name] = reached


@functools.cache
def is_below_closed(folder: str) -> bool:
    """Whether *folder* is below one that only root may enter."""
    path = Path(folder)
    above = {*path.absolute().parents, *path.resolve().parents}
    return not all(allows_others(parent, stat.S_IXOTH) for parent in above)


@functools.cache
def _closed_search_paths() -> tuple[list[str], ...]:
    """Return the lists of loaded packages with a path below a folder that only root may enter."""
    found = (getattr(module, "__path__", None) for module in list(sys.modules.values()))
    lists = (paths for paths in found if isinstance(paths, list))
    return tuple(paths for paths in lists if any(map(is_below_closed, paths)))


def _self_test() -> None:
    forbidden: dict[str, Callable[[], object]] = {
        "Landlock": lambda: list(Path("/").iterdir()),
        "the system-call filter": lambda: os.nice(0),
    }
    for name, attempt in forbidden.items():
        with contextlib.suppress(PermissionError):
            attempt()
            msg = f"This process is not confined: {name} was loaded but refuses nothing."
            raise SandboxError(msg)
