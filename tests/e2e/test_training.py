"""Tests the training loop that the labs share."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from autograder.student.course_modules import course_module

training = course_module(Path(__file__).parents[2] / "source" / "15_tiny_gpt", "story_training")
ALPHABET = torch.arange(400) % 5  # a text in which each token tells the next one
PARTS = ("adamw_step", "clip_gradients", "rate_at", "estimate_loss")


class Table(nn.Module):
    """A table of pairs, whose logits can drop out."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.table = nn.Embedding(5, 5)
        self.bias = nn.Parameter(torch.zeros(5))
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        """Return the logits of the next token."""
        return self.dropout(self.table(ids) + self.bias)


def trained(recipe, parts=None, model=None):
    """Train a table on the alphabet."""
    torch.manual_seed(1)
    model = model or Table()
    return model, training.train(model, ALPHABET, ALPHABET[:100], recipe, parts)


def noted(calls):
    """Return the course's own parts, which note their calls."""

    def part(name):
        def call(*args, **options):
            calls.append((name, args, options))
            return getattr(training.COURSE_PARTS, name)(*args, **options)

        return call

    return SimpleNamespace(**{name: part(name) for name in PARTS})


def test_training_lowers_both_losses():
    """The curves begin before the first step and end after the last one."""
    _, curves = trained(training.Recipe(60, 0.3, warmup=10, length=8))

    assert curves.steps == [0, *range(6, 61, 6)]
    assert curves.train[0] > 1.5
    assert max(curves.train[-1], curves.held[-1]) < 0.1


def test_every_part_is_the_learners():
    """Each step uses the three functions, and each measurement the fourth."""
    calls = []
    trained(training.Recipe(4, 0.1, warmup=2, floor=0.1, length=8, every=2), noted(calls))
    names = [name for name, *_ in calls]

    assert [names.count(name) for name in PARTS] == [8, 4, 4, 6]
    assert [args[4] for name, args, _ in calls if name == "adamw_step"] == [1, 1, 2, 2, 3, 3, 4, 4]
    decays = [options["weight_decay"] for name, _, options in calls if name == "adamw_step"]
    assert decays[:2] == [0.1, 0.0]


def test_a_broken_batch_has_the_gradient_of_the_sum():
    """Its gradient is as many times longer as the batch has predictions."""
    norms = []
    own = SimpleNamespace(**vars(training.COURSE_PARTS))
    own.rate_at = lambda *_sizes: 0.0
    own.clip_gradients = lambda gradients, most: (
        norms.append(training.COURSE_PARTS.clip_gradients(gradients, most)[1]) or (gradients, 0.0)
    )
    recipe = training.Recipe(2, 0.1, warmup=1, batch=4, length=8, broken=2)
    trained(
        recipe,
        own,
        model=nn.Sequential(nn.Embedding.from_pretrained(torch.eye(5)), nn.Linear(5, 5)),
    )

    assert norms[1] / norms[0] == pytest.approx(32, rel=0.2)


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_the_courses_own_step_is_that_of_torch(decay):
    """Ten steps end where torch's optimizer ends."""
    theirs = nn.Parameter(torch.randn(3, 4, dtype=torch.float64))
    state = (theirs.detach().clone(), torch.zeros(3, 4).double(), torch.zeros(3, 4).double())
    optimizer = torch.optim.AdamW([theirs], lr=0.05, betas=(0.8, 0.97), weight_decay=decay)
    for step in range(1, 11):
        theirs.grad = torch.randn(3, 4, dtype=torch.float64)
        optimizer.step()
        now, *means = state
        state = training.COURSE_PARTS.adamw_step(
            now, theirs.grad, *means, step, 0.05, (0.8, 0.97), weight_decay=decay
        )

    assert torch.allclose(state[0], theirs.detach(), atol=1e-12)


def test_the_courses_own_gradients_are_clipped_together():
    """A long gradient gets the largest norm, a short one and zeros stay."""
    clip = training.COURSE_PARTS.clip_gradients
    clipped, before = clip([torch.tensor([3.0]), torch.tensor([[4.0]])], 1.0)
    same, _ = clip([torch.tensor([0.3, 0.0])], 1.0)

    assert before == pytest.approx(5.0)
    assert torch.cat([one.flatten() for one in clipped]).tolist() == pytest.approx([0.6, 0.8])
    assert same[0].tolist() == pytest.approx([0.3, 0.0])
    assert clip([torch.zeros(2)], 1.0)[0][0].tolist() == [0.0, 0.0]


def test_the_courses_own_rate_rises_and_falls():
    """It is 0 first, the peak after the warm-up, half of it in the middle, and the floor."""
    rates = [training.COURSE_PARTS.rate_at(step, 10, 2.0, 2, 0.4) for step in (0, 1, 2, 6, 10, 12)]

    assert rates == pytest.approx([0.0, 1.0, 2.0, 1.2, 0.4, 0.4])


def test_losses_are_measured_without_dropout():
    """The loss of equal logits is ln V, the same twice, and the mode stays."""
    model = Table(dropout=0.5).train()
    nn.init.zeros_(model.table.weight)
    found = training.COURSE_PARTS.estimate_loss(model, ALPHABET, 7)

    assert found == pytest.approx(math.log(5))
    assert model.training
    assert training.losses_at(model.eval(), ALPHABET, 7).tolist() == pytest.approx(
        [math.log(5)] * 7
    )


def test_the_course_says_where_it_stands_in(capsys):
    """A function that is not written is replaced, and a line says so."""

    def unwritten(*_args, **_options):
        raise NotImplementedError

    def broken(*_args, **_options):
        raise KeyError("oops")

    mine = {"rate_at": unwritten, "estimate_loss": broken}
    parts = training.own_parts(SimpleNamespace(**vars(training.COURSE_PARTS) | mine))

    assert parts.rate_at is training.COURSE_PARTS.rate_at
    assert capsys.readouterr().out == (
        "The course's own code is used for rate_at (not written yet), "
        "estimate_loss (KeyError: 'oops').\n"
    )
