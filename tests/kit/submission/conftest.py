"""Provides a course of two stages, and builders of submissions for it."""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from autograder import course
from autograder.course import Stage
from autograder.submission import Submission, collect

STUB = b"def attend(x):\n    raise NotImplementedError\n"
SOLVED = b"def attend(x):\n    return x\n"
LINK = "is a link or a special file and was not opened. Submit the file itself."

COURSE = """
format_version = 1
id = "tiny"
title = "Tiny"
stages = ["01_averaging", "02_self_attention"]
"""

STAGE = """
format_version = 1
title = "Title"
goal = "Goal"
module = "{module}"
[[exercise]]
name = "attend"
hints = ["a", "b", "c"]
"""

Collected = Callable[..., list[Submission]]
Write = Callable[..., Path]


@pytest.fixture
def stages(tmp_path: Path) -> tuple[Stage, ...]:
    """01_averaging (averaging.py) and 02_self_attention (self_attention.py), stubs built."""
    root = tmp_path / "course"
    for name, module in (("01_averaging", "averaging"), ("02_self_attention", "self_attention")):
        source = root / "source" / name
        source.mkdir(parents=True)
        (source / "stage.toml").write_text(STAGE.format(module=module))
        released = root / "assignments" / name
        released.mkdir(parents=True)
        (released / f"{module}.py").write_bytes(STUB)
    (root / "course.toml").write_text(COURSE)
    return course.load(root).stages


@pytest.fixture
def attention(stages: tuple[Stage, ...]) -> Stage:
    """Stage 02_self_attention."""
    return stages[1]


@pytest.fixture
def collected(stages: tuple[Stage, ...]) -> Collected:
    """Collect the submissions at a path as a list."""

    def collect_all(path: Path, only: Stage | None = None) -> list[Submission]:
        return list(collect(path, stages, only))

    return collect_all


@pytest.fixture
def class_(tmp_path: Path) -> Path:
    """An empty folder for what a class submits."""
    folder = tmp_path / "class"
    folder.mkdir()
    return folder


@pytest.fixture
def write(class_: Path) -> Write:
    """Write a file below the class's folder."""

    def write_file(name: str, data: bytes = SOLVED) -> Path:
        path = class_ / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return write_file


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file outside the class that no submission may read."""
    path = tmp_path / "solution" / "self_attention.py"
    path.parent.mkdir()
    path.write_bytes(b"the solution")
    return path


@pytest.fixture
def write_zip(class_: Path) -> Write:
    """Write a zip into the class's folder; members by name, or by a ready-made ZipInfo."""

    def write_archive(name: str, members: Mapping[str | zipfile.ZipInfo, bytes]) -> Path:
        path = class_ / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in members.items():
                archive.writestr(member, data)
        return path

    return write_archive


@pytest.fixture
def notebook() -> Callable[..., bytes]:
    """Make a notebook (nbformat 4) of code cells."""

    def make(*sources: str) -> bytes:
        cells = [{"cell_type": "code", "source": source} for source in sources]
        return json.dumps({"nbformat": 4, "cells": cells}).encode()

    return make
