"""The ledger of documented tensors: what five documents print, to the digit."""

import functools
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.course import read_toml
from autograder.errors import CourseError
from autograder.suite.compare import FLOAT_NOISE, matches_printed, number_agrees


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """One printed tensor: where it stands, how it came about, and what it says."""

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
        whole = self.exact and not self.decimals and _integers(self.value)
        return torch.tensor(self.value, dtype=torch.int64 if whole else torch.float32)

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
        """Fail the check unless *actual* reads like the document, digit for digit."""
        if isinstance(self.value, int | float):
            number_agrees(actual, float(self.value), self.atol, what)
        else:
            matches_printed(actual, self.tensor, self.atol, what, self.decimals, self.tokens)


class Unusable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A print that no check can use, and why."""

    name: str
    document: str
    cell: str
    reason: str


class LedgerFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``documented.toml`` as written."""

    format_version: Literal[1]
    tensor: tuple[Entry, ...]
    tokens: tuple[str, ...] = ()  # the words that the documents' embeddings stand for
    unusable: tuple[Unusable, ...] = ()


class Ledger(Mapping[str, Entry]):
    """The documented tensors by name; remembers which were asked for."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Entry:
        self.used.add(name)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> ValuesView[Entry]:
        """Look through all entries, which uses none of them."""
        return self._entries.values()

    def items(self) -> ItemsView[str, Entry]:
        """Look through all entries by name, which uses none of them."""
        return self._entries.items()


def read(path: Path) -> Ledger:
    """Read the ledger at *path*; raises ``CourseError`` where it contradicts itself."""
    file = read_toml(path, LedgerFile)
    names = [entry.name for entry in file.tensor]
    for twin in sorted({name for name in names if names.count(name) > 1}):
        msg = f"{path}: two entries are named {twin!r}."
        raise CourseError(msg)
    return Ledger(tuple(replace(entry, tokens=file.tokens) for entry in file.tensor))


@functools.lru_cache(maxsize=4)  # one course, or a test's few
def shared(path: Path) -> Ledger:
    """Return the one ledger of this process at *path*, which knows what its checks have used."""
    return read(path)


def _integers(value: object) -> bool:
    if isinstance(value, list):
        return all(_integers(item) for item in value)
    return type(value) is int
