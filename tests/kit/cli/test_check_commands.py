"""Tests commands that check a learner's own work."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself


@pytest.mark.slow
def test_check_needs_no_optional_library(
    without_extras, tmp_path: Path, pytestconfig: pytest.Config
):
    """`check` works without the extras, as a student installs the kit."""
    folder = tmp_path / "01_dot_product_attention"
    shutil.copytree(pytestconfig.rootpath / "assignments" / folder.name, folder)
    done = without_extras(folder, "check")

    assert (done.returncode, done.stderr) == (1, "")
    assert "The public suite ran: 0 of" in done.stdout
