"""Tests the system-call filter, run by a small interpreter of classic BPF, and its numbers."""

import errno
import re
import struct
import subprocess
import sys
from itertools import starmap
from pathlib import Path

import pytest

import autograder
from autograder.sandbox import seccomp, syscalls
from autograder.sandbox.seccomp import ALLOW, KILL, REFUSE, UNKNOWN

PID = 4711
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FOREIGN = {"i386": 0x40000003, "arm": 0x40000028, "riscv64": 0xC00000F3}
DIRTY = 0xDEADBEEF << 32  # what a C library may leave in the upper half of a register

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}

FORBIDDEN = set(
    """
    fork vfork execve execveat uselib wait4 waitid setsid setpgid
    socket socketpair connect bind listen accept accept4 sendto sendmsg sendmmsg recvmsg recvfrom
    ptrace process_vm_readv process_vm_writev process_madvise kcmp tkill rt_sigqueueinfo
    rt_tgsigqueueinfo pidfd_open pidfd_getfd pidfd_send_signal
    memfd_create memfd_secret io_uring_setup io_uring_enter io_uring_register io_setup
    keyctl add_key request_key bpf userfaultfd perf_event_open
    mount umount2 pivot_root chroot unshare setns fsopen fsmount move_mount open_tree mount_setattr
    shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semctl
    mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify
    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat
    setxattr lsetxattr fsetxattr removexattr getxattr listxattr flock
    truncate creat open openat2 mknod mknodat link linkat symlink symlinkat
    name_to_handle_at open_by_handle_at fanotify_init inotify_init1 inotify_add_watch
    sched_setaffinity sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set
    setrlimit setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups
    capset personality seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
    mlock mlockall mbind set_mempolicy migrate_pages move_pages swapon swapoff
    init_module finit_module delete_module kexec_load reboot syslog acct quotactl sethostname
    settimeofday clock_settime adjtimex timer_create modify_ldt iopl ioperm vmsplice splice tee
    """.split()  # noqa: SIM905 - a quoted list of this length is harder to read
)


@pytest.fixture(params=["x86_64", "aarch64"])
def arch(request):
    """Each architecture in turn."""
    return request.param


@pytest.fixture
def verdict(arch):
    """Run the filter on a call, given by name or number, and return its action."""
    program = seccomp.program(arch, PID)

    def run(call, *arguments, audit_arch=AUDIT_ARCH[arch]):
        number = call
        if isinstance(call, str):
            number = syscalls.number({**syscalls.UNRESTRICTED, **syscalls.RESTRICTED}[call], arch)
        if number is None:
            pytest.skip(f"{arch} has no {call}")
        return interpret(program, number, audit_arch, arguments)

    return run


