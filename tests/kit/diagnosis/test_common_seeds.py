"""Tests values that torch draws with common seeds."""

import torch

from autograder.diagnosis.common_seeds import DRAWS, drawn


def test_each_draw_is_that_of_torch_with_its_seed():
    """The second draw after a seed differs from the first."""
    torch.default_generator.manual_seed(42)
    first, second = (torch.randn(2, 3).double() for _ in range(2))

    assert torch.equal(drawn((2, 3))[DRAWS.index((42, "torch.randn", 0))], first)
    assert torch.equal(drawn((2, 3))[DRAWS.index((42, "torch.randn", 1))], second)


def test_a_layer_draws_its_weight():
    """A layer's weight has as many rows as the layer has outputs."""
    torch.default_generator.manual_seed(0)
    weight = torch.nn.Linear(3, 2, bias=False).weight.detach().double()

    assert torch.equal(drawn((2, 3))[DRAWS.index((0, "nn.Linear", 0))], weight)


def test_the_callers_generator_stays_as_it_was():
    """Recognizing draws does not change the caller's generator."""
    before = torch.default_generator.get_state()
    drawn((3, 5))

    assert torch.equal(torch.default_generator.get_state(), before)
