"""Zeros of the right shapes."""

import torch
from torch import nn


def probabilities(x, weight, bias):
    return torch.zeros(len(x))


def log_loss(p, targets):
    return torch.zeros(())


class Classifier(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(features))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return torch.zeros(len(x))

    def step(self, x, targets, rate):
        return torch.zeros(())
