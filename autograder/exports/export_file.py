"""Makes the file of an export: JSON, or CSV in which a spreadsheet runs no formula.

A spreadsheet calculates a cell that begins with ``=``, ``+``, ``-`` or ``@``, also after spaces and
in full width; quoting does not prevent that, an apostrophe in front does. All our own cells go
through ``csv_text``. Cells that a learning management system wrote are not changed: it finds its
students by them, and the instructor had the same file before.
"""

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import msgspec

from autograder.disk import replacing_file
from autograder.errors import GraderError, UsageError
from autograder.results import CheckResult, Results, Status, SubmissionResult
from autograder.sanitize import MAX_WORD, identifier, line

_SIGNS = frozenset("=+-@\N{MINUS SIGN}")
_INVISIBLE = " \t\r\n\u200c\u200d"  # names may hold joiners, which may hide what follows
MAX_ROWS = 20  # named in one warning
_MOST = 10**12  # points; a larger number with six decimals exceeds the precision of `Decimal`
_BOM = b"\xef\xbb\xbf"


class ExportFile(msgspec.Struct, frozen=True):
    """A file of *parts*, made while it is written, and remarks about students without a cell.

    A *problem* is the reason why the file would be useless and is not written.
    """

    parts: Callable[[], Iterable[bytes]]
    remarks: tuple[str, ...] = ()
    problem: str = ""

    @property
    def content(self) -> bytes:
        """The whole file."""
        return b"".join(self.parts())

    def write(self, file: Path) -> None:
        """Write the parts to *file* completely, or leave it as it is and raise ``UsageError``."""
        write_file(file, self.parts())


def write_file(file: Path, parts: Iterable[bytes]) -> None:
    """Write *parts* to *file* completely, or leave it as it is and raise ``UsageError``."""
    target = file.resolve()  # what a link points to, and not the link, is replaced
    is_stream = target.exists() and not target.is_file()  # a pipe, or /dev/stdout
    try:
        replacing = nullcontext(target) if is_stream else replacing_file(target)
        with replacing as draft, draft.open("wb") as stream:
            stream.writelines(parts)
    except OSError as error:
        msg = f"{file} can't be written: {error.strerror}."
        raise UsageError(msg) from error


def single_submission(results: Results) -> SubmissionResult:
    """Return the one submission of *results*, for formats that hold one.

    Raises ``UsageError`` where there are more or none, and ``GraderError`` where there is no grade,
    because such a format can only express that as a zero.
    """
    if len(results.submissions) != 1:
        msg = (
            "This format has room for one submission, but the record has "
            f"{len(results.submissions)}. "
            "Grade one submission at a time, and export each record."
        )
        raise UsageError(msg)
    result = results.submissions[0]
    if result.score is None:
        internal = result.status is Status.GRADER_ERROR
        failed = "The grader failed" if internal else "There is no grade"
        msg = f"{failed} for {result.student}: {result.message or 'no reason given'}"
        raise GraderError(msg)
    return result


def zero_remarks(result: SubmissionResult) -> tuple[str, ...]:
    """Remark that nothing of *result* could be graded, for formats that can only express a zero."""
    if result.status is not Status.UNREADABLE:
        return ()
    return (f"{result.student}: nothing could be graded, so this format writes 0 points.",)


def feedback_text(check: CheckResult) -> str:
    """Return the student's feedback on *check* as plain text; empty if there is none."""
    parts = [check.message]
    if check.diagnosis is not None:
        parts += [check.diagnosis.headline + check.diagnosis.beyond_headline, check.diagnosis.hint]
    return "\n\n".join(filter(None, parts))


def json_file(answer: dict[str, Any], *remarks: str) -> ExportFile:
    """Encode *answer* as indented UTF-8 JSON; raises ``ValueError`` for NaN and infinities."""
    page = json.dumps(answer, ensure_ascii=False, allow_nan=False, indent=2).encode() + b"\n"
    return ExportFile(lambda: [page], remarks)


class CsvTable(msgspec.Struct, frozen=True):
    """A CSV file as it was read; *bom* and *delimiter* say how it was written."""

    rows: tuple[tuple[str, ...], ...]
    delimiter: str = ","
    bom: bool = False


def csv_text(value: str, limit: int = MAX_WORD) -> str:
    """Put *value* on one line, with an apostrophe in front if a spreadsheet would calculate it."""
    return _without_formula(line(value, limit))


def csv_id(value: str) -> str:
    """Return *value* as ``csv_text`` does, but two ids that differ in spaces stay different."""
    return _without_formula(identifier(value))


def is_formula(value: str) -> bool:
    """Whether a spreadsheet may take *value* for a formula."""
    plain = unicodedata.normalize("NFKC", value).strip().lstrip(_INVISIBLE)
    return (
        len(plain) > 1 and plain[0] in _SIGNS
    )  # a sign alone, written for "none", is not a formula


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
    """Read a number of points, written as ``7.5`` or ``7,5``; ``None`` for any other text."""
    try:
        value = Decimal(cell.strip().replace(",", "."))
    except ArithmeticError:
        return None
    return float(value) if value.is_finite() and abs(value) <= _MOST else None


def csv_lines(
    rows: Iterable[Sequence[str]], delimiter: str = ",", *, bom: bool = False
) -> Iterator[bytes]:
    """Encode *rows* after RFC 4180: UTF-8, lines ended by CR LF, quotes where needed."""
    yield _BOM if bom else b""
    line_ = io.StringIO(newline="")
    writer = csv.writer(line_, delimiter=delimiter)
    for row in rows:
        writer.writerow(row)
        yield line_.getvalue().encode("utf-8", "replace")
        line_.seek(0)
        line_.truncate()


def read_csv(content: bytes, what: str) -> CsvTable:
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
                f"Row {i} of the {what} has {len(row)} cells, and the header has "
                f"{len(rows[0])}: the row may contain a comma without quotes. Download the "
                "file again."
            )
            raise UsageError(msg)
    return CsvTable(rows, best, content.startswith(_BOM))


def _without_formula(cell: str) -> str:
    return f"'{cell}" if is_formula(cell) else cell


def _reader(page: str, delimiter: str, *, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(page, newline=""), delimiter=delimiter, strict=strict)
