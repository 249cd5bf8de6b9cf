"""Draws pictures for a lab notebook: heatmaps, curves, shapes of a computation, with controls.

Panels are side by side on a wide page and below each other on a narrow one, where a single wide
picture would become too small to read.
"""

import base64
import io
import re
import textwrap
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape, unescape
from math import inf
from typing import Any, NamedTuple

from autograder.student.live_module import describe

FEW = 12  # tokens; a heatmap with more of them names the largest entries of each row
LARGEST = 3  # entries that are named
INCH, SMALL = 0.5, 0.3  # side of a cell, so that two decimals fit, and without numbers
BAR = 0.8  # inches for the bar that shows the scale
WORD, LARGE, SLANT = 0.08, 0.15, 0.7  # inches of a letter in labels, and titles; share if slanted
HIDDEN = "////"  # hatching of masked entries
DARK = 0.6  # share of the largest number; above it, black text is hard to read on the colour
MINUS = "\N{MINUS SIGN}"
FAINT = 0.1  # share of the largest number; below it, the colour of a number is nearly white
MARGIN = 1.4  # inches next to a heatmap for tokens and title
DOTS = 72  # pixels of the page in an inch
SHARP = 2  # pixels of the image in a pixel of the page, for screens with a high resolution

MARKERS, SIGNS = "os^Dv*", "●■▲◆▼★"  # of curves, so that they differ without colours
APART = 0.065  # share of an axis between two names next to it
UNDERFLOW = 1e-30  # next to smaller weights an exact zero need not be masked
ROUNDING = 1e-4  # of float32 in a weight or a sum of weights

LABELS = ("query (attends)", "key (attended to)")  # of the rows and the columns of a heatmap

WIDTH = 340  # pixels of a diagram, if its texts are short; a narrow screen has 400
LETTER = 8  # pixels; the mean in DejaVu Sans, the widest of the usual fonts
BOX, ARROW = 46, 34  # heights of a row of boxes, and of the step between two
GAP, INDENT = 8, 56  # between two boxes, and from the left edge to the text of a step


class Panels:
    """Matplotlib figures, side by side as far as they fit on the page."""

    def __init__(self, figures: Sequence[Any], titles: Sequence[str]) -> None:
        self.figures = tuple(figures)
        self._titles = tuple(titles)

    def __repr__(self) -> str:
        return f"Pictures: {', '.join(self._titles)}"

    def _repr_html_(self) -> str:
        images = "".join(map(_figure, self.figures, self._titles))
        return f'<div style="display:flex;flex-wrap:wrap;gap:8px">{images}</div>'


class Diagram:
    """The shapes of a computation from top to bottom: rows of boxes, and steps between them."""

    def __init__(self, parts: Sequence[Mapping[str, str] | str]) -> None:
        self._parts = tuple(parts)

    def __repr__(self) -> str:
        return "\n".join(
            f"  | {part}"
            if isinstance(part, str)
            else "   ".join(f"{name} {shape}" for name, shape in part.items())
            for part in self._parts
        )

    def _repr_html_(self) -> str:
        top, drawn, width = 2, [], max([WIDTH, *map(_needed_width, self._parts)])
        for part in self._parts:
            drawn.append(_step(part, top) if isinstance(part, str) else _boxes(part, top, width))
            top += ARROW if isinstance(part, str) else BOX
        size = f'width="{width}" height="{top + 2}" viewBox="0 0 {width} {top + 2}"'
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" '
            f'font-size="14"><rect width="100%" height="100%" fill="white"/>{"".join(drawn)}</svg>'
        )
        return _image("svg+xml", svg.encode(), repr(self), width)


class Drawing:
    """A drawing in an SVG file, whose title is its text for viewers without pictures."""

    def __init__(self, svg: str) -> None:
        self._svg = svg

    def __repr__(self) -> str:
        found = re.search(r"<title>(.*?)</title>", self._svg, re.DOTALL)
        return unescape(found[1]) if found else "A drawing without a title"

    def _repr_html_(self) -> str:
        found = re.search(r'<svg[^>]* width="(\d+)"', self._svg)
        return _image("svg+xml", self._svg.encode(), repr(self), int(found[1]) if found else WIDTH)


def shapes(*parts: Mapping[str, str] | str) -> Diagram:
    """Return a diagram of a computation: a mapping of names to shapes is a row, a text a step."""
    return Diagram(parts)


