"""Sleeps with all signals blocked."""

import signal
import time

from torch import nn


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        time.sleep(10**6)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
