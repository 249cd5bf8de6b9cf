"""Writes the folder that a class receives: a wheel with the stages, and START_HERE.md."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from autograder.authoring import release, wheels
from autograder.authoring.guide import guide
from autograder.course import ASSIGNMENTS, GUIDE, Course, Stage
from autograder.disk import replace_file
from autograder.errors import CourseError, UsageError

DEFAULT: Final = "handout"  # in the course; `release` keeps it up to date


def write(course: Course, stages: Sequence[Stage], folder: Path) -> list[Path]:
    """Write the wheel and the guide of *stages*, which must be built; return their paths.

    An older wheel in the folder is removed. Raises ``CourseError`` if a file for students contains
    a solution.
    """
    for finding in (*release.leaks(course), *release.kept(course)):
        raise CourseError(finding)
    files = _files(course, stages)
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
    files = _files(course, stages_in(course, folder))
    return [path for name in files if not _has(path := folder / name, files[name])]


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


def _files(course: Course, stages: Sequence[Stage]) -> dict[str, bytes]:
    wheel = wheels.kit_wheel(course, stages)
    start_here = guide(course, stages, wheel.name)
    return {GUIDE: start_here, wheel.name: wheel.content}


def _write(folder: Path, files: dict[str, bytes], distribution: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            replace_file(folder / name, content)
        for wheel in _wheels(folder, distribution):
            if wheel.name not in files:
                wheel.unlink()
    except OSError as error:
        msg = f"{folder} can't be written ({error.strerror}). Choose a different folder."
        raise UsageError(msg) from None


def _wheels(folder: Path, distribution: str) -> list[Path]:
    return sorted(folder.glob(f"{distribution.replace('-', '_')}-*.whl"))


def _has(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
