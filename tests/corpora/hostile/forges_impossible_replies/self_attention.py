"""Replies to its import with a tensor of an unknown dtype."""

import os
import struct

import msgspec
from torch import nn

PLAIN = {"type": "tensor", "dtype": "float32", "shape": [6, 2], "data": bytes(48), "requires_grad": True}


def forge(numbers, **fields):
    for number in numbers:
        body = msgspec.msgpack.encode({"changed": [], "problem": None, **fields})
        for descriptor in range(3, 65):
            try:
                os.write(descriptor, struct.pack("<IQI", len(body), number, 0) + body)
            except OSError:
                continue

PLAIN["dtype"] = "bogus"
forge(range(2, 3), value=PLAIN)


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
