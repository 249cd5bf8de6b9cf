"""Run the command line: ``python -m autograder``."""

from autograder.cli import app

app()