def interpret(program, number, audit_arch, arguments=()):
    """Run *program* over one ``struct seccomp_data`` as the kernel does."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    words = [value & 0xFFFFFFFFFFFFFFFF for value in padded]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, audit_arch, 0, *words)
    accumulator, at = 0, 0
    compare = {0x15: int.__eq__, 0x25: int.__gt__, 0x35: int.__ge__}
    while True:
        code, then, otherwise, k = program[at]
        at += 1
        if code == 0x06:
            return k
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, k)[0]
        elif code == 0x54:
            accumulator &= k
        else:
            at += then if compare[code](accumulator, k) else otherwise


def test_allows_exactly_the_numbers_of_the_table(arch, verdict):
    """Among all numbers, known and future, only those of the table are allowed."""
    unrestricted = {syscalls.number(numbers, arch) for numbers in syscalls.UNRESTRICTED.values()}
    restricted = {syscalls.number(numbers, arch) for numbers in syscalls.RESTRICTED.values()}

    allowed = {number for number in range(4096) if verdict(number) == ALLOW}

    assert allowed - restricted == unrestricted - {None}


def test_allows_no_call_that_affects_other_processes():
    """Calls that affect other processes are in neither list."""
    assert not FORBIDDEN & {*syscalls.UNRESTRICTED, *syscalls.RESTRICTED}


def test_refuses_with_a_permission_error(verdict):
    """A known number that is not listed fails with EPERM."""
    assert verdict(syscalls.LANDLOCK_CREATE_RULESET) == REFUSE
    assert REFUSE & 0xFFFF == errno.EPERM


@pytest.mark.parametrize("number", [435, syscalls.NEWEST_KNOWN + 1, 1000])
def test_answers_that_newer_calls_do_not_exist(verdict, number):
    """clone3 and calls newer than the table fail with ENOSYS, so that libc uses older ones."""
    assert verdict(number) == UNKNOWN
    assert UNKNOWN & 0xFFFF == errno.ENOSYS


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_kills_calls_of_a_foreign_architecture(verdict, foreign):
    """Numbers of another architecture are never compared with the table."""
    assert {verdict(number, audit_arch=foreign) for number in range(512)} == {KILL}


@pytest.mark.parametrize("number", [0x40000000, 0x40000000 + 59, 0x40000208, 0xFFFFFFFF])
def test_kills_x32_calls(number):
    """A 32-bit system call on x86-64 ends the process."""
    assert interpret(seccomp.program("x86_64", PID), number, AUDIT_ARCH["x86_64"]) == KILL


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        pytest.param("clone", (0x3D0F00,), id="thread-of-glibc"),
        pytest.param("clone", (0x7D0F00,), id="thread-of-musl"),
        pytest.param("openat", (-100, 0, 0o2000000), id="open-to-read"),
        pytest.param("openat", (-100, 0, 0o2001101), id="open-to-write"),
        pytest.param("openat", (-100, 0, 0o2000102), id="open-to-do-both"),
        pytest.param("fcntl", (3, 1030), id="duplicate"),
        pytest.param("fcntl", (3, DIRTY | 3), id="flags-with-a-dirty-register"),
        pytest.param("ioctl", (1, 0x5401), id="isatty"),
        pytest.param("ioctl", (1, 0xFFFFFFFF802C542A), id="isatty-sign-extended"),
        pytest.param("prctl", (15,), id="name-a-thread"),
        pytest.param("prctl", (0x53564D41, 0), id="name-a-mapping"),
        pytest.param("arch_prctl", (0x1023, 18), id="use-the-matrix-unit"),
        pytest.param("kill", (PID, 6), id="signal-itself"),
        pytest.param("tgkill", (PID, PID + 3, 6), id="signal-its-thread"),
        pytest.param("prlimit64", (0, 7), id="own-limits"),
        pytest.param("prlimit64", (PID, 7), id="own-limits-by-number"),
    ],
)
def test_allows_honest_arguments(verdict, call, arguments):
    """System calls of Python and torch are allowed."""
    assert verdict(call, *arguments) == ALLOW


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        pytest.param("clone", (0x11,), id="fork"),
        pytest.param("clone", (0x01200011,), id="fork-of-glibc"),
        pytest.param("clone", (0x4111,), id="vfork"),
        pytest.param("clone", (0x3D0F00 & ~0x10000,), id="process-that-shares-memory"),
        pytest.param("clone", (0x3D0F00 & ~0x100,), id="thread-without-shared-memory"),
        pytest.param("clone", (0x3D0F00 | 0x10000000,), id="user-namespace"),
        pytest.param("clone", (0x3D0F00 | 0x8000,), id="child-of-the-fork-server"),
        pytest.param("clone", (0x3D0F00 | 0x2000,), id="traced-thread"),
        pytest.param("clone", (0x3D0F00 | 1 << 33,), id="flag-in-the-upper-half"),
        pytest.param("openat", (-100, 0, 0o1000), id="truncate-while-reading"),
        pytest.param("openat", (-100, 0, 0o3), id="open-in-neither-mode"),
        pytest.param("openat", (-100, 0, 0o1003), id="truncate-in-neither-mode"),
        pytest.param("openat", (-100, 0, DIRTY | 0o1000), id="truncate-with-a-dirty-register"),
        pytest.param("fcntl", (3, 8), id="F_SETOWN"),
        pytest.param("fcntl", (3, DIRTY | 8), id="F_SETOWN-with-a-dirty-register"),
        pytest.param("fcntl", (3, 15), id="F_SETOWN_EX"),
        pytest.param("fcntl", (3, 10), id="F_SETSIG"),
        pytest.param("fcntl", (3, 6), id="F_SETLK"),
        pytest.param("fcntl", (3, 37), id="F_OFD_SETLK"),
        pytest.param("fcntl", (3, 1024), id="F_SETLEASE"),
        pytest.param("fcntl", (3, 1026), id="F_NOTIFY"),
        pytest.param("fcntl", (3, 1033), id="F_ADD_SEALS"),
        pytest.param("ioctl", (0, 0x5412), id="TIOCSTI-types-into-the-terminal"),
        pytest.param("ioctl", (0, 0x541C), id="TIOCLINUX"),
        pytest.param("ioctl", (0, 0x40086602), id="FS_IOC_SETFLAGS"),
        pytest.param("ioctl", (0, 0x8901), id="FIOSETOWN"),
        pytest.param("prctl", (1, 0), id="outlive-the-parent"),
        pytest.param("prctl", (4, 1), id="become-dumpable"),
        pytest.param("prctl", (22, 2), id="PR_SET_SECCOMP"),
        pytest.param("prctl", (0x59616D61, -1), id="PR_SET_PTRACER"),
        pytest.param("arch_prctl", (0x1002,), id="ARCH_SET_FS"),
        pytest.param("kill", (PID - 1, 9), id="kill-the-parent"),
        pytest.param("kill", (0, 9), id="kill-the-group"),
        pytest.param("kill", (-1, 9), id="kill-everything"),
        pytest.param("kill", (-PID, 9), id="kill-a-group-by-number"),
        pytest.param("tgkill", (PID - 1, PID - 1, 9), id="kill-a-thread-of-the-parent"),
        pytest.param("prlimit64", (PID - 1, 7), id="limits-of-the-parent"),
    ],
)
def test_refuses_dangerous_arguments(verdict, call, arguments):
    """An allowed system call with dangerous arguments is refused."""
    assert verdict(call, *arguments) == REFUSE


@pytest.mark.parametrize("pid", [1, PID, 2**22])
def test_the_kernel_reads_the_program_of_this_process(arch, pid):
    """The encoded filter is the program with the number of this process in it."""
    code = b"".join(struct.pack("=HBBI", *step) for step in seccomp.program(arch, pid))

    assert seccomp.encoded(arch, pid) == code


def test_jumps_stay_inside_the_program(arch):
    """Every jump ends at an instruction, or the kernel would refuse the filter."""
    program = seccomp.program(arch, PID)

    ends = [at + 1 + max(step.then, step.otherwise) for at, step in enumerate(program)]

    assert max(ends[:-1]) < len(program)
    assert all(max(step.then, step.otherwise) < 256 for step in program)


def test_numbers_are_those_of_the_kernels_headers(arch):
    """The table agrees with the headers of this machine."""
    if not HEADERS[arch].is_file():
        pytest.skip(f"{HEADERS[arch]} is not installed")
    known = read_header(HEADERS[arch])
    table = {**syscalls.UNRESTRICTED, **syscalls.RESTRICTED}

    numbers = {name: syscalls.number(both, arch) for name, both in table.items()}
    numbers |= {"clone3": syscalls.CLONE3, "seccomp": syscalls.SECCOMP[arch]}

    assert numbers == {name: known.get(name) for name in numbers}


def test_forbidden_names_are_real():
    """Every name in the list of calls exists, because a misspelled name would prove nothing."""
    if not all(header.is_file() for header in HEADERS.values()):
        pytest.skip("the kernel's headers are not installed")
    known = {**read_header(HEADERS["x86_64"]), **read_header(HEADERS["aarch64"])}

    newer = {"fchmodat2", "memfd_secret", "process_madvise", "mount_setattr"}

    assert FORBIDDEN - newer <= set(known)


def read_header(path):
    """Read ``#define __NR_name number``; the generic header defines some through __NR3264_name."""
    text = path.read_text("utf-8")
    shared = re.findall(r"#define __NR3264_(\w+)\s+(\d+)", text)
    direct = re.findall(r"#define __NR_(\w+)\s+(\d+)", text)
    indirect = re.findall(r"#define __NR_(\w+) __NR3264_(\w+)", text)
    numbers = dict(shared)
    numbers |= {name: numbers[other] for name, other in indirect if other in numbers}
    return dict(starmap(lambda name, number: (name, int(number)), [*numbers.items(), *direct]))


def test_is_not_available_off_linux(monkeypatch):
    """On other systems seccomp is not available, and there is no error."""
    monkeypatch.setattr(sys, "platform", "darwin")

    assert not seccomp.available()


def test_is_not_available_on_an_unknown_machine(monkeypatch):
    """On an architecture with unknown call numbers, seccomp is not available."""
    monkeypatch.setattr("platform.machine", lambda: "riscv64")

    assert not seccomp.available()


@pytest.mark.skipif(not seccomp.available(), reason="this system allows no filter")
def test_the_kernel_accepts_the_program():
    """After loading it, Python continues and a fork is refused."""
    script = (
        "import os\n"
        "from autograder.sandbox import seccomp, syscalls\n"
        "syscalls.prctl(38, 1)\n"
        "seccomp.load(seccomp.encoded(syscalls.machine(), os.getpid()))\n"
        "try: os.fork()\n"
        "except PermissionError: print('refused')\n"
    )
    root = Path(autograder.__file__).parents[1]

    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False
    )

    assert done.stdout == "refused\n", done.stderr
