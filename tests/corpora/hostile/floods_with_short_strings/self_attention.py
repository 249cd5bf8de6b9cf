"""Replies with millions of short strings to each request, as large as a reply may be."""

import os
import struct
import sys

from torch import nn

LIST = b"\x82\xa4type\xa4list\xa5items\xdd"
COUNT = 5_000_000


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
        head = b"\x81\xa5value" + LIST
        send(head + COUNT.to_bytes(4, "big") + b"\xa2ab" * COUNT)
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
