"""Tests screens that fit into the rows of a terminal."""

import pytest
from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from autograder.reports.exercise_screen import (
    Part,
    Rank,
    first_rows,
    fit,
    kept,
    last_rows,
    optional,
    page,
    spaced,
    whole,
)
from autograder.reports.terminal import render

ROWS = tuple(Text(f"row {number}") for number in range(5))
PARTS = (
    kept("name"),
    Part((ROWS, ROWS[:1], ()), (Rank.TABLES, Rank.NUMBERS)),
    optional(Rank.MESSAGE, "message"),
    spaced(Rank.BAR, "bar"),
    kept("keys"),
)


def shown(rows: int, width: int = 40) -> list[str]:
    """Return the rows of a screen of *PARTS*."""
    return render(fit(PARTS, width, rows), width, colour=False).splitlines()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(10, ["name", *map(str, ROWS), "message", "", "bar", "keys"], id="all"),
        pytest.param(9, ["name", "row 0", "message", "", "bar", "keys"], id="table-first"),
        pytest.param(5, ["name", "row 0", "message", "bar", "keys"], id="then-the-empty-row"),
        pytest.param(4, ["name", "message", "bar", "keys"], id="then-the-rest-of-the-table"),
        pytest.param(3, ["name", "message", "keys"], id="then-the-bar"),
        pytest.param(2, ["name", "keys"], id="at-last-what-is-kept"),
        pytest.param(1, ["keys"], id="cut"),
    ],
)
def test_the_least_important_part_shrinks_first(rows: int, expected: list[str]):
    """No screen has more rows than the terminal, and the last part always shows."""
    assert shown(rows) == expected


def test_rows_that_a_high_part_leaves_are_used():
    """The bar comes back where the text below it does not fit anyway."""
    parts = [kept("name"), optional(Rank.BAR, "bar"), optional(Rank.NOTE, *ROWS), kept("keys")]

    assert render(fit(parts, 40, 6), 40, colour=False) == "name\nbar\nkeys\n"


@pytest.mark.parametrize("width", [3, 5, 12, 40])
@pytest.mark.parametrize("rows", range(1, 12))
def test_no_screen_is_higher_than_the_terminal(rows: int, width: int):
    """Words that wrap count as the rows that they fill."""
    assert len(shown(rows, width)) <= rows


def test_an_empty_row_inside_a_part_counts():
    """A table below an empty row shrinks if the screen would be one row too high."""
    indented = Padding(Group("", "table"), (0, 0, 0, 2))
    parts = [kept("name"), Part(((indented,), ("row",)), (Rank.TABLES,)), kept("keys")]

    assert render(fit(parts, 40, 4), 40, colour=False) == "name\n\n  table\nkeys\n"
    assert render(fit(parts, 40, 3), 40, colour=False) == "name\nrow\nkeys\n"


def test_pages_show_every_row_once_and_begin_again():
    """A line below the page gives its rows, and the first page follows the last."""
    pages = [render(page(ROWS, 40, 2, number), 40, colour=False) for number in range(4)]

    assert pages[0] == "row 0\nrow 1\nRows 1 to 2 of 5\n"
    assert pages[2] == "row 4\nRows 5 to 5 of 5\n"
    assert pages[3] == pages[0]


def test_everything_is_there_for_those_who_ask():
    """The largest layout holds everything."""
    assert len(whole(PARTS)) == 10


def test_text_is_cut_where_a_mark_says_so():
    """Messages keep their first rows, and outputs keep their last ones."""
    assert first_rows("one\ntwo\nthree", 20, 2) == "one\ntwo …"
    assert first_rows("one\ntwo", 20, 2) == "one\ntwo"
    assert last_rows("one\ntwo\nthree\n", 2) == "…\ntwo\nthree"
