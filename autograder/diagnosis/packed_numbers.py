"""Packs the numbers of recorded answers into columns of bytes, which compress well.

Rounded numbers are decimal fractions, so a whole number and the count of decimals represent each of
them exactly. A list of such numbers becomes its count of decimals and its length, and the whole
numbers of all lists follow each other in one column of 32-bit integers.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

PACKED: Final = "packed"  # the key of an answer whose numbers are in the column
LARGEST: Final = 2**31 - 1
PLACES: Final = range(-12, 13)  # decimals; a negative count means zeros before the point


def pack(answers: Sequence[Any]) -> tuple[tuple[Any, ...], bytes]:
    """Return *answers* without the numbers of their lists, and the column of these numbers."""
    column: list[int] = []
    packed = tuple(_packed(answer, column) for answer in answers)
    numbers = np.array(column, dtype="<i4")
    alternating = (numbers << 1) ^ (numbers >> 31)  # a small number of any sign has zero bytes
    return packed, alternating.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()


def unpack(answers: Sequence[Any], column: bytes) -> list[Any]:
    """Return the answers that were packed."""
    planes = np.frombuffer(column, dtype=np.uint8).reshape(4, -1)
    alternating = np.ascontiguousarray(planes.T).view("<u4").ravel().astype(np.int64)
    numbers = iter(((alternating >> 1) ^ -(alternating & 1)).tolist())
    return [_unpacked(answer, numbers) for answer in answers]


def _packed(answer: Any, column: list[int]) -> Any:
    if not (isinstance(answer, dict) and len(answer) == 1):
        return answer
    [(form, entries)] = answer.items()
    for places in PLACES if _are_floats(entries) else ():
        shifted = [_shifted(entry, places) for entry in entries]
        if max(map(abs, shifted)) > LARGEST:
            break
        whole = [*map(round, shifted)]
        if [_decimal(one, places) for one in whole] == entries:
            column += whole
            return {PACKED: [form, places, len(whole)]}
    return answer


def _unpacked(answer: Any, numbers: Iterator[int]) -> Any:
    if not (isinstance(answer, dict) and PACKED in answer):
        return answer
    form, places, count = answer[PACKED]
    return {form: [_decimal(one, places) for one in islice(numbers, count)]}


def _are_floats(entries: Any) -> bool:
    return isinstance(entries, list) and {*map(type, entries)} == {float}


def _shifted(number: float, places: int) -> float:
    return number * float(10**places) if places >= 0 else number / float(10**-places)


def _decimal(whole: int, places: int) -> float:
    """Return the float that is closest to *whole* with so many decimals."""
    return whole / float(10**places) if places >= 0 else float(whole * 10**-places)
