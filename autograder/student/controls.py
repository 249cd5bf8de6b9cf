"""Redraws a picture of a lab notebook when the learner moves a control.

The picture is an ordinary output of its cell, so it also appears without ipywidgets and in viewers
that show no controls.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Any

from autograder.student.live_module import describe
from autograder.student.pictures import Panels

Start = str | bool | tuple[float, float, float] | Sequence[str]
WORDS = 10  # of a sentence; a heatmap of them has numbers
NO_CONTROLS = (
    "There are no controls here because ipywidgets is not installed. "
    "Change a value in this cell and run it again."
)


class _Note:
    """A line of text in place of a picture that can't be drawn."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def explore(draw: Callable[..., Panels], **controls: Start) -> None:
    """Show the picture that *draw* returns, and a control for each of its arguments.

    The first value of an argument decides its control: a text gives a text field, a bool a
    checkbox, a list of texts a menu. A tuple (lowest, highest, first) gives a slider, which has
    whole numbers only if all three are whole.
    """
    from IPython.display import display  # noqa: PLC0415  # only notebooks need it

    widgets = {name: _widget(name, start) for name, start in controls.items()}
    shown = [widget for widget in widgets.values() if widget is not None]
    if shown:
        display(*shown)  # type: ignore[no-untyped-call]
    first = {name: _first(start) for name, start in controls.items()}
    picture = display(draw(**first), display_id=True)  # type: ignore[no-untyped-call]
    if len(shown) < len(controls):
        print(NO_CONTROLS)  # noqa: T201  # a notebook shows it below its cell

    def redraw(_change: object) -> None:
        picture.update(_drawn(draw, {name: widget.value for name, widget in widgets.items()}))

    for widget in shown:
        widget.observe(redraw, names="value")


def embed(sentence: str, features: int) -> tuple[list[str], Any]:
    """Return the first words of *sentence*, and a tensor of *features* random numbers for each.

    Equal words get equal numbers, in every run. An empty sentence counts as one empty word.
    """
    import torch  # noqa: PLC0415  # takes seconds, and few cells need it

    words = sentence.split()[:WORDS] or [""]
    rows = []
    for word in words:
        generator = torch.Generator().manual_seed(zlib.crc32(word.lower().encode()))
        rows.append(torch.randn(features, generator=generator))
    return words, torch.stack(rows)


def _drawn(draw: Callable[..., Panels], values: dict[str, Any]) -> Panels | _Note:
    """Return the picture for *values*, or a note that says why there is none."""
    try:
        return draw(**values)
    except Exception as error:  # noqa: BLE001  # the student's code may raise anything
        return _Note(f"There is no picture for these values: {describe(error)}")


def _first(start: Start) -> Any:
    """Return the first value of a control."""
    if isinstance(start, str | bool):
        return start
    return start[-1] if isinstance(start, tuple) else start[0]


def _widget(name: str, start: Start) -> Any:
    """Return the control for *start*, or None without ipywidgets."""
    try:
        import ipywidgets  # noqa: PLC0415  # it may not be installed
    except ImportError:
        return None
    label = {"description": name.replace("_", " "), "style": {"description_width": "initial"}}
    if isinstance(start, bool):
        return ipywidgets.Checkbox(value=start, **label)
    if isinstance(start, str):
        return ipywidgets.Text(value=start, continuous_update=False, **label)
    if not isinstance(start, tuple):
        return ipywidgets.Dropdown(options=list(start), **label)
    low, high, value = start
    whole = all(isinstance(number, int) for number in start)
    slider = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
    step = {} if whole else {"step": (high - low) / 50}
    return slider(value=value, min=low, max=high, continuous_update=False, **step, **label)
