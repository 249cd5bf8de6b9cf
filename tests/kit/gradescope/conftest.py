"""Lays out folders as Gradescope does."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.gradescope.bundle import build_zip
from tests.kit.factories import LayOut, WriteCourse, lay_out


@pytest.fixture
def without_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the secret to the course's file."""
    monkeypatch.delenv("AUTOGRADER_COURSE_SECRET", raising=False)


@pytest.fixture
def bundled(write_course: WriteCourse, without_secret: None) -> Callable[..., bytes]:  # noqa: ARG001  # requested only for its effect
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
    """Make the process report an ordinary user."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
