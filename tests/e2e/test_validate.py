"""Tests `nbgrader validate` on a lab, as students run it from a terminal."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAGE = "04_self_attention"
EXERCISES = ("SelfAttentionV1", "SelfAttention_v1", "SelfAttention_v2", "transfer_weights")


@pytest.fixture
def validated(tmp_path: Path) -> tuple[str, str]:
    """The output of `nbgrader validate` for the stub, and for the solution with answers."""
    folders = [tmp_path / name / STAGE for name in ("stub", "solved")]
    for folder in folders:
        shutil.copytree(ROOT / "assignments" / STAGE, folder)
    shutil.copy(ROOT / "solutions" / STAGE / "self_attention.py", folders[1])
    answer(folders[1] / "lab.ipynb")
    both = [validate(folder, tmp_path) for folder in folders]  # at the same time
    stub, done = (process.communicate()[0] for process in both)
    return stub, done


def validate(folder: Path, home: Path) -> "subprocess.Popen[str]":
    """Start `nbgrader validate` in *folder*, as from a terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "nbgrader", "validate", "lab.ipynb"],
        cwd=folder,
        env=os.environ | {"IPYTHONDIR": str(home / f"ipython_{folder.parent.name}")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def answer(path: Path) -> None:
    """Answer the written questions in the lab at *path*."""
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["source"] = "Registered parameters are saved and moved."
    path.write_text(json.dumps(notebook), "utf-8")


@pytest.mark.slow
def test_nbgrader_validates_a_lab(validated: tuple[str, str]):
    """Missing code is reported without a traceback; right code passes without a warning."""
    stub, done = validated

    assert stub.count("The following cell failed:") == len(EXERCISES) + 2  # and two answers
    for name in EXERCISES:
        assert f"The error was:\n\n    · {name}: not written yet.\n" in stub
    assert "Traceback" not in stub
    assert "Success! Your notebook passes all the tests." in done
    assert "Cell output" not in done
