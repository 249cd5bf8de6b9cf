"""Raises an exception with a megabyte of markup at import."""

from torch import nn

raise ValueError("<script>CANARY</script>\x1b[2J" * 50_000)


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
