"""Finds the folder of a notebook's stage, which the kernel's working folder need not be."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.course import ASSIGNMENTS, STAGE_FILE
from autograder.errors import AutograderError, UsageError
from autograder.student import learner_folder
from autograder.student.learner_folder import DEFAULT

SESSION = "JPY_SESSION_NAME"  # Jupyter sets it to the notebook's path when it starts the kernel
FILE = "__vsc_ipynb_file__"  # VS Code sets this name in the notebook


def begin(stage: str) -> None:
    """Do `autograder start`, and go to the folder of *stage*: the first cell in a browser."""
    with without_traceback():
        done = learner_folder.start(Path.cwd())
        folder = done.folder / stage
        if not folder.is_dir():
            msg = f"The installed course has no stage {stage}, so this lab does not belong to it."
            raise UsageError(msg)
        os.chdir(folder)
    files = f"{len(done.added)} files added" if done.added else "as you left them"
    print(f"{done.folder} holds your stages: {files}.")  # noqa: T201  # a notebook shows it
    print(*done.changes, sep="\n", end="\n" * bool(done.changes))  # noqa: T201  # a notebook shows it
    print(f"You are in {folder}.", *filter(None, [done.fault]))  # noqa: T201  # a notebook shows it


@contextmanager
def without_traceback() -> Iterator[None]:
    """Let a notebook show our own errors as their message, without a traceback."""
    try:
        yield
    except AutograderError as error:
        message = [str(error)]
        error._render_traceback_ = lambda: message  # type: ignore[attr-defined]  # IPython asks for it
        raise


def stage_folder(given: str | Path) -> Path:
    """Return the stage's folder, by path, name or notebook; raise ``UsageError`` without one."""
    path = Path(given)
    if path.is_absolute() or len(path.parts) > 1:
        return path.resolve()
    for folder in _places():
        for found in _candidates(folder, path.name):
            if (found / STAGE_FILE).is_file():
                return found
    here = Path.cwd()
    belongs = f" and belongs to {path.name}" if path.name else ""
    raise UsageError(
        f"This notebook runs in {here}{belongs}, but the stage is not there. Open the notebook in "
        "the folder of its stage (in VS Code, set Notebook File Root to ${fileDirname}) and "
        'restart the kernel, or write lab = Lab("PATH") with the path of this folder.'
    )


def _places() -> Iterator[Path]:
    """Yield the folders where the notebook may be, the most certain first."""
    told = getattr(sys.modules.get("__main__"), FILE, None)
    if isinstance(told, str):
        yield Path(told).resolve().parent
    here = Path.cwd()
    yield here
    if name := os.environ.get(SESSION):  # a kernel that another kernel started has the same
        yield (here / name).resolve().parent


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    """Yield the folders in and around *folder* that may be the stage *name*."""
    if not name:
        yield folder
        return
    module = f"{name.partition('_')[2]}.py"
    if folder.name.startswith(name) or (folder / module).is_file():  # also under a new name
        yield folder
    yield folder / name
    for parent in folder, folder.parent:
        yield from (parent / name, parent / DEFAULT / name, parent / ASSIGNMENTS / name)
