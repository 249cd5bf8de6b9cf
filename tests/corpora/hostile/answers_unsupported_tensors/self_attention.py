"""Answers with tensors that are sparse, on meta, too large or of too many dimensions."""

import torch
from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        kinds = (
            torch.zeros(6, 2).to_sparse(),
            torch.zeros(6, 2, device="meta"),
            torch.zeros(1, 0, 1 << 40),
            torch.zeros((1,) * 40),
            torch.zeros(6, 2, dtype=torch.float8_e4m3fn),
        )
        self.turn = getattr(self, "turn", -1) + 1
        return kinds[self.turn % len(kinds)]


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
