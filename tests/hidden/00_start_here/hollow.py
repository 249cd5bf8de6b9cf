"""Zeros of the right shapes."""

import torch


def mix(a, b):
    return torch.zeros_like(a)
