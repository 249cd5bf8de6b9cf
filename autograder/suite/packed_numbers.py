"""Packs the numbers of records into columns of bytes, which compress well.

Rounded numbers are decimal fractions, so a whole number and the count of decimals represent each of
them exactly. A list of such numbers becomes its count of decimals and its length, and the whole
numbers of all lists follow each other in one column of 32-bit integers.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, Final

import numpy as np

PACKED: Final = "packed"  # the key of an answer whose numbers are in the column
LARGEST: Final = 2**31 - 1
PLACES: Final = range(-12, 13)  # decimals; a negative count means zeros before the point
NOT_FINITE: Final = {LARGEST: "nan", LARGEST - 1: "inf", LARGEST - 2: "-inf"}
OF_TEXT: Final = {text: whole for whole, text in NOT_FINITE.items()}


def column_of(whole: Sequence[int]) -> bytes:
    """Return the column of the numbers *whole*, whose absolute values are at most ``LARGEST``."""
    numbers = np.array(whole, dtype="<i4")
    alternating = (numbers << 1) ^ (numbers >> 31)  # a small number of any sign has zero bytes
    return alternating.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()


def numbers_in(column: bytes) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the numbers of a column."""
    planes = np.frombuffer(column, dtype=np.uint8).reshape(4, -1)
    alternating = np.ascontiguousarray(planes.T).view("<u4").ravel().astype(np.int64)
    return (alternating >> 1) ^ -(alternating & 1)


def differences(numbers: Iterable[int]) -> Iterator[int]:
    """Yield the first of *numbers*, and how much each one exceeds the one before it."""
    return (one - before for before, one in pairwise(chain([0], numbers)))


def pack(answers: Sequence[Any]) -> tuple[tuple[Any, ...], bytes]:
    """Return *answers* without the numbers of their lists, and the column of these numbers."""
    column: list[int] = []
    packed = tuple(_packed(answer, column) for answer in answers)
    return packed, column_of(column)


def unpack(answers: Sequence[Any], column: bytes) -> list[Any]:
    """Return the answers that were packed."""
    numbers = iter(numbers_in(column).tolist())
    return [_unpacked(answer, numbers) for answer in answers]


def _packed(answer: Any, column: list[int]) -> Any:
    if not (isinstance(answer, dict) and len(answer) == 1):
        return answer
    [(form, entries)] = answer.items()
    for places in PLACES if _are_numbers(entries) else ():
        shifted = [OF_TEXT.get(entry) or _shifted(entry, places) for entry in entries]
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


def _are_numbers(entries: Any) -> bool:
    return bool(isinstance(entries, list) and entries) and all(
        entry in OF_TEXT if isinstance(entry, str) else type(entry) is float for entry in entries
    )


def _shifted(number: float, places: int) -> float:
    return number * float(10**places) if places >= 0 else number / float(10**-places)


def _decimal(whole: int, places: int) -> float | str:
    """Return the float that is closest to *whole* with so many decimals, or what is not finite."""
    if whole in NOT_FINITE:
        return NOT_FINITE[whole]
    return whole / float(10**places) if places >= 0 else float(whole * 10**-places)
