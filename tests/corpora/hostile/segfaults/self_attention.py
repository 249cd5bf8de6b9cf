"""Reads address 0."""

import ctypes

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        return ctypes.string_at(0)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
