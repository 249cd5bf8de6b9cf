import torch


def causal_mean_loop(x):
    before = x.cumsum(1) - x
    n = torch.arange(x.size(1), dtype=x.dtype).view(1, -1, 1)
    return before / n
