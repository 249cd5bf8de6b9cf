"""Provides a stage as students receive it: one folder without a course around it."""

import copy
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from autograder.cli import app
from autograder.course_file import Limits
from autograder.sandbox.spawned_workers import VARIABLE, SpawnedWorkers, Workers
from autograder.sandbox.supervisor import ForkServer

STAGE = "04_self_attention"

Check = Callable[..., Any]  # a Result, which typer has from click or from itself


@pytest.fixture
def handed_out(tmp_path: Path, pytestconfig: pytest.Config) -> Path:
    """Stage 04 as students receive it, in a separate folder."""
    folder = tmp_path / "downloads" / STAGE
    shutil.copytree(pytestconfig.rootpath / "assignments" / STAGE, folder)
    return folder


@pytest.fixture
def solution(pytestconfig: pytest.Config) -> str:
    """The solution of stage 04."""
    path = pytestconfig.rootpath / "solutions" / STAGE / "self_attention.py"
    return path.read_text("utf-8")


@pytest.fixture(scope="session")
def fork_server() -> Iterator[Workers]:
    """Workers for a learner's own code; AUTOGRADER_WORKERS=spawn tests those without fork."""
    limits = Limits(call_seconds=20.0)
    spawned = os.environ.get(VARIABLE) == "spawn"
    with SpawnedWorkers(limits) if spawned else ForkServer("process", limits) as running:
        running.wait_ready()
        yield running


@pytest.fixture
def check(fork_server: Workers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Check]:
    """Run `autograder check` in a folder, in a terminal of 80 columns without colors."""
    lent = copy.copy(fork_server)
    lent.wait_ready = lambda _user=0: None
    lent.close = lambda: None
    monkeypatch.setattr("autograder.student.check.own_workers", lambda _limits: lent)
    monkeypatch.setenv("COLUMNS", "80")

    def run(folder: Path, *words: object) -> Any:
        monkeypatch.chdir(folder)
        sys.modules.pop("test_public", None)  # of an earlier folder; a student has one per process
        return CliRunner().invoke(app, ["check", *map(str, words)])

    yield run
    sys.modules.pop("test_public", None)
