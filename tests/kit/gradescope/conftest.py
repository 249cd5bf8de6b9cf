"""Folders laid out as Gradescope does, in a place of our own."""

import io
import json
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.gradescope.build import gradescope
from tests.kit.conftest import WriteCourse

LayOut = Callable[..., Path]
METADATA = {"id": 7, "users": [{"id": 1234, "name": "Ada", "email": "ada@example.org"}]}


def unpack(content: bytes, folder: Path) -> None:
    """Unpack a bundle as `unzip` does: with the permissions that stand in it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
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
def bundled(write_course: WriteCourse, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Bundle the tiny course."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)

    def bundle(stages: tuple[str, ...] = ("01_tiny",), **options: str) -> bytes:
        known = set(sys.modules)
        content = gradescope(write_course(stages=stages), **options).content
        for name in set(sys.modules) - known:  # the bundle's suites bear the names of the course's
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
def nobody_is_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as an ordinary user, as far as anybody asks."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
