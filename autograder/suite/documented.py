"""The documented tensors: what the course's documents print, to the digit."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.course import duplicates, read_toml
from autograder.errors import CourseError
from autograder.suite.compare import FLOAT_NOISE, matches_printed, matches_printed_number


class DocumentedTensor(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True
):
    """One printed tensor: which document prints it, how it was computed, and its value."""

    name: str
    document: str
    cell: str
    drawn: str
    decimals: int
    value: Any
    stage: tuple[str, ...]
    also: tuple[str, ...] = ()
    exact: bool = False
    from_printed: bool = False
    tokens: tuple[str, ...] = ()

    @cached_property
    def tensor(self) -> Tensor:
        """The value; treat it as read-only."""
        value = torch.tensor(self.value)
        whole = self.exact and not self.decimals and value.dtype is torch.int64
        return value if whole else torch.tensor(self.value, dtype=torch.float32)

    @property
    def atol(self) -> float:
        """Half a unit of the last printed place plus float noise.

        What is computed from an input that was itself printed may be off by half a unit more.
        """
        if self.exact:
            return 0.0
        half = 0.5 * 10.0**-self.decimals
        return half + FLOAT_NOISE + (half if self.from_printed else 0.0)

    def matches(self, actual: object, what: str = "The result") -> None:
        """Fail the check unless *actual* would be printed as in the document, digit for digit."""
        if isinstance(self.value, int | float):
            matches_printed_number(actual, float(self.value), self.atol, what)
        else:
            matches_printed(actual, self.tensor, self.atol, what, self.decimals, self.tokens)


class UnusableTensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A printed tensor that no check can use, and why."""

    name: str
    document: str
    cell: str
    reason: str


class DocumentedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``documented.toml`` as written."""

    format_version: Literal[1]
    tensor: tuple[DocumentedTensor, ...] = ()
    tokens: tuple[str, ...] = ()  # the words that the documents' embeddings represent
    unusable: tuple[UnusableTensor, ...] = ()


class DocumentedTensors(dict[str, DocumentedTensor]):
    """The documented tensors by name; remembers in ``used`` which were asked for by name."""

    def __init__(self, tensors: Iterable[DocumentedTensor]) -> None:
        super().__init__((tensor.name, tensor) for tensor in tensors)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> DocumentedTensor:
        self.used.add(name)
        return super().__getitem__(name)


def read(path: Path) -> DocumentedTensors:
    """Read ``documented.toml`` at *path*; raises ``CourseError`` if it contradicts itself."""
    file = read_toml(path, DocumentedFile)
    for duplicate in duplicates([tensor.name for tensor in file.tensor]):
        msg = f"{path}: two tensors are named {duplicate!r}."
        raise CourseError(msg)
    return DocumentedTensors(replace(tensor, tokens=file.tokens) for tensor in file.tensor)
