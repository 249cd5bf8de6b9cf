"""Compares the modules of a class by compare50, which finds copies with other names and order.

compare50 is a separate program of Harvard's CS50. It parses the files, and runs none of them.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from autograder.course import Stage
from autograder.errors import GraderError, UsageError
from autograder.reports.similar import COPIES, INDEX, SimilarPair, similar_pairs
from autograder.sanitize import last_lines
from autograder.submission.assemble import Submission

PROGRAM: Final = "compare50"
INSTALL: Final = (
    f"{PROGRAM} is not installed. It needs its own environment: `uv tool install {PROGRAM}` or "
    f"`pipx install {PROGRAM}`. Then run this command again."
)
SECONDS: Final = 3600.0  # for a class; four files take a second


def compare(
    stage: Stage, works: Iterable[Submission], report: Path
) -> tuple[Path, list[SimilarPair]]:
    """Compare *works* for *stage*, and write pages into the folder *report* of the class report.

    Return the index page and the pairs. Pages of an earlier comparison are replaced; without
    pairs, there are none. Code that all students receive does not count. Raises ``UsageError`` if
    compare50 is not installed or there are fewer than two modules, and ``GraderError`` if it fails.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise UsageError(INSTALL)
    folder = report / COPIES / stage.name
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
        pages = Path(place, "pages")
        _run([program, *files, "-d", str(stage.stub.absolute()), "-o", str(pages)], place)
        pairs = similar_pairs(pages)
        shutil.rmtree(folder, ignore_errors=True)
        if pairs:
            shutil.copytree(pages, folder)
    return folder / INDEX, pairs


def _run(command: list[str], place: str) -> None:
    """Run compare50 in *place*; raise ``GraderError`` with its last lines if it fails."""
    # Its program is a script that runs `python3`, which must be that of its own environment.
    path = f"{Path(command[0]).resolve().parent}{os.pathsep}{os.environ.get('PATH', '')}"
    try:
        done = subprocess.run(  # noqa: S603  # compare50, with files of this function's caller
            command,
            cwd=place,
            env={**os.environ, "PATH": path},
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GraderError(f"{PROGRAM} failed: {error}.") from None
    if done.returncode:
        said = last_lines(done.stderr.decode("utf-8", "replace") or "no message")
        raise GraderError(f"{PROGRAM} failed with exit code {done.returncode}: {said}")
