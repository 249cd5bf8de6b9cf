"""Reads and compares documented tensors: values that the course's documents print, to the digit."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import torch
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from torch import Tensor

from autograder.course import duplicates
from autograder.course_file import read_toml
from autograder.errors import CourseError
from autograder.suite.checks import Notice
from autograder.suite.compare import (
    FLOAT_NOISE,
    agrees,
    matches_printed,
    matches_printed_number,
    number,
    tensor_like,
)
from autograder.suite.noise import PRINTED_NOISE

TENSOR: Final = "tensor"  # the usual form
TORCH_VERSION = Version(torch.__version__).public


class DocumentedTensor(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True
):
    """A documented tensor: the document that prints it, how it was computed, and its value.

    Its precision is a number of *decimals*, or of significant *digits* as in -2.54e-04. *torch* is
    a requirement, such as ``>=2.9``, for the versions of torch that compute it; by default, all
    versions do. *tokens* labels an axis of the same length; by default, it is that of the whole
    file. The *form* ``plain`` means a value of Python, such as a text or a list of lists, and
    ``dict`` a dictionary, as a list of its keys with their values; both are exact.
    """

    name: str
    document: str
    cell: str
    drawn: str
    value: Any
    stage: tuple[str, ...]
    decimals: int | None = None
    digits: int | None = None
    torch: str = ""
    also: tuple[str, ...] = ()
    exact: bool = False
    from_printed: bool = False
    tokens: tuple[str, ...] | None = None
    form: Literal["tensor", "plain", "dict"] = TENSOR

    def __post_init__(self) -> None:
        """Raise ``ValueError`` if the entry contradicts itself."""
        if self.form != TENSOR:
            if self.decimals is not None or self.digits is not None:
                raise ValueError(f"{self.name} is exact, so it has neither `decimals` nor `digits`")
            if self.form == "dict":
                _ = self.plain
            return
        if (self.decimals is None) == (self.digits is None):
            raise ValueError(f"{self.name} needs `decimals` or `digits`, and not both")
        if self.digits is not None and (self.digits < 1 or self.exact):
            msg = f"{self.name}: `digits` must be at least 1, and an exact entry needs `decimals`"
            raise ValueError(msg)
        SpecifierSet(self.torch)  # raises a ValueError that quotes the requirement

    @cached_property
    def tensor(self) -> Tensor:
        """The value; treat it as read-only."""
        value = torch.tensor(self.value)
        whole = self.exact and not self.decimals and value.dtype is torch.int64
        return value if whole else torch.tensor(self.value, dtype=torch.float32)

    @cached_property
    def plain(self) -> Any:
        """The value of Python; in a key, a list is a tuple. Treat it as read-only."""
        if self.form != "dict":
            return self.value
        try:
            return {_as_key(key): value for key, value in self.value}
        except (TypeError, ValueError):
            msg = f"{self.name}: the value of a dictionary is a list of lists [key, value]"
            raise ValueError(msg) from None

    @cached_property
    def places(self) -> int:
        """The number of decimals that show every printed digit."""
        return self.decimals if self.decimals is not None else max(map(self._last_place, self._all))

    @cached_property
    def atol(self) -> Tensor:
        """Half a unit of the last printed place plus float noise, for each entry.

        A value that was computed from a printed input may differ by half a unit more.
        """
        if self.exact:
            return torch.zeros(())
        if self.digits is None:
            halves = torch.tensor(0.5 * 10.0**-self.places)
        else:
            units = [10.0 ** -self._last_place(value) if value else 0.0 for value in self._all]
            halves = 0.5 * torch.tensor(units, dtype=torch.float64).reshape(self.tensor.shape)
        return halves * (2 if self.from_printed else 1) + FLOAT_NOISE * self._scale

    @property
    def holds_here(self) -> bool:
        """Whether the installed torch computes the printed value."""
        return SpecifierSet(self.torch).contains(TORCH_VERSION, prereleases=True)

    def matches(self, actual: object, what: str = "The result") -> None:
        """Fail the check unless *actual* would be printed as in the document, digit for digit.

        With a version of torch that computes other values, only the shape is compared.
        """
        single = isinstance(self.value, int | float)
        if self.form != TENSOR:
            agrees(actual, self.plain, what)
        elif not self.holds_here:
            _ = number(actual, what) if single else tensor_like(actual, self.tensor.shape, what)
            _note_uncompared(self.torch)
        elif single:
            noise = PRINTED_NOISE * self._scale
            matches_printed_number(
                actual, float(self.value), float(self.atol), what, self.places, noise
            )
        else:
            matches_printed(
                actual,
                self.tensor,
                self.atol,
                what,
                self.places,
                self.tokens or (),
                PRINTED_NOISE * self._scale,
            )

    @cached_property
    def _all(self) -> list[float]:
        numbers: list[float] = torch.tensor(self.value, dtype=torch.float64).flatten().tolist()
        return numbers

    @property
    def _scale(self) -> float:
        """The factor for the noise: values with significant digits have less if they are small."""
        if self.digits is None:
            return 1.0
        return min(1.0, max(map(abs, self._all)))

    def _last_place(self, value: float) -> int:
        """Return the decimal place of the last significant digit of *value*; 0 for zero."""
        exponent = f"{value:.{(self.digits or 1) - 1}e}".partition("e")[2]
        return (self.digits or 1) - 1 - int(exponent) if value else 0


def _as_key(value: Any) -> Any:
    return tuple(map(_as_key, value)) if isinstance(value, list) else value


class UnusableTensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A printed tensor that no check can use, and the reason."""

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
    """The documented tensors by name; ``used`` collects the names that were looked up."""

    def __init__(self, tensors: Iterable[DocumentedTensor]) -> None:
        super().__init__((tensor.name, tensor) for tensor in tensors)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> DocumentedTensor:
        self.used.add(name)
        return super().__getitem__(name)


_uncompared: ContextVar[list[Notice] | None] = ContextVar("uncompared", default=None)


@contextmanager
def noting_uncompared() -> Iterator[list[Notice]]:
    """Collect a notice for each printed value that was not compared on this version of torch."""
    notices: list[Notice] = []
    token = _uncompared.set(notices)
    try:
        yield notices
    finally:
        _uncompared.reset(token)


def _note_uncompared(versions: str) -> None:
    if (notices := _uncompared.get()) is not None:
        sentence = (
            f"Not compared: the documented values are from torch {versions}, but torch "
            f"{TORCH_VERSION} is installed. The points count if the checks on other inputs pass."
        )
        notices.append(Notice(sentence, sentence))


def proof(tensors: Iterable[DocumentedTensor]) -> str:
    """Return a phrase with the version of torch and the *tensors* that it does not compute."""
    others = [
        f"{tensor.name} (torch {tensor.torch})" for tensor in tensors if not tensor.holds_here
    ]
    missing = f", not compared: {', '.join(others)}" if others else ""
    return f"with torch {TORCH_VERSION}{missing}"


def read(path: Path) -> DocumentedTensors:
    """Read ``documented.toml`` at *path*; raise ``CourseError`` if it contradicts itself.

    A course without documented values needs no such file.
    """
    if not path.exists():
        return DocumentedTensors(())
    file = read_toml(path, DocumentedFile)
    for duplicate in duplicates([tensor.name for tensor in file.tensor]):
        raise CourseError(f"{path}: two tensors are named {duplicate!r}.")
    return DocumentedTensors(
        tensor if tensor.tokens is not None else replace(tensor, tokens=file.tokens)
        for tensor in file.tensor
    )
