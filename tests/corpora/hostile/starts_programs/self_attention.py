"""Starts other programs in every way that Python has."""

import multiprocessing
import os
import subprocess

from torch import nn

ATTEMPTS = (
    lambda: subprocess.run(["/bin/sh", "-c", "sleep 600 &"], check=False),
    lambda: os.system("sleep 600 &"),
    lambda: os.popen("sleep 600 &"),
    lambda: os.execv("/bin/sh", ["sh", "-c", "exit 0"]),
    lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
)
for attempt in ATTEMPTS:
    try:
        attempt()
    except Exception:
        continue


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
