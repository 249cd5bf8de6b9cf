"""Compares the modules of a class by compare50, which finds copies with other names and order.

compare50 is a separate program of Harvard's CS50. It parses the files, and runs none of them.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from autograder.course import Stage
from autograder.errors import GraderError, UsageError
from autograder.sanitize import last_lines
from autograder.submission.assemble import Submission

PROGRAM: Final = "compare50"
INSTALL: Final = (
    f"{PROGRAM} is not installed. It needs its own environment: `uv tool install {PROGRAM}` or "
    f"`pipx install {PROGRAM}`. Then run this command again."
)
INDEX: Final = "index.html"
SECONDS: Final = 3600.0  # for a class; four files take a second
_PAIRS: Final = re.compile(r"var GRAPH = (\{.*\});")


class Pair(NamedTuple):
    """Two students with similar code; *score* is 1 to 10, and 10 is the most similar pair."""

    one: str
    other: str
    score: float


def compare(stage: Stage, works: Iterable[Submission], folder: Path) -> list[Pair]:
    """Write the pages of compare50 about *works* for *stage* into *folder*; return its pairs.

    Code that all students receive does not count. Raises ``UsageError`` if compare50 is not
    installed, there are fewer than two modules, or *folder* is not empty.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise UsageError(INSTALL)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        msg = f"{folder} exists and is not an empty folder; name another one with --out."
        raise UsageError(msg)
    with tempfile.TemporaryDirectory() as place:
        files = []
        for number, work in enumerate(one for one in works if one.stage == stage.name and one.code):
            file = Path(place, f"{number} {work.student}".replace("/", "_"), f"{stage.module}.py")
            file.parent.mkdir()
            file.write_bytes(b"\n\n".join(work.code.cells if work.code else ()))
            files.append(file.relative_to(place).as_posix())
        if len(files) < 2:  # noqa: PLR2004  # a pair
            msg = f"There are fewer than two submissions for {stage.name}, so nothing is compared."
            raise UsageError(msg)
        _run(
            [program, *files, "-d", str(stage.stub.absolute()), "-o", str(folder.absolute())], place
        )
    return pairs_of((folder / INDEX).read_text("utf-8", "replace"))


def _run(command: list[str], place: str) -> None:
    """Run compare50 in *place*; raise ``GraderError`` with its last lines if it fails."""
    try:
        done = subprocess.run(  # noqa: S603  # compare50, with files of this function's caller
            command, cwd=place, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        msg = f"{PROGRAM} failed: {error}."
        raise GraderError(msg) from None
    if done.returncode:
        said = last_lines(done.stderr.decode("utf-8", "replace") or "no message")
        msg = f"{PROGRAM} failed with exit code {done.returncode}: {said}"
        raise GraderError(msg)


def pairs_of(page: str) -> list[Pair]:
    """Return the pairs in the index *page* of compare50, the most similar first.

    Raises ``GraderError`` for a page of an unknown form.
    """
    found = _PAIRS.search(page)
    try:
        links = json.loads(found[1] if found else "")["links"]
        pairs = [
            Pair(_student(one["source"]), _student(one["target"]), one["value"]) for one in links
        ]
    except (ValueError, KeyError, TypeError):
        msg = f"This version of {PROGRAM} writes pages of another form; look at {INDEX} itself."
        raise GraderError(msg) from None
    return sorted(pairs, key=lambda pair: (-pair.score, pair.one, pair.other))


def _student(name: str) -> str:
    """Return the student of a folder's name, which begins with a number."""
    return name.partition(" ")[2].partition("/")[0]
