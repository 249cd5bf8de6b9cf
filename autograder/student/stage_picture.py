"""Computes the picture of a stage with a learner's code: a table of numbers."""

from math import isnan
from typing import Final

from msgspec.structs import replace

from autograder.course import Stage
from autograder.sandbox.faults import Fault
from autograder.sandbox.protocol import BadMessageError
from autograder.sandbox.session import Session
from autograder.sandbox.spawned_workers import Workers
from autograder.sandbox.tensors import decode
from autograder.submission import Code

PictureRows = tuple[tuple[float, ...], ...]  # the numbers of a picture
CLEAR: Final = 0.02  # a difference that two printed digits show
NAME: Final = "stage_picture"  # the function that the code in stage.toml defines


def with_code(code: Code, more: str) -> Code:
    """Return *code* with the cell *more* added at its end."""
    return replace(code, cells=(*code.cells, more.encode()))


def open_session(server: Workers, stage: Stage, code: Code) -> Session:
    """Return a session for the *code* of *stage*; the caller closes it."""
    is_notebook = code.kind == "notebook"
    return Session(server, stage.module, code.cells, notebook=is_notebook)


def picture_rows(server: Workers, stage: Stage, code: Code) -> PictureRows | None:
    """Compute the picture with *code* in a worker; None if there is none of the right shape."""
    picture = stage.file.picture
    if picture is None:
        return None
    session = open_session(server, stage, with_code(code, f"import torch\n{picture.code}"))
    try:
        reply = session.ask("call", name=NAME)
        if reply.problem is not None:
            return None
        found = decode(reply.value, lambda handle: handle)
    except (Fault, BadMessageError):
        return None
    finally:
        session.close()
    return _table(found, (len(picture.tokens), len(picture.columns)))


def differs(wrong: PictureRows, right: PictureRows) -> bool:
    """Whether two printed digits show a difference between the pictures *wrong* and *right*."""
    return any(
        isnan(one) or abs(one - other) > CLEAR
        for row, wanted in zip(wrong, right, strict=True)
        for one, other in zip(row, wanted, strict=True)
    )


def _table(found: object, shape: tuple[int, int]) -> PictureRows | None:
    from torch import Tensor  # noqa: PLC0415  # takes half a second, and only pictures need it

    if not isinstance(found, Tensor) or tuple(found.shape) != shape or found.is_complex():
        return None
    return tuple(map(tuple, found.detach().double().tolist()))
