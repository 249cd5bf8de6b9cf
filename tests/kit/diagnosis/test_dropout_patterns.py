"""Tests the descriptions of results in which dropout sets numbers to zero."""

import pytest
import torch
from torch import nn

from autograder.diagnosis.dropout_patterns import describe_dropout, drops_at_random

X = torch.arange(1.0, 41.0).reshape(5, 8).sin() + 2
DROPPED = nn.functional.dropout(torch.ones(5, 8), 0.3)  # 1 / 0.7, or 0
STEPS = [("softmax", X), ("dropout", X * DROPPED)]


@pytest.mark.parametrize(
    ("p", "found"), [pytest.param(0.5, True, id="drops"), pytest.param(0.0, False, id="keeps")]
)
def test_dropout_is_recognized_where_it_changes_a_tensor(p: float, found: bool):  # noqa: FBT001  # a parameter of the test
    """Dropout is recognized only if its probability is above zero."""
    steps = [("softmax", X), ("dropout", nn.functional.dropout(X, p))]

    assert drops_at_random(steps) is found


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        pytest.param(X * (X > 1.5), True, id="kept-as-they-are"),
        pytest.param(X * (X > 1.5) / 0.7, False, id="divided-by-what-is-kept"),
        pytest.param(X * (X > 1.5) * 0.5, False, id="another-factor"),
        pytest.param(X[:1] * 0, False, id="other-shape"),
        pytest.param(X * 0, False, id="nothing-kept"),
        pytest.param("text", False, id="no-tensor"),
    ],
)
def test_kept_numbers_that_are_not_rescaled_are_recognized(answer: object, found: bool):  # noqa: FBT001  # a parameter of the test
    """Only numbers that both programs keep are compared, because dropout is random."""
    assert (describe_dropout(answer, X * DROPPED, STEPS) is not None) is found
