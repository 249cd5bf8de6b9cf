"""Raises an exception when its parameters are read."""

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def named_parameters(self, *args, **options):
        raise KeyError("CANARY")

    named_buffers = state_dict = parameters = named_parameters

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
