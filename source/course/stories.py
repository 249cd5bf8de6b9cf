"""Reads the stories: the text of every lab that trains a model on characters.

``TRAIN`` and ``HELD`` are the whole split. Models are trained on the first and measured on the
second, which holds other stories of the same small world. ``POEMS`` is a text from elsewhere.
"""

from pathlib import Path

import torch
from torch import Tensor

from .story_texts import text_of

SYMBOLS = "".join(sorted(set(text_of("train"))))
_NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS)}


def encode(text: str) -> Tensor:
    """Return the ids of *text*: (T,). Characters that are not in ``SYMBOLS`` are left out."""
    return torch.tensor([_NUMBERS[symbol] for symbol in text if symbol in _NUMBERS])


def decode(ids: Tensor) -> str:
    """Return the text of *ids*, (T,)."""
    return "".join(SYMBOLS[number] for number in ids.tolist())


TRAIN = encode(text_of("train"))  # 106,917 characters
HELD = encode(text_of("held"))  # 11,169 characters
_POEMS = Path(__file__).parent / "poems.txt"  # Jabberwocky and The Tyger
POEMS = encode(_POEMS.read_text("utf-8"))


def pieces(ids: Tensor, starts: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Return the pieces of *ids* at *starts* (B,), and the id after each of their ids.

    Both have the shape (B, length).
    """
    cut = ids[starts[:, None] + torch.arange(length + 1)]
    return cut[:, :-1], cut[:, 1:]


def frequencies_loss(ids: Tensor = HELD) -> float:
    """Return the loss on *ids* of a reader that knows only how often each symbol occurs."""
    return _loss(_shares_of(TRAIN), ids)


def least_pairs_loss(ids: Tensor = HELD) -> float:
    """Return the loss on *ids* of the table of pairs that is made from *ids*: no table has less."""
    counts = _counts(ids, 2)
    return _loss(counts / counts.sum(dim=-1, keepdim=True), ids)


def triples_loss(ids: Tensor = HELD) -> float:
    """Return the loss on *ids* of the table of triples that is counted in ``TRAIN``.

    A pair that is rare there is completed by the table of pairs, and a symbol by its frequency.
    """
    shares = _shares_of(TRAIN)
    for symbols, prior in ((2, 1.0), (3, 2.0)):
        counts = _counts(TRAIN, symbols) + prior * shares
        shares = counts / counts.sum(dim=-1, keepdim=True)
    return _loss(shares, ids)


def _shares_of(ids: Tensor) -> Tensor:
    """Return how often each symbol occurs in *ids*, with the sum 1: (V,)."""
    return _counts(ids, 1) / len(ids)


def _counts(ids: Tensor, symbols: int) -> Tensor:
    """Count the runs of some *symbols* in *ids*: (V,), (V, V) or (V, V, V)."""
    counts = torch.zeros((len(SYMBOLS),) * symbols)
    runs = ids.unfold(0, symbols, 1).T
    return counts.index_put(tuple(runs), torch.ones(runs.shape[1]), accumulate=True)


def _loss(shares: Tensor, ids: Tensor) -> float:
    """Return the loss on *ids* of a table with the *shares* of the last symbol of each run."""
    runs = ids.unfold(0, shares.dim(), 1).T
    return -shares[tuple(runs)].log().mean().item()
