"""Ends by SIGKILL in a hidden check, so that the next first import can repeat what was seen."""

import os
import signal

from torch import nn


raise ValueError(f"CANARY {os.getpid()}")


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        if x.flatten()[0] > 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
