"""From the chosen file to the code that is graded."""

import hashlib
import re

import msgspec

from autograder.course import Stage
from autograder.submission.files import HandInFile, HandInFiles, UnusableFile
from autograder.submission.model import Code
from autograder.submission.names import visible
from autograder.submission.notebook import code_cells
from autograder.submission.stage_matching import NOTEBOOK, module_of, notebook_of

MAX_MODULE = 2**20  # bytes; the longest honest module has some 20 KiB
MAX_NOTEBOOK = 16 * 2**20  # bytes; room for pictures in saved outputs


class SelectedCode(msgspec.Struct, frozen=True, kw_only=True):
    """The code that is graded, the file that it came from, and what is to be said about it."""

    found: HandInFile
    code: Code
    notices: tuple[str, ...] = ()


def select_code(stage: Stage, bundle: HandInFiles) -> SelectedCode | None:
    """Choose and read the stage's code; None: there is none; raises ``Unusable``.

    The module wins over the notebook, unless it is the released stub and the notebook isn't.
    """
    module, notebook = module_of(stage, bundle), notebook_of(stage, bundle)
    if module is None:
        return None if notebook is None else _read(bundle, notebook, _no_module(stage, notebook))
    taken = _read(bundle, module, *_renamed(module, stage))
    if notebook is None or not _is_stub(taken.code, stage):
        return taken
    try:
        other = _read(bundle, notebook, _unchanged(module, notebook))
    except UnusableFile as error:
        return msgspec.structs.replace(taken, notices=(*taken.notices, str(error)))
    return other if _defines_exercise(other.code, stage) else taken


def digest(code: Code) -> str:
    """Return SHA-256 of a module's bytes, or of a notebook's cells, each after its size."""
    if code.kind == "module":
        return hashlib.sha256(code.cells[0]).hexdigest()
    total = hashlib.sha256()
    for cell in code.cells:
        total.update(b"%d:" % len(cell) + cell)
    return total.hexdigest()


def _read(bundle: HandInFiles, found: HandInFile, *notices: str) -> SelectedCode:
    if found.suffix == NOTEBOOK:
        cells = code_cells(found.read(MAX_NOTEBOOK), found.label)
        code = Code(kind="notebook", cells=cells, label=found.label)
    else:
        code = Code(kind="module", cells=(found.read(MAX_MODULE),), label=found.label)
    return SelectedCode(found=found, code=code, notices=(*notices, *_rivals(bundle, found)))


def _is_stub(code: Code, stage: Stage) -> bool:
    try:
        stub = stage.stub.read_bytes()
    except OSError:  # not built yet; `verify` says so
        return False
    return _lines(code.cells[0]) == _lines(stub)


def _lines(source: bytes) -> bytes:
    """Editors and LMSs change line endings; that is no work on the stub."""
    return source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _defines_exercise(code: Code, stage: Stage) -> bool:
    names = "|".join(re.escape(exercise.name) for exercise in stage.exercises)
    definition = rf"^(?:async[ \t]+)?(?:def|class)[ \t]+(?:{names})\b".encode()
    return any(re.search(definition, cell, re.MULTILINE) for cell in code.cells)


def _rivals(bundle: HandInFiles, taken: HandInFile) -> tuple[str, ...]:
    """Say that chance decided; a whole class that was taken for one student shows here, too."""
    depth = len(taken.path.parts)
    same_name = (found for found in bundle.files if found.path.name == taken.path.name)
    number = sum(len(found.path.parts) == depth for found in same_name)
    if number == 1:
        return ()
    chosen = visible(str(taken.path))
    return (f"{number} files are named {taken.label}; {chosen} was graded. Hand in one.",)


def _no_module(stage: Stage, notebook: HandInFile) -> str:
    return f"There is no {stage.module}.py, so the code cells of {notebook.label} were graded."


def _renamed(module: HandInFile, stage: Stage) -> tuple[str, ...]:
    if module.path.name == f"{stage.module}.py":
        return ()
    return (f"{module.label} was graded as {stage.module}.py.",)


def _unchanged(module: HandInFile, notebook: HandInFile) -> str:
    return (
        f"{module.label} is the released stub, unchanged, so the code cells of {notebook.label} "
        "were graded instead."
    )
