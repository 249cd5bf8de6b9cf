"""Prints lines, remarks, progress and exports for all commands."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from autograder.errors import UsageError
from autograder.exports.export_file import ExportFile


def print_lines(lines: Iterable[str]) -> None:
    """Print *lines* to stdout."""
    for line in lines:
        typer.echo(line)


def print_remarks(remarks: Iterable[str]) -> None:
    """Print *remarks* to stderr, so that they are not part of the output."""
    for remark in remarks:
        typer.echo(remark, err=True)


def print_progress(line: str) -> None:
    """Print a *line* of progress to stderr."""
    typer.echo(line, err=True)


def terminal() -> tuple[int, bool]:
    """Return the width of the terminal, and whether to print in color."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return shutil.get_terminal_size().columns, colour


def write_export(name: str, made: ExportFile, file: Path) -> None:
    """Write *made* to *file*; print its remarks and the path."""
    print_remarks(made.remarks)
    if made.problem:
        raise UsageError(made.problem)
    made.write(file)
    typer.echo(f"{name}: {file}")
