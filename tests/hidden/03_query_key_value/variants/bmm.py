import torch


def draw_weights(d_in, d_out, distribution="rand"):
    if distribution not in ["rand", "randn"]:
        raise ValueError("distribution")
    draw = torch.rand if distribution == "rand" else torch.randn
    with torch.no_grad():
        W_query = torch.nn.Parameter(draw(d_in, d_out), False)
        W_key = torch.nn.Parameter(draw(d_in, d_out), False)
        W_value = torch.nn.Parameter(draw(d_in, d_out), False)
    return (W_query, W_key, W_value)


def project(inputs, weight):
    rows = inputs.reshape(1, -1, inputs.shape[-1])
    return torch.bmm(rows, weight[None])[0].reshape(*inputs.shape[:-1], weight.shape[1])


def attention_scores(queries, keys):
    rows = queries.reshape(1, -1, queries.shape[-1])
    return torch.bmm(rows, keys[None].permute(0, 2, 1)).reshape(*queries.shape[:-1], keys.shape[0])


def attention_weights(scores, d_k):
    log_weights = torch.log_softmax(scores / pow(d_k, 0.5), dim=scores.ndim - 1)
    return torch.exp(log_weights)


def context_vectors(weights, values):
    rows = weights.reshape(1, -1, weights.shape[-1])
    return torch.bmm(rows, values[None]).view(*weights.shape[:-1], values.shape[1])


def self_attention(inputs, W_query, W_key, W_value):
    fused = torch.cat([W_query, W_key, W_value], dim=1)
    sizes = [W_query.shape[1], W_key.shape[1], W_value.shape[1]]
    queries, keys, values = (inputs @ fused).split(sizes, dim=1)
    return torch.nn.functional.scaled_dot_product_attention(
        queries[None], keys[None], values[None]
    )[0]
