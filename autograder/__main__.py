"""Run the command line: ``autograder`` or ``python -m autograder``."""

import sys
from typing import Final

LOADING_TORCH: Final = frozenset({"check", "hunt", "watch"})


def main() -> None:
    """Run a command; a command that imports torch first prints that it has started.

    On a cold disk the imports take many seconds, so this module imports nothing earlier.
    """
    if LOADING_TORCH.intersection(sys.argv[1:2]) and sys.stderr.isatty():
        sys.stderr.write("Loading torch …\n")
        sys.stderr.flush()
    from autograder.cli import app  # noqa: PLC0415  # after the first line is on the screen

    app()


if __name__ == "__main__":
    main()
