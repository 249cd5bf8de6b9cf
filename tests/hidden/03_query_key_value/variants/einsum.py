import torch
from torch import einsum, nn


def draw_weights(d_in, d_out, distribution="rand"):
    draws = {"rand": torch.rand, "randn": torch.randn}
    if distribution not in draws:
        raise ValueError(f"don't know {distribution}")
    draw = draws[distribution]
    return tuple(nn.Parameter(draw(d_in, d_out), requires_grad=False) for _ in range(3))


def project(inputs, weight):
    return einsum("...i,io->...o", inputs, weight)


def attention_scores(queries, keys):
    return einsum("...d,jd->...j", queries, keys)


def attention_weights(scores, d_k):
    return (scores * d_k**-0.5).softmax(-1)


def context_vectors(weights, values):
    return einsum("...j,jv->...v", weights, values)


def self_attention(inputs, W_query, W_key, W_value):
    queries = einsum("ti,id->td", inputs, W_query)
    keys = einsum("ti,id->td", inputs, W_key)
    values = einsum("ti,iv->tv", inputs, W_value)
    scores = einsum("qd,kd->qk", queries, keys)
    return einsum("qk,kv->qv", (scores * keys.size(-1) ** -0.5).softmax(-1), values)
