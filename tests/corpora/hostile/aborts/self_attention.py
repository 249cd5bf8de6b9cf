"""Ends its own process with SIGABRT."""

import os

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        os.abort()


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
