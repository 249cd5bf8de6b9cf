import torch
from torch import nn

DISTRIBUTIONS = dict(rand=torch.rand, randn=torch.randn)


def draw_weights(d_in, d_out, distribution="rand", names=("query", "key", "value")):
    if distribution not in DISTRIBUTIONS:
        raise ValueError("unknown: " + str(distribution))
    made = {}
    for name in names:
        made[name] = nn.Parameter(DISTRIBUTIONS[distribution](d_in, d_out), requires_grad=False)
    return tuple(made.values())


def project(inputs, weight):
    return torch.nn.functional.linear(inputs, weight.T)


def attention_scores(queries, keys):
    return torch.inner(queries, keys)


def attention_weights(scores, d_k, verbose=False):
    weights = nn.Softmax(dim=-1)(scores / torch.sqrt(torch.tensor(float(d_k))))
    if verbose:
        print(weights.sum(-1))
    return weights


def context_vectors(weights, values):
    return torch.tensordot(weights, values, dims=1)


def self_attention(inputs, W_query, W_key, W_value):
    queries, keys, values = (project(inputs, W) for W in (W_query, W_key, W_value))
    weights = attention_weights(attention_scores(queries, keys), keys.shape[-1])
    return context_vectors(weights, values)


inputs = torch.tensor([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64]])
torch.manual_seed(123)
W_query, W_key, W_value = draw_weights(3, 2)
print(self_attention(inputs, W_query, W_key, W_value))
