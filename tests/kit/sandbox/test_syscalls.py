"""Tests direct system calls, and the architectures whose numbers are known."""

import ctypes
import errno
import os
import sys

import pytest

from autograder.sandbox import syscalls

needs_linux = pytest.mark.skipif(
    sys.platform != "linux" or syscalls.machine() is None, reason="needs Linux and known numbers"
)


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        pytest.param("x86_64", "x86_64", id="x86-64"),
        pytest.param("AMD64", "x86_64", id="x86-64-by-its-other-name"),
        pytest.param("aarch64", "aarch64", id="aarch64"),
        pytest.param("arm64", "aarch64", id="aarch64-by-its-other-name"),
        pytest.param("riscv64", None, id="unknown"),
    ],
)
def test_machine_knows_two_architectures(monkeypatch: pytest.MonkeyPatch, name, arch):
    """A machine of an unknown architecture has no system-call numbers."""
    monkeypatch.setattr("platform.machine", lambda: name)

    assert syscalls.machine() == arch


def test_a_32_bit_python_has_no_numbers(monkeypatch: pytest.MonkeyPatch):
    """A 32-bit Python on a 64-bit kernel has no system-call numbers."""
    monkeypatch.setattr(ctypes, "c_void_p", ctypes.c_uint32)

    assert syscalls.machine() is None


def test_a_number_depends_on_the_architecture():
    """The numbers of calls are those of x86-64 or of aarch64."""
    assert syscalls.number((1, 64), "x86_64") == 1
    assert syscalls.number((1, 64), "aarch64") == 64


@needs_linux
def test_a_call_returns_what_the_kernel_returns():
    """`getpid` by its number returns the id of this process."""
    number = syscalls.number(syscalls.UNRESTRICTED["getpid"], syscalls.machine())

    assert syscalls.call(number) == os.getpid()


@needs_linux
def test_a_failed_call_is_an_os_error():
    """A failed call is an ``OSError`` with the name of the call and the error number."""
    number = syscalls.number(syscalls.UNRESTRICTED["close"], syscalls.machine())
    with pytest.raises(OSError, match=f"call {number}") as caught:
        syscalls.call(number, -1)

    assert caught.value.errno == errno.EBADF
