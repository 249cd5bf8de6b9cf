"""Recurses until the C stack overflows."""

import sys

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        sys.setrecursionlimit(10**9)
        deep = []
        for _ in range(10**6):
            deep = [deep]
        return repr(deep)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
