"""Reads the kit's files as Canvas and Moodle read them."""

import csv
import io
import re


def canvas_reads(name: str) -> tuple[str, str] | None:
    """User and file as Canvas reads them from *name*; None if Canvas ignores the page."""
    parts = name.split("_")
    numbers = [part for part in parts if re.fullmatch(r"\d+", part)]
    return None if parts[-1].startswith("link") or len(numbers) < 2 else (numbers[0], numbers[1])


def moodle_reads(name: str) -> tuple[str, str] | None:
    """Participant and file as Moodle reads them from *name*; None if Moodle ignores the page."""
    parts = name.split("_", 4)
    known = len(parts) == 5 and parts[1].isdecimal() and parts[2:4] == ["assignsubmission", "file"]
    return (parts[1], parts[4]) if known else None


def cells(content: bytes) -> list[list[str]]:
    """Return the cells of a file in UTF-8 with commas."""
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True))


def moodle_grades(content: bytes, grade: str = "Grade") -> dict[str, float]:
    """Read as Moodle's importer does: three columns by name, ids after the word, a range."""
    header, *rows = cells(content)
    columns = [header.index(name) for name in ("Identifier", grade, "Last modified (grade)")]
    given = {}
    for line in rows:
        mark, most = line[columns[1]].replace(" ", ""), float(line[columns[1] + 1])
        if mark and 0 <= float(mark) <= most:
            given[line[columns[0]][len("Participant ") :]] = float(mark)
    return given
