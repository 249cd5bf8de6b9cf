"""Tests tables of numbers in a terminal."""

from autograder.course_file import Picture
from autograder.reports.terminal import picture_parts, pictures_parts, render

PICTURE = Picture(("a", "b"), "Meaning.", "", caption="Rows and columns.")
WEIGHTS = ((1.0, 0.0), (0.25, 0.75))


def test_a_picture_has_digits_where_they_fit():
    """A narrow terminal shows a picture in shades, without digits."""
    wide, narrow = (
        render(picture_parts("Title", PICTURE, WEIGHTS, width), width, colour=False)
        for width in (40, 15)
    )

    assert "b ░░░ 0.25 ▓▓▓ 0.75\nRows and columns." in wide
    assert "b ░░░ ▓▓▓" in narrow


def test_two_pictures_are_next_to_each_other_where_they_fit():
    """Two pictures are next to each other, or below each other in a narrow terminal."""
    pictures = {"One": WEIGHTS, "Two": ((-0.5, 1.5), (0.25, 0.75))}
    wide, narrow = (
        render(pictures_parts(pictures, PICTURE, width), width, colour=False) for width in (40, 18)
    )

    assert "b ░.25 ▓.75" in wide
    assert "a -.50 █1.5" in wide
    assert wide.count("\n") < narrow.count("\n")
