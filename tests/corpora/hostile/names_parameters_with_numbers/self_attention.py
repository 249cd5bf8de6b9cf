"""Uses numbers and bytes as names in its state."""

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def named_parameters(self, *args, **options):
        return {0: 1, None: 2, b"W_q": 3}

    named_buffers = state_dict = parameters = named_parameters

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
