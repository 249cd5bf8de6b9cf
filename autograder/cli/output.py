"""Prints lines, remarks, progress and exports for all commands."""

import codecs
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path
from typing import Final

import typer

from autograder.errors import UsageError
from autograder.exports.export_file import ExportFile

# What an encoding without the character prints, so that right and wrong stay different.
_ASCII: Final = str.maketrans("✓✗●○·→←“”█▓▒░", "+x*o-><''##:'")
LOWEST: Final = 3  # rows
_IN_ASCII: Final = "autograder-ascii"  # the name of the error handler


def tolerate_any_encoding() -> None:
    """Let stdout and stderr replace what their encoding lacks, as in a redirection on Windows."""
    codecs.register_error(_IN_ASCII, _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_IN_ASCII)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII characters for those that can't be encoded, and where to continue."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_ASCII)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "replace").decode()
    return plain, error.end


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print *lines* to stdout or stderr; in a terminal, long ones are broken between words."""
    stream = sys.stderr if err else sys.stdout
    width = shutil.get_terminal_size().columns if stream.isatty() else None
    for line in lines:
        typer.echo(line if width is None else _wrapped(line, width), err=err)


def _wrapped(text: str, width: int) -> str:
    rows = text.split("\n")
    whole = {"break_long_words": False, "break_on_hyphens": False}  # a path can be copied
    return "\n".join(
        row if len(row) <= width else textwrap.fill(row, width, **whole)  # type: ignore[arg-type]  # only options
        for row in rows
    )


def print_remarks(remarks: Iterable[str]) -> None:
    """Print *remarks* to stderr, so that they are not part of the output."""
    print_lines(remarks, err=True)


def print_progress(line: str) -> None:
    """Print a *line* of progress to stderr."""
    typer.echo(line, err=True)


def terminal() -> tuple[int, bool]:
    """Return the width of the terminal, and whether to print in color."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return shutil.get_terminal_size().columns, colour


def rows() -> int | None:
    """Return the rows of the terminal that a prompt leaves free; None if stdout is not one."""
    return max(LOWEST, shutil.get_terminal_size().lines - 1) if sys.stdout.isatty() else None


def write_export(name: str, made: ExportFile, file: Path) -> None:
    """Write *made* to *file*; print its remarks and the path."""
    print_remarks(made.remarks)
    if made.problem:
        raise UsageError(made.problem)
    made.write(file)
    typer.echo(f"{name}: {file}")
