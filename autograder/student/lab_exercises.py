"""Writes exercises from the cells of a lab into the module, and resets them."""

import contextlib
import io
import sys
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from autograder.course import Handout
from autograder.disk import replace_file
from autograder.errors import UsageError
from autograder.student import learner_folder
from autograder.student.exercise_cell import is_same, parts_of, replaced_names, written
from autograder.student.learner_place import find_exercise
from autograder.student.progress import Progress, Task
from autograder.submission.notebook import MAGIC


class WrittenCell(NamedTuple):
    """A cell that was written: its *exercise*, the *module* now, and the *sentences* about it."""

    exercise: str
    module: bytes
    sentences: tuple[str, ...]


def offer_magic(run: Callable[[str, str], object]) -> None:
    """Let the cell magic call *run* with its line and its cell, if IPython runs this code."""
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    if shell:
        shell.register_magic_function(run, "cell", MAGIC)


def write_cell(folder: Path, name: str, cell: str, known: bytes = b"") -> WrittenCell:
    """Write *cell* as the exercise *name* into the module of the stage in *folder*.

    If that replaces code which is neither the stub nor in *known*, the module after the last cell,
    a copy of the module is kept. Raises ``UsageError`` if the cell can't be written.
    """
    own, _, task = _task(folder, name)
    exercise, file = task.exercise.name, task.stage.stub
    parts = parts_of(cell, exercise, {one.name for one in task.stage.exercises} - {exercise})
    old = _read(file)
    text, encoding = _decoded(old, file.name)
    stub = learner_folder.stub_of(own, task.stage)
    if is_same(cell, stub, exercise) and not is_same(text, stub, exercise):
        raise UsageError(
            f"This cell holds {exercise} as you received it, and {file.name} holds your code, "
            f'which stays. lab.reset("{exercise}") restores the stub there.'
        )
    new = _encoded(written(text, parts, file.name), encoding, file.name)
    if new == old:
        return WrittenCell(exercise, old, (f"{file.name} has this code already.",))
    kept = ""
    lost = [name for name in replaced_names(text, parts) if not is_same(text, stub, name)]
    if lost and old != known:
        copy = learner_folder.keep_copy(own.root, file.relative_to(own.root))
        kept = f"A copy of your file as it was before: {copy}"
    _write(file, new)
    helpers = [name for part in parts for name in sorted(part.names - {exercise})]
    done = f"Wrote {', '.join([exercise, *helpers])} into {file.name}."
    return WrittenCell(exercise, new, (*filter(None, [done, kept]),))


def reset(folder: Path, name: str) -> list[str]:
    """Reset the exercise *name* of the stage in *folder*; return the sentences about it."""
    own, state, task = _task(folder, name)
    copy = learner_folder.reset_exercise(own, state, task)
    kept = "" if copy is None else f"A copy of your file: {copy}"
    return [f"{task.key} is as you received it.", *filter(None, [kept, state.fault])]


def _task(folder: Path, name: str) -> tuple[Handout, Progress, Task]:
    """Find the exercise *name*, as a learner writes it, in the stage in *folder*."""
    own = learner_folder.find(folder)
    stage = next(one for one in own.stages if one.source == folder.resolve())
    name = name.strip().strip("'\"")
    if not name:
        known = ", ".join(one.name for one in stage.exercises)
        msg = f"Name the exercise, such as %%{MAGIC} {stage.exercises[0].name}. Exercises: {known}."
        raise UsageError(msg)
    state = Progress.read(own.root)
    return own, state, find_exercise(own, f"{stage.name}/{name}")


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{file} can't be read ({error.strerror}). `autograder start` in its folder, or the "
            "first cell of this notebook, restores a missing file."
        ) from None


def _write(file: Path, content: bytes) -> None:
    try:
        replace_file(file, content)
    except OSError as error:
        msg = f"{file} can't be written ({error.strerror}), so nothing has changed."
        raise UsageError(msg) from None


def _decoded(data: bytes, label: str) -> tuple[str, str]:
    """Return the text of a module and its encoding, which give back the same bytes."""
    with contextlib.suppress(SyntaxError, UnicodeDecodeError, LookupError):
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
        if text.encode(encoding) == data and "\0" not in text:
            return text, encoding
    msg = f"{label} is not in the encoding that it declares. Save it as UTF-8, and try again."
    raise UsageError(msg)


def _encoded(text: str, encoding: str, label: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{label} is in {encoding}, which has no {error.object[error.start]!r}. "
            "Save the file as UTF-8, or write this cell without that character."
        ) from None
