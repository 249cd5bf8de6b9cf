"""Announces a reply and sends only a part of it."""

import os
import struct
import time

from torch import nn

os.write(3, struct.pack("<IQI", 16, 2, 0) + b"abc")
time.sleep(10**6)


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
