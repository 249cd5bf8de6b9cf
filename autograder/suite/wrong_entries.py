"""Describes wrong entries: where they are in a tensor, and a table of the first wrong part.

The places are counted on the compared tensor: rows and columns are its last two axes, items its
first one if it has more.
"""

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from autograder.results import MAX_SIDE, Grid
from autograder.suite.wording import shown

SHARE = 0.75  # of a triangle; if fewer of its entries are wrong, it is not worth a sentence
MIN_SQUARE = 3  # rows; in a smaller square, triangles have one entry
MIN_ALTERNATING = 4  # entries of an axis of which every second one is wrong
CHANCE = 0.05  # the largest probability that right rows, columns or items are right by chance
NO_NUMBER = "-"  # the difference between a number and infinity
PLAIN = (int, float, str, bytes, NoneType, list, tuple, dict, set, frozenset)
ABSENT = "-"  # an entry that only the other collection has

Flags = np.ndarray[Any, Any]  # of booleans


class _Place(NamedTuple):
    """A part of an axis that holds all wrong entries; *right* is the only right entry, if any."""

    words: str
    is_plural: bool = False
    right: str = ""


def where_wrong(wrong: Tensor) -> str:
    """Return a sentence with the places of the *wrong* entries, after a space.

    It is empty if they are everywhere, or form no group on any axis.
    """
    flags = wrong.numpy()
    if flags.all():
        return ""
    if flags.sum() == 1:
        first = [int(axis[0]) for axis in flags.nonzero()]
        return f" Only entry {first if len(first) > 1 else first[0]} is wrong."
    found = _places(flags)
    if not found:
        return ""
    one = found[0]
    if len(found) > 1:
        *others, last = (place.words for place in found)
        return f" All wrong entries are in {', in '.join(others)} and in {last}."
    verb = "are" if one.is_plural else "is"
    if one.right and one.right not in one.words:
        return f" {one.words[:1].upper()}{one.words[1:]} {verb} wrong, {one.right} is right."
    return f" Only {one.words} {verb} wrong."


def _places(flags: Flags) -> list[_Place]:
    """Return a place for each axis on which the wrong entries form a group."""
    axes = range(flags.ndim)
    found: dict[int, _Place | None] = {}
    for axis, names in zip(axes, _names(flags.ndim), strict=True):
        hits = _any(flags, *axes[:axis], *axes[axis + 1 :])
        each = flags.size // len(hits)
        if (1 - flags.sum() / (each * hits.sum())) ** each <= CHANCE:
            found[axis] = _group(hits, *names)
    if flags.ndim > 1 and (triangle := _triangle(_any(flags, *axes[:-2]))):
        found |= {flags.ndim - 2: triangle, flags.ndim - 1: None}
    return [place for place in found.values() if place]


def _any(flags: Flags, *axes: int) -> Flags:
    return np.asarray(flags.any(axis=axes))


def _names(axes: int) -> list[tuple[str, str, str]]:
    """Return the singular, the plural and the last words of the name of each axis."""
    if axes == 1:
        return [("entry", "entries", "")]
    middle = [("index", "indices", f" of axis {axis}") for axis in range(1, axes - 2)]
    items = [("item", "items", "")] if axes > 2 else []  # noqa: PLR2004  # rows and columns
    return [*items, *middle, ("row", "rows", ""), ("column", "columns", "")]


def _group(hits: Flags, one: str, many: str, end: str) -> _Place | None:
    """Return the place on an axis whose entries *hits* are wrong, if they form a group."""
    size, wrong, rest = len(hits), hits.nonzero()[0].tolist(), (~hits).nonzero()[0].tolist()
    if not rest:
        return None
    first, last = wrong[0], wrong[-1]
    right = f"{one} {rest[0]}{end}" if len(rest) == 1 else ""
    if first == last:
        is_last = last == size - 1 and not right
        return _Place(f"the last {one}{end}" if is_last else f"{one} {first}{end}", right=right)
    if len(wrong) == last - first + 1:
        is_end = last == size - 1 and not right
        words = f"{many} {first} {'to' if last - first > 1 else 'and'} {last}"
        words = f"{many} after {one} {first - 1}" if is_end else words
        return _Place(f"{words}{end}", is_plural=True, right=right)
    if size >= MIN_ALTERNATING and wrong == [*range(first, size, 2)] and first < 2:  # noqa: PLR2004  # every second one
        return _Place(f"{('even', 'odd')[first]} {many}{end}", is_plural=True)
    return _Place(f"{many} other than {right}", is_plural=True) if right else None