def side_by_side(*figures: Any) -> None:
    """Show *figures* side by side if the page is wide enough, otherwise below each other."""
    from IPython.display import display  # noqa: PLC0415  # in notebooks only

    titles = [figure.axes[0].get_title().replace("\n", " ") or "a plot" for figure in figures]
    display(Panels(figures, titles))  # type: ignore[no-untyped-call]


def heatmaps(
    weights: Mapping[str, Any],
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    digits: int = 2,
    labels: tuple[str, str] = LABELS,
) -> None:
    """Show matrices as heatmaps, side by side, each under its title.

    *weights* maps a title to a (Tq, Tk) tensor. Its rows are queries and its columns are keys.
    *rows* and *columns* are their tokens; *columns* are *rows* by default. *labels* are the labels
    of both axes, that of the rows first.

    A bar shows the scale, which all panels share: from 0 to 1, or to the largest entry above 1; if
    there are negative entries, a symmetric one, blue for positive numbers and red for negative
    ones. Masked entries are hatched: -inf in scores, and exact zeros in weights. Raises
    ``ValueError`` if the tokens do not fit the shape.
    """
    side_by_side(*heatmap_panels(weights, rows, columns, digits=digits, labels=labels).figures)


def heatmap_panels(
    weights: Mapping[str, Any],
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    digits: int = 2,
    labels: tuple[str, str] = LABELS,
) -> Panels:
    """Return the panels of ``heatmaps``, for ``explore``."""
    import torch  # noqa: PLC0415  # importing it takes seconds
    from matplotlib.patches import Rectangle  # noqa: PLC0415  # importing it takes half a second

    keys = list(rows if columns is None else columns)
    tables = {title: torch.as_tensor(table).detach().float() for title, table in weights.items()}
    for title, table in tables.items():
        if tuple(table.shape) != (len(rows), len(keys)):
            wanted = f"({len(rows)}, {len(keys)}): one row per query, one column per key"
            raise ValueError(f"{title!r} has shape {tuple(table.shape)}; the tokens need {wanted}.")
    scale = _scale(tables.values())
    figures = []
    for title, table in tables.items():
        is_long = max(len(rows), len(keys)) > FEW
        named = _with_largest(rows, keys, table) if is_long and scale.low == 0 else list(rows)
        figure, axis = _axis(title, named, keys, labels)
        cells = table.masked_fill(~torch.isfinite(table), torch.nan).numpy()
        image = axis.imshow(cells, scale.colours, vmin=scale.low, vmax=scale.high)
        figure.colorbar(image, ax=axis, shrink=0.8, aspect=25)
        for row, column in _hidden(table).nonzero().tolist():
            corner = column - 0.5, row - 0.5
            axis.add_patch(
                Rectangle(corner, 1, 1, fill=False, hatch=HIDDEN, edgecolor="0.85", linewidth=0)
            )
        if not is_long or scale.low < 0:
            _write_numbers(axis, table, scale.high, None if is_long else digits)
        figures.append(figure)
    return Panels(figures, list(weights))


class _Scale(NamedTuple):
    colours: str
    low: float
    high: float


def _scale(tables: Iterable[Any]) -> _Scale:
    """Return one scale for all *tables*: from 0 to 1 or more, or symmetric below 0."""
    import torch  # noqa: PLC0415  # importing it takes seconds

    finite = torch.cat([table[torch.isfinite(table)] for table in tables])
    most = float(finite.abs().max()) if finite.numel() else 1.0
    if (finite < 0).any():
        return _Scale("RdBu", -most, most)
    return _Scale("Blues", 0.0, most if most > 1 + ROUNDING else 1.0)


def _hidden(table: Any) -> Any:
    """Return where *table* is masked: -inf, or an exact zero in rows that each have the sum 1."""
    are_weights = ((table.sum(dim=-1) - 1).abs() < ROUNDING).all()
    underflows = (table[table > 0] <= UNDERFLOW).any()
    return table == (0 if are_weights and not underflows else -inf)


def _with_largest(rows: Sequence[str], keys: Sequence[str], table: Any) -> list[str]:
    """Return the labels of the rows, each with its largest entries and their keys.

    An entry as large as one that is not named is not among the largest.
    """
    named = []
    for row, entries in zip(rows, table, strict=True):
        top = entries.topk(min(LARGEST + 1, len(keys)))
        pairs = list(zip(top.indices.tolist(), top.values.tolist(), strict=True))
        least = pairs[LARGEST][1] if len(pairs) > LARGEST else 0.0
        largest = [f"{keys[key]} {entry:.2f}" for key, entry in pairs[:LARGEST] if entry > least]
        named.append(f"{row}: {', '.join(largest)}" if largest else row)
    return named


