"""Reads the values in a worker's answer, and leaves out values of a wrong type."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from torch import Tensor

AXES = ("rows", "inner", "columns")  # the sizes of a matrix product
LOOKUPS = (["embedding"], ["index"], ["index_select"])
MAX_DIGITS = 20  # of a size; the size of a tensor has at most 19


class Gradients(NamedTuple):
    """The return value of a call, and the gradients of its inputs and parameters, or None."""

    output: Any
    inputs: tuple[Tensor | None, ...]
    parameters: dict[str, Tensor | None]


# The parts of `torch.ops` in torch 2.13 that operators of right code can come from.
TORCH_OPERATORS: Final = frozenset(
    {"aten", "inductor", "inductor_prims", "mkl", "mkldnn", "mkldnn_prepacked", "onednn", "prim"}
    | {"prims", "profiler", "quantized", "_quantized", "rngprims", "sparse"}
)
_TWO_PARTS: Final = re.compile(r"\w+\.\w+")  # of a function in `torch.ops`


class Operators(NamedTuple):
    """Counts of calls: torch functions by name, operators by (name, size of largest input).

    *on_tensors* is true if the code got a tensor. *products* counts all matrix products by their
    rows, inner width and columns. *largest* is the number of elements in the largest result; views
    and slices of a tensor do not count.
    """

    functions: dict[str, int]
    operators: dict[tuple[str, int], int]
    on_tensors: bool = False
    products: Mapping[tuple[int, ...], int] = MappingProxyType({})
    largest: int = 0

    @property
    def names(self) -> frozenset[str]:
        """The names of all functions and operators that ran."""
        operators = (name.split(".")[1] for name, _ in self.operators if "." in name)
        return frozenset({*self.functions, *operators})

    @property
    def is_opaque(self) -> bool:
        """Whether an operator ran that is not torch's own, in which nothing is counted."""
        names = (*filter(_TWO_PARTS.fullmatch, self.functions), *(one for one, _ in self.operators))
        return not {name.partition(".")[0] for name in names if "." in name} <= TORCH_OPERATORS

    @property
    def total(self) -> int:
        """The number of operators that ran."""
        return sum(self.operators.values())

    def products_over(self, width: int) -> int:
        """Return the number of elements in the results of all products with this inner *width*.

        Transposed products, and products of single heads instead of all heads, give the same
        number.
        """
        return sum(
            rows * columns * count
            for (rows, inner, columns), count in self.products.items()
            if inner == width
        )

    def lookups(self, table: tuple[int, int]) -> int:
        """Return how often vectors are looked up in a *table* of so many rows and columns.

        A lookup is an embedding, an index, or a product with one-hot rows.
        """
        rows, width = table
        by_index = sum(
            count
            for (name, size), count in self.operators.items()
            if size == rows * width and name.split(".")[1:2] in LOOKUPS
        )
        products = (count for sizes, count in self.products.items() if sizes[1:] == table)
        return by_index + sum(products)

    @property
    def is_idle(self) -> bool:
        """Whether the code got a tensor but ran no function and no operator that the worker counts.

        Code that got no tensor is not idle, because it may return a result of an earlier call.
        """
        return self.on_tensors and not self.functions and not self.operators


def as_dict(answer: Any) -> dict[str, Any]:
    """Return *answer* if it is a dictionary, else an empty one; a forged answer may be anything."""
    return answer if isinstance(answer, dict) else {}


def as_list(answer: Any) -> list[Any]:
    """Return *answer* if it is a list, else an empty one; a forged answer may be anything."""
    return answer if isinstance(answer, list) else []


def read_tensors(answer: Any) -> dict[str, Tensor]:
    """Return only the tensors of *answer*, by name."""
    return {name: value for name, value in as_dict(answer).items() if isinstance(value, Tensor)}


def read_gradients(answer: Any, inputs: int) -> Gradients:
    """Read the gradients of a call; *inputs* is the number of its inputs."""
    found = as_dict(as_dict(answer).get("gradients"))
    tensors = read_tensors(found)
    labels = [f"input {index}" for index in range(inputs)]
    return Gradients(
        as_dict(answer).get("output"),
        tuple(tensors.get(label) for label in labels),
        {name: tensors.get(name) for name in found if name not in labels},
    )


def read_operators(answer: Any, arguments: Iterable[Any]) -> Operators:
    """Read the operators that ran in a call with these *arguments*."""
    found = as_dict(answer)
    functions, operators, products = (
        _counts(found.get(part)) for part in ("functions", "operators", "products")
    )
    largest = found.get("largest")
    return Operators(
        functions,
        {
            (name, int(size) if size.isdigit() else 0): count
            for key, count in operators.items()
            for name, _, size in [key.rpartition(" ")]
        },
        any(isinstance(one, Tensor) for one in parts([*arguments])),
        {_sizes(name): count for name, count in products.items() if len(_sizes(name)) == len(AXES)},
        largest if type(largest) is int else 0,
    )


def parts(value: Any) -> Iterator[Any]:
    """Yield what lists, tuples and dictionaries contain, at any depth, or *value* itself."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        for one in value:
            yield from parts(one)
    else:
        yield value


def _counts(found: Any) -> dict[str, int]:
    return {name: count for name, count in as_dict(found).items() if type(count) is int}


def _sizes(name: str) -> tuple[int, ...]:
    return tuple(int(size) for size in name.split() if size.isdecimal() and len(size) < MAX_DIGITS)
