"""Reports a problem in one of its own lines, chosen by the inputs."""

import os
import struct
import sys
import time

import msgspec
from torch import nn


def request_number():
    frame = sys._getframe()
    while not hasattr(frame.f_locals.get("request"), "number"):
        frame = frame.f_back
    return frame.f_locals["request"].number


def send(body):
    rest = memoryview(struct.pack("<I", len(body)) + body)
    while rest:
        rest = rest[os.write(3, rest):]



class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        line = 1 + int(x.abs().sum() * 1000) % 20
        problem = {"kind": "raised", "line": line, "place": f"cell {line}", "code": f"CANARY {x}"}
        send(msgspec.msgpack.encode({"number": request_number(), "problem": problem}))
        time.sleep(600)


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
