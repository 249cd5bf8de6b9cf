"""Tests that the documents use only options that exist."""

import re
from pathlib import Path

import pytest

from autograder.cli.command_group import SUMMARIES, load_command

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "assignments").glob("*.md")),
]
COMMANDS = {name for summaries in SUMMARIES.values() for name in summaries}
CALL = re.compile(r"(?:autograder |`)([a-z]+(?:-[a-z]+)*)((?: [^`|;\n]*)?)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def unknown_options(text: str) -> list[str]:
    """List the calls of commands in *text* with an option that the command does not have."""
    found = []
    for name, rest in CALL.findall(text):
        if name not in COMMANDS:
            continue
        options = load_command(name).params
        known = {word for item in options for word in (*item.opts, *item.secondary_opts)}
        found += [
            f"{name} {word}" for word in OPTION.findall(rest) if word not in {*known, "--help"}
        ]
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_uses_only_options_that_exist(path: Path):
    """An option that was renamed or removed is also changed in the documents."""
    assert unknown_options(path.read_text("utf-8")) == []


def test_an_unknown_option_is_found():
    """An option is unknown if the command before it lacks it, in a console or in a sentence."""
    text = (
        "autograder verify --stage 01 --quick\nUse `verify --gone` or `autograder grade --jobs 2`."
    )

    assert unknown_options(text) == ["verify --quick", "verify --gone"]
