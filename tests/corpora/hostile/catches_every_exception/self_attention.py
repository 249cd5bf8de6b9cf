"""Catches every exception and ignores every signal in an endless loop."""

import signal

from torch import nn

for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue



class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                continue


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
