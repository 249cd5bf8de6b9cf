"""Tests the text of the labs that train on characters."""

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


def test_a_reader_of_frequencies_loses_three_nats():
    """The dotted line of the labs is the loss on held-out stories."""
    assert stories.frequencies_loss() == pytest.approx(3.005, abs=0.001)
