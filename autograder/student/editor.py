"""Opens a learner's file at a line in their editor."""

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

MISSING: Final = "No editor was found. Set $EDITOR, or open the file yourself."
GO_TO: Final = ("code", "cursor", "codium", "windsurf")  # VS Code and its relatives
FOUND: Final = (*GO_TO[:3], "nano", "vi")  # the first one that is installed, if none is chosen
IN_TERMINAL: Final = frozenset(
    {"emacs", "helix", "hx", "joe", "kak", "micro", "nano", "nvim", "pico", "vi", "vim"}
)
FILE_AND_LINE: Final = frozenset({"helix", "hx", "subl", "zed"})  # editors that take FILE:LINE
LINE_FIRST: Final = IN_TERMINAL - FILE_AND_LINE | {"emacsclient", "gedit", "gvim"}


def command(environ: Mapping[str, str], file: str, line: int) -> list[str] | None:
    """Return the command that opens *file* at *line*: in $VISUAL, $EDITOR or an installed editor.

    Return None if neither variable is set and no editor of ``FOUND`` is installed. An unknown
    editor opens the file at its beginning.
    """
    installed = (path for name in FOUND if (path := shutil.which(name)))
    chosen = environ.get("VISUAL") or environ.get("EDITOR") or next(installed, "")
    try:
        words = shlex.split(chosen)
    except ValueError:  # an unmatched quotation mark
        words = [chosen]
    if not words:
        return None
    name = _name(words[0])
    if name.removesuffix("-insiders") in GO_TO:
        return [*words, "--goto", f"{file}:{line}"] if line else [*words, file]
    if line and name in FILE_AND_LINE:
        return [*words, f"{file}:{line}"]
    return [*words, *([f"+{line}"] if line and name in LINE_FIRST else []), file]


def needs_terminal(program: str) -> bool:
    """Whether *program* runs in the terminal, so that `watch` must wait until it ends."""
    return _name(program) in IN_TERMINAL


def run(words: Sequence[str], *, waits: bool) -> None:
    """Start the editor with the command *words*; if *waits*, return when it has ended."""
    if waits:
        subprocess.run(words, check=False)  # noqa: S603  # the learner's own editor
        return
    subprocess.Popen(  # noqa: S603  # the learner chose this command
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _name(program: str) -> str:
    return Path(program).stem
