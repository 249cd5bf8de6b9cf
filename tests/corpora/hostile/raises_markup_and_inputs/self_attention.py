"""Raises an exception whose long text holds HTML, terminal escapes and the inputs."""

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        words = " ".join(map(str, x.flatten().tolist()))
        page = "CANARY<script>alert(1)</script>\x1b[2J\x1b]8;;http://example.org\x07\u202e" + words
        raise type("CANARY<b>", (Exception,), {})(page * 10_000)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
