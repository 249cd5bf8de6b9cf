"""Replies with lists in lists, so deep that decoding them overflows a stack."""

import os
import struct
import sys

from torch import nn


def send(body):
    frame = sys._getframe()
    while "number" not in frame.f_locals:
        frame = frame.f_back
    number, last = frame.f_locals["number"], len(frame.f_locals["batch"].silent)
    rest = memoryview(struct.pack("<IQI", len(body), number, last) + body)
    while rest:
        rest = rest[os.write(3, rest):]



class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        value = b"\x82\xa4type\xa4list\xa5items\x91" * 15_000 + b"\xc0"
        send(b"\x81\xa5value" + value)
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
