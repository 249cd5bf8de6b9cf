"""Tests the small tasks on which labs train a learner's attention."""

from pathlib import Path

import torch
from torch import nn

from autograder.student.course_modules import course_module

tasks = course_module(Path(__file__).parents[2] / "source" / "06_attention_head", "letter_tasks")


def test_the_marked_letter_is_wanted_from_the_mark_on():
    """Tokens before the mark have no target, because they can't see the mark."""
    tokens, wanted = tasks.marked_letter(50)
    for text, answer in zip(tokens, wanted[..., 0], strict=True):
        place = int(text[:, 6].argmax())

        assert (answer[:place] == tasks.UNKNOWN).all()
        assert (answer[place:] == text[place, :6].argmax()).all()


def test_the_two_letters_before_are_wanted():
    """The targets are the letter before and the one before that, if they exist."""
    tokens, wanted = tasks.two_letters_before(50)
    letters = tokens[..., :6].argmax(dim=-1)

    assert (wanted[:, 0] == tasks.UNKNOWN).all()
    assert torch.equal(wanted[:, 1:, 0], letters[:, :-1])
    assert torch.equal(wanted[:, 2:, 1], letters[:, :-2])


def test_other_characters_are_left_out():
    """At most six letters count, and there is always one."""
    assert tasks.numbers_of("Cab, xyz!").tolist() == [[2, 0, 1]]
    assert tasks.numbers_of("abcdefabc").shape == (1, 6)
    assert tasks.numbers_of("?").tolist() == [[0]]


def test_training_lowers_the_loss():
    """A layer that sees one token finds the marked letter only at the mark."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Linear(7, 6)
        losses = tasks.train(model, tasks.marked_letter, steps=60)

        assert sum(losses[-10:]) < sum(losses[:10])
        assert 0.3 < tasks.share_right(model, tasks.marked_letter) < 0.9
