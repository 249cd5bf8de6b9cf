"""Tests that each renderer shows each block, and that its text is never markup."""

from typing import get_args

import pytest

from autograder.reports.exercise_screen import exercise_screen, whole
from autograder.reports.feedback import (
    Aside,
    Block,
    CheckFeedback,
    ExerciseFeedback,
    Feedback,
    Message,
    NamedMistake,
    Printed,
    Tables,
    Title,
    mistake_first,
)
from autograder.reports.feedback_builder import exercise_text
from autograder.reports.html import exercise_card, render
from autograder.reports.tensor_tables import tensor_tables
from autograder.reports.terminal import draw
from autograder.reports.terminal import render as render_terminal
from autograder.results import Grid

HOSTILE = "<b>[b]x[/b]"  # short enough for the head of a row
CELL = ((HOSTILE,),)
BLOCKS = [
    Title(HOSTILE),
    Message(HOSTILE),
    NamedMistake(HOSTILE, " and so on.", "Why?"),
    NamedMistake("A name", HOSTILE, "Why?"),
    NamedMistake("A name", ".", HOSTILE),
    Aside(HOSTILE),
    Tables(tensor_tables(Grid(CELL, CELL, CELL, ((True,),), (HOSTILE,)))),
    Printed(HOSTILE),
    Printed("text", title=HOSTILE),
]


def kind(block: Block) -> str:
    """The name of the type of *block*."""
    return type(block).__name__


def exercise_with(block: Block) -> ExerciseFeedback:
    """An exercise whose first problem has this block only."""
    first = CheckFeedback("Adds.", "✗", "not right yet", 0.0, 1.0, (block,))
    return ExerciseFeedback(1, "double", 0.0, 1.0, "in progress", first, (), (), ())


def page_with(block: Block) -> str:
    """The page about an exercise whose first problem has this block only."""
    exercise = exercise_with(block)
    texts = dict.fromkeys(
        ("student", "stage", "course", "headline", "encouragement", "message", "next_step"), ""
    )
    feedback = Feedback(
        **texts, score=0.0, max_score=1.0, exercises=(exercise,), notices=(), ignored=(), sha256=""
    )
    return render("feedback.html", feedback=feedback)


def test_the_cases_below_are_all_blocks():
    """Each type of block is tested with each renderer."""
    assert {type(block) for block in BLOCKS} == set(get_args(Block))


@pytest.mark.parametrize("block", BLOCKS, ids=kind)
def test_rich_shows_a_block_as_it_was_written(block: Block):
    """A terminal shows the words of a block, and its markup stays text."""
    screen = whole(exercise_screen(exercise_with(block), 120))

    for parts in (draw([block], 120), screen):
        assert HOSTILE in render_terminal(parts, 120, colour=False)


@pytest.mark.parametrize("block", BLOCKS, ids=kind)
def test_a_card_escapes_a_block(block: Block):
    """A card shows the words of a block, and its tags stay text."""
    card = exercise_card(exercise_with(block), points=False)

    assert "<b>" not in card
    assert "&lt;b&gt;" in card


@pytest.mark.parametrize("block", [one for one in BLOCKS if not isinstance(one, Title)], ids=kind)
def test_a_page_escapes_a_block(block: Block):
    """A page, which shows titles as headings, has the words of a block and escapes its tags."""
    page = page_with(block)

    assert "<b>" not in page
    assert "&lt;b&gt;" in page


@pytest.mark.parametrize("block", [one for one in BLOCKS if not isinstance(one, Tables)], ids=kind)
def test_plain_text_shows_a_block_as_it_was_written(block: Block):
    """Plain text has the words of a block; a table is left out."""
    assert HOSTILE in exercise_text(exercise_with(block), points=False)


def test_the_mistake_comes_first_for_learners_and_the_rest_keeps_its_order():
    """The name of a mistake moves to the front, and so does a reference to it."""
    title, message, mistake = (
        Title("Adds."),
        Message("It differs."),
        NamedMistake("Off.", "", "Why?"),
    )

    assert mistake_first((title, message, mistake)) == (mistake, title, message)
    assert mistake_first((title, message, Aside("As above."))) == (
        Aside("As above."), title, message
    )  # fmt: skip
