"""Tests dropping privileges: the user of a worker, and the capabilities that it keeps."""

import os
import sys
from pathlib import Path

import pytest

from autograder.sandbox.namespaces import (
    NOBODY,
    drop_privileges,
    set_capabilities,
    unprivileged_owner,
)

STATUS = Path("/proc/self/status")
needs_root = pytest.mark.skipif(unprivileged_owner() is None, reason="needs root")


def test_only_root_changes_to_another_user(monkeypatch):
    """A worker of an ordinary user stays that user."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    assert unprivileged_owner() is None


def test_root_changes_to_nobody(monkeypatch):
    """On Linux, a worker of root becomes the user nobody."""
    monkeypatch.setattr("os.geteuid", lambda: 0)

    assert unprivileged_owner() == (NOBODY if sys.platform == "linux" else None)


@needs_root
def test_root_becomes_nobody_without_capabilities():
    """A process that has dropped its privileges has no user, no group and no capability of root."""
    pid = os.fork()
    if not pid:
        try:
            drop_privileges()
            set_capabilities(0)
            # A codec for text may not be loaded yet, and only root may read Python's files.
            fields = dict(line.split(b":\t", 1) for line in STATUS.read_bytes().splitlines())
            sets = [int(fields[name], 16) for name in (b"CapInh", b"CapPrm", b"CapEff", b"CapAmb")]
            os._exit(int((*os.getresuid(), *os.getresgid()) != (NOBODY,) * 6 or any(sets)))
        finally:
            os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
