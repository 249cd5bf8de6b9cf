"""Draws hidden inputs: random tensors whose seed depends on the course's secret."""

import functools
import hashlib
import hmac
import itertools
import math

import torch
from torch import Tensor

_PRIMES = 2 * 3 * 5 * 7 * 11 * 13 * 17 * 19 * 23 * 29 * 31
PUBLIC_SEED = b"public suite"  # not a secret: students can see these inputs


class HiddenInputs:
    """Draws the inputs of one check of one stage; the same secret gives the same inputs.

    With ``PUBLIC_SEED`` as the secret, these are the inputs that students have. *seed* is for the
    random numbers of the student's code, and *number* for the sizes of hidden inputs. *public* is
    the stage's name in the public suite.
    """

    def __init__(self, secret: bytes, stage: str, check: str, *, public: str = "") -> None:
        # A worker gets this seed, so it reveals nothing about the secret.
        self.seed = _seed(PUBLIC_SEED, f"worker:{stage}/{check}")
        self._source = secret, f"{stage}/{check}"
        self._public = f"{public or stage}/{check}"

    @functools.cached_property
    def _generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(_seed(*self._source))

    @functools.cached_property
    def number(self) -> int:
        """A number to draw sizes with: ``5 + probe.number % 4`` is one of 5 to 8.

        In grading, its remainder by any number from 2 to 36 is never the one that students have,
        so a table of the answers to the public sizes answers no hidden one.
        """
        secret, purpose = self._source
        known = _seed(PUBLIC_SEED, f"worker:{self._public}")
        if secret == PUBLIC_SEED:
            return known
        drawn = (_seed(secret, f"number:{purpose}:{attempt}") for attempt in itertools.count())
        return next(number for number in drawn if math.gcd(number - known, _PRIMES) == 1)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Draw from N(0, scale²); without sizes, one number of shape ()."""
        drawn = torch.randn(shape, generator=self._generator)
        return drawn if scale == 1.0 else drawn * scale

    def uniform(self, *shape: int) -> Tensor:
        """Draw from [0, 1)."""
        return torch.rand(shape, generator=self._generator)

    def weights(self, **shapes: tuple[int, ...]) -> dict[str, Tensor]:
        """Draw N(0, 1) parameters; write ``W_query__weight`` for ``W_query.weight``."""
        return {name.replace("__", "."): self.normal(*shape) for name, shape in shapes.items()}


@functools.lru_cache(maxsize=4096)  # enough for all checks of a course, which every submission runs
def _seed(secret: bytes, purpose: str) -> int:
    digest = hmac.new(secret, purpose.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:4], "big")  # 32 bits, which every generator accepts
