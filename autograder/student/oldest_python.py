"""Finds syntax that the oldest Python of the kit does not read, because a grader may run it."""

import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final

from autograder.sandbox.notebook_magics import plain_python

OLDEST: Final = (3, 11)  # `requires-python` in pyproject.toml
_START: Final = ("FSTRING_START", "TSTRING_START")  # tokens of Python 3.12 and 3.14
_END: Final = ("FSTRING_END", "TSTRING_END")
_TEXT: Final = ("FSTRING_MIDDLE", "TSTRING_MIDDLE")


def newer_syntax(cells: Iterable[bytes], *, notebook: bool) -> Iterator[str]:
    """Yield a sentence on the first place of each cell that needs a Python newer than the oldest.

    Code that is not valid here either yields nothing.
    """
    for number, cell in zip(count(1), cells, strict=False):
        line = _newer_line(cell.decode("utf-8", "replace"))
        if line:
            where = f"cell {number}, line {line}" if notebook else f"line {line}"
            version = ".".join(map(str, OLDEST))
            yield (
                f"{where} needs a newer Python than {version}. It is valid in yours "
                f"({sys.version_info.major}.{sys.version_info.minor}), but your grader may run "
                f"Python {version}, so use an older form."
            )


def _newer_line(text: str) -> int:
    """Return the first line of *text* that is valid here but not in the oldest Python, or 0."""
    if not _error_line(text):
        python = text
    elif _error_line(python := plain_python(text)):
        return 0
    lines = [_error_line(python, OLDEST), _quotes_line(_tokens(python))]
    return min(filter(None, lines), default=0)


def _error_line(text: str, version: tuple[int, int] | None = None) -> int:
    """Return the line that is not valid in *version* of Python, by default this one; 0 if none."""
    try:
        ast.parse(text, feature_version=version)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError, MemoryError):
        return 1
    return 0


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Return the name, the text and the line of each token."""
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return [(tokenize.tok_name[one.type], one.string, one.start[0]) for one in found]


def _quotes_line(tokens: Iterable[tuple[str, str, int]]) -> int:
    """Return the first line of an f-string that repeats its quotes, or has a backslash, inside.

    ``ast.parse`` accepts it for an older Python, too. Before 3.12, an f-string is one token.
    """
    quotes: list[str] = []
    for kind, text, line in tokens:
        quote = text.lstrip("rRbBuUfFtT")
        is_string = kind in {*_START, "STRING"}
        if quotes and kind not in {*_TEXT, *_END}:
            inside = is_string and quote.startswith(quotes[-1])
            if inside or "\\" in text or kind == "COMMENT":
                return line
        if kind in _START:
            quotes.append(quote)
        elif kind in _END:
            quotes.pop()
    return 0
