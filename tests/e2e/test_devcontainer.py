"""Tests the set-up of the container for Codespaces and VS Code, without a container."""

import json
import re
import shutil
from pathlib import Path

import pytest

from autograder.authoring.new_course import with_stages
from tests.kit.commands import run, run_process

ROOT = Path(__file__).parents[2]
STAGE = "00_start_here"
CONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))


def test_the_image_has_the_python_of_the_constraints():
    """The image is pinned to the Python version of the Dockerfile and constraints.txt."""
    python = re.search(r"^FROM python:(3\.\d+)-", (ROOT / "Dockerfile").read_text(), re.MULTILINE)

    assert python is not None
    assert re.search(rf":\d+-{re.escape(python[1])}-\w+$", CONTAINER["image"])


@pytest.mark.slow
def test_the_test_explorer_finds_the_public_suites(tmp_path: Path):
    """After the container's commands, pytest with its settings runs the public suites."""
    course = with_stages((ROOT / "course.toml").read_text("utf-8"), [STAGE])
    (tmp_path / "course.toml").write_text(course, "utf-8")
    for parent in ("source", "assignments"):
        shutil.copytree(ROOT / parent / STAGE, tmp_path / parent / STAGE)
    run(tmp_path, *CONTAINER["postCreateCommand"].removeprefix(".venv/bin/").split())
    settings = CONTAINER["customizations"]["vscode"]["settings"]
    arguments = " ".join(settings["python.testing.pytestArgs"])
    listed = run_process(tmp_path, f"pytest --rootdir . --collect-only -q {arguments}")
    ended = run_process(tmp_path, f"pytest --rootdir . -q {arguments}")

    assert listed.code == 0, listed.output
    assert f"my-work/{STAGE}/test_public.py::" in listed.output
    assert ended.code == 1, ended.output
    assert "· mix  not written yet" in ended.output
