"""Allocates a tensor of four terabytes."""

import torch
from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        return torch.zeros(1 << 40)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
