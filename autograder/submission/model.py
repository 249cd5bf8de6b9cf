"""A hand-in of one student, and the submission for each stage that it becomes."""

import hashlib
from typing import Literal

import msgspec

from autograder.submission.files import HandInFile


class HandIn(msgspec.Struct, frozen=True, kw_only=True):
    """All files of one student; their names are listed, their bytes are not read yet."""

    student: str
    files: tuple[HandInFile, ...] = ()
    faults: tuple[str, ...] = ()  # sentences on what could not be opened
    is_bare: bool = False  # no folder, no archive: a file's name need not name its stage
    by_lms: bool = False  # downloaded from an LMS
    is_late: bool = False  # by the LMS's own mark


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """The student's code as bytes; it was neither parsed as Python nor executed."""

    kind: Literal["module", "notebook"]
    cells: tuple[bytes, ...]  # a module is one cell, as its bytes; a notebook its code cells, UTF-8
    label: str  # file name as handed in, safe to print


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What one student handed in for one stage, or why there is nothing to grade."""

    student: str
    stage: str  # Stage.name; "" where it is unknown
    code: Code | None  # None: nothing can be graded, and `problem` says why
    problem: str = ""
    ignored: tuple[str, ...] = ()  # files that were not used, bounded
    notices: tuple[str, ...] = ()
    lab: HandInFile | None = None  # the notebook beside the module, or in its place; not read yet
    stamp: HandInFile | None = None  # nbgrader's timestamp.txt

    @property
    def module(self) -> bytes | None:
        """The bytes of the module; None where there is no code, or only a notebook's cells."""
        return self.code.cells[0] if self.code and self.code.kind == "module" else None

    @property
    def sha256(self) -> str:
        """SHA-256 of the module's bytes, or of a notebook's cells, each after its size."""
        if self.code is None:
            return ""
        if self.module is not None:
            return hashlib.sha256(self.module).hexdigest()
        sized = (b"%d:" % len(cell) + cell for cell in self.code.cells)
        return hashlib.sha256(b"".join(sized)).hexdigest()
