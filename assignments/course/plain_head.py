"""Trains the head of stage 12, whose parameters are plain tensors, with any source of gradients.

The task is to write a word of eight letters backwards. In held-out words the letters add up to a
multiple of ten, and such a word is never drawn for the training.
"""

import time
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

LENGTH, LETTERS, D = 8, 10, 16
NAMES = ("tok_emb", "pos_emb", "W_query", "W_key", "W_value", "W_out")
BATCH, MEASURED, MARKS = 32, 500, 10  # words for a step and for a measurement; measurements

Parameters = dict[str, Tensor]
Gradients = Callable[[Parameters, Tensor], tuple[float, Parameters]]


class Run(NamedTuple):
    """The parameters after a training, the loss after some *steps*, and the seconds it took."""

    parameters: Parameters
    steps: list[int]
    train: list[float]
    held: list[float]
    seconds: float


def new_parameters(seed: int = 123) -> Parameters:
    """Return the parameters of a head, always with the same values."""
    torch.manual_seed(seed)
    tables = [torch.randn(LETTERS, D), torch.randn(LENGTH, D)]
    matrices = [torch.randn(D, D) / D**0.5 for _ in range(3)]
    return dict(zip(NAMES, [*tables, *matrices, torch.randn(D, LETTERS) / D**0.5], strict=True))


def forward(p: Parameters, ids: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the embedded letters, the attention weights, the context vectors and the logits."""
    x = p["tok_emb"][ids] + p["pos_emb"][: ids.shape[1]]  # (B, T, D)
    products = torch.einsum("bqd,bkd->bqk", x @ p["W_query"], x @ p["W_key"])
    weights = products.div(D**0.5).softmax(dim=2)  # (B, T, T)
    context = weights @ (x @ p["W_value"])
    return x, weights, context, context @ p["W_out"]


def loss_of(logits: Tensor, words: Tensor) -> Tensor:
    """Return the mean loss; the target is the reversed word."""
    return functional.cross_entropy(logits.flatten(0, 1), words.flip(1).flatten())


def by_autograd(p: Parameters, words: Tensor) -> tuple[float, Parameters]:
    """Return the loss and the gradients of all parameters, from ``loss.backward()``."""
    followed = {name: parameter.clone().requires_grad_() for name, parameter in p.items()}
    loss = loss_of(forward(followed, words)[-1], words)
    found = torch.autograd.grad(loss, list(followed.values()))
    return loss.item(), dict(zip(NAMES, found, strict=True))


def draw_words(count: int, generator: torch.Generator, *, held: bool = False) -> Tensor:
    """Draw words (count, 8). The letters of a held-out word add up to a multiple of ten."""
    words = torch.randint(LETTERS, (count, LENGTH), generator=generator)
    more = 0 if held else torch.randint(1, LETTERS, (count,), generator=generator)
    words[:, -1] = (more - words[:, :-1].sum(dim=1)) % LETTERS
    return words


def train(gradients_of: Gradients, steps: int, rate: float = 0.02, seed: int = 123) -> Run:
    """Train a head with Adam and the gradients of *gradients_of*, and measure its losses."""
    p = new_parameters(seed)
    optimizer = torch.optim.Adam(p.values(), rate)
    generator = torch.Generator().manual_seed(7)
    run = Run(p, [], [], [], 0.0)
    seconds = 0.0
    for step in range(steps + 1):
        if step % max(1, steps // MARKS) == 0 or step == steps:
            run.steps.append(step)
            run.train.append(_measured(p, held=False))
            run.held.append(_measured(p, held=True))
        if step == steps:
            break
        began = time.process_time()
        _, gradients = gradients_of(p, draw_words(BATCH, generator))
        for name, parameter in p.items():
            parameter.grad = gradients[name]
        optimizer.step()
        seconds += time.process_time() - began
    return run._replace(seconds=seconds)


def map_of(p: Parameters) -> Tensor:
    """Return the mean attention weights for 500 held-out words: (8, 8)."""
    return forward(p, _words(held=True))[1].mean(dim=0)


def friend(number: int, by_hand: Gradients, code: ModuleType) -> Gradients:
    """Return *by_hand* with the mistake of friend *number*, from 1 to 5."""

    def wrong(p: Parameters, words: Tensor) -> tuple[float, Parameters]:
        loss, gradients = by_hand(p, words)
        factors = {
            1: {"W_query": D**0.5, "W_key": D**0.5},
            2: {"W_query": 0.0},
            4: {"W_key": -1.0},
            5: {"tok_emb": 0.0, "pos_emb": 0.0},
        }
        for name, factor in factors.get(number, {}).items():
            gradients[name] = gradients[name] * factor
        if number == 3:  # the third friend of the lab
            gradients |= _one_path(p, words, code)
        return loss, gradients

    return wrong


def _one_path(p: Parameters, words: Tensor, code: ModuleType) -> Parameters:
    """Return the gradients of both embeddings along the path through the values alone."""
    x, _, _, logits = forward(p, words)
    flat = code.cross_entropy_backward(logits.flatten(0, 1), words.flip(1).flatten())
    back = flat.view_as(logits) @ p["W_out"].T
    projected = [x @ p[name] for name in ("W_query", "W_key", "W_value")]
    *_, grad_values = code.attention_backward(*projected, back)
    grad_x = grad_values @ p["W_value"].T
    tok_emb = torch.zeros(LETTERS, D).index_add(0, words.flatten(), grad_x.flatten(0, 1))
    return {"tok_emb": tok_emb, "pos_emb": grad_x.sum(dim=0)}


def _words(*, held: bool) -> Tensor:
    """Return the words of each measurement."""
    return draw_words(MEASURED, torch.Generator().manual_seed(5), held=held)


def _measured(p: Parameters, *, held: bool) -> float:
    words = _words(held=held)
    return loss_of(forward(p, words)[-1], words).item()
