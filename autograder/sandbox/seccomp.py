"""Filters system calls with a classic BPF program that allows listed calls only.

The kit has its own filter because slim containers have no libseccomp. A refused call fails with
EPERM, so that Python raises ``PermissionError`` and the student gets a message.
"""

import ctypes
import errno
import functools
import struct
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from autograder.sandbox import syscalls
from autograder.sandbox.syscalls import Arch

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000  # the whole process: SECCOMP_RET_KILL_PROCESS
_ERRNO: Final = 0x00050000
REFUSE: Final = _ERRNO | errno.EPERM
UNKNOWN: Final = _ERRNO | errno.ENOSYS  # "no such call", so that the C library uses an older call

_AUDIT_X86_64, _AUDIT_AARCH64 = 0xC000003E, 0xC00000B7
_X32: Final = 0x40000000  # from here on, x86-64 numbers are the 32-bit calls of x32

_LOAD, _AND, _EQUAL, _ABOVE, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16  # offsets in struct seccomp_data

_INSTRUCTION: Final = struct.Struct("=HBBI")  # struct sock_filter; the last part is the constant
_CONSTANT: Final = struct.Struct("=I")
_ANY_PID: Final = 0x7FFFFFFF  # a placeholder for a process number that no process or rule uses

_SET_FILTER, _ASK_ACTION, _ALL_THREADS, _NO_SLOWDOWN = 1, 2, 1, 4


class Instruction(NamedTuple):
    """One ``struct sock_filter``: code, jump if true, jump if false, constant."""

    code: int
    then: int
    otherwise: int
    k: int


class ArgumentRule(NamedTuple):
    """Allows a call if its argument *position*, masked, is one of *values*.

    The kernel reads most arguments as 32 bits and ignores the upper half of the register, in which
    the C library may leave arbitrary bits. The upper half of a *wide* argument must be zero.
    """

    position: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    wide: bool = False


# A thread of this process, as glibc and musl start it: VM FS FILES SIGHAND THREAD ...
_THREAD: Final = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000
# ... and any of SYSVSEM SETTLS PARENT_SETTID CHILD_CLEARTID DETACHED CHILD_SETTID.
_THREAD_MAY: Final = 0x40000 | 0x80000 | 0x100000 | 0x200000 | 0x400000 | 0x1000000

# Landlock checks the mode in which a file is opened. Mode 3 is neither reading nor writing, and
# O_RDONLY | O_TRUNC empties a file before ABI 3. Python opens no file in these two ways.
_MODE, _TRUNC = 0o3, 0o1000
_OPEN: Final = (0, 1, 2, 1 | _TRUNC, 2 | _TRUNC)

_NAMES: Final = (15, 16, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA (names of mappings)
_AMX: Final = (0x1021, 0x1022, 0x1023)  # ARCH_*_XCOMP_*: oneDNN asks for the matrix unit
_DESCRIPTORS: Final = (0, 1, 2, 3, 4, 1030)  # F_DUPFD, F_[GS]ETFD, F_[GS]ETFL, F_DUPFD_CLOEXEC
# TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONCLEX, FIOCLEX: for open() and isatty()
_TERMINAL: Final = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5450, 0x5451)


def available() -> bool:
    """Return whether ``load`` can work here."""
    arch = syscalls.machine()
    if sys.platform != "linux" or arch is None:
        return False
    action = ctypes.c_uint32(KILL)
    try:
        syscalls.call(syscalls.SECCOMP[arch], _ASK_ACTION, 0, ctypes.addressof(action))
    except OSError:
        return False
    return True


