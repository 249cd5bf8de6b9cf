"""Trains a small language model on a text, and measures it on text that was not used for training.

The four parts of the optimizer are those of the learner from stage 15 on, and the course's own
before it. A part is a function of stage 15: ``adamw_step``, ``clip_gradients``, ``rate_at`` or
``estimate_loss``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import get_total_norm, parameters_to_vector, vector_to_parameters
from torch.optim.adamw import adamw

MARKS = 10  # measurements in a training, if a recipe does not say how often
AT_ONCE = 64  # pieces that a model reads in one call


@dataclass(frozen=True)
class Recipe:
    """The numbers of a training, which are those of the course unless a lab names others.

    In each of *steps* steps, the model reads *batch* pieces of *length* tokens. The rate rises to
    *peak* during *warmup* steps and falls to *floor* at the end: with a floor equal to the peak, it
    stays at the peak. The gradient of all parameters together is shortened to *max_norm*. Only
    matrices decay. The loss is measured each *every* steps. In step *broken*, the gradient is that
    of the sum of all losses in place of their mean.
    """

    steps: int
    peak: float
    warmup: int = 50
    floor: float = 0.0
    max_norm: float = 1.0
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.99)
    batch: int = 16
    length: int = 32
    every: int = 0
    broken: int = 0


@dataclass
class Curves:
    """The mean loss, in nats per token, on trained and on held-out text after some steps."""

    steps: list[int] = field(default_factory=list)
    train: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)


def train(model: nn.Module, ids: Tensor, held: Tensor, recipe: Recipe, parts: Any = None) -> Curves:
    """Train *model*, (B, T) -> (B, T, V), on pieces of *ids* (N,), and return its losses.

    They are measured on the first tokens of *ids*, as many as there are in *held* (M,). *parts* is
    the learner's module of stage 15, or the result of ``own_parts``.
    """
    parts = COURSE_PARTS if parts is None else parts
    groups = [group for group in _groups(model, recipe) if group.parameters]
    curves = Curves()
    marks = recipe.every or math.ceil(recipe.steps / MARKS)
    _measure(curves, 0, model, ids, held, recipe.length, parts)
    for step in range(1, recipe.steps + 1):
        _train_step(model, _pieces(ids, recipe), groups, step, recipe, parts)
        if step % marks == 0 or step == recipe.steps:
            _measure(curves, step, model, ids, held, recipe.length, parts)
    return curves


@torch.no_grad()
def losses_at(model: nn.Module, ids: Tensor, length: int, every: int = 0) -> Tensor:
    """Return the mean loss at each position of pieces of *length* tokens of *ids*: (length,).

    Pieces follow each other, or begin at each *every*-th token and overlap.
    """
    pieces = ids.unfold(0, length + 1, every or length)  # the last token begins the next piece
    parts = torch.split(pieces, AT_ONCE)
    losses = [_losses(model, some).mean(dim=0) * len(some) for some in parts]
    return sum(losses, torch.zeros(length)) / len(pieces)


def own_parts(module: Any) -> SimpleNamespace:
    """Return the learner's four functions in *module*, for a lab after stage 15.

    The course's own function is used in place of one that does not run, and a line says so.
    """
    found, replaced = SimpleNamespace(), []
    for name, trial in TRIALS.items():
        try:
            part = getattr(module, name)
            trial(part)
        except NotImplementedError:
            part = getattr(COURSE_PARTS, name)
            replaced.append(f"{name} (not written yet)")
        except Exception as error:  # noqa: BLE001  # a learner's function may raise anything
            part = getattr(COURSE_PARTS, name)
            replaced.append(f"{name} ({type(error).__name__}: {error})".replace(": )", ")"))
        setattr(found, name, part)
    if replaced:
        print(f"The course's own code is used for {', '.join(replaced)}.")  # noqa: T201  # a notebook shows it
    return found


@dataclass
class _Group:
    """Parameters with the same decay, as one vector of *numbers* with its two running means."""

    parameters: list[nn.Parameter]
    weight_decay: float

    def __post_init__(self) -> None:
        if self.parameters:
            self.numbers = parameters_to_vector(self.parameters).detach()
            self.mean = torch.zeros_like(self.numbers)
            self.square = torch.zeros_like(self.numbers)


def _groups(model: nn.Module, recipe: Recipe) -> list[_Group]:
    """Return the parameters that decay, and those that do not: biases, scales and shifts."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in trained if parameter.dim() > 1]
    others = [parameter for parameter in trained if parameter.dim() <= 1]
    return [_Group(matrices, recipe.weight_decay), _Group(others, 0.0)]


