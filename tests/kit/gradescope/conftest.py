"""Folders laid out as Gradescope lays them out."""

import io
import json
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.gradescope.build import build_zip
from tests.kit.conftest import WriteCourse

LayOut = Callable[..., Path]
METADATA = {"id": 7, "users": [{"id": 1234, "name": "Ada", "email": "ada@example.org"}]}


def opened(content: bytes) -> zipfile.ZipFile:
    """Open a bundle for reading."""
    return zipfile.ZipFile(io.BytesIO(content))


def unpack(content: bytes, folder: Path) -> None:
    """Unpack a bundle as `unzip` does: with its permissions."""
    with opened(content) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, folder))
            path.chmod(entry.external_attr >> 16 & 0o777)


def lay_out(root: Path, content: bytes, files: dict[str, bytes]) -> Path:
    """Lay out *root* as the harness does for a student who handed in *files*."""
    unpack(content, root / "source")
    (root / "results").mkdir()
    for name, text in files.items():
        path = root / "submission" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    (root / "submission").mkdir(exist_ok=True)
    (root / "submission_metadata.json").write_text(json.dumps(METADATA))
    return root


@pytest.fixture
def without_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the secret to the course's file."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)


@pytest.fixture
def bundled(write_course: WriteCourse, without_secret: None) -> Callable[..., bytes]:  # noqa: ARG001  # only its effect
    """Bundle the tiny course."""

    def bundle(stages: tuple[str, ...] = ("01_tiny",), **options: str) -> bytes:
        known = set(sys.modules)
        content = build_zip(write_course(stages=stages), **options).content
        for name in set(sys.modules) - known:  # the bundle's suites have the course's names
            if name.startswith("tests.hidden"):
                del sys.modules[name]
        return content

    return bundle


@pytest.fixture
def laid_out(tmp_path: Path, bundled: Callable[..., bytes]) -> LayOut:
    """Lay out a container for the tiny course."""

    def lay(
        files: dict[str, bytes], stages: tuple[str, ...] = ("01_tiny",), **options: str
    ) -> Path:
        return lay_out(tmp_path / "autograder", bundled(stages, **options), files)

    return lay


@pytest.fixture
def without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report the process's user as an ordinary one."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
