"""Words the sentences about answers, and describes wrong entries: their places and a table.

A student's code decides how long values are, so quotations are short. The places are counted on the
compared tensor: rows and columns are its last two axes, items its first one if it has more.
"""

import re
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from types import NoneType
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from autograder.results import MAX_SIDE, Grid

MAX_SHOWN: Final = 60  # characters of a quoted value
BEFORE: Final = 12  # characters of a text that are quoted before the first wrong one
MAX_ENTRIES: Final = 20  # of a collection that is formatted
MAX_NAMED: Final = 3  # entries that are missing or surplus
UNITS: Final = {str: "character", bytes: "byte"}
PLURALS = {"has": "have", "is": "are", "differs": "differ", "contains": "contain", "lacks": "lack"}
# Words that end in s, but do not mean several.
SINGULAR = {"afterwards", "axis", "bias", "subtracts"}
# The beginnings of phrases before the name of a value.
LEADING = ("After ", "At ", "For ", "In ", "With ", "Without ")


def shown(value: object) -> str:
    """Return *value* as Python writes it, cut off after some characters."""
    if isinstance(value, str | bytes):
        cut = value[:MAX_SHOWN]
        return f"{cut!r}{'…' if len(value) > len(cut) else ''}"
    text = _text_of(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _text_of(value: object) -> str:
    """Return the start of *value* as text, with the entries of a set in a fixed order."""
    first = islice(value, MAX_ENTRIES) if isinstance(value, dict | list | tuple) else ()
    match value:
        case dict():
            return f"{{{', '.join(f'{shown(key)}: {shown(value[key])}' for key in first)}}}"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(shown, value))[:MAX_ENTRIES])}}}" if value else "set()"
        case list():
            return f"[{', '.join(map(shown, first))}]"
        case tuple():
            return f"({', '.join(map(shown, first))}{',' if len(value) == 1 else ''})"
        case int() | float() | None:
            return repr(value)
    return f"<{type(value).__name__}>"


def key_name(key: object) -> str:
    """Return *key* as code; a text without quotation marks."""
    return f"`{key if isinstance(key, str) and not is_long(key) else shown(key)}`"


def text_difference(actual: str | bytes, expected: str | bytes, what: str) -> str:
    """Return a sentence about the first place at which two long texts or bytes differ."""
    unit = UNITS[type(expected)]
    pairs = zip(actual, expected, strict=False)
    place = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
    if place is None:
        return (
            f"{says(what, 'has')} {len(actual)} {unit}s; {it(what)} should have {len(expected)}. "
            f"The first {min(len(actual), len(expected))} are right."
        )
    start = max(0, place - BEFORE)
    mine, right = (shown(one[start:]) for one in (actual, expected))
    return (
        f"{says(what, 'differs')} from {unit} {place} on. From {unit} {start} on, {it(what)} "
        f"should be {right}, not {mine}."
    )


def is_long(*values: object) -> bool:
    """Whether one of *values* is a text, or bytes, of more characters than a sentence quotes."""
    return any(isinstance(one, str | bytes) and len(one) > MAX_SHOWN for one in values)


def keys_difference(actual: Collection[object], expected: Collection[object], what: str) -> str:
    """Return a sentence about missing and surplus keys, or entries of a set; at least one is."""
    missing = [key for key in expected if key not in actual]
    surplus = [key for key in actual if key not in expected]
    if isinstance(expected, set | frozenset):  # it has no order
        missing.sort(key=shown)
        surplus.sort(key=shown)
    if not surplus:
        return f"{says(what, 'lacks')} {_named(missing)}."
    lacks = f"{says(what, 'lacks')} {_named(missing)} and" if missing else what
    return f"{lacks} should not have {_named(surplus)}."


def _named(keys: Collection[object]) -> str:
    names = [key_name(key) for key in islice(keys, MAX_NAMED)]
    rest = len(keys) - len(names)
    more = f" and {rest} more" if rest else ""
    return f"the {'entry' if len(keys) == 1 else 'entries'} {', '.join(names)}{more}"


def says(what: str, verb: str) -> str:
    """Return *what* with *verb*, a singular form, in the number of *what*."""
    return f"{what} {PLURALS[verb] if _is_plural(what) else verb}"


def it(what: str) -> str:
    """Return the pronoun for *what*."""
    return "they" if _is_plural(what) else "it"


def _is_plural(what: str) -> bool:
    """Whether *what* names several things: "The weights of a token" does, `scaled_scores` not."""
    if what.startswith(LEADING):  # "After a change of the last tokens, the result of the first"
        what = what.partition(", the " if ", the " in what else " the ")[2]
    modifier = r",| (?:after|before|for|from|in|kept|of|over|right|that|with|without)\b"
    noun = re.split(modifier, what)[0].split()[-1:]
    return any(re.fullmatch(r"[a-z]+[^s]s", word) and word not in SINGULAR for word in noun)


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
