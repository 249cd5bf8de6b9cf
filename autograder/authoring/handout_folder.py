"""Writes the folder that a class receives: a wheel with the stages, START_HERE.md, perhaps labs.

These labs are for learners who have a browser and nothing else. Each begins with a badge that opens
it in Colab and a cell that installs the wheel, and has a cell with the stub of each exercise, which
writes into the module (``%%exercise``).
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from autograder.authoring import release, wheels
from autograder.authoring.lab_notebook import decode, encode
from autograder.authoring.release import guide
from autograder.course import ASSIGNMENTS, GUIDE, Course, Stage
from autograder.disk import replace_file
from autograder.errors import CourseError, UsageError
from autograder.submission.notebook import BADGE, OPENING, exercise_cell

LABS_FOLDER: Final = "labs"
KEY: Final = "attention_course_kit"  # of the notebook's metadata: the addresses
PICTURE: Final = "https://colab.research.google.com/assets/colab-badge.svg"
COLAB: Final = "https://colab.research.google.com"
TOOLS: Final = "matplotlib ipywidgets"  # most services have them; pip keeps those that it finds


class Addresses(NamedTuple):
    """The address of the folder that holds the *wheel*, and of the one that holds the *labs*."""

    wheel: str
    labs: str


def checked_addresses(wheel: str, labs: str, name: str) -> Addresses:
    """Return the addresses of both folders; raise ``UsageError`` if pip or Colab can't open one."""
    wheel = _checked("--wheel-url", wheel, {"https", "http", "file"})
    labs = _checked("--labs-url", labs, {"https", "http"})
    folder, _, last = wheel.rpartition("/")
    if last.endswith(".whl"):
        if unquote(last) != name:
            raise UsageError(
                f"--wheel-url ends in {last}, but the wheel is {name}, and pip refuses a wheel "
                f"under a different name. Upload it under its name, and give its folder: {folder}/"
            )
        wheel = folder
    if urlsplit(wheel).netloc == "github.com":  # `blob` and `tree` are pages about files
        wheel = re.sub(r"^(https?://github\.com/[^/]+/[^/]+)/(?:blob|tree)/", r"\1/raw/", wheel)
    colab_address(labs, "")  # raises
    return Addresses(wheel, labs)


def remembered_addresses(folder: Path) -> Addresses | None:
    """Return the addresses in the labs of the hand-out *folder*; None if it has no labs."""
    for file in sorted((folder / LABS_FOLDER).glob("*.ipynb")):
        try:
            return Addresses(**json.loads(file.read_bytes())["metadata"][KEY])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def colab_address(labs: str, name: str) -> str:
    """Return the address with which Colab opens the lab *name* in the folder at *labs*.

    Colab has a form for GitHub, and one for any address. Raises ``UsageError`` if *labs* is on
    GitHub but not a folder of a branch.
    """
    parts = urlsplit(labs)
    path = parts.path.strip("/").split("/")
    if parts.netloc == "raw.githubusercontent.com" and len(path) > 2:  # noqa: PLR2004  # owner, repository, branch
        owner, repository, *rest = path
        rest = rest[2:] if rest[:2] == ["refs", "heads"] else rest
    elif parts.netloc == "github.com":
        owner, repository, kind, *rest = [*path, "", "", ""][: max(4, len(path))]
        if kind not in {"blob", "tree", "raw"} or not rest[0]:
            raise UsageError(
                f"--labs-url {labs} names no branch. Give the folder's address as your browser "
                "shows it, such as https://github.com/OWNER/REPOSITORY/tree/main/labs."
            )
    else:
        return f"{COLAB}/#fileId={quote(f'{labs}/{name}', safe='')}"
    return "/".join([f"{COLAB}/github", owner, repository, "blob", *rest, name])


def browser_labs(stages: Sequence[Stage], wheel: str, where: Addresses) -> dict[str, bytes]:
    """Return the labs of *stages* for a browser by their paths; *wheel* is the wheel's name."""
    opened = {
        f"../{stage.name}/lab.ipynb": colab_address(where.labs, _name(stage))
        for stage in stages
        if stage.lab.is_file()
    }
    return {
        f"{LABS_FOLDER}/{_name(stage)}": _lab(stage, f"{where.wheel}/{quote(wheel)}", where, opened)
        for stage in stages
        if stage.lab.is_file()
    }


def _lab(stage: Stage, wheel: str, where: Addresses, opened: Mapping[str, str]) -> bytes:
    notebook = decode((stage.assignment / stage.lab.name).read_bytes())
    colab = opened[f"../{stage.name}/lab.ipynb"]
    about, start = (
        release.read_template(name).removesuffix("\n")
        for name in ("browser_about.md", "browser_start.py.txt")
    )
    first = [
        _cell("markdown", "browser-about", about.format(picture=PICTURE, badge=BADGE, colab=colab)),
        _cell(
            "code",
            "browser-start",
            start.format(opening=OPENING, wheel=wheel, tools=TOOLS, stage=stage.name),
        ),
    ]
    cells = [*first, *_with_exercises(notebook["cells"], stage)]
    for cell in cells:
        for link, address in opened.items() if cell["cell_type"] == "markdown" else ():
            cell["source"] = cell["source"].replace(f"]({link})", f"]({address})")
    metadata = {**notebook["metadata"], KEY: where._asdict()}
    return encode({**notebook, "cells": cells, "metadata": metadata})


