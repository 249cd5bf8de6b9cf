"""Yields endless parameters."""

import itertools

import torch
from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def named_parameters(self, *args, **options):
        for number in itertools.count():
            yield f"W_{number}", nn.Parameter(torch.zeros(1))

    named_buffers = state_dict = parameters = named_parameters

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
