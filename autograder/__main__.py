"""Runs the command line, as ``autograder`` or ``python -m autograder``."""

import sys
from typing import Final

INTERRUPTED: Final = 130  # the exit code of a program that Ctrl-C has ended
LOADING_TORCH: Final = frozenset({"check", "hunt", "story", "watch"})


def main() -> None:
    """Run a command; first, as torch takes seconds to import, print that it is being loaded."""
    try:
        _run()
    except KeyboardInterrupt:  # while modules are imported; a command handles its own
        sys.exit(INTERRUPTED)


def _run() -> None:
    if LOADING_TORCH.intersection(sys.argv[1:2]) and sys.stderr.isatty():
        sys.stderr.write("Loading torch …\n")
        sys.stderr.flush()
    from autograder.cli import app  # noqa: PLC0415  # after the message

    app()


if __name__ == "__main__":
    main()