def _axis(
    title: str, rows: Sequence[str], keys: Sequence[str], labels: tuple[str, str]
) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415  # importing it takes half a second

    left, below = (WORD * max(map(len, names), default=0) for names in (rows, keys))
    inch = SMALL if max(len(rows), len(keys)) > FEW else INCH
    size = (len(keys) * inch + MARGIN + BAR + left, len(rows) * inch + MARGIN + SLANT * below)
    figure = Figure(figsize=size, layout="constrained")
    axis = figure.subplots()
    axis.set(xlabel=labels[1], ylabel=labels[0])
    axis.set_title(textwrap.fill(title, int(size[0] / LARGE)))  # `wrap` leaves an empty space above
    axis.set_xticks(range(len(keys)), keys, rotation=45, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(rows)), rows)
    return figure, axis


def _write_numbers(axis: Any, table: Any, most: float, digits: int | None) -> None:
    """Write each entry into its cell, white where the cell is dark; without *digits*, its minus."""
    for row, entries in enumerate(table.tolist()):
        for column, entry in enumerate(entries):
            colour = "white" if DARK * most < abs(entry) < inf else "black"
            minus = MINUS if entry < -FAINT * most else ""
            text = minus if digits is None else f"{entry:.{digits}f}"
            axis.text(column, row, text, ha="center", va="center", color=colour)


