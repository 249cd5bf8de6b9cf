"""A line that learns: logistic regression, which separates two classes by a line.

Shapes in this stage: x is (N, D), one example per row; targets is (N,), 1.0 or 0.0 each.

Rules for this stage, which are graded like the results:

- Properties count only if the results are right for other inputs too.
"""

import torch
from torch import Tensor, nn


def probabilities(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the probability of class 1 for each example: (N, D), (D,), () -> (N,).

    It is the sigmoid of the sum of the weighted features and the bias.
    """
    raise NotImplementedError


def log_loss(p: Tensor, targets: Tensor) -> Tensor:
    """Return minus the mean logarithm of the probability of the right class: (N,), (N,) -> ().

    p are probabilities of class 1, so the probability of class 0 is 1 - p.
    """
    raise NotImplementedError


class Classifier(nn.Module):
    """A model with the parameters weight (D,) and bias (), both 0 at the start."""

    def __init__(self, features: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return the probability of class 1 for each example: (N, D) -> (N,)."""
        raise NotImplementedError

    def step(self, x: Tensor, targets: Tensor, rate: float) -> Tensor:
        """Make one step of gradient descent, and return the log loss before the step: ().

        Each parameter moves by *rate* times its gradient, against it. No gradient is left for the
        next step.
        """
        raise NotImplementedError
