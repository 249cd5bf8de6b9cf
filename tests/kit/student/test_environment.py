"""Tests the guide in a learner's folder, where the kit is installed already."""

import os
import sys
from pathlib import Path

import pytest

from autograder.authoring.release import guide
from autograder.course import Course
from autograder.student.folder_files import learners_guide

TEXT = "# Start here\n\n## Install\n\npip install x\n\n## Work\n\nGo on.\n"


def test_the_guide_of_a_learners_folder_installs_nothing(monkeypatch: pytest.MonkeyPatch):
    """The part about the installation becomes the command for a new terminal."""
    monkeypatch.setattr(sys, "prefix", str(Path("/home/me/my course/.venv")))
    monkeypatch.setattr(os, "name", "posix")
    text = learners_guide(TEXT).decode()

    assert "pip install x" not in text
    assert '`. "/home/me/my course/.venv/bin/activate"`' in text
    assert text.endswith("## Work\n\nGo on.\n")


def test_a_tool_without_an_active_environment_is_called_as_before(
    monkeypatch: pytest.MonkeyPatch,
):
    """With pipx or uvx there is nothing to activate."""
    monkeypatch.setattr(sys, "prefix", "/home/me/.cache/uv/archive-v0/x7")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)

    assert "in the same way as when you made this folder" in learners_guide(TEXT).decode()


@pytest.mark.parametrize("wheel", ["", "kit-1.0-py3-none-any.whl"])
def test_each_situation_has_a_text_without_placeholders(tiny: Course, wheel: str):
    """A clone, a hand-out and a learner's folder name the CPU builds for all three tools."""
    text = guide(tiny, tiny.stages, wheel).decode()
    own = learners_guide(text).decode()

    for one in (text, own):
        assert "KIT" not in one
        assert "WHEEL" not in one
        assert "https://download.pytorch.org/whl/cpu" in one
        assert all(tool in one for tool in ("pip", "pipx", "uvx"))
    assert ("make setup" in text) is not bool(wheel)
    assert ".venv/bin/activate` first" in text
    assert "## Install" not in own
    assert ("`git pull`" in own) is not bool(wheel)
