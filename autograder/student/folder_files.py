"""Makes the files of a learner's folder that belong to no stage: guide, settings, and a memory.

The memory holds the course from which the folder was made, and what `start` has not copied. It may
be deleted, edited or damaged: then nothing is remembered.
"""

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from autograder.disk import replace_file

FILE: Final = "course.json"  # the memory
CPU: Final = "https://download.pytorch.org/whl/cpu"
_AFTER_AN_UPDATE: Final = (
    "After an update of the kit or the course, run `autograder start` here again."
)
_AFTER_A_PULL: Final = (
    "After `git pull` in the clone, run `make setup` there, and `autograder start` here again."
)
_INSTALL: Final = re.compile(r"^## Install\n.*?(?=^## )", re.MULTILINE | re.DOTALL)


def learners_guide(text: str) -> bytes:
    """Return the guide *text* for a learner's folder: the kit is installed, and the folder made."""
    section = (
        "## In each new terminal\n\n"
        f"{_activation()}\n"
        "This folder is your own: `autograder start` has made it, and updates it without touching "
        "your code.\n"
        f"{_AFTER_A_PULL if 'make setup' in text else _AFTER_AN_UPDATE}\n"
        "A newer wheel is installed as the first one was, with the builds of torch that need no "
        f"GPU: with pip by `--extra-index-url {CPU}`, with pipx by "
        f'`--pip-args="--extra-index-url {CPU}"`, and with uvx by `--index {CPU} '
        "--index-strategy unsafe-best-match`.\n\n"
    )
    return _INSTALL.sub(lambda _: section, text, count=1).encode()


def _activation() -> str:
    """Return the sentence about the environment that runs this command."""
    prefix = Path(sys.prefix)
    if os.environ.get("VIRTUAL_ENV") != str(prefix) and prefix.name not in {".venv", "venv"}:
        return "Call `autograder` in the same way as when you made this folder."
    is_windows = os.name == "nt"
    activate = str(prefix / ("Scripts" if is_windows else "bin") / "activate")
    quoted = f'"{activate}"' if " " in activate else activate
    command = quoted if is_windows else f". {quoted}"
    return f"Run `{command}` first, which makes `autograder` known."


def vscode_files(python: str) -> dict[Path, str]:
    """Return the settings of VS Code and its relatives, by their paths in a learner's folder.

    The test explorer runs the public suites with the interpreter *python*. Folders with copies of
    stages are left out.
    """
    ignored = ("hunt", "copies", ".originals")
    settings = {
        "python.defaultInterpreterPath": python,
        "python.testing.pytestEnabled": True,
        "python.testing.unittestEnabled": False,
        "python.testing.pytestArgs": [".", *(f"--ignore={folder}" for folder in ignored)],
    }
    recommended = {"recommendations": ["ms-python.python", "ms-toolsai.jupyter"]}
    folder = Path(".vscode")
    return {
        folder / "settings.json": f"{json.dumps(settings, indent=4)}\n",
        folder / "extensions.json": f"{json.dumps(recommended, indent=4)}\n",
    }


def remember(folder: Path, course: Path) -> None:
    """Note in *folder* that its files come from *course*."""
    _write(folder, {"course": str(course)})


def remembered(folder: Path) -> Path | None:
    """Return the course of *folder*; None if it is unknown or no longer there."""
    course = _read(folder).get("course")
    return Path(course) if course and Path(course).is_dir() else None


def is_news(folder: Path, newer: Iterable[Path]) -> bool:
    """Whether the files *newer* differ from those of the last call, which is noted."""
    total = hashlib.sha256()
    for file in newer:
        total.update(f"\n{file}:".encode() + file.read_bytes())
    found = _read(folder)
    told, found["told"] = found.get("told"), total.hexdigest()
    if told == found["told"]:
        return False
    with contextlib.suppress(OSError):  # a folder that can't be written hears it again
        _write(folder, found)
    return True


def _read(folder: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / FILE).read_bytes())
        if isinstance(found, dict):
            return {key: value for key, value in found.items() if isinstance(value, str)}
    return {}


def _write(folder: Path, found: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / FILE, f"{json.dumps(found, indent=2)}\n".encode())
