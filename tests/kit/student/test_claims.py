"""What can be said of wrong attention weights."""

import random
from math import nan

import pytest

from autograder.student.claims import CLAIMS, choose, differs, true_claims, wrong_rows

RANDOM = random.Random(1)  # noqa: S311  # no secret depends on it
RIGHT = ((1.0, 0.0, 0.0), (0.6, 0.4, 0.0), (0.2, 0.3, 0.5))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        pytest.param(((1, 0, 0), (0.6, 0.1, 0), (0.2, 0.3, 0.5)), "Some row", id="sum"),
        pytest.param(((1, 0, 0), (0, 0.7, 0.3), (0, 0.3, 0.7)), "Each column", id="columns"),
        pytest.param(((0.4, 0.6, 0), (0.6, 0.4, 0), (0.2, 0.3, 0.5)), "A token", id="future"),
        pytest.param(((1, 0, 0), (1, 0, 0), (0.2, 0.3, 0.5)), "Some token", id="itself"),
        pytest.param(((1, 0, 0), (1.2, -0.2, 0), (0.2, 0.3, 0.5)), "Some weight is", id="sign"),
        pytest.param(((nan, nan, nan), *RIGHT[1:]), "Some weights are", id="nan"),
        pytest.param(((1 / 3,) * 3,) * 3, "Each token", id="even"),
    ],
)
def test_a_claim_is_true_of_the_wrong_picture_alone(wrong, sentence):
    """A claim among the choices holds of the wrong weights, and not of the right ones."""
    true = [CLAIMS[index].sentence for index in true_claims(wrong, RIGHT)]
    chosen = choose(wrong, RIGHT, RANDOM)

    assert any(text.startswith(sentence) for text in true)
    assert len(set(chosen) & set(true_claims(wrong, RIGHT))) == 1
    assert not true_claims(RIGHT, RIGHT)


def test_where_no_claim_tells_them_apart_a_row_does():
    """The row with the largest difference, counted from 1."""
    wrong = (RIGHT[0], RIGHT[1], (0.3, 0.1, 0.6))

    assert choose(wrong, RIGHT, RANDOM) == []
    assert wrong_rows(wrong, RIGHT) == [3]
    assert differs(wrong, RIGHT)
    assert not differs(RIGHT, RIGHT)
