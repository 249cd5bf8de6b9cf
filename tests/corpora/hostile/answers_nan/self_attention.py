"""Answers with NaN, which is neither smaller nor larger than any tolerance."""

import torch
from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        return torch.full((len(x), x.shape[1]), torch.nan)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
