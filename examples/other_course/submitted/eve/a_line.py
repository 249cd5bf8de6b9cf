"""A line that learns: logistic regression, which separates two classes by a line.

Shapes in this stage: x is (N, D), one example per row; targets is (N,), 1.0 or 0.0 each.
"""

import torch
from torch import Tensor, nn


def probabilities(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the probability of class 1 for each example: (N, D), (D,), () -> (N,).

    It is the sigmoid of the sum of the weighted features and the bias.
    """
    return torch.sigmoid(x @ weight + bias)


def log_loss(p: Tensor, targets: Tensor) -> Tensor:
    """Return minus the mean logarithm of the probability of the right class: (N,), (N,) -> ().

    p are probabilities of class 1, so the probability of class 0 is 1 - p.
    """
    right = targets * p.log() + (1 - targets) * (1 - p).log()  # (N,)
    return -right.mean()


class Classifier(nn.Module):
    """A model with the parameters weight (D,) and bias (), both 0 at the start."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(features))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """Return the probability of class 1 for each example: (N, D) -> (N,)."""
        return probabilities(x, self.weight, self.bias)

    def step(self, x: Tensor, targets: Tensor, rate: float) -> Tensor:
        """Make one step of gradient descent, and return the log loss before the step: ().

        Each parameter moves by *rate* times its gradient, against it. No gradient is left for the
        next step.
        """
        loss = log_loss(self(x), targets)
        loss.backward()
        with torch.no_grad():
            for parameter in self.parameters():
                parameter -= rate * parameter.grad
        return loss.detach()
