"""A correct solution with torch's own loss and optimizer."""

import torch
from torch import nn
from torch.nn import functional as F


def probabilities(x, weight, bias):
    return F.linear(x, weight[None, :], bias[None]).squeeze(1).sigmoid()


def log_loss(p, targets):
    return F.binary_cross_entropy(p, targets)


class Classifier(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(features))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return probabilities(x, self.weight, self.bias)

    def step(self, x, targets, rate):
        optimizer = torch.optim.SGD(self.parameters(), lr=rate)
        optimizer.zero_grad()
        loss = log_loss(self.forward(x), targets)
        loss.backward()
        optimizer.step()
        return loss.detach()
