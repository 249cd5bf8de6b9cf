"""The steps as documents 000 and 002 write them."""

import torch


def draw_weights(d_in, d_out, distribution="rand"):
    if distribution == "rand":
        W_query = torch.nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        W_key = torch.nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        W_value = torch.nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
    elif distribution == "randn":
        W_query = torch.nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)
        W_key = torch.nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)
        W_value = torch.nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)
    else:
        raise ValueError("unknown distribution")
    return W_query, W_key, W_value


def project(inputs, weight):
    return inputs @ weight


def attention_scores(queries, keys):
    omega = queries @ keys.T
    return omega


def attention_weights(scores, d_k):
    return torch.softmax(scores / d_k**0.5, dim=-1)


def context_vectors(weights, values):
    return weights @ values


def self_attention(inputs, W_query, W_key, W_value):
    keys = inputs @ W_key
    queries = inputs @ W_query
    values = inputs @ W_value
    omega = queries @ keys.T
    dimension_keys = keys.shape[1]
    shares = torch.softmax(omega / dimension_keys**0.5, dim=1)
    return shares @ values
