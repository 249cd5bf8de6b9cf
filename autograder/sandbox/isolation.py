"""Detects the isolation that this machine supports, and chooses one of two levels.

``full`` needs Linux: Landlock, a system-call filter, limits and an unprivileged user. ``process``
works everywhere and guards against accidents only: it sets the limits that the system has.
"""

import os
import platform
import site
import stat
import sys
import sysconfig
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from autograder.course import SOLUTIONS_PACKAGE
from autograder.course_file import Isolation
from autograder.errors import SandboxError
from autograder.sandbox import landlock, seccomp, syscalls
from autograder.sandbox.namespaces import is_root

LESS_ISOLATION = (
    "To grade with less isolation, use --isolation process, or write "
    '`isolation = "process"` below [grading] in course.toml.'
)
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
    "Other people's code is graded on Linux and macOS, and this is Windows: use WSL or Docker."
)
MACOS: Final = "Landlock and seccomp need Linux; this is macOS, where only `process` is available."

_SAMPLE: Final = ("os", "msgspec", "torch")  # modules whose files stand for all files of Python


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The isolation that this machine supports; *reason* is the sentence for ``doctor``."""

    level: Isolation
    reason: str
    platform: str
    architecture: str


def detect_capabilities() -> Capabilities:
    """Detect the isolation that this machine supports, with the reason."""
    abi = landlock.abi_version()
    missing = missing_feature(abi) or _closed_reason()
    return Capabilities(
        level="process" if missing else "full",
        reason=missing or f"Landlock (ABI {abi}) and the system-call filter work here.",
        platform=platform.system(),
        architecture=platform.machine(),
    )


class Readable(NamedTuple):
    """The *paths* that a worker may read, and the folders whose names alone it may *list*."""

    paths: tuple[str, ...]
    listed: tuple[str, ...] = ()


def readable() -> Readable:
    """Return ``readable_roots`` without the installed wheel of solutions."""
    roots = readable_roots()
    found = (Path(root, SOLUTIONS_PACKAGE) for root in (*roots, *sys.path) if root)
    secrets = {folder.resolve() for folder in found if folder.exists()}
    parts = [_without(Path(root), secrets) for root in roots]
    paths, listed = ([one for part in parts for one in part[kind]] for kind in (0, 1))
    return Readable(tuple(dict.fromkeys(paths)), tuple(dict.fromkeys(listed)))


def _without(top: Path, secrets: Collection[Path]) -> Readable:
    """Divide the folder *top* if one of the *secrets* is in it."""
    inside = top.resolve()
    if inside in secrets:
        return Readable(())
    if not any(inside in secret.parents for secret in secrets):
        return Readable((str(top),))
    parts = [_without(entry, secrets) for entry in sorted(top.iterdir())]
    paths, listed = ([one for part in parts for one in part[kind]] for kind in (0, 1))
    return Readable(tuple(paths), (str(top), *listed))


def readable_roots() -> tuple[str, ...]:
    """List the paths that Python and torch read: libraries and time zones, not the course.

    They come from the interpreter, because ``sys.path`` contains the course's folder after an
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
            raise SandboxError(
                f"{secret} is inside {root}, which student code must be able to read. "
                "Move the course out of Python's own folders."
            )


def require_workers() -> None:
    """Raise ``SandboxError`` if this system has no `fork` to grade other people's code."""
    if sys.platform == "win32":
        raise SandboxError(WINDOWS)
    if not hasattr(os, "fork"):
        raise SandboxError("This system has no fork, so it can't grade other people's code.")


def missing_feature(abi: int) -> str:
    """Return why this machine can't give full isolation; empty if it can."""
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


def _closed_path() -> str:
    roots = [Path(root).resolve() for root in readable_roots()]
    loaded = (getattr(sys.modules.get(name), "__file__", None) for name in _SAMPLE)
    for path in (*roots, *(Path(file).resolve() for file in filter(None, loaded))):
        root = next((root for root in roots if path.is_relative_to(root)), path)
        inside = [above for above in path.parents if above.is_relative_to(root)]
        if not allows_others(path, stat.S_IROTH) or not all(
            allows_others(folder, stat.S_IXOTH) for folder in inside
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


def allows_others(path: Path, right: int) -> bool:
    """Whether users who don't own *path* have *right* to it; True if there is no such file."""
    try:
        return bool(path.stat().st_mode & right)
    except OSError:
        return True  # a missing file refuses nobody


def choose_isolation(
    asked: str | None, secret: Path | None = None, hint: str = LESS_ISOLATION
) -> Isolation:
    """Return the isolation *asked* for, by default ``full``, and never a lower level.

    *secret* is a folder that a confined worker must not be able to read. Raises ``SandboxError`` if
    this machine can't give the isolation; *hint* explains how to request less.
    """
    require_workers()
    if asked == "process":
        return "process"
    capabilities = detect_capabilities()
    if capabilities.level != "full":
        raise SandboxError(f"Full isolation is not available here: {capabilities.reason} {hint}")
    if secret is not None:
        check_roots(readable_roots(), secret)
    return "full"
