"""Loops forever instead of answering."""

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        while True:
            pass


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
