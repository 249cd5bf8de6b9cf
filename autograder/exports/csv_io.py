"""Reads and writes CSV files in which a spreadsheet runs no formula.

A spreadsheet calculates a cell that begins with ``=``, ``+``, ``-`` or ``@``, also after spaces and
in full width; quoting does not prevent that, an apostrophe in front does. All our own cells go
through ``text``. Cells that a learning management system wrote are not changed: it finds its
students by them, and the instructor had the same file before.
"""

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal

import msgspec

from autograder.errors import GraderError, UsageError
from autograder.sanitize import MAX_WORD, identifier, line

_SIGNS = frozenset("=+-@\N{MINUS SIGN}")
_INVISIBLE = " \t\r\n\u200c\u200d"  # names may hold joiners, which may hide what follows
MAX_ROWS = 20  # named in one warning
_MOST = 10**12  # points; a larger number with six decimals exceeds the precision of `Decimal`
_BOM = b"\xef\xbb\xbf"


class CsvTable(msgspec.Struct, frozen=True):
    """A CSV file as it was read; *bom* and *delimiter* say how it was written."""

    rows: tuple[tuple[str, ...], ...]
    delimiter: str = ","
    bom: bool = False


def text(value: str, limit: int = MAX_WORD) -> str:
    """Put *value* on one line, with an apostrophe in front where it would be calculated."""
    return _without_formula(line(value, limit))


def student_id(value: str) -> str:
    """Return *value* as ``text`` does, but two ids that differ in spaces stay different."""
    return _without_formula(identifier(value))


def is_formula(value: str) -> bool:
    """Whether a spreadsheet may take *value* for a formula."""
    plain = unicodedata.normalize("NFKC", value).strip().lstrip(_INVISIBLE)
    return len(plain) > 1 and plain[0] in _SIGNS  # a sign alone, written for "none", is no formula


def formula_warnings(rows: Iterable[Sequence[str]], what: str) -> tuple[str, ...]:
    """Warn of cells in a downloaded file that a spreadsheet may take for formulas."""
    found = [str(i) for i, row in enumerate(rows, 1) if any(map(is_formula, row))]
    if not found:
        return ()
    shown = ", ".join(found[:MAX_ROWS]) + (", …" if len(found) > MAX_ROWS else "")
    remark = (
        f"rows {shown} of the {what}: text there begins like a formula and was not changed; "
        "look at the file in a text editor before you open it in a spreadsheet"
    )
    return (remark,)


def number(value: float | None, places: int = 6) -> str:
    """Write *value* with a point and at most *places* decimals, halves up; ``None`` is empty."""
    if value is None:
        return ""
    exact = Decimal(str(float(value)))  # 0.125 as printed: its half goes up, not to even
    if not exact.is_finite() or abs(exact) > _MOST:
        msg = f"A score is {value}, which is not a number of points."
        raise GraderError(msg)
    rounded = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP).normalize()
    return f"{rounded + 0:f}"  # adding 0 turns -0 into 0


def points(cell: str) -> float | None:
    """Read a number of points, written as ``7.5`` or ``7,5``; ``None`` if it is none."""
    try:
        value = Decimal(cell.strip().replace(",", "."))
    except ArithmeticError:
        return None
    return float(value) if value.is_finite() and abs(value) <= _MOST else None


def write(rows: Iterable[Sequence[str]], delimiter: str = ",", *, bom: bool = False) -> bytes:
    """Encode *rows* after RFC 4180: UTF-8, lines ended by CR LF, quotes where needed."""
    page = io.StringIO(newline="")
    csv.writer(page, delimiter=delimiter).writerows(rows)
    return (_BOM if bom else b"") + page.getvalue().encode("utf-8", "replace")


def read(content: bytes, what: str) -> CsvTable:
    """Decode the CSV file that *what* names; raises ``UsageError`` where it is not one."""
    try:
        page = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        msg = f"The {what} is not UTF-8. Download it again, or save it as “CSV UTF-8”."
        raise UsageError(msg) from None
    # The wrong delimiter divides the header into fewer cells.
    try:
        best = max(",;", key=lambda sign: len(next(_reader(page, sign), ())))
        rows = tuple(map(tuple, _reader(page, best, strict=True)))
    except csv.Error as error:
        msg = f"The {what} is not a CSV file: {error}."
        raise UsageError(msg) from None
    if not rows:
        msg = f"The {what} is empty. Download it again."
        raise UsageError(msg)
    for i, row in enumerate(rows, 1):
        if len(row) > len(rows[0]):  # its cells would be below the wrong names
            msg = (
                f"Row {i} of the {what} has {len(row)} cells and the header {len(rows[0])}: "
                "perhaps it has a comma without quotes. Download the file again."
            )
            raise UsageError(msg)
    return CsvTable(rows, best, content.startswith(_BOM))


def _without_formula(cell: str) -> str:
    return f"'{cell}" if is_formula(cell) else cell


def _reader(page: str, delimiter: str, *, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(page, newline=""), delimiter=delimiter, strict=strict)
