"""Blocks the interpreter lock in one long native call."""

import re

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        return re.match("(a+)+$", "a" * 64 + "b")


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
