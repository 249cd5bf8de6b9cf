"""Imports the modules that a course shares among its labs; ``lab.course`` gives them to a notebook.

Their folder is not added to ``sys.path``, where a student's module could have the same name.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from autograder.course import ASSIGNMENTS, SHARED, find_root, installed_handouts
from autograder.errors import CourseError, UsageError

PACKAGE: Final = "autograder_course"  # in which the modules may import each other


def module_names(folder: Path) -> list[str]:
    """List the modules of the course of the stage in *folder*."""
    return sorted({path.stem for shared in _folders(folder) for path in shared.glob("*.py")})


def course_module(folder: Path, name: str) -> ModuleType:
    """Import the module *name*; raise ``UsageError`` without it, ``CourseError`` if it fails."""
    shared = folder_with(folder, f"{name}.py")
    if shared is None:
        raise UsageError(
            f"The course's module {folder.parent / SHARED / name}.py is missing. "
            "Run `autograder start`, which adds missing files."
        )
    return modules_in(shared, name)


def modules_in(shared: Path, name: str) -> ModuleType:
    """Import the module *name* of the folder *shared*; raise ``CourseError`` if it fails."""
    _open(shared)
    try:
        return import_module(f"{PACKAGE}.{name}")
    except Exception as error:
        raise CourseError(
            f"{shared / name}.py can't be imported: {error!r}. If it was changed, "
            "`autograder start` restores it."
        ) from error


def folder_with(folder: Path, name: str) -> Path | None:
    """Return the folder of the course of the stage in *folder* that has the file *name*."""
    return next((one for one in _folders(folder) if (one / name).is_file()), None)


def _folders(folder: Path) -> Iterator[Path]:
    """Yield where modules may be: next to the stage, in the course around it, in the kit."""
    yield folder.parent / SHARED
    with suppress(CourseError):  # the folder need not be in a course
        yield find_root(folder) / ASSIGNMENTS / SHARED
    yield installed_handouts() / SHARED


def _open(shared: Path) -> None:
    """Let ``PACKAGE`` be the folder *shared*, and forget the modules of another folder."""
    package = sys.modules.get(PACKAGE)
    if package is None or list(package.__path__) != [str(shared)]:
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]
        package = sys.modules[PACKAGE] = ModuleType(PACKAGE)
        package.__path__ = [str(shared)]
