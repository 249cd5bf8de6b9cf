"""Raises SystemExit at import, as a script would."""

import sys

from torch import nn

sys.exit(0)


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
