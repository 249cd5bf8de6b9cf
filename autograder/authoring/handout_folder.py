"""Writes the folder that a class receives: a wheel with the stages, START_HERE.md, perhaps labs."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from autograder.authoring import browser_labs, release, wheels
from autograder.authoring.guide import guide
from autograder.course import ASSIGNMENTS, GUIDE, Course, Stage
from autograder.disk import replace_file
from autograder.errors import CourseError, UsageError

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
    return [path for name in files if not _has(path := folder / name, files[name])] + old


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
    where = browser_labs.remembered(folder)
    if urls is not None:
        where = browser_labs.addresses(*urls, wheel.name)
    labs = browser_labs.labs(stages, wheel.name, where) if where else {}
    if urls is not None and not labs:
        msg = "No stage of this hand-out has a lab, so there is none for a browser."
        raise UsageError(msg)
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
    own = browser_labs.KEY.encode()
    labs = sorted((folder / browser_labs.FOLDER).glob("*.ipynb"))
    return [lab for lab in labs if own in lab.read_bytes()]


def _has(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
