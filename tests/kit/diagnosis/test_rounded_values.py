"""Tests answers as JSON values, which are rounded."""

import json

import pytest
import torch

from autograder.diagnosis.rounded_values import MAX_ENTRIES, to_json_value
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.noise import is_same


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param(torch.ones(2), torch.ones(2) + 1e-6, True, id="float-noise"),
        pytest.param(torch.ones(2), torch.ones(2) + 1e-3, False, id="other-values"),
        pytest.param(torch.ones(2), torch.ones(2, 1), False, id="other-shape"),
        pytest.param(torch.ones(2), torch.ones(2).double(), False, id="other-dtype"),
        pytest.param(torch.tensor([torch.nan]), torch.tensor([torch.nan]), True, id="nan"),
        pytest.param(torch.tensor([torch.inf]), torch.tensor([-torch.inf]), False, id="inf"),
        pytest.param(torch.tensor([-0.0]), torch.tensor([0.0]), True, id="zero-has-no-sign"),
        pytest.param(torch.zeros(9999), torch.zeros(9998), False, id="large"),
        pytest.param({"w": torch.ones(1)}, {"v": torch.ones(1)}, False, id="other-names"),
        pytest.param([1.0], (1.0,), True, id="list-or-tuple"),
        pytest.param(1, True, False, id="number-or-boolean"),
        pytest.param(1, 1.0, False, id="int-or-float"),
        pytest.param(None, "None", False, id="none-or-a-string"),
        pytest.param({(1, 2): 3}, {(1, 2): 3}, True, id="equal-keys"),
        pytest.param({(1, 2): 3}, {"(1, 2)": 3}, False, id="text-for-a-pair"),
        pytest.param({1: 3}, {"1": 3}, False, id="text-for-a-number"),
        pytest.param({"a", "b", "c"}, {"c", "b", "a"}, True, id="sets-have-no-order"),
        pytest.param(b"a", "a", False, id="bytes-or-a-string"),
        pytest.param([*range(99)], (*range(99),), True, id="long-list-or-tuple"),
        pytest.param([*range(99)], [*range(98), 7], False, id="long-lists"),
        pytest.param([0.5] * 99, [0.5 + 1e-8] * 99, True, id="noise-in-a-long-list"),
        pytest.param(OpaqueValue("set"), OpaqueValue("map"), False, id="opaque-values"),
    ],
)
def test_answers_are_the_same_up_to_noise(left, right, same):
    """Answers are compared by the same rule after a round trip through JSON."""
    kept = json.loads(json.dumps(to_json_value(left), allow_nan=False))

    assert is_same(to_json_value(right), kept) is same


def test_of_a_large_tensor_one_entry_a_sum_and_the_scale_are_kept():
    """Three numbers stand for a large tensor, or two if its numbers are whole."""
    large = torch.arange(10_000)
    kept = [to_json_value(one) for one in (large.float(), large)]
    small = to_json_value(torch.arange(float(MAX_ENTRIES)))

    assert [*kept[0]["10000"][::2], len(kept[0]["10000"])] == [6180.0, 9999.0, 3]
    assert kept[1]["int64 10000"] == kept[0]["10000"][:2]
    assert small == {"4": [0.0, 1.0, 2.0, 3.0]}


def test_strings_are_hashed():
    """No part of a text, which may quote code, is kept."""
    kept = to_json_value("x = queries @ keys.T")

    assert set(kept) <= set("0123456789abcdef")
    assert kept != to_json_value("x = queries @ values.T")


def test_a_change_of_any_entry_shows():
    """One number depends on all entries of a tensor, even on those that are not kept."""
    tensor = torch.ones(9, 9)
    for index in range(81):
        changed = tensor.clone()
        changed.view(-1)[index] = 1.01

        assert not is_same(to_json_value(tensor), to_json_value(changed))
