"""Tests mistakes in losses, training steps and the state of a module."""

import pytest
import torch

from autograder.diagnosis.mistakes import training
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from tests.kit.diagnosis.mistakes.conftest import as_made, made_by

KEPT = "The gradients of earlier steps are not cleared, so the second step uses the sum of both."
ZEROED = """
def wanted(model, ids: Tensor, rate: float):
    model.zero_grad()
    loss = model(ids).sum()
    loss.backward()
    return loss.item()
"""
SET_TO_NONE = """
def wanted(model, ids: Tensor):
    for parameter in model.parameters():
        parameter.grad = None
    model(ids).sum().backward()
"""
FUNCTIONAL = """
def wanted(model, ids: Tensor, rate: float):
    trained = [one for one in model.parameters() if one.requires_grad]
    loss = model(ids).sum()
    gradients = torch.autograd.grad(loss, trained)
    with torch.no_grad():
        for parameter, gradient in zip(trained, gradients):
            parameter -= rate * gradient
    return loss.item()
"""
BACKWARD = """
def wanted(logits: Tensor, targets: Tensor):
    gradient = torch.softmax(logits, dim=-1)
    return gradient / len(targets)
"""
COUNTED = """
def wanted(logits: Tensor):
    rows = logits.shape[0]
    gradient = torch.softmax(logits, dim=-1)
    gradient /= rows
    return gradient
"""
LOSS = """
def wanted(logits: Tensor, targets: Tensor):
    losses = -logits.gather(-1, targets[..., None])
    return losses.mean()
"""
CACHED = """
class wanted(nn.Module):
    def forward(self, x: Tensor, cache=None):
        keys = x if cache is None else torch.cat((cache, x), dim=0)
        return keys.sum(dim=0), keys
"""
MADE = (
    pytest.param(ZEROED, f"{KEPT}\npass", id="zero-grad"),
    pytest.param(SET_TO_NONE, f"{KEPT}\npass", id="none"),
    pytest.param(
        FUNCTIONAL,
        f"{KEPT}\ngradients = (loss.backward(), [p.grad for p in trained])[1]",
        id="functional",
    ),
    pytest.param(
        BACKWARD,
        """
A sum is not divided by the number of its terms, so it grows with the size of the input.
return gradient
""",
        id="divided-by-a-length",
    ),
    pytest.param(
        COUNTED,
        """
A sum is not divided by the number of its terms, so it grows with the size of the input.
pass
""",
        id="divided-in-place",
    ),
    pytest.param(
        LOSS,
        """
The mean is not taken, so the result has one number for each entry; it must be one number for all.
return losses
""",
        id="mean-of-a-loss",
    ),
)


@pytest.mark.parametrize(("code", "made"), MADE)
def test_a_step_has_its_mistakes(code: str, made: str):
    """Each mistake in a step has its sentence and its program."""
    assert as_made(made).items() <= made_by(training, code).items()


def wrong(code: str) -> object:
    """Return the exercise `wanted` of *code* with the first mistake of the rules of training."""
    exercise = ExerciseCode(code, "wanted", ["wanted"])
    rules = (training.kept_gradients, training.kept_caches)
    made = [one for scope in exercise.scopes for rule in rules for one in rule(scope)]
    names = {"torch": torch, "nn": torch.nn}
    exec(exercise.compile(made[:1], "wrong.py"), names)  # noqa: S102  # it runs code of this test
    return names["wanted"]


@pytest.mark.parametrize("code", [ZEROED, FUNCTIONAL], ids=["zero-grad", "functional"])
def test_only_the_second_step_shows_kept_gradients(code: str):
    """Gradients that are not cleared have an effect only from the second step on."""
    step, model = wrong(code), torch.nn.Linear(2, 1)
    gradients = []
    for _ in range(2):
        step(model, torch.ones(1, 2), 0.0)
        gradients.append(model.weight.grad.clone())

    assert torch.equal(gradients[1], 2 * gradients[0])


def test_a_kept_cache_reaches_the_next_text():
    """A second text without a cache begins with the keys of the first one."""
    module = wrong(CACHED)()
    _, first = module(torch.ones(2, 3))
    _, second = module(torch.zeros(1, 3))

    assert first.shape == (2, 3)
    assert torch.equal(second, torch.tensor([[1.0] * 3, [1.0] * 3, [0.0] * 3]))


def test_other_code_has_none():
    """A rule makes no mistake in code that it does not recognize."""
    assert made_by(training, "def wanted(n: int):\n    return n / 2\n") == {}
