import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def draw_weights(d_in: int, d_out: int, distribution: str = "rand"):
    match distribution:
        case "rand":
            draw = torch.rand
        case "randn":
            draw = torch.randn
        case _:
            raise ValueError(distribution)
    W_query, W_key, W_value = (nn.Parameter(draw((d_in, d_out))) for _ in range(3))
    for weight in (W_query, W_key, W_value):
        weight.requires_grad_(False)
    return W_query, W_key, W_value


def project(inputs, weight):
    return torch.matmul(inputs, weight)


def attention_scores(queries, keys):
    return torch.matmul(keys, queries.mT).mT if queries.ndim == 2 else keys @ queries


def attention_weights(scores, d_k):
    scaled = scores.div(math.sqrt(d_k))
    shifted = scaled - scaled.max(dim=-1, keepdim=True).values
    return shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)


def context_vectors(weights, values):
    return (weights.unsqueeze(-1) * values).sum(dim=-2)


def self_attention(inputs, W_query, W_key, W_value):
    queries = (inputs @ W_query) / math.sqrt(W_query.size(1))
    keys = inputs @ W_key
    shares = F.softmax(queries @ keys.transpose(-2, -1), -1)
    return shares @ (inputs @ W_value)
