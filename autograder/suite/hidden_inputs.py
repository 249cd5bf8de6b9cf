"""Hidden inputs: random tensors whose seed depends on the course's secret."""

import hashlib
import hmac
import os
from pathlib import Path

import torch
from torch import Tensor

SECRET_VARIABLE = "AUTOGRADER_COURSE_SECRET"  # noqa: S105  # names the secret, is none
SECRET_FILE = ".course-secret"  # noqa: S105  # likewise
PUBLIC_SEED = b"public suite"  # never the secret of a course: a public suite shows these inputs


def course_secret(root: Path) -> bytes:
    """Return the course's secret from the environment or from a file; empty if there is none."""
    if text := os.environ.get(SECRET_VARIABLE, ""):
        return text.encode()
    try:
        return (root / SECRET_FILE).read_bytes().strip()
    except FileNotFoundError:
        return b""


class HiddenInputs:
    """Draws the inputs of one check of one stage; the same secret gives the same inputs.

    With ``PUBLIC_SEED`` as the secret these are the inputs that students have.
    """

    def __init__(self, secret: bytes, stage: str, check: str) -> None:
        digest = hmac.new(secret, f"{stage}/{check}".encode(), hashlib.sha256).digest()
        self.seed = int.from_bytes(digest[:4], "big")  # 32 bits, which every generator accepts
        self._generator = torch.Generator().manual_seed(self.seed)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Draw from N(0, scale²)."""
        return torch.randn(*shape, generator=self._generator) * scale

    def uniform(self, *shape: int) -> Tensor:
        """Draw from [0, 1)."""
        return torch.rand(*shape, generator=self._generator)

    def weights(self, **shapes: tuple[int, ...]) -> dict[str, Tensor]:
        """Draw N(0, 1) parameters; write ``W_query__weight`` for ``W_query.weight``."""
        return {name.replace("__", "."): self.normal(*shape) for name, shape in shapes.items()}
