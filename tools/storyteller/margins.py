"""Measures how clear the choices in the fixed texts are: python -m tools.storyteller.margins.

A margin is the distance from the likeliest next character to the second. Processors round
differently, so a text with a small margin may become another one. For texts with a margin below
``WIDE``, it lists the beginnings of stories whose texts have wider ones; read such a text before
you choose its start in ``companion.toml``.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import torch

from autograder import companion
from autograder.student.course_modules import modules_in

COURSE: Final = Path(__file__).parents[2] / "source/course"
WIDE: Final = 0.05  # more than `verify` demands, so that the next weights break fewer texts
WORDS: Final = 5  # of a start, at most


def lines() -> Iterator[str]:
    """Yield the smallest margin of each fixed text, and starts with wide ones if one is not."""
    file, narrow = companion.read(COURSE), 0
    for slot in file.slot:
        fixed = {key: slot.shown[key] for key in ("start", "teach") if key in slot.shown}
        margin = _opened().show(**fixed)["margin"]
        narrow += margin < WIDE
        yield f"{margin:.4f}  {slot.stage}  {slot.shown['start']!r}"
    if narrow:
        yield f"{narrow} margins are below {WIDE}. Starts with wider ones, and their texts:"
        yield from _wide_starts()


def _wide_starts() -> Iterator[str]:
    stories = modules_in(COURSE, "story_texts").text_of("train").splitlines()
    words = [story.split(" ") for story in stories]
    starts = [" ".join([*one[:count], ""]) for one in words for count in range(1, WORDS + 1)]
    opened = _opened()
    for start in dict.fromkeys(starts):
        found = opened.show(start=start)
        if found["margin"] >= WIDE:
            yield f"{found['margin']:.4f}  {start!r}  {found['parts'][0][1]}"


def _opened() -> Any:
    """Open the storyteller without a learner's code; teaching changes an open one."""
    return modules_in(COURSE, "storyteller_companion").open_companion(COURSE)


def main() -> int:
    """Print all lines as they are measured."""
    torch.set_num_threads(1)
    for line in lines():
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
