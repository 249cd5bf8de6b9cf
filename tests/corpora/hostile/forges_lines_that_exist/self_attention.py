"""Reports a problem in one of its own lines, chosen by the inputs."""

import os
import struct
import sys
import time

import msgspec
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
        line = 1 + int(x.abs().sum() * 1000) % 20
        problem = {"kind": "raised", "line": line, "place": f"cell {line}", "code": f"CANARY {x}"}
        send(msgspec.msgpack.encode({"problem": problem}))
        time.sleep(600)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
