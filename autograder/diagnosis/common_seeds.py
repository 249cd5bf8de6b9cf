"""Draws values with common seeds, to recognize them in a wrong answer."""

import functools
import itertools
from collections.abc import Callable

import torch
from torch import Tensor

SEEDS = (0, 1, 42, 123, 789, 1337)  # from the documents, and common choices
TURNS = 4  # consecutive draws to compare; a module draws about three matrices
_DRAWS: dict[str, Callable[..., Tensor]] = {
    "torch.rand": torch.rand,
    "torch.randn": torch.randn,
    "nn.Linear": lambda rows, columns: torch.nn.Linear(columns, rows, bias=False).weight.detach(),
}
DRAWS = tuple(itertools.product(SEEDS, _DRAWS, range(TURNS)))


@functools.lru_cache(maxsize=10)  # shapes; each result has at most 72 times `MAX_DRAWN` numbers
def drawn(shape: tuple[int, ...]) -> Tensor:
    """Return the results of all ``DRAWS``, in their order."""
    return torch.stack(
        [one for seed in SEEDS for draw in _DRAWS.values() for one in _turns(seed, draw, shape)]
    )


def _turns(seed: int, draw: Callable[..., Tensor], shape: tuple[int, ...]) -> list[Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` formats stack traces
        return [draw(*shape).double() for _ in range(TURNS)]
