"""Tests the text of the labs that train on characters."""

import re
from pathlib import Path

import pytest
import torch

from autograder.student.course_modules import course_module

LAB = Path(__file__).parents[2] / "source" / "13_positions"
stories = course_module(LAB, "stories")


def test_the_two_texts_share_their_symbols_and_no_long_sentence():
    """The held-out stories have no new symbol, and no sentence of five words of the training."""
    train, held = stories.decode(stories.TRAIN), stories.decode(stories.HELD)
    sentences = [one for one in held.replace("\n", " ").split(". ") if len(one.split()) >= 8]

    assert (len(stories.TRAIN), len(stories.HELD), len(stories.SYMBOLS)) == (106_917, 11_169, 48)
    assert set(held) <= set(stories.SYMBOLS)
    assert sentences
    assert not [one for one in sentences if f"{one}." in train]


def test_a_text_is_encoded_and_decoded():
    """Characters that the stories do not have are left out."""
    assert stories.decode(stories.encode("Pip § sat.")) == "Pip  sat."
    assert stories.encode("§").shape == (0,)


def test_the_targets_are_the_ids_one_further():
    """Each piece has the length that was asked for, and ends before its last target."""
    inputs, targets = stories.pieces(torch.arange(9), torch.tensor([0, 4]), 4)

    assert inputs.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert torch.equal(targets, inputs + 1)


def test_no_held_out_story_is_in_the_training_text():
    """A story is a line; words and sentences recur, stories do not."""
    train, held = (stories.decode(ids).splitlines() for ids in (stories.TRAIN, stories.HELD))
    words = [set(re.findall("[a-z]+", " ".join(lines).lower())) for lines in (train, held)]

    assert not set(train) & set(held)
    assert words[1] <= words[0]


def test_a_reader_of_frequencies_loses_three_nats():
    """The dotted line of the labs is the loss on held-out stories."""
    assert stories.frequencies_loss() == pytest.approx(3.005, abs=0.001)
    assert stories.frequencies_loss(stories.POEMS) == pytest.approx(3.29, abs=0.01)


def test_a_table_of_the_text_itself_is_the_best_table_of_pairs():
    """A table with other numbers in a row has a higher loss on that text."""
    ids = stories.HELD[:2000]
    counts = torch.zeros(48, 48).index_put((ids[:-1], ids[1:]), torch.ones(1999), accumulate=True)
    moved = [(counts + 0.1 * torch.rand(48, 48)) for _ in range(3)]
    losses = [
        -(table / table.sum(dim=1, keepdim=True))[ids[:-1], ids[1:]].log().mean().item()
        for table in (counts, *moved)
    ]

    assert stories.least_pairs_loss(ids) == pytest.approx(losses[0], abs=1e-5)
    assert min(losses[1:]) > losses[0]


def test_the_bounds_in_the_plot_of_lab_15():
    """No table of pairs is below 2.12 on held-out stories; counted triples are at 1.39."""
    assert stories.least_pairs_loss() == pytest.approx(2.120, abs=0.001)
    assert stories.triples_loss() == pytest.approx(1.393, abs=0.001)
