"""Tells in a learner's folder how to call the kit in a new terminal, and to install a newer one."""

import os
import re
import sys
from pathlib import Path
from typing import Final

CPU: Final = "https://download.pytorch.org/whl/cpu"
_INSTALL: Final = re.compile(r"^## Install\n.*?(?=^## )", re.MULTILINE | re.DOTALL)


def learners_guide(text: str) -> bytes:
    """Return the guide *text* for a learner's folder: the kit is installed, and the folder made."""
    section = (
        "## In each new terminal\n\n"
        f"{_activation()}\n"
        "This folder is your own: `autograder start` has made it, and updates it without touching "
        "your code.\n"
        "After an update of the kit or the course, run `autograder start` here again.\n"
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
