import torch


def draw_weights(d_in, d_out, distribution="rand"):
    assert distribution in ("rand", "randn"), "rand or randn"
    weights = []
    for _ in range(3):
        if distribution == "rand":
            drawn = torch.rand(d_in, d_out)
        else:
            drawn = torch.randn(d_in, d_out)
        weights.append(torch.nn.Parameter(drawn, requires_grad=False))
    return weights


def project(inputs, weight):
    if inputs.dim() == 1:
        return sum(inputs[i] * weight[i] for i in range(len(inputs)))
    return torch.stack([project(row, weight) for row in inputs])


def attention_scores(queries, keys):
    if queries.dim() == 1:
        return torch.stack([torch.dot(queries, key) for key in keys])
    scores = torch.empty(queries.shape[0], keys.shape[0], dtype=queries.dtype)
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            scores[i, j] = torch.dot(query, key)
    return scores


def attention_weights(scores, d_k):
    if scores.dim() == 1:
        exponentials = torch.exp(scores / d_k**0.5)
        return exponentials / exponentials.sum()
    return torch.stack([attention_weights(row, d_k) for row in scores])


def context_vectors(weights, values):
    if weights.dim() == 2:
        return torch.stack([context_vectors(row, values) for row in weights])
    context = torch.zeros(values.shape[1])
    for weight, value in zip(weights, values):
        context = context + weight * value
    return context


def self_attention(inputs, W_query, W_key, W_value):
    rows = []
    for x in inputs:
        query = x @ W_query
        scores = [(query * (other @ W_key)).sum() for other in inputs]
        shares = torch.softmax(torch.stack(scores) / W_key.shape[1] ** 0.5, dim=0)
        rows.append(sum(share * (other @ W_value) for share, other in zip(shares, inputs)))
    return torch.stack(rows)
