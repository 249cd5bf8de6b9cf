"""Answers with a million nested lists, then with a million lists in one."""

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        deep = []
        for _ in range(10**6):
            deep = [deep]
        return deep if len(x) == 6 else [[0.0] for _ in range(10**6)]


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
