import torch


def draw_weights(d_in, d_out, distribution="rand"):
    if distribution != "rand" and distribution != "randn":
        raise ValueError("distribution should be rand or randn")

    def one():
        matrix = getattr(torch, distribution)(d_in, d_out)
        return torch.nn.Parameter(matrix, requires_grad=False)

    W_query = one()
    W_key = one()
    W_value = one()
    return [W_query, W_key, W_value]


def project(inputs, weight):
    return (inputs.double() @ weight.double()).to(inputs.dtype)


def attention_scores(queries, keys):
    return (queries.double() @ keys.double().T).to(queries.dtype)


def attention_weights(scores, d_k):
    return torch.softmax(scores.double() / d_k**0.5, -1).to(scores.dtype)


def context_vectors(weights, values):
    return (weights.double() @ values.double()).to(values.dtype)


def self_attention(inputs, W_query, W_key, W_value):
    x = inputs.double()
    q, k, v = x @ W_query.double(), x @ W_key.double(), x @ W_value.double()
    return (torch.softmax(q @ k.T / k.shape[1] ** 0.5, -1) @ v).to(inputs.dtype)
