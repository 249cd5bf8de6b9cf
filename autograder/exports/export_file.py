"""Makes the files of exports: JSON, and CSV in which spreadsheets run no formulas.

A spreadsheet calculates a cell that begins with ``=``, ``+``, ``-`` or ``@``, even after spaces or
as a full-width character. Quotes do not prevent this, but an apostrophe does. ``csv_text`` adds it
to all cells that the kit writes, and to each part of a cell, because a spreadsheet may divide cells
at semicolons. Cells that an LMS wrote are not changed, because the LMS finds its
students by them.
"""

import csv
import io
import re
import stat
import unicodedata
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import msgspec

from autograder.disk import replacing_file
from autograder.errors import GraderError, UsageError
from autograder.sanitize import MAX_WORD, identifier, line

_SIGNS = frozenset("=+-@\N{MINUS SIGN}")
_INVISIBLE = " \t\r\n\u200c\u200d"  # includes joiners, which occur in names and may hide a sign
_NUMBER = re.compile(r"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?)?", re.ASCII)
MAX_ROWS = 20  # named in one warning
_MOST = 10**12  # points; larger numbers with six decimals exceed the precision of `Decimal`
_BOM = b"\xef\xbb\xbf"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed time


class ExportFile(msgspec.Struct, frozen=True):
    """A file's *content*, remarks, and the *problem* if it would be useless and is not written."""

    content: bytes
    remarks: tuple[str, ...] = ()
    problem: str = ""

    def write(self, file: Path) -> None:
        """Write the content to *file* completely, or leave it as it is; raise ``UsageError``."""
        write_file(file, [self.content])


def write_file(file: Path, parts: Iterable[bytes]) -> None:
    """Write *parts* to *file* completely, or leave it as it is and raise ``UsageError``."""
    target = file.resolve()  # replaces the target of a link and not the link
    is_stream = target.exists() and not target.is_file()  # a pipe, or /dev/stdout
    try:
        replacing = nullcontext(target) if is_stream else replacing_file(target)
        with replacing as draft, draft.open("wb") as stream:
            stream.writelines(parts)
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror}.") from error


def zip_of(files: Mapping[str, bytes | str], executable: Collection[str] = ()) -> bytes:
    """Return a zip with the contents of *files* by name; equal files give equal bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3  # Unix, because programs otherwise ignore the permissions
            entry.external_attr = (stat.S_IFREG | (0o755 if name in executable else 0o644)) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


class CsvTable(msgspec.Struct, frozen=True):
    """The content of a CSV file, with its *delimiter* and whether it has a byte order mark."""

    rows: tuple[tuple[str, ...], ...]
    delimiter: str = ","
    bom: bool = False


def csv_text(value: str, limit: int = MAX_WORD) -> str:
    """Return *value* on one line, after an apostrophe if a spreadsheet would calculate it."""
    return _without_formula(line(value, limit))


def csv_id(value: str) -> str:
    """Return *value* as ``csv_text`` does, but keep ids different that differ only in spaces."""
    return _without_formula(identifier(value))


def is_formula(value: str) -> bool:
    """Whether a spreadsheet may interpret *value*, or a part of it, as a formula."""
    parts = unicodedata.normalize("NFKC", value).split(";")
    plain = (part.strip().lstrip(_INVISIBLE) for part in parts)
    # A sign alone, which may mean "none", is not a formula.
    return any(len(part) > 1 and part[0] in _SIGNS for part in plain)


def formula_warnings(rows: Iterable[Sequence[str]], what: str) -> tuple[str, ...]:
    """Return a warning about rows in which a spreadsheet may see formulas; empty if none do."""
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
    """Return *value* with at most *places* decimals, rounding halves up; empty for ``None``."""
    if value is None:
        return ""
    exact = Decimal(str(float(value)))  # as printed, so that 0.125 is rounded up and not to even
    if not exact.is_finite() or abs(exact) > _MOST:
        raise GraderError(f"A score is {value}, which is not a number of points.")
    rounded = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP).normalize()
    return f"{rounded + 0:f}"  # adding 0 turns -0 into 0


def points(cell: str) -> float | None:
    """Return the points in *cell*, written as ``7.5`` or ``7,5``; ``None`` for other text."""
    try:
        value = Decimal(cell.strip().replace(",", "."))
    except ArithmeticError:
        return None
    return float(value) if value.is_finite() and abs(value) <= _MOST else None


def csv_content(rows: Iterable[Sequence[str]], delimiter: str = ",", *, bom: bool = False) -> bytes:
    """Return the encoded *rows* in the format of RFC 4180: UTF-8, CR LF, quotes around texts."""
    # A line of one empty cell would be no row at all.
    lines = ((delimiter.join(map(_quoted, row)) or '""' * len(row)) + "\r\n" for row in rows)
    return (_BOM if bom else b"") + "".join(lines).encode("utf-8", "replace")


def read_csv(content: bytes, what: str) -> CsvTable:
    """Decode a CSV file, which *what* describes; raise ``UsageError`` if it is not valid."""
    try:
        page = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        msg = f"The {what} is not UTF-8. Download it again, or save it as “CSV UTF-8”."
        raise UsageError(msg) from None
    # The right delimiter divides the header into more cells.
    try:
        best = max(",;", key=lambda sign: len(next(_reader(page, sign), ())))
        rows = tuple(map(tuple, _reader(page, best, strict=True)))
    except csv.Error as error:
        raise UsageError(f"The {what} is not a CSV file: {error}.") from None
    if not rows:
        raise UsageError(f"The {what} is empty. Download it again.")
    for i, row in enumerate(rows, 1):
        if len(row) > len(rows[0]):  # its cells would be in the wrong columns
            raise UsageError(
                f"Row {i} of the {what} has {len(row)} cells, and the header has "
                f"{len(rows[0])}: the row may contain a comma without quotes. Download the "
                "file again."
            )
    return CsvTable(rows, best, content.startswith(_BOM))


def _without_formula(cell: str) -> str:
    if not is_formula(cell):
        return cell
    return ";".join(f"'{part}" if is_formula(part) else part for part in cell.split(";"))


def _quoted(cell: str) -> str:
    """Return *cell* in quotes, unless it is empty or a number."""
    escaped = cell.replace('"', '""')
    return cell if _NUMBER.fullmatch(cell) else f'"{escaped}"'


def _reader(page: str, delimiter: str, *, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(page, newline=""), delimiter=delimiter, strict=strict)
