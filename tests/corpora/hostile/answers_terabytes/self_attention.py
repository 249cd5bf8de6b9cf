"""Answers with one number that is expanded to a trillion."""

import torch
from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        return torch.zeros(1).expand(1 << 20, 1 << 20)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
