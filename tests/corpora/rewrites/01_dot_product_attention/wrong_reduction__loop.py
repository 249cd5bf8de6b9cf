import torch


def context_vector(weights, inputs):
    ctx = torch.zeros(inputs.size(1))
    for i, x_i in enumerate(inputs):
        ctx = ctx + weights[i] * x_i
    return ctx / inputs.size(0)
