"""Prints the messages that commands share."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from autograder.errors import UsageError
from autograder.exports.export_file import ExportFile


def print_lines(lines: Iterable[str]) -> None:
    """Print *lines*."""
    for line in lines:
        typer.echo(line)


def print_remarks(remarks: Iterable[str]) -> None:
    """Print *remarks* to stderr, apart from the output."""
    for remark in remarks:
        typer.echo(remark, err=True)


def print_progress(line: str) -> None:
    """Print a *line* of progress, also from a different process and without a terminal."""
    typer.echo(line, err=True)


def terminal() -> tuple[int, bool]:
    """Return the columns of the terminal, and whether to print in colour."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return shutil.get_terminal_size().columns, colour


def write_export(name: str, made: ExportFile, file: Path) -> None:
    """Write *made* to *file*; print its remarks and its path."""
    print_remarks(made.remarks)
    if made.problem:
        raise UsageError(made.problem)
    made.write(file)
    typer.echo(f"{name}: {file}")
