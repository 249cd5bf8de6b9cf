"""Tests pictures that follow the controls of a lab notebook."""

import sys

import ipywidgets
import pytest
import torch

from autograder.student.pictures import Panels, embed, explore, heatmap_panels


class Display:
    """The outputs of a notebook in order, and the pictures that replace the first picture."""

    def __init__(self) -> None:
        self.shown: list[object] = []
        self.updates: list[object] = []

    def __call__(self, *objects: object, display_id: bool = False) -> "Display":  # noqa: ARG002  # the signature is IPython's
        """Show *objects*."""
        self.shown += objects
        return self

    def update(self, picture: object) -> None:
        """Show *picture* in the place of the first one."""
        self.updates.append(picture)


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Display:
    """Replace IPython's function."""
    found = Display()
    monkeypatch.setattr("IPython.display.display", found)
    return found


def square(size: int, word: str = "a") -> Panels:
    """Draw a matrix of *size* rows."""
    return heatmap_panels({f"{word}{size}": torch.eye(size)}, list("abcdef"[:size]))


def test_the_picture_follows_a_control(display: Display):
    """A slider of whole numbers starts at its last number, and each move draws again."""
    explore(square, size=(1, 6, 2))
    slider, first = display.shown
    slider.value = 4  # type: ignore[attr-defined]

    assert isinstance(slider, ipywidgets.IntSlider)
    assert repr(first) == "Pictures: a2"
    assert list(map(repr, display.updates)) == ["Pictures: a4"]


def test_each_kind_of_start_has_its_control(display: Display):
    """Each kind of value has its control: a text, a checkbox, a menu, two kinds of slider."""
    explore(lambda **_: square(2), a="text", b=True, c=["x", "y"], d=(0, 9, 3), e=(0.0, 1.0, 0.5))

    assert [type(widget).__name__ for widget in display.shown[:-1]] == [
        "Text",
        "Checkbox",
        "Dropdown",
        "IntSlider",
        "FloatSlider",
    ]


def test_a_picture_that_can_not_be_drawn_is_a_note(display: Display):
    """An error in the student's code shows in one line, and the controls still work."""
    explore(square, size=(1, 9, 2))
    slider = display.shown[0]
    slider.value = 9  # type: ignore[attr-defined]
    slider.value = 3  # type: ignore[attr-defined]

    assert display.updates[0].data.startswith("There is no picture for these values: ValueError")
    assert repr(display.updates[1]) == "Pictures: a3"


def test_there_are_no_controls_for_a_picture_that_waits_for_code(display: Display):
    """The cell says what is missing, and has no slider that would move nothing."""

    def unwritten(size: int) -> Panels:
        raise NotImplementedError(size)

    with pytest.raises(NotImplementedError):
        explore(unwritten, size=(1, 9, 2))
    assert display.shown == []


def test_without_ipywidgets_the_picture_is_there(
    display: Display, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Without ipywidgets the cell shows the first picture and a line on how to change it."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    explore(square, size=(1, 6, 2), word=["b", "c"])

    assert list(map(repr, display.shown)) == ["Pictures: b2"]
    assert "Change a value in this cell and run it again." in capsys.readouterr().out


def test_equal_words_have_equal_numbers():
    """Words that differ in case are equal, and a sentence is cut after ten words."""
    words, numbers = embed("The cat sees the dog", 4)

    assert words == ["The", "cat", "sees", "the", "dog"]
    assert torch.equal(numbers[0], numbers[3])
    assert not torch.equal(numbers[0], numbers[1])
    assert embed("a " * 12, 4)[1].shape == (10, 4)
    assert embed("", 4)[1].shape == (1, 4)
