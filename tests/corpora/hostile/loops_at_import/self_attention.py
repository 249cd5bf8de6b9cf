"""Loops forever at import."""

from torch import nn

while True:
    pass


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
