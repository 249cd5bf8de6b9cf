"""Computes what is right, and adds 5 MiB to each reply under a name that nobody asked for."""

import os
import sys

import msgspec
import torch
from torch import nn

worker = sys.modules["autograder.sandbox.worker"]
real = worker._answer


def heavy(executor, batch, number, max_bytes):
    last, body = real(executor, batch, number, max_bytes)
    if batch.requests[last].verb in {"call", "forward", "gradients", "operators", "parameters"}:
        ballast = os.urandom(16) + bytes(5 << 20)
        body = b"\x84" + body[1:] + msgspec.msgpack.encode("ballast") + msgspec.msgpack.encode(ballast)
    return last, body


worker._answer = heavy


class SelfAttentionV1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            setattr(self, name, nn.Parameter(torch.randn(d_in, d_out), requires_grad=False))

    def forward(self, x):
        queries, keys, values = x @ self.W_q, x @ self.W_k, x @ self.W_v
        return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values


SelfAttention_v2 = SelfAttention_v1