def curves(
    title: str,
    lines: Mapping[str, Sequence[Any]],
    *,
    labels: tuple[str, str] = ("step", "loss"),
    levels: Mapping[str, float] | None = None,
    log: bool = False,
    log_y: bool = False,
    limits: tuple[float, float] | None = None,
) -> Any:
    """Return a figure with a curve for each name, for ``side_by_side``.

    Each of *lines* is (x, y) or (x, y, held-out y): the held-out curve is dashed, and y may be None
    if there is only this one. Curves differ in their markers too, and have their names at their
    ends. *levels* are dotted lines. *log* makes the x axis logarithmic, and *log_y* the y axis,
    which *limits* limit.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  # importing it takes half a second

    figure = Figure(figsize=(6.5, 3.8), layout="constrained")
    axis = figure.subplots()
    ends = {}
    for number, (name, (x, *both)) in enumerate(lines.items()):
        for style, y in zip(("-", "--"), both, strict=False):
            if y is None:
                continue
            last = [float(one) for one in y]
            size = 5 if number else 8  # the first curve is seen below one that covers it
            (line,) = axis.plot(list(x), last, style, color=f"C{number}", markersize=size)
            line.set_marker(MARKERS[number % len(MARKERS)])
            line.set_markevery(max(1, len(last) // 10))
            ends[f"{SIGNS[number % len(SIGNS)]} {name}"] = (last[-1], f"C{number}")
    for name, level in (levels or {}).items():
        axis.axhline(level, color="0.4", linestyle=":")
        ends[name] = (float(level), "0.4")
    axis.set(title=title, xlabel=labels[0], ylabel=labels[1])
    axis.set(xscale="log" if log else "linear", yscale="log" if log_y else "linear")
    if not log and all(one == int(one) for x, *_ in lines.values() for one in x):
        axis.locator_params(axis="x", integer=True)  # layers and steps are whole
    axis.set_ylim(*limits or axis.get_ylim())
    _name_ends(axis, ends)
    if any(len(both) > 1 for _, *both in lines.values()):
        axis.plot([], [], "-", color="0.4", label="training text")
        axis.plot([], [], "--", color="0.4", label="held-out text")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def _name_ends(axis: Any, ends: Mapping[str, tuple[float, str]]) -> None:
    """Write names to the right of *axis*, near their heights and not over each other."""
    low, high = (axis.transData.transform((1, limit))[1] for limit in axis.get_ylim())
    place = -inf
    for name, (height, colour) in sorted(ends.items(), key=lambda end: end[1][0]):
        pixel = axis.transData.transform((1, height))[1]
        place = max((pixel - low) / (high - low), place + APART)
        axis.text(1.02, place, name, color=colour, va="center", transform=axis.transAxes)


def _figure(figure: Any, title: str) -> str:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DOTS * SHARP)
    return _image("png", file.getvalue(), title, round(figure.get_figwidth() * DOTS))


def _image(kind: str, data: bytes, alternative: str, width: int) -> str:
    """Return an ``img`` element: unlike inline SVG, an untrusted notebook shows all of it."""
    encoded = base64.b64encode(data).decode()
    return (
        f'<img src="data:image/{kind};base64,{encoded}" alt="{escape(alternative)}" '
        f'width="{width}" style="max-width:100%;height:auto">'
    )


def _needed_width(part: Mapping[str, str] | str) -> int:
    """Return the pixels that a row or a step needs, so that no text of it is cut off."""
    if isinstance(part, str):
        return INDENT + LETTER * len(part)
    longest = max(len(text) for box in part.items() for text in box)
    return len(part) * (LETTER * longest + 2 * GAP)


def _boxes(row: Mapping[str, str], top: int, page: int) -> str:
    """Return a row of boxes as SVG, *page* pixels wide, each with a name and a shape."""
    width = (page - GAP * (len(row) - 1) - 2) / len(row)
    drawn = []
    for number, (name, shape) in enumerate(row.items()):
        left = 1 + number * (width + GAP)
        middle = left + width / 2
        drawn.append(
            f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{BOX - 4}" rx="6" '
            'fill="#5b7ae0" fill-opacity=".15" stroke="#5b7ae0"/>'
            f'<text x="{middle:.1f}" y="{top + 17}" text-anchor="middle">{escape(name)}</text>'
            f'<text x="{middle:.1f}" y="{top + 34}" text-anchor="middle" font-weight="bold">'
            f"{escape(shape)}</text>"
        )
    return "".join(drawn)


def _step(text: str, top: int) -> str:
    return (
        f'<path d="M40 {top}v{ARROW - 8}m-5 -6l5 6l5 -6" fill="none" stroke="black"/>'
        f'<text x="{INDENT}" y="{top + 18}" font-size="13">{escape(text)}</text>'
    )


Start = str | bool | tuple[float, float, float] | Sequence[str]
WORDS = 10  # of a sentence; a heatmap of them has numbers
NO_CONTROLS = (
    "There are no controls here because ipywidgets is not installed. "
    "Change a value in this cell and run it again."
)


def explore(draw: Callable[..., Panels], **controls: Start) -> None:
    """Show the picture that *draw* returns, and a control for each of its arguments.

    The first value of an argument decides its control: a text gives a text field, a bool a
    checkbox, a list of texts a menu. A tuple (lowest, highest, first) gives a slider, which has
    whole numbers only if all three are whole.
    """
    from IPython.display import Pretty, display  # noqa: PLC0415  # only notebooks need it

    widgets = {name: _widget(name, start) for name, start in controls.items()}
    shown = [widget for widget in widgets.values() if widget is not None]
    first = draw(**{name: _first(start) for name, start in controls.items()})  # or no controls
    display(*shown)  # type: ignore[no-untyped-call]
    picture = display(first, display_id=True)  # type: ignore[no-untyped-call]
    if len(shown) < len(controls):
        print(NO_CONTROLS)  # noqa: T201  # a notebook shows it below its cell

    def redraw(_change: object) -> None:
        try:
            drawn: Any = draw(**{name: widget.value for name, widget in widgets.items()})
        except Exception as error:  # noqa: BLE001  # the student's code may raise anything
            note = f"There is no picture for these values: {describe(error)}"
            drawn = Pretty(note)  # type: ignore[no-untyped-call]
        picture.update(drawn)

    for widget in shown:
        widget.observe(redraw, names="value")


def embed(sentence: str, features: int) -> tuple[list[str], Any]:
    """Return the first words of *sentence*, and a tensor of *features* random numbers for each.

    Equal words get equal numbers, in every run. An empty sentence counts as one empty word.
    """
    import torch  # noqa: PLC0415  # takes seconds, and few cells need it

    words = sentence.split()[:WORDS] or [""]
    seeds = [zlib.crc32(word.lower().encode()) for word in words]
    rows = [torch.randn(features, generator=torch.Generator().manual_seed(one)) for one in seeds]
    return words, torch.stack(rows)


def _first(start: Start) -> Any:
    if isinstance(start, str | bool):
        return start
    return start[-1] if isinstance(start, tuple) else start[0]


def _widget(name: str, start: Start) -> Any:
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
