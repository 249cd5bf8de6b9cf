"""One stage's worth of one student's work, ready for the worker."""

from typing import Literal

import msgspec

from autograder.submission.files import HandInFile


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """The student's code as bytes: nothing here was parsed as Python, nothing ran."""

    kind: Literal["module", "notebook"]
    cells: tuple[bytes, ...]  # a module is one cell, as its bytes; a notebook its code cells, UTF-8
    label: str  # file name as handed in, safe to print


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What one student handed in for one stage, or why there is nothing to grade."""

    student: str
    stage: str  # Stage.name; "" where it could not be told
    code: Code | None  # None: nothing gradable, then `problem` says why
    problem: str = ""
    ignored: tuple[str, ...] = ()  # files that were not taken, bounded
    notices: tuple[str, ...] = ()
    lab: HandInFile | None = None  # the notebook beside the module, or in its place; not read yet
    stamp: HandInFile | None = None  # nbgrader's timestamp.txt
    sha256: str = ""  # a module's: the file's own; a notebook's: of its cells, each after its size

    @property
    def module(self) -> bytes | None:
        """The bytes of the module; None where there is no code, or only a notebook's cells."""
        return self.code.cells[0] if self.code and self.code.kind == "module" else None