def program(arch: Arch, pid: int) -> list[Instruction]:
    """Build the filter for process *pid*, which may signal and limit only itself."""
    audit = _AUDIT_X86_64 if arch == "x86_64" else _AUDIT_AARCH64
    code = [_load(_ARCH_AT), Instruction(_EQUAL, 1, 0, audit), _return(KILL), _load(_NUMBER_AT)]
    if arch == "x86_64":
        code += [Instruction(_AT_LEAST, 0, 1, _X32), _return(KILL)]
    for name, rule in _argument_rules(pid).items():
        code += _case(syscalls.number(syscalls.RESTRICTED[name], arch), _check_argument(rule))
    for numbers in syscalls.UNRESTRICTED.values():
        code += _case(syscalls.number(numbers, arch), [_return(ALLOW)])
    # The flags of clone3 are behind a pointer; without it glibc uses clone, which has a rule.
    code += _case(syscalls.CLONE3, [_return(UNKNOWN)])
    code += [Instruction(_ABOVE, 0, 1, syscalls.NEWEST_KNOWN), _return(UNKNOWN)]
    return [*code, _return(REFUSE)]


def encoded(arch: Arch, pid: int) -> bytes:
    """Return ``program(arch, pid)`` as the kernel reads it."""
    template, places = _template(arch)
    code = bytearray(template)
    for place in places:
        _CONSTANT.pack_into(code, place, pid)
    return bytes(code)


def load(code: bytes) -> None:
    """Apply the filter to this process irreversibly; needs no_new_privs, raises ``OSError``."""
    arch = syscalls.machine()
    if arch is None:
        raise OSError(errno.ENOSYS, "no filter for this architecture")
    code_buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // _INSTRUCTION.size, ctypes.addressof(code_buffer))
    header_buffer = ctypes.create_string_buffer(header, len(header))
    # Without _NO_SLOWDOWN, kernels before 5.16 enable mitigations that make this process slow. It
    # does not need them, because it has no secrets.
    flags = _ALL_THREADS | _NO_SLOWDOWN
    header_address = ctypes.addressof(header_buffer)
    if syscalls.call(syscalls.SECCOMP[arch], _SET_FILTER, flags, header_address):
        raise OSError(errno.EBUSY, "a thread of this process has its own filter")


@functools.cache  # once for all forks, because it is slow
def _template(arch: Arch) -> tuple[bytes, tuple[int, ...]]:
    """Return the filter for process ``_ANY_PID``, and the positions of this number in it."""
    instructions = program(arch, _ANY_PID)
    after_codes = _INSTRUCTION.size - _CONSTANT.size
    places = tuple(
        index * _INSTRUCTION.size + after_codes
        for index, instruction in enumerate(instructions)
        if instruction.k == _ANY_PID
    )
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in instructions), places


def _argument_rules(pid: int) -> dict[str, ArgumentRule]:
    return {
        "openat": ArgumentRule(2, _OPEN, mask=_MODE | _TRUNC),
        "fcntl": ArgumentRule(1, _DESCRIPTORS),
        "ioctl": ArgumentRule(1, _TERMINAL),
        "clone": ArgumentRule(0, (_THREAD,), mask=0xFFFFFFFF & ~_THREAD_MAY, wide=True),
        "prctl": ArgumentRule(0, _NAMES),
        "arch_prctl": ArgumentRule(0, _AMX),
        "prlimit64": ArgumentRule(0, (0, pid)),
        "tgkill": ArgumentRule(0, (pid,)),
        "kill": ArgumentRule(0, (pid,)),
    }


def _case(number: int | None, body: Sequence[Instruction]) -> list[Instruction]:
    return [] if number is None else [Instruction(_EQUAL, 0, len(body), number), *body]


def _check_argument(rule: ArgumentRule) -> list[Instruction]:
    low = _ARGUMENTS_AT + 8 * rule.position  # both architectures are little-endian
    code = []
    if rule.wide:
        code += [_load(low + 4), Instruction(_EQUAL, 1, 0, 0), _return(REFUSE)]
    code += [_load(low), Instruction(_AND, 0, 0, rule.mask)]
    for value in rule.values:
        code += [Instruction(_EQUAL, 0, 1, value), _return(ALLOW)]
    return [*code, _return(REFUSE)]


def _load(offset: int) -> Instruction:
    return Instruction(_LOAD, 0, 0, offset)


def _return(action: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, action)
