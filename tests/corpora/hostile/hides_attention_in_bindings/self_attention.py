"""Binds the ready attention in forms that are no plain assignment, and calls it in threads."""

import threading

import torch
import torch.nn.functional as F
from torch import nn

annotated: object = F.scaled_dot_product_attention
in_pair, _ = F.scaled_dot_product_attention, None
if True:

    def nested(*args):
        return in_thread(F.scaled_dot_product_attention, args)


def in_thread(function, args):
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*args)))
    thread.start()
    thread.join()
    return results[0]


def first(*args):
    return in_thread(annotated, args)


def second(*args):
    return in_thread(in_pair, args)


class SelfAttentionV1(nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        shape = (dimension_inputs, dimension_outputs)
        self.W_q = nn.Parameter(torch.randn(shape), requires_grad=False)
        self.W_k = nn.Parameter(torch.randn(shape), requires_grad=False)
        self.W_v = nn.Parameter(torch.randn(shape), requires_grad=False)

    def forward(self, x):
        return first(x @ self.W_q, x @ self.W_k, x @ self.W_v)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        return second(x @ self.W_query, x @ self.W_key, x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        return nested(self.W_query(x), self.W_key(x), self.W_value(x))
