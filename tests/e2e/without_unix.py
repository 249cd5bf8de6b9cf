"""Removes from this process what Windows does not have; run it before importing the kit.

Libraries are imported first, so they see the real system. The kit sees no fork, no Unix signals and
no Unix modules, and the system has the name of Windows.
"""

import os
import signal
import subprocess
import sys
import sysconfig
import types
import zoneinfo  # noqa: F401  # imported while the system is complete

import pytest  # noqa: F401  # imported while the system is complete
import torch  # noqa: F401  # imported while the system is complete
import typer.testing  # noqa: F401  # imported while the system is complete
import watchfiles  # noqa: F401  # imported while the system is complete
from rich import console, progress  # noqa: F401  # imported while the system is complete

NO_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
NO_CALLS = ("fork", "geteuid", "getuid", "sched_getaffinity", "set_blocking", "setsid")
NO_SIGNALS = ("ALRM", "CONT", "HUP", "KILL", "PROF", "USR1", "USR2", "VTALRM", "WINCH")
sysconfig.get_config_vars()  # it looks for a file that is named after the system
keys: list[str] = []  # what the learner is going to type


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.kill(process.pid, 9)


msvcrt = types.ModuleType("msvcrt")
msvcrt.kbhit = lambda: bool(keys)
msvcrt.getwch = lambda: keys.pop(0)
msvcrt.setmode = lambda _descriptor, _mode: None
sys.modules["msvcrt"] = msvcrt
os.O_BINARY = 0
subprocess.Popen.kill = _end
for name in NO_MODULES:
    sys.modules[name] = None
for name in NO_CALLS:
    delattr(os, name)
for name in NO_SIGNALS:
    delattr(signal, f"SIG{name}")
del signal.setitimer, __import__("select").poll, __import__("faulthandler").register
sys.platform = "win32"
