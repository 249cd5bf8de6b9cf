"""A correct solution in another idiom: the gradients are written as formulas."""

import torch
from torch import nn


def probabilities(x, weight, bias):
    return 1 / (1 + torch.exp(-((x * weight).sum(dim=1) + bias)))


def log_loss(p, targets):
    right = torch.where(targets == 1, p, 1 - p)
    return right.log().mean().neg()


class Classifier(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(features))
        self.bias = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        return probabilities(x, self.weight, self.bias)

    @torch.no_grad()
    def step(self, x, targets, rate):
        p = self(x)
        errors = (p - targets) / len(x)
        self.weight -= rate * (errors @ x)
        self.bias -= rate * errors.sum()
        return log_loss(p, targets)
