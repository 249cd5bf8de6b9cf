"""Starts child processes that outlive it."""

import os
import time

from torch import nn

for start in (os.fork, os.forkpty, os.posix_spawn):
    try:
        if start is os.posix_spawn:
            start("/bin/sleep", ["sleep", "600"], {})
        elif start() in {0, (0, -1)}:
            os.setsid()
            while True:
                time.sleep(600)
    except (OSError, TypeError):
        continue


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