def _triangle(hits: Flags) -> _Place | None:
    """Return the part above or below the diagonal of a square if most of it is wrong."""
    size, other = hits.shape
    offsets = np.subtract(*hits.nonzero()[::-1])
    if size != other or size < MIN_SQUARE or len(offsets) == hits.size:
        return None
    low, high = int(offsets.min()), int(offsets.max())
    for words, first, last in (
        ("the diagonal", 0, 0),
        ("entries above the diagonal", 1, size),
        ("entries below the diagonal", -size, -1),
        ("entries on and above the diagonal", 0, size),
        ("entries on and below the diagonal", -size, 0),
    ):
        part = np.triu(np.ones_like(hits), first) & np.tril(np.ones_like(hits), last)
        if first <= low and high <= last and len(offsets) >= max(MIN_SQUARE, SHARE * part.sum()):
            return _Place(words, is_plural=words.startswith("entries"))
    return None


def first_wrong_part(
    answer: Tensor, expected: Tensor, wrong: Tensor, decimals: int, tokens: Sequence[str] = ()
) -> Grid | None:
    """Return a grid of the first wrong matrix, or of a vector as one row; None for a number.

    Of a large matrix, it shows the part around the first wrong entry. *tokens* labels an axis of
    the same length.
    """
    if not wrong.any() or not wrong.ndim or answer.is_complex() or expected.is_complex():
        return None
    *slices, last = wrong.nonzero()[0].tolist()
    windows = [_window(last, wrong.shape[-1])]
    if slices:
        windows.insert(0, _window(slices.pop(), wrong.shape[-2]))
    part = (*slices, *windows)
    columns = windows[-1].stop - windows[-1].start
    left, right, bad = (one[part].reshape(-1, columns) for one in (answer, expected, wrong))
    labels = [
        tuple(tokens[window]) if size == len(tokens) else ()
        for size, window in zip(wrong.shape[-len(windows) :], windows, strict=True)
    ]
    return Grid(
        expected=_digits(right, decimals),
        yours=_digits(left, decimals),
        difference=_differences(left.double(), right.double(), decimals),
        wrong=tuple(map(tuple, bad.tolist())),
        rows=labels[0] if len(labels) > 1 else (),
        columns=labels[-1],
        part=_index(part, wrong.shape),
        corner=(windows[0].start if len(windows) > 1 else 0, windows[-1].start),
    )


def _window(index: int, size: int) -> slice:
    """Return at most MAX_SIDE entries of an axis of *size*, with the one at *index*."""
    start = 0 if index < MAX_SIDE else min(index, size - MAX_SIDE)
    return slice(start, min(size, start + MAX_SIDE))


def _index(part: Sequence[int | slice], shape: Sequence[int]) -> str:
    """Return *part* of a tensor of *shape* as Python's index; empty for the whole tensor."""
    words = []
    for one, size in zip(part, shape, strict=True):
        if isinstance(one, slice):
            start, stop = one.start or "", one.stop if one.stop < size else ""
            words.append(f"{start}:{stop}")
        else:
            words.append(str(one))
    while words and words[-1] == ":":
        words.pop()
    return f"[{', '.join(words)}]" if words else ""


def _digits(rows: Tensor, decimals: int, sign: str = "") -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(f"{value:{sign}.{decimals}f}" for value in row) for row in rows.tolist())


def _differences(left: Tensor, right: Tensor, decimals: int) -> tuple[tuple[str, ...], ...]:
    """Return the differences, without a sign of zero; equal infinities have none."""
    apart = torch.where(left == right, 0, left - right)
    rows = zip(_digits(apart, decimals, "z"), apart.isfinite().tolist(), strict=True)
    return tuple(
        tuple(text if finite else NO_NUMBER for text, finite in zip(*row, strict=True))
        for row in rows
    )


def entries_grid(
    actual: object, expected: object, alike: Callable[[object, object], bool]
) -> Grid | None:
    """Return a table with the entries of two collections around the first that is not *alike*.

    It is None unless both are dictionaries, or both are lists or tuples, of plain values.
    """
    mine, right = _by_key(actual), _by_key(expected)
    keys = list(dict.fromkeys([*right, *mine]))
    if type(actual) is not type(expected) or not keys:
        return None
    if not all(isinstance(one, PLAIN) for one in (*mine.values(), *right.values())):
        return None
    flags = [not (key in mine and key in right and alike(mine[key], right[key])) for key in keys]
    start = max(0, min(flags.index(True) - MAX_SIDE // 2, len(keys) - MAX_SIDE))
    part = slice(start, start + MAX_SIDE)
    yours, wanted = (
        tuple(shown(one[key]) if key in one else ABSENT for key in keys[part])
        for one in (mine, right)
    )
    columns = tuple(key if isinstance(key, str) else shown(key) for key in keys[part])
    return Grid((wanted,), (yours,), (), (tuple(flags[part]),), columns=columns)


def _by_key(value: object) -> dict[Any, Any]:
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    return value if isinstance(value, dict) else {}
