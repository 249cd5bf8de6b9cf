"""Reads the stories: the text of every lab that trains a model on characters.

``TRAIN`` and ``HELD`` are the whole split. Models are trained on the first and measured on the
second, which holds other stories of the same small world.
"""

from pathlib import Path

import torch
from torch import Tensor


def _text(name: str) -> str:
    return (Path(__file__).parent / f"stories_{name}.txt").read_text("utf-8")


SYMBOLS = "".join(sorted(set(_text("train"))))
_NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS)}


def encode(text: str) -> Tensor:
    """Return the ids of *text*: (T,). Characters that are not in ``SYMBOLS`` are left out."""
    return torch.tensor([_NUMBERS[symbol] for symbol in text if symbol in _NUMBERS])


def decode(ids: Tensor) -> str:
    """Return the text of *ids*, (T,)."""
    return "".join(SYMBOLS[number] for number in ids.tolist())


TRAIN = encode(_text("train"))  # 106,917 characters
HELD = encode(_text("held"))  # 11,169 characters


def pieces(ids: Tensor, starts: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Return the pieces of *ids* at *starts* (B,), and the id after each of their ids.

    Both have the shape (B, length).
    """
    cut = ids[starts[:, None] + torch.arange(length + 1)]
    return cut[:, :-1], cut[:, 1:]


def frequencies_loss() -> float:
    """Return the loss on ``HELD`` of a reader that knows only how often each symbol occurs."""
    shares = torch.bincount(TRAIN, minlength=len(SYMBOLS)) / len(TRAIN)
    return -shares.log()[HELD].mean().item()
