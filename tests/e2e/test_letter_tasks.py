"""Tests the small tasks on which labs train a learner's attention."""

from pathlib import Path

import pytest
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


@pytest.mark.parametrize("task", ["marked_letter", "two_letters_before"])
def test_held_out_texts_are_not_drawn_for_a_training(task: str):
    """The letters of a held-out text add up to a multiple of six, and those of others do not."""
    for held in (True, False):
        tokens, _ = getattr(tasks, task)(200, held)
        sums = tokens[..., :6].argmax(dim=-1).sum(dim=1) % 6

        assert set(sums.tolist()) == ({0} if held else {1, 2, 3, 4, 5})


def test_pairs_are_asked_again():
    """Each text has six pairs of twelve different letters, and then six times one of them."""
    texts, wanted = tasks.pairs(50)
    for text, answers in zip(texts.tolist(), wanted[..., 0].tolist(), strict=True):
        followed = dict(zip(text[:12:2], text[1:12:2], strict=True))

        assert len(set(text[:12])) == 12
        assert set(text[12::2]) <= set(followed)
        assert answers[12::2] == [followed[letter] for letter in text[12::2]]
        assert {*answers[:12], *answers[13::2]} == {tasks.UNKNOWN}


@pytest.mark.parametrize("held", [True, False])
def test_held_out_pairs_have_other_first_letters(*, held: bool):
    """The numbers of the first two letters of a held-out text add up to a multiple of five."""
    texts, _ = tasks.pairs(100, held)

    assert texts.shape == (100, 23)
    assert {total % 5 == 0 for total in texts[:, :2].sum(dim=1).tolist()} == {held}


def test_training_lowers_the_loss():
    """A layer that sees one token finds the marked letter only at the mark."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Linear(7, 6)
        curves = tasks.train(model, tasks.marked_letter, steps=60)

        assert curves.steps == [0, 6, 12, 18, 24, 30, 36, 42, 48, 54, 60]
        assert curves.train[-1] < curves.train[0]
        assert curves.held[-1] < curves.held[0]
        assert curves.right[-1] == tasks.share_right(model, tasks.marked_letter)
        assert 0.3 < curves.right[-1] < 0.9
