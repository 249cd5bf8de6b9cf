import torch


def causal_mask(size):
    i = torch.arange(size)
    return torch.where(i[None] <= i[:, None] + 1, 1.0, 0.0)
