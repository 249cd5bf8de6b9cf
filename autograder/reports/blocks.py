"""Defines the blocks of which feedback consists, and their order.

A block has words and no layout. Each renderer (``terminal``, ``exercise_screen``, ``plain`` and the
templates) has one case for each type, so a sentence and its place are written only here and in
``feedback_builder``.
"""

from typing import Final

import msgspec

from autograder.reports.tensor_tables import TensorTable

LEAD: Final = "It looks like this: "
HOLDS: Final = "This must hold: "  # before the sentence of a check that does not pass


class Title(msgspec.Struct, frozen=True):
    """The sentence of a check."""

    text: str


class Message(msgspec.Struct, frozen=True):
    """The observation of a check, in one or more lines."""

    text: str


class NamedMistake(msgspec.Struct, frozen=True):
    """The *name* of a mistake, the rest of its explanation, and a guiding *question*."""

    name: str
    more: str
    question: str


class Aside(msgspec.Struct, frozen=True):
    """A sentence that matters less, such as where a mistake is described already."""

    text: str


class Dependency(Aside, frozen=True):
    """The sentence that an exercise uses another one which is not right."""


class Tables(msgspec.Struct, frozen=True):
    """The numbers of a check: Expected, Yours and Difference."""

    tables: tuple[TensorTable, ...]


class Printed(msgspec.Struct, frozen=True):
    """The output of the student's code, below a *title*."""

    text: str
    title: str = "Printed by your code:"


Block = Title | Message | NamedMistake | Aside | Tables | Printed


def mistake_first(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return *blocks* with the mistake in front, for learners who are working on it."""
    return tuple(sorted(blocks, key=lambda block: not isinstance(block, NamedMistake | Aside)))
