"""Lists the system calls that a confined worker may make, and makes calls directly.

A call that is not listed here is refused (``seccomp``), even one that a new kernel adds. Numbers
come from the kernel's ``unistd_64.h`` (x86-64) and ``asm-generic/unistd.h`` (aarch64).
"""

import ctypes
import functools
import os
import platform
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

Arch = Literal["x86_64", "aarch64"]
Numbers = tuple[int | None, int | None]  # on x86-64, on aarch64; None: there is no such call


def _table(*groups: str) -> Mapping[str, Numbers]:
    """Read entries such as ``dup 32 23``: name, on x86-64, on aarch64; ``-`` means none."""
    entries = (entry.split() for group in groups for entry in group.split(","))
    return MappingProxyType({name: (_digits(x86), _digits(arm)) for name, x86, arm in entries})


def _digits(text: str) -> int | None:
    return None if text == "-" else int(text)


# Safe with any argument: they affect only the worker itself and files that Landlock allows.
UNRESTRICTED: Final[Mapping[str, Numbers]] = _table(
    # the most frequent calls of a model come first, because the filter checks in order
    "futex 202 98, read 0 63, write 1 64, mmap 9 222, munmap 11 215, madvise 28 233",
    "mprotect 10 226",  # with PROT_EXEC: loading an extension module needs it
    "mremap 25 216, brk 12 214",
    # descriptors
    "lseek 8 62, close 3 57, close_range 436 436, readv 19 65, writev 20 66, pread64 17 67",
    "pwrite64 18 68, preadv 295 69, pwritev 296 70, dup 32 23, dup2 33 -, dup3 292 24",
    "poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, fsync 74 82, fdatasync 75 83",
    # no pipe: it advances a counter of the kernel, which a later worker could read
    "ftruncate 77 46",  # not `truncate`, which takes a path: Landlock covers it only since ABI 3
    # files; no link, symlink, mknod, chmod, chown, utime, xattr: Landlock lacks some of them
    "stat 4 -, lstat 6 -, fstat 5 80, newfstatat 262 79, statx 332 291, statfs 137 43",
    "fstatfs 138 44, access 21 -, faccessat 269 48, faccessat2 439 439, readlink 89 -",
    "readlinkat 267 78, getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, mkdir 83 -",
    "mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, rename 82 -, renameat 264 38",
    "renameat2 316 276",
    # threads and the worker's own signals
    "set_robust_list 273 99, rseq 334 293, set_tid_address 218 96, sched_yield 24 124",
    "sched_getaffinity 204 123, getcpu 309 168, rt_sigaction 13 134, rt_sigprocmask 14 135",
    "rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigtimedwait 128 137, rt_sigsuspend 130 133",
    "sigaltstack 131 132, restart_syscall 219 128, pause 34 -, exit 60 93, exit_group 231 94",
    # time
    "clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101",
    "gettimeofday 96 169, time 201 -, times 100 153, getrusage 98 165",
    # process and machine
    "getpid 39 172, gettid 186 178, getppid 110 173, getpgid 121 155, getpgrp 111 -",
    "getsid 124 156, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177",
    "getresuid 118 148, getresgid 120 150, getgroups 115 158, uname 63 160, sysinfo 99 179",
    "getrandom 318 278",
)

# Safe only with some arguments; ``seccomp`` has the rules.
RESTRICTED: Final[Mapping[str, Numbers]] = _table(
    "openat 257 56, fcntl 72 25, ioctl 16 29, clone 56 220, prctl 157 167, arch_prctl 158 -",
    "prlimit64 302 261, tgkill 234 131, kill 62 129",
)

SECCOMP: Final[Mapping[Arch, int]] = MappingProxyType({"x86_64": 317, "aarch64": 277})
CLONE3: Final = 435  # on both architectures, as are the next three
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
NEWEST_KNOWN: Final = 462  # mseal, Linux 6.10; calls newer than this list don't exist for a worker


def machine() -> Arch | None:
    """Return the architecture of this Python; ``None`` if the filter doesn't know it."""
    name = platform.machine().lower()
    # A 32-bit Python on a 64-bit kernel makes calls that the kernel's architecture does not have.
    if ctypes.sizeof(ctypes.c_void_p) != ctypes.sizeof(ctypes.c_uint64):
        return None
    if name in {"x86_64", "amd64"}:
        return "x86_64"
    return "aarch64" if name in {"aarch64", "arm64"} else None


def number(numbers: Numbers, arch: Arch) -> int | None:
    """Return the number of a call on *arch*."""
    return numbers[0 if arch == "x86_64" else 1]


def call(number: int, *arguments: int) -> int:
    """Make system call *number*, passing pointers as addresses; raise ``OSError`` if it fails."""
    return _checked(_libc().syscall(number, *map(ctypes.c_long, arguments)), f"call {number}")


def prctl(option: int, argument: int = 0) -> int:
    """Call ``prctl``; its other arguments must be zero for the options used here."""
    arguments = map(ctypes.c_ulong, (argument, 0, 0, 0))
    return _checked(_libc().prctl(option, *arguments), f"prctl {option}")


def unshare(flags: int) -> None:
    """Move this process into new namespaces; raise ``OSError`` if that fails."""
    _checked(_libc().unshare(flags), "unshare")


def enter_namespace(descriptor: int, kind: int) -> None:
    """Move this process, or its later children, into a namespace; raise ``OSError`` if it fails."""
    _checked(_libc().setns(descriptor, kind), "setns")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system, or change how one is mounted; raise ``OSError`` if that fails."""
    texts = (text.encode() or None for text in (source, target, kind))
    result = _libc().mount(*texts, ctypes.c_ulong(flags), options.encode() or None)
    _checked(result, f"mount {target}")


def _checked(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{os.strerror(error)} ({what})")
    return result


@functools.cache  # found on first use: Windows has no C library under this name
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
