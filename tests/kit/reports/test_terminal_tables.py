"""Tables of numbers in a terminal."""

from autograder.reports.terminal import render
from autograder.reports.terminal_tables import picture_parts

WEIGHTS = ((1.0, 0.0), (0.25, 0.75))


def test_a_picture_has_digits_where_they_fit():
    """In a narrow terminal the shades are left."""
    wide, narrow = (
        render(picture_parts("Title", ("a", "b"), ("a", "b"), WEIGHTS, width), width, colour=False)
        for width in (40, 15)
    )

    assert "b ░░░ 0.25 ▓▓▓ 0.75" in wide
    assert "b ░░░ ▓▓▓" in narrow
