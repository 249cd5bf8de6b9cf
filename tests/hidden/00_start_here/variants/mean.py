"""A correct solution in another idiom: the mean of both."""

import torch


def mix(a, b):
    return torch.stack([a, b]).mean(dim=0)
