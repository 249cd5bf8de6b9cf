"""Draws points for the stages on clusters and on a line."""

import torch
from torch import Tensor


def two_groups(count: int, distance: float = 4.0) -> tuple[Tensor, Tensor]:
    """Draw *count* points (N, 2) around two middles, and the group of each: 0.0 or 1.0 (N,)."""
    groups = (torch.arange(count) % 2).float()
    middles = distance * (groups[:, None] - 0.5)
    return middles + torch.randn(count, 2), groups