def _pieces(ids: Tensor, recipe: Recipe) -> Tensor:
    """Draw pieces of *ids*, each with the token that follows it: (batch, length + 1)."""
    starts = torch.randint(len(ids) - recipe.length, (recipe.batch,))
    return ids[starts[:, None] + torch.arange(recipe.length + 1)]


def _train_step(
    model: nn.Module, pieces: Tensor, groups: list[_Group], step: int, recipe: Recipe, parts: Any
) -> None:
    """Change the parameters of *model* once; *step* counts from 1."""
    losses = _losses(model, pieces)
    loss = losses.sum() if step == recipe.broken else losses.mean()
    every = [parameter for group in groups for parameter in group.parameters]
    found = iter(torch.autograd.grad(loss, every))
    gradients = [parameters_to_vector([next(found) for _ in one.parameters]) for one in groups]
    gradients, _ = parts.clip_gradients(gradients, recipe.max_norm)
    rate = parts.rate_at(step, recipe.steps, recipe.peak, recipe.warmup, recipe.floor)
    for group, gradient in zip(groups, gradients, strict=True):
        state = (group.numbers, gradient, group.mean, group.square)
        moved = parts.adamw_step(*state, step, rate, recipe.betas, weight_decay=group.weight_decay)
        group.numbers, group.mean, group.square = moved
        vector_to_parameters(group.numbers, group.parameters)


def _losses(model: nn.Module, pieces: Tensor) -> Tensor:
    """Return the loss of each prediction in *pieces*: (B, T + 1) -> (B, T)."""
    logits = model(pieces[:, :-1])
    return functional.cross_entropy(logits.transpose(1, 2), pieces[:, 1:], reduction="none")


def _measure(
    curves: Curves,
    step: int,
    model: nn.Module,
    ids: Tensor,
    held: Tensor,
    length: int,
    parts: Any,
) -> None:
    curves.steps.append(step)
    curves.train.append(parts.estimate_loss(model, ids[: len(held)], length))
    curves.held.append(parts.estimate_loss(model, held, length))


# The course's own parts, before stage 15: torch's functions, and a rate by another formula.


@torch.no_grad()
def _adamw(
    parameter: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    step: int,
    learning_rate: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[Tensor, Tensor, Tensor]:
    """Make one step of torch's AdamW, whose class takes seconds to load, in new tensors."""
    found = [parameter.clone(), mean.clone(), square.clone()]
    adamw(
        [found[0]],
        [gradient],
        [found[1]],
        [found[2]],
        [],
        [torch.tensor(step - 1.0)],
        foreach=False,
        amsgrad=False,
        beta1=betas[0],
        beta2=betas[1],
        lr=learning_rate,
        weight_decay=weight_decay,
        eps=eps,
        maximize=False,
    )
    return found[0], found[1], found[2]


def _clip(gradients: Sequence[Tensor], max_norm: float) -> tuple[list[Tensor], float]:
    """Return *gradients* with a joint norm of at most *max_norm*, and their norm before."""
    before = get_total_norm(gradients)
    shares = (max_norm / before).clamp(max=1.0)
    return [gradient * shares for gradient in gradients], float(before)


def _rate(step: int, steps: int, peak: float, warmup: int = 0, floor: float = 0.0) -> float:
    """Return the learning rate of *step*: a line up to *peak*, then a wave down to *floor*."""
    if warmup > step:
        return peak / warmup * step
    left = max(0, steps - step) / (steps - warmup)
    return floor + (peak - floor) * math.sin(math.pi / 2 * left) ** 2


def _mean_loss(model: nn.Module, ids: Tensor, length: int) -> float:
    """Return the mean loss of *model* on pieces of *length* tokens of *ids*, without dropout."""
    was = model.training
    model.train(mode=False)
    mean = losses_at(model, ids, length).mean()
    model.train(was)
    return float(mean)


COURSE_PARTS = SimpleNamespace(
    adamw_step=_adamw, clip_gradients=_clip, rate_at=_rate, estimate_loss=_mean_loss
)
ONE = torch.ones(1)
TRIALS: dict[str, Callable[[Any], object]] = {
    "adamw_step": lambda part: part(ONE, ONE, ONE, ONE, 1, 0.1, (0.9, 0.99), weight_decay=0.0),
    "clip_gradients": lambda part: part([ONE], 1.0),
    "rate_at": lambda part: part(0, 2, 0.1, 1, 0.0),
    "estimate_loss": lambda part: part(nn.Embedding(2, 2), torch.tensor([0, 1]), 1),
}
