"""Reads pictures and printed lines from a lab that its learner has run and saved.

Anybody can edit a notebook, so everything but small pictures and plain text is left out.
"""

import base64
import binascii
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, NamedTuple

from autograder.sanitize import lines
from autograder.submission.notebook import saved_cells

MOST_PICTURE: Final = 2 << 20  # bytes of one picture
MOST_TEXT: Final = 1_500  # characters that one cell has printed
MOST_OUTPUTS: Final = 8  # of one lab
PNG: Final = b"\x89PNG\r\n\x1a\n"
CHECK: Final = "lab.check("  # in the last cell of each exercise
MODEL_ANSWER: Final = "lab.model_answer("  # shows a text of the course, not of the learner
DATA: Final = "data:image/png;base64,"


class Output(NamedTuple):
    """A *picture*, as PNG in base64, with its *title*; or a printed *text*."""

    picture: str = ""
    title: str = ""
    text: str = ""


def outputs_after_exercises(lab: Path) -> list[Output]:
    """List the outputs of the cells after the last exercise of *lab*; empty if it can't be read."""
    cells = saved_cells(lab)
    checks = [number for number, cell in enumerate(cells) if CHECK in cell["source"]]
    after = cells[checks[-1] + 1 :] if checks else []
    try:
        shown = [
            output
            for cell in after
            if MODEL_ANSWER not in cell["source"]
            for output in _cell(cell["outputs"] or [])
        ]
    except (ValueError, KeyError, TypeError, AttributeError):  # outputs may hold anything
        return []
    return shown[:MOST_OUTPUTS]


def _cell(outputs: list[Any]) -> Iterator[Output]:
    """Yield the printed text of one cell, and then its pictures."""
    streams = [one for one in outputs if one.get("output_type") == "stream"]
    printed = "".join("".join(one["text"]) for one in streams if one.get("name") == "stdout")
    if text := lines(printed, MOST_TEXT):
        yield Output(text=text)
    for data in (one.get("data") or {} for one in outputs):
        if "text/html" in data:
            parser = _Pictures()
            parser.feed("".join(data["text/html"]))
            yield from parser.found
        elif "image/png" in data:
            yield from _picture("".join(data["image/png"]), "A picture of your lab")


class _Pictures(HTMLParser):
    """Collects the pictures that are embedded in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Output] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the picture of an ``img`` tag."""
        known = dict(attrs)
        source = known.get("src") or ""
        if tag == "img" and source.startswith(DATA):
            self.found += _picture(source.removeprefix(DATA), known.get("alt") or "")


def _picture(encoded: str, title: str) -> Iterator[Output]:
    """Yield the picture *encoded*, if it is a small PNG."""
    try:
        content = base64.b64decode("".join(encoded.split()), validate=True)
    except binascii.Error:
        return
    if content.startswith(PNG) and len(content) <= MOST_PICTURE:
        yield Output(base64.b64encode(content).decode(), lines(title, MOST_TEXT))
