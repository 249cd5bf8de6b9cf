"""Reads the values of an answer, which may be forged: what has another type is left out."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import Tensor


class Gradients(NamedTuple):
    """What a call returned, and the gradients of inputs and parameters, ``None`` for none."""

    output: Any
    inputs: tuple[Tensor | None, ...]
    parameters: dict[str, Tensor | None]


class Operators(NamedTuple):
    """How often what ran: torch functions by name, operators by (name, size of largest input).

    *on_tensors* says whether the code got a tensor.
    """

    functions: dict[str, int]
    operators: dict[tuple[str, int], int]
    on_tensors: bool = False

    @property
    def total(self) -> int:
        """How many operators ran."""
        return sum(self.operators.values())

    @property
    def is_idle(self) -> bool:
        """Whether the code got a tensor and did nothing with it, as far as the worker counts.

        Without a tensor it may return what it has kept of an earlier call.
        """
        return self.on_tensors and not self.functions and not self.operators


def as_dict(answer: Any) -> dict[str, Any]:
    """Return *answer* if it is a dictionary: a forged one may be anything."""
    return answer if isinstance(answer, dict) else {}


def as_list(answer: Any) -> list[Any]:
    """Return *answer* if it is a list: a forged one may be anything."""
    return answer if isinstance(answer, list) else []


def read_tensors(answer: Any) -> dict[str, Tensor]:
    """Return the tensors of *answer* by name, and nothing else that it holds."""
    return {name: value for name, value in as_dict(answer).items() if isinstance(value, Tensor)}


def read_gradients(answer: Any, inputs: int) -> Gradients:
    """Read the gradients of a call with so many *inputs*."""
    found = as_dict(as_dict(answer).get("gradients"))
    tensors = read_tensors(found)
    labels = [f"input {index}" for index in range(inputs)]
    return Gradients(
        as_dict(answer).get("output"),
        tuple(tensors.get(label) for label in labels),
        {name: tensors.get(name) for name in found if name not in labels},
    )


def read_operators(answer: Any, arguments: Iterable[Any]) -> Operators:
    """Read which operators ran in a call with these *arguments*."""
    functions, operators = (
        _counts(as_dict(answer).get(part)) for part in ("functions", "operators")
    )
    on_tensors = any(isinstance(argument, Tensor) for argument in arguments)
    return Operators(
        functions, {_split(name): count for name, count in operators.items()}, on_tensors
    )


def _counts(found: Any) -> dict[str, int]:
    return {name: count for name, count in as_dict(found).items() if type(count) is int}


def _split(name: str) -> tuple[str, int]:
    operator, _, size = name.rpartition(" ")
    return operator, int(size) if size.isdigit() else 0
