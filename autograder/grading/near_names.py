"""Finds the definition that is probably a missing exercise with a misspelled name."""

import re
from collections.abc import Collection, Sequence
from itertools import islice

from autograder.sanitize import MAX_WORD

MAX_CANDIDATES = 300  # definitions of one file; a module that a student wrote has some dozens
MAX_EDITS = 2  # CasualAttention needs one, self_attenton_V1 two
LETTERS_PER_EDIT = 5  # one edit turns a shorter word into a different one: mask, task


def near_name(missing: str, defined: Sequence[str], exercises: Collection[str]) -> str:
    """Return the name in *defined* that was probably meant to be *missing*, or "".

    A name that is in *exercises*, or nearer to another missing exercise, is never returned.
    """
    others = {*exercises} - {missing, *defined}
    near = {
        name: _distance(name, missing)
        for name in islice(defined, MAX_CANDIDATES)
        if len(name) <= MAX_WORD and name not in exercises and _is_near(name, missing)
    }
    own = [
        name
        for name, distance in near.items()
        if all(distance < _distance(name, other) for other in others)
    ]
    return min(own, key=lambda name: near[name], default="")


def _is_near(name: str, missing: str) -> bool:
    """Whether only a few letters and no digits differ: v3 is not a misspelled v2."""
    plain, wanted = _plain(name), _plain(missing)
    allowed = min(MAX_EDITS, len(wanted) // LETTERS_PER_EDIT)
    return (
        abs(len(plain) - len(wanted)) <= allowed
        and re.findall(r"\d", name) == re.findall(r"\d", missing)
        and _edits(plain, wanted) <= allowed
    )


def _distance(one: str, other: str) -> tuple[int, int]:
    """Return the number of edits apart from case and underscores, and the number of all edits."""
    return _edits(_plain(one), _plain(other)), _edits(one, other)


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()


def _edits(one: str, other: str) -> int:
    """Count inserted, deleted, replaced and swapped characters (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        before, above, row = row, before, [i]
        for j, b in enumerate(other, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
            if above and j > 1 and (a, one[i - 2]) == (other[j - 2], b):
                row[j] = min(row[j], above[j - 2] + 1)
    return row[-1]
