"""Runs the command line, as ``autograder`` or ``python -m autograder``."""

import sys  # and no other module, because Ctrl-C during these imports prints a traceback

INTERRUPTED = 130  # the exit code of a program that Ctrl-C has ended
LOADING_TORCH = frozenset({"check", "hunt", "story", "watch"})


def main() -> None:
    """Run a command; first, as torch takes seconds to import, print that it is being loaded."""
    try:
        _run()
    except KeyboardInterrupt:  # while a command's modules are imported; it handles its own
        sys.exit(INTERRUPTED)


def _run() -> None:
    # `signal` itself imports other modules. Typeshed lacks this one.
    import _signal  # type: ignore[import-not-found]  # noqa: PLC0415

    handler = _signal.getsignal(_signal.SIGINT)
    if handler is _signal.default_int_handler:  # not if the shell has turned Ctrl-C off
        # An exception can be raised inside of Python's own code, which prints it, and continues.
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    if LOADING_TORCH.intersection(sys.argv[1:2]) and "--help" not in sys.argv:
        if sys.stderr.isatty():
            sys.stderr.write("Loading torch …\n")
            sys.stderr.flush()
        from contextlib import suppress  # noqa: PLC0415

        with suppress(Exception):  # the command reports what is wrong with torch
            import torch  # noqa: F401, PLC0415  # its code may lose the exception of Ctrl-C
    from autograder.cli import app  # noqa: PLC0415  # after the message

    if handler is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, handler)
    app()


if __name__ == "__main__":
    main()
