"""Shows and measures the learner's attention in tiles, for the lab of stage 18."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.student.pictures import Panels

KEYS = 12
_DRAWS = torch.Generator().manual_seed(5)
SCORES = (2 * torch.randn(KEYS, generator=_DRAWS)).round(decimals=1)  # of one query
VALUES = torch.randn(KEYS, 3, generator=_DRAWS)
NUMBERED = 5  # bars that have their numbers above them, at most

Attention = Callable[..., Tensor]
Inputs = Sequence[Tensor]  # queries, keys and values


def one_query(code: Any, tiles_read: int, tile_size: int, order: str) -> Panels:
    """Draw the scores, the running maximum and sum, and the running context of one query.

    *code* is the learner's module, which reads *tiles_read* tiles of twelve keys in this *order*.
    """
    by_size = SCORES.argsort(descending=order == "falling scores")
    places = torch.arange(KEYS) if order == "as they are" else by_size
    row, values = SCORES[places], VALUES[places]
    read = min(tiles_read * tile_size, KEYS)
    first = (read - 1) // tile_size * tile_size  # of the newest tile
    colours = ["tab:orange" if first <= k < read else "tab:blue" for k in range(KEYS)]
    colours[read:] = ["lightgrey"] * (KEYS - read)
    numbers, context = _after(code, row, values, read, tile_size)
    last_numbers, last_context = _after(code, row, values, KEYS, tile_size)
    hatches = ["//" if first <= k < read else "" for k in range(KEYS)]
    scores = dict(zip(map(str, range(KEYS)), row.tolist(), strict=True))
    contexts = {f"context {k}": one for k, one in enumerate(context)}
    figures = [
        _bars(f"{read} of {KEYS} scores read", scores, (-5, 5), colours, hatches=hatches),
        _bars("running maximum and sum", numbers, (-3, 7), "tab:green", last_numbers.values()),
        _bars("running context", contexts, (-2.5, 2.5), "tab:purple", last_context),
    ]
    figures[0].axes[0].set(xlabel="key", ylabel="score")
    return Panels(figures, ["scores", "maximum and sum", "context"])


def _after(
    code: Any, row: Tensor, values: Tensor, count: int, size: int
) -> tuple[dict[str, float], list[float]]:
    """Return the maximum, the sum and the context after *count* scores."""
    maximum, total = code.online_max_and_sum(row[:count], size)
    start = (count - 1) // size * size  # of the last tile

    def attended(part: slice) -> tuple[Tensor, Tensor]:
        query = torch.ones(1, 1)
        result: tuple[Tensor, Tensor] = code.attend_tile(
            query, row[part, None], values[part], scale=1.0
        )
        return result

    context, logsumexp = attended(slice(start, count))
    if start:
        context, logsumexp = code.merge_tiles(*attended(slice(start)), context, logsumexp)
    return {"maximum": maximum.item(), "sum": total.item()}, context[0].tolist()


def _bars(
    title: str,
    heights: Mapping[str, float],
    limits: tuple[float, float],
    colours: Any,
    lines: Any = (),
    hatches: Any = None,
) -> Figure:
    """Return a figure of bars, and a black line for each final value."""
    figure = Figure(figsize=(3.6, 2.8), layout="constrained")
    axis = figure.subplots()
    axis.bar(range(len(heights)), list(heights.values()), color=colours, hatch=hatches)
    for place, height in enumerate(lines):
        axis.plot([place - 0.45, place + 0.45], [height, height], color="black")
    for place, height in enumerate(heights.values()):
        if len(heights) <= NUMBERED:
            axis.text(place, limits[1], f"{height:.2f}", ha="center", va="bottom")
    axis.axhline(0, color="grey", linewidth=0.5)
    axis.set_xticks(range(len(heights)), list(heights))
    axis.set_ylim(*limits)
    axis.set_title(title, pad=18)
    return figure


class Largest(TorchDispatchMode):
    """Records how many numbers the largest new tensor has."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise torch loads its compiler first

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        made = result if isinstance(result, list | tuple) else [result]
        sizes = [one.numel() for one in made if isinstance(one, Tensor)]
        self.numbers = max([self.numbers, *sizes])
        return result


def all_at_once(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return causal attention, computed from the matrix of all weights."""
    products = torch.einsum("...qd,...kd->...qk", queries, keys)
    future = torch.ones(products.shape[-2:], dtype=torch.bool).triu(1)
    seen = torch.where(future, -torch.inf, products / queries.shape[-1] ** 0.5)
    return seen.softmax(dim=-1) @ values


def measured(attention: Attention, given: Inputs) -> tuple[Tensor, int, float]:
    """Return the result, the numbers in the largest tensor, and the time in seconds."""
    with Largest() as largest:
        result = attention(*given)
    started = time.perf_counter()
    attention(*given)
    return result, largest.numbers, time.perf_counter() - started


def kept_for_backward(attention: Attention, given: Inputs) -> int:
    """Return how many numbers autograd keeps from a forward pass, each tensor counted once."""
    kept: dict[int, Tensor] = {}

    def note(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor  # so that no address is used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        attention(*(one.clone().requires_grad_() for one in given))
    return sum(tensor.untyped_storage().nbytes() // 4 for tensor in kept.values())
