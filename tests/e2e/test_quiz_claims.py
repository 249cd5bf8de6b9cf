"""Tests the statements about wrong attention weights that a hunt offers."""

import random
from math import nan
from pathlib import Path

import pytest

from autograder.student.quiz import choose, claims_of, true_claims
from autograder.student.stage_picture import differs

CLAIMS = claims_of(Path(__file__).parents[2] / "source" / "04_self_attention")
RANDOM = random.Random(1)  # noqa: S311  # no secret depends on it
RIGHT = ((1.0, 0.0, 0.0), (0.6, 0.4, 0.0), (0.2, 0.3, 0.5))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        pytest.param(((1, 0, 0), (0.6, 0.1, 0), (0.2, 0.3, 0.5)), "At least one row", id="sum"),
        pytest.param(((1, 0, 0), (0, 0.7, 0.3), (0, 0.3, 0.7)), "Each column", id="columns"),
        pytest.param(((0.4, 0.6, 0), (0.6, 0.4, 0), (0.2, 0.3, 0.5)), "A token", id="future"),
        pytest.param(
            ((1, 0, 0), (0.3, 0.7, 0), (0.2, 0.3, 0.5)), "In at least one row", id="moved"
        ),
        pytest.param(((1, 0, 0), (1, 0, 0), (0.2, 0.3, 0.5)), "Rows are sharper", id="sharper"),
        pytest.param(((1, 0, 0), (0.5, 0.5, 0), (0.2, 0.3, 0.5)), "Rows are flatter", id="flatter"),
        pytest.param(((1, 0, 0), (0.5, 0.5, 0), (0.1, 0.1, 0.8)), "Some rows are", id="mixed"),
        pytest.param(((1, 0, 0), (0.6, 0.4, 0), (0.4, 0.1, 0.5)), "Only weights", id="smaller"),
        pytest.param(
            ((1, 0, 0), (1.2, -0.2, 0), (0.2, 0.3, 0.5)), "At least one weight", id="sign"
        ),
        pytest.param(((nan, nan, nan), *RIGHT[1:]), "Some weights are", id="nan"),
        pytest.param(((1 / 3,) * 3,) * 3, "In each row", id="even"),
    ],
)
def test_a_claim_is_true_of_the_wrong_picture_alone(wrong, sentence):
    """One claim among the choices is true of the wrong weights and false of the correct ones."""
    true = [CLAIMS[index].sentence for index in true_claims(CLAIMS, wrong, RIGHT)]
    chosen = choose(CLAIMS, wrong, RIGHT, RANDOM)

    assert any(text.startswith(sentence) for text in true)
    assert len(set(chosen) & set(true_claims(CLAIMS, wrong, RIGHT))) == 1
    assert not true_claims(CLAIMS, RIGHT, RIGHT)


@pytest.mark.parametrize(
    ("wrong", "right", "is_true"),
    [
        pytest.param((0.2, 0.4, 0.4), (0.2, 0.405, 0.395), False, id="tie"),
        pytest.param((0.3, 0.3, 0.4), (0.2, 0.405, 0.395), False, id="the-other-column"),
        pytest.param((0.5, 0.1, 0.4), (0.1, 0.45, 0.45), True, id="a-third-column"),
    ],
)
def test_the_largest_weight_of_a_tie_is_in_each_of_its_columns(wrong, right, is_true):
    """If two weights of a row are the largest as far as digits show, neither column is another."""
    true = [CLAIMS[index].sentence for index in true_claims(CLAIMS, (wrong,), (right,))]

    assert any("in a different column" in text for text in true) is is_true


def test_an_objection_about_sizes_shows_both_pictures():
    """A learner who chose "flatter" reads the largest weights of both pictures."""
    (claim,) = [one for one in CLAIMS if one.sentence.startswith("Rows are flatter")]

    assert claim.shows(((0.9, 0.1),), ((0.6, 0.4),)) == (
        "The largest weights of its rows are 0.90; those of yours are 0.60."
    )


@pytest.mark.parametrize("seed", range(200))
def test_the_true_symptom_is_always_among_the_answers(seed: int):
    """Any two pictures that differ clearly have one true claim among the choices."""
    draw = random.Random(seed)  # noqa: S311  # a picture, not a secret
    wrong = tuple(
        tuple(entry + draw.uniform(-1, 1) * draw.random() for entry in row) for row in RIGHT
    )
    true = true_claims(CLAIMS, wrong, RIGHT)

    assert differs(wrong, RIGHT)
    assert len(set(choose(CLAIMS, wrong, RIGHT, draw)) & set(true)) == 1


@pytest.mark.parametrize("rows", [1, 3])
def test_nan_is_asked_about_before_its_sums(rows: int):
    """If a picture contains nan, the true answer is the claim about nan, not about sums."""
    wrong = (*((nan,) * 3,) * rows, *RIGHT[rows:])
    (asked,) = set(choose(CLAIMS, wrong, RIGHT, RANDOM)) & set(true_claims(CLAIMS, wrong, RIGHT))

    assert CLAIMS[asked].sentence == "Some weights are nan."
