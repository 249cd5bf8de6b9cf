"""Answers with a string of one gigabyte."""

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        return "a" * (1 << 30)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
