"""Defines the command line: ``autograder COMMAND``."""

import atexit
import gc
from typing import Annotated

import typer

from autograder import __version__
from autograder.cli.command_group import CommandGroup, learners_overview

# Without this, Python searches all of torch for garbage at exit, for 0.3 s and without effect.
atexit.register(gc.freeze)

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Check exercises, name their mistakes, and grade submissions in a sandbox.",
)


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(f"autograder {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(learners_overview())
