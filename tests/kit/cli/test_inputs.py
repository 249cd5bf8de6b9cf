"""Tests reading the inputs that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Invoke = Callable[..., Any]  # a Result, which typer has from click or from itself


def test_a_column_of_ids_needs_a_roster(invoke: Invoke, module: Path):
    """The message about --id-column without a roster asks for the roster."""
    result = invoke("grade", module, "--id-column", "SIS Login ID")

    assert result.exit_code == 2
    assert "--roster" in result.output


def test_outside_of_a_course_the_message_names_the_option(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Outside of a course, the message names the option --course."""
    monkeypatch.chdir(tmp_path)
    result = invoke("release")

    assert result.exit_code == 2
    assert "--course" in result.output
