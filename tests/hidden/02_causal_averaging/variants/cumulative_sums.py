"""Uses running sums in the loop and in the weights, and writes one product out as a sum of terms."""

import torch


def causal_mean_loop(x):
    total = torch.zeros_like(x[:, 0])
    means = []
    for t, token in enumerate(x.unbind(dim=1), start=1):
        total = total + token
        means.append(total / t)
    return torch.stack(means, dim=1)


def averaging_weights(T):
    return torch.eye(T).cumsum(dim=0) / torch.arange(1, T + 1).unsqueeze(1)


def causal_mean_matmul(x):
    weights = averaging_weights(x.shape[1])
    return (weights[None, :, :, None] * x[:, None]).sum(dim=2)


def masked_softmax_weights(T):
    triangle = torch.ones(T, T).tril()
    exponentials = triangle * torch.exp(torch.zeros(T, T))
    return exponentials / exponentials.sum(-1, keepdim=True)


def causal_mean_softmax(x):
    weights = masked_softmax_weights(x.shape[1])
    return torch.cat([weights[None] @ item[None] for item in x])
