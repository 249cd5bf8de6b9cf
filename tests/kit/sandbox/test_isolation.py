"""Tests the levels of isolation, and the files that a worker may read."""

import os
import sys
from pathlib import Path

import msgspec
import pytest

import autograder
from autograder.course_file import Limits
from autograder.errors import SandboxError
from autograder.sandbox import isolation
from autograder.sandbox.isolation import (
    check_roots,
    choose_isolation,
    detect_capabilities,
    readable_roots,
)
from autograder.sandbox.protocol import ListValue
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer

needs_full = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)


@needs_full
def test_refuses_a_python_that_only_root_may_read(monkeypatch, tmp_path):
    """A Python that only root may read is refused with the folder and what to do."""
    (tmp_path / "packages").mkdir(mode=0o700)
    monkeypatch.setattr(isolation, "readable_roots", lambda: (str(tmp_path / "packages"),))
    monkeypatch.setattr(isolation, "is_root", lambda: True)
    found = detect_capabilities()

    assert found.level == "process"
    assert f"chmod -R o+rX {tmp_path / 'packages'}" in found.reason


@pytest.mark.parametrize(
    ("platform", "machine", "reason"),
    [
        pytest.param("darwin", "arm64", "this is macOS, where only `process`", id="macos"),
        pytest.param("win32", "AMD64", "use WSL", id="windows"),
        pytest.param("linux", "riscv64", "not riscv64", id="unknown-machine"),
    ],
)
def test_the_reason_says_what_is_missing(monkeypatch, platform, machine, reason):
    """The reason for a lower level names the missing part, as `doctor` shows."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("platform.machine", lambda: machine)

    found = detect_capabilities()

    assert found.level == "process"
    assert reason in found.reason


def test_roots_hold_python_and_not_the_course():
    """A worker may read Python's own folders, but not the home, /etc or the course."""
    roots = {Path(root) for root in readable_roots()}

    assert any(Path(os.__file__).is_relative_to(root) for root in roots)
    assert all(root.exists() for root in roots)
    assert not roots & {Path("/"), Path("/proc"), Path("/etc"), Path("/usr"), Path.home()}
    check_roots(map(str, roots), Path(autograder.__file__).parents[1])


@pytest.mark.parametrize("secret", [".", "course", "course/tests/hidden"])
def test_roots_must_not_hold_the_course(tmp_path, secret):
    """A root at or above the course is refused, even if it is a symbolic link."""
    (tmp_path / "lib" / "course" / "tests" / "hidden").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "lib")

    for root in ("lib", "link"):
        with pytest.raises(SandboxError, match="Move the course"):
            check_roots([str(tmp_path / root)], tmp_path / "lib" / secret)


def test_roots_may_lie_inside_the_course(tmp_path):
    """A .venv in the course's folder grants the .venv only."""
    check_roots([str(tmp_path / ".venv" / "lib")], tmp_path)


def test_installed_solutions_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A worker may read everything else in folders that hold the wheel of solutions."""
    packages = tmp_path / "lib" / "site-packages"
    for name in ("torch", isolation.SOLUTIONS_PACKAGE):
        (packages / name).mkdir(parents=True)
    (tmp_path / "lib" / "os.py").touch()
    roots = tuple(map(str, (tmp_path / "lib", packages)))
    monkeypatch.setattr(isolation, "readable_roots", lambda: roots)
    found = isolation.readable()

    assert sorted(found.paths) == sorted(map(str, (packages / "torch", tmp_path / "lib" / "os.py")))
    assert sorted(found.listed) == sorted(roots)


@pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason)
def test_a_worker_imports_packages_next_to_installed_solutions(monkeypatch: pytest.MonkeyPatch):
    """A worker can't read the wheel of solutions, and imports any other package."""
    monkeypatch.setattr(isolation, "SOLUTIONS_PACKAGE", "typer")  # any package that no worker needs
    code = b"""import os, cmd, pytest
def read(name):  # `pytest` was found in the folder of all packages, which may be below a closed one
    return open(os.path.join(os.path.dirname(os.path.dirname(pytest.__file__)), *name)).read(1)
"""
    with ForkServer("full", Limits()) as fork_server:
        fork_server.wait_ready()
        session = Session(fork_server, "tiny", (code,), notebook=False)
        session.open()
        names = ("typer", "__init__.py"), ("rich", "__init__.py")
        replies = [
            session.ask("call", name="read", args=(ListValue(items=name),)) for name in names
        ]
        session.close()

    assert session.problems == ()
    assert [reply.problem and reply.problem.type for reply in replies] == ["PermissionError", None]


def test_a_machine_without_full_isolation_needs_the_flag(monkeypatch: pytest.MonkeyPatch):
    """By default nothing less than full isolation is used; the message names the flag."""
    weak = msgspec.structs.replace(detect_capabilities(), level="process", reason="No Landlock.")
    monkeypatch.setattr("autograder.sandbox.isolation.detect_capabilities", lambda: weak)

    assert choose_isolation("process") == "process"
    for asked in (None, "full"):
        with pytest.raises(
            SandboxError, match=r"No Landlock\. .*--isolation process.*course\.toml"
        ):
            choose_isolation(asked)
    with pytest.raises(SandboxError, match=r"No Landlock\. Ask the owner\."):
        choose_isolation("full", hint="Ask the owner.")


@pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason)
def test_full_isolation_refuses_a_secret_among_the_readable_folders():
    """A course inside Python's own folders is refused, because a worker could read it."""
    assert choose_isolation(None) == "full"
    with pytest.raises(SandboxError, match="Move the course"):
        choose_isolation(None, Path(os.__file__).parent)