def _with_exercises(cells: Sequence[dict[str, Any]], stage: Stage) -> Iterator[dict[str, Any]]:
    """Yield the *cells*, with the cell of each exercise after the text that introduces it."""
    stub = stage.stub.read_text("utf-8")
    names = [exercise.name for exercise in stage.exercises]
    waiting: list[dict[str, Any]] = []  # the code cells since the last text
    for cell in cells:
        if cell["cell_type"] != "code":
            yield from waiting
            yield cell
            waiting = []
            continue
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if name in names and (text := exercise_cell(stub, name)):
            yield _cell("code", f"exercise-{name}"[:64], text)
        waiting.append(cell)
        if name in names:
            yield from waiting
            waiting = []
    yield from waiting


def _cell(kind: str, name: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": {}, "source": source}
    return {**cell, "execution_count": None, "outputs": []} if kind == "code" else cell


def _name(stage: Stage) -> str:
    number = stage.name.partition("_")[0]
    return f"{number if number.isdecimal() else stage.name}.ipynb"


def _checked(option: str, address: str, schemes: set[str]) -> str:
    """Return *address* without a slash at its end; raise ``UsageError`` if it is not one."""
    parts = urlsplit(address)
    if parts.scheme not in schemes or not (parts.netloc or parts.path.startswith("/")):
        raise UsageError(f"{option} {address!r} is not an address that begins with https://.")
    return address.rstrip("/")


DEFAULT: Final = "handout"  # in the course; `release` keeps it up to date


def write(
    course: Course, stages: Sequence[Stage], folder: Path, urls: tuple[str, str] | None = None
) -> list[Path]:
    """Write the wheel and the guide of *stages*, which must be built; return their paths.

    With *urls*, the addresses of the wheel and of the labs, or if the folder has labs for a browser
    already, these are written, too. Older wheels and labs in the folder are removed. Raises
    ``CourseError`` if a file for students contains a solution, and ``UsageError`` for an address
    that can't be used.
    """
    for finding in (*release.leaks(course), *release.kept(course)):
        raise CourseError(finding)
    files = _files(course, stages, folder, urls)
    _write(folder, files, wheels.KIT)
    return [folder / name for name in files]


def write_solutions(course: Course, stages: Sequence[Stage], folder: Path) -> Path:
    """Write the wheel with the solutions of the *stages*; return its path."""
    wheel = wheels.solutions_wheel(course, stages)
    _write(folder, {wheel.name: wheel.content}, wheels.SOLUTIONS)
    return folder / wheel.name


def stale(course: Course) -> list[Path]:
    """List the missing and stale files of the course's ``handout/``, if it has this folder."""
    folder = course.root / DEFAULT
    if not folder.is_dir():
        return []
    files = _files(course, stages_in(course, folder), folder)
    old = [path for path in _labs(folder) if path.relative_to(folder).as_posix() not in files]
    stale_files = (name for name in files if not release.has_content(folder / name, files[name]))
    return [*(folder / name for name in stale_files), *old]


def refresh(course: Course) -> list[Path]:
    """Write the course's ``handout/`` again if it is stale; return the written paths."""
    if not stale(course):
        return []
    folder = course.root / DEFAULT
    return write(course, stages_in(course, folder), folder)


def stages_in(course: Course, folder: Path) -> list[Stage]:
    """List the stages of *course* in the wheel in *folder*; all stages if there is no wheel."""
    names: set[str] = set()
    for wheel in _wheels(folder, wheels.KIT):
        with zipfile.ZipFile(wheel) as archive:
            parts = [Path(name).parts for name in archive.namelist()]
        names |= {part[2] for part in parts if len(part) > 3 and part[1] == ASSIGNMENTS}  # noqa: PLR2004  # the kit's package, this folder, a stage, a file
    found = [stage for stage in course.every_stage if stage.name in names]
    return found or [*course.every_stage]


def _files(
    course: Course, stages: Sequence[Stage], folder: Path, urls: tuple[str, str] | None = None
) -> dict[str, bytes]:
    wheel = wheels.kit_wheel(course, stages)
    start_here = guide(course, stages, wheel.name)
    where = remembered_addresses(folder)
    if urls is not None:
        where = checked_addresses(*urls, wheel.name)
    labs = browser_labs(stages, wheel.name, where) if where else {}
    if urls is not None and not labs:
        raise UsageError("No stage of this hand-out has a lab, so there is none for a browser.")
    return {GUIDE: start_here, wheel.name: wheel.content, **labs}


def _write(folder: Path, files: dict[str, bytes], distribution: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            replace_file(folder / name, content)
        labs = _labs(folder) if distribution == wheels.KIT else []
        for old in (*_wheels(folder, distribution), *labs):
            if old.relative_to(folder).as_posix() not in files:
                old.unlink()
    except OSError as error:
        msg = f"{folder} can't be written ({error.strerror}). Choose a different folder."
        raise UsageError(msg) from None


def _wheels(folder: Path, distribution: str) -> list[Path]:
    return sorted(folder.glob(f"{distribution.replace('-', '_')}-*.whl"))


def _labs(folder: Path) -> list[Path]:
    """List the labs that `release` has written into *folder*; others may lie next to them."""
    own = KEY.encode()
    labs = sorted((folder / LABS_FOLDER).glob("*.ipynb"))
    return [lab for lab in labs if own in lab.read_bytes()]
