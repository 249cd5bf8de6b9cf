"""Tests copying values of a check into the parameters of a student's module."""

import pytest
import torch
from torch import Tensor, nn

from autograder.sandbox.module_parameters import (
    MissingError,
    load,
    match,
    parameters,
    replace,
    require_tensor,
)

VALUES = {"layer.weight": torch.eye(2), "layer.bias": torch.tensor([2.0, 3.0])}
BIAS = ("layer.bias",)


class Layers(nn.Module):
    """A module with one layer, which may lack its bias, and a buffer."""

    def __init__(self, *, bias: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2, bias=bias)
        self.register_buffer("mask", torch.eye(2))


def test_load_copies_values_into_the_parameters_that_are_there():
    """A loaded parameter stays the same object, because the code may refer to it elsewhere."""
    module = Layers(bias=True)
    kept = module.layer.bias
    load(module, VALUES, (), {})

    assert module.layer.bias is kept
    assert torch.equal(kept, VALUES["layer.bias"])


def test_other_names_are_matched_in_order_if_the_shapes_agree():
    """A parameter with another name gets the value in its place, and is called by its name."""
    module, names = Layers(bias=True), {}
    load(module, {"layer.weight": torch.ones(2, 2), "b": torch.ones(2)}, (), names)

    assert names == {"layer.bias": "b"}
    assert parameters(module, names)["b"] is module.layer.bias
    assert match(module, ["w", "b"]) == {"layer.weight": "w", "layer.bias": "b"}
    assert match(module, ["w", "b"], [torch.ones(2), torch.ones(2)]) == {}
    assert match(module, ["w"]) == {}


@pytest.mark.parametrize("name", ["layer.bias"])
def test_a_layer_gets_the_bias_that_it_may_lack(name: str):
    """The layer uses the new bias, so that checks of its results show only other mistakes."""
    module = Layers(bias=False)
    load(module, {name: VALUES["layer.bias"]}, (name,), {})

    assert torch.equal(module.layer(torch.zeros(2)), VALUES["layer.bias"])
    assert "layer.bias" in dict(module.named_parameters())


def test_the_given_value_stays_as_it_was():
    """A later change of the parameter does not change the value of the check."""
    module, given = Layers(bias=False), torch.zeros(2)
    load(module, {"layer.bias": given}, BIAS, {})
    load(module, VALUES, BIAS, {})

    assert torch.equal(given, torch.zeros(2))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param("layer.bias", torch.ones(2), "no parameter layer.bias", id="required-bias"),
        pytest.param("layer.gain", torch.ones(2), "no parameter layer.gain", id="unknown-to-it"),
        pytest.param("other.bias", torch.ones(2), "no parameter other.bias", id="no-such-layer"),
        pytest.param("mask", torch.ones(2, 2), "no parameter mask", id="buffer"),
        pytest.param("layer.weight", torch.ones(3), "shape (2, 2), not (3,)", id="wrong-shape"),
    ],
)
def test_a_value_without_a_place_is_refused(name: str, value: Tensor, words: str):
    """Only a parameter that a layer may lack is added; the message lists those that are there."""
    may_lack = () if name == "layer.bias" else (name,)

    with pytest.raises(MissingError) as caught:
        load(Layers(bias=False), {name: value}, may_lack, {})
    assert words in str(caught.value)


def test_replace_puts_values_of_any_shape_in_place():
    """A replaced parameter has the shape of the value; None removes a parameter."""
    module = Layers(bias=True)
    replace(module, {"layer.weight": torch.ones(5, 2), "layer.bias": None})

    assert module.layer(torch.ones(2)).shape == (5,)
    assert [name for name, _ in module.named_parameters()] == ["layer.weight"]


def test_replace_refuses_an_unknown_layer():
    """A parameter of a missing layer is refused with the name of the layer."""
    with pytest.raises(MissingError, match="no module other"):
        replace(Layers(bias=True), {"other.weight": torch.ones(2)})


def test_a_value_must_be_a_tensor():
    """A value of any other type is refused with its type."""
    with pytest.raises(TypeError, match="not str"):
        require_tensor("one")
